//! Rows of the outbox for operators: files that were sent, and rows that were given up.

use anyhow::Result;
use channels::Outgoing;
use chrono::{DateTime, Utc};
use std::collections::BTreeMap;

use super::PageRequest;
use crate::{
    journal::ids::{ConversationId, OutboxId},
    store::{
        Tx, at,
        db::{row::row, sql},
        outbox::sending::MessageStatus,
    },
};

/// A row of the outbox.
#[derive(Debug, Clone, PartialEq)]
pub struct ListedMessage {
    pub id: OutboxId,
    pub conversation: ConversationId,
    pub channel: String,
    pub what: Outgoing,
    pub status: MessageStatus,
    pub attempts: i64,
    pub problem: String,
    pub created_at: DateTime<Utc>,
}

/// Which rows to list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutboxFilter {
    /// Rows that were given up: rejected, or addressed to a chat that no longer exists.
    GivenUp,
    Files,
}

row! {
    struct ListedMessageRow {
        id: String,
        conversation: String,
        channel: String,
        body: String,
        status: String,
        attempts: i64,
        problem: Option<String>,
        created_at: i64,
    }
}

/// Lists rows, newest first; `id` is empty or selects one row.
pub async fn list(
    tx: &mut Tx<'_>,
    which: OutboxFilter,
    id: &str,
    page_request: &PageRequest,
) -> Result<Vec<ListedMessage>> {
    let rows: Vec<ListedMessageRow> = sql!(
        tx,
        fetch_all,
        "
        -- list outbox; rows withdrawn before sending have no problem
        SELECT o.id, o.conversation, c.channel, o.body, o.status, o.attempts, o.problem,
               o.created_at
        FROM outbox o
        JOIN conversations c ON c.id = o.conversation
        WHERE ($1 = '' OR o.id < $1)
          AND ($2 = '' OR o.id = $2)
          AND (($3 = 1 AND o.status IN ('refused', 'gone') AND COALESCE(o.problem, '') <> '')
            OR ($3 = 0 AND o.body LIKE '{\"kind\":\"file\"%'))
        ORDER BY o.id DESC
        LIMIT $4",
        page_request.after.as_str(),
        id,
        i64::from(which == OutboxFilter::GivenUp),
        page_request.limit as i64
    );
    rows.into_iter().map(listed).collect()
}

fn listed(row: ListedMessageRow) -> Result<ListedMessage> {
    Ok(ListedMessage {
        id: OutboxId(row.id),
        conversation: ConversationId(row.conversation),
        channel: row.channel,
        what: serde_json::from_str(&row.body)?,
        status: MessageStatus::parse(&row.status)?,
        attempts: row.attempts,
        problem: row.problem.unwrap_or_default(),
        created_at: at(row.created_at),
    })
}

/// Schedules a row that was given up to be sent again. Returns whether there was such a row.
pub async fn replay(tx: &mut Tx<'_>, id: &str) -> Result<bool> {
    let replayed = sql!(
        tx,
        execute,
        "
        -- replay a dead letter
        UPDATE outbox
        SET status = 'waiting', not_before = 0, lease_node = '', lease_until = 0, due_at = 0,
            unknowns = 0, aged_ms = 0
        WHERE id = $1 AND status IN ('refused', 'gone') AND COALESCE(problem, '') <> ''",
        id
    );
    tx.wakeups.any_send();
    Ok(replayed > 0)
}

/// The maximum number of rows that are sent again at once.
const REPLAYED_AT_ONCE: i64 = 1_000;

/// Schedules the oldest rows that were given up to be sent again, of one channel unless it is
/// empty. Returns their number.
pub async fn replay_many(tx: &mut Tx<'_>, channel: &str) -> Result<u64> {
    let replayed = sql!(
        tx,
        execute,
        "
        -- replay dead letters
        UPDATE outbox
        SET status = 'waiting', not_before = 0, lease_node = '', lease_until = 0, due_at = 0,
            unknowns = 0, aged_ms = 0
        WHERE id IN (
            SELECT o.id FROM outbox o
            JOIN conversations c ON c.id = o.conversation
            WHERE o.status IN ('refused', 'gone') AND COALESCE(o.problem, '') <> ''
              AND ($1 = '' OR c.channel = $1)
            ORDER BY o.id
            LIMIT $2)",
        channel,
        REPLAYED_AT_ONCE
    );
    tx.wakeups.any_send();
    Ok(replayed)
}

/// Drops a row that was given up. Returns whether there was such a row.
pub async fn drop(tx: &mut Tx<'_>, id: &str) -> Result<bool> {
    let dropped = sql!(
        tx,
        execute,
        "
        -- drop a dead letter
        UPDATE outbox
        SET problem = NULL
        WHERE id = $1 AND status IN ('refused', 'gone') AND COALESCE(problem, '') <> ''",
        id
    );
    Ok(dropped > 0)
}

/// The traffic of a channel.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChannelTraffic {
    /// The number of waiting rows, and since when the oldest one waits.
    pub waiting: i64,
    pub since: Option<DateTime<Utc>>,
    pub given_up: i64,
}

row! {
    struct TrafficRow {
        channel: String,
        waiting: i64,
        since: Option<i64>,
        given_up: i64,
    }
}

/// The traffic by channel.
pub async fn traffic(tx: &mut Tx<'_>) -> Result<BTreeMap<String, ChannelTraffic>> {
    let rows: Vec<TrafficRow> = sql!(
        tx,
        fetch_all,
        "
        -- traffic of channels
        SELECT c.channel,
               COUNT(CASE WHEN o.status = 'waiting' THEN 1 END) AS waiting,
               MIN(CASE WHEN o.status = 'waiting' THEN o.created_at END) AS since,
               COUNT(CASE WHEN o.status <> 'waiting' AND COALESCE(o.problem, '') <> '' THEN 1 END)
                   AS given_up
        FROM (
            SELECT conversation, status, created_at, problem FROM outbox
            WHERE status = 'waiting'
            UNION ALL
            SELECT conversation, status, created_at, problem FROM outbox
            WHERE status IN ('refused', 'gone')
        ) o
        JOIN conversations c ON c.id = o.conversation
        GROUP BY c.channel"
    );
    let mut found: BTreeMap<String, ChannelTraffic> = BTreeMap::new();
    for TrafficRow { channel, waiting, since, given_up } in rows {
        let since = since.map(at);
        found.insert(channel, ChannelTraffic { waiting, since, given_up });
    }
    Ok(found)
}
