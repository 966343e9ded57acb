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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{
        outbox::due::Share,
        scratch::{Scratch, on_postgres, on_sqlite},
    };
    use channels::VOICE_NOTE;

    /// A file of ten bytes.
    fn file(media_type: &str) -> Outgoing {
        Outgoing::File {
            name: "a".into(),
            media_type: media_type.into(),
            size_bytes: 10,
            digest: "d".into(),
            caption: None,
            reply_to: None,
        }
    }

    fn text() -> Outgoing {
        Outgoing::Text { markdown: "x".into(), reply_to: None }
    }

    /// Claims the first of four pictures, which a text and another picture follow.
    async fn claimed(scratch: &Scratch) -> Sending {
        scratch.begin_conversation().await;
        let picture = || file("image/png");
        let rows = [picture(), picture(), picture(), picture(), text(), picture()];
        for (part, what) in rows.iter().enumerate() {
            let body = serde_json::to_string(what).unwrap();
            let due_at = if part == 0 { "0" } else { "NULL" };
            scratch
                .run(format!(
                    "INSERT INTO outbox
                        (id, conversation, seq, part, body, status, attempts, not_before,
                         lease_node, lease_until, created_at, channel, due_at)
                    VALUES ('{part}', 'c', 1, {part}, '{body}', 'waiting', 0, 0, '', 0, 0, 'tg',
                            {due_at})"
                ))
                .await;
        }
        let shares = vec![Share { channel: "tg".into(), limit: 9 }];
        let claimed = scratch.store.claim_sends(shares, DateTime::UNIX_EPOCH).await.unwrap();
        claimed.into_iter().next().expect("the first row is due")
    }

    /// An album has the pictures that follow, up to the number and the size that the platform
    /// accepts. They are marked until it is known that they were not shown.
    async fn an_album_has_limits(scratch: Scratch) {
        let (first, store) = (claimed(&scratch).await, scratch.store.clone());
        for (limit, max_bytes, expected) in [
            (10, 40, &["1", "2", "3"][..]),
            (10, 39, &["1", "2"]),
            (3, 40, &["1", "2"]),
            (2, 40, &["1"]),
            (10, 19, &[]),
        ] {
            let others = store.begin_album(&first, limit, max_bytes).await.unwrap();
            let ids = others.iter().map(|other| other.id.as_str()).collect::<Vec<_>>();
            assert_eq!(ids, expected, "{limit} pictures, {max_bytes} bytes");
            let all = if others.is_empty() { 0 } else { others.len() as i64 + 1 };
            assert_eq!(scratch.count("outbox WHERE receipt IS NOT NULL").await, all);
            store.part_album(&first, others).await.unwrap();
            assert_eq!(scratch.count("outbox WHERE receipt IS NOT NULL").await, 0);
        }
        drop((first, store));
        scratch.end().await;
    }

    #[tokio::test]
    async fn an_album_has_limits_on_sqlite() {
        an_album_has_limits(on_sqlite().await).await;
    }

    #[tokio::test]
    async fn an_album_has_limits_on_postgres() {
        an_album_has_limits(on_postgres().await).await;
    }

    /// A node whose first picture another node is sending by now neither begins nor ends an album.
    async fn a_late_sender_changes_no_album(scratch: Scratch) {
        let (first, store) = (claimed(&scratch).await, scratch.store.clone());
        let attempts = |attempts: i64| {
            scratch.run(format!("UPDATE outbox SET attempts = {attempts} WHERE id = '0'"))
        };
        attempts(first.attempts + 1).await;
        assert!(store.begin_album(&first, 10, 100).await.unwrap().is_empty());
        assert_eq!(scratch.count("outbox WHERE receipt IS NOT NULL").await, 0);
        attempts(first.attempts).await;
        let others = store.begin_album(&first, 10, 100).await.unwrap();
        assert_eq!(others.len(), 3);
        attempts(first.attempts + 1).await;
        store.part_album(&first, others.clone()).await.unwrap();
        store.end_album(&first, others.clone()).await.unwrap();
        let marked = "outbox WHERE status = 'waiting' AND receipt IS NOT NULL";
        assert_eq!(scratch.count(marked).await, 4);
        attempts(first.attempts).await;
        store.end_album(&first, others).await.unwrap();
        assert_eq!(scratch.count("outbox WHERE status = 'sent'").await, 3);
        assert_eq!(scratch.count(marked).await, 1, "the caller ends the first");
        drop((first, store));
        scratch.end().await;
    }

    #[tokio::test]
    async fn a_late_sender_changes_no_album_on_sqlite() {
        a_late_sender_changes_no_album(on_sqlite().await).await;
    }

    #[tokio::test]
    async fn a_late_sender_changes_no_album_on_postgres() {
        a_late_sender_changes_no_album(on_postgres().await).await;
    }

    /// A text, a picture and a voice note are marked before they are sent without a placeholder.
    /// Other files have one.
    #[tokio::test]
    async fn texts_that_are_marked_may_be_shown() {
        let scratch = on_sqlite().await;
        let first = claimed(&scratch).await;
        let (nowhere, there) = (Receipt::nowhere(), Receipt { message: "9".into() });
        for (what, is_sent_once) in [
            (text(), true),
            (file("image/png"), true),
            (file(VOICE_NOTE), true),
            (file("application/pdf"), false),
        ] {
            for (receipt, marked) in [(Some(&nowhere), true), (Some(&there), false), (None, false)]
            {
                let (what, receipt) = (what.clone(), receipt.cloned());
                let sending = Sending { what, receipt, ..first.clone() };
                assert_eq!(sending.may_be_shown(), is_sent_once && marked, "{sending:?}");
            }
        }
        drop(first);
        scratch.end().await;
    }
}
