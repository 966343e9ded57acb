//! Requests that platforms and other programs push: verified, committed, then acknowledged.

use axum::{
    Json,
    body::Bytes,
    extract::{Path, Query, Request, State},
    http::{
        HeaderMap, StatusCode,
        header::{CONNECTION, CONTENT_TYPE, RETRY_AFTER},
    },
    middleware::Next,
    response::{IntoResponse, Response},
};
use channels::{Batch, WebhookError, WebhookRequest, discord};
use serde::Deserialize;
use serde_json::json;
use std::sync::Arc;

use super::{Admin, problem::Problem, webhook_bodies::WebhookBody};
use crate::gateway::{
    self, approvals,
    webhooks::{
        callback::{CallbackChoice, CallbackOutcome, SignedCallback, answer as decide},
        incoming::{WebhookOutcome, take as take_in},
        signature::{Verify, has_signature},
    },
};

/// A gateway that is stopping accepts no more requests, since its secrets may be outdated. The
/// sender will retry.
pub async fn unless_stopped(
    State(admin): State<Arc<Admin>>,
    request: Request,
    next: Next,
) -> Response {
    if admin.gateway.stop.is_cancelled() {
        return (StatusCode::SERVICE_UNAVAILABLE, [(CONNECTION, "close")]).into_response();
    }
    next.run(request).await
}

/// The response has no body, except for a platform's verification request.
pub async fn receive(
    State(admin): State<Arc<Admin>>,
    Path(id): Path<String>,
    request: Request,
) -> Response {
    let mut head = without_body(request.headers());
    if !has_webhook(&admin, &id, &head).await {
        return StatusCode::NOT_FOUND.into_response();
    }
    let body = match admin.webhook_bodies.read(request).await {
        Ok(body) => body,
        Err(unread) => return unread.into_response(),
    };
    head.body = body.bytes;
    let request = head;
    match (take(&admin, &id, &request).await, discord::pong(&request)) {
        (StatusCode::OK, Some(pong)) => {
            ([(CONTENT_TYPE, "application/json")], pong).into_response()
        }
        (status, _) => status.into_response(),
    }
}

/// Whether the channel receives webhooks at all, which does not depend on the body.
async fn has_webhook(admin: &Admin, id: &str, head: &WebhookRequest) -> bool {
    let Some(connected) = admin.gateway.channels.get(id) else { return false };
    !matches!(connected.channel.webhook(head).await, Err(WebhookError::Absent))
}

/// Responds 200 only after the commit. A sender without the secret learns nothing: a channel
/// without a webhook and a channel that does not exist look the same.
async fn take(admin: &Admin, id: &str, request: &WebhookRequest) -> StatusCode {
    let Some(connected) = admin.gateway.channels.get(id) else { return StatusCode::NOT_FOUND };
    let incomings = match connected.channel.webhook(request).await {
        Ok(incomings) => incomings,
        Err(WebhookError::Absent) => return StatusCode::NOT_FOUND,
        Err(WebhookError::Forbidden) => {
            tracing::warn!(channel.id = id, "rejected a platform's webhook: wrong secret");
            return StatusCode::UNAUTHORIZED;
        }
        Err(WebhookError::Malformed(reason)) => {
            tracing::warn!(channel.id = id, reason, "rejected a platform's webhook: invalid body");
            return StatusCode::BAD_REQUEST;
        }
    };
    let batch = Batch { incomings, position: None };
    match gateway::intake::receive(&admin.gateway, id, batch).await {
        Ok(()) => StatusCode::OK,
        Err(problem) => {
            let problem = format!("{problem:#}");
            tracing::error!(
                channel.id = id,
                problem,
                "could not store a pushed update; the platform will retry"
            );
            StatusCode::SERVICE_UNAVAILABLE
        }
    }
}

/// The request as far as it has arrived.
fn without_body(headers: &HeaderMap) -> WebhookRequest {
    let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
    let headers = headers.iter().map(|(n, v)| (n.as_str().to_owned(), text(v.as_bytes())));
    WebhookRequest { headers: headers.collect(), body: Bytes::new() }
}

/// An incoming webhook. New and repeated requests get the same response.
pub async fn hook(
    State(admin): State<Arc<Admin>>,
    Path(name): Path<String>,
    request: Request,
) -> Result<Response, Problem> {
    let Some(webhook) = admin.incoming_webhooks.get(&name) else {
        return Ok(StatusCode::NOT_FOUND.into_response());
    };
    let mut head = without_body(request.headers());
    // Without a signature the request is rejected, whatever its body is.
    let read = if has_signature(webhook.verify, &head) {
        admin.webhook_bodies.read(request).await
    } else {
        Ok(WebhookBody::default())
    };
    let body = match read {
        Ok(body) => body,
        Err(unread) => return Ok(unread.into_response()),
    };
    head.body = body.bytes;
    let request = head;
    Ok(match take_in(&admin.gateway, webhook, &request).await? {
        // Slack shows what a slash command returns to the person.
        WebhookOutcome::Accepted | WebhookOutcome::Repeated if webhook.verify == Verify::Slack => {
            StatusCode::OK.into_response()
        }
        WebhookOutcome::Accepted | WebhookOutcome::Repeated => {
            Json(json!({ "taken": true })).into_response()
        }
        WebhookOutcome::Challenged(challenge) => {
            Json(json!({ "challenge": challenge })).into_response()
        }
        WebhookOutcome::Refused(refused) => {
            tracing::warn!(webhook.name = name, reason = %refused, "webhook rejected");
            StatusCode::UNAUTHORIZED.into_response()
        }
        WebhookOutcome::TemplateFailed(problem) => {
            tracing::error!(webhook.name = name, problem, "webhook template failed");
            StatusCode::UNPROCESSABLE_ENTITY.into_response()
        }
        WebhookOutcome::RateLimited(wait) => {
            let wait = (wait.as_secs() + 1).to_string();
            (StatusCode::TOO_MANY_REQUESTS, [(RETRY_AFTER, wait)]).into_response()
        }
    })
}

/// The query of a callback URL.
#[derive(Debug, Deserialize)]
pub struct Seal {
    until: i64,
    seal: String,
}

/// A subscriber decides an approval with a callback URL. Only POST counts; opening the URL decides
/// nothing.
pub async fn answer(
    State(admin): State<Arc<Admin>>,
    Path((name, approval, choice)): Path<(String, String, CallbackChoice)>,
    Query(Seal { until, seal }): Query<Seal>,
) -> Result<Response, Problem> {
    let Some(subscription) = admin.subscriptions.get(&name) else {
        return Ok(StatusCode::NOT_FOUND.into_response());
    };
    let sealed = SignedCallback { approval, choice, until, seal };
    Ok(match decide(&admin.gateway, &name, subscription, sealed).await? {
        CallbackOutcome::Said(answer) => {
            let status = match answer.outcome {
                approvals::DecisionOutcome::Done => StatusCode::OK,
                approvals::DecisionOutcome::Refused => StatusCode::FORBIDDEN,
                approvals::DecisionOutcome::Late => StatusCode::GONE,
                approvals::DecisionOutcome::NotNow => StatusCode::CONFLICT,
                approvals::DecisionOutcome::RolesUnknown => StatusCode::SERVICE_UNAVAILABLE,
            };
            (status, Json(json!({ "text": answer.text }))).into_response()
        }
        CallbackOutcome::Over => StatusCode::GONE.into_response(),
        CallbackOutcome::Unknown => StatusCode::NOT_FOUND.into_response(),
    })
}
