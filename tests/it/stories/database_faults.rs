//! The database fails temporarily or permanently during work. Completed work is kept.

use async_trait::async_trait;
use channels::Place;
use chrono::TimeDelta;
use countersign::testing::{
    agent::catalog::{EffectClass, ToolSpec},
    crash,
    journal::{
        event::{Event, Outcome, Speaker},
        ids::ConversationId,
    },
    scripted::{Gate, call, calls, say, wait},
    store::{
        approvals::grants,
        conversations::record::{ConversationChange, Precondition, Recorded},
    },
    tools::{Context, Output, Tool, ToolError},
};
use insta::assert_snapshot;
use serde_json::{Value, json};
use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};
use tokio::sync::Notify;

use crate::{
    story,
    support::{
        process::eventually,
        stable_output::stable,
        tools::{Hold, Tell},
        world::{World, hold_transaction},
    },
};

/// A tool that must not run twice, sends a file, and meets a failing database when it ends.
struct Export {
    runs: Arc<AtomicUsize>,
    fault: Fault,
}

#[derive(Clone)]
enum Fault {
    /// The database rejects the result for a while.
    RefusesResult(Refusal),
    /// The result is recorded, but the response is lost.
    LosesAnswer,
}

#[async_trait]
impl Tool for Export {
    fn spec(&self) -> ToolSpec {
        let spec = ToolSpec::read_only("export", "Exports", json!({ "type": "object" }));
        ToolSpec { effect: EffectClass::AtMostOnce, ..spec }
    }

    async fn run(&self, _arguments: Value, context: &Context) -> Result<Output, ToolError> {
        self.runs.fetch_add(1, Ordering::SeqCst);
        let put = context.artifacts.put("report.csv", "text/csv", b"a,b".to_vec()).await;
        match &self.fault {
            Fault::RefusesResult(refusal) => refusal.begins().await,
            Fault::LosesAnswer => crash::lose_next_answer("record"),
        }
        Ok(Output { attachments: vec![put.unwrap()], ..Output::text("exported") })
    }
}

/// A trigger that rejects events of a kind until some time after it was activated.
#[derive(Clone)]
struct Refusal {
    url: String,
    for_seconds: f64,
}

impl Refusal {
    async fn of(world: &World, kind: &str, for_seconds: f64) -> Self {
        // The first start creates the tables.
        drop(world.node().await);
        world.tampers("CREATE TABLE refusing (until DOUBLE PRECISION)").await;
        world.tampers("INSERT INTO refusing VALUES (0)").await;
        let like = format!("NEW.body LIKE '%\"kind\":\"{kind}\"%'");
        if world.is_on_sqlite() {
            let now = "(julianday('now') - 2440587.5) * 86400.0";
            world
                .tampers(&format!(
                    "CREATE TRIGGER refuse BEFORE INSERT ON events
                    WHEN {like} AND {now} < (SELECT until FROM refusing)
                    BEGIN SELECT RAISE(ABORT, 'refused'); END"
                ))
                .await;
        } else {
            world
                .tampers(&format!(
                    "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                    IF {like} AND extract(epoch FROM clock_timestamp()) < (SELECT until FROM refusing)
                    THEN RAISE EXCEPTION 'refused'; END IF; RETURN NEW; END $$"
                ))
                .await;
            world
                .tampers(
                    "CREATE TRIGGER refuse BEFORE INSERT ON events
                    FOR EACH ROW EXECUTE FUNCTION refuse()",
                )
                .await;
        }
        Self { url: world.config.store_url(), for_seconds }
    }

    async fn begins(&self) {
        use sqlx::Connection as _;
        let for_seconds = self.for_seconds;
        let (now, sqlite) = if self.url.starts_with("sqlite") {
            ("(julianday('now') - 2440587.5) * 86400.0", true)
        } else {
            ("extract(epoch FROM clock_timestamp())", false)
        };
        let sql = format!("UPDATE refusing SET until = {now} + {for_seconds}");
        let sql = sqlx::AssertSqlSafe(sql);
        if sqlite {
            let mut conn = sqlx::SqliteConnection::connect(&self.url).await.unwrap();
            sqlx::query(sql).execute(&mut conn).await.unwrap();
        } else {
            let mut conn = sqlx::PgConnection::connect(&self.url).await.unwrap();
            sqlx::query(sql).execute(&mut conn).await.unwrap();
        }
    }
}

