//! The files that each conversation refers to, by digest. An erasure and the removal of artifacts
//! then need not search all text.
//!
//! Mentions in events and outbox rows are recorded when they are written. Rows of an earlier
//! release are recorded by a backfill in two passes a day apart, because a node of that release may
//! still have written some during the first pass. Until both are complete,
//! [`Store::mentions_are_complete`] is false, and code that must not miss a mention has to search.

use anyhow::Result;
use channels::Outgoing;
use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

use super::participants;
use crate::{
    journal::{event::Event, ids::ConversationId},
    store::{
        Store, Tx, at,
        db::{row::row, sql},
    },
};

const BACKFILL: &str = "mentions";
const PASSES: i64 = 2;
/// The number of rows that one slice of the backfill reads.
const SLICE: i64 = 500;

fn between_passes() -> TimeDelta {
    TimeDelta::days(1)
}

/// The digests of files in a serialised event or message.
pub(in crate::store) fn digests_in(body: &str) -> BTreeSet<&str> {
    // The digest in an approval event is that of the arguments.
    if body.starts_with("{\"kind\":\"approval_asked\"") {
        return BTreeSet::new();
    }
    let pieces = body.split("\"digest\":\"").skip(1).filter_map(|piece| piece.get(..64));
    pieces.filter(|digest| digest.bytes().all(|byte| byte.is_ascii_hexdigit())).collect()
}

/// Records the files that an event or a message of this conversation refers to.
pub(in crate::store) async fn note(
    tx: &mut Tx<'_>,
    conversation: &ConversationId,
    body: &str,
) -> Result<()> {
    for digest in digests_in(body) {
        insert(tx, conversation.as_str(), digest).await?;
    }
    Ok(())
}

/// Serialises a message and records the files that it refers to.
pub(in crate::store) async fn noted(
    tx: &mut Tx<'_>,
    conversation: &ConversationId,
    what: &Outgoing,
) -> Result<String> {
    let body = serde_json::to_string(what)?;
    note(tx, conversation, &body).await?;
    Ok(body)
}

async fn insert(tx: &mut Tx<'_>, conversation: &str, digest: &str) -> Result<()> {
    sql!(
        tx,
        execute,
        "
        -- insert a mention
        INSERT INTO mentions (digest, conversation)
        VALUES ($1, $2)
        ON CONFLICT (digest, conversation) DO NOTHING",
        digest,
        conversation
    );
    Ok(())
}

/// Deletes the record that the conversation refers to this file.
pub(in crate::store) async fn remove(
    tx: &mut Tx<'_>,
    conversation: &ConversationId,
    digest: &str,
) -> Result<()> {
    sql!(
        tx,
        execute,
        "
        -- remove a mention
        DELETE FROM mentions
        WHERE digest = $1 AND conversation = $2",
        digest,
        conversation.as_str()
    );
    Ok(())
}

/// Whether any conversation refers to the file.
pub(in crate::store) async fn is_named(tx: &mut Tx<'_>, digest: &str) -> Result<bool> {
    let found: Option<(String,)> = sql!(
        tx,
        fetch_optional,
        "
        -- is a file named
        SELECT conversation FROM mentions
        WHERE digest = $1
        LIMIT 1",
        digest
    );
    Ok(found.is_some())
}

/// The position of the backfill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
enum Position {
    /// After this event.
    Events(String, i64),
    /// After this row.
    Outbox(String),
}

impl Position {
    fn first() -> Self {
        Self::Events(String::new(), 0)
    }
}

row! {
    #[derive(Debug)]
    struct Progress {
        begins_at: i64,
        passes: i64,
        position: String,
    }
}

row! {
    /// A row whose mentions are to be recorded.
    #[derive(Debug, Clone)]
    struct Noted {
        conversation: String,
        seq: i64,
        id: String,
        body: String,
    }
}

impl Store {
    /// Whether all mentions of files and all participants are recorded.
    pub async fn mentions_are_complete(&self) -> Result<bool> {
        let progress = self.read(|tx| Box::pin(progress(tx))).await?;
        Ok(progress.is_some_and(|progress| progress.passes >= PASSES))
    }

    /// Those of the given files that no conversation refers to.
    pub async fn unnamed_files(&self, digests: Vec<String>) -> Result<Vec<String>> {
        self.read(move |tx| {
            Box::pin(async move {
                let mut unnamed = Vec::new();
                for digest in digests {
                    if !is_named(tx, &digest).await? {
                        unnamed.push(digest);
                    }
                }
                Ok(unnamed)
            })
        })
        .await
    }

    /// Starts the backfill if it has not started; an empty database needs none.
    pub(in crate::store) async fn begin_backfill(&self, now: DateTime<Utc>) -> Result<()> {
        if self.read(|tx| Box::pin(progress(tx))).await?.is_some() {
            return Ok(());
        }
        self.write("begin backfill", move |tx| Box::pin(begin(tx, now))).await
    }

