//! The conversations, rows and duties that this node holds, and the heartbeat that renews their
//! leases.
//!
//! The heartbeat updates every row that this node holds. A single row per node, referenced by all
//! of its leases, would be cheaper to renew, but every claim would have to join it. One update
//! every five seconds is cheap even with 10,000 turns under way, and claims are far more frequent.

use anyhow::{Result, bail, ensure};
use parking_lot::{Mutex, MutexGuard};
use std::{collections::BTreeMap, ops::RangeInclusive, sync::Arc, time::Duration};

use crate::{
    journal::ids::NodeId,
    store::{
        Store, Tx,
        db::{WriteMode, sql},
    },
};

/// The shortest time after which a heartbeat counts as failed and the next one is tried.
const SHORTEST_LIMIT: Duration = Duration::from_secs(2);

/// The time until a heartbeat is repeated that failed.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// The leases that the heartbeat renews: those that some code in this process holds.
#[derive(Debug, Clone, Default)]
pub(in crate::store) struct Held(Arc<Mutex<HeldLeases>>);

#[derive(Debug, Default)]
struct HeldLeases {
    /// The number of holders of each lease.
    leases: BTreeMap<LeaseKey, usize>,
    /// The last successful heartbeat, by the database's clock.
    last_heartbeat: Option<i64>,
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
        state.missed || state.last_heartbeat.is_some_and(|at| (now - at).abs() > term / 2)
    }

    /// Records a successful heartbeat. After a gap in which leases may have expired on all nodes,
    /// the others get the time of one heartbeat to renew theirs.
    fn record_heartbeat(&self, now: i64, term: i64) {
        let mut state = self.state();
        let gap = state.last_heartbeat.is_some_and(|at| (now - at).abs() > term);
        if state.missed || gap {
            state.waits_until = now + term / 3;
        }
        (state.last_heartbeat, state.missed) = (Some(now), false);
    }

    /// The times, by the database's clock, at which a claim need neither renew leases first nor
    /// wait for other nodes to renew theirs; `None` if there are none.
    pub(in crate::store) fn claims_between(&self, term: i64) -> Option<RangeInclusive<i64>> {
        let state = self.state();
        let at = state.last_heartbeat.filter(|at| !state.missed && state.waits_until <= *at)?;
        Some(at..=at + term / 2)
    }

    fn claimable(&self, now: i64, term: i64) -> Claimable {
        let waits_until = self.state().waits_until;
        // A clock that was set back does not prolong the wait.
        if now < waits_until && waits_until <= now + term {
            Claimable::Released
        } else {
            Claimable::ReleasedOrExpired
        }
    }

    fn state(&self) -> MutexGuard<'_, HeldLeases> {
        self.0.lock()
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
    /// Sends a heartbeat, and returns after which time the next one is due.
    pub async fn keep_leases(&self) -> Duration {
        let every = self.heartbeat_every();
        match self.heartbeat().await {
            Ok(()) => every,
            Err(problem) => {
                tracing::error!(problem = format!("{problem:#}"), "could not renew leases");
                every.min(RETRY_AFTER)
            }
        }
    }

    /// Renews the leases of this node. A lease that was claimed but is not held, because a response
    /// of the database was lost or a turn panicked, expires and is claimed again.
    pub async fn heartbeat(&self) -> Result<()> {
        let limit = self.heartbeat_every().max(SHORTEST_LIMIT);
        let renewed = tokio::time::timeout(limit, self.renew_all()).await;
        let renewed = renewed.unwrap_or_else(|_| bail!("the database did not answer in time"));
        let now = renewed.inspect_err(|_| self.held.missed())?;
        self.held.record_heartbeat(now, self.term_ms());
        Ok(())
    }

    /// The database's time of the heartbeat. If there is no lease to renew, it shows that the
    /// database answers.
    async fn renew_all(&self) -> Result<i64> {
        if self.held.keys().is_empty() {
            return self.read(|tx| Box::pin(async move { tx.now_ms().await })).await;
        }
        let (node, term, held) = (self.node.clone(), self.term_ms(), self.held.clone());
        // A power failure ends all holders.
        let renewal = self.write_with((), "heartbeat", WriteMode::VOLATILE, move |tx| {
            Box::pin(async move {
                let now = tx.now_ms().await?;
                Ok((now, renew_held(tx, &held, &node, now, term).await?))
            })
        });
        let (now, renewal) = renewal.await?;
        ensure!(
            renewal == Renewal::Complete,
            "other transactions have locked the rows for too long"
        );
        Ok(now)
    }
}

