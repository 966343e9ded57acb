//! Webhook deliveries: an outbox of its own, written in the transaction of the event that is
//! reported ([`super::subscriptions`]).
//!
//! ```text
//! waiting ──► delivered   the receiver has accepted it
//!    │  ▲ └──► dead       all attempts failed, the receiver is gone, or no node has the subscription
//!    │  │                 ──► waiting (replay), dropped
//!    └──┘ (not before, after a failure; at once, when an operator replays it)
//! ```

use anyhow::{Context as _, Result};
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use strum::{EnumString, IntoStaticStr};
use utoipa::ToSchema;

use crate::store::{
    Store, Tx, at,
    db::{row::row, sql},
    lists::PageRequest,
    metrics::committed,
};

/// The lease of an attempt, which is longer than any attempt takes.
const TERM_MS: i64 = 60_000;

/// How many deliveries of a subscription to claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveryShare {
    pub subscription: String,
    pub limit: usize,
}

/// A delivery that this node may send now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DueDelivery {
    pub id: String,
    pub subscription: String,
    pub topic: String,
    /// The JSON body.
    pub body: String,
    pub attempts: i64,
}

/// The result of an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveryAttempt {
    pub state: DeliveryState,
    pub status: Option<u16>,
    pub problem: String,
}

/// The state of the delivery after the attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeliveryState {
    Delivered,
    Retry(DateTime<Utc>),
    Dead,
}

/// One line of the delivery log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LoggedAttempt {
    pub at: DateTime<Utc>,
    pub status: Option<i64>,
    pub problem: String,
}

/// One statement; PostgreSQL skips rows that others are changing. `NO KEY`, because the delivery log
/// references these rows.
macro_rules! claim {
    ($skip:literal) => {
        concat!(
            "
            -- claim webhook deliveries
            UPDATE notices
            SET lease_until = $1, attempts = attempts + 1
            WHERE id IN (
                SELECT id FROM notices
                WHERE status = 'waiting' AND lease_until <= $2 AND not_before <= $3
                  AND subscription = $4
                ORDER BY not_before
                LIMIT $5 ",
            $skip,
            ")
            RETURNING id, subscription, topic, body, attempts"
        )
    };
}

impl Store {
    /// Claims deliveries of these subscriptions. Those of others are left to the nodes that have
    /// them: this node may not have the newest configuration yet.
    pub async fn claim_webhook_deliveries(
        &self,
        shares: Vec<DeliveryShare>,
        now: DateTime<Utc>,
    ) -> Result<Vec<DueDelivery>> {
        if shares.is_empty() || !self.read(move |tx| Box::pin(any_due(tx, now))).await? {
            return Ok(Vec::new());
        }
        self.write("claim webhook deliveries", move |tx| Box::pin(claim_all(tx, shares, now))).await
    }

    pub async fn record_delivery_attempt(
        &self,
        delivery: &str,
        tried: DeliveryAttempt,
        now: DateTime<Utc>,
    ) -> Result<()> {
        let delivery = delivery.to_owned();
        self.write("record delivery attempt", move |tx| {
            Box::pin(record_delivery_attempt(tx, delivery, tried, now))
        })
        .await
    }
}

row! {
    struct ClaimedRow {
        id: String,
        subscription: String,
        topic: String,
        body: String,
        attempts: i64,
    }
}

fn delivery(row: ClaimedRow) -> DueDelivery {
    let ClaimedRow { id, subscription, topic, body, attempts } = row;
    DueDelivery { id, subscription, topic, body, attempts }
}

async fn any_due(tx: &mut Tx<'_>, now: DateTime<Utc>) -> Result<bool> {
    let found: Option<(i64,)> = sql!(
        tx,
        fetch_optional,
        "
        -- any webhook delivery that is due
        SELECT attempts FROM notices
        WHERE status = 'waiting' AND not_before <= $1
        ORDER BY not_before
        LIMIT 1",
        now.timestamp_millis()
    );
    Ok(found.is_some())
}

async fn claim_all(
    tx: &mut Tx<'_>,
    shares: Vec<DeliveryShare>,
    now: DateTime<Utc>,
) -> Result<Vec<DueDelivery>> {
    let lease_now = tx.now_ms().await?;
    let mut claimed = Vec::new();
    for share in &shares {
        let claim = tx.either(claim!(""), claim!("FOR NO KEY UPDATE SKIP LOCKED"));
        let rows: Vec<ClaimedRow> = sql!(
            tx,
            fetch_all,
            claim,
            lease_now + TERM_MS,
            lease_now,
            now.timestamp_millis(),
            share.subscription.as_str(),
            share.limit as i64
        );
        claimed.extend(rows.into_iter().map(delivery));
    }
    Ok(claimed)
}

async fn record_delivery_attempt(
    tx: &mut Tx<'_>,
    delivery: String,
    tried: DeliveryAttempt,
    now: DateTime<Utc>,
) -> Result<()> {
    let (status, not_before, outcome) = match tried.state {
        DeliveryState::Delivered => (DeliveryStatus::Delivered, 0, "sent"),
        DeliveryState::Retry(at) => (DeliveryStatus::Waiting, at.timestamp_millis(), "failed"),
        DeliveryState::Dead => (DeliveryStatus::Dead, 0, "dead"),
    };
    tx.wakeups.counts.push(committed::of_webhook_delivery(outcome));
    sql!(
        tx,
        execute,
        "
        -- record a delivery attempt
        UPDATE notices
        SET status = $1, not_before = $2, lease_until = 0
        WHERE id = $3 AND status = 'waiting'",
        status.as_str(),
        not_before,
        delivery.as_str()
    );
    log_attempt(tx, &delivery, tried, now).await
}

pub(super) async fn log_attempt(
    tx: &mut Tx<'_>,
    delivery: &str,
    tried: DeliveryAttempt,
    now: DateTime<Utc>,
) -> Result<()> {
    sql!(
        tx,
        execute,
        "
        -- log a delivery attempt
        INSERT INTO notice_tries (notice, n, at, status, problem)
        SELECT $1, COALESCE(MAX(n), 0) + 1, $2, $3, $4 FROM notice_tries
        WHERE notice = $1",
        delivery,
        now.timestamp_millis(),
        tried.status.map(i64::from),
        tried.problem
    );
    Ok(())
}

/// The state of a delivery. `dead`: all attempts failed; `dropped`: an operator dropped it.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema, IntoStaticStr, EnumString,
)]
#[strum(serialize_all = "snake_case")]
#[serde(rename_all = "snake_case")]
pub enum DeliveryStatus {
    Waiting,
    Delivered,
    Dead,
    Dropped,
}

