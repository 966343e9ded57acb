//! What platforms push to us: checked and translated by the channel, committed, then answered.

use axum::{
    body::Bytes,
    extract::{Path, State},
    http::{HeaderMap, StatusCode, header::CONTENT_TYPE},
    response::{IntoResponse, Response},
};
use channels::{Batch, WebhookError, WebhookRequest, discord};
use std::sync::Arc;

use super::Admin;
use crate::gateway;

/// The answer has no body, but for a platform that asks whether we are there.
pub async fn receive(
    State(admin): State<Arc<Admin>>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let request = pushed(&headers, body);
    match (take(&admin, &id, &request).await, discord::pong(&request)) {
        (StatusCode::OK, Some(pong)) => {
            ([(CONTENT_TYPE, "application/json")], pong).into_response()
        }
        (status, _) => status.into_response(),
    }
}

/// 200 only once it is committed. Who does not know the secret learns nothing: a channel without a
/// webhook and a channel that does not exist look the same.
async fn take(admin: &Admin, id: &str, request: &WebhookRequest) -> StatusCode {
    let Some(connected) = admin.gateway.channels.get(id) else { return StatusCode::NOT_FOUND };
    let incomings = match connected.channel.webhook(request).await {
        Ok(incomings) => incomings,
        Err(WebhookError::Absent) => return StatusCode::NOT_FOUND,
        Err(WebhookError::Forbidden) => {
            tracing::warn!(channel.id = id, "a pushed request without the right secret");
            return StatusCode::UNAUTHORIZED;
        }
        Err(WebhookError::Malformed(reason)) => {
            tracing::warn!(channel.id = id, reason, "a pushed request that cannot be read");
            return StatusCode::BAD_REQUEST;
        }
    };
    let batch = Batch { incomings, position: None };
    match gateway::receive::receive(&admin.gateway, id, batch).await {
        Ok(()) => StatusCode::OK,
        Err(problem) => {
            let problem = format!("{problem:#}");
            tracing::error!(channel.id = id, problem, "not taken, will come again");
            StatusCode::SERVICE_UNAVAILABLE
        }
    }
}

fn pushed(headers: &HeaderMap, body: Bytes) -> WebhookRequest {
    let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
    let headers = headers.iter().map(|(n, v)| (n.as_str().to_owned(), text(v.as_bytes())));
    WebhookRequest { headers: headers.collect(), body }
}
