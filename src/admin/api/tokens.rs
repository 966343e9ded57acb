//! API tokens.

use anyhow::Result;
use axum::{Extension, Json, extract::State, http::StatusCode};
use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    caller::Caller,
    idempotency::ContainsSecret,
    parts::{Body, Page, Params, PathNames, RoleName, Slice, none},
};
use crate::{
    admin::{
        Admin,
        auth::web_session::new_token,
        problem::{Problem, TOKEN_DAYS, TOKEN_NAME, TOKEN_NAME_TAKEN},
    },
    journal::role::Role,
    store::{
        Store,
        api::tokens::{self, ApiToken},
        audit::{self, AuditKind, Fact},
        lists::PageRequest,
    },
};

pub fn routes() -> OpenApiRouter<Arc<Admin>> {
    OpenApiRouter::new().routes(routes!(index, create)).routes(routes!(revoke))
}

/// Makes the secret recognisable in logs and repositories.
const PREFIX: &str = "cs_";
const NAME_CHARS: usize = 64;

/// Whether this is a valid name for a token.
pub fn is_name(name: &str) -> bool {
    let fits = (1..=NAME_CHARS).contains(&name.chars().count());
    fits && name.trim() == name && !name.chars().any(char::is_control)
}

/// Creates a token and records it in the audit; returns its secret. `None` if the name is taken.
pub async fn create_token(
    store: &Store,
    token: ApiToken,
    by: Fact,
    now: DateTime<Utc>,
) -> Result<Option<String>> {
    let secret = format!("{PREFIX}{}", new_token());
    let own = secret.clone();
    let fact = by
        .with("name", token.name.as_str())
        .with("role", token.role.as_str())
        .with("expires_at", token.expires_at.map(|at| at.to_rfc3339()));
    let made = store
        .write("create token", move |tx| {
            Box::pin(async move {
                let created = tokens::create(tx, &token, &own).await?;
                if created {
                    audit::append(tx, audit::ADMIN, vec![fact], now).await?;
                }
                Ok(created)
            })
        })
        .await?;
    Ok(made.then_some(secret))
}

/// Builds a token that is valid from now on.
pub fn new(name: &str, role: Role, days: Option<i64>, by: &str, now: DateTime<Utc>) -> ApiToken {
    ApiToken {
        id: uuid::Uuid::now_v7().simple().to_string(),
        name: name.to_owned(),
        role,
        created_by: by.to_owned(),
        created_at: now,
        expires_at: days.map(|days| now + TimeDelta::days(days)),
        used_at: None,
        revoked_at: None,
    }
}

/// A token, without its secret.
#[derive(Debug, Serialize, ToSchema)]
pub struct TokenView {
    pub id: String,
    pub name: String,
    /// viewer, member, approver, operator or owner
    pub role: String,
    pub created_by: String,
    pub created_at: DateTime<Utc>,
    pub expires_at: Option<DateTime<Utc>>,
    /// With a precision of one minute
    pub used_at: Option<DateTime<Utc>>,
    pub revoked_at: Option<DateTime<Utc>>,
}

impl From<ApiToken> for TokenView {
    fn from(token: ApiToken) -> Self {
        let ApiToken { id, name, role, created_by, created_at, expires_at, used_at, revoked_at } =
            token;
        let role = role.as_str().to_owned();
        Self { id, name, role, created_by, created_at, expires_at, used_at, revoked_at }
    }
}

