//! Conversations and their events, as listed for operators.

use anyhow::Result;
use channels::Place;
use chrono::{DateTime, Utc};

use super::PageRequest;
use crate::{
    journal::{
        event::{Entry, Event},
        ids::ConversationId,
    },
    store::{
        Tx, at,
        db::{row::row, sql},
    },
};

/// A conversation, without its messages.
#[derive(Debug, Clone, PartialEq)]
pub struct ListedConversation {
    pub id: ConversationId,
    pub channel: String,
    pub place: Place,
    pub events: i64,
    /// Whether a worker is advancing it, or will.
    pub is_ready: bool,
    pub created_at: DateTime<Utc>,
    /// When the last event happened.
    pub last_at: Option<DateTime<Utc>>,
    /// The reference of the last failed turn.
    pub failed: Option<String>,
}

/// A filter; empty fields match everything.
#[derive(Debug, Clone, Default)]
pub struct WantedConversations {
    pub id: String,
    pub channel: String,
    pub chat: String,
    /// Only conversations in which a turn has failed.
    pub failed: bool,
}

/// The last failed turn of a conversation.
#[derive(Debug, Clone, PartialEq)]
pub struct ListedFailure {
    pub conversation: ConversationId,
    pub channel: String,
    pub chat: String,
    pub at: DateTime<Utc>,
    /// The text that people were shown, and the cause, which only operators see.
    pub reason: String,
    pub cause: Option<String>,
    pub reference: String,
}

row! {
    struct ConversationRow {
        id: String,
        channel: String,
        place: String,
        last_seq: i64,
        ready_at: Option<i64>,
        created_at: i64,
        last_at: Option<i64>,
        failed: Option<String>,
    }
}

row! {
    struct FailedRow {
        id: String,
        channel: String,
        chat: String,
        at: i64,
        body: String,
    }
}

/// Lists conversations, newest first.
pub async fn list(
    tx: &mut Tx<'_>,
    wanted: &WantedConversations,
    page_request: &PageRequest,
) -> Result<Vec<ListedConversation>> {
    let rows: Vec<ConversationRow> = sql!(
        tx,
        fetch_all,
        "
        -- list conversations
        SELECT c.id, c.channel, c.place, c.last_seq, c.ready_at, c.created_at, e.at AS last_at,
               f.body AS failed
        FROM conversations c
        LEFT JOIN events e ON e.conversation = c.id AND e.seq = c.last_seq
        LEFT JOIN events f ON f.conversation = c.id AND f.seq = c.failed_seq
        WHERE ($1 = '' OR c.id < $1)
          AND ($2 = '' OR c.id = $2)
          AND ($3 = '' OR c.channel = $3)
          AND ($4 = '' OR c.chat = $4)
          AND ($5 = 0 OR c.failed_seq IS NOT NULL)
        ORDER BY c.id DESC
        LIMIT $6",
        page_request.after.as_str(),
        wanted.id.as_str(),
        wanted.channel.as_str(),
        wanted.chat.as_str(),
        i64::from(wanted.failed),
        page_request.limit as i64
    );
    rows.into_iter().map(listed).collect()
}

fn listed(row: ConversationRow) -> Result<ListedConversation> {
    let failed = row.failed.and_then(|body| serde_json::from_str(&body).ok());
    Ok(ListedConversation {
        id: ConversationId(row.id),
        channel: row.channel,
        place: serde_json::from_str(&row.place)?,
        events: row.last_seq,
        is_ready: row.ready_at.is_some(),
        created_at: at(row.created_at),
        last_at: row.last_at.map(at),
        failed: match failed {
            Some(Event::Failed { reference, .. }) => Some(reference),
            _ => None,
        },
    })
}

