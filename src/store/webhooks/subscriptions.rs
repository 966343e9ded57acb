//! Webhook subscriptions, and the deliveries that are recorded in the transaction of an event.

use anyhow::Result;
use channels::Outgoing;
use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{
    journal::{event::Event, ids::ConversationId},
    store::{Store, Tx, approvals::request::NewApproval, conversations::places, db::sql},
};

/// The topics of a subscription.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub enum Topic {
    #[serde(rename = "approval.asked")]
    ApprovalRequested,
    #[serde(rename = "approval.decided")]
    ApprovalDecided,
    #[serde(rename = "turn.finished")]
    TurnFinished,
    #[serde(rename = "turn.failed")]
    TurnFailed,
    #[serde(rename = "artifact.delivered")]
    ArtifactDelivered,
    #[serde(rename = "channel.up")]
    ChannelUp,
    #[serde(rename = "channel.down")]
    ChannelDown,
    #[serde(rename = "budget.reached")]
    BudgetReached,
}

impl Topic {
    pub fn name(self) -> String {
        json!(self).as_str().unwrap_or_default().to_owned()
    }
}

/// A subscription, by its name in the configuration.
#[derive(Debug, Clone)]
pub struct SubscribedTopics {
    pub name: String,
    pub topics: Vec<Topic>,
}

impl Store {
    /// Replaces the subscriptions.
    pub async fn subscribe(&self, subscriptions: Vec<SubscribedTopics>) -> Result<()> {
        self.write("subscribe", move |tx| Box::pin(subscribe(tx, subscriptions))).await
    }

    /// Adds the subscriptions that a node with another configuration has removed, while this node
    /// still has them. Returns their names.
    pub async fn subscribe_again(
        &self,
        subscriptions: Vec<SubscribedTopics>,
    ) -> Result<Vec<String>> {
        self.write("subscribe again", move |tx| Box::pin(subscribe_again(tx, subscriptions))).await
    }
}

impl SubscribedTopics {
    /// The names between blanks, which the previous release reads as well.
    fn stored_topics(&self) -> String {
        let topics: Vec<_> = self.topics.iter().map(|t| format!(" {} ", t.name())).collect();
        topics.concat()
    }
}

/// There are few subscriptions, and every start replaces them. If the nodes have different
/// configurations, [`subscribe_again`] adds what the others still have.
async fn subscribe(tx: &mut Tx<'_>, subscriptions: Vec<SubscribedTopics>) -> Result<()> {
    sql!(
        tx,
        execute,
        "
        -- unsubscribe all
        DELETE FROM subscriptions"
    );
    for subscription in subscriptions {
        sql!(
            tx,
            execute,
            "
            -- subscribe
            INSERT INTO subscriptions (name, topics)
            VALUES ($1, $2)
            ON CONFLICT (name) DO UPDATE
            SET topics = $2",
            subscription.name.as_str(),
            subscription.stored_topics()
        );
    }
    Ok(())
}

/// Whether there is a subscription with this name.
pub async fn is_known(tx: &mut Tx<'_>, name: &str) -> Result<bool> {
    let found: Option<(String,)> = sql!(
        tx,
        fetch_optional,
        "
        -- subscription by name
        SELECT name FROM subscriptions
        WHERE name = $1",
        name
    );
    Ok(found.is_some())
}

async fn subscribe_again(
    tx: &mut Tx<'_>,
    subscriptions: Vec<SubscribedTopics>,
) -> Result<Vec<String>> {
    let mut added = Vec::new();
    for subscription in subscriptions {
        let inserted = sql!(
            tx,
            execute,
            "
            -- subscribe again
            INSERT INTO subscriptions (name, topics)
            VALUES ($1, $2)
            ON CONFLICT (name) DO NOTHING",
            subscription.name.as_str(),
            subscription.stored_topics()
        );
        added.extend((inserted > 0).then_some(subscription.name));
    }
    Ok(added)
}

/// Removes a subscription that no node has.
pub(super) async fn unsubscribe(tx: &mut Tx<'_>, subscription: &str) -> Result<()> {
    sql!(
        tx,
        execute,
        "
        -- unsubscribe
        DELETE FROM subscriptions
        WHERE name = $1",
        subscription
    );
    Ok(())
}

/// Queues a delivery for each subscriber of the topic.
pub async fn note(tx: &mut Tx<'_>, topic: Topic, data: Value, now: DateTime<Utc>) -> Result<()> {
    for subscription in subscribers(tx, topic).await? {
        queue(tx, &subscription, &topic.name(), &data, now).await?;
    }
    Ok(())
}

/// The subscriptions with this topic.
async fn subscribers(tx: &mut Tx<'_>, topic: Topic) -> Result<Vec<String>> {
    let name = topic.name();
    let subscriptions: Vec<(String, String)> = sql!(
        tx,
        fetch_all,
        "
        -- subscribers
        SELECT name, topics FROM subscriptions"
    );
    let has_topic = |topics: &str| topics.split_whitespace().any(|topic| topic == name);
    let matching = subscriptions.into_iter().filter(|(_, topics)| has_topic(topics));
    Ok(matching.map(|(subscription, _)| subscription).collect())
}

