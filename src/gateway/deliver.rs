//! Sends the rows of the outbox, in order within each conversation.
//!
//! Each channel has its own permits, claim and circuit breaker, so that a slow or unavailable
//! platform does not delay the others.

use anyhow::Result;
use chrono::{DateTime, TimeDelta, Utc};
use futures::FutureExt as _;
use std::{
    collections::BTreeMap,
    panic::AssertUnwindSafe,
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::{
    runtime::Handle,
    sync::{Notify, OwnedSemaphorePermit, Semaphore},
};
use tracing::Instrument as _;

use super::{
    Connected, Gateway,
    breaker::{BreakerPermission, Breakers},
    outcome,
    send_claims::{POLL_EVERY, claim_sends},
    show::show,
};
use crate::{
    journal::ids::OutboxId,
    store::{
        outbox::{due::Share, sending::Sending},
        takers::{Registration, SendTaker, reserve},
    },
};

/// The maximum number of concurrent sends on all channels, shared evenly.
const AT_ONCE: usize = 4_000;
/// The maximum on one channel: more than the number of slow chats of a bot, so that other chats are
/// still answered immediately.
const AT_ONCE_ON_A_CHANNEL: usize = 1_000;
/// The minimum per channel, even with many channels.
const AT_LEAST_ON_A_CHANNEL: usize = 128;
/// The maximum number of rows of one channel that are claimed at once.
const CLAIMED_AT_ONCE: usize = 64;
/// How often rows for channels that are not configured are looked for, and how long they wait: this
/// node may not have the newest configuration yet.
const CLEANUP_INTERVAL: TimeDelta = TimeDelta::hours(1);
const UNKNOWN_FOR: TimeDelta = TimeDelta::days(7);

pub async fn deliver(gateway: Arc<Gateway>) {
    let channel_permits = Arc::new(ChannelPermits::new(&gateway));
    let _taking = take_sends(&gateway, &channel_permits);
    let mut sweeps_at = gateway.clock.now();
    let mut next_check = Instant::now();
    while !gateway.stop.is_cancelled() {
        if gateway.clock.now() >= sweeps_at {
            sweeps_at = gateway.clock.now() + CLEANUP_INTERVAL;
            let gateway = gateway.clone();
            gateway.tasks.clone().spawn(async move { refuse_unknown(&gateway).await });
        }
        let mut plan = plan(&gateway, |channel| channel_permits.free(channel));
        for channel in plan.checks {
            gateway.breakers.begin_check(&channel);
            let gateway = gateway.clone();
            gateway.tasks.clone().spawn(async move { check(&gateway, &channel).await });
        }
        let mut reserved = channel_permits.reserve(&mut plan.shares);
        let claim = claim_sends(&gateway, plan.shares, next_check).await;
        next_check = claim.next_check.min(Instant::now() + plan.wait);
        for sending in claim.sendings {
            let permit = reserved.get_mut(&sending.channel).and_then(|permits| permits.split(1));
            let slot = channel_permits.slot(&gateway, &sending, permit);
            start_send(&gateway, sending, slot, &Handle::current());
        }
        drop(reserved);
        if claim.may_be_more {
            next_check = Instant::now();
            continue;
        }
        tokio::select! {
            () = gateway.stop.cancelled() => {}
            () = channel_permits.freed.notified() => next_check = Instant::now(),
            _ = tokio::time::timeout(plan.wait, gateway.store.notifier.outbox()) => {}
        }
    }
}

fn start_send(gateway: &Arc<Gateway>, sending: Sending, slot: SendSlot, on: &Handle) {
    let sends = gateway.clone();
    let send = async move {
        deliver_one(&sends, sending).await;
        drop(slot);
    };
    gateway.tasks.spawn_on(send, on);
}

/// Sends rows as soon as a transaction of this process has inserted them.
fn take_sends(gateway: &Arc<Gateway>, channel_permits: &Arc<ChannelPermits>) -> Registration {
    // The store belongs to the gateway.
    let (weak, permits) = (Arc::downgrade(gateway), channel_permits.clone());
    let permit = move |channel: &str| {
        let gateway = weak.upgrade()?;
        let room = room(&gateway, channel)?;
        // Those that hold a permit may not be counted yet.
        let has_room = room > permits.in_use(channel);
        let permits = permits.permits.get(channel).filter(|_| has_room).cloned()?;
        permits.try_acquire_owned().ok()
    };
    let (weak, permits, on) = (Arc::downgrade(gateway), channel_permits.clone(), Handle::current());
    let start = move |sending: Sending, permit| {
        if let Some(gateway) = weak.upgrade() {
            let slot = permits.slot(&gateway, &sending, Some(permit));
            start_send(&gateway, sending, slot, &on);
        }
    };
    let clock = gateway.clock.clone();
    let taker = SendTaker { permit: Box::new(permit), clock, start: Box::new(start) };
    gateway.store.take_sends(taker)
}

/// How many messages the bot may send now; `None` if the platform does not work as usual.
fn room(gateway: &Gateway, channel: &str) -> Option<usize> {
    let connected =
        gateway.channels.get(channel).filter(|_| gateway.breakers.is_closed(channel))?;
    let now = gateway.clock.now();
    gateway.rate_limiter.room(channel, &connected.rate_limits, now).ok()
}

/// Sends all rows that can be sent now, once. Returns how many there were.
#[cfg(any(test, feature = "testing"))]
pub async fn deliver_ready(gateway: &Gateway) -> Result<usize> {
    for channel in plan(gateway, |_| CLAIMED_AT_ONCE).checks {
        gateway.breakers.begin_check(&channel);
        check(gateway, &channel).await;
    }
    let shares = plan(gateway, |_| CLAIMED_AT_ONCE).shares;
    let sendings = gateway.store.claim_sends(shares, gateway.clock.now()).await?;
    let deliveries = sendings.into_iter().map(|sending| async move {
        let slot = SendSlot::new(gateway, &sending, None);
        deliver_one(gateway, sending).await;
        drop(slot);
    });
    Ok(futures::future::join_all(deliveries).await.len())
}

/// Gives up the rows of channels that were removed from the configuration, which no node would
/// claim.
async fn refuse_unknown(gateway: &Gateway) {
    let known: Vec<_> = gateway.channels.keys().cloned().collect();
    if known.is_empty() {
        return;
    }
    let before = gateway.clock.now() - UNKNOWN_FOR;
    match gateway.store.refuse_unknown(known, before).await {
        Ok(0) => {}
        Ok(count) => {
            tracing::warn!(count, "rejected messages for channels that are not configured");
        }
        Err(problem) => {
            let problem = format!("{problem:#}");
            tracing::error!(
                problem,
                "could not reject messages for channels that are not configured"
            );
        }
    }
}

/// The channels to claim rows for, and the platforms to check.
struct Plan {
    shares: Vec<Share>,
    checks: Vec<String>,
    /// When to look again if nothing happens in the meantime.
    wait: Duration,
}

fn plan(gateway: &Gateway, free: impl Fn(&str) -> usize) -> Plan {
    let now = gateway.clock.now();
    let mut plan = Plan { shares: Vec::new(), checks: Vec::new(), wait: POLL_EVERY };
    for (channel, connected) in &gateway.channels {
        let limit = match gateway.breakers.admits(channel, now) {
            BreakerPermission::Sends => free(channel).min(CLAIMED_AT_ONCE),
            BreakerPermission::Probe => free(channel).min(1),
            BreakerPermission::Check => {
                plan.checks.push(channel.clone());
                0
            }
            BreakerPermission::Nothing => 0,
        };
        // Rows that the bot may not send yet are not claimed, since they would only be deferred.
        let limit = match gateway.rate_limiter.room(channel, &connected.rate_limits, now) {
            Ok(room) => limit.min(room),
            Err(until) => {
                plan.wait = plan.wait.min((until - now).to_std().unwrap_or_default());
                0
            }
        };
        plan.shares.push(Share { channel: channel.clone(), limit });
    }
    plan
}

/// Checks whether a platform answers.
async fn check(gateway: &Gateway, channel: &str) {
    let Some(connected) = gateway.channels.get(channel) else { return };
    let check = AssertUnwindSafe(connected.channel.check()).catch_unwind();
    let problem = match tokio::time::timeout(CHECK_FOR, check).await {
        Ok(Ok(Ok(()))) => None,
        Ok(Ok(Err(problem))) => Some(problem.to_string()),
        Ok(Err(_panic)) => Some("the check panicked".to_owned()),
        Err(_) => Some("the platform did not answer a check".to_owned()),
    };
    gateway.breakers.checked(channel, problem, gateway.clock.now());
}

/// The timeout of a check.
const CHECK_FOR: Duration = Duration::from_secs(30);

/// The permits of each channel.
struct ChannelPermits {
    permits: BTreeMap<String, Arc<Semaphore>>,
    /// The number of permits of each channel.
    each: usize,
    /// Notified when a channel that had no free permit has one.
    freed: Arc<Notify>,
}

impl ChannelPermits {
    fn new(gateway: &Gateway) -> Self {
        let share = AT_ONCE / gateway.channels.len().max(1);
        let each = share.clamp(AT_LEAST_ON_A_CHANNEL, AT_ONCE_ON_A_CHANNEL);
        let queue = |channel: &String| (channel.clone(), Arc::new(Semaphore::new(each)));
        let permits = gateway.channels.keys().map(queue).collect();
        Self { permits, each, freed: Arc::default() }
    }

    fn in_use(&self, channel: &str) -> usize {
        self.each.saturating_sub(self.free(channel))
    }

    fn free(&self, channel: &str) -> usize {
        self.permits.get(channel).map_or(0, |permits| permits.available_permits())
    }

    /// Reserves permits for as many rows as a claim may take, and lowers the shares of channels that
    /// have fewer by now.
    fn reserve(&self, shares: &mut [Share]) -> BTreeMap<String, OwnedSemaphorePermit> {
        let mut all = BTreeMap::new();
        for share in shares.iter_mut().filter(|share| share.limit > 0) {
            let permits = self.permits.get(&share.channel);
            let reserved = permits.and_then(|permits| reserve(permits, share.limit));
            share.limit = reserved.as_ref().map_or(0, OwnedSemaphorePermit::num_permits);
            all.extend(reserved.map(|reserved| (share.channel.clone(), reserved)));
        }
        all
    }

    fn slot(
        &self,
        gateway: &Gateway,
        sending: &Sending,
        permit: Option<OwnedSemaphorePermit>,
    ) -> SendSlot {
        let freed = self.freed.clone();
        SendSlot::new(gateway, sending, permit.map(|permit| Permit { permit, freed }))
    }
}

/// A permit of a channel.
struct Permit {
    permit: OwnedSemaphorePermit,
    freed: Arc<Notify>,
}

/// The right to send one row; released when dropped.
struct SendSlot {
    permit: Option<Permit>,
    breakers: Arc<Breakers>,
    channel: String,
    id: OutboxId,
}

impl SendSlot {
    fn new(gateway: &Gateway, sending: &Sending, permit: Option<Permit>) -> Self {
        let (breakers, channel) = (gateway.breakers.clone(), sending.channel.clone());
        breakers.begin_probe(&channel, &sending.id);
        Self { permit, breakers, channel, id: sending.id.clone() }
    }
}

impl Drop for SendSlot {
    fn drop(&mut self) {
        self.breakers.end_probe(&self.channel, &self.id);
        if let Some(Permit { permit, freed }) = self.permit.take() {
            let was_last = permit.semaphore().available_permits() == 0;
            drop(permit);
            if was_last {
                freed.notify_one();
            }
        }
    }
}

async fn deliver_one(gateway: &Gateway, mut sending: Sending) {
    let Some(connected) = gateway.channels.get(&sending.channel) else { return };
    if let Err(until) = admitted(gateway, connected, &sending) {
        if let Err(problem) = gateway.store.defer_send(&sending, until).await {
            let problem = format!("{problem:#}");
            tracing::error!(outbox.id = %sending.id, problem, "could not defer a send");
        }
        return;
    }
    let span = tracing::info_span!("send", channel.id = sending.channel);
    let sent = show(gateway, connected.channel.as_ref(), &mut sending).instrument(span).await;
    if let Err(problem) = outcome::record(gateway, &sending, sent).await {
        let problem = format!("{problem:#}");
        // The lease will expire and the row will be sent again with the same key, which the
        // platform recognises as the same message.
        tracing::error!(outbox.id = %sending.id, problem, "could not record the outcome of a send");
    }
}

/// Whether the rate limits allow this send now; otherwise, when to retry.
fn admitted(
    gateway: &Gateway,
    connected: &Connected,
    sending: &Sending,
) -> Result<(), DateTime<Utc>> {
    let (limits, now) = (&connected.rate_limits, gateway.clock.now());
    gateway.rate_limiter.take(&sending.channel, &sending.place, limits, now)
}
