//! Platform outages, hanging requests and lost responses: other channels continue, and nothing is
//! lost.

use channels::{CheckError, Place, PlaceKind, Receipt, SendError};
use chrono::TimeDelta;
use countersign::testing::{
    app::App,
    clock::Clock as _,
    crash,
    gateway::deliver,
    scripted::say,
    store::outbox::{
        due::Share,
        sending::{Failed, SendOutcome, Sending},
    },
    texts::Language,
};
use std::sync::Arc;

use crate::{
    story,
    support::{
        fake_channel::{FakeChannel, Fault},
        process::eventually,
        world::World,
    },
};

fn down() -> SendError {
    SendError::Retry { after: None, reason: "connection refused".into() }
}

fn unknown() -> SendError {
    SendError::Unknown("connection reset".into())
}

/// A number of conversations of a channel, with one pending text each.
async fn crowd(world: &World, channel: &str, count: usize) {
    let place = serde_json::to_string(&World::place()).unwrap();
    let at = world.clock.now().timestamp_millis();
    let numbers = format!(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {count})"
    );
    let conversations = format!(
        "{numbers} INSERT INTO conversations
            (id, channel, chat, thread, place, last_seq, lease_node, lease_until, fence, created_at)
        SELECT '{channel}' || i, '{channel}', 'c' || i, '', '{place}', 1, '', 0, 0, {at} FROM n"
    );
    let rows = format!(
        "{numbers} INSERT INTO outbox
            (id, conversation, seq, part, body, status, attempts, not_before, lease_node,
             lease_until, created_at, channel, due_at)
        SELECT '{channel}' || i, '{channel}' || i, 1, 0,
               '{{\"kind\":\"text\",\"markdown\":\"x\",\"reply_to\":null}}', 'waiting', 0, 0, '', 0,
               {at}, '{channel}', {at}
        FROM n"
    );
    world.tampers(&conversations).await;
    world.tampers(&rows).await;
}

async fn deliver_all(app: &App) {
    while deliver::deliver_ready(&app.gateway).await.unwrap() > 0 {}
}

/// The statuses of the messages.
async fn statuses(world: &World) -> Vec<String> {
    let rows = world.rows_of("outbox").await;
    let known = ["waiting", "sent", "refused", "gone"];
    let status = |row: &String| known.into_iter().find(|known| row.contains(known)).unwrap();
    rows.iter().map(|row| status(row).to_owned()).collect()
}

story! {
    /// Thousands of hanging sends on one platform do not affect another.
    /// Proves M6.
    async fn a_platform_that_hangs_delays_no_other(world: &mut World) {
        let dead = FakeChannel::named("dead");
        dead.hangs();
        world.more_channels = vec![Arc::new(dead.clone())];
        let app = world.node().await;
        crowd(world, "dead", 4_200).await;
        let delivering = tokio::spawn(deliver::deliver(app.gateway.clone()));
        eventually("everything hangs", async || (dead.tries() >= 1_000).then_some(())).await;
        let said = world.said("/status");
        world.takes(&app, "1", said).await;
        eventually("the other is served", async || (!world.shown().is_empty()).then_some(())).await;
        assert_eq!(dead.tries(), 1_000, "and no more hang");
        app.gateway.stop.cancel();
        dead.recovers();
        delivering.await.unwrap();
        app.gateway.tasks.close();
        app.gateway.tasks.wait().await;
    }
}

