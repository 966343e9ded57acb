//! Receives and delivers messages, between the channels and the journal.
//!
//! - [`receive`]: turns updates of a channel into events
//! - `intake`: stores batches of updates, and sets aside those that cannot be stored
//! - `intake_context`: the context of one update; `language`: the language to reply in
//! - [`people`]: who may talk to the bot; pairing
//! - [`commands`]: `/new`, `/stop`, …
//! - [`approvals`]: the only code path that decides approvals
//! - [`ephemeral`]: replies that only one person sees
//! - [`deliver`]: sends the outbox in order; `shipment`: a row that is being sent; `album`:
//!   pictures that are sent together; `outcome`: the result of a send; [`breaker`]: suspends
//!   channels whose platform is unavailable
//! - [`drafts`]: growing answers and typing indicators, which are not recorded
//! - `linking`: links accounts of one person
//! - [`rate_limit`]: limits how often a platform is called
//! - [`webhooks`]: incoming webhooks and webhook deliveries

mod album;
pub mod approvals;
pub mod breaker;
pub mod commands;
pub mod deliver;
pub mod drafts;
pub mod ephemeral;
mod intake;
mod intake_context;
mod language;
mod linking;
mod outcome;
pub mod people;
pub mod rate_limit;
pub mod receive;
mod shipment;
pub mod webhooks;

use anyhow::{Context as _, Result};
use channels::{Channel, Intake, ListenError, Place, SendError, Shipment};
use chrono::TimeDelta;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, sync::Arc};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    clock::Clock,
    journal::role::Role,
    store::{Store, files::Artifacts, inbox, pairing::Owned},
};
use people::Allow;

/// The connected channels, and what they need to receive and deliver.
pub struct Gateway {
    pub store: Store,
    pub clock: Arc<dyn Clock>,
    pub artifacts: Artifacts,
    pub channels: BTreeMap<String, Connected>,
    /// The rate limit for each person.
    pub messages_per_minute: u32,
    /// The models that people can choose from.
    pub models: Vec<String>,
    pub paces: rate_limit::Paces,
    pub breakers: Arc<breaker::Breakers>,
    /// The tasks that shutdown waits for.
    pub tasks: TaskTracker,
    pub stop: CancellationToken,
}

impl Gateway {
    /// Whether the configuration names an owner on any channel.
    pub fn owned(&self) -> Owned {
        Owned::by(self.channels.values().flat_map(|channel| channel.manners.roles.values()))
    }
}

/// A channel and its access settings.
pub struct Connected {
    pub channel: Arc<dyn Channel>,
    pub allow: Allow,
    /// The agent that answers on this channel, and its model.
    pub agent: String,
    pub model: String,
    pub manners: Manners,
    /// Whether only one node may listen at a time (long polling).
    pub alone: bool,
}

/// The options of a channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manners {
    pub queue: Queue,
    /// Messages that follow within this time belong together.
    pub settle: TimeDelta,
    /// Roles by platform id of a person or platform role; also `owner` and `admin` of a chat.
    pub roles: BTreeMap<String, Role>,
    /// Whether each person has their own conversation in groups.
    pub per_person: bool,
}

impl Default for Manners {
    fn default() -> Self {
        let settle = TimeDelta::seconds(1);
        Self { queue: Queue::default(), settle, roles: BTreeMap::new(), per_person: false }
    }
}

/// What happens to a message that arrives during a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Queue {
    /// It is read after the current step.
    #[default]
    Collect,
    /// The current model call is cancelled and starts again with the message included.
    Steer,
    /// The turn is stopped, as by `/stop`, and a new one begins.
    Interrupt,
}

impl Gateway {
    /// Starts listening and delivering, until `stop`.
    pub fn start(self: &Arc<Self>) {
        for id in self.channels.keys() {
            let (intake, batches) = Intake::new();
            self.tasks.spawn(receive::take_batches(self.clone(), id.clone(), batches));
            self.tasks.spawn(listen(self.clone(), id.clone(), intake));
        }
        self.tasks.spawn(deliver::deliver(self.clone()));
    }

