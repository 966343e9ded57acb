//! The guarantees of the store, on both databases.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use channels::{Outgoing, Place, PlaceKind};
use chrono::{DateTime, Utc};
use countersign::testing::{
    encryption::Encryption,
    journal::{
        event::{Event, Speaker},
        ids::ConversationId,
    },
    store::{
        Store,
        approvals::grants,
        conversations::{
            journal,
            record::{ConversationChange, Precondition, Recorded},
        },
        leases::DutyKind,
        outbox::due::Share,
        usage::spent::NewUpload,
        webhooks::deliveries::DeliveryShare,
    },
};
use sqlx::{AssertSqlSafe, Connection as _, PgConnection};
use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};
use tokio::sync::Barrier;

use crate::{story, support::world::World};

pub fn now() -> DateTime<Utc> {
    "2026-05-04T10:00:00Z".parse().unwrap()
}

/// Ann says hello in a private chat of the channel `room`.
pub async fn begin(store: &Store, chat: &str) -> ConversationId {
    let place = Place { chat: chat.into(), thread: None, kind: PlaceKind::Private };
    let by = Speaker { id: "1".into(), name: "Ann".into() };
    let said = Event::Said { by, text: "hello".into(), message: "1".into() };
    store
        .write("begin", move |tx| {
            Box::pin(async move {
                let id = journal::conversation(tx, "room", &place, now()).await?;
                journal::append(tx, &id, &said, now()).await?;
                Ok(id)
            })
        })
        .await
        .unwrap()
}

/// Claims up to this many rows of the only channel.
pub fn share(limit: usize) -> Vec<Share> {
    vec![Share { channel: "room".into(), limit }]
}

/// A change with an event and a text.
pub fn change(seen: i64, terms: Precondition) -> ConversationChange {
    let events = vec![Event::Reminded { upto: seen }];
    let shows = vec![Outgoing::Text { markdown: "x".into(), reply_to: None }];
    ConversationChange { events, shows, seen, terms, ..ConversationChange::default() }
}

story! {
    /// After another node has taken over the lease, nothing is recorded, not even an outbox row.
    /// Proves I7.
    async fn an_old_fence_records_nothing(world: &mut World) {
        world.config.store.lease_duration = "1s".into();
        let (one, two) = (world.node().await.gateway.store.clone(), world.node().await.gateway.store.clone());
        begin(&one, "1").await;
        let old = one.claim(1, now()).await.unwrap().pop().unwrap().lease;
        assert!(two.claim(1, now()).await.unwrap().is_empty(), "it is held");
        one.release(&old).await.unwrap();
        let new = two.claim(1, now()).await.unwrap().pop().unwrap().lease;
        assert_eq!(one.record(&old, change(1, Precondition::Always), now()).await.unwrap(), Recorded::Fenced);
        assert_eq!(two.record(&new, change(1, Precondition::Always), now()).await.unwrap(), Recorded::Done);
        assert_eq!(two.claim_sends(share(9), now()).await.unwrap().len(), 1);
    }
}

story! {
    /// A call judged before the halt does not start after it.
    /// Proves A12.
    async fn no_call_begins_once_tools_are_halted(world: &mut World) {
        let store = world.node().await.gateway.store.clone();
        begin(&store, "1").await;
        let lease = store.claim(1, now()).await.unwrap().pop().unwrap().lease;
        let owner = Speaker { id: "1".into(), name: "Ann".into() };
        let halt = store.write("halt", move |tx| {
            let owner = owner.clone();
            Box::pin(async move { grants::halt(tx, &owner, now()).await })
        });
        assert!(halt.await.unwrap());
        let starts = || {
            let events = vec![Event::ToolStarted { call: "c".into() }];
            ConversationChange { events, ..change(1, Precondition::IfCurrent) }
        };
        assert_eq!(store.record(&lease, starts(), now()).await.unwrap(), Recorded::Behind);
        let lift = store.write("end halt", move |tx| Box::pin(async move { grants::lift(tx).await }));
        assert!(lift.await.unwrap());
        assert_eq!(store.record(&lease, starts(), now()).await.unwrap(), Recorded::Done);
    }
}

story! {
    /// A decision is void if something has happened since.
    async fn a_decision_on_old_news_is_void(world: &mut World) {
        let store = world.node().await.gateway.store.clone();
        let conversation = begin(&store, "1").await;
        let lease = store.claim(1, now()).await.unwrap().pop().unwrap().lease;
        assert_eq!(begin(&store, "1").await, conversation);
        let void = store.record(&lease, change(1, Precondition::IfCurrent), now()).await.unwrap();
        assert_eq!(void, Recorded::Behind);
        let done = store.record(&lease, change(2, Precondition::IfCurrentThenRest), now()).await.unwrap();
        assert_eq!(done, Recorded::Rested);
        assert!(store.claim(1, now()).await.unwrap().is_empty(), "nothing is left to do");
    }
}