async fn exports_once(world: &mut World, fault: Fault) {
    let runs = Arc::<AtomicUsize>::default();
    world.guard("{ rules = [{ tool = 'export', action = 'allow' }] }");
    world.tools = vec![Arc::new(Export { runs: runs.clone(), fault })];
    world.model_will(call("export", json!({})));
    world.model_will(say("Here it is."));
    world.ann_says("export it").await;
    world.time_passes(TimeDelta::minutes(1)).await;
    assert_eq!(runs.load(Ordering::SeqCst), 1);
    let ends = world.journal().await.into_iter().filter_map(|entry| match entry.event {
        Event::ToolFinished { result, .. } => Some((result.outcome, result.text)),
        _ => None,
    });
    assert_eq!(ends.collect::<Vec<_>>(), [(Outcome::Done, "exported".to_owned())]);
    assert_eq!(world.shown(), "📎 report.csv\nHere it is.");
}

story! {
    /// The result of a call is kept until the database accepts it.
    /// Proves R3, I4.
    async fn a_result_is_recorded_once_the_database_takes_it(world: &mut World) {
        let refusal = Refusal::of(world, "tool_finished", 1.0).await;
        exports_once(world, Fault::RefusesResult(refusal)).await;
    }
}

story! {
    /// A commit whose response was lost is found in the journal: nothing is recorded or sent twice.
    /// Proves R3, I4.
    async fn a_commit_whose_answer_was_lost_is_not_repeated(world: &mut World) {
        exports_once(world, Fault::LosesAnswer).await;
    }
}

story! {
    /// The model is asked once, however long its answer waits for the database.
    /// Proves M2.
    async fn a_reply_is_recorded_once_the_database_takes_it(world: &mut World) {
        let refusal = Refusal::of(world, "replied", 1.0).await;
        refusal.begins().await;
        world.model_will(say("Only once."));
        world.ann_says("hello").await;
        assert_eq!(world.shown(), "Only once.");
        assert_eq!(world.prompts().len(), 1);
    }
}

story! {
    /// A conversation that cannot be advanced is retried with increasing delays; then its people
    /// are told.
    /// Proves M2.
    async fn a_turn_that_keeps_failing_ends_in_a_visible_failure(world: &mut World) {
        let app = world.node().await;
        let said = world.said("hello");
        world.takes(&app, "1", said).await;
        world.tampers("ALTER TABLE tool_settings RENAME TO elsewhere").await;
        let failures = async |world: &World| world.rows_of("conversations").await;
        for _ in 0..4 {
            world.settle(&app).await;
            assert_eq!(world.shown(), "", "{:?}", failures(world).await);
            let tried = app.worker.advance_ready().await.unwrap();
            assert_eq!(tried, 0, "it waits before it tries again");
            world.clock.advance(TimeDelta::seconds(40));
        }
        world.settle(&app).await;
        assert_snapshot!(world.shown(), @"Something went wrong on my side, and I couldn't finish. … Reference: `<reference>`");
        assert_eq!(app.worker.advance_ready().await.unwrap(), 0, "and that was the end of it");
    }
}

/// From now on, the database rejects every message with this text.
async fn refuses_messages_with(world: &World, text: &str) {
    drop(world.node().await);
    let when = format!("NEW.body LIKE '%{text}%'");
    if world.is_on_sqlite() {
        let trigger = format!(
            "CREATE TRIGGER refuse_message BEFORE INSERT ON outbox WHEN {when}
            BEGIN SELECT RAISE(ABORT, 'refused'); END"
        );
        return world.tampers(&trigger).await;
    }
    let function = "CREATE FUNCTION refuse_message() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN RAISE EXCEPTION 'refused'; END $$";
    world.tampers(function).await;
    let trigger = format!(
        "CREATE TRIGGER refuse_message BEFORE INSERT ON outbox
        FOR EACH ROW WHEN ({when}) EXECUTE FUNCTION refuse_message()"
    );
    world.tampers(&trigger).await;
}

