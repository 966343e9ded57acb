//! Conversations and their events.

use anyhow::{Context as _, Result};
use chrono::{DateTime, Utc};

use super::{
    mentions, participants,
    places::{self, ConversationKey},
};
use crate::{
    journal::{
        event::{Entry, Event, Seq},
        ids::ConversationId,
    },
    store::{
        Store, Tx, at,
        db::{
            row::{database_now, row},
            sql,
        },
        metrics::committed,
        webhooks::subscriptions,
    },
};

/// An event that this release does not know, written by a newer one.
#[derive(Debug, thiserror::Error)]
#[error("event {seq} of {conversation} cannot be read: {problem}")]
pub struct UnreadableEvent {
    conversation: ConversationId,
    seq: Seq,
    problem: serde_json::Error,
}

impl Store {
    /// The events after `seq`, in order.
    pub async fn events_after(
        &self,
        conversation: &ConversationId,
        seq: Seq,
    ) -> Result<Vec<Entry>> {
        let conversation = conversation.clone();
        self.read(move |tx| Box::pin(events_after(tx, conversation, seq))).await
    }

    pub async fn last_seq(&self, conversation: &ConversationId) -> Result<Seq> {
        let conversation = conversation.clone();
        self.read(move |tx| Box::pin(async move { last_seq(tx, &conversation).await })).await
    }
}

pub async fn events_after(
    tx: &mut Tx<'_>,
    conversation: ConversationId,
    seq: Seq,
) -> Result<Vec<Entry>> {
    let rows: Vec<EventRow> = sql!(
        tx,
        fetch_all,
        "
        -- events after
        SELECT seq, at, body FROM events
        WHERE conversation = $1 AND seq > $2
        ORDER BY seq",
        conversation.as_str(),
        seq
    );
    rows.into_iter().map(|row| entry(&conversation, row)).collect()
}

/// Up to `limit` events after `seq`.
pub(in crate::store) async fn events_page(
    tx: &mut Tx<'_>,
    conversation: ConversationId,
    seq: Seq,
    limit: usize,
) -> Result<Vec<Entry>> {
    let rows: Vec<EventRow> = sql!(
        tx,
        fetch_all,
        "
        -- next events
        SELECT seq, at, body FROM events
        WHERE conversation = $1 AND seq > $2
        ORDER BY seq
        LIMIT $3",
        conversation.as_str(),
        seq,
        limit as i64
    );
    rows.into_iter().map(|row| entry(&conversation, row)).collect()
}

row! {
    struct EventRow {
        seq: i64,
        at: i64,
        body: String,
    }
}

fn entry(conversation: &ConversationId, row: EventRow) -> Result<Entry> {
    let EventRow { seq, at: ms, body } = row;
    let event = serde_json::from_str(&body).map_err(|problem| UnreadableEvent {
        conversation: conversation.clone(),
        seq,
        problem,
    })?;
    Ok(Entry { seq, at: at(ms), event })
}

/// Appends an event from outside and makes the conversation ready. Needs no lease, because the
/// event does not depend on the conversation's state.
pub async fn append(
    tx: &mut Tx<'_>,
    conversation: &ConversationId,
    event: &Event,
    now: DateTime<Utc>,
) -> Result<Seq> {
    append_and_wait(tx, conversation, event, None, now).await
}

