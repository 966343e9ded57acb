//! Delivers webhooks, signed as Standard Webhooks specifies, with retries until the receiver
//! accepts them.

use anyhow::Result;
use chrono::{DateTime, TimeDelta, Utc};
use futures::FutureExt as _;
use reqwest::{
    Method,
    header::{CONTENT_TYPE, HeaderMap, HeaderValue},
};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use std::{collections::BTreeMap, panic::AssertUnwindSafe, sync::Arc, time::Duration};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

use super::{Subscription, callback, signature::SharedSecret};
use crate::{
    gateway::Gateway,
    retry_after::retry_after,
    store::webhooks::{
        deliveries::{DeliveryAttempt, DeliveryShare, DeliveryState, DueDelivery},
        subscriptions::{SubscribedTopics, Topic},
    },
    tools::{
        ToolError,
        web::client::{WebClient, WebRequest, WebResponse},
    },
};

const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// The maximum number of concurrent deliveries of a subscription, so that a slow receiver delays
/// only its own.
const AT_ONCE: usize = 16;
/// The maximum number of attempts, which span about eight hours.
const TRIES: i64 = 8;
const FIRST_WAIT: TimeDelta = TimeDelta::seconds(5);
/// The longest delay, also if a receiver asks for a longer one.
const LONGEST_WAIT: TimeDelta = TimeDelta::hours(12);
/// Only the status of a response counts.
const ANSWER_BYTES: usize = 1_024;
/// How often the stored subscriptions are compared with the configuration.
const CHECK_INTERVAL: TimeDelta = TimeDelta::minutes(1);
/// How long deliveries that are due wait for a node that has their subscription, also after the last
/// such node has stopped.
const UNKNOWN_FOR: TimeDelta = TimeDelta::hours(1);

/// What webhook deliveries need.
pub struct WebhookSender {
    pub gateway: Arc<Gateway>,
    pub subscriptions: BTreeMap<String, Subscription>,
    pub web_client: WebClient,
    /// The public URL of this gateway, for callback URLs.
    pub base: String,
}

impl WebhookSender {
    /// The topics of each subscription.
    pub fn topics(&self) -> Vec<SubscribedTopics> {
        let topics = |(name, one): (&String, &Subscription)| SubscribedTopics {
            name: name.clone(),
            topics: one.topics.clone(),
        };
        self.subscriptions.iter().map(topics).collect()
    }
}

/// Delivers webhooks until shutdown. Every node looks for deliveries of its subscriptions; a node
/// that claims one sends it.
pub async fn deliver(webhook_sender: Arc<WebhookSender>) {
    let gateway = &webhook_sender.gateway;
    let permits = DeliveryPermits::new(&webhook_sender);
    let mut checks_at = gateway.clock.now();
    while !gateway.stop.is_cancelled() {
        if gateway.clock.now() >= checks_at {
            checks_at = gateway.clock.now() + CHECK_INTERVAL;
            if let Err(problem) = check_subscriptions(&webhook_sender).await {
                let problem = format!("{problem:#}");
                tracing::error!(problem, "could not check the webhook subscriptions");
            }
        }
        if let Err(problem) = begin_due(&webhook_sender, &permits).await {
            let problem = format!("{problem:#}");
            tracing::error!(problem, "could not claim webhook deliveries");
        }
        tokio::select! {
            () = gateway.stop.cancelled() => {}
            _ = tokio::time::timeout(POLL_INTERVAL, permits.freed.notified()) => {}
        }
    }
}

/// The permits of each subscription.
struct DeliveryPermits {
    permits: BTreeMap<String, Arc<Semaphore>>,
    /// Notified when a delivery has ended.
    freed: Arc<Notify>,
}

impl DeliveryPermits {
    fn new(webhook_sender: &WebhookSender) -> Self {
        let names = webhook_sender.subscriptions.keys().cloned();
        let permits = names.map(|name| (name, Arc::new(Semaphore::new(AT_ONCE)))).collect();
        Self { permits, freed: Arc::default() }
    }

    /// As many deliveries of each subscription as it has free permits.
    fn shares(&self) -> Vec<DeliveryShare> {
        let share = |(name, permits): (&String, &Arc<Semaphore>)| DeliveryShare {
            subscription: name.clone(),
            limit: permits.available_permits(),
        };
        self.permits.iter().map(share).filter(|share| share.limit > 0).collect()
    }

    fn take(&self, subscription: &str) -> Option<OwnedSemaphorePermit> {
        self.permits.get(subscription)?.clone().try_acquire_owned().ok()
    }
}

/// Begins to send the deliveries that are due, as far as there are permits.
async fn begin_due(webhook_sender: &Arc<WebhookSender>, permits: &DeliveryPermits) -> Result<()> {
    let gateway = &webhook_sender.gateway;
    let now = gateway.clock.now();
    for delivery in gateway.store.claim_webhook_deliveries(permits.shares(), now).await? {
        let (permit, freed) = (permits.take(&delivery.subscription), permits.freed.clone());
        let webhook_sender = webhook_sender.clone();
        gateway.tasks.spawn(async move {
            deliver_one(&webhook_sender, delivery).await;
            drop(permit);
            freed.notify_one();
        });
    }
    Ok(())
}

