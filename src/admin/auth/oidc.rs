//! Signing in with an OpenID provider: redirect, callback, and a session for half a day.

use anyhow::Result;
use axum::{
    extract::{ConnectInfo, Query, State},
    http::{
        HeaderMap, StatusCode,
        header::{RETRY_AFTER, SET_COOKIE},
    },
    response::{AppendHeaders, Html, IntoResponse as _, Redirect, Response},
};
use chrono::TimeDelta;
use serde::Deserialize;
use serde_json::json;
use std::{net::SocketAddr, sync::Arc};

use super::{
    oidc_provider::{self, Issuer, SignInError},
    web_session::{
        cookie, end_pages, new_token, previous_session, session_cookie, signed_out_page,
    },
};
use crate::{
    admin::{
        Admin, language,
        problem::{NO_SUCH_PAGE, Problem},
        templates,
    },
    journal::role::Role,
    store::{
        audit::{self, AuditKind, Fact},
        people::{self, AccessTokenKind, BrowserSession},
    },
    texts::PageTexts,
};

/// The path of the callback.
pub const BACK: &str = "/sign-in/oidc/callback";
/// The maximum number of sign-ins per minute from one address.
pub const BEGUN_A_MINUTE: u32 = 20;
const COOKIE_NAME: &str = "countersign_sign_in";
/// How long signing in may take.
const BEGUN_FOR: TimeDelta = TimeDelta::minutes(10);
/// After that, the provider is asked again for group memberships.
const SESSION_FOR: TimeDelta = TimeDelta::hours(12);

pub async fn begin(
    State(admin): State<Arc<Admin>>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let (issuer, words) = (configured_issuer(&admin)?, words(&headers));
    let now = admin.gateway.clock.now();
    if !admin.begun.takes(admin.proxies.address(peer, &headers), now) {
        let page = signed_out_page(&admin, StatusCode::TOO_MANY_REQUESTS, words, words.too_fast);
        return Ok(([(RETRY_AFTER, "60")], page).into_response());
    }
    let secret = new_token();
    let there = match issuer.begin(&secret).await {
        Ok(there) => there,
        Err(failure) => return Ok(not_signed_in(&admin, words, &failure)),
    };
    let cookie = begun_cookie(issuer, &secret, BEGUN_FOR);
    // The session cookie is not sent with the callback, which comes from another site.
    let previous = previous_session(&headers);
    let written = admin.gateway.store.write("begin to sign in", move |tx| {
        let (secret, previous) = (secret.clone(), previous.clone());
        Box::pin(async move {
            people::sweep_access(tx, now).await?;
            people::grant_access(
                tx,
                people::NewAccess { kind: AccessTokenKind::Begun, name: &previous, token: &secret },
                now,
                now + BEGUN_FOR,
            )
            .await
        })
    });
    written.await?;
    Ok(([(SET_COOKIE, cookie)], Redirect::to(there.as_str())).into_response())
}

/// The query of the callback.
#[derive(Default, Deserialize)]
#[serde(default)]
pub struct CallbackQuery {
    code: String,
    state: String,
    error: Option<String>,
}

/// Only the browser that began the sign-in can complete it, once.
pub async fn end(
    State(admin): State<Arc<Admin>>,
    headers: HeaderMap,
    Query(back): Query<CallbackQuery>,
) -> Result<Response, Problem> {
    let (issuer, words) = (configured_issuer(&admin)?, words(&headers));
    let secret =
        cookie(&headers, COOKIE_NAME).filter(|own| oidc_provider::state(own) == back.state);
    let begun = match &secret {
        Some(secret) => begun(&admin, secret.clone()).await?,
        None => None,
    };
    let (secret, previous) = (secret.unwrap_or_default(), begun.clone().unwrap_or_default());
    let ended = match begun {
        Some(_) => known(&admin, issuer, &secret, back).await,
        None => Err(SignInError::Refused("this browser did not begin such a sign-in".to_owned())),
    };
    let session = match ended {
        Ok(session) => session,
        Err(failure) => return Ok(not_signed_in(&admin, words, &failure)),
    };
    let role = issuer.role(session.claims.as_deref().unwrap_or_default());
    let token = begin_session(&admin, session, previous).await?;
    let to = if role == Some(Role::Member) { "/" } else { "/console" };
    let cookies = [
        (SET_COOKIE, session_cookie(&token, SESSION_FOR, is_secure(issuer))),
        (SET_COOKIE, begun_cookie(issuer, "", TimeDelta::zero())),
    ];
    // A strict cookie is sent only when navigating from our own page.
    let values = json!({ "bot": admin.bot, "to": to });
    let page = templates::page("signed_in.html", words, values);
    Ok((AppendHeaders(cookies), Html(page)).into_response())
}

