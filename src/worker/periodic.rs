//! Periodic work: renews leases and expires approvals.

use std::{sync::Arc, time::Duration};

use crate::{
    clock::stops_within,
    gateway::{Gateway, approvals},
};

/// Renews the leases and duties of this node.
pub(super) async fn renew_leases(gateway: Arc<Gateway>) {
    // Work that finishes after `stop` does so before its lease expires.
    while !gateway.stop.is_cancelled() {
        let wait = gateway.store.keep_leases().await;
        stops_within(wait, &gateway.stop).await;
    }
}

/// Synchronises the clock of this process with the database's.
pub(super) async fn follow_clock(gateway: Arc<Gateway>) {
    while !gateway.stop.is_cancelled() {
        if let Err(problem) = gateway.store.follow_clock().await {
            tracing::warn!(problem = format!("{problem:#}"), "could not read the database's clock");
        }
        stops_within(gateway.store.heartbeat_every(), &gateway.stop).await;
    }
}

/// Expires approvals. Several nodes may do this at once, because the update is conditional.
pub(super) async fn expire(gateway: Arc<Gateway>) {
    while !gateway.stop.is_cancelled() {
        if let Err(problem) = approvals::sweep(&gateway).await {
            tracing::error!(problem = format!("{problem:#}"), "could not expire approvals");
        }
        stops_within(Duration::from_secs(1), &gateway.stop).await;
    }
}
