//! Signing in and out, headers of responses, webhooks, health, stopping.

use chrono::TimeDelta;
use reqwest::{StatusCode, header};
use serde_json::Value;
use std::sync::Arc;
use tokio::sync::Notify;

use super::world::World;
use crate::{journal::event::Event, store::conversations::journal};

/// Proves S10.
#[tokio::test]
async fn a_sign_in_link_works_once_and_is_not_used_up_by_opening_it() {
    let world = World::new().await;
    let token = world.sign_in_token("ann").await;
    for _ in 0..2 {
        let page = world.get(&format!("/sign-in?token={token}")).send().await.unwrap();
        assert_eq!(page.status(), StatusCode::OK);
        assert!(page.headers().get(header::SET_COOKIE).is_none());
        assert!(page.text().await.unwrap().contains(&format!("value=\"{token}\"")));
    }
    let first = world.redeem(&token).await;
    assert_eq!(first.status(), StatusCode::SEE_OTHER);
    assert_eq!(first.headers()[header::LOCATION], "/");
    let cookie = first.headers()[header::SET_COOKIE].to_str().unwrap();
    for attribute in ["HttpOnly", "SameSite=Strict", "Path=/", "Max-Age=2592000"] {
        assert!(cookie.contains(attribute), "{cookie}");
    }
    let secret = cookie.split(['=', ';']).nth(1).unwrap();
    assert_eq!(secret.len(), 64, "256 bits in hex");

    let again = world.redeem(&token).await;
    let unknown = world.redeem("never").await;
    assert_eq!((again.status(), unknown.status()), (StatusCode::FORBIDDEN, StatusCode::FORBIDDEN));
    assert_eq!(again.text().await.unwrap(), unknown.text().await.unwrap());
}

#[tokio::test]
async fn a_sign_in_link_expires_and_so_does_a_session() {
    let world = World::new().await;
    let late = world.sign_in_token("ann").await;
    let cookie = world.signed_in("ann").await;
    world.clock.advance(TimeDelta::minutes(16));
    assert_eq!(world.redeem(&late).await.status(), StatusCode::FORBIDDEN);
    let here = || world.get("/").header("cookie", &cookie).send();
    assert_eq!(here().await.unwrap().status(), StatusCode::OK);
    world.clock.advance(TimeDelta::days(30));
    assert_eq!(here().await.unwrap().status(), StatusCode::UNAUTHORIZED);
}

/// Proves S10.
#[tokio::test]
async fn wrong_links_are_slowed_down_and_lock_no_right_one_out() {
    let world = World::new().await;
    for _ in 0..10 {
        assert_eq!(world.redeem("wrong").await.status(), StatusCode::FORBIDDEN);
    }
    assert_eq!(world.redeem("wrong").await.status(), StatusCode::TOO_MANY_REQUESTS);
    let right = world.sign_in_token("ann").await;
    assert_eq!(world.redeem(&right).await.status(), StatusCode::SEE_OTHER);
    assert_eq!(world.redeem(&right).await.status(), StatusCode::TOO_MANY_REQUESTS, "it is used up");
    world.clock.advance(TimeDelta::minutes(1));
    assert_eq!(world.redeem("wrong").await.status(), StatusCode::FORBIDDEN);
}

/// Proves S10.
#[tokio::test]
async fn without_a_session_nothing_is_shown_or_accepted() {
    let world = World::new().await;
    let digest = "a".repeat(64);
    let file = format!("/files/{digest}/a.pdf");
    let home = world.get("/").send().await.unwrap();
    assert_eq!(home.status(), StatusCode::UNAUTHORIZED);
    assert!(home.text().await.unwrap().contains("countersign token"));
    for path in ["/chat/events", file.as_str()] {
        let answer = world.get(path).send().await.unwrap();
        assert_eq!(answer.status(), StatusCode::UNAUTHORIZED, "{path}");
    }
    for path in ["/chat/messages", "/chat/press", "/chat/regenerate", "/sign-out"] {
        let body = serde_json::json!({ "id": "x", "text": "x", "approval": "x", "key": "a" });
        let forged = world.post(path).header("cookie", "countersign_session=guess").json(&body);
        assert_eq!(forged.send().await.unwrap().status(), StatusCode::UNAUTHORIZED, "{path}");
    }
}

