//! Tells other programs what happens here, signed by Standard Webhooks, until they have taken it.

use anyhow::Result;
use chrono::{DateTime, TimeDelta, Utc};
use reqwest::{
    Method,
    header::{CONTENT_TYPE, HeaderMap, HeaderValue, RETRY_AFTER},
};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use std::{collections::BTreeMap, sync::Arc, time::Duration};

use super::{Subscription, callback, signature::Key};
use crate::{
    gateway::Gateway,
    store::{
        subscriptions::Topic,
        webhook_deliveries::{Notice, Then, Tried},
    },
    tools::{
        ToolError,
        web::client::{Answer, Ask, Outside},
    },
};

const LOOKS_EVERY: Duration = Duration::from_secs(1);
/// What is told at once; a slow receiver holds so many up.
const AT_ONCE: usize = 32;
/// From the first try to the last it takes about eight hours.
const TRIES: i64 = 8;
const FIRST_WAIT: TimeDelta = TimeDelta::seconds(5);
/// The longest wait that a receiver can ask for.
const LONGEST_WAIT: TimeDelta = TimeDelta::hours(12);
/// Of an answer, only the status counts.
const ANSWER_BYTES: usize = 1_024;

/// What is needed to tell.
pub struct Teller {
    pub gateway: Arc<Gateway>,
    pub subscriptions: BTreeMap<String, Subscription>,
    pub outside: Outside,
    /// Where this gateway is reached, for addresses at which questions are answered.
    pub base: String,
}

/// Tells, until the stop. Every node looks; whoever claims a notice tells it.
pub async fn tell(teller: Arc<Teller>) {
    let stop = teller.gateway.stop.clone();
    while !stop.is_cancelled() {
        match tell_ready(&teller).await {
            // There may be more.
            Ok(AT_ONCE) => continue,
            Ok(_) => {}
            Err(problem) => {
                tracing::error!(problem = format!("{problem:#}"), "other programs are not told");
            }
        }
        let _ = tokio::time::timeout(LOOKS_EVERY, stop.cancelled()).await;
    }
}

/// Tells what can be told now, once; how much that was.
pub async fn tell_ready(teller: &Teller) -> Result<usize> {
    let now = teller.gateway.clock.now();
    let notices = teller.gateway.store.claim_notices(AT_ONCE, now).await?;
    let told = notices.into_iter().map(|notice| async move {
        let tried = tell_one(teller, &notice, now).await;
        if tried.then != Then::Delivered {
            let Tried { problem, then, .. } = &tried;
            tracing::warn!(webhook.name = notice.subscription, problem, ?then, "not told");
        }
        teller.gateway.store.told(&notice.id, tried, now).await
    });
    let told = futures::future::join_all(told).await;
    told.into_iter().map(|told| told.map(|()| 1)).sum()
}

async fn tell_one(teller: &Teller, notice: &Notice, now: DateTime<Utc>) -> Tried {
    let Some(subscription) = teller.subscriptions.get(&notice.subscription) else {
        let problem = "the configuration does not name this subscription any more".to_owned();
        return Tried { then: Then::Dead, status: None, problem };
    };
    let body = body(teller, notice, subscription);
    let ask = Ask {
        method: Method::POST,
        url: subscription.url.clone(),
        headers: signed(&notice.id, &subscription.keys, now, &body),
        body: Some(body.into()),
        at_most_bytes: ANSWER_BYTES,
    };
    outcome(notice, teller.outside.send(ask).await, now)
}

fn signed(id: &str, keys: &[Key], now: DateTime<Utc>, body: &str) -> HeaderMap {
    let signatures: Vec<_> = keys.iter().map(|key| key.sign(id, now, body.as_bytes())).collect();
    let value = |text: &str| HeaderValue::from_str(text).expect("ASCII without control characters");
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, value("application/json"));
    headers.insert("webhook-id", value(id));
    headers.insert("webhook-timestamp", value(&now.timestamp().to_string()));
    headers.insert("webhook-signature", value(&signatures.join(" ")));
    headers
}

/// The same at every try. Who may decide a question is told where.
fn body(teller: &Teller, notice: &Notice, subscription: &Subscription) -> String {
    let asks = notice.topic == Topic::ApprovalAsked.name() && subscription.role.is_some();
    let told: Option<Value> = serde_json::from_str(&notice.body).ok().filter(|_| asks);
    let Some(mut told) = told else { return notice.body.clone() };
    let answers =
        callback::addresses(&teller.base, &notice.subscription, subscription, &told["data"]);
    told["data"]["answers"] = json!(answers);
    told.to_string()
}

fn outcome(notice: &Notice, answered: Result<Answer, ToolError>, now: DateTime<Utc>) -> Tried {
    let (status, problem, after) = match answered {
        Ok(answer) if answer.status.is_success() => {
            let status = Some(answer.status.as_u16());
            return Tried { then: Then::Delivered, status, problem: String::new() };
        }
        Ok(answer) => {
            let after = answer.headers.get(RETRY_AFTER).and_then(|after| after.to_str().ok());
            let after = after.and_then(|after| after.parse().ok()).map(TimeDelta::seconds);
            (Some(answer.status.as_u16()), format!("answered {}", answer.status), after)
        }
        Err(problem) => (None, problem.to_string(), None),
    };
    // 410: whoever was there does not want to hear any more.
    let over = status == Some(410) || notice.attempts >= TRIES;
    let wait = after.unwrap_or_default().clamp(wait(notice), LONGEST_WAIT);
    let then = if over { Then::Dead } else { Then::Again(now + wait) };
    Tried { then, status, problem }
}

/// Four times as long after each try, give or take a fifth, so that what has failed together does
/// not come back together.
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
