//! Outbox rows that a node is sending, and the outcome of each attempt.
//!
//! An outcome is recorded only while the row is claimed by the same attempt. A sender that has lost
//! its lease changes nothing.

use anyhow::{Context as _, Result};
use channels::{Outgoing, Place, Receipt};
use chrono::{DateTime, TimeDelta, Utc};
use serde::Serialize;
use std::sync::Arc;
use strum::{EnumString, IntoStaticStr};
use utoipa::ToSchema;

use crate::{
    journal::ids::{ConversationId, NodeId, OutboxId},
    store::{
        Store, Tx, at,
        db::{
            WriteMode,
            row::{database_now, sql},
        },
        leases::held::LeaseHold,
        metrics::committed,
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

/// The state of a message. `refused`: the platform rejects it; `gone`: its chat can no longer be
/// written to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema, IntoStaticStr, EnumString)]
#[strum(serialize_all = "snake_case")]
#[serde(rename_all = "snake_case")]
pub enum MessageStatus {
    Waiting,
    Sent,
    Refused,
    Gone,
}

impl MessageStatus {
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    pub(in crate::store) fn parse(text: &str) -> Result<Self> {
        text.parse::<Self>().with_context(|| format!("a message has the status {text:?}"))
    }
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
        let mode = WriteMode::DURABLE.of_one_statement();
        let record = self.write_with((), "record receipt", mode, move |tx| {
            Box::pin(record_receipt(tx, sending, receipt))
        });
        record.await
    }

    pub async fn record_send_outcome(
        &self,
        sending: &Sending,
        ended: SendOutcome,
        problem: String,
    ) -> Result<()> {
        self.record_outcome_in(WriteMode::DURABLE, sending, ended, problem).await
    }

    /// Records that a row was shown by an edit of the message that was recorded for it before.
    ///
    /// A power failure may undo this: the next attempt edits the same message to the same content,
    /// and no later row of the conversation was sent, or this was flushed before that was recorded.
    pub async fn record_repeatable_send(&self, sending: &Sending) -> Result<()> {
        let ended = SendOutcome::Sent;
        self.record_outcome_in(WriteMode::VOLATILE, sending, ended, String::new()).await
    }

    async fn record_outcome_in(
        &self,
        mode: WriteMode,
        sending: &Sending,
        ended: SendOutcome,
        problem: String,
    ) -> Result<()> {
        // For a file, deliveries to webhooks are recorded as well.
        let is_file = matches!(sending.what, Outgoing::File { .. });
        let mode = if is_file { mode } else { mode.of_one_statement() };
        let sending = sending.clone();
        let end = self.write_with((), "end send", mode, move |tx| {
            Box::pin(async move { end(tx, &sending, ended, problem).await.map(drop) })
        });
        end.await
    }

    /// Defers the row without an attempt.
    pub async fn defer_send(&self, sending: &Sending, until: DateTime<Utc>) -> Result<()> {
        let sending = sending.clone();
        self.write("defer send", move |tx| Box::pin(defer_send(tx, sending, until))).await
    }

    /// Schedules another attempt. Has no further effect if it is repeated.
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
    record_end(tx, sending, ended, SendEnd { problem, by: Ends::Claimed }).await
}

/// Like [`end`], for a row that is sent together with one that this node has claimed.
pub(in crate::store) async fn end_together(tx: &mut Tx<'_>, sending: &Sending) -> Result<()> {
    let end = SendEnd { problem: String::new(), by: Ends::Together };
    record_end(tx, sending, SendOutcome::Sent, end).await.map(drop)
}

/// How a row ends.
struct SendEnd {
    problem: String,
    by: Ends,
}

/// The condition for the end of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ends {
    /// The row is claimed by this attempt.
    Claimed,
    /// The row waits.
    Together,
}

