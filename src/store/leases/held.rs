//! The conversations, rows and duties that this node holds, and the heartbeat that renews their
//! leases.
//!
//! The heartbeat updates every row that this node holds. A single row per node, referenced by all
//! of its leases, would be cheaper to renew, but every claim would have to join it. One update
//! every five seconds takes 10 ms with 10,000 turns under way, and claims are far more frequent.

use anyhow::Result;
use std::{
    collections::BTreeMap,
    ops::RangeInclusive,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use crate::{
    crash,
    journal::ids::NodeId,
    store::{
        Store, Tx,
        db::{WriteMode, sql},
    },
};

/// The leases that the heartbeat renews: those that some code in this process holds.
#[derive(Debug, Clone, Default)]
pub(in crate::store) struct Held(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    /// The number of holders of each lease.
    leases: BTreeMap<LeaseKey, usize>,
    /// The last successful heartbeat, by the database's clock.
    beaten_at: Option<i64>,
    /// Whether a heartbeat has failed since.
    missed: bool,
    /// Only released rows are claimed before this time, by the database's clock.
    waits_until: i64,
}

/// A row under one fence. After a lease has expired, this process may hold the row under two fences
/// for a while, because the old turn has not noticed yet.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
struct LeaseKey(String, i64);

/// Keeps a lease among those that are renewed, until dropped.
#[derive(Debug)]
pub struct LeaseHold {
    held: Held,
    key: LeaseKey,
}

impl Held {
    pub(in crate::store) fn hold(&self, id: &str, fence: i64) -> LeaseHold {
        let key = LeaseKey(id.to_owned(), fence);
        *self.state().leases.entry(key.clone()).or_default() += 1;
        LeaseHold { held: self.clone(), key }
    }

    /// Records that a heartbeat failed: leases may have expired, on this node and others.
    pub(in crate::store) fn missed(&self) {
        self.state().missed = true;
    }

    fn keys(&self) -> Vec<LeaseKey> {
        self.state().leases.keys().cloned().collect()
    }

    /// Whether the last successful heartbeat is older than half a lease, or the clock was set back.
    fn is_overdue(&self, now: i64, term: i64) -> bool {
        let state = self.state();
        state.missed || state.beaten_at.is_some_and(|at| (now - at).abs() > term / 2)
    }

    /// Records a successful heartbeat. After a gap in which leases may have expired on all nodes,
    /// the others get the time of one heartbeat to renew theirs.
    fn beaten(&self, now: i64, term: i64) {
        let mut state = self.state();
        let gap = state.beaten_at.is_some_and(|at| (now - at).abs() > term);
        if state.missed || gap {
            state.waits_until = now + term / 3;
        }
        (state.beaten_at, state.missed) = (Some(now), false);
    }

    /// The times, by the database's clock, at which a claim need neither renew leases first nor
    /// wait for other nodes to renew theirs; `None` if there are none.
    pub(in crate::store) fn claims_between(&self, term: i64) -> Option<RangeInclusive<i64>> {
        let state = self.state();
        let at = state.beaten_at.filter(|at| !state.missed && state.waits_until <= *at)?;
        (!crash::planted("renewal")).then_some(at..=at + term / 2)
    }

    /// A row can be claimed if its lease expired by this time.
    fn expired_by(&self, now: i64, term: i64) -> i64 {
        let waits_until = self.state().waits_until;
        // A clock that was set back does not prolong the wait.
        if now < waits_until && waits_until <= now + term { 0 } else { now }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for LeaseHold {
    fn drop(&mut self) {
        let mut state = self.held.state();
        if let Some(holds) = state.leases.get_mut(&self.key) {
            *holds -= 1;
            if *holds == 0 {
                state.leases.remove(&self.key);
            }
        }
    }
}

impl Store {
    /// Renews the leases of this node. A lease that was claimed but is not held, because a response
    /// of the database was lost or a turn panicked, expires and is claimed again.
    pub async fn heartbeat(&self) -> Result<()> {
        let beaten = self.beat().await;
        let now = beaten.inspect_err(|_| self.held.missed())?;
        self.held.beaten(now, self.term_ms());
        Ok(())
    }

    /// The database's time of the heartbeat. If there is no lease to renew, it shows that the
    /// database answers.
    async fn beat(&self) -> Result<i64> {
        if self.held.keys().is_empty() {
            return self.read(|tx| Box::pin(async move { tx.now_ms().await })).await;
        }
        let (node, term, held) = (self.node.clone(), self.term_ms(), self.held.clone());
        // A power failure ends all holders.
        let beat = self.write_with((), "heartbeat", WriteMode::VOLATILE, move |tx| {
            Box::pin(async move {
                let now = tx.now_ms().await?;
                renew(tx, &held, &node, now + term, LockedRows::Skip).await?;
                Ok(now)
            })
        });
        beat.await
    }
}

/// Renews this node's leases if its heartbeat is late, so that it does not claim what it already
/// holds. Returns the time by which other leases must have expired to be claimed.
pub(in crate::store) async fn before_claim(
    tx: &mut Tx<'_>,
    held: &Held,
    node: &NodeId,
    term: i64,
    now: i64,
) -> Result<i64> {
    if crash::planted("renewal") {
        return Ok(now);
    }
    if held.is_overdue(now, term) {
        renew(tx, held, node, now + term, LockedRows::Wait).await?;
        held.beaten(now, term);
    } else if held.state().beaten_at.is_none() {
        held.beaten(now, term);
    }
    Ok(held.expired_by(now, term))
}

/// The leases are one JSON array of ids and fences, which each database expands with its own
/// functions. On PostgreSQL the rows are locked in a fixed order, so that two nodes cannot deadlock.
macro_rules! renew {
    ($table:literal, $fence:literal, $held:literal, $lock:literal) => {
        concat!(
            "
            -- renew leases
            UPDATE ",
            $table,
            "
            SET lease_until = $1
            WHERE id IN (
                SELECT t.id FROM (",
            $held,
            ") AS held
                JOIN ",
            $table,
            " t ON t.id = held.id AND t.",
            $fence,
            " = held.fence
                WHERE t.lease_node = $2 AND t.lease_until > 0
                ",
            $lock,
            "
            )"
        )
    };
}

macro_rules! renews {
    ($tx:expr, $busy:expr, $table:literal, $fence:literal) => {{
        macro_rules! on_postgres {
            ($lock:literal) => {
                renew!(
                    $table,
                    $fence,
                    "SELECT value ->> 0 AS id, CAST(value ->> 1 AS BIGINT) AS fence
                    FROM json_array_elements(CAST($3 AS JSON))",
                    $lock
                )
            };
        }
        $tx.either(
            renew!(
                $table,
                $fence,
                "SELECT json_extract(value, '$[0]') AS id, json_extract(value, '$[1]') AS fence
                FROM json_each($3)",
                ""
            ),
            match $busy {
                LockedRows::Wait => on_postgres!("ORDER BY t.id FOR NO KEY UPDATE OF t"),
                LockedRows::Skip => {
                    on_postgres!("ORDER BY t.id FOR NO KEY UPDATE OF t SKIP LOCKED")
                }
            },
        )
    }};
}

/// What is done about rows that another transaction has locked.
#[derive(Debug, Clone, Copy)]
enum LockedRows {
    Wait,
    /// They are renewed by the next heartbeat. One locked row must not let all leases expire.
    Skip,
}

async fn renew(
    tx: &mut Tx<'_>,
    held: &Held,
    node: &NodeId,
    until: i64,
    locked: LockedRows,
) -> Result<()> {
    let keys = held.keys();
    if keys.is_empty() {
        return Ok(());
    }
    let keys = serde_json::to_string(&keys)?;
    // The fence of a send is the number of its attempt.
    let conversations = renews!(tx, locked, "conversations", "fence");
    for renew in [conversations, renews!(tx, locked, "outbox", "attempts")] {
        sql!(tx, execute, renew, until, node.as_str(), keys.as_str());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TERM: i64 = 15_000;

    /// The end of an old turn does not stop the heartbeat of a newer one.
    /// Proves F1.
    #[test]
    fn a_lease_is_renewed_while_it_is_held() {
        let held = Held::default();
        let keys = |held: &Held| held.keys().into_iter().map(|key| key.1).collect::<Vec<_>>();
        let (old, new, again) = (held.hold("c", 1), held.hold("c", 2), held.hold("c", 2));
        assert_eq!(keys(&held), [1, 2]);
        drop(old);
        assert_eq!(keys(&held), [2]);
        drop(again);
        assert_eq!(keys(&held), [2]);
        drop(new);
        assert!(keys(&held).is_empty());
    }

    #[test]
    fn after_a_gap_only_released_rows_are_claimed_for_a_while() {
        let held = Held::default();
        assert_eq!(held.claims_between(TERM), None);
        held.beaten(1_000, TERM);
        assert_eq!(held.claims_between(TERM), Some(1_000..=1_000 + TERM / 2));
        assert!(!held.is_overdue(1_000 + TERM / 2, TERM));
        assert_eq!(held.expired_by(2_000, TERM), 2_000);

        let late = 1_000 + TERM + 1;
        assert!(held.is_overdue(late, TERM));
        held.beaten(late, TERM);
        assert_eq!(held.claims_between(TERM), None, "the others renew theirs first");
        assert_eq!(held.expired_by(late, TERM), 0);
        assert_eq!(held.expired_by(late + TERM / 3, TERM), late + TERM / 3);

        held.missed();
        assert_eq!(held.claims_between(TERM), None);
        assert!(held.is_overdue(late, TERM));
        held.beaten(late, TERM);
        assert_eq!(held.expired_by(late + 1, TERM), 0);
        // Set back by an hour.
        let back = late - 3_600_000;
        assert!(held.is_overdue(back, TERM));
        assert_eq!(held.expired_by(back, TERM), back);
    }
}
