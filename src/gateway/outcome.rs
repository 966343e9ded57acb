//! Records the outcome of a send: sent, retried later, or given up.

use anyhow::Result;
use channels::{Channel, Delivery, Receipt, SendError, limits::Repeat};
use chrono::TimeDelta;
use std::time::Duration;

use super::{Gateway, approvals};
use crate::store::{
    conversations,
    db::transient::until_available,
    outbox::sending::{Failed, SendOutcome, Sending},
};

/// The longest delay between two attempts.
const LONGEST_WAIT: TimeDelta = TimeDelta::minutes(5);
/// The longest time that a platform can make the bot wait.
const LONGEST_PAUSE: Duration = Duration::from_hours(24);
/// A row is given up after it has failed for this long while its channel worked. Time during which
/// the platform cannot be reached, rejects the token or makes the bot wait does not count.
const GIVE_UP_AFTER: TimeDelta = TimeDelta::hours(48);
/// The number of attempts with an unknown outcome after which a row is given up, since each may
/// have left a message.
const MAX_UNKNOWNS: i64 = 5;

/// Sends a message and reports the outcome to the channel's circuit breaker.
pub(super) async fn send(
    gateway: &Gateway,
    channel: &dyn Channel,
    sending: &Sending,
    delivery: &Delivery,
) -> Result<Receipt, SendError> {
    let sent = channel.send(delivery).await;
    gateway.breakers.observe(&sending.channel, &sending.id, &sent, gateway.clock.now());
    sent
}

/// Records the outcome. What has happened on the platform is not lost to a temporary failure of the
/// database.
pub(super) async fn record(
    gateway: &Gateway,
    sending: &Sending,
    outcome: Result<Receipt, SendError>,
) -> Result<()> {
    let store = &gateway.store;
    match outcome {
        Ok(receipt) => {
            let was_edited = is_edited_in_place(gateway, sending)
                && sending.receipt.is_some()
                && !sending.may_be_shown();
            let mut sent = sending.clone();
            sent.receipt = Some(receipt);
            if was_edited {
                until_available(|| store.record_repeatable_send(&sent)).await
            } else {
                let ended = SendOutcome::Sent;
                until_available(|| store.record_send_outcome(&sent, ended, String::new())).await
            }
        }
        Err(SendError::Retry { after: Some(after), reason }) => {
            park(gateway, sending, &sending.place.chat, after).await?;
            wait(gateway, sending, after, reason).await
        }
        Err(SendError::Paused { after, reason }) => {
            park(gateway, sending, "", after).await?;
            wait(gateway, sending, after, reason).await
        }
        Err(SendError::Retry { after: None, reason }) => {
            retry_with_backoff(gateway, sending, PlatformEffect::NotShown, reason).await
        }
        Err(SendError::Unknown(reason)) => {
            retry_with_backoff(gateway, sending, PlatformEffect::Unknown, reason).await
        }
        Err(SendError::Moved { chat }) => {
            let (channel, from) = (sending.channel.clone(), sending.place.chat.clone());
            let now = gateway.clock.now();
            let moved = until_available(|| {
                let (channel, from, chat) = (channel.clone(), from.clone(), chat.clone());
                store.write("move chat", move |tx| {
                    Box::pin(async move {
                        approvals::relocation::chat_moved(tx, &channel, &from, &chat, now).await
                    })
                })
            });
            moved.await?;
            wait(gateway, sending, Duration::ZERO, "the chat has moved".into()).await
        }
        Err(SendError::Gone(reason)) => give_up(gateway, sending, SendOutcome::Gone, reason).await,
        Err(SendError::Rejected(reason)) => {
            give_up(gateway, sending, SendOutcome::Refused, reason).await
        }
    }
}

/// Pauses sending to a chat or, if `chat` is empty, to the whole channel.
async fn park(gateway: &Gateway, sending: &Sending, chat: &str, after: Duration) -> Result<()> {
    let (now, after) = (gateway.clock.now(), after.min(LONGEST_PAUSE));
    let until = now + TimeDelta::from_std(after).unwrap_or(LONGEST_WAIT);
    gateway.rate_limiter.park(&sending.channel, &sending.place, now, after);
    let parked = until_available(|| {
        let (channel, chat) = (sending.channel.clone(), chat.to_owned());
        gateway.store.write("pause chat", move |tx| {
            Box::pin(async move { conversations::park(tx, &channel, &chat, until, now).await })
        })
    });
    parked.await
}

/// Defers the row for as long as the platform asks. This does not count towards giving it up.
async fn wait(
    gateway: &Gateway,
    sending: &Sending,
    after: Duration,
    problem: String,
) -> Result<()> {
    let after = TimeDelta::from_std(after.min(LONGEST_PAUSE)).unwrap_or(LONGEST_WAIT);
    let not_before = gateway.clock.now() + after;
    let ages_by = TimeDelta::zero();
    retry(gateway, sending, Failed { problem, not_before, ages_by, is_unknown: false }).await
}

/// What a failed attempt may have left on the platform.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PlatformEffect {
    NotShown,
    Unknown,
}

async fn retry_with_backoff(
    gateway: &Gateway,
    sending: &Sending,
    outcome: PlatformEffect,
    problem: String,
) -> Result<()> {
    let now = gateway.clock.now();
    let doubled = 1_i64 << sending.attempts.clamp(0, 9);
    let wait = TimeDelta::milliseconds(250 * doubled).min(LONGEST_WAIT);
    // A platform that answered recently, even if only to a check, could have accepted the row.
    let works = gateway.breakers.worked_since(&sending.channel, now - LONGEST_WAIT * 2);
    let ages_by = if works { wait } else { TimeDelta::zero() };
    let is_unknown = outcome == PlatformEffect::Unknown && is_edited_in_place(gateway, sending);
    let too_many = is_unknown && sending.unknowns + 1 >= MAX_UNKNOWNS;
    if too_many || sending.aged + ages_by > GIVE_UP_AFTER {
        return give_up(gateway, sending, SendOutcome::Refused, problem).await;
    }
    retry(gateway, sending, Failed { problem, not_before: now + wait, ages_by, is_unknown }).await
}

/// On other platforms a repeated send is the same message, so its outcome need not be known.
fn is_edited_in_place(gateway: &Gateway, sending: &Sending) -> bool {
    let connected = gateway.channels.get(&sending.channel);
    connected.is_some_and(|c| c.channel.limits().repeat == Repeat::EditInPlace)
}

async fn retry(gateway: &Gateway, sending: &Sending, failed: Failed) -> Result<()> {
    let reason = failed.problem.as_str();
    tracing::warn!(
        outbox.id = %sending.id, channel.id = sending.channel, reason,
        "send failed, will retry"
    );
    until_available(|| gateway.store.try_again(sending, failed.clone())).await
}

async fn give_up(
    gateway: &Gateway,
    sending: &Sending,
    ended: SendOutcome,
    reason: String,
) -> Result<()> {
    tracing::error!(
        outbox.id = %sending.id, channel.id = sending.channel, reason,
        "send failed permanently"
    );
    let given_up = || approvals::relocation::given_up(gateway, sending, ended, reason.clone());
    until_available(given_up).await
}
