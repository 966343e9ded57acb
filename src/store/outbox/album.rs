//! Albums: pictures of the outbox that are sent together.
//!
//! An album cannot be an edit of an earlier message, and sending it again would show it twice. It
//! is therefore attempted only once, and marked before the attempt: a row that is found marked may
//! already have been shown.

use anyhow::Result;
use channels::{Outgoing, Receipt};
use chrono::{DateTime, Utc};

use super::sending::{self, Sending};
use crate::{
    journal::ids::{ConversationId, OutboxId},
    store::{
        Store, Tx,
        db::{row::row, sql, unreadable::JsonTable},
        leases::readable,
    },
};

impl Sending {
    /// Whether an earlier attempt may have shown it, either as part of an album, or as a text or
    /// voice note without a placeholder, which is marked by a receipt without a message.
    pub fn may_be_shown(&self) -> bool {
        let is_text = matches!(self.what, Outgoing::Text { .. });
        let once = is_text || self.what.is_picture() || self.what.is_voice_note();
        once && self.receipt == Some(Receipt::nowhere())
    }
}

impl Store {
    /// Marks the pictures that follow the first one, up to the given count and size, and returns
    /// them. No other node takes them while the first one waits.
    pub async fn begin_album(
        &self,
        first: &Sending,
        limit: usize,
        max_bytes: u64,
    ) -> Result<Vec<Sending>> {
        let first = first.clone();
        self.write("begin album", move |tx| {
            Box::pin(async move {
                if !sending::lock(tx, &first).await? {
                    return Ok(Vec::new());
                }
                let others = behind(tx, &first, limit, max_bytes).await?;
                if !others.is_empty() {
                    note(tx, [&first].into_iter().chain(&others), Some(&Receipt::nowhere()))
                        .await?;
                }
                Ok(others)
            })
        })
        .await
    }

    /// Records that the album was sent. Records nothing if another node is sending the first
    /// picture by now.
    pub async fn end_album(&self, first: &Sending, others: Vec<Sending>) -> Result<()> {
        let first = first.clone();
        self.write("end album", move |tx| {
            Box::pin(async move {
                if sending::lock(tx, &first).await? {
                    for other in &others {
                        sending::end_together(tx, other).await?;
                    }
                }
                Ok(())
            })
        })
        .await
    }

    /// Records that the album was certainly not shown.
    pub async fn part_album(&self, first: &Sending, others: Vec<Sending>) -> Result<()> {
        let first = first.clone();
        self.write("part album", move |tx| {
            Box::pin(async move {
                if sending::lock(tx, &first).await? {
                    note(tx, [&first].into_iter().chain(&others), None).await?;
                }
                Ok(())
            })
        })
        .await
    }
}

/// Delays a row that has not been attempted yet until the given time, because more pictures may
/// follow.
pub(in crate::store) async fn wait(
    tx: &mut Tx<'_>,
    conversation: &ConversationId,
    until: DateTime<Utc>,
) -> Result<()> {
    sql!(
        tx,
        execute,
        "
        -- wait for an album
        UPDATE outbox
        SET not_before = $1, due_at = CASE WHEN due_at IS NULL THEN NULL ELSE $1 END
        WHERE conversation = $2 AND status = 'waiting' AND attempts = 0",
        until.timestamp_millis(),
        conversation.as_str()
    );
    tx.wakeups.any_send();
    Ok(())
}

row! {
    /// A row of the outbox behind the first picture. `shown` is its receipt, or what it edits.
    struct PictureRow {
        id: String,
        body: String,
        shown: Option<String>,
    }
}

async fn behind(
    tx: &mut Tx<'_>,
    first: &Sending,
    limit: usize,
    max_bytes: u64,
) -> Result<Vec<Sending>> {
    let rows: Vec<PictureRow> = sql!(
        tx,
        fetch_all,
        "
        -- after the first picture
        SELECT o.id, o.body, COALESCE(o.receipt, o.edits) AS shown FROM outbox o
        JOIN outbox f ON f.id = $1 AND f.conversation = o.conversation
        WHERE o.status = 'waiting' AND (o.seq, o.part, o.id) > (f.seq, f.part, f.id)
        ORDER BY o.seq, o.part, o.id
        LIMIT $2",
        first.id.as_str(),
        limit as i64 - 1
    );
    let mut others = Vec::new();
    let mut bytes = first.what.size_bytes();
    for PictureRow { id, body, shown } in rows {
        let what = readable::<Outgoing>(JsonTable::Outbox, &id, &body).filter(Outgoing::is_picture);
        let Some(what) = what.filter(|_| shown.is_none()) else { break };
        bytes += what.size_bytes();
        if bytes > max_bytes {
            break;
        }
        others.push(Sending { id: OutboxId(id), what, ..first.clone() });
    }
    Ok(others)
}

async fn note<'s>(
    tx: &mut Tx<'_>,
    rows: impl Iterator<Item = &'s Sending>,
    receipt: Option<&Receipt>,
) -> Result<()> {
    let receipt = receipt.map(serde_json::to_string).transpose()?;
    for row in rows {
        sql!(
            tx,
            execute,
            "
            -- record the receipt of an album
            UPDATE outbox
            SET receipt = $1
            WHERE id = $2 AND status = 'waiting'",
            receipt.as_deref(),
            row.id.as_str()
        );
    }
    Ok(())
}
