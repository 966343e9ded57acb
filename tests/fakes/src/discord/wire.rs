//! Requests as they arrive: who asks, bodies of two kinds, the faults, the pace.

use std::sync::Arc;

use axum::{
    Router,
    body::Body,
    extract::{
        DefaultBodyLimit, FromRequest, FromRequestParts, Multipart, Request, State as Extracted,
        ws::WebSocketUpgrade,
    },
    http::{HeaderMap, HeaderValue, Method, StatusCode, header},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::{
    Shared, TOKEN, acts,
    faults::{self, Trouble},
    gateway,
    rules::{Refusal, refusal},
    state::Call,
};

/// A request that has been read.
pub(super) struct Asked {
    pub act: &'static str,
    /// Below `/api/v10`.
    pub path: Vec<String>,
    pub query: Vec<(String, String)>,
    pub body: Value,
    /// The number, name and bytes of each file.
    pub files: Vec<(u64, String, Bytes)>,
}

impl Asked {
    pub(super) fn id(&self, at: usize) -> u64 {
        self.path.get(at).and_then(|segment| segment.parse().ok()).unwrap_or(0)
    }

    pub(super) fn query(&self, name: &str) -> Option<&str> {
        self.query.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

/// What is done, in answer to a request; `Null` goes out as 204.
pub(super) type Done = Result<Value, Refusal>;

pub(super) async fn serve(listener: TcpListener, shared: Arc<Shared>) {
    let router =
        Router::new().fallback(route).layer(DefaultBodyLimit::disable()).with_state(shared);
    axum::serve(listener, router).await.expect("accepting on the loopback does not fail");
}

async fn route(Extracted(shared): Extracted<Arc<Shared>>, request: Request) -> Response {
    let path = request.uri().path().to_owned();
    let query = request.uri().query().unwrap_or_default().to_owned();
    let segments: Vec<&str> = path.trim_matches('/').split('/').collect();
    match segments.as_slice() {
        ["gateway"] => upgrade(shared, request).await,
        ["cdn", id, _] => {
            let state = shared.state();
            let file = id.parse().ok().and_then(|id: u64| state.files.get(&id).cloned());
            let file = file.filter(|_| state.is_signed(&query));
            drop(state);
            file.map_or_else(|| StatusCode::NOT_FOUND.into_response(), |f| f.1.into_response())
        }
        ["api", "v10", path @ ..] => {
            let path = path.iter().map(|segment| (*segment).to_owned()).collect();
            call(&shared, path, request).await
        }
        _ => refuse(&refusal(404, 0, "404: Not Found")),
    }
}

async fn upgrade(shared: Arc<Shared>, request: Request) -> Response {
    let (mut parts, _) = request.into_parts();
    let query = parts.uri.query().unwrap_or_default().to_owned();
    match WebSocketUpgrade::from_request_parts(&mut parts, &()).await {
        Ok(upgrade) if query.contains("v=10") && query.contains("encoding=json") => {
            upgrade.on_upgrade(move |socket| gateway::serve(socket, shared))
        }
        Ok(_) => StatusCode::BAD_REQUEST.into_response(),
        Err(rejection) => rejection.into_response(),
    }
}

/// What a request does, by its method and path.
fn act(method: &Method, path: &[String]) -> Option<&'static str> {
    let path: Vec<&str> = path.iter().map(String::as_str).collect();
    Some(match (method.as_str(), path.as_slice()) {
        ("GET", ["gateway"] | ["gateway", "bot"]) => "gateway",
        ("GET", ["users", "@me"]) => "me",
        ("GET", ["oauth2", "applications", "@me"] | ["applications", "@me"]) => "application",
        ("GET", ["channels", _]) => "channel",
        ("PATCH", ["channels", _]) => "thread",
        ("GET", ["channels", _, "messages"]) => "read",
        ("GET", ["channels", _, "messages", _]) => "message",
        ("POST", ["channels", _, "messages"]) => "send",
        ("PATCH", ["channels", _, "messages", _]) => "edit",
        ("DELETE", ["channels", _, "messages", _]) => "delete",
        ("PUT", ["channels", _, "messages", _, "reactions", _, "@me"]) => "react",
        ("GET", ["guilds", _]) => "guild",
        ("GET", ["guilds", _, "members", _]) => "member",
        ("POST", ["channels", _, "typing"]) => "typing",
        ("POST", ["interactions", _, _, "callback"]) => "callback",
        ("POST", ["webhooks", _, _]) => "followup",
        ("PATCH", ["webhooks", _, _, "messages", "@original"]) => "original",
        ("GET", ["applications", _, "commands"]) => "commands",
        ("PUT", ["applications", _, "commands"]) => "register",
        _ => return None,
    })
}

async fn call(shared: &Shared, path: Vec<String>, request: Request) -> Response {
    let Some(act) = act(request.method(), &path) else {
        return refuse(&refusal(404, 0, "404: Not Found"));
    };
    if let Err(refused) = admitted(act, request.headers()) {
        return refuse(&refused);
    }
    let trouble = faults::take(&mut shared.state().faults, act);
    let asked = read(act, path, request).await;
    let (status, said, response) = match trouble {
        Some(Trouble::Delay(delay)) => {
            tokio::time::sleep(delay).await;
            grant(shared, &asked)
        }
        Some(Trouble::Held(held)) => {
            held.wait().await;
            grant(shared, &asked)
        }
        Some(trouble) => fail(shared, &asked, trouble),
        None => grant(shared, &asked),
    };
    let (path, body) = asked.map_or((String::new(), Value::Null), |a| (a.path.join("/"), a.body));
    shared.state().calls.push(Call { act, path, body, status, said });
    shared.changed();
    response
}

/// The status, what is said in the log, and what goes out.
type Answered = (u16, String, Response);

fn grant(shared: &Shared, asked: &Result<Asked, Refusal>) -> Answered {
    let paced = asked.as_ref().ok().and_then(|asked| pace(shared, asked));
    match paced {
        Some(Err(after)) => (429, "too many".to_owned(), too_many(after, false)),
        paced => {
            let (status, said, mut response) = answered(perform(shared, asked));
            if let Some(Ok(headers)) = paced {
                response.headers_mut().extend(headers);
            }
            (status, said, response)
        }
    }
}

fn perform(shared: &Shared, asked: &Result<Asked, Refusal>) -> Done {
    asked.as_ref().map_err(Clone::clone).and_then(|asked| acts::perform(shared, asked))
}

fn fail(shared: &Shared, asked: &Result<Asked, Refusal>, trouble: Trouble) -> Answered {
    match trouble {
        Trouble::Cut => (0, "cut".to_owned(), cut()),
        Trouble::LoseAnswer => {
            let refused = perform(shared, asked).err();
            (0, refused.map_or_else(|| "lost".to_owned(), |refusal| refusal.message), cut())
        }
        Trouble::PageAfter { status } => {
            perform(shared, asked).ok();
            fail(shared, asked, Trouble::Page { status })
        }
        Trouble::Page { status } => {
            let code = StatusCode::from_u16(status).expect("a fault has a status");
            let page = "<html><body>Bad Gateway</body></html>";
            let mut page = (code, page).into_response();
            if status == 429 {
                page.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("30"));
            }
            (status, "a page".to_owned(), page)
        }
        Trouble::TooMany { retry_after, global } => {
            (429, "too many".to_owned(), too_many(retry_after, global))
        }
        Trouble::Refuse { status, code, message } => answered(Err(refusal(status, code, &message))),
        Trouble::Delay(_) | Trouble::Held(_) => grant(shared, asked),
    }
}

/// Only the bot, and only under a name as the platform wants it. Interactions name themselves.
fn admitted(act: &str, headers: &HeaderMap) -> Result<(), Refusal> {
    if matches!(act, "callback" | "followup" | "original") {
        return Ok(());
    }
    let shown = |name| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if !shown(header::USER_AGENT).starts_with("DiscordBot (") {
        return Err(refusal(403, 40333, "internal network error"));
    }
    if shown(header::AUTHORIZATION).strip_prefix("Bot ") != Some(TOKEN) {
        return Err(refusal(401, 0, "401: Unauthorized"));
    }
    Ok(())
}

async fn read(act: &'static str, path: Vec<String>, request: Request) -> Result<Asked, Refusal> {
    let query = request.uri().query().unwrap_or_default().split('&').filter_map(|pair| {
        pair.split_once('=').map(|(key, value)| (key.to_owned(), value.to_owned()))
    });
    let mut asked =
        Asked { act, path, query: query.collect(), body: Value::Null, files: Vec::new() };
    let kind = request.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let unreadable = || refusal(400, 50109, "The request body contains invalid JSON.");
    if kind.is_some_and(|kind| kind.starts_with("multipart/form-data")) {
        let mut form = Multipart::from_request(request, &()).await.map_err(|_| unreadable())?;
        while let Some(field) = form.next_field().await.map_err(|_| unreadable())? {
            let name = field.name().unwrap_or_default().to_owned();
            let file = field.file_name().map(str::to_owned);
            let bytes = field.bytes().await.map_err(|_| unreadable())?;
            let number =
                name.strip_prefix("files[").and_then(|n| n.strip_suffix(']')?.parse().ok());
            match (name.as_str(), number, file) {
                ("payload_json", _, _) => {
                    asked.body = serde_json::from_slice(&bytes).map_err(|_| unreadable())?;
                }
                (_, Some(number), Some(file)) => asked.files.push((number, file, bytes)),
                _ => return Err(unreadable()),
            }
        }
        return Ok(asked);
    }
    let json = kind == Some("application/json");
    let bytes =
        axum::body::to_bytes(request.into_body(), usize::MAX).await.map_err(|_| unreadable())?;
    if !bytes.is_empty() {
        if !json {
            return Err(refusal(
                400,
                50035,
                "Expected \"Content-Type\" header to be one of {'application/json'}.",
            ));
        }
        asked.body = serde_json::from_slice(&bytes).map_err(|_| unreadable())?;
    }
    Ok(asked)
}

/// The limit on what is written into one channel, new messages and edits each for themselves: the
/// headers of the answer, or how long to wait.
fn pace(shared: &Shared, asked: &Asked) -> Option<Result<HeaderMap, f64>> {
    if !matches!(asked.act, "send" | "edit") {
        return None;
    }
    let mut state = shared.state();
    let (limit, within) = (state.rate_limit.messages, state.rate_limit.within);
    let sent = state.rate_limit.sent.entry((asked.act, asked.id(1))).or_default();
    let now = std::time::Instant::now();
    while sent.front().is_some_and(|first| now.duration_since(*first) >= within) {
        sent.pop_front();
    }
    let first = sent.front().copied().unwrap_or(now);
    let after = within.saturating_sub(now.duration_since(first)).as_secs_f64();
    if sent.len() >= limit {
        return Some(Err(after));
    }
    sent.push_back(now);
    let left = limit - sent.len();
    let mut headers = HeaderMap::new();
    for (name, value) in [
        ("x-ratelimit-limit", limit.to_string()),
        ("x-ratelimit-remaining", left.to_string()),
        ("x-ratelimit-reset-after", format!("{after:.3}")),
        ("x-ratelimit-bucket", format!("of-{}", asked.act)),
    ] {
        headers.insert(name, value.parse().expect("digits are a header"));
    }
    Some(Ok(headers))
}

fn answered(done: Done) -> Answered {
    match done {
        Ok(Value::Null) => (204, String::new(), StatusCode::NO_CONTENT.into_response()),
        Ok(result) => {
            let json = [(header::CONTENT_TYPE, "application/json")];
            (200, String::new(), (json, result.to_string()).into_response())
        }
        Err(refusal) => (refusal.status, refusal.message.clone(), refuse(&refusal)),
    }
}

fn refuse(refusal: &Refusal) -> Response {
    let mut body = json!({ "message": refusal.message, "code": refusal.code });
    if !refusal.errors.is_null() {
        body["errors"] = refusal.errors.clone();
    }
    let status = StatusCode::from_u16(refusal.status).expect("a refusal has a status");
    (status, [(header::CONTENT_TYPE, "application/json")], body.to_string()).into_response()
}

fn too_many(retry_after: f64, global: bool) -> Response {
    let body = json!({
        "message": "You are being rate limited.", "retry_after": retry_after, "global": global,
    });
    let scope = if global { "global" } else { "user" };
    let mut headers = HeaderMap::new();
    for (name, value) in [
        ("content-type", "application/json"),
        ("retry-after", &retry_after.ceil().to_string()),
        ("x-ratelimit-scope", scope),
    ] {
        headers.insert(name, value.parse().expect("a header's value"));
    }
    if global {
        headers.insert("x-ratelimit-global", HeaderValue::from_static("true"));
    }
    (StatusCode::TOO_MANY_REQUESTS, headers, body.to_string()).into_response()
}

/// A body that breaks off: the connection is closed instead of an answer.
fn cut() -> Response {
    let broken = futures::stream::once(async { Err::<Vec<u8>, _>(std::io::Error::other("cut")) });
    Body::from_stream(broken).into_response()
}