story! {
    /// A delivery counts once.
    /// Proves M1.
    async fn a_delivery_counts_once(world: &mut World) {
        let app = world.node().await;
        world.model.will(countersign::testing::scripted::say("Once."));
        let batch = channels::Batch {
            incomings: vec![channels::Incoming {
                key: "u1".into(),
                at: now(),
                place: World::place(),
                person: Some(channels::Person { id: "1".into(), name: "Ann".into(), language: None, is_bot: false, roles: vec![], roles_unknown: false }),
                what: channels::IncomingContent::Text { message: "1".into(), text: "hi".into(), reply_to: None, addressed: true, files: vec![], album: None, quoted_author: None },
            }],
            position: Some("2".into()),
        };
        for _ in 0..3 {
            countersign::testing::gateway::receive::receive(&app.gateway, "room", batch.clone()).await.unwrap();
        }
        world.settle(&app).await;
        assert_eq!(world.shown(), "Once.");
        let position = app.gateway.store
            .read(|tx| Box::pin(async move { countersign::testing::store::channels::inbox::position(tx, "room").await }))
            .await.unwrap();
        assert_eq!(position.as_deref(), Some("2"));
    }
}

story! {
    /// Concurrent writers: every transaction is atomic, and a failed one does not roll back others.
    async fn transactions_in_one_commit_do_not_touch_each_other(world: &mut World) {
        let store = world.node().await.gateway.store.clone();
        let writing = (0..200).map(|n| {
            let store = store.clone();
            async move {
                let place = Place { chat: n.to_string(), thread: None, kind: PlaceKind::Private };
                store.write("test", move |tx| Box::pin(async move {
                    let id = journal::conversation(tx, "room", &place, now()).await?;
                    anyhow::ensure!(n % 3 != 0, "this one fails after it has written");
                    Ok(id)
                })).await.is_ok()
            }
        });
        let good = futures::future::join_all(writing).await.into_iter().filter(|ok| *ok).count();
        assert_eq!(good, 133);
        for n in 0..200 {
            let place = Place { chat: n.to_string(), thread: None, kind: PlaceKind::Private };
            let found = store.read(move |tx| Box::pin(async move {
                journal::find_conversation(tx, "room", &place).await
            })).await.unwrap();
            assert_eq!(found.is_some(), n % 3 != 0, "conversation {n}");
        }
    }
}

story! {
    /// A signing key is encrypted where an encryption key is configured; one from before is encrypted
    /// when it is read.
    async fn a_signing_key_is_encrypted_at_rest(world: &mut World) {
        let plain = world.node().await.gateway.store.clone();
        let own = "canary of a signing key";
        assert_eq!(plain.signing_key("visits", own.into()).await.unwrap(), own);
        assert!(world.rows_of("signing_keys").await[0].contains(own));
        let key = STANDARD.encode([7; 32]).into();
        let sealing = plain.clone().with_encryption(Encryption::new([&key]).unwrap());
        assert_eq!(sealing.signing_key("visits", "another".into()).await.unwrap(), own);
        sealing.signing_key("new", "canary of another".into()).await.unwrap();
        let stored = world.rows_of("signing_keys").await.join("\n");
        assert!(!stored.contains("canary"), "{stored}");
        assert_eq!(sealing.signing_key("visits", "another".into()).await.unwrap(), own);
        assert!(plain.signing_key("visits", "another".into()).await.is_err());
    }
}

/// A transaction that inserts rows which refer to others locks the keys of those rows until it
/// ends. The rows can be claimed nevertheless, because claiming does not change their keys.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rows_that_are_only_referred_to_are_claimed() {
    let world = World::on_postgres().await;
    let store = world.node().await.gateway.store.clone();
    begin(&store, "1").await;
    world
        .tampers(
            "INSERT INTO notices (id, subscription, topic, body, status, attempts, not_before,
             lease_until, created_at) VALUES ('n1', 's', 't', '{}', 'waiting', 0, 0, 0, 0)",
        )
        .await;
    let mut other = PgConnection::connect(&world.config.store_url()).await.unwrap();
    let mut referring = other.begin().await.unwrap();
    let lock = async |transaction: &mut PgConnection, table: &str| {
        // The lock that the check of a foreign key takes.
        let lock = AssertSqlSafe(format!("SELECT 1 FROM {table} FOR KEY SHARE"));
        assert_eq!(sqlx::query(lock).fetch_all(transaction).await.unwrap().len(), 1);
    };
    lock(&mut *referring, "conversations").await;
    let claimed = store.claim(1, now()).await.unwrap().pop().expect("the conversation is ready");
    let recorded =
        store.record(&claimed.lease, change(1, Precondition::Always), now()).await.unwrap();
    assert_eq!(recorded, Recorded::Done);
    lock(&mut *referring, "outbox").await;
    assert_eq!(store.claim_sends(share(1), now()).await.unwrap().len(), 1);
    lock(&mut *referring, "notices").await;
    let shares = vec![DeliveryShare { subscription: "s".into(), limit: 1 }];
    assert_eq!(store.claim_webhook_deliveries(shares, now()).await.unwrap().len(), 1);
    referring.rollback().await.unwrap();
    drop(other);
    world.end().await;
}