/// The rows that this node may claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::store) enum Claimable {
    ReleasedOrExpired,
    /// A lease that has expired may belong to a node that is about to renew it.
    Released,
}

/// Renews this node's leases if its heartbeat is late, so that it does not claim what it already
/// holds.
pub(in crate::store) async fn before_claim(
    tx: &mut Tx<'_>,
    held: &Held,
    node: &NodeId,
    term: i64,
    now: i64,
) -> Result<Claimable> {
    if held.is_overdue(now, term) {
        if renew_held(tx, held, node, now, term).await? == Renewal::Partial {
            // A lease that this node could not renew may have expired.
            return Ok(Claimable::Released);
        }
        held.record_heartbeat(now, term);
    } else if held.state().last_heartbeat.is_none() {
        held.record_heartbeat(now, term);
    }
    Ok(held.claimable(now, term))
}

/// Whether all leases that expire soon were renewed. Rows that another transaction has locked are
/// skipped, because one locked row must neither delay the renewal of the others nor keep them
/// locked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Renewal {
    Complete,
    /// A row was skipped whose lease expires within half of its term.
    Partial,
}

/// The rows of a table that this node holds under the fences of `$3`, one JSON array of ids and
/// fences, which each database expands with its own functions.
macro_rules! held_rows {
    ($table:literal, $fence:literal, $held:literal) => {
        concat!(
            "SELECT t.id FROM (",
            $held,
            ") AS held
            JOIN ",
            $table,
            " t ON t.id = held.id AND t.",
            $fence,
            " = held.fence
            WHERE t.lease_node = $2 AND t.lease_until > 0"
        )
    };
}

macro_rules! on_sqlite {
    ($table:literal, $fence:literal) => {
        held_rows!(
            $table,
            $fence,
            "SELECT json_extract(value, '$[0]') AS id, json_extract(value, '$[1]') AS fence
            FROM json_each($3)"
        )
    };
}

macro_rules! on_postgres {
    ($table:literal, $fence:literal) => {
        held_rows!(
            $table,
            $fence,
            "SELECT value ->> 0 AS id, CAST(value ->> 1 AS BIGINT) AS fence
            FROM json_array_elements(CAST($3 AS JSON))"
        )
    };
}

