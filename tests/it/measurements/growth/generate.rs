//! Generates a large database directly as rows.

use channels::{Place, PlaceKind};
use countersign::testing::clock::Clock as _;

use crate::support::world::World;

/// The number of rows of each kind.
#[derive(Debug, Clone, Copy)]
pub struct Size {
    pub conversations: usize,
    /// Events in the longest conversation.
    pub events: usize,
    /// Outbox rows that were sent long ago.
    pub sent: usize,
    /// Rows that wait for a channel that is down.
    pub waiting: usize,
    /// Approvals that are open.
    pub approvals: usize,
}

pub const LARGE: Size = Size {
    conversations: 100_000,
    events: 50_000,
    sent: 1_000_000,
    waiting: 100_000,
    approvals: 10_000,
};

impl Size {
    pub fn divided_by(self, by: usize) -> Self {
        Self {
            conversations: self.conversations / by,
            events: self.events / by,
            sent: self.sent / by,
            waiting: self.waiting / by,
            approvals: self.approvals / by,
        }
    }
}

/// The person of a private chat.
pub fn person(n: usize) -> String {
    format!("9{n}")
}

/// The conversation with the most events.
pub fn longest() -> Place {
    Place { chat: "longest".into(), thread: None, kind: PlaceKind::Private }
}

/// Rows numbered from 1 on.
fn numbered(count: usize, statement: &str) -> String {
    format!(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {count}) {statement}"
    )
}

pub async fn fill(world: &World, size: Size) {
    drop(world.node().await);
    let now = world.clock.now().timestamp_millis();
    for statement in [
        conversations(size, now),
        longest_conversation(size, now),
        events(size, now),
        first_events(size, now),
        outbox(size.sent, size, ("sent", now - 1)),
        waiting_conversations(size, now),
        waiting(size, now),
        approvals(size, now),
        spent(size, world),
    ] {
        world.tampers(&statement).await;
    }
    let analyse = if world.is_on_sqlite() { "SELECT 1" } else { "VACUUM ANALYZE" };
    world.tampers(analyse).await;
}

const CONVERSATION: &str = "INSERT INTO conversations
    (id, channel, chat, thread, person, place, last_seq, ready_at, lease_node, lease_until, fence,
     created_at, owner)";

fn conversations(size: Size, now: i64) -> String {
    numbered(
        size.conversations,
        &format!(
            "{CONVERSATION}
            SELECT 'c' || i, 'room', '9' || i, '', '',
                   '{{\"chat\":\"9' || i || '\",\"thread\":null,\"kind\":\"private\"}}',
                   2, NULL, '', 0, 0, {now} - i, '9' || i
            FROM n"
        ),
    )
}

fn longest_conversation(size: Size, now: i64) -> String {
    let events = size.events;
    format!(
        "{CONVERSATION}
        VALUES ('longest', 'room', 'longest', '', '',
                '{{\"chat\":\"longest\",\"thread\":null,\"kind\":\"private\"}}',
                {events}, NULL, '', 0, 0, {now}, '1')"
    )
}

/// Answered messages of 1.5 kB each, summarised by `/new` in the end.
fn events(size: Size, now: i64) -> String {
    let text = "plums and pears ".repeat(90);
    numbered(
        size.events,
        &format!(
            "INSERT INTO events (conversation, seq, fence, at, body)
            SELECT 'longest', i, 0, {now} - 1,
                   CASE WHEN i = {count}
                   THEN '{{\"kind\":\"restarted\",\"by\":{{\"id\":\"1\",\"name\":\"Ann\"}}}}'
                   ELSE '{{\"kind\":\"tainted\",\"source\":\"{text}\"}}' END
            FROM n",
            count = size.events
        ),
    )
}

fn first_events(size: Size, now: i64) -> String {
    numbered(
        size.conversations * 2,
        &format!(
            "INSERT INTO events (conversation, seq, fence, at, body)
            SELECT 'c' || ((i + 1) / 2), 2 - (i % 2), 0, {now} - 1,
                   '{{\"kind\":\"said\",\"by\":{{\"id\":\"9' || ((i + 1) / 2)
                   || '\",\"name\":\"Somebody\"}},\"text\":\"hello\",\"message\":\"1\"}}'
            FROM n"
        ),
    )
}

const OUTBOX: &str = "INSERT INTO outbox
    (id, conversation, seq, part, body, status, attempts, not_before, lease_node, lease_until,
     created_at)";

fn outbox(count: usize, size: Size, (status, at): (&str, i64)) -> String {
    let conversations = size.conversations;
    numbered(
        count,
        &format!(
            "{OUTBOX}
            SELECT 's' || i, 'c' || (i % {conversations} + 1), 2, i / {conversations},
                   '{{\"kind\":\"text\",\"markdown\":\"It is done.\",\"reply_to\":null}}',
                   '{status}', 1, 0, '', 0, {at}
            FROM n"
        ),
    )
}

/// A tenth as many conversations as rows, on a channel that no node serves.
fn waiting_conversations(size: Size, now: i64) -> String {
    numbered(
        (size.waiting / 10).max(1),
        &format!(
            "{CONVERSATION}
            SELECT 'd' || i, 'down', '8' || i, '', '',
                   '{{\"chat\":\"8' || i || '\",\"thread\":null,\"kind\":\"private\"}}',
                   0, NULL, '', 0, 0, {now}, '8' || i
            FROM n"
        ),
    )
}

fn waiting(size: Size, now: i64) -> String {
    let conversations = (size.waiting / 10).max(1);
    numbered(
        size.waiting,
        &format!(
            "{OUTBOX}
            SELECT 'w' || i, 'd' || (i % {conversations} + 1), 0, i / {conversations},
                   '{{\"kind\":\"text\",\"markdown\":\"It is done.\",\"reply_to\":null}}',
                   'waiting', 0, 0, '', 0, {now}
            FROM n"
        ),
    )
}

/// In conversations of their own, after the one that is erased.
fn approvals(size: Size, now: i64) -> String {
    numbered(
        size.approvals,
        &format!(
            "INSERT INTO approvals
                (id, conversation, call, asks, tool, arguments, digest, title, requester, question,
                 status, created_at, expires_at, shown_in)
            SELECT 'a' || i, 'c' || (i + 2), 'call' || i, '\"allow\"', 'delete', '{{}}', '', 'Delete?',
                   '{{\"id\":\"9' || (i + 2) || '\",\"name\":\"Somebody\"}}', 's' || i, 'pending',
                   {now}, {now} + 1800000, 'c' || (i + 2)
            FROM n"
        ),
    )
}

fn spent(size: Size, world: &World) -> String {
    let day = world.clock.now().date_naive();
    numbered(
        size.conversations,
        &format!(
            "INSERT INTO spent (day, scope, owner, messages, tokens, cost_micros, tool_ms)
            SELECT '{day}', 'person', 'room/9' || i, 1, 100, 10, 0 FROM n"
        ),
    )
}