story! {
    /// An upload that could not be stored does not count for the limit of the day.
    async fn an_upload_that_is_not_stored_counts_for_nothing(world: &mut World) {
        let store = world.node().await.gateway.store.clone();
        let book = async |bytes| {
            let upload = NewUpload { person: "web/ann".into(), bytes, limit: 100 };
            store.book_upload(upload, now()).await.unwrap()
        };
        assert!(book(60).await && !book(41).await);
        store.refund_upload("web/ann".into(), 60, now()).await.unwrap();
        assert!(book(100).await && !book(1).await);
        store.refund_upload("web/ann".into(), 101, now()).await.unwrap();
        assert!(!book(1).await, "nothing below zero");
    }
}

/// A transaction that takes a lease and has outlived its caller does not leave the lease behind when
/// the node stops.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stopped_node_holds_no_leases() {
    let world = World::on_postgres().await;
    let store = world.node().await.gateway.store.clone();
    begin(&store, "1").await;
    let mut other = PgConnection::connect(&world.config.store_url()).await.unwrap();
    let mut first = other.begin().await.unwrap();
    let taken =
        "INSERT INTO leases (name, node, until, fence) VALUES ('listen poll', 'other', 0, 1)";
    sqlx::query(taken).execute(&mut *first).await.unwrap();
    let mut observer = PgConnection::connect(&world.config.store_url()).await.unwrap();
    let hold_duty_waits = async {
        let waiting = "SELECT COUNT(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'
             AND query LIKE '%-- hold duty%' AND datname = current_database()
             AND pid <> pg_backend_pid()";
        while sqlx::query_scalar::<_, i64>(waiting).fetch_one(&mut observer).await.unwrap() == 0 {}
    };
    tokio::select! {
        held = store.hold_duty(DutyKind::Listen("poll")) => panic!("{held:?}, although another node inserts it"),
        () = hold_duty_waits => {}
    }
    let mut stops = std::pin::pin!(store.release_all());
    // Releasing waits. Otherwise it is over by then.
    let early = tokio::time::timeout(Duration::from_millis(300), &mut stops).await;
    first.rollback().await.unwrap();
    if early.is_err() {
        stops.await.unwrap();
    }
    assert!(world.rows_of("leases").await.is_empty(), "nothing is held");
    assert!(
        store.hold_duty(DutyKind::Listen("poll")).await.unwrap().is_none(),
        "nothing is taken any more"
    );
    assert!(store.claim(1, now()).await.unwrap().is_empty());
    drop((other, observer));
    world.end().await;
}

/// A node does not act on a duty whose row was locked for so long that the duty has almost expired.
/// Proves I7.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_duty_that_took_too_long_is_not_held() {
    let mut world = World::on_postgres().await;
    world.config.store.lease_duration = "1s".into();
    let store = world.node().await.gateway.store.clone();
    assert!(store.hold_duty(DutyKind::Maintenance).await.unwrap().is_some());
    let mut other = PgConnection::connect(&world.config.store_url()).await.unwrap();
    let mut locking = other.begin().await.unwrap();
    sqlx::query("UPDATE leases SET fence = fence").execute(&mut *locking).await.unwrap();
    let mut late = std::pin::pin!(store.hold_duty(DutyKind::Maintenance));
    let early = tokio::time::timeout(Duration::from_millis(800), &mut late).await;
    assert!(early.is_err(), "it waits for the other transaction");
    locking.rollback().await.unwrap();
    assert!(late.await.unwrap().is_none());
    assert!(store.hold_duty(DutyKind::Maintenance).await.unwrap().is_some());
    drop(other);
    world.end().await;
}

/// Of two deadlocked transactions PostgreSQL aborts one, which is run again.
/// Proves R4.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_transaction_that_was_aborted_is_run_again() {
    let world = World::on_postgres().await;
    let store = world.node().await.gateway.store.clone();
    let (a, b) = (begin(&store, "1").await, begin(&store, "2").await);
    let (both, tries) = (Arc::new(Barrier::new(2)), Arc::new(AtomicUsize::new(0)));
    let crossing = |first: ConversationId, second: ConversationId| {
        let (store, both, tries) = (store.clone(), both.clone(), tries.clone());
        async move {
            let work = store.write("cross", move |tx| {
                Box::pin(async move {
                    journal::lock(tx, &first).await?;
                    if tries.fetch_add(1, Ordering::SeqCst) < 2 {
                        both.wait().await;
                    }
                    journal::lock(tx, &second).await
                })
            });
            work.await
        }
    };
    let (one, two) = tokio::join!(crossing(a.clone(), b.clone()), crossing(b, a));
    one.unwrap();
    two.unwrap();
    assert!(tries.load(Ordering::SeqCst) > 2, "one of them was run again");
    world.end().await;
}
