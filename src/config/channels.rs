//! The entries of `[[channels]]`. Each is one bot account.

use anyhow::{Result, bail};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, path::PathBuf};

use super::{pace::default_pace, secret::Secret};
use crate::{gateway::BusyPolicy, journal::role::Role};

/// The name in the sign-in link that is printed at startup.
pub const OWNER_NAME: &str = "owner";

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChannelEntry {
    /// Unique; part of stored keys, so do not rename it.
    pub id: String,
    /// The platform: `telegram`, `discord` or `web`.
    pub kind: ChannelKind,
    /// The id of an agent.
    #[serde(default = "default_agent")]
    pub agent: String,
    /// The bot's token, as a secret.
    pub token: Option<Secret>,
    /// A local Bot API server, or a test server.
    #[schemars(extend("x-default" = "the platform's"))]
    pub api_url: Option<url::Url>,
    /// How events are received: `poll` or `webhook`.
    #[serde(default)]
    pub mode: ChannelMode,
    /// The public URL of `<admin.listen>/channels/<id>/webhook`.
    pub webhook_url: Option<url::Url>,
    /// The secret that the platform sends with each request.
    pub webhook_secret: Option<Secret>,
    /// Telegram: the previous secret, still accepted while set (for rotation).
    pub previous_webhook_secret: Option<Secret>,
    /// Discord: the application's public key; with it, interactions are received at
    /// `<admin.listen>/channels/<id>/webhook`.
    pub public_key: Option<String>,
    /// Discord: additional certificate authorities (PEM) to trust, for a proxy.
    pub ca_file: Option<PathBuf>,
    /// Web: origins of sites that may embed this chat as a widget.
    #[serde(default)]
    pub origins: Vec<String>,
    /// Numeric platform ids, or `["*"]`; others need a pairing code.
    #[serde(default)]
    pub allow: Vec<String>,
    /// Ids of owners, who may do everything; for a web chat, the name `owner` if none is given; if
    /// no channel has one, the first person to redeem a code becomes owner.
    #[serde(default)]
    pub owners: Vec<String>,
    /// Maps ids of people or platform roles, or `admin` or `owner` of the chat, to `viewer`,
    /// `member`, `approver`, `operator` or `owner`.
    #[serde(default)]
    pub roles: BTreeMap<String, Role>,
    /// Whether each person has their own conversation in groups.
    #[serde(default)]
    pub per_person: bool,
    /// What happens to a message during a turn: `collect` reads it after the current step, `steer`
    /// restarts the model request with it, `interrupt` stops the turn.
    #[serde(default)]
    pub while_busy: BusyPolicy,
    /// Messages that follow within this time are read together; also how long to wait for the rest
    /// of an album or a split paste.
    #[serde(default = "default_debounce")]
    pub debounce: String,
    /// The rate limits for sending: `platform` keeps to what the platform documents, `off` has none
    /// (for test servers), or own limits as messages/duration, such as `private 5/5s, group 20/1m,
    /// bot 1000/1s`; those that are left out stay the platform's.
    #[serde(default = "default_pace")]
    pub pace: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ChannelKind {
    Telegram,
    Discord,
    Web,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ChannelMode {
    #[default]
    Poll,
    Webhook,
}

impl ChannelEntry {
    /// Checks that the keys that this kind of channel requires are set.
    pub(super) fn check(&self) -> Result<()> {
        if let (Some(giver), None) = (self.kind.gives_tokens(), &self.token) {
            bail!("channels.{}.token: is missing; get one from {giver}", self.id);
        }
        if self.public_key.as_ref().is_some_and(|key| !is_public_key(key)) {
            bail!(
                "channels.{}.public_key: is not valid; the developer portal shows it under General \
                    Information, as 64 hexadecimal digits",
                self.id
            );
        }
        let webhook = self.mode == ChannelMode::Webhook;
        if webhook && (self.webhook_url.is_none() || self.webhook_secret.is_none()) {
            bail!("channels.{}: a webhook needs webhook_url and webhook_secret", self.id);
        }
        self.check_origins()
    }

    /// Origins must be written as browsers send them, and only a web chat can be embedded.
    fn check_origins(&self) -> Result<()> {
        if !self.origins.is_empty() && self.kind != ChannelKind::Web {
            bail!("channels.{}.origins: only a channel of the kind web can be embedded", self.id);
        }
        match self.origins.iter().find(|origin| !is_origin(origin)) {
            Some(origin) => bail!(
                "channels.{}.origins: `{origin}` is not an origin; use https://shop.example, \
                    without a path",
                self.id
            ),
            None => Ok(()),
        }
    }

    /// Makes the name in the operator's sign-in link an owner of a web chat, unless the entry names
    /// an owner. Such links are created on the machine, by somebody who has access to everything
    /// anyway.
    pub(super) fn own_by_default(&mut self) {
        let is_owned = self.roles.values().any(|role| *role == Role::Owner);
        if self.is_own_chat() && self.owners.is_empty() && !is_owned {
            self.owners.push(OWNER_NAME.into());
        }
    }

    /// The owner that [`Self::own_by_default`] set. It does not count as configured: the first
    /// person on a platform still becomes an owner.
    pub fn local_owner(&self) -> Option<&str> {
        (self.is_own_chat() && self.owners == [OWNER_NAME]).then_some(OWNER_NAME)
    }

    /// The roles that `roles` and `owners` give, by the id of a person or of a platform role.
    pub fn all_roles(&self) -> BTreeMap<String, Role> {
        let owners = self.owners.iter().map(|id| (id.clone(), Role::Owner));
        self.roles.clone().into_iter().chain(owners).collect()
    }

    /// Whether it is for signed-in people, not for visitors of other sites.
    pub fn is_own_chat(&self) -> bool {
        self.kind == ChannelKind::Web && self.origins.is_empty()
    }
}

fn is_origin(text: &str) -> bool {
    let url = url::Url::parse(text);
    url.is_ok_and(|url| url.has_host() && url.origin().ascii_serialization() == text)
}

impl ChannelKind {
    /// Where to get a token for this platform, if it needs one.
    fn gives_tokens(self) -> Option<&'static str> {
        match self {
            Self::Telegram => Some("@BotFather"),
            Self::Discord => Some("the developer portal (Bot, Reset Token)"),
            Self::Web => None,
        }
    }
}

fn is_public_key(key: &str) -> bool {
    key.trim().len() == 64 && key.trim().bytes().all(|byte| byte.is_ascii_hexdigit())
}

pub(super) fn default_debounce() -> String {
    "1s".into()
}

pub(super) fn default_agent() -> String {
    "default".into()
}