/// Sends all webhook deliveries that are due, once. Returns how many there were.
#[cfg(any(test, feature = "testing"))]
pub async fn deliver_due_webhooks(webhook_sender: &WebhookSender) -> Result<usize> {
    let gateway = &webhook_sender.gateway;
    let shares = DeliveryPermits::new(webhook_sender).shares();
    let due = gateway.store.claim_webhook_deliveries(shares, gateway.clock.now()).await?;
    let sends = due.into_iter().map(|delivery| deliver_one(webhook_sender, delivery));
    Ok(futures::future::join_all(sends).await.len())
}

/// While a new configuration reaches one node after the other, each node goes on with the
/// subscriptions that it has: it adds those that another node has removed, and announces them. It
/// leaves the deliveries of others to the nodes that have them, until none has announced them for
/// [`UNKNOWN_FOR`].
pub async fn check_subscriptions(webhook_sender: &WebhookSender) -> Result<()> {
    let gateway = &webhook_sender.gateway;
    for name in gateway.store.subscribe_again(webhook_sender.topics()).await? {
        tracing::warn!(
            webhook.name = name,
            "subscribed again: a node with another configuration had removed the subscription"
        );
    }
    let names = webhook_sender.subscriptions.keys().cloned().collect();
    let now = gateway.clock.now();
    gateway.store.announce_subscriptions(names, now + UNKNOWN_FOR).await?;
    for name in gateway.store.give_up_webhook_deliveries(now - UNKNOWN_FOR, now).await? {
        tracing::warn!(
            webhook.name = name,
            "gave up webhook deliveries: no node has the subscription in its configuration"
        );
    }
    Ok(())
}

async fn deliver_one(webhook_sender: &WebhookSender, delivery: DueDelivery) {
    let gateway = &webhook_sender.gateway;
    let Some(subscription) = webhook_sender.subscriptions.get(&delivery.subscription) else {
        return;
    };
    let sent = attempt(webhook_sender, subscription, &delivery);
    let tried = AssertUnwindSafe(sent).catch_unwind().await.unwrap_or_else(|_panic| {
        let problem = "the delivery panicked; the log has the message".to_owned();
        let refusal = Refusal { status: None, problem, after: None };
        failed(&delivery, refusal, gateway.clock.now())
    });
    if tried.state != DeliveryState::Delivered {
        let DeliveryAttempt { problem, state, .. } = &tried;
        tracing::warn!(
            webhook.name = delivery.subscription,
            problem,
            ?state,
            "could not deliver a webhook"
        );
    }
    let now = gateway.clock.now();
    if let Err(problem) = gateway.store.record_delivery_attempt(&delivery.id, tried, now).await {
        let problem = format!("{problem:#}");
        // The lease will expire, and the delivery will be sent again with the same id.
        tracing::error!(
            webhook.name = delivery.subscription,
            problem,
            "could not record a webhook delivery"
        );
    }
}