/// A new token with its secret, which is shown only here.
#[derive(Debug, Serialize, ToSchema)]
pub struct NewToken {
    #[serde(flatten)]
    pub token: TokenView,
    pub secret: String,
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TokenBody {
    /// The name, as used in the audit
    #[schema(min_length = 1, max_length = 64, pattern = r"^\S+( \S+)*$")]
    pub name: String,
    pub role: RoleName,
    /// The number of days until it expires
    #[schema(minimum = 1, maximum = 3650)]
    pub days: Option<i64>,
}

/// A token to create.
pub struct RequestedToken {
    pub name: String,
    pub role: Role,
    /// `None` for a token that does not expire.
    pub days: Option<i64>,
}

impl From<TokenBody> for RequestedToken {
    fn from(TokenBody { name, role, days }: TokenBody) -> Self {
        Self { name, role: role.into(), days }
    }
}

/// Creates a token, after validating the request.
pub async fn issue(
    admin: &Admin,
    caller: &Caller,
    request: RequestedToken,
) -> Result<NewToken, Problem> {
    let RequestedToken { name, role, days } = request;
    if !is_name(&name) {
        return Err(Problem::unfit(TOKEN_NAME));
    }
    if days.is_some_and(|days| !(1..=3650).contains(&days)) {
        return Err(Problem::unfit(TOKEN_DAYS));
    }
    let now = admin.gateway.clock.now();
    let token = new(&name, role, days, &caller.name, now);
    let fact = caller.did(AuditKind::TokenCreated);
    let secret = create_token(&admin.gateway.store, token.clone(), fact, now).await?;
    let secret = secret.ok_or_else(|| Problem::conflict(TOKEN_NAME_TAKEN))?;
    Ok(NewToken { token: token.into(), secret })
}

/// Lists all tokens, newest first.
pub async fn page(admin: &Admin, page_request: PageRequest) -> Result<Page<TokenView>> {
    let (rows, page_request) = admin
        .gateway
        .store
        .read(move |tx| {
            Box::pin(async move { Ok((tokens::list(tx, &page_request).await?, page_request)) })
        })
        .await?;
    Ok(Page::of(rows, &page_request, |row| row.id.clone(), Into::into))
}

/// Revokes a token immediately. Returns whether it was active.
pub async fn end(admin: &Admin, caller: &Caller, id: &str) -> Result<bool> {
    let (fact, by) = (caller.did(AuditKind::TokenRevoked), caller.name.clone());
    let (id, now) = (id.to_owned(), admin.gateway.clock.now());
    admin
        .gateway
        .store
        .write("revoke token", move |tx| {
            Box::pin(async move {
                let revoked = tokens::revoke(tx, &id, &by, now).await?;
                if let Some(name) = &revoked {
                    let fact = fact.with("name", name.as_str());
                    audit::append(tx, audit::ADMIN, vec![fact], now).await?;
                }
                Ok(revoked.is_some())
            })
        })
        .await
}

/// List tokens
#[utoipa::path(get, path = "/tokens", tag = "tokens", params(Slice),
    responses((status = 200, body = Page<TokenView>)), extensions(("x-role" = json!("owner"))))]
async fn index(
    State(admin): State<Arc<Admin>>,
    Params(slice): Params<Slice>,
) -> Result<Json<Page<TokenView>>, Problem> {
    Ok(Json(page(&admin, slice.page_request()?).await?))
}

/// Create a token; only this response shows its secret
#[utoipa::path(post, path = "/tokens", tag = "tokens", request_body = TokenBody,
    responses((status = 201, body = NewToken)), extensions(("x-role" = json!("owner"))))]
async fn create(
    State(admin): State<Arc<Admin>>,
    caller: Caller,
    Body(body): Body<TokenBody>,
) -> Result<(StatusCode, Extension<ContainsSecret>, Json<NewToken>), Problem> {
    let issued = issue(&admin, &caller, body.into()).await?;
    Ok((StatusCode::CREATED, Extension(ContainsSecret), Json(issued)))
}

/// Revoke a token immediately
#[utoipa::path(delete, path = "/tokens/{id}", tag = "tokens", params(("id" = String, Path)),
    responses((status = 204)), extensions(("x-role" = json!("owner"))))]
async fn revoke(
    State(admin): State<Arc<Admin>>,
    caller: Caller,
    PathNames(id): PathNames<String>,
) -> Result<StatusCode, Problem> {
    if end(&admin, &caller, &id).await? {
        Ok(StatusCode::NO_CONTENT)
    } else {
        Err(none(|page| page.problems.missing.token))
    }
}
