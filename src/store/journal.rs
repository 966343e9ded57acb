//! Conversations and their events.

use anyhow::{Context as _, Result};
use channels::{Outgoing, Place};
use chrono::{DateTime, Utc};

use super::{
    Store, Tx, approvals, approvals::Asked, at, audit, audit::Fact, conversations, db::sql, grants,
    leases::Lease, outbox, usage, usage::Used,
};
use crate::journal::{
    event::{Entry, Event, Seq, Status},
    ids::{ConversationId, GrantId},
};

/// What a worker writes down, all of it or nothing.
#[derive(Debug, Clone, Default)]
pub struct Change {
    pub events: Vec<Event>,
    /// For the outbox, in this order.
    pub shows: Vec<Outgoing>,
    pub asked: Vec<Asked>,
    /// For the audit.
    pub facts: Vec<Fact>,
    /// For the account of the day.
    pub used: Vec<Used>,
    /// Leave of which the calls that start here take a use each.
    pub spends: Vec<GrantId>,
    /// The last event that the worker had read.
    pub seen: Seq,
    pub terms: Terms,
}

/// On what condition a change is recorded, and what follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Terms {
    /// Void if anything has happened since.
    #[default]
    IfCurrent,
    /// The same; and as there is nothing to do after it, the lease goes back with it.
    IfCurrentThenRest,
    /// A result: it stands, whatever has happened since.
    Always,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recorded {
    Done,
    /// Done, and the lease is given back.
    Rested,
    /// Not recorded: something has happened since.
    Behind,
    /// Not recorded: the lease is another's.
    Fenced,
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

    /// Writes a change down under its lease.
    pub async fn record(
        &self,
        lease: &Lease,
        change: Change,
        now: DateTime<Utc>,
    ) -> Result<Recorded> {
        let lease = lease.clone();
        let recorded = self.write("record", move |tx| Box::pin(record(tx, lease, change, now)));
        match recorded.await {
            Err(problem) if problem.is::<grants::Spent>() => Ok(Recorded::Behind),
            recorded => recorded,
        }
    }

    /// Gives the lease back, unless something has happened that this worker has not seen.
    pub async fn rest(&self, lease: &Lease, seen: Seq) -> Result<Recorded> {
        let lease = lease.clone();
        self.write("rest", move |tx| Box::pin(rest(tx, lease, seen))).await
    }

    /// Gives the lease back with the work still to do, for whoever comes next.
    pub async fn release(&self, lease: &Lease) -> Result<()> {
        let lease = lease.clone();
        self.write("release", move |tx| Box::pin(release(tx, lease))).await
    }
}

pub async fn events_after(
    tx: &mut Tx<'_>,
    conversation: ConversationId,
    seq: Seq,
) -> Result<Vec<Entry>> {
    let rows: Vec<(i64, i64, String)> = sql!(
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
    rows.into_iter()
        .map(|(seq, ms, body)| {
            let event = serde_json::from_str(&body)
                .with_context(|| format!("event {seq} of {conversation}"))?;
            Ok(Entry { seq, at: at(ms), event })
        })
        .collect()
}

async fn record(
    tx: &mut Tx<'_>,
    lease: Lease,
    change: Change,
    now: DateTime<Utc>,
) -> Result<Recorded> {
    let starts = change.events.iter().any(|event| matches!(event, Event::ToolStarted { .. }));
    if starts && grants::halted_by(tx).await?.is_some() {
        return Ok(Recorded::Behind);
    }
    let count = change.events.len() as i64;
    let only_at = if change.terms == Terms::Always { -1 } else { change.seen };
    let allotted: Option<(i64,)> = sql!(
        tx,
        fetch_optional,
        "
        -- record: the fence is checked where the numbers are allotted
        UPDATE conversations
        SET last_seq = last_seq + $1
        WHERE id = $2 AND lease_node = $3 AND fence = $4 AND ($5 < 0 OR last_seq = $5)
        RETURNING last_seq",
        count,
        lease.conversation.as_str(),
        lease.node.as_str(),
        lease.fence,
        only_at
    );
    let Some((last,)) = allotted else { return refused(tx, &lease).await };
    for grant in &change.spends {
        grants::spend(tx, grant, now).await?;
    }
    for (event, seq) in change.events.iter().zip(last - count + 1..) {
        insert(tx, &lease.conversation, (seq, lease.fence), event, now).await?;
    }
    outbox::put(tx, &lease.conversation, last, change.shows, now).await?;
    for asked in change.asked {
        approvals::ask(tx, &lease.conversation, last, asked, now).await?;
    }
    if change.events.iter().any(|event| matches!(event, Event::Failed { .. })) {
        let the_bot = conversations::words(tx, &lease.conversation).await?.the_bot;
        let end = (Status::Withdrawn, the_bot);
        approvals::withdraw(tx, &lease.conversation, end, now).await?;
    }
    audit::append(tx, lease.conversation.as_str(), change.facts, now).await?;
    for used in change.used {
        usage::enter(tx, &lease.conversation, used, now).await?;
    }
    tx.rung.conversations.push(lease.conversation.clone());
    match change.terms {
        Terms::IfCurrentThenRest => rest(tx, lease, last).await,
        Terms::IfCurrent | Terms::Always => Ok(Recorded::Done),
    }
}

async fn refused(tx: &mut Tx<'_>, lease: &Lease) -> Result<Recorded> {
    let held: Option<(i64,)> = sql!(
        tx,
        fetch_optional,
        "
        -- still ours?
        SELECT last_seq FROM conversations
        WHERE id = $1 AND lease_node = $2 AND fence = $3",
        lease.conversation.as_str(),
        lease.node.as_str(),
        lease.fence
    );
    Ok(if held.is_some() { Recorded::Behind } else { Recorded::Fenced })
}

async fn rest(tx: &mut Tx<'_>, lease: Lease, seen: Seq) -> Result<Recorded> {
    let rested = sql!(
        tx,
        execute,
        "
        -- rest
        UPDATE conversations
        SET ready_at = NULL, lease_until = 0
        WHERE id = $1 AND lease_node = $2 AND fence = $3 AND last_seq = $4",
        lease.conversation.as_str(),
        lease.node.as_str(),
        lease.fence,
        seen
    );
    if rested > 0 {
        return Ok(Recorded::Rested);
    }
    refused(tx, &lease).await
}

async fn release(tx: &mut Tx<'_>, lease: Lease) -> Result<()> {
    sql!(
        tx,
        execute,
        "
        -- release
        UPDATE conversations
        SET lease_until = 0
        WHERE id = $1 AND lease_node = $2 AND fence = $3",
        lease.conversation.as_str(),
        lease.node.as_str(),
        lease.fence
    );
    tx.rung.conversations.push(lease.conversation);
    Ok(())
}

/// Writes down what came from outside, and makes the conversation ready. Needs no lease: it is a
/// fact, whoever advances the conversation.
pub async fn append(
    tx: &mut Tx<'_>,
    conversation: &ConversationId,
    event: &Event,
    now: DateTime<Utc>,
) -> Result<Seq> {
    let ready_at = tx.now_ms().await?;
    let (seq,): (i64,) = sql!(
        tx,
        fetch_one,
        "
        -- append
        UPDATE conversations
        SET last_seq = last_seq + 1, ready_at = COALESCE(ready_at, $1)
        WHERE id = $2
        RETURNING last_seq",
        ready_at,
        conversation.as_str()
    );
    insert(tx, conversation, (seq, 0), event, now).await?;
    tx.rung.conversations.push(conversation.clone());
    Ok(seq)
}

async fn insert(
    tx: &mut Tx<'_>,
    conversation: &ConversationId,
    (seq, fence): (Seq, i64),
    event: &Event,
    now: DateTime<Utc>,
) -> Result<()> {
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
        serde_json::to_string(event)?
    );
    Ok(())
}

