//! Snapshots of folded sessions: a cache of the journal.
//!
//! A snapshot only replaces the one that it was folded from. Erasing replaces the snapshot with a
//! mark, so a session that still contains erased data is never stored.

use anyhow::Result;

use super::journal;
use crate::{
    journal::{
        event::{Entry, Seq},
        ids::ConversationId,
        session::Session,
        snapshot::{self, VERSION},
    },
    store::{
        Store, Tx,
        db::{WriteMode, row::row, sql},
    },
};

/// The maximum number of events that one query reads.
pub const PAGE: usize = 500;
/// A version that no snapshot has.
const INVALID: i64 = 0;

/// A session, and the state of its stored snapshot.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Folded {
    pub session: Session,
    pub stored: Stored,
}

/// How a session relates to the stored snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stored {
    /// The number of the stored row; 0 if there is none.
    seq: Seq,
    /// The number of events that were applied since.
    pub unsaved: usize,
}

row! {
    /// A row of the table.
    struct Row {
        seq: i64,
        version: i64,
        body: String,
    }
}

impl Store {
    /// The last stored session; an empty one if there is no readable snapshot.
    pub async fn stored_session(&self, conversation: &ConversationId) -> Result<Folded> {
        let conversation = conversation.clone();
        self.read(move |tx| Box::pin(async move { stored(tx, &conversation).await })).await
    }

    /// The current session.
    pub async fn current_session(&self, conversation: &ConversationId) -> Result<Session> {
        let conversation = conversation.clone();
        self.read(move |tx| Box::pin(async move { current(tx, &conversation, None).await })).await
    }

    /// The next events to apply.
    pub async fn next_events(
        &self,
        conversation: &ConversationId,
        after: Seq,
    ) -> Result<Vec<Entry>> {
        let conversation = conversation.clone();
        self.read(move |tx| Box::pin(journal::events_page(tx, conversation, after, PAGE))).await
    }

    /// Stores a snapshot. Returns `false` if the stored snapshot has changed in the meantime; the
    /// session must then be discarded.
    pub async fn store_session(
        &self,
        conversation: &ConversationId,
        folded: &mut Folded,
    ) -> Result<bool> {
        let Some(body) = snapshot::written(&folded.session) else {
            // Retried after the same number of further events.
            folded.stored.unsaved = 0;
            return Ok(true);
        };
        let (conversation, before) = (conversation.clone(), folded.stored.seq);
        let seq = folded.session.seq;
        // A cache: a power failure leaves the snapshot from before.
        let kept = self.write_with((), "store session", WriteMode::VOLATILE, move |tx| {
            Box::pin(async move {
                let row = Row { seq, version: VERSION, body };
                replace(tx, &conversation, before, row).await
            })
        });
        let kept = kept.await?;
        folded.stored = Stored { seq, unsaved: 0 };
        Ok(kept)
    }
}

pub async fn stored(tx: &mut Tx<'_>, conversation: &ConversationId) -> Result<Folded> {
    let row: Option<Row> = sql!(
        tx,
        fetch_optional,
        "
        -- stored session
        SELECT seq, version, body FROM sessions
        WHERE conversation = $1",
        conversation.as_str()
    );
    let Some(row) = row else { return Ok(Folded::default()) };
    let session = (row.version == VERSION).then(|| snapshot::read(&row.body)).flatten();
    if session.is_none() && row.version == VERSION {
        tracing::warn!(conversation.id = %conversation, "could not read a snapshot");
    }
    let stored = Stored { seq: row.seq, unsaved: 0 };
    Ok(Folded { session: session.unwrap_or_default(), stored })
}

/// Brings a session, or else the snapshot, up to date.
pub async fn current(
    tx: &mut Tx<'_>,
    conversation: &ConversationId,
    folded: Option<Session>,
) -> Result<Session> {
    let mut session = match folded {
        Some(session) => session,
        None => stored(tx, conversation).await?.session,
    };
    for entry in journal::events_after(tx, conversation.clone(), session.seq).await? {
        session.apply(&entry);
    }
    Ok(session)
}

async fn replace(
    tx: &mut Tx<'_>,
    conversation: &ConversationId,
    before: Seq,
    row: Row,
) -> Result<bool> {
    let stored = sql!(
        tx,
        execute,
        "
        -- store session
        INSERT INTO sessions (conversation, seq, version, body)
        VALUES ($1, $2, $3, $4)
        ON CONFLICT (conversation) DO UPDATE
        SET seq = $2, version = $3, body = $4
        WHERE sessions.seq = $5",
        conversation.as_str(),
        row.seq,
        row.version,
        row.body,
        before
    );
    Ok(stored > 0)
}

/// Invalidates all sessions folded up to this event, because they contain erased data. Nodes
/// neither use nor store them any more.
pub(in crate::store) async fn invalidate(
    tx: &mut Tx<'_>,
    conversation: &ConversationId,
    seq: Seq,
) -> Result<()> {
    sql!(
        tx,
        execute,
        "
        -- invalidate session
        INSERT INTO sessions (conversation, seq, version, body)
        VALUES ($1, $2, $3, '')
        ON CONFLICT (conversation) DO UPDATE
        SET seq = $2, version = $3, body = ''",
        conversation.as_str(),
        seq,
        INVALID
    );
    Ok(())
}
