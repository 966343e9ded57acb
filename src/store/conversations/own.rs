//! A person's conversations in a web chat, and their titles.

use anyhow::Result;
use channels::Place;
use chrono::{DateTime, Utc};

use crate::{
    journal::event::Entry,
    store::{
        Tx, at,
        db::{row::row, sql},
    },
};

/// A conversation, as its person sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnConversation {
    /// Empty for the first one.
    pub thread: String,
    /// Empty if it has no name.
    pub title: String,
    pub created_at: DateTime<Utc>,
    /// When the last event happened.
    pub last_at: DateTime<Utc>,
}

/// An event of one of them.
#[derive(Debug, Clone, PartialEq)]
pub struct OwnEvent {
    pub thread: String,
    pub entry: Entry,
}

row! {
    struct OwnRow {
        thread: String,
        title: String,
        created_at: i64,
        last_at: Option<i64>,
    }
}

row! {
    struct OwnEventRow {
        thread: String,
        seq: i64,
        at: i64,
        body: String,
    }
}

/// The conversations of a person, the most recent ones first.
pub async fn list(
    tx: &mut Tx<'_>,
    channel: &str,
    chat: &str,
    limit: usize,
) -> Result<Vec<OwnConversation>> {
    let rows: Vec<OwnRow> = sql!(
        tx,
        fetch_all,
        "
        -- own conversations
        SELECT c.thread, c.title, c.created_at, e.at AS last_at
        FROM conversations c
        LEFT JOIN events e ON e.conversation = c.id AND e.seq = c.last_seq
        WHERE c.channel = $1 AND c.chat = $2
        ORDER BY COALESCE(e.at, c.created_at) DESC, c.id DESC
        LIMIT $3",
        channel,
        chat,
        limit as i64
    );
    let own = rows.into_iter().map(|row| OwnConversation {
        thread: row.thread,
        title: row.title,
        created_at: at(row.created_at),
        last_at: at(row.last_at.unwrap_or(row.created_at)),
    });
    Ok(own.collect())
}

/// Names a conversation. Returns whether there is one.
pub async fn rename(tx: &mut Tx<'_>, channel: &str, place: &Place, title: &str) -> Result<bool> {
    let renamed = sql!(
        tx,
        execute,
        "
        -- rename conversation
        UPDATE conversations
        SET title = $1
        WHERE channel = $2 AND chat = $3 AND thread = $4",
        title,
        channel,
        place.chat.as_str(),
        place.thread.as_deref().unwrap_or_default()
    );
    Ok(renamed > 0)
}

/// A search among the messages of a person's conversations.
#[derive(Debug, Clone)]
pub struct SearchedMessages {
    pub channel: String,
    pub chat: String,
    /// A pattern in lower case for `LIKE` with the escape character `\`.
    pub pattern: String,
    pub limit: usize,
}

/// The newest messages and answers whose event matches the pattern, before `last` if it is given.
pub async fn search(
    tx: &mut Tx<'_>,
    searched: &SearchedMessages,
    last: Option<&OwnEvent>,
) -> Result<Vec<OwnEvent>> {
    let (before_at, thread, seq) = last.map_or((i64::MAX, "", i64::MAX), |last| {
        (last.entry.at.timestamp_millis(), last.thread.as_str(), last.entry.seq)
    });
    let rows: Vec<OwnEventRow> = sql!(
        tx,
        fetch_all,
        "
        -- search own conversations
        SELECT c.thread, e.seq, e.at, e.body
        FROM conversations c
        JOIN events e ON e.conversation = c.id
        WHERE c.channel = $1 AND c.chat = $2
          AND (e.body LIKE '{\"kind\":\"said\"%' OR e.body LIKE '{\"kind\":\"replied\"%')
          AND LOWER(e.body) LIKE $3 ESCAPE '\\'
          AND (e.at, c.thread, e.seq) < ($4, $5, $6)
        ORDER BY e.at DESC, c.thread DESC, e.seq DESC
        LIMIT $7",
        searched.channel.as_str(),
        searched.chat.as_str(),
        searched.pattern.as_str(),
        before_at,
        thread,
        seq,
        searched.limit as i64
    );
    let found = rows.into_iter().map(|row| {
        let event = serde_json::from_str(&row.body)?;
        let entry = Entry { seq: row.seq, at: at(row.at), event };
        Ok(OwnEvent { thread: row.thread, entry })
    });
    found.collect()
}
