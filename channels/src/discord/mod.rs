//! Discord: serenity's types stay inside this folder.
//!
//! - [`config`]: the configuration of an account
//! - `api`: calls of the REST API, with the token redacted in every text; `pauses`: rate limits
//! - `gateway`: one connection, from HELLO to its end; `listen`: the loop over connections
//! - `rooms`: how far each channel has been read; `guilds`: owners, roles, upload limits
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
mod outcome;
mod pauses;
mod receive;
mod rooms;
mod send;

use parking_lot::{Mutex, MutexGuard};
use std::{
    collections::{BTreeSet, HashMap},
    time::Duration,
};

use async_trait::async_trait;
use bytes::Bytes;
use serde_json::Value;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use url::Url;

pub use config::{AdapterTexts, Admission, Command, DiscordConfig, LocalizedText, Roots};
pub use endpoint::pong;

use crate::{
    Channel, CheckError, Delivery, FileRef, Incoming, Intake, Limits, ListenError, Place,
    PlaceKind, Receipt, SendError, Unit, WebhookError, WebhookRequest,
    limits::{RateLimit, RateLimits, Repeat},
};
use acknowledge::PendingAcknowledgements;
use api::{Api, Body, Failure, Route};
use endpoint::Key;
use guilds::Guilds;

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
    /// When the platform was asked for each guild. Locked while it is, so that lookups for several
    /// people ask once.
    asked: tokio::sync::Mutex<HashMap<u64, Instant>>,
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
            asked: tokio::sync::Mutex::default(),
            pending_acknowledgements: PendingAcknowledgements::default(),
            private: Mutex::default(),
        }
    }

    /// Sets the private chats to read when listening begins. The platform does not list a bot's
    /// private chats, so missed messages are found only in these.
    pub fn remember(&self, private_chats: impl IntoIterator<Item = u64>) {
        self.private.lock().extend(private_chats);
    }

    /// Not cached, because it is rarely needed.
    async fn roles_in(&self, place: &Place, person: &str) -> Result<Vec<String>, Failure> {
        let room = place.thread.as_ref().unwrap_or(&place.chat);
        let (Ok(room), Ok(id)) = (room.parse(), person.parse()) else { return Ok(Vec::new()) };
        if place.kind == PlaceKind::Private {
            return Ok(Vec::new());
        }
        let guild = self.guild_of(room).await?;
        let route = Route::get(format!("guilds/{guild}/members/{id}"));
        match self.api.call(route, Body::Empty).await {
            Ok(member) => Ok(self.guilds().roles(&Value::from(guild.to_string()), &member, id)),
            // An unknown member or user: the person is not in the guild.
            Err(Failure::Refused { code: 10007 | 10013, .. }) => Ok(Vec::new()),
            Err(failure) => Err(failure),
        }
    }

    /// The guild of a channel, whose roles are at most a minute old. The platform is asked, because
    /// a node without the connection of the bot hears of no changes.
    async fn guild_of(&self, room: u64) -> Result<u64, Failure> {
        let known = self.guilds().of_room(room);
        let guild = if let Some(guild) = known {
            guild
        } else {
            let route = Route::get(format!("channels/{room}"));
            let channel = self.api.call(route, Body::Empty).await?;
            let unknown = || Failure::Unsent("the channel is in no guild".to_owned());
            self.guilds().learn_room(&channel).ok_or_else(unknown)?
        };
        let mut asked = self.asked.lock().await;
        if asked.get(&guild).is_none_or(|at| at.elapsed() >= KNOWN_FOR) {
            let content = self.api.call(Route::get(format!("guilds/{guild}")), Body::Empty).await?;
            self.guilds().learn(&content);
            asked.insert(guild, Instant::now());
        }
        Ok(guild)
    }

    fn guilds(&self) -> MutexGuard<'_, Guilds> {
        self.guilds.lock()
    }

    fn remembered(&self) -> BTreeSet<u64> {
        self.private.lock().clone()
    }
}

/// How long the roles of a guild are known, as those of a person on Telegram.
const KNOWN_FOR: Duration = Duration::from_mins(1);

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