    /// Processes one slice of the rows that an earlier release has written. Returns whether there
    /// are more.
    pub async fn backfill_mentions(&self, now: DateTime<Utc>) -> Result<bool> {
        let Some(is) = self.read(|tx| Box::pin(progress(tx))).await? else { return Ok(false) };
        let waits = is.passes > 0 && at(is.begins_at) > now;
        if is.passes >= PASSES || waits {
            return Ok(false);
        }
        let from = serde_json::from_str(&is.position).unwrap_or_else(|_| Position::first());
        let (rows, then) = self.read(|tx| Box::pin(slice(tx, from))).await?;
        self.write("backfill mentions", move |tx| Box::pin(fill(tx, rows, then, now))).await?;
        Ok(true)
    }
}

async fn progress(tx: &mut Tx<'_>) -> Result<Option<Progress>> {
    let row: Option<Progress> = sql!(
        tx,
        fetch_optional,
        "
        -- progress of a backfill
        SELECT begins_at, passes, position FROM backfills
        WHERE name = $1",
        BACKFILL
    );
    Ok(row)
}

async fn begin(tx: &mut Tx<'_>, now: DateTime<Utc>) -> Result<()> {
    let any: Option<(String,)> = sql!(
        tx,
        fetch_optional,
        "
        -- any conversation
        SELECT id FROM conversations
        LIMIT 1"
    );
    sql!(
        tx,
        execute,
        "
        -- start a backfill
        INSERT INTO backfills (name, begins_at, passes, position)
        VALUES ($1, $2, $3, $4)
        ON CONFLICT (name) DO NOTHING",
        BACKFILL,
        now.timestamp_millis(),
        if any.is_some() { 0 } else { PASSES },
        serde_json::to_string(&Position::first())?
    );
    Ok(())
}

/// The next rows, and the position after them; `None` if the pass is complete.
async fn slice(tx: &mut Tx<'_>, from: Position) -> Result<(Vec<Noted>, Option<Position>)> {
    match from {
        Position::Events(conversation, seq) => {
            let rows: Vec<Noted> = sql!(
                tx,
                fetch_all,
                "
                -- batch of events
                SELECT conversation, seq, '' AS id, body FROM events
                WHERE (conversation, seq) > ($1, $2)
                ORDER BY conversation, seq
                LIMIT $3",
                conversation,
                seq,
                SLICE
            );
            let last = rows.last().filter(|_| rows.len() as i64 == SLICE);
            let next = last.map(|row| Position::Events(row.conversation.clone(), row.seq));
            Ok((rows, Some(next.unwrap_or_else(|| Position::Outbox(String::new())))))
        }
        Position::Outbox(id) => {
            let rows: Vec<Noted> = sql!(
                tx,
                fetch_all,
                "
                -- batch of the outbox
                SELECT conversation, seq, id, body FROM outbox
                WHERE id > $1
                ORDER BY id
                LIMIT $2",
                id,
                SLICE
            );
            let last = rows.last().filter(|_| rows.len() as i64 == SLICE);
            let next = last.map(|row| Position::Outbox(row.id.clone()));
            Ok((rows, next))
        }
    }
}

async fn fill(
    tx: &mut Tx<'_>,
    rows: Vec<Noted>,
    then: Option<Position>,
    now: DateTime<Utc>,
) -> Result<()> {
    let (mut files, mut people) = (BTreeSet::new(), BTreeSet::new());
    for row in &rows {
        files.extend(digests_in(&row.body).into_iter().map(|digest| (&row.conversation, digest)));
        // Outbox rows are not events and contain no participants.
        if let Ok(event) = serde_json::from_str::<Event>(&row.body) {
            let named = participants::people_in(&event).into_iter().map(str::to_owned);
            people.extend(named.map(|person| (&row.conversation, person)));
        }
    }
    for (conversation, digest) in files {
        insert(tx, conversation, digest).await?;
    }
    for (conversation, person) in people {
        participants::insert(tx, conversation, &person).await?;
    }
    let passes = i64::from(then.is_none());
    let begins = if then.is_none() { now + between_passes() } else { DateTime::UNIX_EPOCH };
    sql!(
        tx,
        execute,
        "
        -- advance a backfill
        UPDATE backfills
        SET position = $1, passes = passes + $2,
            begins_at = CASE WHEN $2 > 0 THEN $3 ELSE begins_at END
        WHERE name = $4",
        serde_json::to_string(&then.unwrap_or_else(Position::first))?,
        passes,
        begins.timestamp_millis(),
        BACKFILL
    );
    Ok(())
}