macro_rules! renewing {
    ($table:literal, $rows:expr, $skip:literal) => {
        concat!(
            "
            -- renew leases
            UPDATE ",
            $table,
            "
            SET lease_until = $1
            WHERE id IN (",
            $rows,
            $skip,
            ")"
        )
    };
}

macro_rules! skipped {
    ($rows:expr) => {
        concat!(
            "
            -- leases that were skipped
            ",
            $rows,
            " AND t.lease_until <= $1
            LIMIT 1"
        )
    };
}

/// The update, and the query for rows that it has skipped, of one table.
macro_rules! renewal {
    ($tx:expr, $table:literal, $fence:literal) => {
        $tx.either(
            [
                renewing!($table, on_sqlite!($table, $fence), ""),
                skipped!(on_sqlite!($table, $fence)),
            ],
            [
                renewing!(
                    $table,
                    on_postgres!($table, $fence),
                    " ORDER BY t.id FOR NO KEY UPDATE OF t SKIP LOCKED"
                ),
                skipped!(on_postgres!($table, $fence)),
            ],
        )
    };
}

async fn renew_held(
    tx: &mut Tx<'_>,
    held: &Held,
    node: &NodeId,
    now: i64,
    term: i64,
) -> Result<Renewal> {
    let keys = held.keys();
    if keys.is_empty() {
        return Ok(Renewal::Complete);
    }
    let keys = serde_json::to_string(&keys)?;
    let mut renewal = Renewal::Complete;
    // The fence of a send is the number of its attempt.
    let conversations = renewal!(tx, "conversations", "fence");
    for [update, skipped] in [conversations, renewal!(tx, "outbox", "attempts")] {
        sql!(tx, execute, update, now + term, node.as_str(), keys.as_str());
        let soon = now + term / 2;
        let skipped: Option<(String,)> =
            sql!(tx, fetch_optional, skipped, soon, node.as_str(), keys.as_str());
        if skipped.is_some() {
            renewal = Renewal::Partial;
        }
    }
    Ok(renewal)
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::{
        crash,
        store::{StoreOptions, scratch::on_sqlite},
    };

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
        held.record_heartbeat(1_000, TERM);
        assert_eq!(held.claims_between(TERM), Some(1_000..=1_000 + TERM / 2));
        assert!(!held.is_overdue(1_000 + TERM / 2, TERM));
        assert_eq!(held.claimable(2_000, TERM), Claimable::ReleasedOrExpired);

        let late = 1_000 + TERM + 1;
        assert!(held.is_overdue(late, TERM));
        held.record_heartbeat(late, TERM);
        assert_eq!(held.claims_between(TERM), None, "the others renew theirs first");
        assert_eq!(held.claimable(late, TERM), Claimable::Released);
        assert_eq!(held.claimable(late + TERM / 3, TERM), Claimable::ReleasedOrExpired);

        held.missed();
        assert_eq!(held.claims_between(TERM), None);
        assert!(held.is_overdue(late, TERM));
        held.record_heartbeat(late, TERM);
        assert_eq!(held.claimable(late + 1, TERM), Claimable::Released);
        // Set back by an hour.
        let back = late - 3_600_000;
        assert!(held.is_overdue(back, TERM));
        assert_eq!(held.claimable(back, TERM), Claimable::ReleasedOrExpired);
    }

    /// A gap of one lease is no gap, and a clock that was set back does not prolong the wait.
    #[test]
    fn the_wait_after_a_gap_is_bounded() {
        let (held, start) = (Held::default(), 1_000_000);
        held.record_heartbeat(start, TERM);
        held.record_heartbeat(start + TERM, TERM);
        assert_eq!(held.claimable(start + TERM, TERM), Claimable::ReleasedOrExpired);

        let late = start + 2 * TERM + 1;
        held.record_heartbeat(late, TERM);
        let until = late + TERM / 3;
        for (now, claimable) in [
            (until - 1, Claimable::Released),
            (until, Claimable::ReleasedOrExpired),
            (until - TERM, Claimable::Released),
            (until - TERM - 1, Claimable::ReleasedOrExpired),
        ] {
            assert_eq!(held.claimable(now, TERM), claimable, "{} ms before", until - now);
        }
        held.record_heartbeat(until - 1, TERM);
        assert_eq!(held.claims_between(TERM), None);
        held.record_heartbeat(until, TERM);
        assert_eq!(held.claims_between(TERM), Some(until..=until + TERM / 2));
    }

    /// A heartbeat that fails is repeated soon, and nothing is claimed until one succeeds.
    #[tokio::test]
    async fn a_failed_heartbeat_is_repeated_soon() {
        let scratch = on_sqlite().await;
        let store = &scratch.store;
        let every = store.heartbeat_every();
        assert_eq!(every * 3, StoreOptions::default().lease_for);
        assert_eq!(store.keep_leases().await, every);
        // Without a lease, a heartbeat writes nothing.
        let hold = store.held.hold("c", 1);
        crash::refuse_next("heartbeat", 1);
        assert_eq!(store.keep_leases().await, RETRY_AFTER);
        assert_eq!(store.held.claims_between(TERM), None);
        assert_eq!(store.keep_leases().await, every);
        drop(hold);
        scratch.end().await;
    }
}
