//! Delivers webhooks, signed as Standard Webhooks specifies, with retries until the receiver
//! accepts them.

use anyhow::Result;
use chrono::{DateTime, TimeDelta, Utc};
use reqwest::{
    Method,
    header::{CONTENT_TYPE, HeaderMap, HeaderValue, RETRY_AFTER},
};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use std::{collections::BTreeMap, sync::Arc, time::Duration};

use super::{Subscription, callback, signature::SharedSecret};
use crate::{
    gateway::Gateway,
    store::webhooks::{
        deliveries::{DeliveryAttempt, Notice, Then},
        subscriptions::Topic,
    },
    tools::{
        ToolError,
        web::client::{Ask, Outside, WebResponse},
    },
};

const LOOKS_EVERY: Duration = Duration::from_secs(1);
/// The maximum number of concurrent deliveries, so that slow receivers delay at most this many.
const AT_ONCE: usize = 32;
/// The maximum number of attempts, which span about eight hours.
const TRIES: i64 = 8;
const FIRST_WAIT: TimeDelta = TimeDelta::seconds(5);
/// The longest delay that a receiver can ask for.
const LONGEST_WAIT: TimeDelta = TimeDelta::hours(12);
/// Only the status of a response counts.
const ANSWER_BYTES: usize = 1_024;

/// What webhook deliveries need.
pub struct WebhookSender {
    pub gateway: Arc<Gateway>,
    pub subscriptions: BTreeMap<String, Subscription>,
    pub outside: Outside,
    /// The public URL of this gateway, for callback URLs.
    pub base: String,
}

/// Delivers webhooks until shutdown. Every node looks for deliveries; a node that claims one sends
/// it.
pub async fn tell(webhook_sender: Arc<WebhookSender>) {
    let stop = webhook_sender.gateway.stop.clone();
    while !stop.is_cancelled() {
        match tell_ready(&webhook_sender).await {
            // There may be more.
            Ok(AT_ONCE) => continue,
            Ok(_) => {}
            Err(problem) => {
                tracing::error!(problem = format!("{problem:#}"), "could not deliver webhooks");
            }
        }
        let _ = tokio::time::timeout(LOOKS_EVERY, stop.cancelled()).await;
    }
}

/// Sends all webhook deliveries that are due, once. Returns how many there were.
pub async fn tell_ready(webhook_sender: &WebhookSender) -> Result<usize> {
    let now = webhook_sender.gateway.clock.now();
    let notices = webhook_sender.gateway.store.claim_notices(AT_ONCE, now).await?;
    let told = notices.into_iter().map(|notice| async move {
        let tried = tell_one(webhook_sender, &notice, now).await;
        if tried.then != Then::Delivered {
            let DeliveryAttempt { problem, then, .. } = &tried;
            tracing::warn!(
                webhook.name = notice.subscription,
                problem,
                ?then,
                "could not record a webhook delivery"
            );
        }
        webhook_sender.gateway.store.told(&notice.id, tried, now).await
    });
    let told = futures::future::join_all(told).await;
    told.into_iter().map(|told| told.map(|()| 1)).sum()
}

async fn tell_one(
    webhook_sender: &WebhookSender,
    notice: &Notice,
    now: DateTime<Utc>,
) -> DeliveryAttempt {
    let Some(subscription) = webhook_sender.subscriptions.get(&notice.subscription) else {
        let problem = "the configuration no longer names this subscription".to_owned();
        return DeliveryAttempt { then: Then::Dead, status: None, problem };
    };
    let body = body(webhook_sender, notice, subscription);
    let ask = Ask {
        method: Method::POST,
        url: subscription.url.clone(),
        headers: signed(&notice.id, &subscription.keys, now, &body),
        body: Some(body.into()),
        at_most_bytes: ANSWER_BYTES,
    };
    outcome(notice, webhook_sender.outside.send(ask).await, now)
}

fn signed(id: &str, keys: &[SharedSecret], now: DateTime<Utc>, body: &str) -> HeaderMap {
    let signatures: Vec<_> = keys.iter().map(|key| key.sign(id, now, body.as_bytes())).collect();
    let value = |text: &str| HeaderValue::from_str(text).expect("ASCII without control characters");
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, value("application/json"));
    headers.insert("webhook-id", value(id));
    headers.insert("webhook-timestamp", value(&now.timestamp().to_string()));
    headers.insert("webhook-signature", value(&signatures.join(" ")));
    headers
}

/// The body, which is the same for each attempt. Subscribers who may decide an approval also get
/// its callback URLs.
fn body(webhook_sender: &WebhookSender, notice: &Notice, subscription: &Subscription) -> String {
    let asks = notice.topic == Topic::ApprovalAsked.name() && subscription.role.is_some();
    let told: Option<Value> = serde_json::from_str(&notice.body).ok().filter(|_| asks);
    let Some(mut told) = told else { return notice.body.clone() };
    let answers = callback::addresses(
        &webhook_sender.base,
        &notice.subscription,
        subscription,
        &told["data"],
    );
    told["data"]["answers"] = json!(answers);
    told.to_string()
}

fn outcome(
    notice: &Notice,
    answered: Result<WebResponse, ToolError>,
    now: DateTime<Utc>,
) -> DeliveryAttempt {
    let (status, problem, after) = match answered {
        Ok(answer) if answer.status.is_success() => {
            let status = Some(answer.status.as_u16());
            return DeliveryAttempt { then: Then::Delivered, status, problem: String::new() };
        }
        Ok(answer) => {
            let after = answer.headers.get(RETRY_AFTER).and_then(|after| after.to_str().ok());
            let after = after.and_then(|after| after.parse().ok()).map(TimeDelta::seconds);
            (Some(answer.status.as_u16()), format!("answered {}", answer.status), after)
        }
        Err(problem) => (None, problem.to_string(), None),
    };
    // 410 Gone: the receiver no longer wants deliveries.
    let over = status == Some(410) || notice.attempts >= TRIES;
    let wait = after.unwrap_or_default().clamp(wait(notice), LONGEST_WAIT);
    let then = if over { Then::Dead } else { Then::Again(now + wait) };
    DeliveryAttempt { then, status, problem }
}

/// The delay grows fourfold with each attempt, with a jitter of 20 %, so that deliveries that
/// failed together are not retried together.
fn wait(notice: &Notice) -> TimeDelta {
    let doubled = 1 << (2 * (notice.attempts - 1).clamp(0, TRIES));
    let jitter = Sha256::digest(format!("{} {}", notice.id, notice.attempts))[0];
    FIRST_WAIT * doubled * (800 + i32::from(jitter) * 400 / 255) / 1_000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_and_differ() {
        let wait = |id: &str, attempts| {
            let (topic, body) = (String::new(), String::new());
            let notice = Notice { id: id.into(), subscription: "s".into(), topic, body, attempts };
            wait(&notice)
        };
        for attempts in 1..TRIES {
            let usual = FIRST_WAIT * (1 << (2 * (attempts - 1)));
            for id in ["a", "b", "c"] {
                let own = wait(id, attempts);
                assert!(own >= usual * 8 / 10 && own <= usual * 12 / 10, "{attempts}: {own}");
            }
            assert_ne!(wait("a", attempts), wait("b", attempts));
        }
        let all: TimeDelta = (1..TRIES).map(|attempts| wait("a", attempts)).sum();
        assert!(all > TimeDelta::hours(6) && all < TimeDelta::hours(10), "{all}");
    }
}