#[tokio::test]
async fn signing_out_ends_the_session_and_the_open_pages() {
    let world = World::new().await;
    let cookie = world.signed_in("ann").await;
    let mut page = world.page(&cookie).await;
    page.until("past").await;
    let out = world.post("/sign-out").header("cookie", &cookie).send().await.unwrap();
    assert_eq!(out.status(), StatusCode::NO_CONTENT);
    page.until("signed_out").await;
    assert_eq!(page.next().await, None);
    let answer = world.get("/chat/events").header("cookie", &cookie).send().await.unwrap();
    assert_eq!(answer.status(), StatusCode::UNAUTHORIZED);
    // The console's button, without script.
    let cookie = world.signed_in("ann").await;
    let pressed = world.post("/sign-out").header("cookie", &cookie).header("accept", "text/html");
    let out = pressed.send().await.unwrap();
    assert_eq!(
        (out.status(), &out.headers()["location"]),
        (StatusCode::SEE_OTHER, &"/".parse().unwrap())
    );
}

/// Proves S10.
#[tokio::test]
async fn another_site_can_make_a_browser_send_nothing() {
    let world = World::new().await;
    let cookie = world.signed_in("ann").await;
    let body = serde_json::json!({ "id": uuid::Uuid::new_v4(), "text": "hi" });
    for (name, value) in [("origin", "https://evil.example"), ("sec-fetch-site", "cross-site")] {
        let request = world.post("/chat/messages").header("cookie", &cookie).header(name, value);
        let answer = request.json(&body).send().await.unwrap();
        assert_eq!(answer.status(), StatusCode::FORBIDDEN);
    }
    assert_eq!(world.events("ann").await, []);
    let own = world.post("/chat/messages").header("cookie", &cookie).header("origin", &world.base);
    assert_eq!(own.json(&body).send().await.unwrap().status(), StatusCode::NO_CONTENT);
}

/// Proves S10.
#[tokio::test]
async fn every_answer_carries_the_headers_that_keep_browsers_strict() {
    let world = World::new().await;
    for path in ["/", "/sign-in?token=x", "/assets/chat.js", "/healthz", "/nowhere"] {
        let answer = world.get(path).send().await.unwrap();
        let policy = answer.headers()["content-security-policy"].to_str().unwrap();
        assert!(policy.contains("default-src 'none'") && !policy.contains("unsafe"), "{path}");
        assert!(policy.contains("frame-ancestors 'none'"), "{path}");
        assert_eq!(answer.headers()["x-content-type-options"], "nosniff", "{path}");
        let referrer = answer.headers()["referrer-policy"].to_str().unwrap();
        let expected = if path.starts_with("/sign-in") { "same-origin" } else { "no-referrer" };
        assert_eq!(referrer, expected, "{path}");
    }
}

/// The policy forbids inline scripts and styles, so the pages must not have any.
#[test]
fn the_pages_carry_no_script_and_no_style_of_their_own() {
    let pages = [
        include_str!("../web/chat.html"),
        include_str!("../web/door.html"),
        include_str!("../web/problem.html"),
        include_str!("../web/sign_in.html"),
        include_str!("../web/signed_in.html"),
        include_str!("../web/signed_out.html"),
    ];
    let attribute = regex::Regex::new(r"\s(style|on[a-z]+)\s*=").unwrap();
    for page in pages {
        assert!(!page.contains("<style") && !attribute.is_match(page));
        let modules = page.matches("<script type=\"module\" src=").count();
        assert_eq!(page.matches("<script").count(), modules, "no script is part of a page");
    }
}

