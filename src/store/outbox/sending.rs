//! Outbox rows that a node is sending, and the outcome of each attempt.
//!
//! An outcome is recorded only while the row is claimed by the same attempt. A sender that has lost
//! its lease changes nothing.

use anyhow::Result;
use channels::{Outgoing, Place, Receipt};
use chrono::{DateTime, TimeDelta, Utc};
use std::sync::Arc;

use crate::{
    journal::ids::{ConversationId, NodeId, OutboxId},
    store::{
        Store, Tx, at, db::sql, leases::held::LeaseHold, metrics::committed,
        webhooks::subscriptions,
    },
};

/// A row that this node may send now.
#[derive(Debug, Clone)]
pub struct Sending {
    pub id: OutboxId,
    pub conversation: ConversationId,
    pub channel: String,
    pub place: Place,
    /// The language of its people, as an IETF tag.
    pub language: String,
    pub what: Outgoing,
    /// The message that an earlier attempt of this row, or the row that it edits, left on the
    /// platform.
    pub receipt: Option<Receipt>,
    pub attempts: i64,
    /// The number of earlier attempts with an unknown outcome.
    pub unknowns: i64,
    /// For how long earlier attempts have failed while the channel worked.
    pub aged: TimeDelta,
    pub(in crate::store) node: NodeId,
    /// Keeps the lease on the row renewed until dropped.
    pub hold: Arc<LeaseHold>,
}

/// How a send ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SendOutcome {
    Sent,
    Refused,
    Gone,
}

/// A failed attempt, and when to retry.
#[derive(Debug, Clone)]
pub struct Failed {
    pub problem: String,
    pub not_before: DateTime<Utc>,
    /// The time that this failure adds to [`Sending::aged`], which decides when the row is given
    /// up.
    pub ages_by: TimeDelta,
    /// Whether the platform may have shown the message despite the failure.
    pub is_unknown: bool,
}

impl Store {
    /// Records the message that an attempt left on the platform, so that the next attempt edits it.
    /// Returns `false` without recording anything if another node has claimed the row.
    pub async fn record_receipt(
        &self,
        sending: &Sending,
        receipt: Option<&Receipt>,
    ) -> Result<bool> {
        let (sending, receipt) = (sending.clone(), receipt.cloned());
        self.write("record receipt", move |tx| Box::pin(record_receipt(tx, sending, receipt))).await
    }

    pub async fn record_send_outcome(
        &self,
        sending: &Sending,
        ended: SendOutcome,
        problem: String,
    ) -> Result<()> {
        let sending = sending.clone();
        self.write("end send", move |tx| {
            Box::pin(async move { end(tx, &sending, ended, problem).await.map(drop) })
        })
        .await
    }

    /// Defers the row without an attempt.
    pub async fn defer_send(&self, sending: &Sending, until: DateTime<Utc>) -> Result<()> {
        let sending = sending.clone();
        self.write("defer send", move |tx| Box::pin(defer_send(tx, sending, until))).await
    }

    /// Schedules another attempt.
    pub async fn try_again(&self, sending: &Sending, failed: Failed) -> Result<()> {
        let sending = sending.clone();
        self.write("try again", move |tx| Box::pin(try_again(tx, sending, failed))).await
    }
}

/// Locks the row until the end of the transaction. Returns `false` if it is no longer claimed by
/// this attempt.
pub(in crate::store) async fn lock(tx: &mut Tx<'_>, sending: &Sending) -> Result<bool> {
    let locked = sql!(
        tx,
        execute,
        "
        -- lock a send
        UPDATE outbox
        SET attempts = attempts
        WHERE id = $1 AND status = 'waiting' AND lease_node = $2 AND attempts = $3",
        sending.id.as_str(),
        sending.node.as_str(),
        sending.attempts
    );
    Ok(locked > 0)
}

async fn record_receipt(
    tx: &mut Tx<'_>,
    sending: Sending,
    receipt: Option<Receipt>,
) -> Result<bool> {
    let kept = sql!(
        tx,
        execute,
        "
        -- record the receipt of a send
        UPDATE outbox
        SET receipt = $1
        WHERE id = $2 AND status = 'waiting' AND lease_node = $3 AND attempts = $4",
        receipt.as_ref().map(serde_json::to_string).transpose()?,
        sending.id.as_str(),
        sending.node.as_str(),
        sending.attempts
    );
    Ok(kept > 0)
}

/// Records the end of a send. Returns `false` without recording anything if the row is no longer
/// claimed by this attempt.
pub async fn end(
    tx: &mut Tx<'_>,
    sending: &Sending,
    ended: SendOutcome,
    problem: String,
) -> Result<bool> {
    if !lock(tx, sending).await? {
        return Ok(false);
    }
    record_end(tx, sending, ended, problem).await?;
    Ok(true)
}

/// Like [`end`], for a row that is sent together with one that this node has claimed.
pub(in crate::store) async fn record_end(
    tx: &mut Tx<'_>,
    sending: &Sending,
    ended: SendOutcome,
    problem: String,
) -> Result<()> {
    let status = match ended {
        SendOutcome::Sent => "sent",
        SendOutcome::Refused => "refused",
        SendOutcome::Gone => "gone",
    };
    let receipt = sending.receipt.as_ref().map(serde_json::to_string).transpose()?;
    let sent_at = tx.now_ms().await?;
    sql!(
        tx,
        execute,
        "
        -- end of a send; a trigger makes the next row of the conversation due
        UPDATE outbox
        SET status = $1, problem = $2, lease_until = 0, sent_at = $3,
            receipt = COALESCE($4, receipt)
        WHERE id = $5 AND status = 'waiting'",
        status,
        problem,
        sent_at,
        receipt,
        sending.id.as_str()
    );
    tx.wakeups.counts.push(committed::of_send(status));
    tx.wakeups.outbox = true;
    if ended == SendOutcome::Sent {
        subscriptions::shown(tx, &sending.conversation, &sending.what, at(sent_at)).await?;
    }
    Ok(())
}

async fn try_again(tx: &mut Tx<'_>, sending: Sending, failed: Failed) -> Result<()> {
    sql!(
        tx,
        execute,
        "
        -- retry a send
        UPDATE outbox
        SET lease_until = 0, not_before = $1, due_at = $1, problem = $2,
            aged_ms = aged_ms + $3, unknowns = unknowns + $4
        WHERE id = $5 AND status = 'waiting' AND lease_node = $6 AND attempts = $7",
        failed.not_before.timestamp_millis(),
        failed.problem,
        failed.ages_by.num_milliseconds(),
        i64::from(failed.is_unknown),
        sending.id.as_str(),
        sending.node.as_str(),
        sending.attempts
    );
    tx.wakeups.counts.push(committed::of_send("retried"));
    Ok(())
}

async fn defer_send(tx: &mut Tx<'_>, sending: Sending, until: DateTime<Utc>) -> Result<()> {
    sql!(
        tx,
        execute,
        "
        -- defer a send
        UPDATE outbox
        SET lease_until = 0, not_before = $1, due_at = $1, attempts = attempts - 1
        WHERE id = $2 AND status = 'waiting' AND lease_node = $3 AND attempts = $4",
        until.timestamp_millis(),
        sending.id.as_str(),
        sending.node.as_str(),
        sending.attempts
    );
    Ok(())
}
