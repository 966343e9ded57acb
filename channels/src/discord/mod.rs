//! Discord: serenity's types stay inside this folder.
//!
//! - [`config`]: what an account needs
//! - `api`: calls of the REST API, and where the token is taken out of every text
//! - `gateway`: one connection, from HELLO to its end; `listen`: our loop over connections
//! - `rooms`: how far each channel has been read
//! - `acknowledge`: the answer to a press, before anything else
//! - `endpoint`: interactions that are pushed to us
//! - `receive`: an event → [`Incoming`]
//! - `send`: a [`Shipment`] → calls

mod acknowledge;
mod api;
mod config;
mod endpoint;
mod fold;
mod gateway;
mod listen;
mod receive;
mod rooms;
mod send;

use std::{
    collections::BTreeSet,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use bytes::Bytes;
use tokio_util::sync::CancellationToken;
use url::Url;

pub use config::DiscordConfig;
pub use endpoint::pong;

use crate::{
    Channel, FileRef, Incoming, Intake, Limits, ListenError, Receipt, SendError, Shipment, Unit,
    WebhookError, WebhookRequest, limits::Repeat,
};
use api::Api;
use endpoint::Key;

/// Of one file that is fetched.
const DOWNLOAD_BYTES: u64 = 25 * 1024 * 1024;

/// One bot account on Discord.
pub struct Discord {
    id: String,
    api: Api,
    key: Key,
    limits: Limits,
    /// Private chats that are known from before this start.
    private: Mutex<BTreeSet<u64>>,
}

impl Discord {
    /// Does no I/O: a platform that is down is met, and waited for, in [`Channel::listen`].
    pub fn new(config: DiscordConfig) -> Self {
        let DiscordConfig { id, token, api_url, public_key } = config;
        let usual = || Url::parse("https://discord.com").expect("a constant");
        let api = Api::new(token, &api_url.unwrap_or_else(usual));
        let key = Key::of(public_key.as_deref());
        Self { id, api, key, limits: limits(), private: Mutex::default() }
    }

    /// Private chats to look into when listening begins: the platform does not tell a bot which it
    /// has, so that what was written there meanwhile is found only if the chat is named here.
    pub fn remember(&self, private_chats: impl IntoIterator<Item = u64>) {
        self.private.lock().unwrap_or_else(PoisonError::into_inner).extend(private_chats);
    }

    fn remembered(&self) -> BTreeSet<u64> {
        self.private.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// <https://discord.com/developers/docs/resources/message#create-message>: code points are counted,
/// those of marks and addresses too. 10 MiB is what a guild without boosts takes.
fn limits() -> Limits {
    Limits {
        text: send::TEXT,
        caption: send::TEXT,
        unit: Unit::Discord,
        upload_bytes: 10 * 1024 * 1024,
        buttons: true,
        repeat: Repeat::NativeKey,
        typing_for: Some(Duration::from_secs(10)),
        drafts: None,
        own_drafts: false,
        reasons: false,
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
        self.attend(intake, from, stop).await
    }

    async fn webhook(&self, request: &WebhookRequest) -> Result<Vec<Incoming>, WebhookError> {
        endpoint::take(&self.api, &self.key, request).await
    }

    async fn send(&self, shipment: &Shipment) -> Result<Receipt, SendError> {
        send::send(&self.api, shipment).await
    }

    /// A file's id is its address.
    async fn fetch(&self, file: &FileRef) -> Result<Bytes, SendError> {
        let rejected = |reason: &str| SendError::Rejected(reason.to_owned());
        let too_large = || rejected("files up to 25 MiB are fetched");
        if file.size_bytes.is_some_and(|size| size > DOWNLOAD_BYTES) {
            return Err(too_large());
        }
        let url = Url::parse(&file.id).map_err(|_| rejected("the file has no address"))?;
        if !self.api.is_ours(&url) {
            return Err(rejected("the file does not stand at one of Discord's addresses"));
        }
        let bytes = self.api.download(url, DOWNLOAD_BYTES).await.map_err(send::repeatable)?;
        bytes.ok_or_else(too_large)
    }
}
