//! What platforms push to us: checked and translated by the channel, committed, then answered.

use axum::{
    body::Bytes,
    extract::{Path, State},
    http::{HeaderMap, StatusCode},
};
use channels::{Batch, WebhookError, WebhookRequest};
use std::sync::Arc;

use super::Admin;
use crate::gateway;

/// 200 only once it is committed. Who does not know the secret learns nothing: a channel without a
/// webhook and a channel that does not exist look the same.
pub async fn receive(
    State(admin): State<Arc<Admin>>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> StatusCode {
    let Some(connected) = admin.gateway.channels.get(&id) else { return StatusCode::NOT_FOUND };
    let incomings = match connected.channel.webhook(&pushed(&headers, body)).await {
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
    match gateway::receive::receive(&admin.gateway, &id, batch).await {
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
