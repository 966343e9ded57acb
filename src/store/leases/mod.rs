//! Leases: the right to advance one conversation, or to hold one duty, for a limited time, with a
//! fencing token.
//!
//! Time is the database's. An expired lease can be taken by any node, which increments the fence. A
//! statement that records something checks the fence, so that the old holder's writes are rejected.
//!
//! - [`acquisition`]: whether this node may still take leases
//! - [`held`]: the leases that this node holds, and the heartbeat

pub(super) mod acquisition;
pub(super) mod held;

use anyhow::Result;
use chrono::{DateTime, Utc};
use std::{fmt, time::Duration};

use super::{
    Store, Tx,
    db::{
        row::row,
        sql,
        unreadable::{self, JsonTable},
    },
};
use crate::{
    journal::ids::{ConversationId, NodeId},
    texts::{Language, Messages},
};
use channels::Place;
use held::{Held, LeaseHold};

/// The right to advance one conversation. Created only by a claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    pub(super) conversation: ConversationId,
    /// The conversation with people that a sub-agent works for.
    pub(super) root: Option<ConversationId>,
    pub(super) node: NodeId,
    pub(super) fence: i64,
}

impl Lease {
    pub fn conversation(&self) -> &ConversationId {
        &self.conversation
    }

    /// The conversation in which messages are shown and to which usage is charged.
    pub fn home(&self) -> &ConversationId {
        self.root.as_ref().unwrap_or(&self.conversation)
    }
}

/// The parameters of a sub-agent's conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubAgent {
    pub agent: String,
    /// The number of agents above it.
    pub depth: u32,
}

/// A conversation that this node may advance now.
#[derive(Debug)]
pub struct Claimed {
    pub lease: Lease,
    pub channel: String,
    pub place: Place,
    /// The language of its people, as an IETF tag.
    pub language: String,
    pub sub_agent: Option<SubAgent>,
    /// The number of consecutive failed turns before this one.
    pub failures: u32,
    _hold: LeaseHold,
}

impl Claimed {
    pub fn language(&self) -> Language {
        Language::of(Some(&self.language))
    }

    /// The texts in the language of its people.
    pub fn words(&self) -> &'static Messages {
        self.language().words()
    }
}

/// Work that only one node does at a time. Its lease is stored by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DutyKind<'a> {
    /// Listening on the channel with this id.
    Listen(&'a str),
    /// Maintenance of the database, which includes sealing the audit.
    Maintenance,
}

impl fmt::Display for DutyKind<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Listen(channel) => write!(f, "listen {channel}"),
            Self::Maintenance => f.write_str("seal"),
        }
    }
}

/// Proof that this node has a duty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Duty(());