story! {
    /// After an outage a platform is probed with one message first.
    /// Proves M6.
    async fn a_platform_that_is_down_is_probed_and_then_served(world: &mut World) {
        world.room.is_down(down());
        world.room.refuses(CheckError::Silent("no route".into()));
        let app = world.node().await;
        crowd(world, "room", 20).await;
        deliver_all(&app).await;
        let tried = world.room.tries();
        assert!(tried <= 20, "{tried}");
        for _ in 0..30 {
            world.clock.advance(TimeDelta::minutes(2));
            deliver_all(&app).await;
        }
        assert_eq!(world.room.tries(), tried, "only checked");
        world.room.admits();
        world.clock.advance(TimeDelta::minutes(2));
        deliver_all(&app).await;
        assert_eq!(world.room.tries(), tried + 1, "one probe");
        deliver_all(&app).await;
        assert_eq!(world.room.tries(), tried + 1);
        world.room.recovers();
        world.clock.advance(TimeDelta::minutes(2));
        deliver_all(&app).await;
        assert_eq!(world.room.messages().len(), 20);
    }
}

story! {
    /// A bot whose token is rejected for a long weekend delivers everything afterwards.
    async fn a_weekend_without_a_platform_loses_nothing(world: &mut World) {
        world.room.is_down(down());
        world.room.refuses(CheckError::Refused("401 Unauthorized".into()));
        let app = world.node().await;
        crowd(world, "room", 3).await;
        for _ in 0..65 {
            deliver_all(&app).await;
            world.clock.advance(TimeDelta::hours(1));
        }
        world.room.recovers();
        world.room.admits();
        deliver_all(&app).await;
        assert_eq!(world.shown(), "x\nx\nx");
        assert_eq!(statuses(world).await, ["sent"; 3]);
    }
}

story! {
    /// A message that fails for two days although its platform works is dropped.
    async fn a_message_that_fails_for_two_days_is_dropped(world: &mut World) {
        world.room.breaks("7", down());
        let app = world.node().await;
        crowd(world, "room", 1).await;
        for _ in 0..10 {
            deliver_all(&app).await;
            world.clock.advance(TimeDelta::minutes(5));
        }
        assert_eq!(statuses(world).await, ["waiting"]);
        world.tampers("UPDATE outbox SET aged_ms = 172790000 WHERE aged_ms > 0").await;
        for _ in 0..3 {
            deliver_all(&app).await;
            world.clock.advance(TimeDelta::minutes(5));
        }
        assert_eq!(statuses(world).await, ["refused"]);
    }
}

story! {
    /// A text that is too short for a placeholder is sent at once; if its response is lost, it is
    /// repeated and says that it may be a duplicate; after five unknown outcomes sending stops.
    /// Proves M3.
    async fn a_message_whose_answer_is_always_lost_is_given_up(world: &mut World) {
        for _ in 0..20 {
            world.room.fails_next(Fault::After(unknown()));
        }
        let app = world.node().await;
        crowd(world, "room", 1).await;
        for _ in 0..30 {
            deliver_all(&app).await;
            world.clock.advance(TimeDelta::minutes(5));
        }
        assert_eq!(statuses(world).await, ["refused"]);
        let shown: Vec<_> = world.room.messages().into_iter().map(|m| m.text).collect();
        assert_eq!(shown[0], "x");
        assert_eq!(shown.len(), 5, "{shown:?}");
        let mark = Language::English.words().possible_duplicate;
        let marked = |text: &String| text.starts_with(mark);
        assert!(shown[1..].iter().all(marked), "{shown:?}");
    }
}

story! {
    /// A text that was certainly not shown is sent again without a mark.
    /// Proves M3.
    async fn a_text_that_was_surely_not_shown_has_no_mark(world: &mut World) {
        world.room.fails_next(Fault::After(unknown()));
        world.room.fails_next(Fault::Before(down()));
        world.model_will(say("hello Ann"));
        let app = world.node().await;
        let said = world.said("hello");
        world.takes(&app, "1", said).await;
        world.settle(&app).await;
        for _ in 0..5 {
            world.clock.advance(TimeDelta::minutes(5));
            deliver_all(&app).await;
        }
        assert_eq!(world.shown(), "hello …\nhello Ann");
    }
}

