//! Requests as they arrive: paths, bodies of four kinds, the long poll, the faults.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use axum::{
    Router,
    body::Body,
    extract::{DefaultBodyLimit, FromRequest, Multipart, Request, State as Extracted},
    http::{StatusCode, header::CONTENT_TYPE},
    response::{IntoResponse, Response},
};
use serde_json::{Map, Value, json};
use tokio::{net::TcpListener, time::Instant};

use super::{
    Shared, TOKEN,
    faults::{self, Trouble},
    methods,
    rules::{self, Refusal},
    state::{Call, File, State},
};

pub(super) async fn serve(listener: TcpListener, shared: Arc<Shared>) {
    let router =
        Router::new().fallback(route).layer(DefaultBodyLimit::disable()).with_state(shared);
    axum::serve(listener, router).await.expect("accepting on the loopback does not fail");
}

async fn route(Extracted(shared): Extracted<Arc<Shared>>, request: Request) -> Response {
    let path = request.uri().path().to_owned();
    let segments: Vec<&str> = path.trim_matches('/').split('/').collect();
    match segments.as_slice() {
        ["file", bot, "documents", id] if known(bot) => download(&shared, id),
        [bot, method] if known(bot) => call(&shared, method, request).await,
        [bot, _] if bot.starts_with("bot") && bot.contains(':') => refuse(&Refusal {
            code: 401,
            description: "Unauthorized".into(),
            parameters: Value::Null,
        }),
        _ => refuse(&not_found()),
    }
}

fn known(bot: &str) -> bool {
    let token = bot.strip_prefix("bot").unwrap_or_default();
    token.replace("%3A", ":").replace("%3a", ":") == TOKEN
}

fn not_found() -> Refusal {
    Refusal { code: 404, description: "Not Found".into(), parameters: Value::Null }
}

fn download(shared: &Shared, id: &str) -> Response {
    let file = shared.state().files.get(id).cloned();
    file.map_or_else(|| StatusCode::NOT_FOUND.into_response(), |file| file.bytes.into_response())
}

async fn call(shared: &Shared, method: &str, request: Request) -> Response {
    let Some(method) = rules::method(method) else { return refuse(&not_found()) };
    let trouble = trouble(shared, method);
    let read = read(request).await;
    let log = read.as_ref().map_or(Value::Null, |(fields, _)| Value::Object(fields.clone()));
    let (status, description, response) = match trouble {
        Some(Trouble::Cut) => (0, "cut".to_owned(), cut()),
        Some(Trouble::LoseAnswer) => {
            let done = perform(shared, method, read).await;
            let text = done.err().map_or_else(|| "lost".to_owned(), |refusal| refusal.description);
            (0, text, cut())
        }
        Some(Trouble::PageAfter { code }) => {
            perform(shared, method, read).await.ok();
            (code, "a page, and done".to_owned(), page(code))
        }
        Some(Trouble::Page { code }) => (code, "a page".to_owned(), page(code)),
        Some(Trouble::TooMany { retry_after }) => {
            let description = format!("Too Many Requests: retry after {retry_after}");
            let parameters = json!({ "retry_after": retry_after });
            answered(Err(Refusal { code: 429, description, parameters }))
        }
        Some(Trouble::Refuse { code, description }) => {
            answered(Err(Refusal { code, description, parameters: Value::Null }))
        }
        Some(Trouble::Delay(delay)) => {
            tokio::time::timeout(delay, std::future::pending::<()>()).await.ok();
            answered(perform(shared, method, read).await)
        }
        Some(Trouble::Held(held)) => {
            held.wait().await;
            answered(perform(shared, method, read).await)
        }
        None => answered(perform(shared, method, read).await),
    };
    let call = Call { method: method.to_owned(), fields: log, status, description };
    shared.state().calls.push(call);
    shared.changed();
    response
}

fn trouble(shared: &Shared, method: &str) -> Option<Trouble> {
    let mut state = shared.state();
    let planned = faults::take(&mut state.faults, method);
    planned.or_else(|| state.author.as_mut().and_then(|author| author(method)))
}

fn answered(done: Result<Value, Refusal>) -> (u16, String, Response) {
    match done {
        Ok(result) => {
            let body = json!({ "ok": true, "result": result });
            (200, String::new(), axum::Json(body).into_response())
        }
        Err(refusal) => (refusal.code, refusal.description.clone(), refuse(&refusal)),
    }
}

fn refuse(refusal: &Refusal) -> Response {
    let mut body = json!({
        "ok": false, "error_code": refusal.code, "description": refusal.description,
    });
    if !refusal.parameters.is_null() {
        body["parameters"] = refusal.parameters.clone();
    }
    let status = StatusCode::from_u16(refusal.code).expect("a refusal has a status");
    (status, axum::Json(body)).into_response()
}

fn page(code: u16) -> Response {
    let status = StatusCode::from_u16(code).expect("a fault has a status");
    (status, "<html><body>Bad Gateway</body></html>").into_response()
}

/// A body that breaks off: the connection is closed instead of an answer.
fn cut() -> Response {
    let broken = futures::stream::once(async { Err::<Vec<u8>, _>(std::io::Error::other("cut")) });
    Body::from_stream(broken).into_response()
}

type Read = (Map<String, Value>, BTreeMap<String, File>);

async fn perform(
    shared: &Shared,
    method: &'static str,
    read: Result<Read, String>,
) -> Result<Value, Refusal> {
    let (fields, files) = read.map_err(|error| Refusal::bad(&error))?;
    let fields = rules::typed(method, fields)?;
    if method == "getUpdates" {
        return poll(shared, &fields).await;
    }
    let request = methods::Request { method, fields, files };
    let done = methods::answer(&mut shared.state(), request);
    shared.changed();
    done
}