/// One statement. PostgreSQL skips rows that others are changing. `NO KEY` is needed because a
/// transaction that inserts a row referring to a conversation locks the conversation's key, which
/// must not hide it.
///
/// Conversations under lease stay in the index of `ready_at`, because they can be claimed again
/// after the lease expires. With 10,000 turns under way, a claim that finds nothing takes 0.8 ms.
macro_rules! claim {
    ($skip:literal) => {
        concat!(
            "
            -- claim
            UPDATE conversations
            SET lease_node = $1, lease_until = $2, fence = fence + 1
            WHERE id IN (
                SELECT id FROM conversations
                WHERE ready_at <= $3 AND lease_until <= $6 AND not_before <= $5
                AND $7 NOT LIKE '%' || id || '%'
                ORDER BY ready_at
                LIMIT $4 ",
            $skip,
            ")
            RETURNING id, channel, place, language, fence, agent, root, depth, failures"
        )
    };
}

impl Store {
    /// Claims up to `most` conversations that have something to do and no holder. `now` is the
    /// clock for debouncing.
    pub async fn claim(&self, most: usize, now: DateTime<Utc>) -> Result<Vec<Claimed>> {
        if most == 0 || !self.read(move |tx| Box::pin(any_ready(tx, now))).await? {
            return Ok(Vec::new());
        }
        let claimant =
            Claimant { node: self.node.clone(), term: self.term_ms(), held: self.held.clone() };
        let Some(permit) = self.claims.permit().await else { return Ok(Vec::new()) };
        let claimed =
            self.write_with(permit, "claim", move |tx| Box::pin(claim(tx, claimant, most, now)));
        claimed.await.inspect_err(|_| self.held.missed())
    }

    /// Whether the lease is still valid, by the database's clock.
    pub async fn holds(&self, lease: &Lease) -> Result<bool> {
        let lease = lease.clone();
        self.read(move |tx| Box::pin(holds(tx, lease))).await
    }

    /// Whether the database accepts a write for the lease; `false` if another worker has it.
    pub async fn accepts_writes(&self, lease: &Lease) -> Result<bool> {
        let lease = lease.clone();
        self.write("probe", move |tx| Box::pin(async move { lock(tx, &lease).await })).await
    }

    /// Takes or renews a duty; `None` while another node holds it, and after this
    /// node has released its duties.
    pub async fn hold_duty(&self, duty: DutyKind<'_>) -> Result<Option<Duty>> {
        let Some(permit) = self.duties.permit().await else { return Ok(None) };
        let (name, node, term) = (duty.to_string(), self.node.clone(), self.term_ms());
        let duty = self
            .write_with(permit, "hold duty", move |tx| Box::pin(hold_duty(tx, name, node, term)));
        duty.await
    }

    /// The interval of the heartbeat.
    pub fn heartbeat_every(&self) -> Duration {
        self.lease_for / 3
    }

    pub(super) fn term_ms(&self) -> i64 {
        self.lease_for.as_millis() as i64
    }

    /// Releases the duties of this node for good, so that another node can take them over.
    pub async fn release_duties(&self) -> Result<()> {
        self.duties.end().await;
        let node = self.node.clone();
        self.write("release duties", move |tx| Box::pin(release_duties(tx, node))).await
    }

    /// Releases everything that this node holds, for good, so that others need not wait until the
    /// leases expire.
    pub async fn release_all(&self) -> Result<()> {
        self.duties.end().await;
        self.claims.end().await;
        let node = self.node.clone();
        self.write("release all", move |tx| Box::pin(release_all(tx, node))).await
    }
}

async fn holds(tx: &mut Tx<'_>, lease: Lease) -> Result<bool> {
    let now = tx.now_ms().await?;
    let held: Option<(i64,)> = sql!(
        tx,
        fetch_optional,
        "
        -- check a lease
        SELECT fence FROM conversations
        WHERE id = $1 AND lease_node = $2 AND fence = $3 AND lease_until > $4",
        lease.conversation.as_str(),
        lease.node.as_str(),
        lease.fence,
        now
    );
    Ok(held.is_some())
}

/// Locks the conversation's row until the end of the transaction; `false` if another worker has the
/// lease.
pub(super) async fn lock(tx: &mut Tx<'_>, lease: &Lease) -> Result<bool> {
    let locked = sql!(
        tx,
        execute,
        "
        -- lock under a lease
        UPDATE conversations
        SET fence = fence
        WHERE id = $1 AND lease_node = $2 AND fence = $3",
        lease.conversation.as_str(),
        lease.node.as_str(),
        lease.fence
    );
    Ok(locked > 0)
}

async fn any_ready(tx: &mut Tx<'_>, settled_at: DateTime<Utc>) -> Result<bool> {
    let now = tx.now_ms().await?;
    let found: Option<(i64,)> = sql!(
        tx,
        fetch_optional,
        "
        -- any ready
        SELECT fence FROM conversations
        WHERE ready_at <= $1 AND lease_until <= $1 AND not_before <= $2
        AND $3 NOT LIKE '%' || id || '%'
        LIMIT 1",
        now,
        settled_at.timestamp_millis(),
        unreadable::waiting(JsonTable::Conversations)
    );
    Ok(found.is_some())
}

/// The node that claims, for how many milliseconds, and what it holds already.
#[derive(Clone)]
struct Claimant {
    node: NodeId,
    term: i64,
    held: Held,
}

async fn claim(
    tx: &mut Tx<'_>,
    Claimant { node, term, held }: Claimant,
    most: usize,
    settled_at: DateTime<Utc>,
) -> Result<Vec<Claimed>> {
    let now = tx.now_ms().await?;
    let until = now + term;
    let expired_by = held::before_claim(tx, &held, &node, term, now).await?;
    let claim = tx.either(claim!(""), claim!("FOR NO KEY UPDATE SKIP LOCKED"));
    let rows: Vec<ClaimedRow> = sql!(
        tx,
        fetch_all,
        claim,
        node.as_str(),
        until,
        now,
        most as i64,
        settled_at.timestamp_millis(),
        expired_by,
        unreadable::waiting(JsonTable::Conversations)
    );
    let claimed = rows.into_iter().filter_map(|row| {
        let place = readable(JsonTable::Conversations, &row.id, &row.place)?;
        let hold = held.hold(&row.id, row.fence);
        let (conversation, root) = (ConversationId(row.id), row.root.map(ConversationId));
        let lease = Lease { conversation, root, node: node.clone(), fence: row.fence };
        let sub_agent = row.agent.map(|agent| SubAgent { agent, depth: row.depth as u32 });
        let (channel, language, failures) = (row.channel, row.language, row.failures as u32);
        Some(Claimed { lease, channel, place, language, sub_agent, failures, _hold: hold })
    });
    Ok(claimed.collect())
}

row! {
    struct ClaimedRow {
        id: String,
        channel: String,
        place: String,
        language: String,
        fence: i64,
        agent: Option<String>,
        root: Option<String>,
        depth: i64,
        failures: i64,
    }
}

/// Parses the JSON of a row. An unreadable row keeps its lease until the lease expires, and does
/// not affect others.
pub(super) fn readable<T: serde::de::DeserializeOwned>(
    table: JsonTable,
    id: &str,
    body: &str,
) -> Option<T> {
    unreadable::readable(table, id, serde_json::from_str(body).map_err(Into::into))
}

async fn hold_duty(tx: &mut Tx<'_>, name: String, node: NodeId, term: i64) -> Result<Option<Duty>> {
    let now = tx.now_ms().await?;
    let until = now + term;
    let held = sql!(
        tx,
        execute,
        "
        -- hold duty
        INSERT INTO leases (name, node, until, fence)
        VALUES ($1, $2, $3, 1)
        ON CONFLICT (name) DO UPDATE
        SET node = $2, until = $3, fence = leases.fence + 1
        WHERE leases.node = $2 OR leases.until <= $4",
        name,
        node.as_str(),
        until,
        now
    );
    Ok((held > 0).then_some(Duty(())))
}

async fn release_all(tx: &mut Tx<'_>, node: NodeId) -> Result<()> {
    sql!(
        tx,
        execute,
        "
        -- release conversations
        UPDATE conversations
        SET lease_until = 0
        WHERE lease_node = $1 AND lease_until > 0",
        node.as_str()
    );
    sql!(
        tx,
        execute,
        "
        -- release sends
        UPDATE outbox
        SET lease_until = 0
        WHERE lease_node = $1 AND status = 'waiting' AND lease_until > 0",
        node.as_str()
    );
    release_duties(tx, node).await
}

async fn release_duties(tx: &mut Tx<'_>, node: NodeId) -> Result<()> {
    sql!(
        tx,
        execute,
        "
        -- release duties
        DELETE FROM leases
        WHERE node = $1",
        node.as_str()
    );
    Ok(())
}
