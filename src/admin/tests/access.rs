//! Access to the web chat, and limits for each person.

use reqwest::StatusCode;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use uuid::Uuid;

use super::{setup::Setup, world::World};
use crate::{
    agent::approvers::{ApproverSelector, Approvers},
    gateway::people::Allow,
    journal::{
        event::{Event, Status},
        role::Role,
    },
    texts::Language,
};

fn owned_by_bob() -> Setup {
    Setup {
        allow: Allow::Only(BTreeSet::from(["bob".to_owned()])),
        roles: BTreeMap::from([("bob".to_owned(), Role::Owner)]),
        ..Setup::default()
    }
}

async fn upload(world: &World, cookie: &str, bytes: usize) -> reqwest::Response {
    let request = world.post("/chat/files?name=a.txt").header("cookie", cookie);
    request.body(vec![b'x'; bytes]).send().await.unwrap()
}

/// The roles of the configuration count in the web chat as on any platform.
#[tokio::test]
async fn an_owner_of_the_configuration_decides_in_the_web_chat() {
    let world = World::with(owned_by_bob()).await;
    let bob = world.signed_in("bob").await;
    world.say(&bob, &Uuid::new_v4().to_string(), "save a note").await;
    let owners =
        Approvers { who: vec![ApproverSelector::Role(Role::Owner)], ..Approvers::default() };
    let approval = world.ask_of("bob", owners).await;
    let text = world.press(&bob, &approval, "a").await;
    assert_eq!(text, Language::English.words().decided(Status::Allowed));
}

/// Removing a person closes their open pages, which can do nothing any more.
#[tokio::test]
async fn a_removed_person_can_do_nothing_with_an_open_page() {
    let world = World::with(owned_by_bob()).await;
    let bob = world.signed_in("bob").await;
    let as_bob = |request: reqwest::RequestBuilder| request.header("cookie", &bob).send();
    let path = "/api/v1/people/web/ann";
    let added = as_bob(world.put(path).json(&json!({ "role": "member" }))).await.unwrap();
    assert_eq!(added.status(), StatusCode::NO_CONTENT);
    let ann = world.signed_in("ann").await;
    let said = world.say(&ann, &Uuid::new_v4().to_string(), "save a note").await;
    assert_eq!(said.status(), StatusCode::NO_CONTENT);
    let approval = world.ask("ann").await;
    assert_eq!(upload(&world, &ann, 10).await.status(), StatusCode::OK);
    let mut page = world.page(&ann).await;
    page.until("past").await;

    assert_eq!(as_bob(world.delete(path)).await.unwrap().status(), StatusCode::NO_CONTENT);
    page.until("signed_out").await;
    assert_eq!(upload(&world, &ann, 10).await.status(), StatusCode::UNAUTHORIZED);
    for path in ["/chat/events", "/chat/older?before=9", "/chat/export", "/chat/conversations"] {
        let answer = world.get(path).header("cookie", &ann).send().await.unwrap();
        assert_eq!(answer.status(), StatusCode::UNAUTHORIZED, "{path}");
    }
    let press = json!({ "approval": approval.as_str(), "key": "a" });
    let pressed = world.post("/chat/press").header("cookie", &ann).json(&press);
    assert_eq!(pressed.send().await.unwrap().status(), StatusCode::UNAUTHORIZED);

    // With a new link, they count as a stranger.
    let ann = world.signed_in("ann").await;
    let words = Language::English.words();
    assert_eq!(world.press(&ann, &approval, "a").await, words.not_for_you);
    assert_eq!(upload(&world, &ann, 10).await.status(), StatusCode::FORBIDDEN);
    world.say(&ann, &Uuid::new_v4().to_string(), "hello").await;
    let said = world.events("ann").await;
    let said = said.iter().filter(|event| matches!(event, Event::Said { .. })).count();
    assert_eq!(said, 1, "only what was said before");
}

/// A message over the rate limit is refused, and can be sent again under its id.
#[tokio::test]
async fn a_message_over_the_rate_limit_is_refused_and_not_lost() {
    let world = World::with(Setup { messages_per_minute: 1, ..Setup::default() }).await;
    let ann = world.signed_in("ann").await;
    let first = world.say(&ann, &Uuid::new_v4().to_string(), "one").await;
    assert_eq!(first.status(), StatusCode::NO_CONTENT);
    let id = Uuid::new_v4().to_string();
    for _ in 0..3 {
        let refused = world.say(&ann, &id, "two").await;
        assert_eq!(refused.status(), StatusCode::TOO_MANY_REQUESTS);
        let wait: u64 = refused.headers()["retry-after"].to_str().unwrap().parse().unwrap();
        assert!((1..=61).contains(&wait), "{wait}");
        let told: Value = refused.json().await.unwrap();
        assert!(told["detail"].as_str().unwrap().contains("too quickly"), "{told}");
    }
    world.clock.advance(chrono::TimeDelta::minutes(1));
    assert_eq!(world.say(&ann, &id, "two").await.status(), StatusCode::NO_CONTENT);
    let said: Vec<_> = world.events("ann").await;
    let [Event::Said { text: one, .. }, Event::Said { text: two, .. }] = said.as_slice() else {
        panic!("{said:?}")
    };
    assert_eq!((one.as_str(), two.as_str()), ("one", "two"));
}