/// Proves M1, S6.
#[tokio::test]
async fn a_webhook_answers_200_only_for_what_is_committed() {
    let world = World::new().await;
    let push = async |id: &str, secret: &str, body: &str| {
        let request = world.post(&format!("/channels/{id}/webhook")).header("X-Secret", secret);
        request.body(body.to_owned()).send().await.unwrap().status()
    };
    assert_eq!(push("nowhere", "right", "hi").await, StatusCode::NOT_FOUND);
    assert_eq!(push("web", "right", "hi").await, StatusCode::NOT_FOUND);
    assert_eq!(push("hook", "wrong", "hi").await, StatusCode::UNAUTHORIZED);
    assert_eq!(push("hook", "right", "malformed").await, StatusCode::BAD_REQUEST);
    assert_eq!(push("hook", "right", "unparsed").await, StatusCode::OK);
    assert_eq!(push("hook", "right", "panic").await, StatusCode::INTERNAL_SERVER_ERROR);
    let large = "x".repeat(1024 * 1024 + 1);
    assert_eq!(push("hook", "right", &large).await, StatusCode::PAYLOAD_TOO_LARGE);
    assert_eq!(push("hook", "right", "hi").await, StatusCode::OK);
    assert_eq!(push("hook", "right", "hi").await, StatusCode::OK);

    let place = super::super::place_of("7");
    let store = &world.gateway.store;
    let conversation = store
        .read(move |tx| {
            Box::pin(async move { journal::find_conversation(tx, "hook", &place).await })
        })
        .await
        .unwrap()
        .unwrap();
    let events = store.events_after(&conversation, 0).await.unwrap();
    assert_eq!(events.len(), 1, "the second push is the same delivery");
    assert!(matches!(&events[0].event, Event::Said { text, .. } if text == "hi"));
}

/// Another process holds the database for longer than SQLite waits.
/// Proves M1.
#[tokio::test]
async fn a_failed_commit_is_reported() {
    let world = World::new().await;
    let cookie = world.signed_in("ann").await;
    let other = world.other_node().await;
    let (is_locked, is_free) = <(Arc<Notify>, Arc<Notify>)>::default();
    let (locked, free) = (is_locked.clone(), is_free.clone());
    let holding = world.gateway.tasks.spawn(async move {
        let held = other.write("test", move |_| {
            Box::pin(async move {
                locked.notify_one();
                // The thread of the transaction belongs to no runtime.
                let own = tokio::runtime::Builder::new_current_thread().build()?;
                own.block_on(is_free.notified());
                Ok(())
            })
        });
        held.await
    });
    is_locked.notified().await;
    let id = uuid::Uuid::new_v4().to_string();
    let hook = world.post("/channels/hook/webhook").header("x-secret", "right").body("hi");
    let (hook, said) = tokio::join!(hook.send(), world.say(&cookie, &id, "hi"));
    assert_eq!(hook.unwrap().status(), StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(said.status(), StatusCode::SERVICE_UNAVAILABLE);
    let words: Value = said.json().await.unwrap();
    assert!(words["detail"].as_str().unwrap().contains("not saved"));
    free.notify_one();
    holding.await.unwrap().unwrap();
    assert_eq!(world.say(&cookie, &id, "hi").await.status(), StatusCode::NO_CONTENT);
    assert_eq!(world.events("ann").await.len(), 1);
}

#[tokio::test]
async fn liveness_and_readiness_are_distinguished() {
    let world = World::new().await;
    let alive = world.get("/healthz").send().await.unwrap();
    assert_eq!((alive.status(), alive.text().await.unwrap().as_str()), (StatusCode::OK, "ok"));
    let ready = world.get("/readyz").send().await.unwrap();
    assert_eq!(ready.status(), StatusCode::OK);
    let checks: Value = ready.json().await.unwrap();
    assert_eq!(checks["checks"]["database"], "ok");
    world.gateway.stop.cancel();
    let stopping = world.get("/readyz").send().await.unwrap();
    assert_eq!(stopping.status(), StatusCode::SERVICE_UNAVAILABLE);
}

#[tokio::test]
async fn stopping_ends_open_pages_and_then_the_server() {
    let world = World::new().await;
    let cookie = world.signed_in("ann").await;
    let mut page = world.page(&cookie).await;
    page.until("past").await;
    world.stop.cancel();
    while page.next().await.is_some() {}
    drop(page);
    world.serving.await.unwrap().unwrap();
}