impl DeliveryStatus {
    fn as_str(self) -> &'static str {
        self.into()
    }

    fn parse(text: &str) -> Result<Self> {
        text.parse::<Self>().with_context(|| format!("a delivery has the status {text:?}"))
    }
}

/// A delivery, as listed for operators.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookDelivery {
    pub id: String,
    pub subscription: String,
    pub topic: String,
    /// The JSON body.
    pub body: String,
    pub status: DeliveryStatus,
    pub attempts: i64,
    /// The earliest time of the next attempt, if it waits for one.
    pub not_before: DateTime<Utc>,
    pub created_at: DateTime<Utc>,
}

row! {
    struct DeliveryRow {
        id: String,
        subscription: String,
        topic: String,
        body: String,
        status: String,
        attempts: i64,
        not_before: i64,
        created_at: i64,
    }
}

/// The delivery log, newest first; an empty `id` matches everything.
pub async fn list(
    tx: &mut Tx<'_>,
    status: Option<DeliveryStatus>,
    id: &str,
    page_request: &PageRequest,
) -> Result<Vec<WebhookDelivery>> {
    let rows: Vec<DeliveryRow> = sql!(
        tx,
        fetch_all,
        "
        -- list webhook deliveries
        SELECT id, subscription, topic, body, status, attempts, not_before, created_at
        FROM notices
        WHERE ($1 = '' OR id < $1)
          AND ($2 = '' OR status = $2)
          AND ($3 = '' OR id = $3)
        ORDER BY id DESC
        LIMIT $4",
        page_request.after.as_str(),
        status.map_or("", DeliveryStatus::as_str),
        id,
        page_request.limit as i64
    );
    let delivery = |row: DeliveryRow| -> Result<_> {
        Ok(WebhookDelivery {
            id: row.id,
            subscription: row.subscription,
            topic: row.topic,
            body: row.body,
            status: DeliveryStatus::parse(&row.status)?,
            attempts: row.attempts,
            not_before: at(row.not_before),
            created_at: at(row.created_at),
        })
    };
    rows.into_iter().map(delivery).collect()
}

/// Sends a dead delivery again, or a waiting one now, starting with the first attempt. An attempt
/// that is being made is not made twice. Returns whether the delivery was dead or waiting.
pub async fn replay(tx: &mut Tx<'_>, delivery: &str) -> Result<bool> {
    let replayed = sql!(
        tx,
        execute,
        "
        -- replay a webhook delivery
        UPDATE notices
        SET status = 'waiting', attempts = 0, not_before = 0
        WHERE id = $1 AND status IN ('dead', 'waiting')",
        delivery
    );
    Ok(replayed > 0)
}

/// Drops a dead delivery. Returns whether it was dead.
pub async fn drop_dead(tx: &mut Tx<'_>, delivery: &str) -> Result<bool> {
    let dropped = sql!(
        tx,
        execute,
        "
        -- drop a webhook delivery
        UPDATE notices
        SET status = 'dropped', attempts = 0, not_before = 0
        WHERE id = $1 AND status = 'dead'",
        delivery
    );
    Ok(dropped > 0)
}

row! {
    struct AttemptRow {
        at: i64,
        status: Option<i64>,
        problem: String,
    }
}

/// The results of the attempts of a delivery, in order.
pub async fn tries(tx: &mut Tx<'_>, delivery: &str) -> Result<Vec<LoggedAttempt>> {
    let rows: Vec<AttemptRow> = sql!(
        tx,
        fetch_all,
        "
        -- attempts of a webhook delivery
        SELECT at, status, problem FROM notice_tries
        WHERE notice = $1
        ORDER BY n",
        delivery
    );
    Ok(rows
        .into_iter()
        .map(|row| LoggedAttempt { at: at(row.at), status: row.status, problem: row.problem })
        .collect())
}
