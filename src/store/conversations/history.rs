//! The messages that a conversation has shown, for display.

use anyhow::Result;
use channels::Outgoing;
use chrono::{DateTime, Utc};

use crate::{
    journal::{
        event::{Entry, Seq},
        ids::{ConversationId, OutboxId},
    },
    store::{
        Tx, at,
        db::{row::row, sql},
        outbox::sending::MessageStatus,
    },
};

/// An outbox row, as shown in the history.
#[derive(Debug, Clone, PartialEq)]
pub struct ShownRow {
    pub id: OutboxId,
    pub seq: Seq,
    pub what: Outgoing,
    pub edits: Option<OutboxId>,
    pub status: MessageStatus,
    pub created_at: DateTime<Utc>,
}

/// The newest `limit` messages that a conversation has shown or is about to show, oldest first.
pub async fn history(
    tx: &mut Tx<'_>,
    conversation: &ConversationId,
    limit: usize,
) -> Result<Vec<ShownRow>> {
    let rows: Vec<SentRow> = sql!(
        tx,
        fetch_all,
        "
        -- history
        SELECT id, seq, body, edits, status, created_at FROM outbox
        WHERE conversation = $1
        ORDER BY seq DESC, part DESC, id DESC
        LIMIT $2",
        conversation.as_str(),
        limit as i64
    );
    rows.into_iter().rev().map(shown).collect()
}

/// A number of rows before an event.
#[derive(Debug, Clone, Copy)]
pub struct RowsBefore {
    pub seq: Seq,
    pub limit: usize,
}

/// The events between two others.
#[derive(Debug, Clone, Copy)]
pub struct EventRange {
    pub after: Seq,
    pub before: Seq,
}

/// The newest messages of a conversation that were shown before an event, oldest first.
pub async fn before(
    tx: &mut Tx<'_>,
    conversation: &ConversationId,
    page: RowsBefore,
) -> Result<Vec<ShownRow>> {
    let rows: Vec<SentRow> = sql!(
        tx,
        fetch_all,
        "
        -- history before an event
        SELECT id, seq, body, edits, status, created_at FROM outbox
        WHERE conversation = $1 AND seq < $2
        ORDER BY seq DESC, part DESC, id DESC
        LIMIT $3",
        conversation.as_str(),
        page.seq,
        page.limit as i64
    );
    rows.into_iter().rev().map(shown).collect()
}

/// The rows that were shown after an event, oldest first.
pub async fn after(
    tx: &mut Tx<'_>,
    conversation: &ConversationId,
    seq: Seq,
    limit: usize,
) -> Result<Vec<ShownRow>> {
    let rows: Vec<SentRow> = sql!(
        tx,
        fetch_all,
        "
        -- history after an event
        SELECT id, seq, body, edits, status, created_at FROM outbox
        WHERE conversation = $1 AND seq > $2
        ORDER BY seq, part, id
        LIMIT $3",
        conversation.as_str(),
        seq,
        limit as i64
    );
    rows.into_iter().map(shown).collect()
}

/// The edits that were made from an event on, oldest first. They may concern earlier messages.
pub async fn edits_from(
    tx: &mut Tx<'_>,
    conversation: &ConversationId,
    page: RowsBefore,
) -> Result<Vec<ShownRow>> {
    let rows: Vec<SentRow> = sql!(
        tx,
        fetch_all,
        "
        -- edits from an event on
        SELECT id, seq, body, edits, status, created_at FROM outbox
        WHERE conversation = $1 AND seq >= $2 AND edits IS NOT NULL
        ORDER BY seq, part, id
        LIMIT $3",
        conversation.as_str(),
        page.seq,
        page.limit as i64
    );
    rows.into_iter().map(shown).collect()
}

/// The last events between two others, in order.
pub async fn events_within(
    tx: &mut Tx<'_>,
    conversation: &ConversationId,
    range: EventRange,
    limit: usize,
) -> Result<Vec<Entry>> {
    let rows: Vec<EventWithin> = sql!(
        tx,
        fetch_all,
        "
        -- events within
        SELECT seq, at, body FROM events
        WHERE conversation = $1 AND seq > $2 AND seq < $3
        ORDER BY seq DESC
        LIMIT $4",
        conversation.as_str(),
        range.after,
        range.before,
        limit as i64
    );
    let entries = rows.into_iter().rev().map(|row| {
        let event = serde_json::from_str(&row.body)?;
        Ok(Entry { seq: row.seq, at: at(row.at), event })
    });
    entries.collect()
}

/// The rows created after the row `after`, in order of creation, one page at a time.
pub async fn made_after(
    tx: &mut Tx<'_>,
    conversation: &ConversationId,
    after: &str,
    limit: usize,
) -> Result<Vec<ShownRow>> {
    let rows: Vec<SentRow> = sql!(
        tx,
        fetch_all,
        "
        -- history in batches
        SELECT id, seq, body, edits, status, created_at FROM outbox
        WHERE conversation = $1 AND id > $2
        ORDER BY id
        LIMIT $3",
        conversation.as_str(),
        after,
        limit as i64
    );
    rows.into_iter().map(shown).collect()
}

row! {
    struct EventWithin {
        seq: i64,
        at: i64,
        body: String,
    }
}

row! {
    struct SentRow {
        id: String,
        seq: i64,
        body: String,
        edits: Option<String>,
        status: String,
        created_at: i64,
    }
}

fn shown(row: SentRow) -> Result<ShownRow> {
    Ok(ShownRow {
        id: OutboxId(row.id),
        seq: row.seq,
        what: serde_json::from_str(&row.body)?,
        edits: row.edits.map(OutboxId),
        status: MessageStatus::parse(&row.status)?,
        created_at: at(row.created_at),
    })
}

/// The files with this digest that a conversation has shown or is about to show, since the same
/// bytes may have been sent under several names. `digest` is hex, so it needs no escaping in the
/// pattern.
pub async fn files_shown(
    tx: &mut Tx<'_>,
    conversation: &ConversationId,
    digest: &str,
) -> Result<Vec<Outgoing>> {
    let rows: Vec<(String,)> = sql!(
        tx,
        fetch_all,
        "
        -- files shown
        SELECT body FROM outbox
        WHERE conversation = $1 AND body LIKE $2",
        conversation.as_str(),
        format!("%{digest}%")
    );
    let mut files = Vec::new();
    for (body,) in rows {
        let what = serde_json::from_str(&body)?;
        if matches!(&what, Outgoing::File { digest: own, .. } if own == digest) {
            files.push(what);
        }
    }
    Ok(files)
}
