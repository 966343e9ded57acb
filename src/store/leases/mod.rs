//! Leases: the right to advance one conversation, or to hold one duty, for a limited time, with a
//! fencing token.
//!
//! Time is the database's. An expired lease can be taken by any node, which increments the fence. A
//! statement that records something checks the fence, so that the old holder's writes are rejected.
//!
//! - [`acquisition`]: whether this node may still take leases
//! - `claim`: claims conversations
//! - [`held`]: the leases that this node holds, and the heartbeat

pub(super) mod acquisition;
pub(super) mod claim;
pub(super) mod held;

use anyhow::Result;
use std::{
    fmt,
    time::{Duration, Instant},
};

use super::{
    Store, Tx,
    db::{
        WriteMode, sql,
        unreadable::{self, JsonTable},
    },
};
use crate::journal::ids::{ConversationId, NodeId};
pub use claim::Claimed;

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

impl<'a> DutyKind<'a> {
    /// Parses the stored name; `None` for a duty of another release.
    pub fn parse(name: &'a str) -> Option<Self> {
        match name.split_once(' ') {
            Some(("listen", channel)) => Some(Self::Listen(channel)),
            None if name == "seal" => Some(Self::Maintenance),
            _ => None,
        }
    }
}

/// Proof that this node has a duty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Duty(());

impl Store {
    /// Renews the lease. Returns `false` if another worker has it, or it was released.
    pub async fn renew(&self, lease: &Lease) -> Result<bool> {
        let (lease, term) = (lease.clone(), self.term_ms());
        let renew = self.write_with((), "renew lease", WriteMode::VOLATILE, move |tx| {
            Box::pin(renew(tx, lease, term))
        });
        renew.await
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
        let duty = self.write_with(permit, "hold duty", WriteMode::VOLATILE, move |tx| {
            Box::pin(hold_duty(tx, name, node, term))
        });
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

async fn renew(tx: &mut Tx<'_>, lease: Lease, term: i64) -> Result<bool> {
    // The term begins when nothing has to be waited for any more.
    if !lock(tx, &lease).await? {
        return Ok(false);
    }
    let until = tx.now_ms().await? + term;
    let renewed = sql!(
        tx,
        execute,
        "
        -- renew a lease
        UPDATE conversations
        SET lease_until = $4
        WHERE id = $1 AND lease_node = $2 AND fence = $3 AND lease_until > 0",
        lease.conversation.as_str(),
        lease.node.as_str(),
        lease.fence,
        until
    );
    Ok(renewed > 0)
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
    let started = Instant::now();
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
    // Another transaction may have kept the row locked until the duty had almost expired again.
    let is_current = started.elapsed().as_millis() < (term / 2) as u128;
    Ok((held > 0 && is_current).then_some(Duty(())))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::scratch::{Scratch, on_postgres, on_sqlite};
    use chrono::DateTime;

    #[test]
    fn a_duty_is_found_by_its_name() {
        for duty in [DutyKind::Listen("tg"), DutyKind::Listen("my bot"), DutyKind::Maintenance] {
            assert_eq!(DutyKind::parse(&duty.to_string()), Some(duty));
        }
        for other in ["", "listen", "seal tg", "webhook tg", "prune"] {
            assert_eq!(DutyKind::parse(other), None, "{other}");
        }
    }

    /// Only its holder renews a lease, for one term, and only until it is released.
    /// Proves I7.
    async fn a_lease_is_renewed_by_its_holder(scratch: Scratch) {
        scratch.begin_conversation().await;
        let store = scratch.store.clone();
        let claimed =
            store.claim(1, DateTime::UNIX_EPOCH).await.unwrap().pop().expect("it is ready");
        let lease = claimed.lease.clone();
        let older = Lease { fence: lease.fence - 1, ..lease.clone() };
        let of_another = Lease { node: NodeId::new(), ..lease.clone() };
        for lost in [older, of_another] {
            assert!(!store.renew(&lost).await.unwrap());
            assert!(!store.accepts_writes(&lost).await.unwrap());
        }
        assert!(store.accepts_writes(&lease).await.unwrap());

        scratch.run("UPDATE conversations SET lease_until = 1".into()).await;
        let now = store.read(|tx| Box::pin(async move { tx.now_ms().await })).await.unwrap();
        assert!(store.renew(&lease).await.unwrap());
        let until = now + store.term_ms();
        let renewed = format!("conversations WHERE lease_until BETWEEN {until} AND {until} + 9999");
        assert_eq!(scratch.count(&renewed).await, 1);

        assert!(store.hold_duty(DutyKind::Maintenance).await.unwrap().is_some());
        store.release_all().await.unwrap();
        assert_eq!(scratch.count("conversations WHERE lease_until > 0").await, 0);
        assert_eq!(scratch.count("leases").await, 0);
        assert!(!store.renew(&lease).await.unwrap(), "it is released");
        drop((claimed, store));
        scratch.end().await;
    }

    #[tokio::test]
    async fn a_lease_is_renewed_by_its_holder_on_sqlite() {
        a_lease_is_renewed_by_its_holder(on_sqlite().await).await;
    }

    #[tokio::test]
    async fn a_lease_is_renewed_by_its_holder_on_postgres() {
        a_lease_is_renewed_by_its_holder(on_postgres().await).await;
    }
}
