//! Callback URLs by which a webhook subscriber decides an approval: one signed URL per answer,
//! which works once and expires with the approval. The approval's own policy says who may decide;
//! the subscriber votes as `webhook:<name>`, with the role that the configuration gives it.

use anyhow::Result;
use chrono::DateTime;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

use super::Subscription;
use crate::{
    agent::approvers::Voter,
    gateway::{
        Gateway,
        approvals::{Choice, DecisionOutcome, DecisionReply, decide, platform_roles::RoleSource},
        people::{WEBHOOK, WEBHOOK_ID},
    },
    journal::event::Speaker,
    store::{approvals, channels::inbox},
    texts::Language,
};

/// The signed contents of a callback URL.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct SignedCallback {
    pub approval: String,
    pub choice: CallbackChoice,
    /// When the URL expires, in seconds since the Unix epoch.
    pub until: i64,
    pub seal: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallbackChoice {
    Allow,
    Deny,
}

/// The outcome of a callback.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallbackOutcome {
    Said(DecisionReply),
    /// The URL was already used or has expired.
    Over,
    /// The signature is not valid.
    Unknown,
}

/// The URLs by answer, each for a POST request without a body.
pub(super) fn addresses(
    base: &str,
    name: &str,
    subscription: &Subscription,
    asked: &Value,
) -> BTreeMap<&'static str, String> {
    let approval = asked["approval"].as_str().unwrap_or_default();
    let until = asked["expires_at"].as_str().and_then(|at| DateTime::parse_from_rfc3339(at).ok());
    let (Some(until), Some(key)) = (until, subscription.keys.first()) else {
        return BTreeMap::new();
    };
    let until = until.timestamp();
    let address = |choice: &str| {
        let seal = key.seal(&bound(name, approval, choice, until));
        format!("{base}/hooks/{name}/answers/{approval}/{choice}?until={until}&seal={seal}")
    };
    BTreeMap::from([("allow", address("allow")), ("deny", address("deny"))])
}

fn bound(name: &str, approval: &str, choice: &str, until: i64) -> String {
    format!("answer\n{name}\n{approval}\n{choice}\n{until}")
}

/// Decides as the URL says, through the same code path as any other decision.
pub async fn answer(
    gateway: &Gateway,
    name: &str,
    subscription: &Subscription,
    sealed: SignedCallback,
) -> Result<CallbackOutcome> {
    // The URL is remembered by its seal, which is valid in upper case as well.
    let sealed = SignedCallback { seal: sealed.seal.to_ascii_lowercase(), ..sealed };
    let choice = if sealed.choice == CallbackChoice::Allow { "allow" } else { "deny" };
    let text = bound(name, &sealed.approval, choice, sealed.until);
    let known = subscription.keys.iter().any(|key| key.has_sealed(&text, &sealed.seal));
    let Some(role) = subscription.role.filter(|_| known) else {
        return Ok(CallbackOutcome::Unknown);
    };
    let now = gateway.clock.now();
    if sealed.until <= now.timestamp() {
        return Ok(CallbackOutcome::Over);
    }
    let lookups = RoleSource::new(gateway).before_deciding(&sealed.approval).await?;
    let speaker = Speaker { id: format!("{WEBHOOK_ID}{name}"), name: name.to_owned() };
    let voter = Voter {
        speaker,
        channel: WEBHOOK.into(),
        role: Some(role),
        platform_roles: vec![],
        lookups,
        language: Language::default(),
    };
    let write = gateway.store.write("answer", move |tx| {
        Box::pin(async move {
            let Some(approval) = approvals::by_id(tx, &sealed.approval).await? else {
                return Ok(CallbackOutcome::Unknown);
            };
            if !inbox::first_seen(tx, "answers", &sealed.seal, now).await? {
                return Ok(CallbackOutcome::Over);
            }
            let choice = match sealed.choice {
                CallbackChoice::Allow => Choice::Once,
                CallbackChoice::Deny => Choice::Deny { reason: None },
            };
            let reply = decide(tx, &approval, choice, &voter, now).await?;
            if matches!(reply.outcome, DecisionOutcome::NotNow | DecisionOutcome::RolesUnknown) {
                // Nothing was decided, so the URL still works later.
                inbox::forget(tx, "answers", &sealed.seal).await?;
            }
            Ok(CallbackOutcome::Said(reply))
        })
    });
    write.await
}
