//! Receives and delivers messages, between the channels and the journal.
//!
//! - `listen`: listens on channels, and records whether they are connected
//! - [`intake`]: receives batches of updates, and sets aside those that cannot be stored
//! - [`receive`]: turns updates of a channel into events; [`api_messages`]: messages of programs
//! - `paste`: parts of a long text that a client has split
//! - `intake_context`: the context of one update; `language`: the language to reply in
//! - [`people`]: who may talk to the bot; [`pairing`]: pairing codes
//! - [`commands`]: `/new`, `/stop`, …; [`prompts`]: prompts of MCP servers as commands
//! - [`approvals`]: the only code path that decides approvals
//! - [`ephemeral`]: replies that only one person sees
//! - [`deliver`]: sends the outbox in order; `send_claims`: claims rows; `show`: sends one row;
//!   `delivery`: what a channel is given; `album`: pictures that are sent together; `outcome`: the
//!   result of a send; [`breaker`]: suspends channels whose platform is unavailable
//! - [`drafts`]: growing answers and typing indicators, which are not recorded
//! - `linking`: links accounts of one person
//! - [`rate_limit`]: limits how often a platform is called
//! - `supervise`: restarts background tasks that panic
//! - [`webhooks`]: incoming webhooks and webhook deliveries

mod album;
pub mod api_messages;
pub mod approvals;
pub mod breaker;
pub mod commands;
pub mod deliver;
mod delivery;
pub mod drafts;
pub mod ephemeral;
pub mod intake;
mod intake_context;
mod language;
mod linking;
mod listen;
mod outcome;
pub mod pairing;
mod paste;
pub mod people;
pub mod prompts;
pub mod rate_limit;
pub mod receive;
mod send_claims;
mod show;
mod supervise;
pub mod webhooks;

use anyhow::Result;
use channels::{
    Channel, Delivery, Intake, Limits, Place, SendError,
    limits::{RateLimits, Repeat},
};
use chrono::TimeDelta;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, sync::Arc};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    clock::Clock,
    journal::role::Role,
    store::{
        Store,
        channels::{ChannelState, ChannelStatus},
        files::Artifacts,
        people::pairing::OwnerSource,
    },
    tools::mcp::prompts::PromptCommands,
};
pub use listen::CHANNEL_UP;
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
    /// The prompts of MCP servers that people can use.
    pub prompts: PromptCommands,
    pub rate_limiter: rate_limit::RateLimiter,
    pub breakers: Arc<breaker::Breakers>,
    /// The tasks that shutdown waits for.
    pub tasks: TaskTracker,
    pub stop: CancellationToken,
}

impl Gateway {
    /// Whether the configuration names an owner on any channel.
    pub fn owned(&self) -> OwnerSource {
        OwnerSource::by(
            self.channels.values().flat_map(|channel| channel.settings.configured_roles()),
        )
    }
}

/// A channel and its access settings.
pub struct Connected {
    pub channel: Arc<dyn Channel>,
    pub allow: Allow,
    /// The agent that answers on this channel, and its model.
    pub agent: String,
    pub model: String,
    pub settings: ChannelSettings,
    /// How often the platform may be called: what it documents, or what the operator sets.
    pub rate_limits: RateLimits,
    /// Whether only one node may listen at a time (long polling).
    pub alone: bool,
}

impl Connected {
    /// The limits for new contents: those of the channel, less the room for the notice that a
    /// message may be a duplicate.
    pub fn content_limits(&self) -> Limits {
        let mut limits = self.channel.limits().clone();
        if limits.repeat == Repeat::EditInPlace {
            limits.text -= (limits.text / 3).min(show::DUPLICATE_NOTICE);
            limits.caption -= (limits.caption / 3).min(show::DUPLICATE_NOTICE);
        }
        limits
    }
}

/// The options of a channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChannelSettings {
    pub queue: BusyPolicy,
    /// Messages that follow within this time belong together.
    pub debounce: TimeDelta,
    /// Roles by platform id of a person or platform role; also `owner` and `admin` of a chat.
    pub roles: BTreeMap<String, Role>,
    /// The person in `roles` who is the owner only because a sign-in link was made on this machine.
    pub local_owner: Option<String>,
    /// Whether each person has their own conversation in groups.
    pub per_person: bool,
}

impl Default for ChannelSettings {
    fn default() -> Self {
        let debounce = TimeDelta::seconds(1);
        Self {
            queue: BusyPolicy::default(),
            debounce,
            roles: BTreeMap::new(),
            local_owner: None,
            per_person: false,
        }
    }
}

impl ChannelSettings {
    /// The roles without that of the local owner.
    fn configured_roles(&self) -> impl Iterator<Item = &Role> {
        let named = self.roles.iter().filter(|(id, _)| self.local_owner.as_ref() != Some(id));
        named.map(|(_, role)| role)
    }
}

/// What happens to a message that arrives during a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BusyPolicy {
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
            self.tasks.spawn(intake::receive_batches(self.clone(), id.clone(), batches));
            let (gateway, id) = (self.clone(), id.clone());
            self.spawn_supervised("listen", move || {
                listen::listen(gateway.clone(), id.clone(), intake.clone())
            });
        }
        let gateway = self.clone();
        self.spawn_supervised("deliver messages", move || deliver::deliver(gateway.clone()));
    }

    /// The state of each channel. A channel that every node serves by itself is always connected.
    pub async fn channel_states(&self) -> Result<BTreeMap<String, ChannelState>> {
        let mut known = self.store.channel_states().await?;
        let state = |(id, connected): (&String, &Connected)| {
            let served =
                ChannelState { status: ChannelStatus::Connected, ..ChannelState::default() };
            let state = if connected.alone { known.remove(id).unwrap_or_default() } else { served };
            (id.clone(), state)
        };
        Ok(self.channels.iter().map(state).collect())
    }

    /// Sends something that is not recorded: a toast, a draft, a reply to a stranger.
    pub async fn show_now(
        &self,
        channel: &str,
        place: &Place,
        what: channels::Outgoing,
    ) -> Result<(), SendError> {
        let Some(connected) = self.channels.get(channel) else { return Ok(()) };
        let delivery = Delivery {
            key: uuid::Uuid::new_v4().simple().to_string(),
            place: place.clone(),
            what,
            receipt: None,
            bytes: None,
            album: Vec::new(),
            token: None,
        };
        connected.channel.send(&delivery).await.map(drop)
    }
}

/// Creates a secret of 128 bits, as 22 characters of base64url.
pub fn secret() -> String {
    use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes).expect("the operating system has randomness");
    URL_SAFE_NO_PAD.encode(bytes)
}