    /// Sends something that is not recorded: a toast, a draft, a reply to a stranger.
    pub async fn show_now(
        &self,
        channel: &str,
        place: &Place,
        what: channels::Outgoing,
    ) -> Result<(), SendError> {
        let Some(connected) = self.channels.get(channel) else { return Ok(()) };
        let shipment = Shipment {
            key: uuid::Uuid::new_v4().simple().to_string(),
            place: place.clone(),
            what,
            receipt: None,
            bytes: None,
            album: Vec::new(),
            token: None,
        };
        connected.channel.send(&shipment).await.map(drop)
    }
}

/// Listens while this node holds the duty, and again whenever it gets it back.
async fn listen(gateway: Arc<Gateway>, id: String, intake: Intake) {
    let connected = &gateway.channels[&id];
    let duty = format!("listen {id}");
    while !gateway.stop.is_cancelled() {
        let held = !connected.alone || matches!(gateway.store.hold_duty(&duty).await, Ok(Some(_)));
        if held && let Err(problem) = listen_once(&gateway, &id, &duty, intake.clone()).await {
            tracing::error!(channel.id = id, problem = format!("{problem:#}"), "could not listen");
            is(&gateway, &id, false).await;
        }
        metrics::gauge!(CHANNEL_UP, "channel" => id.clone()).set(0.0);
        pause(&gateway).await;
    }
}

async fn listen_once(gateway: &Gateway, id: &str, duty: &str, intake: Intake) -> Result<()> {
    let connected = &gateway.channels[id];
    let channel_id = id.to_owned();
    let from = gateway
        .store
        .read(move |tx| Box::pin(async move { inbox::position(tx, &channel_id).await }))
        .await
        .context("reading the position")?;
    let stop = gateway.stop.child_token();
    let listening = connected.channel.listen(intake, from, stop.clone());
    tokio::select! {
        ended = listening => match ended {
            Err(ListenError::Closed) | Ok(()) => Ok(()),
            Err(problem) => Err(problem.into()),
        },
        () = mark_listening_after_grace(gateway, id) => Ok(()),
        why = until_listening_must_end(gateway, id, duty), if connected.alone => {
            stop.cancel();
            tracing::warn!(channel.id = id, "stopped listening: {why}");
            Ok(())
        }
    }
}

/// The metric that is 1 while this node listens on a channel.
pub const CHANNEL_UP: &str = "countersign_channel_up";

async fn is(gateway: &Gateway, id: &str, up: bool) {
    if let Err(problem) = gateway.store.channel_is(id, up, gateway.clock.now()).await {
        tracing::warn!(
            channel.id = id,
            problem = format!("{problem:#}"),
            "could not store the state of a channel"
        );
    }
}

/// Marks the channel as listening if it has not failed after a while. Never returns.
async fn mark_listening_after_grace(gateway: &Gateway, id: &str) {
    pause(gateway).await;
    metrics::gauge!(CHANNEL_UP, "channel" => id.to_owned()).set(1.0);
    is(gateway, id, true).await;
    std::future::pending::<()>().await;
}

/// Returns the reason to stop listening: the duty was lost, or a reconnection was requested.
async fn until_listening_must_end(gateway: &Gateway, id: &str, duty: &str) -> &'static str {
    let before = gateway.store.reconnects(id).await;
    while !gateway.stop.is_cancelled() {
        pause(gateway).await;
        if !matches!(gateway.store.hold_duty(duty).await, Ok(Some(_))) {
            return "this node no longer holds the duty";
        }
        let wished = gateway.store.reconnects(id).await;
        if matches!((&before, wished), (Ok(before), Ok(wished)) if wished > *before) {
            return "a reconnection was requested";
        }
    }
    std::future::pending().await
}

async fn pause(gateway: &Gateway) {
    // In real time, because leases are compared by the database's clock.
    let _ = tokio::time::timeout(gateway.store.heartbeat_every(), gateway.stop.cancelled()).await;
}

/// Creates a secret of 128 bits, as 22 characters of base64url.
pub fn secret() -> String {
    use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes).expect("the operating system has randomness");
    URL_SAFE_NO_PAD.encode(bytes)
}
