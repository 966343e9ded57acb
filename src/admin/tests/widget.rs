//! The chat in pages of another site.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use chrono::TimeDelta;
use reqwest::{Method, RequestBuilder, Response, StatusCode};
use serde_json::{Value, json};
use uuid::Uuid;

use super::world::{OpenPage, SHOP, World};
use crate::{journal::event::Status, store::approvals, texts::Language};

async fn admitted(world: &World, before: &str) -> Response {
    world.ask_at(SHOP, Method::POST).body(before.to_owned()).send().await.unwrap()
}

/// A visitor of the shop.
struct Visitor {
    pass: String,
}

impl Visitor {
    async fn new(world: &World) -> Self {
        Self::again(world, "").await
    }

    async fn again(world: &World, before: &str) -> Self {
        let answer = admitted(world, before).await;
        assert_eq!(answer.status(), StatusCode::OK);
        let encoded: Value = answer.json().await.unwrap();
        Self { pass: encoded["pass"].as_str().unwrap().to_owned() }
    }

    /// The contents of the pass.
    fn encoded(&self) -> Value {
        let encoded = self.pass.split('.').next().unwrap();
        serde_json::from_slice(&URL_SAFE_NO_PAD.decode(encoded).unwrap()).unwrap()
    }

    fn id(&self) -> String {
        self.encoded()["person"].as_str().unwrap().to_owned()
    }

    fn asks(&self, request: RequestBuilder) -> RequestBuilder {
        request.bearer_auth(&self.pass)
    }

    async fn says(&self, world: &World, text: &str) -> StatusCode {
        let message = json!({ "id": Uuid::new_v4(), "text": text });
        let request = self.asks(world.post("/widget/site/chat/messages")).json(&message);
        request.send().await.unwrap().status()
    }

    async fn page(&self, world: &World) -> OpenPage {
        OpenPage::of(self.asks(world.get("/widget/site/chat/events"))).await
    }

    async fn presses(&self, world: &World, approval: &str) -> Value {
        let press = json!({ "approval": approval, "key": "a" });
        let request = self.asks(world.post("/widget/site/chat/press")).json(&press);
        request.send().await.unwrap().json().await.unwrap()
    }
}

/// Passes are issued only for visitors of the listed sites.
/// Proves S10.
#[tokio::test]
async fn another_site_gets_no_pass_and_no_frame() {
    let world = World::new().await;
    for origin in ["https://evil.example", "https://shop.example.evil.example", "null", ""] {
        for method in [Method::POST, Method::OPTIONS] {
            let answer = world.ask_at(origin, method).send().await.unwrap();
            assert_eq!(answer.status(), StatusCode::FORBIDDEN, "{origin}");
            assert!(answer.headers().get("access-control-allow-origin").is_none(), "{origin}");
        }
    }
    let nobody = world.post("/widget/site/visitors").send().await.unwrap();
    assert_eq!(nobody.status(), StatusCode::FORBIDDEN);
    for (method, status) in
        [(Method::POST, StatusCode::OK), (Method::OPTIONS, StatusCode::NO_CONTENT)]
    {
        let answer = world.ask_at(SHOP, method).send().await.unwrap();
        assert_eq!(answer.status(), status);
        assert_eq!(answer.headers()["access-control-allow-origin"], SHOP);
        assert_eq!(answer.headers()["vary"], "origin");
    }
    let page = world.get("/widget/site").send().await.unwrap();
    let policy = page.headers()["content-security-policy"].to_str().unwrap();
    assert!(policy.ends_with(&format!("frame-ancestors {SHOP}")), "{policy}");
    assert!(page.headers().get("x-frame-options").is_none());
    let script = world.get("/widget.js").header("accept-language", "de").send().await.unwrap();
    assert_eq!(script.headers()["cross-origin-resource-policy"], "cross-origin");
    assert!(script.text().await.unwrap().contains("Chat schließen"));
    // The chat of people who are signed in is not a widget.
    for path in ["/widget/web", "/widget/nothing"] {
        assert_eq!(world.get(path).send().await.unwrap().status(), StatusCode::NOT_FOUND);
    }
}

