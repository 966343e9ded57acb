//! Discord: serenity's types stay inside this folder.
//!
//! - [`config`]: the configuration of an account
//! - `api`: calls of the REST API, with the token redacted in every text; `pauses`: rate limits
//! - `gateway`: one connection, from HELLO to its end; `listen`: the loop over connections
//! - `rooms`: how far each channel has been read; `guilds`: owners, roles, upload limits
//! - `lookups`: roles that the platform is asked for
//! - `receive`: an event → [`Incoming`]; `content`: the contents of a message; `files`: its files
//! - `interaction`: a button, a reason, a command (`call`); `endpoint`: pushed interactions
//! - `acknowledge`: the initial response; `answer`: later responses
//! - `commands`: registers slash commands
//! - `send`: a [`Delivery`] → calls; `fold`: nonces of at most 25 characters
//! - `ids`, `outcome`: ids, and the classification of results

mod acknowledge;
mod answer;
mod api;
mod call;
mod commands;
mod config;
mod content;
mod endpoint;
mod files;
mod fold;
mod gateway;
mod guilds;
mod ids;
mod interaction;
mod listen;
mod lookups;
mod outcome;
mod pauses;
mod receive;
mod rooms;
mod send;

use parking_lot::{Mutex, MutexGuard};
use std::{collections::BTreeSet, time::Duration};

use async_trait::async_trait;
use bytes::Bytes;
use tokio_util::sync::CancellationToken;
use url::Url;

pub use config::{AdapterTexts, Admission, Command, DiscordConfig, LocalizedText, Roots};
pub use endpoint::pong;

use crate::{
    Channel, CheckError, Delivery, FileRef, Incoming, Intake, Limits, ListenError, Place, Receipt,
    SendError, Unit, WebhookError, WebhookRequest,
    limits::{RateLimit, RateLimits, Repeat},
};
use acknowledge::PendingAcknowledgements;
use api::{Api, Body, Failure, Route};
use endpoint::Key;
use guilds::Guilds;
use lookups::Lookups;

/// One bot account on Discord.
pub struct Discord {
    id: String,
    api: Api,
    key: Key,
    limits: Limits,
    commands: Vec<Command>,
    words: AdapterTexts,
    admission: Admission,
    guilds: Mutex<Guilds>,
    lookups: Lookups,
    pending_acknowledgements: PendingAcknowledgements,
    /// Private chats known from earlier runs.
    private: Mutex<BTreeSet<u64>>,
}

impl Discord {
    /// Does no I/O. [`Channel::listen`] waits for an unavailable platform.
    pub fn new(config: DiscordConfig) -> Self {
        let usual = || Url::parse("https://discord.com").expect("a constant");
        let url = config.api_url.clone().unwrap_or_else(usual);
        Self {
            api: Api::new(&config, &url),
            id: config.id,
            key: Key::of(config.public_key.as_deref()),
            limits: limits(),
            commands: config.commands,
            words: config.words,
            admission: config.admission,
            guilds: Mutex::default(),
            lookups: Lookups::default(),
            pending_acknowledgements: PendingAcknowledgements::default(),
            private: Mutex::default(),
        }
    }

    /// Sets the private chats to read when listening begins. The platform does not list a bot's
    /// private chats, so missed messages are found only in these.
    pub fn remember(&self, private_chats: impl IntoIterator<Item = u64>) {
        self.private.lock().extend(private_chats);
    }

    fn guilds(&self) -> MutexGuard<'_, Guilds> {
        self.guilds.lock()
    }

    fn remembered(&self) -> BTreeSet<u64> {
        self.private.lock().clone()
    }
}

/// <https://discord.com/developers/docs/resources/message#create-message> counts code points,
/// including those of markup and URLs. The upload limit depends on the guild: `send` reports files
/// that exceed it.
fn limits() -> Limits {
    Limits {
        text: outcome::TEXT,
        caption: outcome::TEXT,
        unit: Unit::Discord,
        upload_bytes: guilds::MAX_BYTES,
        buttons: true,
        repeat: Repeat::NativeKey,
        typing_for: Some(Duration::from_secs(10)),
        drafts: Some(Duration::from_millis(1200)),
        supports_drafts: false,
        reasons: true,
        pictures: true,
        reactions: true,
        album: 1,
        // Messages: 5 in 5 seconds per channel; the bot: 50 requests per second.
        rate_limits: RateLimits {
            private: Some(RateLimit { messages: 5, within: Duration::from_secs(5) }),
            group: Some(RateLimit { messages: 5, within: Duration::from_secs(5) }),
            bot: Some(RateLimit { messages: 50, within: Duration::from_secs(1) }),
        },
    }
}

#[async_trait]
impl Channel for Discord {
    fn id(&self) -> &str {
        &self.id
    }

    fn limits(&self) -> &Limits {
        &self.limits
    }

    async fn listen(
        &self,
        intake: Intake,
        from: Option<String>,
        stop: CancellationToken,
    ) -> Result<(), ListenError> {
        self.run_session(intake, from, stop).await
    }

    async fn webhook(&self, request: &WebhookRequest) -> Result<Vec<Incoming>, WebhookError> {
        self.take_push(request).await
    }

    async fn send(&self, delivery: &Delivery) -> Result<Receipt, SendError> {
        self.show(delivery).await
    }

    async fn fetch(&self, file: &FileRef) -> Result<Bytes, SendError> {
        self.download(file).await
    }

    async fn roles(&self, place: &Place, person: &str) -> Result<Vec<String>, SendError> {
        self.roles_in(place, person).await.map_err(outcome::repeatable)
    }

    async fn check(&self) -> Result<(), CheckError> {
        let asked = self.api.call(Route::get("users/@me".to_owned()), Body::Empty).await;
        asked.map(drop).map_err(|failure| match failure {
            Failure::Refused { status: 401, message, .. } => CheckError::Refused(message),
            Failure::Refused { status, message, .. } => {
                CheckError::Silent(format!("{status}: {message}"))
            }
            Failure::Unsent(reason) | Failure::Lost(reason) => CheckError::Silent(reason),
        })
    }
}