/// All fields: from the query, JSON, form or multipart body.
async fn read(request: Request) -> Result<Read, String> {
    let mut fields = form(request.uri().query().unwrap_or_default());
    let mut files = BTreeMap::new();
    let content_type = request.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let content_type = content_type.unwrap_or_default().to_owned();
    // The whole body is taken first: what a reader of parts leaves unread would close the connection.
    let (head, body) = request.into_parts();
    let body = axum::body::to_bytes(body, usize::MAX).await.map_err(|e| e.to_string())?;
    if content_type.starts_with("multipart/") {
        let request = Request::from_parts(head, Body::from(body));
        let parts = Multipart::from_request(request, &()).await.map_err(|e| e.to_string())?;
        read_parts(parts, &mut fields, &mut files).await?;
        return Ok((fields, files));
    }
    if content_type.starts_with("application/json") && !body.is_empty() {
        let json: Map<String, Value> = serde_json::from_slice(&body).map_err(|e| e.to_string())?;
        fields.extend(json);
    } else if content_type.starts_with("application/x-www-form-urlencoded") {
        fields.extend(form(std::str::from_utf8(&body).map_err(|e| e.to_string())?));
    } else if !body.is_empty() {
        return Err(format!("a body of type {content_type:?} is not read"));
    }
    Ok((fields, files))
}

fn form(text: &str) -> Map<String, Value> {
    let pairs = reqwest::Url::parse(&format!("http://form/?{text}")).ok();
    let pairs = pairs.iter().flat_map(|url| url.query_pairs());
    pairs.map(|(name, value)| (name.into_owned(), Value::String(value.into_owned()))).collect()
}

async fn read_parts(
    mut parts: Multipart,
    fields: &mut Map<String, Value>,
    files: &mut BTreeMap<String, File>,
) -> Result<(), String> {
    while let Some(part) = parts.next_field().await.map_err(|e| e.to_string())? {
        let name = part.name().unwrap_or_default().to_owned();
        let media_type = part.content_type().unwrap_or("application/octet-stream").to_owned();
        if let Some(file_name) = part.file_name().map(str::to_owned) {
            let bytes = part.bytes().await.map_err(|e| e.to_string())?;
            files.insert(name, File { name: file_name, media_type, bytes });
        } else {
            let text = part.text().await.map_err(|e| e.to_string())?;
            fields.insert(name, Value::String(text));
        }
    }
    // A file may be in its own field, or be referenced by it as `attach://part`. Only file fields
    // are resolved; another part is referenced elsewhere.
    for field in ["document", "photo"] {
        if files.contains_key(field) && !fields.contains_key(field) {
            fields.insert(field.to_owned(), Value::String(format!("attach://{field}")));
        }
    }
    Ok(())
}

/// `getUpdates`: an offset forgets all before it; of two polls the older ends with 409.
async fn poll(shared: &Shared, fields: &Value) -> Result<Value, Refusal> {
    let seconds = fields["timeout"].as_u64().unwrap_or(0).min(50);
    let deadline = Instant::now() + Duration::from_secs(seconds);
    let mut changes = shared.changes.subscribe();
    let mine = {
        let mut state = shared.state();
        methods::allow(&mut state, fields);
        confirm(&mut state, fields["offset"].as_i64().unwrap_or(0));
        state.poll += 1;
        state.poll
    };
    shared.changed();
    loop {
        changes.mark_unchanged();
        {
            let mut state = shared.state();
            if state.webhook.is_some() {
                return Err(Refusal::conflict(
                    "can't use getUpdates method while webhook is active; use deleteWebhook to \
                     delete the webhook first",
                ));
            }
            if state.poll != mine {
                return Err(Refusal::conflict(
                    "terminated by other getUpdates request; make sure that only one bot instance \
                     is running",
                ));
            }
            let found = fetch(&mut state, fields["limit"].as_u64().unwrap_or(100));
            if !found.is_empty() || Instant::now() >= deadline {
                return Ok(found.into());
            }
        }
        tokio::time::timeout_at(deadline, changes.changed()).await.ok();
    }
}

fn confirm(state: &mut State, offset: i64) {
    let id = |update: &Value| update["update_id"].as_i64().unwrap_or_default();
    let (confirmed, open) = if offset < 0 {
        let keep = state.updates.len().saturating_sub(offset.unsigned_abs() as usize);
        let open = state.updates.split_off(keep);
        (std::mem::take(&mut state.updates), open)
    } else {
        std::mem::take(&mut state.updates).into_iter().partition(|update| id(update) < offset)
    };
    state.updates = open;
    for edit in confirmed.iter().filter_map(|update| update.get("edited_message")) {
        let number = |value: &Value| value.as_i64().unwrap_or_default();
        let edited = (number(&edit["chat"]["id"]), number(&edit["message_id"]));
        state.edits_confirmed.insert(edited, Instant::now());
    }
}

fn fetch(state: &mut State, limit: u64) -> Vec<Value> {
    let mut found = std::mem::take(&mut state.repeats);
    let room = (limit.clamp(1, 100) as usize).saturating_sub(found.len());
    let fresh: Vec<Value> = state.updates.iter().take(room).cloned().collect();
    for update in fresh {
        let (twice, swapped) = state.disorder.next();
        // What comes again comes with a later batch, when it was confirmed long ago.
        state.repeats.extend(twice.then(|| update.clone()));
        let before = found.len().saturating_sub(usize::from(swapped));
        found.insert(before, update);
    }
    found
}
