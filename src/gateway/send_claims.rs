//! Claims rows of the outbox: at once those that this process has committed, and regularly those of
//! all channels.

use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

use super::Gateway;
use crate::store::{
    outbox::{due::Share, sending::Sending},
    wake::ANY_CHANNEL,
};

/// The longest time that the loop waits before it looks for new rows.
pub(super) const POLL_EVERY: Duration = Duration::from_millis(500);

/// Claimed rows.
pub(super) struct ClaimedSends {
    pub sendings: Vec<Sending>,
    /// Whether there may be more that can be sent now.
    pub may_be_more: bool,
    /// When the rows of all channels are looked for, including those that other nodes have committed.
    pub next_check: Instant,
}

/// Claims rows of the channels for which this process has committed some or, from `next_check` on and
/// if there are none, of all channels.
pub(super) async fn claim_sends(
    gateway: &Gateway,
    shares: Vec<Share>,
    next_check: Instant,
) -> ClaimedSends {
    let (store, now) = (&gateway.store, gateway.clock.now());
    let due = store.notifier.due_channels();
    let is_complete = due.is_empty() || Instant::now() >= next_check;
    let shares = if is_complete { shares } else { of_channels(shares, &due) };
    let smallest = shares.iter().map(|share| share.limit).filter(|limit| *limit > 0).min();
    let sendings = store.claim_sends(shares, now).await.unwrap_or_else(|problem| {
        let problem = format!("{problem:#}");
        tracing::error!(problem, "could not claim outbox rows");
        Vec::new()
    });
    let may_be_more = if is_complete {
        !sendings.is_empty()
    } else {
        smallest.is_some_and(|share| sendings.len() >= share)
    };
    let next_check = if is_complete { Instant::now() + POLL_EVERY } else { next_check };
    ClaimedSends { sendings, may_be_more, next_check }
}

/// The shares of channels for which rows were committed.
fn of_channels(mut shares: Vec<Share>, due: &BTreeSet<String>) -> Vec<Share> {
    let any = due.contains(ANY_CHANNEL);
    shares.retain(|share| any || due.contains(&share.channel));
    shares
}