story! {
    /// A turn that cannot go on, because the database keeps rejecting what it records, waits for its
    /// calls and records their results before it ends.
    /// Proves I4.
    async fn a_turn_that_is_given_up_keeps_the_results_of_its_calls(world: &mut World) {
        refuses_messages_with(world, "Sign in").await;
        let (first, second) = (Gate::new(), Gate::new());
        world.tools = vec![Arc::new(Tell(first.clone())), Arc::new(Hold(second.clone()))];
        world.model_will(calls(["tell", "hold"].map(|tool| (tool.to_owned(), json!({}))).into()));
        let (app, said) = (world.node().await, world.said("go"));
        world.takes(&app, "1", said).await;
        first.open();
        let meanwhile = async {
            let told = async || {
                let events = world.rows_of("events").await;
                events.iter().any(|event| event.contains("\"told\"")).then_some(())
            };
            eventually("the first result is recorded", told).await;
            second.open();
        };
        let (advanced, ()) = tokio::join!(app.worker.advance_ready(), meanwhile);
        assert_eq!(advanced.unwrap(), 1);
        assert_eq!(world.results().await, ["told", "held"]);
        assert_eq!(world.shown(), "");
        world.model_will(say("Both."));
        world.time_passes(TimeDelta::seconds(3)).await;
        assert_eq!((world.results().await.len(), world.shown()), (2, "Both.".to_owned()));
    }
}

story! {
    /// A NUL generated by the model does not prevent an answer; a call that contains one is
    /// rejected.
    /// Proves M2.
    async fn a_nul_is_refused_and_stops_nothing(world: &mut World) {
        world.model_will(call("no\0such", json!({})));
        world.model_will(call("delete", json!({ "path": "a\0b.txt" })));
        world.model_will(say("I can\0not."));
        world.ann_says("delete it").await;
        assert_eq!(world.last(), "I cannot.");
        assert_eq!(world.deletions(), 0);
        let results = world.results().await;
        assert_snapshot!(stable(&results[0]), @"There is no tool `nosuch`.");
        assert_snapshot!(stable(&results[1]), @"Invalid parameters: The arguments contain a NUL character (U+0000)");
    }
}

story! {
    /// After a jump of the database's clock, a node claims neither its own running turns nor those
    /// of another node that had no time to renew its leases.
    /// Proves I7, R4.
    async fn a_jump_of_the_clock_starts_no_second_turn(world: &mut World) {
        let gate = Gate::new();
        world.model_will(wait(&gate));
        world.model_will(say("First."));
        world.model_will(say("Second."));
        let (one, two) = (world.node().await, world.node().await);
        let said = world.said("hello");
        world.takes(&one, "1", said).await;
        two.gateway.store.heartbeat().await.unwrap();
        let jumping = async {
            gate.reached().await;
            crash::move_database_clock(20_000);
            for app in [&two, &one, &two] {
                assert_eq!(app.worker.advance_ready().await.unwrap(), 0, "it is being advanced");
                app.gateway.store.heartbeat().await.unwrap();
            }
            gate.open();
        };
        let (advanced, ()) = tokio::join!(one.worker.advance_ready(), jumping);
        assert_eq!(advanced.unwrap(), 1);
        world.settle(&one).await;
        assert_eq!(world.shown(), "First.");
        assert_eq!(world.prompts().len(), 1);
    }
}

