//! Receives updates. teloxide's listeners are not used, because they acknowledge updates, or
//! respond with 200, before the updates are stored. Here the next `getUpdates`, which acknowledges
//! the previous ones, is sent only after the commit.

use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};
use serde::Serialize;
use serde_json::Value;
use teloxide::{
    payloads::{DeleteWebhook, GetMe, SetWebhook, SetWebhookSetters},
    requests::Payload,
    types::AllowedUpdate,
};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};
use url::Url;

use super::{
    Telegram,
    api::{Failure, USUAL},
    me::Me,
    receive,
};
use crate::{Batch, ConnectionState, Intake, ListenError};

/// How long the platform holds a poll open if there are no updates.
const POLL_SECONDS: u64 = 50;
const SHORTEST_WAIT: Duration = Duration::from_millis(500);
const LONGEST_WAIT: Duration = Duration::from_secs(30);
/// How often the webhook is set again, in case it was removed.
const WEBHOOK_AGAIN: Duration = Duration::from_mins(10);

/// The kinds of updates to request.
const KINDS: [AllowedUpdate; 6] = [
    AllowedUpdate::Message,
    AllowedUpdate::EditedMessage,
    AllowedUpdate::ChannelPost,
    AllowedUpdate::EditedChannelPost,
    AllowedUpdate::CallbackQuery,
    AllowedUpdate::MyChatMember,
];

/// The payload of `getUpdates`. teloxide's own has an offset of 32 bits and parses either all
/// updates or none.
#[derive(Serialize)]
struct Poll {
    #[serde(skip_serializing_if = "Option::is_none")]
    offset: Option<i64>,
    timeout: u64,
    allowed_updates: [AllowedUpdate; 6],
}

impl Payload for Poll {
    type Output = Value;
    const NAME: &'static str = "GetUpdates";
}

impl Telegram {
    pub(super) async fn poll(
        &self,
        intake: Intake,
        from: Option<String>,
        stop: CancellationToken,
    ) -> Result<(), ListenError> {
        let Some(me) = self.start(&intake, &stop).await? else { return Ok(()) };
        let offset = offset(from.as_deref(), me);
        tokio::select! {
            ended = self.ask(intake, me, offset, stop) => ended,
            never = self.offer_menus_forever() => never,
        }
    }

    /// Sets the menus, and never returns.
    async fn offer_menus_forever<T>(&self) -> T {
        self.offer_menus().await;
        std::future::pending().await
    }

    async fn ask(
        &self,
        intake: Intake,
        me: &Me,
        mut offset: Option<i64>,
        stop: CancellationToken,
    ) -> Result<(), ListenError> {
        let (mut wait, mut timeout) = (Wait::new(), POLL_SECONDS);
        intake.report(ConnectionState::Connected);
        loop {
            let ask = Poll { offset, timeout, allowed_updates: KINDS };
            let within = Duration::from_secs(POLL_SECONDS) + USUAL;
            let asked = tokio::select! {
                () = stop.cancelled() => return Ok(()),
                asked = self.api.call(&ask, within) => asked,
            };
            match asked {
                Ok(updates) => {
                    (wait, timeout) = (Wait::new(), POLL_SECONDS);
                    intake.report(ConnectionState::Connected);
                    offset = tokio::select! {
                        // Updates that are not committed by now are delivered again after the
                        // restart.
                        () = stop.cancelled() => return Ok(()),
                        committed = self.commit(&intake, &updates, me, offset) => committed?,
                    };
                }
                Err(failure) => {
                    self.classify(&failure, &intake)?;
                    self.reclaim(&failure).await;
                    wait.after(&failure, &stop).await;
                    // Without a timeout, the next response immediately shows whether the platform
                    // is back.
                    timeout = 0;
                }
            }
        }
    }

    /// Waits while Telegram pushes updates, and checks that the webhook stays set.
    pub(super) async fn await_pushes(
        &self,
        intake: Intake,
        url: &Url,
        secret: &SecretString,
        stop: CancellationToken,
    ) -> Result<(), ListenError> {
        let Some(_) = self.start(&intake, &stop).await? else { return Ok(()) };
        let webhook = SetWebhook::new(url.clone())
            .secret_token(secret.expose_secret())
            .allowed_updates(KINDS);
        tokio::select! {
            ended = self.keep_set(&webhook, &intake, &stop) => ended,
            never = self.offer_menus_forever() => never,
        }
    }

    async fn keep_set(
        &self,
        webhook: &SetWebhook,
        intake: &Intake,
        stop: &CancellationToken,
    ) -> Result<(), ListenError> {
        loop {
            if self.call_with_retries(webhook, intake, stop).await?.is_none() {
                return Ok(());
            }
            intake.report(ConnectionState::Connected);
            if tokio::time::timeout(WEBHOOK_AGAIN, stop.cancelled()).await.is_ok() {
                return Ok(());
            }
        }
    }