/// The topic of deliveries that operators send to test a subscription. Nobody subscribes to it.
const TEST: &str = "test";

/// Queues a test delivery for a subscription, whatever its topics. Returns whether it exists.
pub async fn test(tx: &mut Tx<'_>, subscription: &str, now: DateTime<Utc>) -> Result<bool> {
    let known: Option<(String,)> = sql!(
        tx,
        fetch_optional,
        "
        -- subscription
        SELECT name FROM subscriptions
        WHERE name = $1",
        subscription
    );
    if known.is_some() {
        queue(tx, subscription, TEST, &json!({}), now).await?;
    }
    Ok(known.is_some())
}

async fn queue(
    tx: &mut Tx<'_>,
    subscription: &str,
    topic: &str,
    data: &Value,
    now: DateTime<Utc>,
) -> Result<()> {
    let body = json!({ "type": topic, "timestamp": now.to_rfc3339(), "data": data });
    sql!(
        tx,
        execute,
        "
        -- insert a webhook delivery
        INSERT INTO notices
            (id, subscription, topic, body, status, attempts, not_before, lease_until, created_at)
        VALUES ($1, $2, $3, $4, 'waiting', 0, 0, 0, $5)",
        format!("msg_{}", uuid::Uuid::now_v7().simple()),
        subscription,
        topic,
        body.to_string(),
        now.timestamp_millis()
    );
    Ok(())
}

/// Queues the deliveries for an event of the journal: ids and outcomes, no text of the dialogue.
pub(in crate::store) async fn of_event(
    tx: &mut Tx<'_>,
    conversation: &ConversationId,
    event: &Event,
    now: DateTime<Utc>,
) -> Result<()> {
    let (topic, data) = match event {
        Event::ApprovalDecided { approval, call, decision, by } => (
            Topic::ApprovalDecided,
            json!({ "approval": approval, "call": call, "decision": decision, "by": by }),
        ),
        Event::Replied { calls, usage, .. } if calls.is_empty() => {
            (Topic::TurnFinished, json!({ "usage": usage }))
        }
        Event::Failed { reason, reference, .. } => {
            (Topic::TurnFailed, json!({ "reason": reason, "reference": reference }))
        }
        _ => return Ok(()),
    };
    note_of(tx, conversation, topic, data, now).await
}

/// The same, with the place where it happened.
async fn note_of(
    tx: &mut Tx<'_>,
    conversation: &ConversationId,
    topic: Topic,
    mut data: Value,
    now: DateTime<Utc>,
) -> Result<()> {
    let subscriptions = subscribers(tx, topic).await?;
    if subscriptions.is_empty() {
        return Ok(());
    }
    let (channel, place) = places::place(tx, conversation).await?;
    data["conversation"] = json!(conversation);
    data["channel"] = json!(channel);
    data["chat"] = json!(place.chat);
    for subscription in subscriptions {
        queue(tx, &subscription, &topic.name(), &data, now).await?;
    }
    Ok(())
}

pub(in crate::store) async fn asked(
    tx: &mut Tx<'_>,
    conversation: &ConversationId,
    asked: &NewApproval,
    now: DateTime<Utc>,
) -> Result<()> {
    let data = json!({
        "approval": asked.id,
        "call": asked.call,
        "asks": asked.asks,
        "tool": asked.tool,
        "arguments": asked.arguments,
        "requester": asked.requester,
        "expires_at": asked.expires_at,
    });
    note_of(tx, conversation, Topic::ApprovalRequested, data, now).await
}

/// Files are reported when they are sent.
pub(in crate::store) async fn shown(
    tx: &mut Tx<'_>,
    conversation: &ConversationId,
    what: &Outgoing,
    now: DateTime<Utc>,
) -> Result<()> {
    let Outgoing::File { name, media_type, size_bytes, digest, .. } = what else { return Ok(()) };
    let data = json!({
        "name": name, "media_type": media_type, "size_bytes": size_bytes, "digest": digest,
    });
    note_of(tx, conversation, Topic::ArtifactDelivered, data, now).await
}

/// Records whether a channel is connected, and queues the deliveries of a change.
pub(in crate::store) async fn channel_is(
    tx: &mut Tx<'_>,
    channel: &str,
    up: bool,
    now: DateTime<Utc>,
) -> Result<()> {
    let changed = sql!(
        tx,
        execute,
        "
        -- channel state
        INSERT INTO channel_states (channel, is_up, since)
        VALUES ($1, $2, $3)
        ON CONFLICT (channel) DO UPDATE
        SET is_up = $2, since = $3
        WHERE channel_states.is_up <> $2",
        channel,
        up,
        now.timestamp_millis()
    );
    if changed > 0 {
        let topic = if up { Topic::ChannelUp } else { Topic::ChannelDown };
        note(tx, topic, json!({ "channel": channel }), now).await?;
    }
    Ok(())
}
