//! Web Push: notifies the browsers of a person that an approval request waits for them. They opt in
//! on the page of the web chat.
//!
//! - [`message`]: encrypts a message for a browser
//! - [`vapid`]: identifies this gateway to push services
//! - [`notify`]: sends notifications
//!
//! A notification says only that a request waits, and in which conversation. It is best effort: sent
//! once, by the node that shows the request, from a bounded queue in memory. The request itself is in
//! the chat, whether or not the notification arrives.
//!
//! The address of a push service comes from a browser, so it is reached only through the client that
//! rejects private addresses.

pub mod message;
pub mod notify;
pub mod vapid;

use anyhow::Result;
use axum::{
    Json,
    extract::{State, rejection::JsonRejection},
    http::{HeaderMap, StatusCode},
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::sync::OnceCell;
use url::Url;

use super::{
    Admin,
    auth::web_session::Signed,
    chat::participant::Participant,
    language,
    problem::{BAD_REQUEST, NO_SUCH_PAGE, Problem},
};
use crate::{
    store::{
        Store,
        people::push_subscriptions::{self, PushSubscription},
    },
    tools::web::client::WebClient,
};
use message::{AUTH_BYTES, BrowserKeys, PUBLIC_KEY_BYTES};
use vapid::VapidKey;

const ENDPOINT_CHARS: usize = 2_000;

/// The maximum length of a key, in base64.
const KEY_CHARS: usize = 100;

/// Sends notifications: the client, the contact and the key.
pub struct Push {
    web_client: WebClient,
    /// The contact for operators of push services: the public address of this gateway.
    contact: Option<String>,
    key: OnceCell<VapidKey>,
}

impl Push {
    pub fn new(web_client: WebClient, public_url: Option<&Url>) -> Self {
        let contact = public_url.filter(|url| url.scheme() == "https").map(Url::to_string);
        Self { web_client, contact, key: OnceCell::new() }
    }

    async fn key(&self, store: &Store) -> Result<&VapidKey> {
        self.key.get_or_try_init(|| VapidKey::of(store)).await
    }

    /// The address of a push service, if messages may be sent there: over TLS, or to a private host
    /// that the operator allows.
    fn endpoint(&self, text: &str) -> Option<Url> {
        let url = Url::parse(text).ok().filter(|_| text.len() <= ENDPOINT_CHARS)?;
        let is_plain = url.username().is_empty() && url.password().is_none();
        let is_safe = url.scheme() == "https" || self.web_client.is_allowed_host(&url);
        (is_plain && is_safe).then_some(url)
    }
}

/// The keys of a subscription, if they have the right lengths.
fn browser_keys(subscription: &PushSubscription) -> Option<BrowserKeys> {
    let decoded = |text: &str| {
        let text = Some(text).filter(|text| text.len() <= KEY_CHARS)?;
        URL_SAFE_NO_PAD.decode(text.trim_end_matches('=')).ok()
    };
    let (public, auth) = (decoded(&subscription.p256dh)?, decoded(&subscription.auth)?);
    let is_valid = public.len() == PUBLIC_KEY_BYTES && auth.len() == AUTH_BYTES;
    is_valid.then_some(BrowserKeys { public, auth })
}

fn push(admin: &Admin) -> Result<&Push, Problem> {
    admin.push.as_ref().ok_or_else(|| Problem::new(StatusCode::NOT_FOUND, NO_SUCH_PAGE))
}

/// The public key to which a browser binds its subscription.
pub async fn public_key(
    State(admin): State<Arc<Admin>>,
    _participant: Participant,
) -> Result<Json<Value>, Problem> {
    let key = push(&admin)?.key(&admin.gateway.store).await?;
    Ok(Json(json!({ "key": key.public() })))
}

/// A subscription, as browsers describe it.
#[derive(Deserialize)]
pub struct SubscriptionBody {
    endpoint: String,
    keys: SubscriptionKeys,
}

#[derive(Deserialize)]
pub struct SubscriptionKeys {
    p256dh: String,
    auth: String,
}

/// Notifies this browser from now on, until its session ends.
pub async fn subscribe(
    State(admin): State<Arc<Admin>>,
    participant: Participant,
    signed: Signed,
    headers: HeaderMap,
    body: Result<Json<SubscriptionBody>, JsonRejection>,
) -> Result<StatusCode, Problem> {
    let invalid = || Problem::new(StatusCode::BAD_REQUEST, BAD_REQUEST);
    let Json(SubscriptionBody { endpoint, keys }) = body.map_err(|_| invalid())?;
    push(&admin)?.endpoint(&endpoint).ok_or_else(invalid)?;
    let language = language::of(&headers).tag().to_owned();
    let SubscriptionKeys { p256dh, auth } = keys;
    let new = PushSubscription { endpoint, p256dh, auth, language };
    browser_keys(&new).ok_or_else(invalid)?;
    let (session, person) = (signed.session_hash(), participant.speaker.id);
    let now = admin.gateway.clock.now();
    let write = admin.gateway.store.write("put push subscription", move |tx| {
        Box::pin(async move { push_subscriptions::put(tx, &session, &person, &new, now).await })
    });
    write.await?;
    Ok(StatusCode::NO_CONTENT)
}

/// The address of a subscription.
#[derive(Deserialize)]
pub struct EndpointBody {
    endpoint: String,
}

/// Deletes the subscription of this browser.
pub async fn unsubscribe(
    State(admin): State<Arc<Admin>>,
    participant: Participant,
    body: Result<Json<EndpointBody>, JsonRejection>,
) -> Result<StatusCode, Problem> {
    let body = body.map_err(|_| Problem::new(StatusCode::BAD_REQUEST, BAD_REQUEST));
    let (Json(EndpointBody { endpoint }), person) = (body?, participant.speaker.id);
    let write = admin.gateway.store.write("remove push subscription", move |tx| {
        Box::pin(async move { push_subscriptions::remove(tx, &person, &endpoint).await })
    });
    write.await?;
    Ok(StatusCode::NO_CONTENT)
}