    /// Requests the bot's account until the platform answers. For polling, also removes a webhook
    /// that would prevent it. `None` on shutdown.
    async fn start(
        &self,
        intake: &Intake,
        stop: &CancellationToken,
    ) -> Result<Option<&Me>, ListenError> {
        if self.me.get().is_none() {
            let Some(answer) = self.call_with_retries(&GetMe::new(), intake, stop).await? else {
                return Ok(None);
            };
            if let Ok(me) = serde_json::from_value::<Me>(answer) {
                self.me.set(me).ok();
            }
        }
        if matches!(self.mode, super::Mode::Poll)
            && self.call_with_retries(&DeleteWebhook::new(), intake, stop).await?.is_none()
        {
            return Ok(None);
        }
        match self.me().await {
            Ok(me) => Ok(Some(me)),
            Err(failure) => self.classify(&failure, intake).map(|()| None),
        }
    }

    /// The bot's id and name, which are requested only once.
    pub(super) async fn me(&self) -> Result<&Me, Failure> {
        let ask = || async {
            let answer = self.api.call(&GetMe::new(), USUAL).await?;
            serde_json::from_value(answer).map_err(|e| Failure::Lost(format!("getMe: {e}")))
        };
        self.me.get_or_try_init(ask).await
    }

    /// Repeats a call until it succeeds. `None` on shutdown.
    async fn call_with_retries<P>(
        &self,
        payload: &P,
        intake: &Intake,
        stop: &CancellationToken,
    ) -> Result<Option<Value>, ListenError>
    where
        P: Payload + Serialize + Sync,
    {
        let mut wait = Wait::new();
        loop {
            let asked = tokio::select! {
                () = stop.cancelled() => return Ok(None),
                asked = self.api.call(payload, USUAL) => asked,
            };
            match asked {
                Ok(answer) => return Ok(Some(answer)),
                Err(failure) => {
                    self.classify(&failure, intake)?;
                    wait.after(&failure, stop).await;
                }
            }
        }
    }

    /// Returns an error if a person has to fix the problem. Reports all other problems.
    fn classify(&self, failure: &Failure, intake: &Intake) -> Result<(), ListenError> {
        match failure {
            Failure::Refused { code: 401, .. } => {
                Err(ListenError::Unauthorized { channel: self.id.clone() })
            }
            failure => {
                warn!(channel.id = self.id, reason = %failure, "Telegram: will retry");
                intake.report(ConnectionState::Disconnected { problem: failure.to_string() });
                Ok(())
            }
        }
    }

    /// A 409 that says that a webhook is set. It has to be removed for polling to work.
    async fn reclaim(&self, failure: &Failure) {
        let Failure::Refused { code: 409, description, .. } = failure else { return };
        if description.contains("webhook")
            && self.api.call(&DeleteWebhook::new(), USUAL).await.is_ok()
        {
            info!(channel.id = self.id, "Telegram: removed a webhook that prevented polling");
        }
    }

    /// Commits the updates and returns the offset that acknowledges them.
    async fn commit(
        &self,
        intake: &Intake,
        updates: &Value,
        me: &Me,
        offset: Option<i64>,
    ) -> Result<Option<i64>, ListenError> {
        let updates = updates.as_array().map(Vec::as_slice).unwrap_or_default();
        if updates.is_empty() {
            return Ok(offset);
        }
        let last = updates.iter().filter_map(|update| update["update_id"].as_i64()).max();
        let offset = last.map(|last| last + 1).or(offset);
        let position = offset.map(|offset| format!("{}:{offset}", me.id));
        let read = |update| receive::incoming(update, me);
        let mut incomings: Vec<_> = updates.iter().filter_map(read).collect();
        self.fill_in_roles(&mut incomings).await;
        intake.commit(Batch { incomings, position }).await?;
        Ok(offset)
    }
}

/// The offset, unless it belongs to another bot: after a change of the token, all waiting updates
/// are read.
fn offset(position: Option<&str>, me: &Me) -> Option<i64> {
    let (bot, offset) = position?.split_once(':')?;
    offset.parse().ok().filter(|_| bot == me.id.to_string())
}

/// The delay after a failure, which doubles each time.
struct Wait {
    next: Duration,
}

impl Wait {
    fn new() -> Self {
        Self { next: SHORTEST_WAIT }
    }

    async fn after(&mut self, failure: &Failure, stop: &CancellationToken) {
        let asked = match failure {
            Failure::Refused { after, .. } => *after,
            _ => None,
        };
        let wait = asked.unwrap_or(self.next);
        self.next = (self.next * 2).min(LONGEST_WAIT);
        // Ends after the delay or on shutdown. The caller checks for shutdown.
        tokio::time::timeout(wait, stop.cancelled()).await.ok();
    }
}
