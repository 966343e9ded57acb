//! The outbox: messages to send, in order within each conversation.
//! ```text
//! waiting ──► sent
//!    │  ▲ └──► refused   the platform will never accept it
//!    │  │ └──► gone      the chat can no longer be written to
//!    └──┘ (not before, after a temporary failure)
//! ```
//! While a row waits, no later row of its conversation is sent: only the first one has a `due_at`,
//! by which it is claimed. When it has ended, a trigger sets the `due_at` of the next row. The
//! trigger also covers rows that a node of the previous release inserts.

pub(super) mod album;
pub mod drafts;
pub mod due;
pub(super) mod inserted;
pub mod sending;

use anyhow::Result;
use channels::{Outgoing, Receipt};
use chrono::{DateTime, Utc};

use super::{
    Tx,
    conversations::mentions,
    db::{row::row, sql},
    wake::InsertedSend,
};
use crate::journal::{
    event::Seq,
    ids::{ApprovalId, ConversationId, OutboxId},
};

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

/// The message that shows the row on its platform, if it was sent.
pub async fn receipt(tx: &mut Tx<'_>, id: &OutboxId) -> Result<Option<Receipt>> {
    let found = receipt_of(tx, id.as_str()).await?;
    Ok(found.map(|receipt| serde_json::from_str(&receipt)).transpose()?)
}

/// Whether the row was inserted.
pub(super) async fn contains(tx: &mut Tx<'_>, id: &OutboxId) -> Result<bool> {
    let found: Option<(String,)> = sql!(
        tx,
        fetch_optional,
        "
        -- is in the outbox
        SELECT id FROM outbox
        WHERE id = $1",
        id.as_str()
    );
    Ok(found.is_some())
}

/// Appends messages to the outbox of a conversation.
pub async fn put(
    tx: &mut Tx<'_>,
    conversation: &ConversationId,
    shows: Vec<Outgoing>,
    now: DateTime<Utc>,
) -> Result<()> {
    let Position { seq, part } = end(tx, conversation).await?;
    let (first_id, answers) = (None, None);
    let position = InsertPosition { seq, part, first_id, answers, takes_draft: false, now };
    put_rows(tx, conversation, position, shows).await
}

/// Appends the reply to a command. It is sent before the waiting parts of answers, except those
/// that were attempted, since a person who writes `/status` should not have to wait for a long
/// answer.
pub async fn put_before_answers(
    tx: &mut Tx<'_>,
    conversation: &ConversationId,
    shows: Vec<Outgoing>,
    now: DateTime<Utc>,
) -> Result<()> {
    let Some(Position { seq, part }) = first_unattempted_answer(tx, conversation).await? else {
        return put(tx, conversation, shows, now).await;
    };
    // Rows with the same part are sent in the order of their ids. These rows come after the
    // previous part, which a node may be sending, and before this one.
    for (at, what) in shows.into_iter().enumerate() {
        let due = if at == 0 { Due::Now } else { Due::Behind };
        let (id, part) = (OutboxId::new(), part - 1);
        let row = OutboxRow { id, seq, part, edits: None, approval: None, turn: None, due };
        insert(tx, conversation, row, &what, now).await?;
    }
    Ok(())
}

row! {
    /// A position in the outbox of a conversation.
    pub(super) struct Position {
        seq: Seq,
        part: i64,
    }
}

/// The position after everything that is shown at the last event.
pub(super) async fn end(tx: &mut Tx<'_>, conversation: &ConversationId) -> Result<Position> {
    Ok(sql!(
        tx,
        fetch_one,
        "
        -- end of the outbox
        SELECT c.last_seq AS seq,
               (SELECT COALESCE(MAX(o.part), -1) + 1 FROM outbox o
                WHERE o.conversation = c.id AND o.seq = c.last_seq) AS part
        FROM conversations c
        WHERE c.id = $1",
        conversation.as_str()
    ))
}

async fn first_unattempted_answer(
    tx: &mut Tx<'_>,
    conversation: &ConversationId,
) -> Result<Option<Position>> {
    Ok(sql!(
        tx,
        fetch_optional,
        "
        -- first unattempted answer
        SELECT seq, part FROM outbox
        WHERE conversation = $1 AND status = 'waiting' AND turn IS NOT NULL AND attempts = 0
        ORDER BY seq, part
        LIMIT 1",
        conversation.as_str()
    ))
}

