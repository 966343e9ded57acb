//! Signing in with a one-time link, and browser sessions. [`super::oidc`] is the other way to sign
//! in.

use anyhow::Result;
use axum::{
    Form,
    extract::{ConnectInfo, FromRequestParts, Query, State},
    http::{
        HeaderMap, HeaderName, StatusCode,
        header::{ACCEPT, COOKIE, ORIGIN, REFERRER_POLICY, RETRY_AFTER, SET_COOKIE},
        request::Parts,
    },
    response::{Html, IntoResponse as _, Redirect, Response},
};
use chrono::{DateTime, TimeDelta, Utc};
use serde::Deserialize;
use serde_json::json;
use std::{net::SocketAddr, sync::Arc};

use super::rate_limit::Client;
use crate::{
    admin::{Admin, language, problem::Problem, templates},
    store::people::{self, AccessTokenKind, BrowserSession},
    texts::PageTexts,
};

const CLEAR_SITE_DATA: HeaderName = HeaderName::from_static("clear-site-data");
const COOKIE_NAME: &str = "countersign_session";
/// The maximum number of invalid links per minute from one address.
pub const WRONG_A_MINUTE: u32 = 10;
const SESSION_FOR: TimeDelta = TimeDelta::days(30);

/// A person who is signed in.
pub struct Signed {
    pub session: BrowserSession,
    token: String,
}

impl Signed {
    /// The stored form of the session's token.
    pub fn session_hash(&self) -> String {
        people::session_hash(&self.token)
    }

    /// Whether the session is still valid.
    pub async fn is_still_valid(&self, admin: &Admin) -> Result<bool> {
        Ok(session_of(admin, &self.token).await?.is_some())
    }
}

impl From<&Signed> for Client {
    fn from(signed: &Signed) -> Self {
        Self::Person(signed.session.person.clone())
    }
}

impl FromRequestParts<Arc<Admin>> for Signed {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, admin: &Arc<Admin>) -> Result<Self, Problem> {
        let Some(token) = session_token(&parts.headers) else { return Err(Problem::signed_out()) };
        let session = session_of(admin, &token).await?.ok_or_else(Problem::signed_out)?;
        Ok(Self { session, token })
    }
}

/// The session with this token. A session from an OpenID provider counts only while its claims map
/// to a role.
pub async fn session_of(admin: &Admin, token: &str) -> Result<Option<BrowserSession>> {
    let (token, now) = (token.to_owned(), admin.gateway.clock.now());
    let store = &admin.gateway.store;
    let read =
        store.read(move |tx| Box::pin(async move { people::session(tx, &token, now).await }));
    let session = read.await?;
    Ok(session.filter(|one| one.claims.is_none() || admin.oidc_role(one).is_some()))
}

/// The session cookie of a request.
pub fn session_token(headers: &HeaderMap) -> Option<String> {
    cookie(headers, COOKIE_NAME)
}

/// The hash of the session that the browser has; empty if it has none. It ends when another one
/// begins there.
pub fn previous_session(headers: &HeaderMap) -> String {
    session_token(headers).map(|token| people::session_hash(&token)).unwrap_or_default()
}

pub fn cookie(headers: &HeaderMap, of: &str) -> Option<String> {
    let cookies = headers.get_all(COOKIE).into_iter().filter_map(|value| value.to_str().ok());
    let mut pairs =
        cookies.flat_map(|line| line.split(';')).filter_map(|c| c.trim().split_once('='));
    pairs.find(|(name, _)| *name == of).map(|(_, value)| value.to_owned())
}

#[derive(Deserialize)]
pub struct SignInForm {
    #[serde(default)]
    token: String,
}

/// Does not redeem the link, because link previews and prefetching browsers open it too.
pub async fn page(
    State(admin): State<Arc<Admin>>,
    headers: HeaderMap,
    Query(link): Query<SignInForm>,
) -> Response {
    let words = &language::of(&headers).words().page;
    let values = json!({ "bot": admin.bot, "token": link.token });
    let page = templates::page("sign_in.html", words, values);
    // With `no-referrer`, a browser sends `null` as the origin of a form, and our own page could
    // not be told apart from others. This policy sends the origin to this server only.
    ([(REFERRER_POLICY, "same-origin")], Html(page)).into_response()
}