story! {
    /// A lease that is not renewed expires all the same.
    /// Proves R4.
    async fn work_of_a_dead_node_is_claimed(world: &mut World) {
        let (one, two) = (world.node().await, world.node().await);
        let said = world.said("hello");
        world.takes(&one, "1", said).await;
        let left = one.gateway.store.claim(1, world.clock_now()).await.unwrap();
        assert_eq!(left.len(), 1);
        world.model_will(say("Here I am."));
        two.gateway.store.heartbeat().await.unwrap();
        for ms in [7_000, 7_000, 7_000] {
            assert_eq!(two.worker.advance_ready().await.unwrap(), 0);
            two.gateway.store.heartbeat().await.unwrap();
            crash::move_database_clock(ms);
        }
        two.gateway.store.heartbeat().await.unwrap();
        assert_eq!(two.worker.advance_ready().await.unwrap(), 1);
        drop(left);
    }
}

/// A row that another transaction has locked does not keep the leases of all others from being
/// renewed.
/// Proves I7, R4.
#[tokio::test]
async fn a_locked_row_does_not_stop_the_heartbeat() {
    use sqlx::{Connection as _, Executor as _};
    let mut world = World::on_postgres().await;
    let app = world.node().await;
    for chat in ["-8", "-9"] {
        let place = Place { chat: chat.into(), ..World::group() };
        let said = world.said("hello");
        world.takes_at(place, &app, "1", said).await;
    }
    let store = &app.gateway.store;
    let claimed = store.claim(9, world.clock_now()).await.unwrap();
    let dead = world.node().await;
    let said = world.said("hello");
    world.takes_at(Place { chat: "-10".into(), ..World::group() }, &dead, "1", said).await;
    assert_eq!(dead.gateway.store.claim(9, world.clock_now()).await.unwrap().len(), 1);
    let ids = claimed.iter().map(|claimed| claimed.lease.conversation()).collect::<Vec<_>>();
    assert_eq!(ids.len(), 2);
    let mut other = sqlx::PgConnection::connect(&world.config.store_url()).await.unwrap();
    let until = async |conn: &mut sqlx::PgConnection, id: &ConversationId| {
        let sql = "SELECT lease_until FROM conversations WHERE id = $1";
        let until: (i64,) = sqlx::query_as(sql).bind(id.as_str()).fetch_one(conn).await.unwrap();
        until.0
    };
    let before = [until(&mut other, ids[0]).await, until(&mut other, ids[1]).await];
    other.execute("BEGIN").await.unwrap();
    let lock = sqlx::query("UPDATE conversations SET fence = fence WHERE id = $1");
    lock.bind(ids[0].as_str()).execute(&mut other).await.unwrap();
    crash::move_database_clock(1_000);
    let beaten = tokio::time::timeout(Duration::from_secs(20), store.heartbeat()).await;
    beaten.expect("the heartbeat does not wait for the lock").unwrap();
    assert_eq!(until(&mut other, ids[0]).await, before[0]);
    assert!(until(&mut other, ids[1]).await >= before[1] + 1_000);
    crash::move_database_clock(7_000);
    let problem = store.heartbeat().await.expect_err("the locked lease expires soon");
    assert!(problem.to_string().contains("locked"), "{problem:#}");
    crash::move_database_clock(7_500);
    let found = store.claim(9, world.clock_now()).await.unwrap();
    assert!(found.is_empty(), "nothing expired is claimed before everything is renewed");
    other.execute("ROLLBACK").await.unwrap();
    // What could not be renewed is not claimed as if its holder had died.
    assert!(store.claim(9, world.clock_now()).await.unwrap().is_empty());
    drop(claimed);
    world.end().await;
}

/// Runs until it is told to end.
struct Endless(Arc<Notify>, Arc<Notify>);

#[async_trait]
impl Tool for Endless {
    fn spec(&self) -> ToolSpec {
        ToolSpec::read_only("endless", "Takes its time", json!({ "type": "object" }))
    }

    async fn run(&self, _arguments: Value, _context: &Context) -> Result<Output, ToolError> {
        self.0.notify_one();
        self.1.notified().await;
        Ok(Output::text("ended"))
    }
}