/// The position at which rows are inserted, and their purpose.
#[derive(Debug)]
pub(super) struct InsertPosition {
    pub seq: Seq,
    /// The part number of the first row at this event.
    pub part: i64,
    /// The id of the first row; a new one by default.
    pub first_id: Option<OutboxId>,
    /// The turn that they answer.
    pub answers: Option<Seq>,
    /// Whether the first text takes over the draft message of that turn, if there is one.
    pub takes_draft: bool,
    pub now: DateTime<Utc>,
}

/// Like [`put`], for messages that may be the answer of a turn.
pub(super) async fn put_rows(
    tx: &mut Tx<'_>,
    conversation: &ConversationId,
    position: InsertPosition,
    shows: Vec<Outgoing>,
) -> Result<()> {
    let InsertPosition { seq, part: first_part, mut first_id, answers, takes_draft, now } =
        position;
    for (what, part) in shows.into_iter().zip(first_part..) {
        let due = if part == first_part { Due::Now } else { Due::Behind };
        let (id, turn) = (first_id.take().unwrap_or_default(), answers);
        let row = OutboxRow { id: id.clone(), seq, part, edits: None, approval: None, turn, due };
        insert(tx, conversation, row, &what, now).await?;
        let is_first_text = part == first_part && matches!(what, Outgoing::Text { .. });
        if let Some(turn) = answers.filter(|_| takes_draft && is_first_text) {
            take_over(tx, conversation, turn, &id).await?;
        }
    }
    Ok(())
}

/// Withdraws waiting answers when a person stops the turn. A row that was attempted is kept, since
/// a part of it may be visible.
pub async fn withdraw_answers(tx: &mut Tx<'_>, conversation: &ConversationId) -> Result<()> {
    let withdrawn = sql!(
        tx,
        execute,
        "
        -- withdraw answers
        UPDATE outbox
        SET status = 'refused'
        WHERE conversation = $1 AND status = 'waiting' AND turn IS NOT NULL AND attempts = 0",
        conversation.as_str()
    );
    if withdrawn > 0 {
        tx.wakeups.any_send();
    }
    Ok(())
}

/// Turns the draft message of the turn into the row.
async fn take_over(
    tx: &mut Tx<'_>,
    conversation: &ConversationId,
    turn: Seq,
    id: &OutboxId,
) -> Result<()> {
    if let Some(receipt) = drafts::take(tx, conversation, turn).await? {
        sql!(
            tx,
            execute,
            "
            -- keep the message of a draft
            UPDATE outbox
            SET receipt = $1
            WHERE id = $2",
            receipt,
            id.as_str()
        );
    }
    Ok(())
}

/// The position of a row.
pub(super) struct OutboxRow {
    pub id: OutboxId,
    pub seq: Seq,
    pub part: i64,
    pub edits: Option<OutboxId>,
    /// The approval that it is a part of.
    pub approval: Option<ApprovalId>,
    /// The turn that it answers.
    pub turn: Option<Seq>,
    pub due: Due,
}

/// Whether a claim considers the row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Due {
    Now,
    /// Not before another row that the same transaction inserted earlier has ended.
    Behind,
}

pub(super) async fn insert(
    tx: &mut Tx<'_>,
    conversation: &ConversationId,
    row: OutboxRow,
    what: &Outgoing,
    now: DateTime<Utc>,
) -> Result<()> {
    let body = mentions::noted(tx, conversation, what).await?;
    let (channel,): (String,) = sql!(
        tx,
        fetch_one,
        "
        -- insert into the outbox
        INSERT INTO outbox
            (id, conversation, seq, part, body, edits, status, attempts, not_before,
             lease_node, lease_until, created_at, approval, due_at, turn, channel)
        VALUES ($1, $2, $3, $4, $5, $6, 'waiting', 0, 0, '', 0, $7, $8, $9, $10,
                (SELECT c.channel FROM conversations c WHERE c.id = $2))
        RETURNING channel",
        row.id.as_str(),
        conversation.as_str(),
        row.seq,
        row.part,
        body,
        row.edits.as_ref().map(OutboxId::as_str),
        now.timestamp_millis(),
        row.approval.as_ref().map(ApprovalId::as_str),
        (row.due == Due::Now).then(|| now.timestamp_millis()),
        row.turn
    );
    let inserted = InsertedSend { id: row.id, channel };
    tx.wakeups.sends.entry(conversation.clone()).or_insert(inserted);
    Ok(())
}