/// Proves S13.
#[tokio::test]
async fn the_uploads_of_a_day_are_limited() {
    let world = World::with(Setup { upload_bytes: Some(1_000_000), ..Setup::default() }).await;
    let (ann, bob) = (world.signed_in("ann").await, world.signed_in("bob").await);
    assert_eq!(upload(&world, &ann, 600_000).await.status(), StatusCode::OK);
    let refused = upload(&world, &ann, 600_000).await;
    assert_eq!(refused.status(), StatusCode::TOO_MANY_REQUESTS);
    let told: Value = refused.json().await.unwrap();
    insta::assert_snapshot!(
        told["detail"].as_str().unwrap(),
        @"You've reached today's upload limit (1 MB). It resets at 00:00 UTC."
    );
    assert_eq!(upload(&world, &ann, 400_000).await.status(), StatusCode::OK, "up to the limit");
    assert_eq!(upload(&world, &ann, 1).await.status(), StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(upload(&world, &bob, 600_000).await.status(), StatusCode::OK, "each person's own");
    world.clock.advance(chrono::TimeDelta::days(1));
    assert_eq!(upload(&world, &ann, 600_000).await.status(), StatusCode::OK);
}

/// Text that was typed on one person's page is never sent by another person, who has signed in
/// since.
#[tokio::test]
async fn a_page_of_another_person_can_do_nothing() {
    let world = World::new().await;
    let ann = world.signed_in("ann").await;
    let page = world.get("/").header("cookie", &ann).send().await.unwrap().text().await.unwrap();
    assert!(page.contains("data-person=\"ann\""), "{page}");
    let message = json!({ "id": Uuid::new_v4(), "text": "hello" });
    let say = async |person: &str| {
        let request = world.post("/chat/messages").header("cookie", &ann);
        let request = request.header("x-countersign-person", person).json(&message);
        request.send().await.unwrap().status()
    };
    assert_eq!(say("bob").await, StatusCode::CONFLICT);
    assert_eq!(world.events("ann").await, []);
    let page = world.get("/chat/events").header("cookie", &ann);
    let page = page.header("x-countersign-person", "bob").send().await.unwrap();
    assert_eq!(page.status(), StatusCode::CONFLICT);
    assert_eq!(say("ann").await, StatusCode::NO_CONTENT);
}

/// The next person at a browser ends the session of the previous one. Signing out clears what the
/// pages keep there.
#[tokio::test]
async fn another_sign_in_ends_the_previous_session_of_the_browser() {
    let world = World::new().await;
    let ann = world.signed_in("ann").await;
    let elsewhere = world.signed_in("ann").await;
    let mut page = world.page(&ann).await;
    let form = [("token", world.sign_in_token("bob").await)];
    let redeemed = world.post("/sign-in").header("cookie", &ann).form(&form).send().await.unwrap();
    assert_eq!(redeemed.status(), StatusCode::SEE_OTHER);
    page.until("signed_out").await;
    let status = async |cookie: &str| {
        world.get("/chat/conversations").header("cookie", cookie).send().await.unwrap().status()
    };
    assert_eq!(status(&ann).await, StatusCode::UNAUTHORIZED);
    assert_eq!(status(&elsewhere).await, StatusCode::OK, "in another browser");
    let out = world.post("/sign-out").header("cookie", &elsewhere).send().await.unwrap();
    assert_eq!(out.headers()["clear-site-data"], "\"storage\"");
}

/// A person has a limited number of open pages.
#[tokio::test]
async fn the_open_pages_of_a_person_are_limited() {
    let world = World::new().await;
    let ann = world.signed_in("ann").await;
    let mut pages = Vec::new();
    for _ in 0..20 {
        pages.push(world.page(&ann).await);
    }
    let more = world.get("/chat/events").header("cookie", &ann).send().await.unwrap();
    assert_eq!(more.status(), StatusCode::TOO_MANY_REQUESTS);
    let bob = world.signed_in("bob").await;
    world.page(&bob).await.until("past").await;
}