macro_rules! end {
    ($now:expr) => {
        concat!(
            "
            -- end of a send; a trigger makes the next row of the conversation due
            UPDATE outbox
            SET status = $1, problem = $2, lease_until = 0, sent_at = ",
            $now,
            ", receipt = COALESCE($4, receipt)
            WHERE id = $5 AND status = 'waiting'
            AND ($6 = '' OR (lease_node = $6 AND attempts = $7))
            RETURNING sent_at, CAST(CASE WHEN EXISTS (
                SELECT 1 FROM outbox n
                WHERE n.conversation = outbox.conversation AND n.status = 'waiting'
                AND (n.seq, n.part, n.id) > (outbox.seq, outbox.part, outbox.id)
            ) THEN 1 ELSE 0 END AS BIGINT) AS waiting"
        )
    };
}

async fn record_end(
    tx: &mut Tx<'_>,
    sending: &Sending,
    ended: SendOutcome,
    SendEnd { problem, by }: SendEnd,
) -> Result<bool> {
    let status = match ended {
        SendOutcome::Sent => MessageStatus::Sent,
        SendOutcome::Refused => MessageStatus::Refused,
        SendOutcome::Gone => MessageStatus::Gone,
    };
    let status = status.as_str();
    let receipt = sending.receipt.as_ref().map(serde_json::to_string).transpose()?;
    let statement =
        tx.either(end!(database_now!(sqlite, "$3")), end!(database_now!(postgres, "$3")));
    let now_base = tx.now_base();
    let ended_row: Option<(i64, i64)> = sql!(
        tx,
        fetch_optional,
        statement,
        status,
        problem,
        now_base,
        receipt,
        sending.id.as_str(),
        if by == Ends::Claimed { sending.node.as_str() } else { "" },
        sending.attempts
    );
    let Some((sent_at, waiting)) = ended_row else { return Ok(false) };
    tx.wakeups.counts.push(committed::of_send(status));
    tx.wakeups.sent = true;
    if waiting > 0 {
        tx.wakeups.outbox.insert(sending.channel.clone());
    }
    if ended == SendOutcome::Sent {
        subscriptions::shown(tx, &sending.conversation, &sending.what, at(sent_at)).await?;
    }
    Ok(true)
}

