//! Notifications of approval requests, with a push service that accepts only valid requests.

use axum::{Router, body::Bytes, extract::State, http::HeaderMap, routing::post};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use chrono::TimeDelta;
use parking_lot::Mutex;
use reqwest::{Method, StatusCode};
use ring::{
    agreement::{ECDH_P256, EphemeralPrivateKey},
    rand::SystemRandom,
    signature::{ECDSA_P256_SHA256_FIXED, UnparsedPublicKey},
};
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};
use uuid::Uuid;

use super::world::World;
use crate::{
    clock::Clock as _,
    gateway::deliver,
    store::{
        audit::{AuditKind, Fact},
        people::push_subscriptions::{self, MAX_DEVICES, SessionSubscription},
    },
};

/// A push service: checks each request as RFC 8030, 8188 and 8292 require, and answers with a status.
struct PushService {
    base: String,
    inner: Arc<Inner>,
}

struct Inner {
    base: String,
    status: Mutex<StatusCode>,
    received: Mutex<Vec<(HeaderMap, Bytes)>>,
}

impl PushService {
    fn of(world: &World) -> Self {
        let listener = world.push_listener.lock().take().unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let (status, received) = (Mutex::new(StatusCode::CREATED), Mutex::default());
        let inner = Arc::new(Inner { base: base.clone(), status, received });
        let app = Router::new().route("/push/{id}", post(receive)).with_state(inner.clone());
        world.gateway.tasks.spawn(async move { axum::serve(listener, app).await });
        Self { base, inner }
    }

    fn answers(&self, status: StatusCode) {
        *self.inner.status.lock() = status;
    }

    fn received(&self) -> usize {
        self.inner.received.lock().len()
    }

    /// Waits until this number of messages has arrived.
    async fn receives(&self, count: usize) {
        let arrives = async {
            while self.received() < count {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(20), arrives).await.expect("a notification");
        assert_eq!(self.received(), count);
    }

    /// A subscription as a browser describes it.
    fn subscription(&self, id: &str) -> Value {
        let own = EphemeralPrivateKey::generate(&ECDH_P256, &SystemRandom::new()).unwrap();
        let public = URL_SAFE_NO_PAD.encode(own.compute_public_key().unwrap());
        let keys = json!({ "p256dh": public, "auth": URL_SAFE_NO_PAD.encode([7; 16]) });
        json!({ "endpoint": format!("{}/push/{id}", self.base), "expirationTime": null, "keys": keys })
    }
}

async fn receive(State(inner): State<Arc<Inner>>, headers: HeaderMap, body: Bytes) -> StatusCode {
    let header = |name: &str| headers[name].to_str().unwrap().to_owned();
    assert_eq!(header("content-encoding"), "aes128gcm");
    assert!(header("ttl").parse::<u32>().unwrap() > 0 && header("topic").len() <= 32);
    let authorization = header("authorization");
    let (token, key) = authorization.strip_prefix("vapid t=").unwrap().split_once(", k=").unwrap();
    let (signed, signature) = token.rsplit_once('.').unwrap();
    let decoded = |text: &str| URL_SAFE_NO_PAD.decode(text).unwrap();
    UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, decoded(key))
        .verify(signed.as_bytes(), &decoded(signature))
        .unwrap();
    let claims: Value =
        serde_json::from_slice(&decoded(signed.split('.').nth(1).unwrap())).unwrap();
    assert_eq!(claims["aud"], inner.base);
    inner.received.lock().push((headers.clone(), body));
    *inner.status.lock()
}

async fn sends(world: &World, method: Method, cookie: &str, body: &Value) -> StatusCode {
    let request = world.request(method, "/chat/notifications").header("cookie", cookie);
    request.json(body).send().await.unwrap().status()
}

async fn subscribes(world: &World, cookie: &str, subscription: &Value) -> StatusCode {
    sends(world, Method::POST, cookie, subscription).await
}

async fn subscriptions(world: &World, person: &str) -> Vec<SessionSubscription> {
    let (person, now) = (person.to_owned(), world.clock.now());
    let read = world.gateway.store.read(move |tx| {
        Box::pin(async move { push_subscriptions::of_person(tx, &person, now).await })
    });
    read.await.unwrap()
}

/// Somebody writes, and an approval is requested from them and shown.
async fn is_asked(world: &World, cookie: &str, person: &str) {
    let id = Uuid::new_v4().simple().to_string();
    assert_eq!(world.say(cookie, &id, "do it").await.status(), StatusCode::NO_CONTENT);
    world.clock.advance(TimeDelta::minutes(1));
    world.ask(person).await;
    while deliver::deliver_ready(&world.gateway).await.unwrap() > 0 {}
}