/// Proves S10.
#[tokio::test]
async fn a_pass_is_signed_and_ends() {
    let world = World::new().await;
    let visitor = Visitor::new(&world).await;
    assert_eq!(visitor.says(&world, "hi").await, StatusCode::NO_CONTENT);
    let (encoded, seal) = visitor.pass.split_once('.').unwrap();
    let mut later = visitor.encoded();
    later["until"] = json!(i64::MAX);
    let later = URL_SAFE_NO_PAD.encode(later.to_string());
    for forged in
        [format!("{later}.{seal}"), format!("{encoded}.{}", "0".repeat(64)), encoded.into()]
    {
        let forged = Visitor { pass: forged };
        assert_eq!(forged.says(&world, "hi").await, StatusCode::UNAUTHORIZED);
    }
    // A pass is not a session, and a session is not a pass.
    let cookie = world.signed_in("ann").await;
    let request = world.get("/widget/site/chat/events").header("cookie", &cookie);
    assert_eq!(request.send().await.unwrap().status(), StatusCode::UNAUTHORIZED);
    let request = visitor.asks(world.get("/chat/events"));
    assert_eq!(request.send().await.unwrap().status(), StatusCode::UNAUTHORIZED);

    // A visitor who returns in time keeps their identity; later they get a new one.
    world.clock.advance(TimeDelta::days(20));
    let again = Visitor::again(&world, &visitor.pass).await;
    assert_eq!(again.id(), visitor.id());
    let mut page = visitor.page(&world).await;
    page.until("past").await;
    world.clock.advance(TimeDelta::days(20));
    page.until("signed_out").await;
    assert_eq!(visitor.says(&world, "hi").await, StatusCode::UNAUTHORIZED);
    assert_eq!(again.says(&world, "hi").await, StatusCode::NO_CONTENT);
    world.clock.advance(TimeDelta::days(20));
    assert_ne!(Visitor::again(&world, &again.pass).await.id(), again.id());
}

/// A visitor does not see messages and approvals of another, and cannot decide their own approvals
/// as long as the policy says `requester`.
/// Proves S2, S5.
#[tokio::test]
async fn two_visitors_do_not_see_each_other() {
    let world = World::new().await;
    let (one, other) = (Visitor::new(&world).await, Visitor::new(&world).await);
    assert_eq!(one.says(&world, "my order is late").await, StatusCode::NO_CONTENT);
    let past = one.page(&world).await.until("past").await;
    assert_eq!(past["items"][0]["text"], "my order is late");
    let nothing = json!([]);
    assert_eq!(other.page(&world).await.until("past").await["items"], nothing);
    let cookie = world.signed_in("ann").await;
    assert_eq!(world.page(&cookie).await.until("past").await["items"], nothing);

    let question = world.ask(&one.id()).await;
    let words = Language::English.words();
    assert_eq!(other.presses(&world, question.as_str()).await["text"], words.no_such_button);
    assert_eq!(one.presses(&world, question.as_str()).await["text"], words.not_for_you);
    let read = world
        .gateway
        .store
        .read(move |tx| Box::pin(async move { approvals::by_id(tx, question.as_str()).await }));
    assert_eq!(read.await.unwrap().unwrap().status, Status::Pending);
}

/// Proves S13.
#[tokio::test]
async fn visitors_are_slowed_down_by_address() {
    let world = World::new().await;
    let first = Visitor::new(&world).await;
    for _ in 1..10 {
        Visitor::new(&world).await;
    }
    let answer = admitted(&world, "").await;
    assert_eq!(answer.status(), StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(answer.headers()["retry-after"], "60");
    assert_eq!(answer.headers()["access-control-allow-origin"], SHOP);
    assert_eq!(Visitor::again(&world, &first.pass).await.id(), first.id());
    let elsewhere = world.ask_at(SHOP, Method::POST).header("x-forwarded-for", "203.0.113.7");
    assert_eq!(elsewhere.send().await.unwrap().status(), StatusCode::OK);
    for _ in 0..60 {
        first.presses(&world, "nothing").await;
    }
    assert_eq!(first.says(&world, "hi").await, StatusCode::TOO_MANY_REQUESTS);
    world.clock.advance(TimeDelta::minutes(1));
    assert_eq!(first.says(&world, "hi").await, StatusCode::NO_CONTENT);
}