/// Waits until the lease was renewed twice: the first renewal may have been in progress.
async fn is_renewed(world: &World) {
    let mut seen = std::collections::BTreeSet::new();
    let renewed = async {
        while seen.len() < 3 {
            seen.insert(lease_until(world).await);
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(6), renewed).await.expect("the lease is renewed");
}

async fn lease_until(world: &World) -> String {
    use sqlx::Connection as _;
    let sql = "SELECT MAX(lease_until) FROM conversations";
    let url = world.config.store_url();
    let until: (i64,) = if world.is_on_sqlite() {
        let mut conn = sqlx::SqliteConnection::connect(&url).await.unwrap();
        sqlx::query_as(sql).fetch_one(&mut conn).await.unwrap()
    } else {
        let mut conn = sqlx::PgConnection::connect(&url).await.unwrap();
        sqlx::query_as(sql).fetch_one(&mut conn).await.unwrap()
    };
    until.0.to_string()
}

story! {
    /// A node that shuts down keeps the leases of turns that it lets finish.
    /// Proves O3.
    async fn a_node_that_stops_keeps_its_leases(world: &mut World) {
        world.config.store.lease_duration = "3s".into();
        let (begun, end) = (Arc::<Notify>::default(), Arc::<Notify>::default());
        world.tools = vec![Arc::new(Endless(begun.clone(), end.clone()))];
        world.model_will(call("endless", json!({})));
        world.model_will(say("Ended."));
        let app = world.node().await;
        app.start();
        let said = world.said("go");
        world.takes(&app, "1", said).await;
        begun.notified().await;
        is_renewed(world).await;
        let stopping = app.stop();
        let watching = async {
            app.gateway.stop.cancelled().await;
            is_renewed(world).await;
            end.notify_one();
        };
        let (stopped, ()) = tokio::join!(stopping, watching);
        stopped.unwrap();
    }
}

story! {
    /// A call does not start after a halt that was being written while it was judged.
    /// Proves A12.
    async fn no_call_begins_beside_a_halt(world: &mut World) {
        let app = world.node().await;
        let said = world.said("go");
        world.takes(&app, "1", said).await;
        let store = app.gateway.store.clone();
        let now = world.clock_now();
        let lease = store.claim(1, now).await.unwrap().pop().unwrap();
        let (written, go) = (Arc::<Notify>::default(), Arc::<Notify>::default());
        let halting = store.write("halt", {
            let (written, go) = (written.clone(), go.clone());
            move |tx| {
                let (written, go) = (written.clone(), go.clone());
                Box::pin(async move {
                    let owner = Speaker { id: "1".into(), name: "Ann".into() };
                    grants::halt(tx, &owner, now).await?;
                    written.notify_one();
                    hold_transaction(go.notified()).await;
                    Ok(())
                })
            }
        });
        let events = vec![Event::ToolStarted { call: "c".into() }];
        let change = ConversationChange { events, terms: Precondition::Always, ..ConversationChange::default() };
        let starting = async {
            written.notified().await;
            let mut recording = Box::pin(store.record(&lease.lease, change, now));
            // Time to start during the halt, unless something prevents it.
            let early = tokio::time::timeout(Duration::from_millis(500), &mut recording).await;
            go.notify_one();
            match early {
                Ok(recorded) => recorded,
                Err(_) => recording.await,
            }
        };
        let (halted, started) = tokio::join!(halting, starting);
        halted.unwrap();
        assert_eq!(started.unwrap(), Recorded::Behind);
    }
}

story! {
    /// A lease that is too short to be renewed in time is rejected with a reason.
    /// Proves O6.
    async fn a_lease_that_is_too_short_is_refused(world: &mut World) {
        world.config.store.lease_duration = "500ms".into();
        let opened = countersign::testing::app::database::open_store(&world.config).await;
        let problem = opened.err().expect("it is refused").to_string();
        assert_snapshot!(stable(&problem), @"store.lease_duration is 500ms, but must be at least 1 s: leases are renewed three times as often, and a short delay must not let another node take over");
    }
}