/// The conversation of that place, begun if there was none.
pub async fn conversation(
    tx: &mut Tx<'_>,
    channel: &str,
    place: &Place,
    now: DateTime<Utc>,
) -> Result<ConversationId> {
    if let Some(id) = find_conversation(tx, channel, place).await? {
        return Ok(id);
    }
    sql!(
        tx,
        execute,
        "
        -- begin conversation
        INSERT INTO conversations
            (id, channel, chat, thread, place, last_seq, lease_node, lease_until, fence, created_at)
        VALUES ($1, $2, $3, $4, $5, 0, '', 0, 0, $6)
        ON CONFLICT (channel, chat, thread) DO NOTHING",
        ConversationId::new().as_str(),
        channel,
        place.chat.as_str(),
        place.thread.as_deref().unwrap_or_default(),
        serde_json::to_string(place)?,
        now.timestamp_millis()
    );
    find_conversation(tx, channel, place).await?.context("the conversation was just begun")
}

pub async fn find_conversation(
    tx: &mut Tx<'_>,
    channel: &str,
    place: &Place,
) -> Result<Option<ConversationId>> {
    let found: Option<(String,)> = sql!(
        tx,
        fetch_optional,
        "
        -- find conversation
        SELECT id FROM conversations
        WHERE channel = $1 AND chat = $2 AND thread = $3",
        channel,
        place.chat.as_str(),
        place.thread.as_deref().unwrap_or_default()
    );
    Ok(found.map(|(id,)| ConversationId(id)))
}

/// The chat goes on under another id; its conversations go with it.
pub async fn move_chat(tx: &mut Tx<'_>, channel: &str, from: &str, to: &str) -> Result<()> {
    let rows: Vec<(String, String)> = sql!(
        tx,
        fetch_all,
        "
        -- conversations of a chat
        SELECT id, place FROM conversations
        WHERE channel = $1 AND chat = $2",
        channel,
        from
    );
    for (id, place) in rows {
        let mut place: Place = serde_json::from_str(&place)?;
        to.clone_into(&mut place.chat);
        sql!(
            tx,
            execute,
            "
            -- move conversation; where one has begun there already, only what it shows moves
            UPDATE conversations
            SET place = $2,
                chat = CASE WHEN EXISTS (
                    SELECT 1 FROM conversations c
                    WHERE c.channel = $4 AND c.chat = $1 AND c.thread = conversations.thread
                ) THEN chat ELSE $1 END
            WHERE id = $3",
            to,
            serde_json::to_string(&place)?,
            id,
            channel
        );
    }
    Ok(())
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

/// Makes others who would write to this conversation wait for this transaction.
pub async fn lock(tx: &mut Tx<'_>, conversation: &ConversationId) -> Result<()> {
    sql!(
        tx,
        execute,
        "
        -- lock
        UPDATE conversations
        SET last_seq = last_seq
        WHERE id = $1",
        conversation.as_str()
    );
    Ok(())
}
