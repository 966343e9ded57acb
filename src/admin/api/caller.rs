//! Authenticates callers by a token or a browser session, and checks their role.

use anyhow::Result;
use axum::{
    extract::{FromRequestParts, MatchedPath, Request, State},
    http::{HeaderMap, Method, StatusCode, header, request::Parts, uri::PathAndQuery},
    middleware::Next,
    response::{IntoResponse as _, Response},
};
use chrono::TimeDelta;
use std::sync::Arc;

use super::{Api, idempotency};
use crate::{
    admin::{
        Admin,
        auth::{security_headers, web_session},
        problem::{CROSS_SITE, Problem, ProblemText, REQUIRES_ROLE},
    },
    agent::approvers::{RoleLookups, Voter},
    gateway::people::{API, TOKEN},
    journal::{event::Speaker, role::Role},
    store::{
        api::tokens,
        audit::{AuditKind, Fact},
        people::{self, BrowserSession},
    },
    texts::Language,
};

/// The precision of a token's last use.
const USED_WITHIN: TimeDelta = TimeDelta::minutes(1);

/// An authenticated caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// Begins with `token:` for a token, so that it cannot be an id on a platform.
    pub id: String,
    pub name: String,
    /// The web channel of the session, or `api`.
    pub channel: String,
    pub role: Role,
}

impl Caller {
    pub fn speaker(&self) -> Speaker {
        Speaker { id: self.id.clone(), name: self.name.clone() }
    }

    /// The caller as a voter on approvals.
    pub fn voter(&self) -> Voter {
        Voter {
            speaker: self.speaker(),
            channel: self.channel.clone(),
            role: Some(self.role),
            platform_roles: Vec::new(),
            lookups: RoleLookups::new(),
            language: Language::default(),
        }
    }

    /// An audit record of the caller's action.
    pub fn did(&self, kind: AuditKind) -> Fact {
        Fact::new(kind, &self.id).with("through", self.channel.as_str())
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        parts.extensions.get::<Self>().cloned().ok_or_else(unknown)
    }
}

/// Admits callers with the role that the OpenAPI document requires for the operation. Operations
/// that are not in the document are not served.
pub async fn admit(State(api): State<Arc<Api>>, mut request: Request, next: Next) -> Response {
    let path = request.extensions().get::<MatchedPath>().map_or("", MatchedPath::as_str);
    let method = request.method().clone();
    let asked = request.uri().path_and_query().map_or("", PathAndQuery::as_str);
    if asked.contains("%00") {
        // PostgreSQL does not support NUL characters in text.
        let text = "The URL contains a NUL character.";
        return Problem::new(StatusCode::BAD_REQUEST, text).into_response();
    }
    let Some(required) = api.required(&method, path) else { return not_allowed(&api, path) };
    match caller(&api.admin, request.headers(), &method).await {
        Ok(caller) if caller.role >= required => {
            request.extensions_mut().insert(caller.clone());
            idempotency::once(&api.admin, &caller.id, request, next).await
        }
        Ok(_) => insufficient_role(required).into_response(),
        Err(problem) if problem.status() == StatusCode::UNAUTHORIZED => {
            ([(header::WWW_AUTHENTICATE, "Bearer")], problem).into_response()
        }
        Err(problem) => problem.into_response(),
    }
}

fn not_allowed(api: &Api, path: &str) -> Response {
    let status = StatusCode::METHOD_NOT_ALLOWED;
    let problem = Problem::new(status, "This URL does not support that method.");
    ([(header::ALLOW, api.methods(path))], problem).into_response()
}

/// The response for a role that is too low.
pub fn insufficient_role(required: Role) -> Problem {
    Problem::new(StatusCode::FORBIDDEN, ProblemText::with(REQUIRES_ROLE, required.as_str()))
}

fn unknown() -> Problem {
    let text = "Send a valid token as `Authorization: Bearer …`. `countersign token --api NAME \
        --role ROLE` creates one.";
    Problem::new(StatusCode::UNAUTHORIZED, text)
}

async fn caller(admin: &Admin, headers: &HeaderMap, method: &Method) -> Result<Caller, Problem> {
    if headers.contains_key(header::AUTHORIZATION) {
        let caller = by_bearer(admin, headers).await?.ok_or_else(unknown)?;
        // The role is higher than viewer, but is for programs that only talk to agents.
        return if caller.role == Role::Member { Err(only_talks()) } else { Ok(caller) };
    }
    let session = web_session::session_token(headers).ok_or_else(unknown)?;
    let session = web_session::session_of(admin, &session).await?.ok_or_else(unknown)?;
    if *method != Method::GET && *method != Method::HEAD && !security_headers::is_own(headers) {
        return Err(Problem::new(StatusCode::FORBIDDEN, CROSS_SITE));
    }
    by_session(admin, session).await?.ok_or_else(|| insufficient_role(Role::Viewer))
}

fn only_talks() -> Problem {
    let text = "A token with the role member can only use the agents, at /v1/chat/completions.";
    Problem::new(StatusCode::FORBIDDEN, text)
}

/// The owner of the token in the headers. `None` if there is no valid one.
pub async fn by_bearer(admin: &Admin, headers: &HeaderMap) -> Result<Option<Caller>> {
    let authorization = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    match authorization.and_then(bearer) {
        Some(secret) => by_token(admin, secret).await,
        None => Ok(None),
    }
}

fn bearer(authorization: &str) -> Option<String> {
    let (scheme, secret) = authorization.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| secret.trim().to_owned())
}

async fn by_token(admin: &Admin, secret: String) -> Result<Option<Caller>> {
    let (store, now) = (&admin.gateway.store, admin.gateway.clock.now());
    let token = store
        .read(move |tx| Box::pin(async move { tokens::by_secret(tx, &secret, now).await }))
        .await?;
    let Some(token) = token else {
        tracing::warn!("API request with an invalid token");
        return Ok(None);
    };
    if token.used_at.is_none_or(|used| now - used >= USED_WITHIN) {
        let id = token.id.clone();
        store
            .write("token used", move |tx| {
                Box::pin(async move { tokens::used(tx, &id, now).await })
            })
            .await?;
    }
    Ok(Some(Caller {
        id: format!("{TOKEN}{}", token.name),
        name: token.name,
        channel: API.to_owned(),
        role: token.role,
    }))
}

/// The API requires at least the role viewer.
pub async fn by_session(admin: &Admin, session: BrowserSession) -> Result<Option<Caller>> {
    let oidc_role = admin.oidc_role(&session);
    let BrowserSession { person, name, .. } = session;
    let Some((channel, _)) = admin.web() else { return Ok(None) };
    let configured = admin.gateway.channels.get(channel);
    let configured =
        configured.and_then(|connected| connected.settings.roles.get(&person).copied());
    let (of, who) = (channel.to_owned(), person.clone());
    let kept = admin
        .gateway
        .store
        .read(move |tx| Box::pin(async move { people::role(tx, &of, &who).await }))
        .await?;
    let role = configured.max(kept).max(oidc_role).filter(|role| *role != Role::Member);
    Ok(role.map(|role| Caller { id: person, name, channel: channel.to_owned(), role }))
}
