//! What has to be done from time to time: keeping leases alive, ending questions nobody answered.

use anyhow::Result;
use chrono::TimeDelta;
use std::{sync::Arc, time::Duration};

use crate::{
    gateway::{Gateway, approvals},
    store::{notices, schedules, usage},
};

const SEAL_EVERY: Duration = Duration::from_mins(10);

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

/// Seals the audit, and forgets what is old. One node does it at a time.
pub(super) async fn seal(gateway: Arc<Gateway>, keep: Option<TimeDelta>) {
    while tokio::time::timeout(SEAL_EVERY, gateway.stop.cancelled()).await.is_err() {
        if let Err(problem) = seal_once(&gateway, keep).await {
            tracing::error!(problem = format!("{problem:#}"), "the audit is not sealed");
        }
    }
}

/// What is older than is kept goes, from the audit and from everything that is kept as long.
pub async fn seal_once(gateway: &Gateway, keep: Option<TimeDelta>) -> Result<()> {
    if gateway.store.hold_duty("seal").await?.is_none() {
        return Ok(());
    }
    let now = gateway.clock.now();
    gateway
        .store
        .write("forget", move |tx| {
            Box::pin(async move {
                usage::forget_idle(tx, now).await?;
                if let Some(keep) = keep {
                    usage::forget_days(tx, now - keep).await?;
                }
                notices::forget(tx, now).await?;
                schedules::forget_ended(tx, now).await
            })
        })
        .await?;
    while gateway.store.seal(now, keep.map(|keep| now - keep)).await? > 0 {}
    Ok(())
}
