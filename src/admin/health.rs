//! Liveness and readiness probes.

use axum::{
    Json,
    extract::State,
    http::StatusCode,
    response::{IntoResponse as _, Response},
};
use serde_json::json;
use std::{collections::BTreeMap, sync::Arc, time::Duration};

use super::{Admin, api::inventory::StatusView};

/// The database counts as down if it does not answer within this time.
const CHECK_TIMEOUT: Duration = Duration::from_secs(2);

/// The state of the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DatabaseHealth {
    Ok,
    Failed,
    Silent,
}

impl DatabaseHealth {
    fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Failed => "failed",
            Self::Silent => "no answer within 2 s",
        }
    }
}

/// Liveness: the process responds.
pub async fn alive() -> &'static str {
    "ok"
}

/// Readiness: the gateway can accept work.
///
/// The channels are listed, but do not count: their state is the same on all nodes, so a platform
/// that is down or a wrong token would take all of them out of service at once, with the console
/// in which to look for the problem.
pub async fn ready(State(admin): State<Arc<Admin>>) -> Response {
    let look = async {
        admin.gateway.store.ping().await?;
        admin.gateway.channel_states().await
    };
    let (database, states) = match tokio::time::timeout(CHECK_TIMEOUT, look).await {
        Ok(Ok(states)) => (DatabaseHealth::Ok, states),
        Ok(Err(problem)) => {
            tracing::error!(problem = format!("{problem:#}"), "the database does not answer");
            (DatabaseHealth::Failed, BTreeMap::new())
        }
        Err(_) => (DatabaseHealth::Silent, BTreeMap::new()),
    };
    let channels: BTreeMap<_, _> =
        states.into_iter().map(|(id, state)| (id, StatusView::from(state.status))).collect();
    let is_stopping = admin.stop.is_cancelled();
    let process = if is_stopping { "stopping" } else { "ok" };
    let ready = database == DatabaseHealth::Ok && !is_stopping;
    let status = if ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let checks = json!({ "database": database.as_str(), "process": process });
    let body = json!({ "ready": ready, "checks": checks, "channels": channels });
    (status, Json(body)).into_response()
}
