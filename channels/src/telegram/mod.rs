//! Telegram: teloxide stays inside this folder.
//!
//! - [`config`]: the configuration of an account
//! - `api`: calls of the Bot API, with the token redacted in every text
//! - `listen`: receives updates and acknowledges them after the commit
//! - `receive`: an update → [`Incoming`]; `words`: its text; `media`: its other contents
//! - `me`: our own account
//! - `roles`: the roles of people in a group; `menu`: the command menus
//! - `send`: a [`Delivery`] → calls; `file`, `draft`: special kinds
//! - `target`, `outcome`: the destination, and the result

mod api;
mod config;
mod draft;
mod file;
mod listen;
mod me;
mod media;
mod menu;
mod outcome;
mod receive;
mod roles;
mod send;
mod target;
mod words;

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use async_trait::async_trait;
use bytes::Bytes;
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;
use subtle::ConstantTimeEq;
use teloxide::{
    payloads::{GetFile, GetMe},
    types::FileId,
};
use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;

pub use config::{Menu, Mode, TelegramConfig};

use crate::{
    Channel, CheckError, Delivery, FileRef, Incoming, Intake, Limits, ListenError, Outgoing, Place,
    Receipt, SendError, Unit, WebhookError, WebhookRequest,
    limits::{RateLimit, RateLimits, Repeat},
};
use api::{Api, Failure, USUAL};
use me::Me;
use roles::Roles;

/// The limit of `getFile`.
const DOWNLOAD_BYTES: u64 = 20 * 1024 * 1024;
/// A self-hosted Bot API server that was started with `--local`.
const LOCAL_PATH: &str = "the Bot API server returns a path on its own disk instead of the file: \
    start it without --local";
/// Larger pushed requests are rejected.
const PUSH_BYTES: usize = 1024 * 1024;

/// One bot account on Telegram.
pub struct Telegram {
    id: String,
    mode: Mode,
    api: Api,
    limits: Limits,
    /// The limits if the platform does not support `sendMessageDraft`.
    without_drafts: Limits,
    /// Whether the platform has rejected a draft as unsupported.
    refuses_drafts: AtomicBool,
    menus: Vec<Menu>,
    roles: Roles,
    /// Requested once. The bot's name is needed to recognise who is addressed in a group.
    me: OnceCell<Me>,
}

impl Telegram {
    /// Does no I/O. [`Channel::listen`] waits for an unavailable platform.
    pub fn new(config: TelegramConfig) -> Self {
        let TelegramConfig { id, token, api_url, mode, menus } = config;
        Self {
            id,
            mode,
            api: Api::new(token, api_url),
            limits: limits(),
            without_drafts: Limits { supports_drafts: false, ..limits() },
            refuses_drafts: AtomicBool::new(false),
            menus,
            roles: Roles::default(),
            me: OnceCell::new(),
        }
    }

    /// The bot's name for links (`t.me/NAME`); `None` if the platform does not answer in time.
    pub async fn name(&self, within: Duration) -> Option<String> {
        let me = tokio::time::timeout(within, self.me()).await.ok()?.ok()?;
        me.username.clone()
    }
}

/// <https://core.telegram.org/bots/api>: sendMessage, sendDocument, sendChatAction.
fn limits() -> Limits {
    Limits {
        text: 4096,
        caption: 1024,
        unit: Unit::Utf16,
        upload_bytes: 50 * 1024 * 1024,
        buttons: true,
        repeat: Repeat::EditInPlace,
        typing_for: Some(Duration::from_secs(5)),
        drafts: Some(Duration::from_secs(1)),
        supports_drafts: true,
        reasons: false,
        pictures: true,
        reactions: true,
        album: 10,
        // "Avoid sending more than one message per second" to a chat, "20 messages per minute" to a
        // group, "about 30 messages per second" (core.telegram.org/bots/faq).
        rate_limits: RateLimits {
            private: Some(RateLimit { messages: 5, within: Duration::from_secs(5) }),
            group: Some(RateLimit { messages: 20, within: Duration::from_mins(1) }),
            bot: Some(RateLimit { messages: 30, within: Duration::from_secs(1) }),
        },
    }
}

