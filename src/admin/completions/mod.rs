//! An endpoint for OpenAI clients, under `/v1`: a chat completion is a turn of an agent.
//!
//! - `models`: the agents that can be used
//! - `request`: what clients send
//! - `claim`: the conversation of a request
//! - `answer`, `progress`: waits for the end of the turn
//! - `response`, `error`: what clients receive

mod answer;
mod claim;
mod error;
mod models;
mod progress;
mod request;
mod response;

use axum::{
    Json, Router,
    body::{Body, to_bytes},
    extract::{Path, State},
    http::{HeaderMap, StatusCode},
    middleware::from_fn,
    response::Response,
    routing::{any, get, post},
};
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};

use super::{
    Admin,
    api::caller::{self, Caller},
    auth::rate_limit::{Client, OpenConnections},
    connections, language,
};
use crate::journal::role::Role;
use answer::{Answer, Awaited};
use claim::CompletionSender;
use error::CompletionError;
use request::CompletionRequest;

/// The maximum size of a request, which contains the whole dialogue.
const BODY_BYTES: usize = 4 * 1024 * 1024;
/// The maximum number of requests of one token that wait for an answer, on each node.
const WAITING: usize = 100;
/// When a client may try again that has too many.
const TRIES_AGAIN_IN: Duration = Duration::from_secs(5);

/// The state of these routes.
pub struct Completions {
    is_enabled: bool,
    /// The base URL of links in answers.
    base: String,
    waiting: OpenConnections,
}

impl Default for Completions {
    fn default() -> Self {
        Self { is_enabled: false, base: String::new(), waiting: OpenConnections::of(WAITING) }
    }
}

impl Completions {
    /// Enables the routes. Links in answers begin with `base`.
    pub fn enabled(base: impl Into<String>) -> Self {
        Self { is_enabled: true, base: base.into(), ..Self::default() }
    }
}

pub fn router() -> Router<Arc<Admin>> {
    Router::new()
        .route("/v1/chat/completions", post(create))
        .route("/v1/models", get(index))
        .route("/v1/models/{id}", get(show))
        .route("/v1/{*rest}", any(unknown))
        .method_not_allowed_fallback(wrong_method)
        .layer(from_fn(connections::limit_body_time))
}

async fn create(
    State(admin): State<Arc<Admin>>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, CompletionError> {
    let caller = admitted(&admin, &headers).await?;
    let body = to_bytes(body, BODY_BYTES).await.map_err(|_| {
        let message = "The request was not received within a minute, or is larger than 4 MiB.";
        CompletionError::new(StatusCode::PAYLOAD_TOO_LARGE, "request_too_large", message)
    })?;
    let request = CompletionRequest::parse(&body)?;
    let model = models::find(&admin, &request.model)?;
    let waiting = admin.completions.waiting.enter(Client::Person(caller.id.clone()));
    let waiting = waiting.ok_or_else(|| {
        let message = format!("{WAITING} requests of this token are waiting for an answer.");
        let status = StatusCode::TOO_MANY_REQUESTS;
        CompletionError::new(status, "rate_limit_exceeded", message).after(TRIES_AGAIN_IN)
    })?;
    // Subscribe before the message is stored, so that nothing is missed.
    let shown = model.web.subscribe();
    let sender =
        CompletionSender { caller: &caller, model: &model, headers: &headers, body: &body };
    let claimed = claim::begin(&admin, &sender, &request).await?;
    let words = &language::of(&headers).words().page;
    let awaited = Awaited { request, claimed, person: caller.id, shown, words };
    response::respond(Answer::new(admin, awaited, waiting)).await
}

async fn index(
    State(admin): State<Arc<Admin>>,
    headers: HeaderMap,
) -> Result<Json<Value>, CompletionError> {
    admitted(&admin, &headers).await?;
    let models: Vec<_> = models::all(&admin).iter().map(models::AgentModel::view).collect();
    Ok(Json(json!({ "object": "list", "data": models })))
}

async fn show(
    State(admin): State<Arc<Admin>>,
    headers: HeaderMap,
    Path(id): Path<String>,
) -> Result<Json<Value>, CompletionError> {
    admitted(&admin, &headers).await?;
    Ok(Json(models::find(&admin, &id)?.view()))
}

async fn unknown(
    State(admin): State<Arc<Admin>>,
    headers: HeaderMap,
) -> Result<Json<Value>, CompletionError> {
    admitted(&admin, &headers).await?;
    let message = "Only /v1/chat/completions and /v1/models are supported.";
    Err(CompletionError::new(StatusCode::NOT_FOUND, "unknown_url", message))
}

async fn wrong_method() -> CompletionError {
    let message = "This URL does not support that method.";
    CompletionError::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", message)
}

/// The caller, if the routes are enabled and the token's role is member or higher.
async fn admitted(admin: &Admin, headers: &HeaderMap) -> Result<Caller, CompletionError> {
    if !admin.completions.is_enabled {
        let message = "This API is disabled. Set admin.completions.enabled = true to enable it.";
        return Err(CompletionError::new(StatusCode::NOT_FOUND, "not_enabled", message));
    }
    if admin.stop.is_cancelled() {
        return Err(CompletionError::stopping());
    }
    match caller::by_bearer(admin, headers).await? {
        Some(caller) if caller.role >= Role::Member => Ok(caller),
        Some(_) => {
            let message = "This requires a token with the role member or higher.";
            Err(CompletionError::new(StatusCode::FORBIDDEN, "insufficient_role", message))
        }
        None => {
            let message = "Send a valid API token as the key. `countersign token --api NAME \
                --role member` creates one.";
            Err(CompletionError::new(StatusCode::UNAUTHORIZED, "invalid_api_key", message))
        }
    }
}
