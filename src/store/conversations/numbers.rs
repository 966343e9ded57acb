//! The numbers of the events that a worker records, and what else the statement that assigns them
//! finds.

use anyhow::Result;
use chrono::{DateTime, Utc};

use super::journal::{self, Number};
use crate::{
    journal::event::{Event, Seq},
    store::{
        Tx,
        db::{row::row, sql},
        leases::Lease,
        metrics::committed,
        usage::{self, UsageRecord, UsageSource, spent},
    },
};

/// Inserts the events of a change under their numbers.
pub(super) async fn insert_events(
    tx: &mut Tx<'_>,
    lease: &Lease,
    assigned: Assigned,
    events: &[Event],
    now: DateTime<Utc>,
) -> Result<()> {
    let first = assigned.last_seq - events.len() as i64 + 1;
    for (event, seq) in events.iter().zip(first..) {
        let number = Number { seq, fence: lease.fence };
        if assigned.subscriptions > 0 {
            journal::insert(tx, &lease.conversation, number, event, now).await?;
        } else {
            journal::insert_quietly(tx, &lease.conversation, number, event, now).await?;
        }
    }
    Ok(())
}

/// Enters the usage of a change, and ends the reservation for it.
pub(super) async fn enter_usage(
    tx: &mut Tx<'_>,
    lease: &Lease,
    assigned: Assigned,
    all: Vec<UsageRecord>,
    now: DateTime<Utc>,
) -> Result<()> {
    for used in all {
        tx.wakeups.counts.extend(committed::of_used(&used));
        if assigned.reservations > 0 && matches!(used.what, UsageSource::Model { .. }) {
            spent::release(tx, lease.conversation(), &used.person).await?;
        }
        usage::enter(tx, lease.home(), used, now).await?;
    }
    Ok(())
}

row! {
    /// What the statement that assigns the numbers has done (`rested` is 1 if it released the
    /// lease) and found: all subscriptions, and the drafts and reservations of the conversation.
    #[derive(Debug, Clone, Copy)]
    pub(super) struct Assigned {
        last_seq: i64,
        rested: i64,
        subscriptions: i64,
        drafts: i64,
        reservations: i64,
    }
}

/// The numbers that a change needs.
pub(super) struct NumberRequest {
    /// How many events there are.
    pub count: usize,
    /// The last event, if there must be no newer ones.
    pub only_after: Option<Seq>,
    /// Whether the conversation has nothing left to do once the events are recorded.
    pub rests: bool,
}

/// Allots the sequence numbers of the events, and releases the lease if nothing is left to do.
/// Returns `None` if the lease was lost or there are newer events.
///
/// A draft that is recorded at the same time, while this waits for the row, is not seen. Its sender
/// has given up by then, and deletes the message.
pub(super) async fn assign_numbers(
    tx: &mut Tx<'_>,
    lease: &Lease,
    NumberRequest { count, only_after, rests }: NumberRequest,
) -> Result<Option<Assigned>> {
    Ok(sql!(
        tx,
        fetch_optional,
        "
        -- record: checks the fence where the numbers are assigned
        UPDATE conversations
        SET last_seq = last_seq + $1,
            ready_at = CASE WHEN $6 > 0 THEN NULL ELSE ready_at END,
            lease_until = CASE WHEN $6 > 0 THEN 0 ELSE lease_until END,
            failures = CASE WHEN $6 > 0 THEN 0 ELSE failures END
        WHERE id = $2 AND lease_node = $3 AND fence = $4 AND ($5 < 0 OR last_seq = $5)
        RETURNING last_seq, CAST($6 AS BIGINT) AS rested,
            (SELECT COUNT(*) FROM subscriptions) AS subscriptions,
            (SELECT COUNT(*) FROM drafts d WHERE d.conversation = conversations.id) AS drafts,
            (SELECT COUNT(*) FROM reservations r WHERE r.conversation = conversations.id)
                AS reservations",
        count as i64,
        lease.conversation.as_str(),
        lease.node.as_str(),
        lease.fence,
        only_after.unwrap_or(-1),
        i64::from(rests)
    ))
}
