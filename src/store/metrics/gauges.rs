//! Gauges: queue lengths and ages.

use anyhow::Result;
use chrono::{DateTime, Utc};

use crate::store::{
    Store, Tx,
    db::{row::row, sql},
};

/// A queue's length and age.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct QueueGauge {
    pub count: i64,
    /// The age of the oldest entry.
    pub oldest_ms: i64,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Gauges {
    pub outbox: QueueGauge,
    pub approvals: QueueGauge,
    /// Webhook deliveries that wait, and how many have failed permanently.
    pub notices: QueueGauge,
    pub dead_notices: i64,
    /// Conversations that a node is advancing, and those that wait for one.
    pub held: i64,
    pub ready: i64,
    /// Duties that are held by a node.
    pub duties: i64,
}

row! {
    struct DeliveryGauges {
        waiting: i64,
        oldest: Option<i64>,
        dead: i64,
    }
}

impl Store {
    pub async fn figures(&self, now: DateTime<Utc>) -> Result<Gauges> {
        self.read(move |tx| Box::pin(async move { figures(tx, now.timestamp_millis()).await }))
            .await
    }
}

async fn figures(tx: &mut Tx<'_>, now: i64) -> Result<Gauges> {
    let lease_now = tx.now_ms().await?;
    let outbox: (i64, Option<i64>) = sql!(
        tx,
        fetch_one,
        "
        -- waiting sends
        SELECT COUNT(*), MIN(created_at) FROM outbox
        WHERE status = 'waiting'"
    );
    let approvals: (i64, Option<i64>) = sql!(
        tx,
        fetch_one,
        "
        -- waiting approvals
        SELECT COUNT(*), MIN(created_at) FROM approvals
        WHERE status = 'pending'"
    );
    let DeliveryGauges { waiting, oldest, dead: dead_notices } = sql!(
        tx,
        fetch_one,
        "
        -- waiting webhook deliveries
        SELECT w.waiting, w.oldest, d.dead
        FROM (
            SELECT COUNT(*) AS waiting, MIN(created_at) AS oldest FROM notices
            WHERE status = 'waiting'
        ) w, (
            SELECT COUNT(*) AS dead FROM notices
            WHERE status = 'dead'
        ) d"
    );
    let (held, ready): (i64, i64) = sql!(
        tx,
        fetch_one,
        "
        -- conversations being advanced
        SELECT COUNT(CASE WHEN lease_until > $1 THEN 1 END),
               COUNT(CASE WHEN lease_until <= $1 THEN 1 END)
        FROM conversations
        WHERE ready_at IS NOT NULL",
        lease_now
    );
    let (duties,): (i64,) = sql!(
        tx,
        fetch_one,
        "
        -- duties
        SELECT COUNT(*) FROM leases
        WHERE until > $1 AND name NOT LIKE 'webhook %'",
        lease_now
    );
    let queue = |(count, oldest): (i64, Option<i64>)| QueueGauge {
        count,
        oldest_ms: oldest.map_or(0, |at| (now - at).max(0)),
    };
    let (outbox, approvals, notices) = (queue(outbox), queue(approvals), queue((waiting, oldest)));
    Ok(Gauges { outbox, approvals, notices, dead_notices, held, ready, duties })
}
