//! Incoming webhooks and webhook subscriptions.

use anyhow::{Context as _, Result};
use channels::{Place, PlaceKind};
use schemars::JsonSchema;
use secrecy::ExposeSecret as _;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

use super::{Config, secret::Secret};
use crate::{
    gateway::webhooks::{
        Subscription,
        incoming::{IncomingWebhook, Target, WebhookSource},
        signature::{SharedSecret, Verify},
    },
    journal::{event::Speaker, role::Role},
    store::webhooks::subscriptions::Topic,
};

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WebhookInEntry {
    /// The name, which is part of the path: requests are received at `<admin.listen>/hooks/<name>`.
    pub name: String,
    /// How requests are signed: `standard` (Standard Webhooks), `github`, `gitlab`, `stripe` or
    /// `slack`.
    #[serde(default)]
    pub verify: Verify,
    /// The signing secret; without it, the route does not exist.
    pub secret: Option<Secret>,
    /// The previous secret, still accepted while set (for rotation).
    pub previous_secret: Option<Secret>,
    /// The id of a channel.
    pub channel: String,
    /// The chat in which a turn starts.
    pub chat: String,
    /// The topic or thread in it.
    pub thread: Option<String>,
    /// Whether a new chat is a group.
    #[serde(default)]
    pub group: bool,
    /// Numeric platform id of the person on whose behalf the agent acts.
    #[schemars(extend("x-default" = "the value of webhooks_in.chat"))]
    pub person: Option<String>,
    /// The text for the agent, as a Jinja template of `payload`, `headers` and `name`; by default
    /// the payload as JSON.
    #[serde(default = "everything")]
    pub template: String,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WebhookOutEntry {
    /// The name of the subscription in the audit and in logs.
    pub name: String,
    /// The URL of the receiver; a private host must be listed in `web.allowed_private_hosts`.
    pub url: url::Url,
    /// The signing secret by Standard Webhooks: `whsec_…`, as a secret.
    pub secret: Secret,
    /// The previous secret, which also signs while set (for rotation).
    pub previous_secret: Option<Secret>,
    /// The events that it receives: `approval.asked`, `approval.decided`, `turn.finished`,
    /// `turn.failed`, `artifact.delivered`, `channel.up`, `channel.down`, `budget.reached`.
    pub topics: Vec<Topic>,
    /// The role with which it may decide approvals, through callback URLs; without a role, it may
    /// not decide.
    pub role: Option<Role>,
}

/// The subscriptions, by name.
pub fn subscriptions(
    config: &Config,
    variables: &BTreeMap<String, String>,
) -> Result<BTreeMap<String, Subscription>> {
    let subscription = |entry: &WebhookOutEntry| {
        let secrets = [&Some(entry.secret.clone()), &entry.previous_secret];
        let keys = keys(Verify::Standard, secrets, variables)
            .with_context(|| format!("webhooks_out.{}", entry.name))?;
        let (url, topics) = (entry.url.clone(), entry.topics.clone());
        Ok((entry.name.clone(), Subscription { url, topics, keys, role: entry.role }))
    };
    config.webhooks_out.iter().map(subscription).collect()
}

fn everything() -> String {
    "{{ payload | tojson(indent=2) }}".into()
}

/// The incoming webhooks, by name. Those without a secret are skipped.
pub fn incoming(
    config: &Config,
    variables: &BTreeMap<String, String>,
) -> Result<BTreeMap<String, IncomingWebhook>> {
    let mut incoming_webhooks = BTreeMap::new();
    for entry in &config.webhooks_in {
        let at = || format!("webhooks_in.{}", entry.name);
        let keys = keys(entry.verify, [&entry.secret, &entry.previous_secret], variables);
        let keys = keys.with_context(at)?;
        if entry.secret.is_none() {
            tracing::warn!(webhook.name = entry.name, "incoming webhook skipped: no secret");
            continue;
        }
        incoming_webhooks.insert(entry.name.clone(), entry.webhook(keys).with_context(at)?);
    }
    Ok(incoming_webhooks)
}

impl Config {
    /// The signing secrets of webhooks.
    pub fn webhook_secrets(&self) -> impl Iterator<Item = &Secret> {
        let taken = self.webhooks_in.iter().flat_map(|hook| [&hook.secret, &hook.previous_secret]);
        let outgoing = self.webhooks_out.iter();
        let outgoing =
            outgoing.flat_map(|hook| [Some(&hook.secret), hook.previous_secret.as_ref()]);
        taken.map(Option::as_ref).chain(outgoing).flatten()
    }
}

impl WebhookInEntry {
    fn webhook(&self, keys: Vec<SharedSecret>) -> Result<IncomingWebhook> {
        let kind = if self.group { PlaceKind::Group } else { PlaceKind::Private };
        let place = Place { chat: self.chat.clone(), thread: self.thread.clone(), kind };
        let person = self.person.clone().unwrap_or_else(|| self.chat.clone());
        let by = Speaker { id: person, name: self.name.clone() };
        let sender = WebhookSource { name: self.name.clone(), verify: self.verify, keys };
        let target = Target { channel: self.channel.clone(), place, by };
        IncomingWebhook::with_template(sender, target, &self.template)
    }
}

/// The current secret and the previous one, if set.
pub(super) fn keys(
    verify: Verify,
    secrets: [&Option<Secret>; 2],
    variables: &BTreeMap<String, String>,
) -> Result<Vec<SharedSecret>> {
    let named = ["secret", "previous_secret"].into_iter().zip(secrets);
    let named = named.filter_map(|(name, secret)| Some((name, secret.as_ref()?)));
    let key = |(name, secret): (&'static str, &Secret)| {
        let text = secret.reveal(variables).context(name)?;
        let text = text.expose_secret();
        match verify {
            Verify::Standard => SharedSecret::standard(text).with_context(|| {
                format!(
                    "{name}: must be a Standard Webhooks secret: whsec_ and at least 16 bytes in \
                        base64"
                )
            }),
            _ => Ok(SharedSecret::plain(text)),
        }
    };
    named.map(key).collect()
}
