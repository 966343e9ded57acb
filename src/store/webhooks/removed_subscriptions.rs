//! Deliveries of subscriptions that no node has: they are given up.

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
    /// Gives up the deliveries that have been due since `before` and belong to a subscription other
    /// than these, because no node claims them. Nothing more is sent to these subscriptions until a
    /// node has them again. Returns their names.
    pub async fn give_up_webhook_deliveries(
        &self,
        known: Vec<String>,
        before: DateTime<Utc>,
        now: DateTime<Utc>,
    ) -> Result<BTreeSet<String>> {
        self.write("give up webhook deliveries", move |tx| {
            Box::pin(give_up(tx, known, before, now))
        })
        .await
    }
}

/// The names are passed as one JSON array.
macro_rules! give_up {
    ($names:literal, $skip:literal) => {
        concat!(
            "
            -- give up webhook deliveries
            UPDATE notices
            SET status = 'dead', not_before = 0, lease_until = 0
            WHERE id IN (
                SELECT id FROM notices
                WHERE status = 'waiting' AND not_before <= $1 AND created_at <= $1
                  AND lease_until <= $2
                  AND subscription NOT IN (",
            $names,
            ")
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
    known: Vec<String>,
    before: DateTime<Utc>,
    now: DateTime<Utc>,
) -> Result<BTreeSet<String>> {
    let lease_now = tx.now_ms().await?;
    let give_up = tx.either(
        give_up!("SELECT value FROM json_each($3)", ""),
        give_up!(
            "SELECT json_array_elements_text(CAST($3 AS JSON))",
            "FOR NO KEY UPDATE SKIP LOCKED"
        ),
    );
    let known = serde_json::to_string(&known)?;
    let given_up: Vec<(String, String)> = sql!(
        tx,
        fetch_all,
        give_up,
        before.timestamp_millis(),
        lease_now,
        known.as_str(),
        GIVEN_UP_AT_ONCE
    );
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
