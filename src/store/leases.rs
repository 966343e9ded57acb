//! The right to advance one conversation, or to hold one duty, until a time, with a fencing token.
//!
//! Time is the database's. A lease that has lapsed can be taken by anybody; the fence then grows, and
//! whatever the old holder still tries to record is refused inside the statement that records it.

use anyhow::Result;
use std::time::Duration;

use super::{Store, Tx, db::sql};
use crate::journal::ids::{ConversationId, NodeId};
use channels::Place;

/// The right to advance one conversation. Only a claim makes one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    pub(super) conversation: ConversationId,
    pub(super) node: NodeId,
    pub(super) fence: i64,
}

impl Lease {
    pub fn conversation(&self) -> &ConversationId {
        &self.conversation
    }
}

/// A conversation that this node may advance now.
#[derive(Debug, Clone)]
pub struct Claimed {
    pub lease: Lease,
    pub channel: String,
    pub place: Place,
}

/// A duty that must be alone: a poll, a sweep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Duty(());

/// One statement; PostgreSQL steps over the rows that others hold.
macro_rules! claim {
    ($skip:literal) => {
        concat!(
            "
            -- claim
            UPDATE conversations
            SET lease_node = $1, lease_until = $2, fence = fence + 1
            WHERE id IN (
                SELECT id FROM conversations
                WHERE ready_at <= $3 AND lease_until <= $3
                ORDER BY ready_at
                LIMIT $4 ",
            $skip,
            ")
            RETURNING id, channel, place, fence"
        )
    };
}

impl Store {
    /// Takes up to `most` conversations that have something to do and no holder.
    pub async fn claim(&self, most: usize) -> Result<Vec<Claimed>> {
        if !self.read(|tx| Box::pin(any_ready(tx))).await? {
            return Ok(Vec::new());
        }
        let (node, term) = (self.node.clone(), self.term_ms());
        self.write("claim", move |tx| Box::pin(claim(tx, (node, term), most))).await
    }

    /// Keeps all leases of this node for another term.
    pub async fn heartbeat(&self) -> Result<()> {
        let (node, term) = (self.node.clone(), self.term_ms());
        self.write("heartbeat", move |tx| Box::pin(heartbeat(tx, node, term))).await
    }

    /// Takes or keeps the duty of that name; `None` while another node holds it.
    pub async fn hold_duty(&self, name: &str) -> Result<Option<Duty>> {
        let (name, node, term) = (name.to_owned(), self.node.clone(), self.term_ms());
        self.write("hold duty", move |tx| Box::pin(hold_duty(tx, name, (node, term)))).await
    }

    /// How often the heart has to beat.
    pub fn heartbeat_every(&self) -> Duration {
        self.lease_for / 3
    }

    pub(super) fn term_ms(&self) -> i64 {
        self.lease_for.as_millis() as i64
    }

    /// Gives back everything that this node holds, so that others need not wait for it to lapse.
    pub async fn release_all(&self) -> Result<()> {
        let node = self.node.clone();
        self.write("release all", move |tx| Box::pin(release_all(tx, node))).await
    }
}

async fn any_ready(tx: &mut Tx<'_>) -> Result<bool> {
    let now = tx.now_ms().await?;
    let found: Option<(i64,)> = sql!(
        tx,
        fetch_optional,
        "
        -- any ready
        SELECT fence FROM conversations
        WHERE ready_at <= $1 AND lease_until <= $1
        LIMIT 1",
        now
    );
    Ok(found.is_some())
}

async fn claim(tx: &mut Tx<'_>, (node, term): (NodeId, i64), most: usize) -> Result<Vec<Claimed>> {
    let now = tx.now_ms().await?;
    let until = now + term;
    let claim = tx.claiming(claim!(""), claim!("FOR UPDATE SKIP LOCKED"));
    let rows: Vec<(String, String, String, i64)> =
        sql!(tx, fetch_all, claim, node.as_str(), until, now, most as i64);
    rows.into_iter()
        .map(|(id, channel, place, fence)| {
            let lease = Lease { conversation: ConversationId(id), node: node.clone(), fence };
            Ok(Claimed { lease, channel, place: serde_json::from_str(&place)? })
        })
        .collect()
}

async fn heartbeat(tx: &mut Tx<'_>, node: NodeId, term: i64) -> Result<()> {
    let until = tx.now_ms().await? + term;
    sql!(
        tx,
        execute,
        "
        -- heartbeat
        UPDATE conversations
        SET lease_until = $1
        WHERE lease_node = $2 AND lease_until > 0",
        until,
        node.as_str()
    );
    sql!(
        tx,
        execute,
        "
        -- heartbeat of sends
        UPDATE outbox
        SET lease_until = $1
        WHERE lease_node = $2 AND status = 'waiting' AND lease_until > 0",
        until,
        node.as_str()
    );
    Ok(())
}

async fn hold_duty(
    tx: &mut Tx<'_>,
    name: String,
    (node, term): (NodeId, i64),
) -> Result<Option<Duty>> {
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
