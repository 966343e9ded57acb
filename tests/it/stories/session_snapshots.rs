//! Snapshots: loading a conversation does not get slower with its length.

use countersign::testing::{
    app::App,
    journal::{event::Event, role::Role},
    scripted::say,
};
use reqwest::{Method, StatusCode};

use super::webhooks::get;
use crate::{
    story,
    support::{http::Served, world::World},
};

const READ: &str = "countersign_events_read_total ";

/// The number of events applied to sessions in this process.
async fn events_read(world: &mut World) -> u64 {
    let (_, text) = get(world, "/metrics", &[]).await;
    let found = text.lines().find_map(|line| line.strip_prefix(READ));
    found.and_then(|count| count.trim().parse().ok()).expect("it is counted")
}

/// Adds events to each conversation that hardly change its session.
async fn grows(world: &World, by: usize) {
    let insert = format!(
        "INSERT INTO events (conversation, seq, fence, at, body)
        SELECT c.id, c.last_seq + n.n, 0, 0, '{{\"kind\":\"reminded\",\"upto\":1}}'
        FROM conversations c, (
            WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < {by})
            SELECT n FROM n
        ) n"
    );
    world.tampers(&insert).await;
    world.tampers(&format!("UPDATE conversations SET last_seq = last_seq + {by}")).await;
}

async fn told_apart(world: &mut World, text: &str, answer: &str) -> u64 {
    let before = events_read(world).await;
    world.model_will(say(answer));
    world.ann_says(text).await;
    assert_eq!(world.last(), answer);
    events_read(world).await - before
}

story! {
    /// A node that loads the conversation for the first time reads its snapshot and later events,
    /// not its 10,000 events. A snapshot that is unreadable or of another version is ignored.
    async fn a_long_conversation_is_read_from_its_snapshot(world: &mut World) {
        told_apart(world, "one", "One.").await;
        assert!(world.rows_of("sessions").await.is_empty(), "it is too short to be worth it");
        grows(world, 10_000).await;
        assert!(told_apart(world, "two", "Two.").await > 10_000);
        let read = told_apart(world, "three", "Three.").await;
        assert!(read < 50, "{read} events were read");
        let told = format!("{:?}", world.prompts().last().unwrap().messages);
        assert!(told.contains("One.") && told.contains("Two."), "{told}");
        for spoilt in ["body = 'nonsense'", "version = version + 1"] {
            world.tampers(&format!("UPDATE sessions SET {spoilt}")).await;
            assert!(told_apart(world, "and", "And.").await > 10_000, "{spoilt}");
            assert!(told_apart(world, "or", "Or.").await < 50, "{spoilt}: stored again");
        }
    }
}

async fn says_in_the_group(world: &mut World, app: &App, person: &str, text: &str) {
    let what = world.said(text);
    world.takes_at(World::group(), app, person, what).await;
    world.settle(app).await;
}

story! {
    /// Erased data is removed from the snapshot, and no node with an old copy in memory stores it
    /// again.
    async fn a_snapshot_keeps_nothing_that_was_erased(world: &mut World) {
        let app = world.node().await;
        world.model_will(say("Bob it is."));
        says_in_the_group(world, &app, "1", "who is there?").await;
        grows(world, 200).await;
        world.model_will(say("Noted."));
        says_in_the_group(world, &app, "2", "my cat is called Whiskers").await;
        let stored = world.rows_of("sessions").await;
        assert!(stored[0].contains("Whiskers"), "{stored:?}");

        let served = Served::of(world).await;
        let owner = served.token("privacy", Role::Owner).await;
        let content = "/people/room/2/content";
        assert_eq!(served.ask(&owner, Method::DELETE, content, None).await.0, StatusCode::OK);
        let of_bob = |rows: &[String]| rows.iter().any(|row| row.contains("Whiskers") || row.contains("Bob"));
        assert!(!of_bob(&world.rows_of("sessions").await));

        // The first node still has the old session in memory.
        world.settle(&app).await;
        grows(world, 200).await;
        world.model_will(say("Just you."));
        says_in_the_group(world, &app, "1", "who is there now?").await;
        assert!(!of_bob(&world.rows_of("sessions").await), "{:?}", world.rows_of("sessions").await);
        let journal = world.journal_at(World::group()).await;
        assert!(journal.iter().any(|entry| matches!(entry.event, Event::Restarted { .. })));
    }
}
