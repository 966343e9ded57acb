//! Data that remains in shared conversations after a person was erased.

use countersign::testing::{
    journal::role::Role,
    scripted::{call, say},
};
use insta::assert_snapshot;
use regex::Regex;
use reqwest::{Method, StatusCode};
use serde_json::json;
use std::path::Path;

use super::messages::with_file;
use crate::{
    story,
    support::{http::Served, world::World},
};

const PHOTO: &[u8] = include_bytes!("../../../renderers/tests/corpus/img/photo.jpg");
const KEPT: [&str; 11] = [
    "events",
    "outbox",
    "approvals",
    "votes",
    "memories",
    "schedules",
    "jobs",
    "grants",
    "people",
    "usage",
    "access_tokens",
];

async fn says(world: &mut World, person: &str, text: &str) {
    let said = world.said(text);
    world.happens_at(World::group(), (person, &[]), said).await;
}

async fn erases(world: &World, person: &str) {
    let served = Served::of(world).await;
    let owner = served.token("privacy", Role::Owner).await;
    let path = format!("/people/room/{person}/content");
    let (status, erased) = served.ask(&owner, Method::DELETE, &path, None).await;
    assert_eq!(status, StatusCode::OK, "{erased}");
    assert_eq!(served.get(&owner, "/audit/verification").await["good"], true);
}

/// The tables that contain the text.
async fn holding(world: &World, pattern: &str) -> Vec<&'static str> {
    let pattern = Regex::new(pattern).unwrap();
    let mut tables = Vec::new();
    for table in KEPT {
        let rows = world.rows_of(table).await;
        tables.extend(rows.iter().any(|row| pattern.is_match(row)).then_some(table));
    }
    tables
}

/// The names of all files in a folder and its subfolders.
fn files(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().map(Result::unwrap);
    let names = entries.map(|entry| match entry.path() {
        path if path.is_dir() => files(&path),
        _ => vec![entry.file_name().to_string_lossy().into_owned()],
    });
    names.flatten().collect()
}

story! {
    /// In a shared conversation an erased person is neither named nor quoted: not by the bot, in
    /// decisions or in notes. Other people's messages stay, and the conversation continues.
    async fn an_erased_person_is_named_nowhere(world: &mut World) {
        world.guard("{ approvers = 'members' }");
        world.model_will(say("Noted, Ann: my cat is called Whiskers. Anna will know."));
        says(world, "1", "my cat is called Whiskers").await;
        world.model_will(call("delete", json!({ "path": "Ann.txt", "note": "for Ann" })));
        says(world, "2", "delete it").await;
        world.model_will(say("Gone."));
        let press = world.press("Allow once");
        world.happens_at(World::group(), ("1", &[]), press).await;
        assert_snapshot!(world.shown(), @"
        Noted, Ann: my cat is called Whiskers. Anna will know.
        Allow **delete**? `Ann.txt` … ✅ Allowed by Ann.
        Gone.
        ");
        for (id, shelf, by) in [(1, "id", r#"{"id":"2","name":"Bob"}"#), (2, "''", r#"{"id":"1","name":"Ann"}"#)] {
            world.tampers(&format!(
                "INSERT INTO memories (id, agent, shelf, path, content, by_whom, taint, call, changed_at) \
                 SELECT {id}, 'default', {shelf}, 'a.md', 'Ann likes cats', '{by}', '[]', 'c', 0 \
                 FROM conversations WHERE chat = '-70'"
            )).await;
        }
        let before = holding(world, r"\bAnn\b|Whiskers").await;
        assert_eq!(before, ["events", "outbox", "approvals", "memories"]);

        erases(world, "1").await;
        assert_eq!(holding(world, r"\bAnn\b|Whiskers").await, [""; 0]);
        assert_eq!(holding(world, "Anna will know").await, ["events", "outbox"]);
        assert_eq!(holding(world, "delete it").await, ["events"]);
        assert_eq!(holding(world, "erased likes cats").await, ["memories"], "Bob's note is his");
        let served = Served::of(world).await;
        let auditor = served.token("auditor", Role::Owner).await;
        let history = served.get(&auditor, "/approvals?status=settled").await;
        assert_eq!(history["items"][0]["decided_by"], "erased", "{history}");
        world.model_will(say("Hello, Bob."));
        says(world, "2", "hello").await;
        assert_eq!(world.last(), "Hello, Bob.");
    }
}

story! {
    /// The model's copy of a picture is erased with its sender, also in shared conversations, and
    /// so is the sender's workspace.
    /// Proves CA-36.
    async fn pictures_are_erased_with_their_sender(world: &mut World) {
        world.config.models[0].vision = Some(true);
        world.model.enable_vision();
        world.room.has_file("f", PHOTO);
        world.model_will(say("A river."));
        let what = with_file(world, "what is this?", ("f", "a.jpg"));
        world.happens("1", what).await;
        world.model_will(say("The same river."));
        let what = with_file(world, "and this?", ("f", "holiday-of-ann.jpg"));
        world.happens_at(World::group(), ("1", &[]), what).await;
        let [artifacts, workspaces] =
            ["artifacts", "workspaces"].map(|folder| world.config.data_dir.join(folder));
        assert!(!files(&artifacts).is_empty());
        assert!(files(&workspaces).contains(&"a.jpg".to_owned()));
        assert!(holding(world, "holiday-of-ann").await.contains(&"events"));
        erases(world, "1").await;
        assert_eq!(files(&artifacts), [""; 0]);
        assert!(!files(&workspaces).contains(&"a.jpg".to_owned()));
        assert_eq!(holding(world, "holiday-of-ann").await, [""; 0]);
    }
}
