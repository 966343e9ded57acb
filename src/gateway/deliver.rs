//! What the outbox holds is shown, in the order of each conversation.
//!
//! A send is repeated only where the platform cannot show it twice: under its native key, or, where
//! there is none, as an edit of a placeholder that was sent and remembered first.

use anyhow::Result;
use channels::{Channel, Outgoing, Receipt, SendError, limits::Repeat};
use chrono::{DateTime, TimeDelta, Utc};
use std::{sync::Arc, time::Duration};
use tokio::sync::Semaphore;
use tracing::Instrument as _;

use super::{
    Gateway, album, approvals,
    shipment::{passing, shipment},
};
use crate::{
    store::{
        conversations,
        outbox::{Ended, Sending},
    },
    texts::Language,
};

/// Sends under way at once; one that hangs on a slow platform holds no other up.
const AT_ONCE: usize = 2_000;
/// The rows that one claim takes at most.
const CLAIMED_AT_ONCE: usize = 64;
/// The longest wait between two tries.
const LONGEST_WAIT: TimeDelta = TimeDelta::minutes(5);
/// After so long without success a row is given up.
const GIVE_UP_AFTER: TimeDelta = TimeDelta::hours(48);

pub async fn deliver(gateway: Arc<Gateway>) {
    let permits = Arc::new(Semaphore::new(AT_ONCE));
    while !gateway.stop.is_cancelled() {
        let free = permits.available_permits().min(CLAIMED_AT_ONCE);
        let claimed = gateway.store.claim_sends(free, gateway.clock.now()).await;
        let sendings = claimed.unwrap_or_else(|problem| {
            tracing::error!(problem = format!("{problem:#}"), "cannot read the outbox");
            Vec::new()
        });
        if sendings.is_empty() {
            tokio::select! {
                () = gateway.stop.cancelled() => {}
                () = gateway.store.bell.outbox() => {}
            }
        }
        for sending in sendings {
            let permit = permits.clone().acquire_owned().await.expect("never closed");
            let gateway = gateway.clone();
            gateway.tasks.clone().spawn(async move {
                ship(&gateway, sending).await;
                drop(permit);
            });
        }
    }
}

/// Sends what can be sent now, once; how much that was.
pub async fn deliver_ready(gateway: &Gateway) -> Result<usize> {
    let sendings = gateway.store.claim_sends(CLAIMED_AT_ONCE, gateway.clock.now()).await?;
    let shipped = sendings.into_iter().map(|sending| ship(gateway, sending));
    Ok(futures::future::join_all(shipped).await.len())
}

async fn ship(gateway: &Gateway, mut sending: Sending) {
    if let Err(until) = in_time(gateway, &sending) {
        if let Err(problem) = gateway.store.put_off(&sending.id, until).await {
            tracing::error!(outbox.id = %sending.id, problem = format!("{problem:#}"), "it lapses");
        }
        return;
    }
    let outcome = match gateway.channels.get(&sending.channel) {
        Some(connected) => {
            let span = tracing::info_span!("send", channel.id = sending.channel);
            show(gateway, connected.channel.as_ref(), &mut sending).instrument(span).await
        }
        None => Err(SendError::Retry {
            after: Some(Duration::from_mins(1)),
            reason: format!("no channel is called `{}`", sending.channel),
        }),
    };
    if let Err(problem) = settle(gateway, &sending, outcome).await {
        let problem = format!("{problem:#}");
        // The row lapses and is sent once more, which the platform takes for the same.
        tracing::error!(outbox.id = %sending.id, problem, "the end of a send was not recorded");
    }
}

/// Whether the platform takes this now; otherwise, when to try.
fn in_time(gateway: &Gateway, sending: &Sending) -> Result<(), DateTime<Utc>> {
    let Some(connected) = gateway.channels.get(&sending.channel) else { return Ok(()) };
    let to = (sending.channel.as_str(), &sending.place);
    gateway.paces.take(to, &connected.channel.limits().paces, gateway.clock.now())
}