/// The last failed turn of each conversation since then, latest first.
pub async fn failures(
    tx: &mut Tx<'_>,
    since: DateTime<Utc>,
    limit: usize,
) -> Result<Vec<ListedFailure>> {
    let rows: Vec<FailedRow> = sql!(
        tx,
        fetch_all,
        "
        -- failed turns
        SELECT c.id, c.channel, c.chat, e.at, e.body
        FROM conversations c
        JOIN events e ON e.conversation = c.id AND e.seq = c.failed_seq
        WHERE c.failed_seq IS NOT NULL AND e.at >= $1
        ORDER BY e.at DESC
        LIMIT $2",
        since.timestamp_millis(),
        limit as i64
    );
    let turns = rows.into_iter().filter_map(|row| match serde_json::from_str(&row.body) {
        Ok(Event::Failed { reason, cause, reference, .. }) => Some(ListedFailure {
            conversation: ConversationId(row.id),
            channel: row.channel,
            chat: row.chat,
            at: at(row.at),
            reason,
            cause,
            reference,
        }),
        _ => None,
    });
    Ok(turns.collect())
}

/// A search in the messages of all conversations.
#[derive(Debug, Clone)]
pub struct SearchedEvents {
    /// A pattern in lower case for `LIKE` with the escape character `\`.
    pub pattern: String,
    pub since: DateTime<Utc>,
    pub limit: usize,
}

/// A message or an answer that matches a search.
#[derive(Debug, Clone)]
pub struct FoundMessage {
    pub conversation: ConversationId,
    pub channel: String,
    pub chat: String,
    pub entry: Entry,
}

row! {
    struct FoundRow {
        id: String,
        channel: String,
        chat: String,
        seq: i64,
        at: i64,
        body: String,
    }
}

/// The newest messages and answers whose event matches the pattern, before `last` if it is given.
pub async fn search(
    tx: &mut Tx<'_>,
    searched: &SearchedEvents,
    last: Option<&FoundMessage>,
) -> Result<Vec<FoundMessage>> {
    let (before_at, conversation, seq) = last.map_or((i64::MAX, "", i64::MAX), |last| {
        (last.entry.at.timestamp_millis(), last.conversation.as_str(), last.entry.seq)
    });
    let rows: Vec<FoundRow> = sql!(
        tx,
        fetch_all,
        "
        -- search all conversations
        SELECT c.id, c.channel, c.chat, e.seq, e.at, e.body
        FROM events e
        JOIN conversations c ON c.id = e.conversation
        WHERE e.at >= $1
          AND (e.body LIKE '{\"kind\":\"said\"%' OR e.body LIKE '{\"kind\":\"replied\"%')
          AND LOWER(e.body) LIKE $2 ESCAPE '\\'
          AND (e.at, c.id, e.seq) < ($3, $4, $5)
        ORDER BY e.at DESC, c.id DESC, e.seq DESC
        LIMIT $6",
        searched.since.timestamp_millis(),
        searched.pattern.as_str(),
        before_at,
        conversation,
        seq,
        searched.limit as i64
    );
    let found = rows.into_iter().map(|row| {
        let event = serde_json::from_str(&row.body)?;
        Ok(FoundMessage {
            conversation: ConversationId(row.id),
            channel: row.channel,
            chat: row.chat,
            entry: Entry { seq: row.seq, at: at(row.at), event },
        })
    });
    found.collect()
}

row! {
    struct ListedEventRow {
        seq: i64,
        at: i64,
        body: String,
    }
}

/// The events of a conversation, in order.
pub async fn events(
    tx: &mut Tx<'_>,
    conversation: &ConversationId,
    page_request: &PageRequest,
) -> Result<Vec<Entry>> {
    let after: i64 = page_request.after.parse().unwrap_or_default();
    let rows: Vec<ListedEventRow> = sql!(
        tx,
        fetch_all,
        "
        -- list events
        SELECT seq, at, body FROM events
        WHERE conversation = $1 AND seq > $2
        ORDER BY seq
        LIMIT $3",
        conversation.as_str(),
        after,
        page_request.limit as i64
    );
    rows.into_iter()
        .map(|row: ListedEventRow| {
            let event = serde_json::from_str(&row.body)?;
            Ok(Entry { seq: row.seq, at: at(row.at), event })
        })
        .collect()
}