story! {
    /// What the platform has shown is recorded once the database takes it: it is neither shown
    /// again nor marked as a possible duplicate.
    /// Proves I3, I4.
    async fn a_send_is_recorded_once_the_database_takes_it(world: &mut World) {
        for transaction in ["record receipt", "end send"] {
            crash::refuse_next(transaction, 2);
            world.model_will(say("A first answer."));
            world.ann_says("hi").await;
        }
        assert_eq!(world.shown(), "A first answer.\nA first answer.");
        assert_eq!(statuses(world).await, ["sent", "sent"]);
    }
}

story! {
    /// A check that panics counts as no answer, and the next one is made in time.
    /// Proves M6.
    async fn a_check_that_panics_is_repeated(world: &mut World) {
        world.room.is_down(down());
        let app = world.node().await;
        crowd(world, "room", 20).await;
        deliver_all(&app).await;
        world.room.panics_when_checked();
        world.clock.advance(TimeDelta::minutes(2));
        deliver_all(&app).await;
        world.room.recovers();
        for _ in 0..3 {
            world.clock.advance(TimeDelta::minutes(5));
            deliver_all(&app).await;
        }
        assert_eq!(world.room.messages().len(), 20);
    }
}

async fn claim(app: &App, world: &World) -> Sending {
    let share = vec![Share { channel: "room".into(), limit: 9 }];
    let claimed = app.gateway.store.claim_sends(share, world.clock.now()).await.unwrap();
    claimed.into_iter().next().expect("a row is due")
}

story! {
    /// A sender that has lost its lease changes nothing, whatever its result.
    /// Proves I3.
    async fn a_late_sender_changes_nothing(world: &mut World) {
        let (one, two) = (world.node().await, world.node().await);
        crowd(world, "room", 1).await;
        let late = claim(&one, world).await;
        world.tampers("UPDATE outbox SET lease_until = 0").await;
        let now = claim(&two, world).await;
        assert_eq!((late.attempts, now.attempts), (1, 2));
        let before = world.rows_of("outbox").await;
        let (store, receipt) = (&one.gateway.store, Receipt { message: "9".into() });
        assert!(!store.record_receipt(&late, Some(&receipt)).await.unwrap());
        store.defer_send(&late, world.clock.now()).await.unwrap();
        let failed = Failed {
            problem: "late".into(),
            not_before: world.clock.now(),
            ages_by: TimeDelta::zero(),
            is_unknown: true,
        };
        store.try_again(&late, failed).await.unwrap();
        store.record_send_outcome(&late, SendOutcome::Refused, "late".into()).await.unwrap();
        assert_eq!(world.rows_of("outbox").await, before);
        assert!(two.gateway.store.record_receipt(&now, Some(&receipt)).await.unwrap());
        two.gateway.store.record_send_outcome(&now, SendOutcome::Sent, String::new()).await.unwrap();
        assert_eq!(statuses(world).await, ["sent"]);
    }
}

story! {
    /// Messages for a throttled chat are locked only briefly; the rest of the bot continues.
    async fn a_crowd_that_is_put_off_is_not_looked_at_again(world: &mut World) {
        let app = world.node().await;
        let chat = || Place { chat: "slow".into(), thread: None, kind: PlaceKind::Private };
        let after = Some(std::time::Duration::from_mins(10));
        world.room.breaks("slow", SendError::Retry { after, reason: "429".into() });
        for number in 0..50 {
            let place = Place { thread: Some(number.to_string()), ..chat() };
            let said = world.said("/status");
            world.takes_at(place, &app, "1", said).await;
        }
        deliver_all(&app).await;
        let tried = world.room.tries();
        for _ in 0..5 {
            world.clock.advance(TimeDelta::minutes(1));
            deliver_all(&app).await;
        }
        assert_eq!(world.room.tries(), tried);
        world.room.recovers();
        world.clock.advance(TimeDelta::minutes(5));
        deliver_all(&app).await;
        assert_eq!(world.room.messages().len(), 50);
    }
}