/// Redeems the link; from then on the cookie authenticates.
pub async fn redeem(
    State(admin): State<Arc<Admin>>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    headers: HeaderMap,
    Form(link): Form<SignInForm>,
) -> Result<Response, Problem> {
    let (now, address) = (admin.gateway.clock.now(), admin.proxies.address(peer, &headers));
    let words = &language::of(&headers).words().page;
    // A valid link is accepted whatever other clients behind the same address have tried, because
    // it cannot be guessed.
    let previous = previous_session(&headers);
    let begun = if is_link(&admin, link.token.clone(), now).await? {
        exchange(&admin, link.token, previous, now).await?
    } else {
        None
    };
    let Some(NewSession { token: session, replaced }) = begun else {
        if !admin.wrong.takes(address, now) {
            let page =
                signed_out_page(&admin, StatusCode::TOO_MANY_REQUESTS, words, words.too_many_links);
            return Ok(([(RETRY_AFTER, "60")], page).into_response());
        }
        tracing::warn!(%address, "invalid sign-in link");
        return Ok(signed_out_page(&admin, StatusCode::FORBIDDEN, words, words.wrong_link));
    };
    end_pages(&admin, replaced);
    let origin = headers.get(ORIGIN).and_then(|value| value.to_str().ok());
    let is_secure = origin.is_some_and(|origin| origin.starts_with("https://"));
    let cookie = session_cookie(&session, SESSION_FOR, is_secure);
    Ok(([(SET_COOKIE, cookie)], Redirect::to("/")).into_response())
}

/// The session cookie.
pub fn session_cookie(session: &str, lasts: TimeDelta, is_secure: bool) -> String {
    let (age, secure) = (lasts.num_seconds(), if is_secure { "; Secure" } else { "" });
    format!("{COOKIE_NAME}={session}; HttpOnly; SameSite=Strict; Path=/; Max-Age={age}{secure}")
}

/// Whether the link is valid. Only reads, so that invalid links are cheap.
async fn is_link(admin: &Admin, token: String, now: DateTime<Utc>) -> Result<bool> {
    let store = &admin.gateway.store;
    store.read(move |tx| Box::pin(async move { people::is_link(tx, &token, now).await })).await
}

/// A session that has begun.
struct NewSession {
    token: String,
    /// The person of the browser's previous session, which has ended.
    replaced: Option<String>,
}

/// Makes the open pages of a session that has ended check their access.
pub fn end_pages(admin: &Admin, person: Option<String>) {
    if let Some(person) = person {
        admin.changed.send(person).ok();
    }
}

async fn exchange(
    admin: &Admin,
    token: String,
    previous: String,
    now: DateTime<Utc>,
) -> Result<Option<NewSession>> {
    let session = new_token();
    let store = &admin.gateway.store;
    store
        .write("sign in", move |tx| {
            Box::pin(async move {
                people::sweep_access(tx, now).await?;
                let Some(name) = people::redeem(tx, AccessTokenKind::SignIn, &token, now).await?
                else {
                    return Ok(None);
                };
                let replaced = people::replace_session(tx, &previous).await?;
                let ends = now + SESSION_FOR;
                people::grant_access(
                    tx,
                    people::NewAccess {
                        kind: AccessTokenKind::Session,
                        name: &name,
                        token: &session,
                    },
                    now,
                    ends,
                )
                .await?;
                Ok(Some(NewSession { token: session, replaced }))
            })
        })
        .await
}

/// 256 bits.
pub fn new_token() -> String {
    let mut bytes = [0_u8; 32];
    getrandom::fill(&mut bytes).expect("the operating system has randomness");
    hex::encode(bytes)
}

/// Ends the session everywhere, not only in this browser. A page without script is redirected to
/// the sign-in page.
pub async fn sign_out(
    State(admin): State<Arc<Admin>>,
    headers: HeaderMap,
    signed: Signed,
) -> Result<Response, Problem> {
    let token = signed.token;
    let store = &admin.gateway.store;
    store
        .write("sign out", move |tx| {
            Box::pin(async move { people::revoke_session(tx, &token).await })
        })
        .await?;
    // Other pages of the session check their access now.
    admin.changed.send(signed.session.person).ok();
    let cookie = [
        (SET_COOKIE, session_cookie("", TimeDelta::zero(), false)),
        // What the chat keeps in the browser is not for the next person.
        (CLEAR_SITE_DATA, "\"storage\"".to_owned()),
    ];
    let accepts = headers.get(ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    Ok(if accepts.contains("text/html") {
        (cookie, Redirect::to("/")).into_response()
    } else {
        (StatusCode::NO_CONTENT, cookie).into_response()
    })
}

/// The page for people who are not signed in: how to get a link, and what went wrong.
pub fn signed_out_page(
    admin: &Admin,
    status: StatusCode,
    words: &PageTexts,
    text: &str,
) -> Response {
    let has_issuer = admin.issuer.is_some();
    let values = json!({ "bot": admin.bot, "text": text, "has_issuer": has_issuer });
    (status, Html(templates::page("signed_out.html", words, values))).into_response()
}
