//! Sends notifications of approval requests that this node shows in the web chat.

use anyhow::{Context as _, Result};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use channels::{Outgoing, web::WebShown};
use reqwest::{
    Method, StatusCode,
    header::{AUTHORIZATION, CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderValue},
};
use serde_json::json;
use sha2::{Digest as _, Sha256};
use std::sync::Arc;
use tokio::{sync::broadcast::error::RecvError, task::JoinSet};

use super::{Push, browser_keys, message};
use crate::{
    admin::Admin,
    store::people::push_subscriptions::{self, PushSubscription, SessionSubscription},
    texts::Language,
    tools::web::client::WebRequest,
};

/// The maximum number of requests whose notifications are sent at the same time. More wait in the
/// queue of the channel, which drops the oldest ones if it is full.
const AT_ONCE: usize = 16;
/// How long a push service keeps a notification for a browser that is not connected, in seconds.
const KEPT_FOR: &str = "1800";
/// Only the status of a response counts.
const ANSWER_BYTES: usize = 1_024;
/// The length of a topic, by which a newer notification replaces one that was not delivered yet.
const TOPIC_CHARS: usize = 32;

/// Sends notifications until shutdown.
pub async fn notify(admin: Arc<Admin>) {
    let (Some(_), Some((_, web))) = (admin.push.as_ref(), admin.web()) else { return };
    let mut shown = web.subscribe();
    let mut sending = JoinSet::new();
    loop {
        tokio::select! {
            () = admin.stop.cancelled() => return,
            Some(_) = sending.join_next(), if !sending.is_empty() => {}
            next = shown.recv(), if sending.len() < AT_ONCE => match next {
                Ok(shown) if is_new_request(&shown) => {
                    let admin = admin.clone();
                    sending.spawn(async move { send(&admin, shown).await });
                }
                Ok(_) => {}
                Err(RecvError::Lagged(count)) => {
                    tracing::warn!(count, "fell behind; some push notifications were not sent");
                }
                Err(RecvError::Closed) => return,
            },
        }
    }
}

/// Whether this shows an approval request for the first time.
fn is_new_request(shown: &WebShown) -> bool {
    matches!(shown.what, Outgoing::Approval { .. }) && shown.replaces.is_none()
}

/// Notifies all browsers of the person.
async fn send(admin: &Admin, shown: WebShown) {
    let Some(push) = &admin.push else { return };
    let WebShown { chat: person, thread, .. } = shown;
    let subscriptions = match subscriptions(admin, &person).await {
        Ok(subscriptions) => subscriptions,
        Err(problem) => {
            let problem = format!("{problem:#}");
            return tracing::error!(problem, "could not read push subscriptions");
        }
    };
    let sends = subscriptions.into_iter().map(|one| {
        let (person, thread) = (person.as_str(), thread.as_deref());
        async move {
            if let Err(problem) = send_one(admin, push, Notice { person, thread }, &one).await {
                let host =
                    push.endpoint(&one.endpoint).and_then(|url| url.host_str().map(str::to_owned));
                let problem = format!("{problem:#}");
                tracing::warn!(push.host = host, problem, "could not send a notification");
            }
        }
    });
    futures::future::join_all(sends).await;
}

/// The subscriptions of sessions that are still valid.
async fn subscriptions(admin: &Admin, person: &str) -> Result<Vec<PushSubscription>> {
    let (person, now) = (person.to_owned(), admin.gateway.clock.now());
    let read = admin.gateway.store.read(move |tx| {
        Box::pin(async move { push_subscriptions::of_person(tx, &person, now).await })
    });
    let is_valid = |one: &SessionSubscription| {
        one.session.claims.is_none() || admin.oidc_role(&one.session).is_some()
    };
    let valid = read.await?.into_iter().filter(is_valid);
    Ok(valid.map(|one| one.subscription).collect())
}

/// Who is notified, and of which conversation.
#[derive(Clone, Copy)]
struct Notice<'a> {
    person: &'a str,
    thread: Option<&'a str>,
}

async fn send_one(
    admin: &Admin,
    push: &Push,
    notice: Notice<'_>,
    to: &PushSubscription,
) -> Result<()> {
    let url = push.endpoint(&to.endpoint).context("the address is not allowed any more")?;
    let keys = browser_keys(to).context("the keys of the browser are not valid")?;
    let text = text(admin, notice, &to.language);
    let body = message::encrypted(&keys, text.as_bytes())?;
    let (store, now) = (&admin.gateway.store, admin.gateway.clock.now());
    let contact = push.contact.as_deref();
    let authorization = push.key(store).await?.authorization(&url, contact, now)?;
    let headers = headers(&authorization, notice)?;
    let ask = WebRequest {
        method: Method::POST,
        url,
        headers,
        body: Some(body.into()),
        max_bytes: ANSWER_BYTES,
    };
    let status = push.web_client.send(ask).await?.status;
    if matches!(status, StatusCode::NOT_FOUND | StatusCode::GONE) {
        // The browser has ended the subscription.
        let (person, endpoint) = (notice.person.to_owned(), to.endpoint.clone());
        let remove = store.write("remove push subscription", move |tx| {
            Box::pin(async move { push_subscriptions::remove(tx, &person, &endpoint).await })
        });
        return remove.await;
    }
    anyhow::ensure!(status.is_success(), "the push service answered {status}");
    Ok(())
}

/// What the browser shows, as JSON. It may appear on a lock screen, so it reveals nothing about the
/// request.
fn text(admin: &Admin, notice: Notice<'_>, language: &str) -> String {
    let words = &Language::of(Some(language)).words().page;
    let url = notice.thread.map_or("/".to_owned(), |thread| format!("/?conversation={thread}"));
    json!({ "title": admin.bot, "body": words.approval_waits, "url": url }).to_string()
}

fn headers(authorization: &str, notice: Notice<'_>) -> Result<HeaderMap> {
    let thread = notice.thread.unwrap_or_default();
    let topic = Sha256::digest(format!("{} {thread}", notice.person));
    let topic = &URL_SAFE_NO_PAD.encode(topic)[..TOPIC_CHARS];
    let mut headers = HeaderMap::new();
    headers.insert(AUTHORIZATION, HeaderValue::from_str(authorization)?);
    headers.insert(CONTENT_ENCODING, HeaderValue::from_static("aes128gcm"));
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
    headers.insert("ttl", HeaderValue::from_static(KEPT_FOR));
    headers.insert("urgency", HeaderValue::from_static("high"));
    headers.insert("topic", HeaderValue::from_str(topic)?);
    Ok(headers)
}
