//! Liveness and readiness probes.

use axum::{
    Json,
    extract::State,
    http::StatusCode,
    response::{IntoResponse as _, Response},
};
use serde_json::json;
use std::{sync::Arc, time::Duration};

use super::Admin;

/// The database counts as down if it does not answer within this time.
const ANSWERS_WITHIN: Duration = Duration::from_secs(2);

/// Liveness: the process responds.
pub async fn alive() -> &'static str {
    "ok"
}

/// Readiness: the gateway can accept work.
pub async fn ready(State(admin): State<Arc<Admin>>) -> Response {
    let database = match tokio::time::timeout(ANSWERS_WITHIN, admin.gateway.store.ping()).await {
        Ok(Ok(())) => "ok",
        Ok(Err(problem)) => {
            tracing::error!(problem = format!("{problem:#}"), "the database does not answer");
            "failed"
        }
        Err(_) => "no answer within 2 s",
    };
    let process = if admin.stop.is_cancelled() { "stopping" } else { "ok" };
    let ready = database == "ok" && process == "ok";
    let status = if ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let checks = json!({ "database": database, "process": process });
    (status, Json(json!({ "ready": ready, "checks": checks }))).into_response()
}