async fn attempt(
    webhook_sender: &WebhookSender,
    subscription: &Subscription,
    delivery: &DueDelivery,
) -> DeliveryAttempt {
    let clock = &webhook_sender.gateway.clock;
    let body = body(webhook_sender, delivery, subscription);
    let ask = WebRequest {
        method: Method::POST,
        url: subscription.url.clone(),
        headers: signed(&delivery.id, &subscription.keys, clock.now(), &body),
        body: Some(body.into()),
        max_bytes: ANSWER_BYTES,
    };
    let answered = webhook_sender.web_client.send(ask).await;
    // The delay until the next attempt begins when this one has ended.
    outcome(delivery, answered, clock.now())
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
fn body(
    webhook_sender: &WebhookSender,
    delivery: &DueDelivery,
    subscription: &Subscription,
) -> String {
    let asks = delivery.topic == Topic::ApprovalRequested.name() && subscription.role.is_some();
    let payload: Option<Value> = serde_json::from_str(&delivery.body).ok().filter(|_| asks);
    let Some(mut payload) = payload else { return delivery.body.clone() };
    let answers = callback::addresses(
        &webhook_sender.base,
        &delivery.subscription,
        subscription,
        &payload["data"],
    );
    payload["data"]["answers"] = json!(answers);
    payload.to_string()
}

fn outcome(
    delivery: &DueDelivery,
    answered: Result<WebResponse, ToolError>,
    now: DateTime<Utc>,
) -> DeliveryAttempt {
    let answer = match answered {
        Ok(answer) => answer,
        Err(problem) => {
            let problem = problem.to_string();
            return failed(delivery, Refusal { status: None, problem, after: None }, now);
        }
    };
    let status = Some(answer.status.as_u16());
    if answer.status.is_success() {
        return DeliveryAttempt { state: DeliveryState::Delivered, status, problem: String::new() };
    }
    let problem = format!("answered {}", answer.status);
    // The delay comes from the receiver and may be of any length.
    let after = retry_after(&answer.headers, Some(now))
        .map(|after| TimeDelta::from_std(after).unwrap_or(LONGEST_WAIT));
    failed(delivery, Refusal { status, problem, after }, now)
}

/// Why an attempt failed, and how long the receiver asks to wait.
struct Refusal {
    status: Option<u16>,
    problem: String,
    after: Option<TimeDelta>,
}

fn failed(delivery: &DueDelivery, refusal: Refusal, now: DateTime<Utc>) -> DeliveryAttempt {
    let Refusal { status, problem, after } = refusal;
    // 410 Gone: the receiver no longer wants deliveries.
    if status == Some(410) || delivery.attempts >= TRIES {
        return DeliveryAttempt { state: DeliveryState::Dead, status, problem };
    }
    let wait = after.unwrap_or_default().max(wait(delivery)).min(LONGEST_WAIT);
    DeliveryAttempt { state: DeliveryState::Retry(now + wait), status, problem }
}

/// The delay grows fourfold with each attempt, with a jitter of 20 %, so that deliveries that
/// failed together are not retried together.
fn wait(delivery: &DueDelivery) -> TimeDelta {
    let doubled = 1 << (2 * (delivery.attempts - 1).clamp(0, TRIES));
    let jitter = Sha256::digest(format!("{} {}", delivery.id, delivery.attempts))[0];
    (FIRST_WAIT * doubled * (800 + i32::from(jitter) * 400 / 255) / 1_000).min(LONGEST_WAIT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use reqwest::{StatusCode, header::HeaderName};

    fn delivery(id: &str, attempts: i64) -> DueDelivery {
        let (topic, body) = (String::new(), String::new());
        DueDelivery { id: id.into(), subscription: "s".into(), topic, body, attempts }
    }

    /// The time of the next attempt after a response with these headers.
    fn retried_at(
        delivery: &DueDelivery,
        headers: &[(&'static str, &str)],
        now: DateTime<Utc>,
    ) -> DateTime<Utc> {
        let headers = headers.iter().map(|&(name, value)| {
            (HeaderName::from_static(name), HeaderValue::from_str(value).unwrap())
        });
        let url = "https://hooks.example.org".parse().unwrap();
        let (status, headers) = (StatusCode::SERVICE_UNAVAILABLE, headers.collect());
        let answer = WebResponse { url, status, headers, body: vec![], is_cut: false };
        match outcome(delivery, Ok(answer), now).state {
            DeliveryState::Retry(at) => at,
            other => panic!("attempt {} is retried: {other:?}", delivery.attempts),
        }
    }

    /// A receiver may give a date. It is compared with the receiver's own time, if it gives that.
    #[test]
    fn a_date_in_retry_after_counts() {
        let now: DateTime<Utc> = "2026-11-21T10:00:00Z".parse().unwrap();
        let first = delivery("a", 1);
        let after = |headers: &[(&'static str, &str)]| retried_at(&first, headers, now) - now;
        let noon = ("retry-after", "Sat, 21 Nov 2026 12:00:00 GMT");
        assert_eq!(after(&[noon]), TimeDelta::hours(2));
        let date = ("date", "Sat, 21 Nov 2026 11:00:00 GMT");
        assert_eq!(after(&[noon, date]), TimeDelta::hours(1));
        let past = ("retry-after", "Sat, 21 Nov 2026 09:00:00 GMT");
        assert_eq!(after(&[past]), wait(&first));
        let far = ("retry-after", "Sun, 22 Nov 2026 12:00:00 GMT");
        assert_eq!(after(&[far]), LONGEST_WAIT);
    }

    /// A response cannot make the delay longer than the longest one, or shorter than the usual
    /// one, whatever number it contains.
    #[test]
    fn any_number_of_seconds_is_bounded() {
        let now = DateTime::UNIX_EPOCH;
        for seconds in [i64::MIN, -1, 0, 1, i64::MAX / 1_000, i64::MAX] {
            for attempts in 1..TRIES {
                let delivery = delivery("a", attempts);
                let seconds = seconds.to_string();
                let at = retried_at(&delivery, &[("retry-after", seconds.as_str())], now);
                assert!((wait(&delivery)..=LONGEST_WAIT).contains(&(at - now)), "{seconds}: {at}");
            }
        }
        for attempts in [TRIES, TRIES + 1, i64::MAX] {
            let refused = Err(ToolError::ExternalService("no".into()));
            assert_eq!(outcome(&delivery("a", attempts), refused, now).state, DeliveryState::Dead);
        }
    }

    #[test]
    fn waits_grow_and_differ() {
        let wait = |id: &str, attempts| wait(&delivery(id, attempts));
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
