//! Deliveries of subscriptions that no node has: they are given up.
//!
//! Each node announces the subscriptions that it has, for some time, in the table of the leases. The
//! row of an announcement belongs to no node, so that it outlives a restart.

use anyhow::Result;
use chrono::{DateTime, Utc};
use std::collections::BTreeSet;

use super::{
    deliveries::{DeliveryAttempt, DeliveryState, log_attempt},
    subscriptions,
};
use crate::store::{Store, Tx, db::sql, metrics::committed};

/// The maximum number of deliveries that one transaction gives up.
const GIVEN_UP_AT_ONCE: i64 = 1_000;

impl Store {
    /// Announces the subscriptions that this node has. Until then no node gives up their
    /// deliveries.
    pub async fn announce_subscriptions(
        &self,
        names: Vec<String>,
        until: DateTime<Utc>,
    ) -> Result<()> {
        if names.is_empty() {
            return Ok(());
        }
        self.write("announce subscriptions", move |tx| Box::pin(announce(tx, names, until))).await
    }

    /// Gives up the deliveries that have been due since `before` and belong to a subscription that
    /// is not announced, because no node claims them. Nothing more is sent to these subscriptions
    /// until a node has them again. Returns their names.
    pub async fn give_up_webhook_deliveries(
        &self,
        before: DateTime<Utc>,
        now: DateTime<Utc>,
    ) -> Result<BTreeSet<String>> {
        self.write("give up webhook deliveries", move |tx| Box::pin(give_up(tx, before, now))).await
    }
}

async fn announce(tx: &mut Tx<'_>, names: Vec<String>, until: DateTime<Utc>) -> Result<()> {
    for name in names {
        sql!(
            tx,
            execute,
            "
            -- announce a subscription
            INSERT INTO leases (name, node, until, fence)
            VALUES ($1, '', $2, 0)
            ON CONFLICT (name) DO UPDATE
            SET until = $2",
            format!("webhook {name}"),
            until.timestamp_millis()
        );
    }
    Ok(())
}

macro_rules! give_up {
    ($skip:literal) => {
        concat!(
            "
            -- give up webhook deliveries
            UPDATE notices
            SET status = 'dead', not_before = 0, lease_until = 0
            WHERE id IN (
                SELECT id FROM notices
                WHERE status = 'waiting' AND not_before <= $1 AND created_at <= $1
                  AND lease_until <= $2
                  AND 'webhook ' || subscription NOT IN (
                      SELECT name FROM leases
                      WHERE until > $3
                  )
                ORDER BY not_before
                LIMIT $4 ",
            $skip,
            ")
            RETURNING id, subscription"
        )
    };
}

async fn give_up(
    tx: &mut Tx<'_>,
    before: DateTime<Utc>,
    now: DateTime<Utc>,
) -> Result<BTreeSet<String>> {
    let lease_now = tx.now_ms().await?;
    let give_up = tx.either(give_up!(""), give_up!("FOR NO KEY UPDATE SKIP LOCKED"));
    let given_up: Vec<(String, String)> = sql!(
        tx,
        fetch_all,
        give_up,
        before.timestamp_millis(),
        lease_now,
        now.timestamp_millis(),
        GIVEN_UP_AT_ONCE
    );
    delete_expired_announcements(tx, now).await?;
    let mut unknown = BTreeSet::new();
    for (delivery, subscription) in given_up {
        tx.wakeups.counts.push(committed::of_webhook_delivery("dead"));
        let problem = "no node has this subscription in its configuration".to_owned();
        let tried = DeliveryAttempt { state: DeliveryState::Dead, status: None, problem };
        log_attempt(tx, &delivery, tried, now).await?;
        unknown.insert(subscription);
    }
    for subscription in &unknown {
        subscriptions::unsubscribe(tx, subscription).await?;
    }
    Ok(unknown)
}

async fn delete_expired_announcements(tx: &mut Tx<'_>, now: DateTime<Utc>) -> Result<()> {
    sql!(
        tx,
        execute,
        "
        -- delete expired announcements
        DELETE FROM leases
        WHERE name LIKE 'webhook %' AND until <= $1",
        now.timestamp_millis()
    );
    Ok(())
}
