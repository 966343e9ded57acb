//! Idempotency: a request with an `Idempotency-Key` is executed once. Repeating it returns the same
//! response, or an error if a crash interrupted the first execution or if it failed: its effects
//! may have been committed. A request whose repetition has the same effect is executed again then.

use anyhow::Result;
use axum::{
    body::{Body, Bytes, to_bytes},
    extract::Request,
    http::{
        HeaderMap, HeaderName, HeaderValue, Method, StatusCode,
        header::{CONTENT_TYPE, RETRY_AFTER},
    },
    middleware::Next,
    response::{IntoResponse as _, Response},
};
use sha2::{Digest as _, Sha256};

use crate::{
    admin::{Admin, BODY_BYTES, problem::Problem},
    store::api::idempotency::{self, KeyState, KeyedRequest, Repetition, StoredResponse},
};

pub const KEY: HeaderName = HeaderName::from_static("idempotency-key");
pub const REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");
/// The maximum length of a key.
const KEY_CHARS: usize = 255;

/// Marks a response that contains a secret and must not be stored.
#[derive(Debug, Clone, Copy)]
pub struct ContainsSecret;

/// Executes the request, or returns its stored response.
pub async fn once(admin: &Admin, caller: &str, request: Request, next: Next) -> Response {
    let reads = matches!(*request.method(), Method::GET | Method::HEAD);
    let key = match key(request.headers()) {
        Ok(Some(key)) if !reads => key,
        Ok(_) => return next.run(request).await,
        Err(problem) => return problem.into_response(),
    };
    match keyed(admin, caller.to_owned(), key, request, next).await {
        Ok(response) => response,
        Err(problem) => problem.into_response(),
    }
}

fn key(headers: &HeaderMap) -> Result<Option<String>, Problem> {
    let Some(key) = headers.get(KEY) else { return Ok(None) };
    let key = key.to_str().ok().filter(|key| (1..=KEY_CHARS).contains(&key.len()));
    let wrong = "An Idempotency-Key must have 1 to 255 visible ASCII characters.";
    key.map(|key| Some(key.to_owned())).ok_or_else(|| Problem::new(StatusCode::BAD_REQUEST, wrong))
}

async fn keyed(
    admin: &Admin,
    caller: String,
    key: String,
    request: Request,
    next: Next,
) -> Result<Response, Problem> {
    let (parts, body) = request.into_parts();
    let too_long = |_| Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "The body is too large.");
    let body = to_bytes(body, BODY_BYTES).await.map_err(too_long)?;
    let digest = digest(&format!("{} {}", parts.method, parts.uri), &body);
    // RFC 9110, 9.2.2: all methods except POST and PATCH are idempotent.
    let same = matches!(parts.method, Method::PUT | Method::DELETE);
    let twice = if same { Repetition::Same } else { Repetition::More };
    let now = admin.gateway.clock.now();
    let (who, name) = (caller.clone(), key.clone());
    let store = &admin.gateway.store;
    let before = store
        .write("start request", move |tx| {
            Box::pin(async move {
                let attempt = KeyedRequest { caller: &who, key: &name, request: &digest, twice };
                idempotency::begin(tx, attempt, now).await
            })
        })
        .await?;
    match before {
        KeyState::Nothing => {}
        KeyState::Answered(answer) => return Ok(again(answer)),
        KeyState::UnderWay => {
            let text = "The same request is being processed. Try again in a moment.";
            return Err(Problem::new(StatusCode::CONFLICT, text));
        }
        KeyState::CutOff => {
            let text = "An earlier request with this key was interrupted, and it is unknown \
                whether it took effect. Check, and send it again with a new key.";
            return Err(Problem::conflict(text));
        }
        KeyState::Other => {
            let text = "This Idempotency-Key was used for a different request. Use a new key.";
            return Err(Problem::new(StatusCode::UNPROCESSABLE_ENTITY, text));
        }
    }
    let response = next.run(Request::from_parts(parts, Body::from(body))).await;
    let (response, answer) = kept(response, twice).await?;
    store
        .write("store response", move |tx| {
            Box::pin(async move { idempotency::end(tx, &caller, &key, answer).await })
        })
        .await?;
    Ok(response)
}

fn digest(head: &str, body: &[u8]) -> String {
    hex::encode(Sha256::new().chain_update(head).chain_update([0]).chain_update(body).finalize())
}

/// The response, and what is stored of it. That is nothing if the response asks to send the request
/// again. After an internal error, it is nothing if the request can be executed again, and otherwise
/// an error.
async fn kept(
    response: Response,
    twice: Repetition,
) -> Result<(Response, Option<StoredResponse>), Problem> {
    let (parts, body) = response.into_parts();
    let body: Bytes = to_bytes(body, usize::MAX).await.map_err(anyhow::Error::from)?;
    let media_type = parts.headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let answer = StoredResponse {
        status: parts.status.as_u16(),
        media_type: media_type.unwrap_or_default().to_owned(),
        body: String::from_utf8_lossy(&body).into_owned(),
    };
    let answer = match parts.extensions.get::<ContainsSecret>() {
        // The same request can be sent again.
        _ if parts.headers.contains_key(RETRY_AFTER) => None,
        _ if parts.status.is_server_error() => (twice == Repetition::More).then(unknown_outcome),
        None => Some(answer),
        Some(ContainsSecret) => Some(shown_once()),
    };
    Ok((Response::from_parts(parts, Body::from(body)), answer))
}

fn shown_once() -> StoredResponse {
    let text = "An earlier request with this key has created it, and its secret is shown only \
        once. Revoke it, and create another with a new key.";
    stored(&Problem::conflict(text))
}

fn unknown_outcome() -> StoredResponse {
    let text = "An earlier request with this key failed, and it is unknown whether it took effect. \
        Check, and send it again with a new key.";
    stored(&Problem::conflict(text))
}

fn stored(problem: &Problem) -> StoredResponse {
    StoredResponse {
        status: problem.status().as_u16(),
        media_type: crate::admin::problem::PROBLEM.to_owned(),
        body: problem.body(),
    }
}

fn again(answer: StoredResponse) -> Response {
    let status = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::OK);
    let mut response = (status, answer.body).into_response();
    if let Ok(kind) = HeaderValue::from_str(&answer.media_type) {
        response.headers_mut().insert(CONTENT_TYPE, kind);
    }
    response.headers_mut().insert(REPLAYED, HeaderValue::from_static("true"));
    response
}