#[tokio::test]
async fn a_person_who_opted_in_is_notified_of_a_request() {
    let world = World::new().await;
    let service = PushService::of(&world);
    let (ann, bob) = (world.signed_in("ann").await, world.signed_in("bob").await);
    let key = world.get("/chat/notifications").header("cookie", &ann).send().await.unwrap();
    let key: Value = key.json().await.unwrap();
    let key = URL_SAFE_NO_PAD.decode(key["key"].as_str().unwrap()).unwrap();
    assert_eq!((key.len(), key[0]), (65, 4));

    assert_eq!(subscribes(&world, &ann, &service.subscription("a")).await, StatusCode::NO_CONTENT);
    assert_eq!(subscribes(&world, &bob, &service.subscription("b")).await, StatusCode::NO_CONTENT);
    is_asked(&world, &ann, "ann").await;
    service.receives(1).await;
    let (headers, body) = service.inner.received.lock()[0].clone();
    assert_eq!(headers["urgency"], "high");
    assert!(!body.windows(4).any(|four| four == b"note"), "nothing is readable on the way");

    // Another one who did not opt in, and one who opted out, are not.
    let off = json!({ "endpoint": format!("{}/push/b", service.base) });
    assert_eq!(sends(&world, Method::DELETE, &bob, &off).await, StatusCode::NO_CONTENT);
    is_asked(&world, &bob, "bob").await;
    assert_eq!(service.received(), 1);
    assert!(subscriptions(&world, "bob").await.is_empty());
}

#[tokio::test]
async fn a_subscription_that_the_browser_ended_is_removed() {
    for (status, left) in [
        (StatusCode::SERVICE_UNAVAILABLE, 1),
        (StatusCode::TOO_MANY_REQUESTS, 1),
        (StatusCode::FOUND, 1),
        (StatusCode::GONE, 0),
        (StatusCode::NOT_FOUND, 0),
    ] {
        let world = World::new().await;
        let service = PushService::of(&world);
        let ann = world.signed_in("ann").await;
        subscribes(&world, &ann, &service.subscription("a")).await;
        service.answers(status);
        is_asked(&world, &ann, "ann").await;
        service.receives(1).await;
        let ends = async {
            while subscriptions(&world, "ann").await.len() != left {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(20), ends).await.expect("it is removed");
    }
}

#[tokio::test]
async fn a_subscription_ends_with_its_session() {
    let world = World::new().await;
    let service = PushService::of(&world);
    let ann = world.signed_in("ann").await;
    subscribes(&world, &ann, &service.subscription("a")).await;
    let out = world.post("/sign-out").header("cookie", &ann).send().await.unwrap();
    assert_eq!(out.status(), StatusCode::NO_CONTENT);
    assert!(subscriptions(&world, "ann").await.is_empty());
    assert_eq!(
        subscribes(&world, &ann, &service.subscription("a")).await,
        StatusCode::UNAUTHORIZED
    );

    // Another person with the same browser takes it over; the one before has none any more.
    let (ann, bob) = (world.signed_in("ann").await, world.signed_in("bob").await);
    let shared = service.subscription("a");
    subscribes(&world, &ann, &shared).await;
    subscribes(&world, &bob, &shared).await;
    assert!(subscriptions(&world, "ann").await.is_empty());
    assert_eq!(subscriptions(&world, "bob").await.len(), 1);

    world.clock.advance(TimeDelta::days(31));
    assert!(subscriptions(&world, "bob").await.is_empty(), "the session has expired");
}

#[tokio::test]
async fn an_erased_person_has_no_subscription() {
    let world = World::new().await;
    let service = PushService::of(&world);
    let ann = world.signed_in("ann").await;
    subscribes(&world, &ann, &service.subscription("a")).await;
    let fact = Fact::new(AuditKind::Erased, "op");
    let begun = world.gateway.store.begin_erasure("web", "ann", fact, world.clock.now()).await;
    assert!(begun.unwrap().is_some());
    assert!(subscriptions(&world, "ann").await.is_empty());
}

#[tokio::test]
async fn only_addresses_of_push_services_are_accepted() {
    let world = World::new().await;
    let service = PushService::of(&world);
    let ann = world.signed_in("ann").await;
    let with = |name: &str, value: &str| {
        let mut body = service.subscription("a");
        if name == "endpoint" {
            body[name] = value.into();
        } else {
            body["keys"][name] = value.into();
        }
        body
    };
    let long = format!("https://push.example/{}", "x".repeat(2_000));
    for (name, value) in [
        ("endpoint", "http://push.example/a"),
        ("endpoint", "http://127.0.0.1:1/a"),
        ("endpoint", "https://user:secret@push.example/a"),
        ("endpoint", "ftp://push.example/a"),
        ("endpoint", "push"),
        ("endpoint", &long),
        ("p256dh", "AAAA"),
        ("p256dh", "?"),
        ("auth", "AAAA"),
    ] {
        let status = subscribes(&world, &ann, &with(name, value)).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{name} {value}");
    }
    // A private address over TLS is refused when the notification is sent.
    let inside = with("endpoint", "https://127.0.0.1:8443/a");
    assert_eq!(subscribes(&world, &ann, &inside).await, StatusCode::NO_CONTENT);
    is_asked(&world, &ann, "ann").await;
    assert_eq!(service.received(), 0);

    for id in 0..MAX_DEVICES + 5 {
        world.clock.advance(TimeDelta::seconds(1));
        subscribes(&world, &ann, &service.subscription(&id.to_string())).await;
    }
    let kept = subscriptions(&world, "ann").await;
    assert_eq!(kept.len() as i64, MAX_DEVICES);
    assert!(
        kept[0].subscription.endpoint.ends_with(&format!("/{}", MAX_DEVICES + 4)),
        "the newest"
    );
}
