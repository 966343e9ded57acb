//! Updates delivered by platforms, each recorded once, and the position to resume listening from.

use anyhow::Result;
use chrono::{DateTime, Utc};

use crate::{
    journal::role::Role,
    store::{Tx, db::sql, metrics::committed, people},
};

/// Returns whether this delivery is new, and records it.
pub async fn first_seen(
    tx: &mut Tx<'_>,
    channel: &str,
    delivery: &str,
    now: DateTime<Utc>,
) -> Result<bool> {
    let inserted = sql!(
        tx,
        execute,
        "
        -- first seen
        INSERT INTO deliveries (channel, delivery, at)
        VALUES ($1, $2, $3)
        ON CONFLICT (channel, delivery) DO NOTHING",
        channel,
        delivery,
        now.timestamp_millis()
    );
    Ok(inserted > 0)
}

/// A delivery that was not received before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NewDelivery {
    /// The stored role of the sender, if there is one.
    pub role: Option<Role>,
}

/// Records a delivery, unless it was received before.
pub async fn first_seen_from(
    tx: &mut Tx<'_>,
    channel: &str,
    delivery: &str,
    sender: Option<&str>,
    now: DateTime<Utc>,
) -> Result<Option<NewDelivery>> {
    let sender = sender.unwrap_or_default();
    let inserted: Option<(Option<String>,)> = sql!(
        tx,
        fetch_optional,
        "
        -- first seen, with the role of a person
        INSERT INTO deliveries (channel, delivery, at)
        VALUES ($1, $2, $3)
        ON CONFLICT (channel, delivery) DO NOTHING
        RETURNING (SELECT p.role FROM people p WHERE p.channel = $1 AND p.person = $4) AS role",
        channel,
        delivery,
        now.timestamp_millis(),
        sender
    );
    Ok(inserted.map(|(role,)| NewDelivery {
        role: role.and_then(|role| people::parse_role(sender, &role)),
    }))
}

/// Whether the delivery was recorded before.
pub async fn was_seen(tx: &mut Tx<'_>, channel: &str, delivery: &str) -> Result<bool> {
    let found: Option<(i64,)> = sql!(
        tx,
        fetch_optional,
        "
        -- mark as seen
        SELECT at FROM deliveries
        WHERE channel = $1 AND delivery = $2",
        channel,
        delivery
    );
    Ok(found.is_some())
}

/// Removes the record of a delivery that had no effect, so that it can be delivered again.
pub async fn forget(tx: &mut Tx<'_>, channel: &str, delivery: &str) -> Result<()> {
    sql!(
        tx,
        execute,
        "
        -- delete a received update
        DELETE FROM deliveries
        WHERE channel = $1 AND delivery = $2",
        channel,
        delivery
    );
    Ok(())
}

/// Stores an update that could not be parsed or stored, in its raw form.
pub async fn keep_unparsed(
    tx: &mut Tx<'_>,
    channel: &str,
    delivery: &str,
    raw: &str,
    now: DateTime<Utc>,
) -> Result<()> {
    tx.wakeups.counts.push(committed::of_unparsed());
    sql!(
        tx,
        execute,
        "
        -- store an unparsed update
        INSERT INTO unparsed (channel, delivery, at, raw)
        VALUES ($1, $2, $3, $4)
        ON CONFLICT (channel, delivery) DO NOTHING",
        channel,
        delivery,
        now.timestamp_millis(),
        raw.replace('\0', "\u{fffd}")
    );
    Ok(())
}

/// The position to resume listening from after a restart.
pub async fn position(tx: &mut Tx<'_>, channel: &str) -> Result<Option<String>> {
    let found: Option<(String,)> = sql!(
        tx,
        fetch_optional,
        "
        -- position of a channel
        SELECT position FROM positions
        WHERE channel = $1",
        channel
    );
    Ok(found.map(|(position,)| position))
}

pub async fn move_position(tx: &mut Tx<'_>, channel: &str, position: &str) -> Result<()> {
    sql!(
        tx,
        execute,
        "
        -- update the position of a channel
        INSERT INTO positions (channel, position)
        VALUES ($1, $2)
        ON CONFLICT (channel) DO UPDATE
        SET position = $2",
        channel,
        position
    );
    Ok(())
}