#[async_trait]
impl Channel for Telegram {
    fn id(&self) -> &str {
        &self.id
    }

    fn limits(&self) -> &Limits {
        if self.refuses_drafts.load(Ordering::Relaxed) {
            return &self.without_drafts;
        }
        &self.limits
    }

    async fn listen(
        &self,
        intake: Intake,
        from: Option<String>,
        stop: CancellationToken,
    ) -> Result<(), ListenError> {
        match &self.mode {
            Mode::Poll => self.poll(intake, from, stop).await,
            Mode::Webhook { url, secret, .. } => self.await_pushes(intake, url, secret, stop).await,
        }
    }

    async fn webhook(&self, request: &WebhookRequest) -> Result<Vec<Incoming>, WebhookError> {
        let Mode::Webhook { secret, before, .. } = &self.mode else {
            return Err(WebhookError::Absent);
        };
        if !std::iter::once(secret).chain(before).any(|secret| is_signed(request, secret)) {
            return Err(WebhookError::Forbidden);
        }
        if request.body.len() > PUSH_BYTES {
            return Err(WebhookError::Malformed("larger than 1 MiB".to_owned()));
        }
        let update: Value = serde_json::from_slice(&request.body)
            .map_err(|e| WebhookError::Malformed(e.to_string()))?;
        let me = self.me().await.map_err(|_| {
            WebhookError::Malformed("the bot's own name is not known yet; push again".to_owned())
        })?;
        let incoming = receive::incoming(&update, me)
            .ok_or_else(|| WebhookError::Malformed("no update_id".to_owned()))?;
        let mut incomings = vec![incoming];
        self.fill_in_roles(&mut incomings).await;
        Ok(incomings)
    }

    async fn send(&self, delivery: &Delivery) -> Result<Receipt, SendError> {
        match &delivery.what {
            Outgoing::Draft { markdown } if delivery.receipt.is_none() => {
                self.draft(&delivery.place, markdown).await
            }
            _ => send::send(&self.api, delivery).await,
        }
    }

    async fn fetch(&self, file: &FileRef) -> Result<Bytes, SendError> {
        let too_large = || SendError::Rejected("bots can fetch files up to 20 MB".to_owned());
        if file.size_bytes.is_some_and(|size| size > DOWNLOAD_BYTES) {
            return Err(too_large());
        }
        let asked = self.api.call(&GetFile::new(FileId(file.id.clone())), USUAL).await;
        let answer = asked.map_err(|failure| match outcome::repeatable(failure) {
            SendError::Rejected(reason) if reason.contains("too big") => too_large(),
            other => other,
        })?;
        let path = answer["file_path"].as_str().ok_or_else(too_large)?;
        if path.starts_with('/') {
            return Err(SendError::Rejected(LOCAL_PATH.to_owned()));
        }
        let bytes = self.api.download(path, DOWNLOAD_BYTES).await.map_err(outcome::repeatable)?;
        let bytes = bytes.ok_or_else(too_large)?;
        if file.contradicts_type(&bytes) {
            return Err(SendError::Rejected(FileRef::TYPE_MISMATCH.to_owned()));
        }
        Ok(bytes)
    }

    async fn roles(&self, place: &Place, person: &str) -> Result<Vec<String>, SendError> {
        self.roles.at(&self.api, place, person).await.map_err(outcome::repeatable)
    }

    async fn check(&self) -> Result<(), CheckError> {
        let asked = self.api.call(&GetMe::new(), USUAL).await;
        asked.map(drop).map_err(|failure| match failure {
            // A malformed token results in a URL that does not exist.
            Failure::Refused { code: 401 | 404, .. } => CheckError::Refused(failure.to_string()),
            _ => CheckError::Silent(failure.to_string()),
        })
    }
}

/// Whether the request has the secret, compared in constant time. An empty secret rejects
/// everything.
fn is_signed(request: &WebhookRequest, secret: &SecretString) -> bool {
    let secret = secret.expose_secret().as_bytes();
    let shown = request.header("x-telegram-bot-api-secret-token").unwrap_or_default();
    !secret.is_empty() && bool::from(shown.as_bytes().ct_eq(secret))
}