/// Sends, in two steps where the platform needs it.
async fn show(
    gateway: &Gateway,
    channel: &dyn Channel,
    sending: &mut Sending,
) -> Result<Receipt, SendError> {
    album::mark(gateway, sending).await.map_err(passing)?;
    if let Some(receipt) = album::show(gateway, channel, sending).await? {
        return Ok(receipt);
    }
    if sending.receipt.is_none() && channel.limits().repeat == Repeat::EditInPlace {
        let reply_to = sending.what.reply_to().map(str::to_owned);
        let placeholder = shipment(sending, Outgoing::Placeholder { reply_to });
        let receipt = channel.send(&placeholder).await?;
        gateway.store.placed(&sending.id, &receipt).await.map_err(passing)?;
        sending.receipt = Some(receipt);
    }
    let mut shipment = shipment(sending, sending.what.clone());
    if let Some(approval) = sending.what.approval() {
        let token = approvals::new_token();
        gateway.store.mint_token(approval, &token).await.map_err(passing)?;
        shipment.token = Some(token);
    }
    if let Outgoing::File { digest, name, .. } = &sending.what {
        match gateway.artifacts.read(digest).await {
            Ok(bytes) => shipment.bytes = Some(bytes),
            Err(problem) => {
                tracing::error!(problem = format!("{problem:#}"), "an artifact cannot be read");
                let markdown = Language::of(Some(&sending.language)).words().file_missing(name);
                shipment.what = Outgoing::Text { markdown, reply_to: None };
            }
        }
    }
    channel.send(&shipment).await
}

async fn settle(
    gateway: &Gateway,
    sending: &Sending,
    outcome: Result<Receipt, SendError>,
) -> Result<()> {
    let store = &gateway.store;
    match outcome {
        Ok(receipt) => {
            let sent = Sending { receipt: Some(receipt), ..sending.clone() };
            store.sent(&sent, Ended::Sent, String::new()).await
        }
        Err(SendError::Retry { after, reason }) => {
            if let Some(after) = after {
                park(gateway, sending, &sending.place.chat, after).await?;
            }
            again(gateway, sending, after, reason).await
        }
        Err(SendError::Paused { after, reason }) => {
            park(gateway, sending, "", after).await?;
            again(gateway, sending, Some(after), reason).await
        }
        Err(SendError::Unknown(reason)) => again(gateway, sending, None, reason).await,
        Err(SendError::Moved { chat }) => {
            let (channel, from) = (sending.channel.clone(), sending.place.chat.clone());
            let now = gateway.clock.now();
            store
                .write("move chat", move |tx| {
                    Box::pin(async move {
                        approvals::moves::chat_moved(tx, &channel, (&from, &chat), now).await
                    })
                })
                .await?;
            again(gateway, sending, Some(Duration::ZERO), "the chat has moved".into()).await
        }
        Err(SendError::Gone(reason)) => give_up(gateway, sending, Ended::Gone, reason).await,
        Err(SendError::Rejected(reason)) => give_up(gateway, sending, Ended::Refused, reason).await,
    }
}

/// The platform has had enough of us, there or everywhere: nothing more until then.
async fn park(gateway: &Gateway, sending: &Sending, chat: &str, after: Duration) -> Result<()> {
    let now = gateway.clock.now();
    let until = now + TimeDelta::from_std(after).unwrap_or(LONGEST_WAIT);
    gateway.paces.park((&sending.channel, &sending.place), now, after);
    let (channel, chat) = (sending.channel.clone(), chat.to_owned());
    gateway
        .store
        .write("park", move |tx| {
            Box::pin(async move { conversations::park(tx, (&channel, &chat), until, now).await })
        })
        .await
}

async fn again(
    gateway: &Gateway,
    sending: &Sending,
    after: Option<Duration>,
    reason: String,
) -> Result<()> {
    let now = gateway.clock.now();
    if now - sending.created_at > GIVE_UP_AFTER {
        return give_up(gateway, sending, Ended::Refused, reason).await;
    }
    let wait = after.and_then(|a| TimeDelta::from_std(a).ok()).unwrap_or_else(|| {
        let doubled = 1_i64 << sending.attempts.clamp(0, 9);
        TimeDelta::milliseconds(250 * doubled).min(LONGEST_WAIT)
    });
    tracing::warn!(outbox.id = %sending.id, channel.id = sending.channel, reason, "will send again");
    gateway.store.try_again(&sending.id, now + wait, reason).await
}

async fn give_up(gateway: &Gateway, sending: &Sending, ended: Ended, reason: String) -> Result<()> {
    tracing::error!(outbox.id = %sending.id, channel.id = sending.channel, reason, "not shown");
    approvals::moves::given_up(gateway, sending, ended, reason).await
}
