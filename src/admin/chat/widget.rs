//! The web chat in pages of other sites, for anonymous visitors.
//!
//! A site that the channel's `origins` lists gets a *pass* for each of its visitors: a signed id
//! with an expiry. The page stores it and passes it to the chat, which runs in a frame and sends it
//! with every request. There is no cookie that another page could make a browser send.

use anyhow::Result;
use axum::{
    Json,
    extract::{ConnectInfo, Path, State},
    http::{
        HeaderMap, HeaderName, HeaderValue, StatusCode,
        header::{
            ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS,
            ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_MAX_AGE, CACHE_CONTROL,
            CONTENT_SECURITY_POLICY, CONTENT_TYPE, ORIGIN, RETRY_AFTER, VARY,
        },
    },
    response::{Html, IntoResponse, Response},
};
use channels::web::Web;
use serde_json::json;
use std::{net::SocketAddr, sync::Arc};
use uuid::Uuid;

use super::visitor::{PASS_FOR, VisitorPass, embedded, key};
use crate::{
    admin::{
        Admin,
        auth::security_headers::{self, Framed},
        chat, language,
        problem::{NO_WEB_CHAT, Problem, TOO_FAST},
    },
    journal::event::VISITOR,
};

const SCRIPT: &str = include_str!("../web/widget.js");
const RESOURCE_POLICY: HeaderName = HeaderName::from_static("cross-origin-resource-policy");

fn known<'a>(admin: &'a Admin, channel: &str) -> Result<&'a Arc<Web>, Problem> {
    embedded(admin, channel).ok_or_else(|| Problem::new(StatusCode::NOT_FOUND, NO_WEB_CHAT))
}

/// The script that a page of another site includes.
pub async fn script(headers: HeaderMap) -> Response {
    let words = &language::of(&headers).words().page;
    let unavailable = words.problems.refusals.chat_unavailable;
    let said = json!({
        "open": words.open_chat,
        "close": words.close_chat,
        "unavailable": unavailable,
    });
    let script = SCRIPT.replacen("/* words */ {}", &said.to_string(), 1);
    let headers = [
        (CONTENT_TYPE, "text/javascript; charset=utf-8"),
        (CACHE_CONTROL, "no-cache"),
        (VARY, "accept-language"),
        (RESOURCE_POLICY, "cross-origin"),
    ];
    (headers, script).into_response()
}

/// The chat, which only the listed sites may show in a frame.
pub async fn page(
    State(admin): State<Arc<Admin>>,
    Path(channel): Path<String>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let web = known(&admin, &channel)?;
    let base = format!("/widget/{channel}");
    let page = chat::drawn(&admin, language::of(&headers), chat::ChatView::Frame(&base));
    let policy = HeaderValue::from_str(&security_headers::policy_in(web.origins()))
        .map_err(anyhow::Error::from)
        .map_err(Problem::from)?;
    let mut response = ([(RESOURCE_POLICY, "cross-origin")], Html(page)).into_response();
    response.headers_mut().insert(CONTENT_SECURITY_POLICY, policy);
    response.extensions_mut().insert(Framed);
    Ok(response)
}

/// Issues a pass to a visitor, or extends theirs.
pub async fn admit(
    State(admin): State<Arc<Admin>>,
    Path(channel): Path<String>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    headers: HeaderMap,
    before: String,
) -> Result<Response, Problem> {
    let origin = allowed(known(&admin, &channel)?, &headers)?;
    let (key, now) = (key(&admin).await?, admin.gateway.clock.now());
    let before = VisitorPass::unsealed(before.trim(), key);
    let before = before.filter(|visit| {
        visit.channel == channel && origin == visit.origin.as_str() && visit.holds(&admin)
    });
    let is_new = before.is_none();
    if is_new && !admin.visits.begun.takes(admin.proxies.address(peer, &headers), now) {
        let slow = Problem::new(StatusCode::TOO_MANY_REQUESTS, TOO_FAST).into_response();
        return Ok(shared(origin, ([(RETRY_AFTER, "60")], slow)));
    }
    let person = before
        .map_or_else(|| format!("{VISITOR}{}", Uuid::new_v4().simple()), |before| before.person);
    let until = (now + PASS_FOR).timestamp();
    let visit = VisitorPass { channel, origin: text(&origin).to_owned(), person, until };
    Ok(shared(origin, Json(json!({ "pass": visit.sealed(key), "until": until }))))
}

/// The preflight request of a browser.
pub async fn may_ask(
    State(admin): State<Arc<Admin>>,
    Path(channel): Path<String>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let origin = allowed(known(&admin, &channel)?, &headers)?;
    let allows = [
        (ACCESS_CONTROL_ALLOW_METHODS, "POST"),
        (ACCESS_CONTROL_ALLOW_HEADERS, "content-type"),
        (ACCESS_CONTROL_MAX_AGE, "600"),
    ];
    Ok(shared(origin, (StatusCode::NO_CONTENT, allows)))
}

/// The requesting site, if it may show this chat.
fn allowed(web: &Web, headers: &HeaderMap) -> Result<HeaderValue, Problem> {
    let origin =
        headers.get(ORIGIN).filter(|origin| web.origins().iter().any(|own| own == text(origin)));
    let refused =
        "This site may not show the chat: its origin is not listed in the channel's `origins`.";
    origin.cloned().ok_or_else(|| Problem::new(StatusCode::FORBIDDEN, refused))
}

fn text(value: &HeaderValue) -> &str {
    value.to_str().unwrap_or_default()
}

/// A response that scripts of this site may read.
fn shared(origin: HeaderValue, answer: impl IntoResponse) -> Response {
    let mut response = answer.into_response();
    response.headers_mut().insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    response.headers_mut().insert(VARY, HeaderValue::from_static("origin"));
    response
}
