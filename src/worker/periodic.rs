//! Periodic work: renews leases and expires approvals.

use std::{sync::Arc, time::Duration};

use crate::gateway::{Gateway, approvals};

/// Renews the leases and duties of this node.
pub(super) async fn renew_leases(gateway: Arc<Gateway>) {
    // Work that finishes after `stop` does so before its lease expires.
    while !gateway.stop.is_cancelled() {
        let wait = gateway.store.keep_leases().await;
        let _ = tokio::time::timeout(wait, gateway.stop.cancelled()).await;
    }
}

/// Synchronises the clock of this process with the database's.
pub(super) async fn follow_clock(gateway: Arc<Gateway>) {
    while !gateway.stop.is_cancelled() {
        if let Err(problem) = gateway.store.follow_clock().await {
            tracing::warn!(problem = format!("{problem:#}"), "could not read the database's clock");
        }
        let _ =
            tokio::time::timeout(gateway.store.heartbeat_every(), gateway.stop.cancelled()).await;
    }
}

/// Expires approvals. Several nodes may do this at once, because the update is conditional.
pub(super) async fn expire(gateway: Arc<Gateway>) {
    while !gateway.stop.is_cancelled() {
        if let Err(problem) = approvals::sweep(&gateway).await {
            tracing::error!(problem = format!("{problem:#}"), "could not expire approvals");
        }
        let _ = tokio::time::timeout(Duration::from_secs(1), gateway.stop.cancelled()).await;
    }
}
