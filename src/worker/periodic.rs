//! What has to be done from time to time: keeping leases alive, ending questions nobody answered.

use std::{sync::Arc, time::Duration};

use crate::gateway::{Gateway, approvals};

/// Keeps what this node holds.
pub(super) async fn beat(gateway: Arc<Gateway>) {
    // What finishes after `stop` does so within the time that a lease stands.
    while !gateway.stop.is_cancelled() {
        if let Err(problem) = gateway.store.heartbeat().await {
            tracing::error!(problem = format!("{problem:#}"), "no heartbeat");
        }
        let _ =
            tokio::time::timeout(gateway.store.heartbeat_every(), gateway.stop.cancelled()).await;
    }
}

/// Keeps the clock of this process with that of the database.
pub(super) async fn follow_clock(gateway: Arc<Gateway>) {
    while !gateway.stop.is_cancelled() {
        if let Err(problem) = gateway.store.follow_clock().await {
            tracing::warn!(problem = format!("{problem:#}"), "could not read the database's clock");
        }
        let _ =
            tokio::time::timeout(gateway.store.heartbeat_every(), gateway.stop.cancelled()).await;
    }
}

/// Expires questions. Not a duty that must be alone: the update that decides is conditional.
pub(super) async fn expire(gateway: Arc<Gateway>) {
    while !gateway.stop.is_cancelled() {
        if let Err(problem) = approvals::sweep(&gateway).await {
            tracing::error!(problem = format!("{problem:#}"), "questions were not expired");
        }
        let _ = tokio::time::timeout(Duration::from_secs(1), gateway.stop.cancelled()).await;
    }
}