async fn try_again(tx: &mut Tx<'_>, sending: Sending, failed: Failed) -> Result<()> {
    let retried = sql!(
        tx,
        execute,
        "
        -- retry a send
        UPDATE outbox
        SET lease_node = '', lease_until = 0, not_before = $1, due_at = $1, problem = $2,
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
    if retried > 0 {
        tx.wakeups.counts.push(committed::of_send("retried"));
    }
    Ok(())
}

async fn defer_send(tx: &mut Tx<'_>, sending: Sending, until: DateTime<Utc>) -> Result<()> {
    sql!(
        tx,
        execute,
        "
        -- defer a send
        UPDATE outbox
        SET lease_node = '', lease_until = 0, not_before = $1, due_at = $1,
            attempts = attempts - 1
        WHERE id = $2 AND status = 'waiting' AND lease_node = $3 AND attempts = $4",
        until.timestamp_millis(),
        sending.id.as_str(),
        sending.node.as_str(),
        sending.attempts
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{
        conversations::record::ConversationChange,
        outbox::due::Share,
        scratch::{Scratch, on_postgres, on_sqlite},
    };

    const NOW: DateTime<Utc> = DateTime::UNIX_EPOCH;

    /// Records two messages of a conversation.
    async fn two_messages(scratch: &Scratch) {
        scratch.begin_conversation().await;
        let store = &scratch.store;
        let claimed = store.claim(1, NOW).await.unwrap().pop().expect("it is ready");
        let text = |text: &str| Outgoing::Text { markdown: text.into(), reply_to: None };
        let shows = ["a", "b"].map(text).into();
        let change = ConversationChange { shows, seen: 1, ..ConversationChange::default() };
        store.record(&claimed.lease, change, NOW).await.unwrap();
    }

    async fn claimed_at(scratch: &Scratch, now: DateTime<Utc>) -> Vec<Sending> {
        let share = vec![Share { channel: "tg".into(), limit: 9 }];
        scratch.store.claim_sends(share, now).await.unwrap()
    }

    async fn claimed(scratch: &Scratch) -> Sending {
        let mut claimed = claimed_at(scratch, NOW).await;
        assert_eq!(claimed.len(), 1, "the second message is behind the first");
        claimed.remove(0)
    }

    /// The end of a send wakes the delivery of its channel if another message waits behind it.
    async fn the_next_message_is_sent_at_once(scratch: Scratch) {
        two_messages(&scratch).await;
        for is_next in [true, false] {
            let sending = claimed(&scratch).await;
            let ended = scratch.store.write("test", move |tx| {
                Box::pin(async move {
                    let ended = end(tx, &sending, SendOutcome::Sent, String::new()).await?;
                    Ok((ended, tx.wakeups.outbox.contains("tg")))
                })
            });
            assert_eq!(ended.await.unwrap(), (true, is_next));
        }
        scratch.end().await;
    }

    #[tokio::test]
    async fn the_next_message_is_sent_at_once_on_sqlite() {
        the_next_message_is_sent_at_once(on_sqlite().await).await;
    }

    #[tokio::test]
    async fn the_next_message_is_sent_at_once_on_postgres() {
        the_next_message_is_sent_at_once(on_postgres().await).await;
    }

    /// A failed attempt is counted once, and only by the sender that has claimed the row.
    async fn a_failed_attempt_is_counted_once(scratch: Scratch) {
        two_messages(&scratch).await;
        let sending = claimed(&scratch).await;
        for counted in [vec![committed::of_send("retried")], vec![]] {
            let sending = sending.clone();
            let failed = Failed {
                problem: "down".into(),
                not_before: NOW,
                ages_by: TimeDelta::seconds(1),
                is_unknown: true,
            };
            let failed = scratch.store.write("test", move |tx| {
                Box::pin(async move {
                    try_again(tx, sending, failed).await?;
                    Ok(std::mem::take(&mut tx.wakeups.counts))
                })
            });
            assert_eq!(failed.await.unwrap(), counted);
        }
        let Sending { unknowns, aged, attempts, .. } = claimed(&scratch).await;
        assert_eq!((unknowns, aged, attempts), (1, TimeDelta::seconds(1), 2));
        scratch.end().await;
    }

    #[tokio::test]
    async fn a_failed_attempt_is_counted_once_on_sqlite() {
        a_failed_attempt_is_counted_once(on_sqlite().await).await;
    }

    #[tokio::test]
    async fn a_failed_attempt_is_counted_once_on_postgres() {
        a_failed_attempt_is_counted_once(on_postgres().await).await;
    }

    /// A row that is deferred without an attempt is sent later, as if for the first time.
    async fn a_deferred_send_is_no_attempt(scratch: Scratch) {
        two_messages(&scratch).await;
        let (sending, later) = (claimed(&scratch).await, NOW + TimeDelta::seconds(9));
        for _ in 0..2 {
            scratch.store.defer_send(&sending, later).await.unwrap();
        }
        assert!(claimed_at(&scratch, later - TimeDelta::milliseconds(1)).await.is_empty());
        let again = claimed_at(&scratch, later).await.pop().expect("it is due");
        assert_eq!((again.id, again.attempts), (sending.id, sending.attempts));
        scratch.end().await;
    }

    #[tokio::test]
    async fn a_deferred_send_is_no_attempt_on_sqlite() {
        a_deferred_send_is_no_attempt(on_sqlite().await).await;
    }

    #[tokio::test]
    async fn a_deferred_send_is_no_attempt_on_postgres() {
        a_deferred_send_is_no_attempt(on_postgres().await).await;
    }
}