fn configured_issuer(admin: &Admin) -> Result<&Issuer, Problem> {
    admin.issuer.as_ref().ok_or_else(|| Problem::new(StatusCode::NOT_FOUND, NO_SUCH_PAGE))
}

fn words(headers: &HeaderMap) -> &'static PageTexts {
    &language::of(headers).words().page
}

fn is_secure(issuer: &Issuer) -> bool {
    issuer.back.url().scheme() == "https"
}

/// Not strict, because the callback is a navigation from another site.
fn begun_cookie(issuer: &Issuer, secret: &str, lasts: TimeDelta) -> String {
    let (age, secure) = (lasts.num_seconds(), if is_secure(issuer) { "; Secure" } else { "" });
    format!("{COOKIE_NAME}={secret}; HttpOnly; SameSite=Lax; Path={BACK}; Max-Age={age}{secure}")
}

/// Redeems the secret of the sign-in. Returns the hash of the browser's previous session, which may
/// be empty.
async fn begun(admin: &Admin, secret: String) -> Result<Option<String>> {
    let (store, now) = (&admin.gateway.store, admin.gateway.clock.now());
    let begun = store.write("end to sign in", move |tx| {
        let secret = secret.clone();
        Box::pin(async move { people::redeem(tx, AccessTokenKind::Begun, &secret, now).await })
    });
    begun.await
}

async fn known(
    admin: &Admin,
    issuer: &Issuer,
    secret: &str,
    back: CallbackQuery,
) -> Result<BrowserSession, SignInError> {
    if let Some(error) = back.error {
        let error = channels::text::neutralise(&error);
        return Err(SignInError::Refused(format!("the provider returned {error}")));
    }
    issuer.end(secret, back.code, admin.gateway.clock.now()).await
}

/// Begins a session instead of the browser's previous one.
async fn begin_session(admin: &Admin, session: BrowserSession, previous: String) -> Result<String> {
    let (token, now) = (new_token(), admin.gateway.clock.now());
    let role = admin.oidc_role(&session);
    let fact = Fact::new(AuditKind::SignedIn, &session.person)
        .with("through", "oidc")
        .with("role", role.map_or("none", Role::as_str));
    let own = token.clone();
    let begun = admin.gateway.store.write("sign in", move |tx| {
        let (session, token, fact) = (session.clone(), own.clone(), fact.clone());
        Box::pin(async move {
            let replaced = people::replace_session(tx, &previous).await?;
            people::begin_session(tx, &session, &token, now, now + SESSION_FOR).await?;
            audit::append(tx, audit::ADMIN, vec![fact], now).await?;
            Ok(replaced)
        })
    });
    end_pages(admin, begun.await?);
    Ok(token)
}

fn not_signed_in(admin: &Admin, words: &PageTexts, failure: &SignInError) -> Response {
    tracing::warn!(problem = failure.to_string(), "sign-in failed");
    let (status, text) = match failure {
        SignInError::Silent(_) => (StatusCode::BAD_GATEWAY, words.sign_on.provider_unreachable),
        SignInError::Refused(_) => (StatusCode::FORBIDDEN, words.sign_on.sign_in_failed),
        SignInError::Unmapped(_) => (StatusCode::FORBIDDEN, words.sign_on.no_access),
    };
    signed_out_page(admin, status, words, text)
}
