//! Receives and delivers: between the channels and the journal.
//!
//! - [`receive`]: what a channel heard becomes events, before the platform may forget it
//! - `intake`: how batches are stored, and what cannot be
//! - `intake_context`: what is at hand meanwhile; `language`: in which language
//! - [`people`]: who may talk; pairing
//! - [`commands`]: `/new`, `/stop`, …
//! - [`approvals`]: the one door through which a question is decided
//! - [`ephemeral`]: private answers
//! - [`deliver`]: sends what the outbox holds, in order; `shipment`: a row on its way; `album`: pictures
//!   together; `outcome`: what came of it; [`breaker`]: whether a platform takes anything now
//! - [`drafts`]: what is not recorded: growing text, "is typing"
//! - `linking`: accounts of one person
//! - [`rate_limit`]: how often a platform is written to
//! - [`webhooks`]: other programs start turns

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

/// The connected channels, and what they need to receive and show.
pub struct Gateway {
    pub store: Store,
    pub clock: Arc<dyn Clock>,
    pub artifacts: Artifacts,
    pub channels: BTreeMap<String, Connected>,
    /// How fast one person may write.
    pub messages_per_minute: u32,
    /// The models that a person can choose among.
    pub models: Vec<String>,
    pub paces: rate_limit::Paces,
    pub breakers: Arc<breaker::Breakers>,
    /// What shutdown waits for.
    pub tasks: TaskTracker,
    pub stop: CancellationToken,
}

impl Gateway {
    /// Whether the configuration names an owner, of any channel.
    pub fn owned(&self) -> Owned {
        Owned::by(self.channels.values().flat_map(|channel| channel.manners.roles.values()))
    }
}

/// A channel, and who may talk to it.
pub struct Connected {
    pub channel: Arc<dyn Channel>,
    pub allow: Allow,
    /// The agent that answers here, and the model that it thinks with.
    pub agent: String,
    pub model: String,
    pub manners: Manners,
    /// Only one node may listen at a time (a long poll).
    pub alone: bool,
}

/// What the operator wishes of a channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manners {
    pub queue: Queue,
    /// What follows so quickly belongs to what went before.
    pub settle: TimeDelta,
    /// Who is what: a person or a role of the platform, by id; `owner` and `admin` of a chat.
    pub roles: BTreeMap<String, Role>,
    /// In groups, each person has a conversation of their own.
    pub per_person: bool,
}

impl Default for Manners {
    fn default() -> Self {
        let settle = TimeDelta::seconds(1);
        Self { queue: Queue::default(), settle, roles: BTreeMap::new(), per_person: false }
    }
}

/// What becomes of a message that comes while the agent works.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Queue {
    /// It is read after the step at hand.
    #[default]
    Collect,
    /// The thought at hand is broken off, and begins anew with it.
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

    /// Shows something that is not worth remembering: a toast, a draft, a word to a stranger.
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

/// Listens while this node may, and again whenever it may again.
async fn listen(gateway: Arc<Gateway>, id: String, intake: Intake) {
    let connected = &gateway.channels[&id];
    let duty = format!("listen {id}");
    while !gateway.stop.is_cancelled() {
        let held = !connected.alone || matches!(gateway.store.hold_duty(&duty).await, Ok(Some(_)));
        if held && let Err(problem) = listen_once(&gateway, &id, &duty, intake.clone()).await {
            tracing::error!(channel.id = id, problem = format!("{problem:#}"), "not listening");
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
        () = lasts(gateway, id) => Ok(()),
        why = ends(gateway, id, duty), if connected.alone => {
            stop.cancel();
            tracing::warn!(channel.id = id, "listening ends: {why}");
            Ok(())
        }
    }
}

/// 1 while this node listens on the channel.
pub const CHANNEL_UP: &str = "countersign_channel_up";

async fn is(gateway: &Gateway, id: &str, up: bool) {
    if let Err(problem) = gateway.store.channel_is(id, up, gateway.clock.now()).await {
        tracing::warn!(channel.id = id, problem = format!("{problem:#}"), "its state is not kept");
    }
}

/// What has not ended after a while counts as listening. Never returns.
async fn lasts(gateway: &Gateway, id: &str) {
    pause(gateway).await;
    metrics::gauge!(CHANNEL_UP, "channel" => id.to_owned()).set(1.0);
    is(gateway, id, true).await;
    std::future::pending::<()>().await;
}

/// Returns when the duty is lost, or somebody wants the channel connected anew: why it ends.
async fn ends(gateway: &Gateway, id: &str, duty: &str) -> &'static str {
    let before = gateway.store.reconnects(id).await;
    while !gateway.stop.is_cancelled() {
        pause(gateway).await;
        if !matches!(gateway.store.hold_duty(duty).await, Ok(Some(_))) {
            return "this node may not listen any more";
        }
        let wished = gateway.store.reconnects(id).await;
        if matches!((&before, wished), (Ok(before), Ok(wished)) if wished > *before) {
            return "somebody wants it connected anew";
        }
    }
    std::future::pending().await
}

async fn pause(gateway: &Gateway) {
    // In real time: leases are compared by the database's clock, not by ours.
    let _ = tokio::time::timeout(gateway.store.heartbeat_every(), gateway.stop.cancelled()).await;
}

/// A new secret of 128 bits, 22 characters of base64url.
pub fn secret() -> String {
    use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes).expect("the operating system has randomness");
    URL_SAFE_NO_PAD.encode(bytes)
}
