//! What is to be shown, in the order of each conversation.
//! ```text
//! waiting ──► sent
//!    │  ▲ └──► refused   the platform will never take it
//!    │  │ └──► gone      the chat cannot be written to any more
//!    └──┘ (not before, after a failure that passes)
//! ```
//! While a row waits, no later row of its conversation is sent.

use anyhow::Result;
use channels::{Outgoing, Place, Receipt};
use chrono::{DateTime, Utc};
use std::sync::Arc;

use super::{
    Store, Tx, at,
    conversations::take_draft,
    db::sql,
    held::{self, Held, Hold},
    leases::readable,
    mentions, tally, topics,
    unreadable::Table,
};
use crate::journal::{
    event::Seq,
    ids::{ApprovalId, ConversationId, NodeId, OutboxId},
};

/// A row that this node may send now.
#[derive(Debug, Clone)]
pub struct Sending {
    pub id: OutboxId,
    pub conversation: ConversationId,
    pub channel: String,
    pub place: Place,
    /// What its people are spoken to in, as an IETF tag.
    pub language: String,
    pub what: Outgoing,
    /// What an earlier try of this row, or the row that it edits, left on the platform.
    pub receipt: Option<Receipt>,
    pub attempts: i64,
    pub created_at: DateTime<Utc>,
    /// While this lives, the row is ours.
    pub hold: Arc<Hold>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    Sent,
    Refused,
    Gone,
}