macro_rules! append {
    ($now:expr) => {
        concat!(
            "
            -- append an event
            UPDATE conversations
            SET last_seq = last_seq + 1, ready_at = COALESCE(ready_at, ",
            $now,
            "), not_before = COALESCE($3, not_before)
            WHERE id = $2
            RETURNING last_seq, owner"
        )
    };
}

/// Like [`append`]. The next turn does not begin before `not_before`, because further messages may
/// belong to this one.
pub async fn append_and_wait(
    tx: &mut Tx<'_>,
    conversation: &ConversationId,
    event: &Event,
    not_before: Option<DateTime<Utc>>,
    now: DateTime<Utc>,
) -> Result<Seq> {
    let statement =
        tx.either(append!(database_now!(sqlite, "$1")), append!(database_now!(postgres, "$1")));
    let now_base = tx.now_base();
    let (seq, owner): (i64, Option<String>) = sql!(
        tx,
        fetch_one,
        statement,
        now_base,
        conversation.as_str(),
        not_before.map(|at| at.timestamp_millis())
    );
    let debounced_for = not_before.and_then(|at| (at - now).to_std().ok());
    let debounced_for = debounced_for.filter(|wait| !wait.is_zero());
    tx.wakeups.debounced_for = tx.wakeups.debounced_for.max(debounced_for);
    if owner.unwrap_or_default().is_empty() {
        participants::note(tx, conversation, event).await?;
    } else if let (1, Event::Said { by, .. } | Event::Stopped { by } | Event::Restarted { by }) =
        (seq, event)
    {
        places::note_owner(tx, conversation, &by.id).await?;
    }
    insert(tx, conversation, Number { seq, fence: 0 }, event, now).await?;
    tx.wakeups.conversations.push(conversation.clone());
    Ok(seq)
}

/// The number of an event, and the fence of the lease under which it is written, or 0 without a
/// lease.
#[derive(Debug, Clone, Copy)]
pub(in crate::store) struct Number {
    pub seq: Seq,
    pub fence: i64,
}

/// Inserts an event whose sequence number is already allotted.
pub(in crate::store) async fn insert(
    tx: &mut Tx<'_>,
    conversation: &ConversationId,
    Number { seq, fence }: Number,
    event: &Event,
    now: DateTime<Utc>,
) -> Result<()> {
    insert_quietly(tx, conversation, Number { seq, fence }, event, now).await?;
    subscriptions::of_event(tx, conversation, event, now).await
}

/// Like [`insert`], where the caller knows that there are no subscriptions.
pub(in crate::store) async fn insert_quietly(
    tx: &mut Tx<'_>,
    conversation: &ConversationId,
    Number { seq, fence }: Number,
    event: &Event,
    now: DateTime<Utc>,
) -> Result<()> {
    let body = serde_json::to_string(event)?;
    sql!(
        tx,
        execute,
        "
        -- insert event
        INSERT INTO events (conversation, seq, fence, at, body)
        VALUES ($1, $2, $3, $4, $5)",
        conversation.as_str(),
        seq,
        fence,
        now.timestamp_millis(),
        body.as_str()
    );
    if matches!(event, Event::Failed { .. }) {
        note_failure(tx, conversation, seq).await?;
    }
    mentions::note(tx, conversation, &body).await?;
    tx.wakeups.counts.extend(committed::of_event(event));
    Ok(())
}

async fn note_failure(tx: &mut Tx<'_>, conversation: &ConversationId, seq: Seq) -> Result<()> {
    sql!(
        tx,
        execute,
        "
        -- count a failed turn
        UPDATE conversations
        SET failed_seq = $1
        WHERE id = $2",
        seq,
        conversation.as_str()
    );
    Ok(())
}

/// The conversation with this key. It is created if it does not exist.
pub async fn conversation(
    tx: &mut Tx<'_>,
    channel: &str,
    key: impl Into<ConversationKey<'_>> + Send,
    now: DateTime<Utc>,
) -> Result<ConversationId> {
    let key = key.into();
    if let Some(id) = find_conversation(tx, channel, key).await? {
        return Ok(id);
    }
    let ConversationKey { place, person } = key;
    sql!(
        tx,
        execute,
        "
        -- start conversation
        INSERT INTO conversations
            (id, channel, chat, thread, person, place, last_seq, lease_node, lease_until, fence,
             created_at, owner)
        VALUES ($1, $2, $3, $4, $5, $6, 0, '', 0, 0, $7, $8)
        ON CONFLICT (channel, chat, thread, person) DO NOTHING",
        ConversationId::new().as_str(),
        channel,
        place.chat.as_str(),
        place.thread.as_deref().unwrap_or_default(),
        person,
        serde_json::to_string(place)?,
        now.timestamp_millis(),
        places::first_owner(place)
    );
    find_conversation(tx, channel, key).await?.context("the conversation was just created")
}

pub async fn find_conversation(
    tx: &mut Tx<'_>,
    channel: &str,
    key: impl Into<ConversationKey<'_>> + Send,
) -> Result<Option<ConversationId>> {
    let ConversationKey { place, person } = key.into();
    let found: Option<(String,)> = sql!(
        tx,
        fetch_optional,
        "
        -- find conversation
        SELECT id FROM conversations
        WHERE channel = $1 AND chat = $2 AND thread = $3 AND person = $4",
        channel,
        place.chat.as_str(),
        place.thread.as_deref().unwrap_or_default(),
        person
    );
    Ok(found.map(|(id,)| ConversationId(id)))
}

pub async fn last_seq(tx: &mut Tx<'_>, conversation: &ConversationId) -> Result<Seq> {
    let (seq,): (i64,) = sql!(
        tx,
        fetch_one,
        "
        -- last seq
        SELECT last_seq FROM conversations
        WHERE id = $1",
        conversation.as_str()
    );
    Ok(seq)
}

/// Locks the conversation's row until the end of the transaction.
pub async fn lock(tx: &mut Tx<'_>, conversation: &ConversationId) -> Result<()> {
    sql!(
        tx,
        execute,
        "
        -- lock a conversation
        UPDATE conversations
        SET last_seq = last_seq
        WHERE id = $1",
        conversation.as_str()
    );
    Ok(())
}
