//! Expires approvals whose deadline has passed, and denies approvals that a halt left open.

use anyhow::Result;
use chrono::{DateTime, Utc};
use futures::future::join_all;

use super::{expire, halt, pending};
use crate::{
    gateway::Gateway,
    store::approvals::{Deadline, grants, request::Approval},
};

/// The number of approvals read at once.
const PAGE: usize = 500;
/// The number of approvals that are expired concurrently. Each has its own transaction, so that a
/// failure does not delay the others. On SQLite, concurrent transactions share a commit, and this
/// number bounds how long that commit occupies the writer.
const AT_ONCE: usize = 32;

/// Expires all approvals that are due and denies approvals that a halt left open. Returns how many
/// approvals were settled.
pub async fn sweep(gateway: &Gateway) -> Result<usize> {
    let now = gateway.clock.now();
    let (mut after, mut count) = (Deadline::default(), 0);
    loop {
        let due = gateway.store.due_approvals(&after, now, PAGE).await?;
        count += expire_all(gateway, due.approvals, now).await;
        // An approval that could not be expired stays behind the cursor until the next sweep.
        match due.next {
            Some(next) if !gateway.stop.is_cancelled() => after = next,
            _ => break,
        }
    }
    let halted = gateway
        .store
        .read(|tx| Box::pin(async move { Ok(grants::halted_by(tx).await?.is_some()) }));
    if halted.await? {
        let deny = gateway.store.write("halt", move |tx| Box::pin(halt::sweep(tx, now)));
        count += deny.await?;
    }
    Ok(count)
}

async fn expire_all(gateway: &Gateway, due: Vec<Approval>, now: DateTime<Utc>) -> usize {
    let (mut due, mut count) = (due.into_iter().peekable(), 0);
    while due.peek().is_some() {
        let expiring = due.by_ref().take(AT_ONCE).map(|due| expire_one(gateway, due, now));
        count += join_all(expiring).await.into_iter().filter(|expired| *expired).count();
    }
    count
}

/// Returns whether this call settled the approval.
async fn expire_one(gateway: &Gateway, approval: Approval, now: DateTime<Utc>) -> bool {
    let id = approval.id.clone();
    let written = gateway.store.write("expire", move |tx| {
        Box::pin(async move {
            // It may have been moved or decided since it was read.
            match pending(tx, &approval.conversation, &approval.id).await? {
                Some(approval) => expire(tx, &approval, now).await,
                None => Ok(false),
            }
        })
    });
    written.await.unwrap_or_else(|problem| {
        let problem = format!("{problem:#}");
        tracing::error!(approval.id = %id, problem, "could not expire an approval");
        false
    })
}