/// One statement; PostgreSQL steps over the rows that others hold.
macro_rules! claim {
    ($skip:literal) => {
        concat!(
            "
            -- claim sends
            UPDATE outbox
            SET lease_node = $1, lease_until = $2, attempts = attempts + 1
            WHERE id IN (
                SELECT o.id FROM outbox o
                WHERE o.status = 'waiting' AND o.lease_until <= $6 AND o.not_before <= $4
                AND NOT EXISTS (
                    SELECT 1 FROM parked k
                    JOIN conversations c ON c.channel = k.channel AND k.chat IN ('', c.chat)
                    WHERE c.id = o.conversation AND k.until > $4
                )
                AND NOT EXISTS (
                    SELECT 1 FROM outbox p
                    WHERE p.conversation = o.conversation AND p.status = 'waiting'
                    AND (p.seq, p.part, p.id) < (o.seq, o.part, o.id)
                )
                ORDER BY o.created_at
                LIMIT $5 ",
            $skip,
            ")
            RETURNING id, conversation, body, edits, receipt, attempts, created_at"
        )
    };
}

impl Store {
    /// Takes rows whose turn it is. `now` is the clock by which retries wait.
    pub async fn claim_sends(&self, most: usize, now: DateTime<Utc>) -> Result<Vec<Sending>> {
        if !self.read(move |tx| Box::pin(any_waiting(tx, now))).await? {
            return Ok(Vec::new());
        }
        let (holder, held) = ((self.node.clone(), self.term_ms()), self.held.clone());
        self.write("claim sends", move |tx| Box::pin(claim(tx, holder, held, (most, now)))).await
    }

    /// Keeps what a send has left on the platform so far: the next try edits it.
    pub async fn placed(&self, id: &OutboxId, receipt: &Receipt) -> Result<()> {
        let (id, receipt) = (id.clone(), receipt.clone());
        self.write("placed", move |tx| Box::pin(placed(tx, id, receipt))).await
    }

    pub async fn sent(&self, sending: &Sending, ended: Ended, problem: String) -> Result<()> {
        let sending = sending.clone();
        self.write("end", move |tx| {
            Box::pin(async move { end(tx, &sending, ended, problem).await })
        })
        .await
    }

    /// Leaves the row for later, untried.
    pub async fn put_off(&self, id: &OutboxId, until: DateTime<Utc>) -> Result<()> {
        let id = id.clone();
        self.write("put off", move |tx| Box::pin(put_off(tx, id, until))).await
    }

    pub async fn try_again(
        &self,
        id: &OutboxId,
        not_before: DateTime<Utc>,
        problem: String,
    ) -> Result<()> {
        let id = id.clone();
        self.write("try again", move |tx| Box::pin(try_again(tx, id, not_before, problem))).await
    }
}

async fn any_waiting(tx: &mut Tx<'_>, now: DateTime<Utc>) -> Result<bool> {
    let lease_now = tx.now_ms().await?;
    let found: Option<(i64,)> = sql!(
        tx,
        fetch_optional,
        "
        -- any waiting
        SELECT part FROM outbox
        WHERE status = 'waiting' AND lease_until <= $1 AND not_before <= $2
        LIMIT 1",
        lease_now,
        now.timestamp_millis()
    );
    Ok(found.is_some())
}

type ClaimedRow = (String, String, String, Option<String>, Option<String>, i64, i64);

async fn claim(
    tx: &mut Tx<'_>,
    (node, term): (NodeId, i64),
    held: Held,
    (most, now): (usize, DateTime<Utc>),
) -> Result<Vec<Sending>> {
    let lease_now = tx.now_ms().await?;
    let expired_by = held::before_claim(tx, &held, &node, term, lease_now).await?;
    let claim = tx.either(claim!(""), claim!("FOR UPDATE SKIP LOCKED"));
    let rows: Vec<ClaimedRow> = sql!(
        tx,
        fetch_all,
        claim,
        node.as_str(),
        lease_now + term,
        lease_now,
        now.timestamp_millis(),
        most as i64,
        expired_by
    );
    let (of, mut sendings) = (Table::Outbox, Vec::with_capacity(rows.len()));
    for (id, conversation, body, edits, receipt, attempts, created_ms) in rows {
        let receipt = match (receipt, edits) {
            (Some(receipt), _) => Some(receipt),
            (None, Some(edited)) => receipt_of(tx, &edited).await?,
            (None, None) => None,
        };
        let (channel, place, language) = place_of(tx, &conversation).await?;
        let receipt = receipt.unwrap_or_else(|| "null".to_owned());
        let read =
            (readable(of, &id, &body), readable(of, &id, &place), readable(of, &id, &receipt));
        let (Some(what), Some(place), Some(receipt)) = read else { continue };
        sendings.push(Sending {
            hold: Arc::new(held.hold(&id, attempts)),
            id: OutboxId(id),
            conversation: ConversationId(conversation),
            channel,
            place,
            language,
            what,
            receipt,
            attempts,
            created_at: at(created_ms),
        });
    }
    Ok(sendings)
}

async fn receipt_of(tx: &mut Tx<'_>, id: &str) -> Result<Option<String>> {
    let found: Option<(Option<String>,)> = sql!(
        tx,
        fetch_optional,
        "
        -- receipt of
        SELECT receipt FROM outbox
        WHERE id = $1",
        id
    );
    Ok(found.and_then(|(receipt,)| receipt))
}

/// Where that row stands on its platform, if it does.
pub async fn receipt(tx: &mut Tx<'_>, id: &OutboxId) -> Result<Option<Receipt>> {
    let found = receipt_of(tx, id.as_str()).await?;
    Ok(found.map(|receipt| serde_json::from_str(&receipt)).transpose()?)
}

async fn place_of(tx: &mut Tx<'_>, conversation: &str) -> Result<(String, String, String)> {
    let place = sql!(
        tx,
        fetch_one,
        "
        -- place of
        SELECT channel, place, language FROM conversations
        WHERE id = $1",
        conversation
    );
    Ok(place)
}

async fn placed(tx: &mut Tx<'_>, id: OutboxId, receipt: Receipt) -> Result<()> {
    sql!(
        tx,
        execute,
        "
        -- placed
        UPDATE outbox
        SET receipt = $1
        WHERE id = $2",
        serde_json::to_string(&receipt)?,
        id.as_str()
    );
    Ok(())
}

pub async fn end(tx: &mut Tx<'_>, sending: &Sending, ended: Ended, problem: String) -> Result<()> {
    let status = match ended {
        Ended::Sent => "sent",
        Ended::Refused => "refused",
        Ended::Gone => "gone",
    };
    let receipt = sending.receipt.as_ref().map(serde_json::to_string).transpose()?;
    let sent_at = tx.now_ms().await?;
    sql!(
        tx,
        execute,
        "
        -- end of a send
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
    tx.rung.tally.push(tally::of_send(status));
    tx.rung.outbox = true;
    if ended == Ended::Sent {
        topics::shown(tx, &sending.conversation, &sending.what, at(sent_at)).await?;
    }
    Ok(())
}

async fn try_again(
    tx: &mut Tx<'_>,
    id: OutboxId,
    not_before: DateTime<Utc>,
    problem: String,
) -> Result<()> {
    sql!(
        tx,
        execute,
        "
        -- try again
        UPDATE outbox
        SET lease_until = 0, not_before = $1, problem = $2
        WHERE id = $3 AND status = 'waiting'",
        not_before.timestamp_millis(),
        problem,
        id.as_str()
    );
    tx.rung.tally.push(tally::of_send("retried"));
    Ok(())
}

async fn put_off(tx: &mut Tx<'_>, id: OutboxId, until: DateTime<Utc>) -> Result<()> {
    sql!(
        tx,
        execute,
        "
        -- put off
        UPDATE outbox
        SET lease_until = 0, not_before = $1, attempts = attempts - 1
        WHERE id = $2 AND status = 'waiting'",
        until.timestamp_millis(),
        id.as_str()
    );
    Ok(())
}

/// Puts these behind everything that the conversation has to show already.
pub async fn put(
    tx: &mut Tx<'_>,
    conversation: &ConversationId,
    seq: Seq,
    shows: Vec<Outgoing>,
    now: DateTime<Utc>,
) -> Result<()> {
    let first = next_part(tx, conversation, seq).await?;
    for (what, part) in shows.into_iter().zip(first..) {
        let row = Row { id: OutboxId::new(), seq, part, edits: None, approval: None };
        let id = row.id.clone();
        insert(tx, conversation, row, &what, now).await?;
        if matches!(what, Outgoing::Text { .. }) && part == first {
            take_over(tx, conversation, &id).await?;
        }
    }
    Ok(())
}

/// The message in which the answer has grown becomes the answer.
async fn take_over(tx: &mut Tx<'_>, conversation: &ConversationId, id: &OutboxId) -> Result<()> {
    if let Some(receipt) = take_draft(tx, conversation).await? {
        sql!(
            tx,
            execute,
            "
            -- take over
            UPDATE outbox
            SET receipt = $1
            WHERE id = $2",
            receipt,
            id.as_str()
        );
    }
    Ok(())
}

/// Behind everything that stands at that event already.
pub(super) async fn next_part(
    tx: &mut Tx<'_>,
    conversation: &ConversationId,
    seq: Seq,
) -> Result<i64> {
    let (next,): (i64,) = sql!(
        tx,
        fetch_one,
        "
        -- next part
        SELECT COALESCE(MAX(part), -1) + 1 FROM outbox
        WHERE conversation = $1 AND seq = $2",
        conversation.as_str(),
        seq
    );
    Ok(next)
}

/// Where a row stands.
pub(super) struct Row {
    pub id: OutboxId,
    pub seq: Seq,
    pub part: i64,
    pub edits: Option<OutboxId>,
    /// The question that it is a part of.
    pub approval: Option<ApprovalId>,
}

pub(super) async fn insert(
    tx: &mut Tx<'_>,
    conversation: &ConversationId,
    row: Row,
    what: &Outgoing,
    now: DateTime<Utc>,
) -> Result<()> {
    let body = mentions::noted(tx, conversation, what).await?;
    sql!(
        tx,
        execute,
        "
        -- put into the outbox
        INSERT INTO outbox
            (id, conversation, seq, part, body, edits, status, attempts, not_before,
             lease_node, lease_until, created_at, approval)
        VALUES ($1, $2, $3, $4, $5, $6, 'waiting', 0, 0, '', 0, $7, $8)",
        row.id.as_str(),
        conversation.as_str(),
        row.seq,
        row.part,
        body,
        row.edits.as_ref().map(OutboxId::as_str),
        now.timestamp_millis(),
        row.approval.as_ref().map(ApprovalId::as_str)
    );
    tx.rung.outbox = true;
    Ok(())
}
