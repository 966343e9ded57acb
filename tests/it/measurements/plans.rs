//! No statement of a hot path scans a growing table: the statements of a day of stories are
//! recorded, and both databases are asked for their plans.

use channels::{IncomingContent, Place, SendError};
use chrono::TimeDelta;
use countersign::testing::{
    app::App,
    clock::Clock as _,
    gateway::webhooks::outgoing,
    scripted::{call, calls, say},
    store::{
        audit::{AuditKind, Fact},
        takers::{SendTaker, TurnTaker},
        webhooks::subscriptions::Topic,
    },
    worker::{
        erasure,
        maintenance::{self, Round},
    },
};
use parking_lot::Mutex;
use serde_json::json;
use sqlx::{Connection as _, Row as _};
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::Arc,
};
use tokio::sync::Semaphore;
use tracing::{
    Event, Subscriber,
    field::{Field, Visit},
};
use tracing_subscriber::{Layer, layer::Context, prelude::*};

use crate::{
    stories::{delegation, webhooks},
    support::{fake_channel::Fault, world::World},
};

/// Tables whose size is not limited by the configuration.
const GROWING: &[&str] = &[
    "access_tokens",
    "answers",
    "approval_tokens",
    "approvals",
    "audit",
    "audit_heads",
    "conversations",
    "deliveries",
    "drafts",
    "events",
    "floods",
    "grants",
    "identities",
    "jobs",
    "link_codes",
    "media_jobs",
    "memories",
    "mentions",
    "notice_tries",
    "notices",
    "outbox",
    "pairing_failures",
    "parked",
    "participants",
    "people",
    "rates",
    "reservations",
    "schedules",
    "spent",
    "tasks",
    "unparsed",
    "usage",
    "votes",
];

/// Statements that may walk through an index or a table: the label, and why.
const EXCEPTIONS: &[(&str, &str)] = &[
    ("release sends", "once, when a node stops: walks the waiting rows"),
    ("release conversations", "once, when a node stops: walks the conversations"),
    // Limited in other ways.
    ("subscribers", "subscriptions are those of the configuration"),
    ("waiting", "not in a turn: metrics count open work"),
    ("batch of events", "a backfill reads the table once, in batches by its key"),
    ("batch of the outbox", "a backfill reads the table once, in batches by its key"),
    ("any conversation", "the first row of the table, once at the start"),
    ("delete unparsed updates", "part of an erasure: updates that no version could read"),
];

/// Records the statements that are executed.
#[derive(Clone, Default)]
struct Recorder(Arc<Mutex<BTreeSet<String>>>);

struct Statement<'a>(&'a mut Option<String>);

impl Visit for Statement<'_> {
    fn record_str(&mut self, field: &Field, value: &str) {
        // A short statement is its own summary.
        let is_statement = match field.name() {
            "db.statement" => !value.trim().is_empty(),
            "summary" => self.0.is_none() && !value.ends_with('…'),
            _ => false,
        };
        if is_statement {
            *self.0 = Some(value.trim().to_owned());
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.record_str(field, format!("{value:?}").trim_matches('"'));
    }
}

impl<S: Subscriber> Layer<S> for Recorder {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        // On PostgreSQL and on SQLite.
        if !["sqlx::query", "countersign::store::db::sqlite"].contains(&event.metadata().target()) {
            return;
        }
        let mut statement = None;
        event.record(&mut Statement(&mut statement));
        if let Some(statement) = statement {
            self.0.lock().insert(statement);
        }
    }
}

impl Recorder {
    fn take(&self) -> BTreeSet<String> {
        std::mem::take(&mut *self.0.lock())
    }
}

/// All typical activities of a gateway in a day.
async fn a_day(world: &mut World) {
    let hearer = webhooks::Hearer::start(&["204 No Content"]).await;
    webhooks::subscribe(world, &hearer.url, &[Topic::ApprovalRequested, Topic::TurnFinished], None);
    let daily = &mut world.config.limits;
    (daily.person.messages, daily.conversation.tokens) = (Some(1_000), Some(1_000_000));
    daily.all.cost = Some(1_000.0);
    delegation::staff(world);
    talk(world).await;
    ask(world).await;
    delegate(world).await;
    come_to_grief(world).await;
    let app = world.node().await;
    outgoing::deliver_due_webhooks(&app.webhook_sender).await.unwrap();
    outgoing::check_subscriptions(&app.webhook_sender).await.unwrap();
    let store = &app.gateway.store;
    store.heartbeat().await.unwrap();
    claim_at_commit(world, &app).await;
    maintenance::run_once(&app.worker, &mut Round::default()).await.unwrap();
    let fact = Fact::new(AuditKind::Erased, "3");
    erasure::erase(&app.worker, "room", "3", fact).await.unwrap();
    app.stop().await.unwrap();
}

/// A message and an answer, claimed by the transactions that store them.
async fn claim_at_commit(world: &mut World, app: &App) {
    let (store, clock) = (&app.gateway.store, app.gateway.clock.clone());
    let permits = Arc::new(Semaphore::new(9));
    let turns = TurnTaker {
        permits: permits.clone(),
        clock: clock.clone(),
        start: Box::new(|claimed, _| drop(claimed)),
    };
    let sends = SendTaker {
        permit: Box::new(move |_| permits.clone().try_acquire_owned().ok()),
        clock,
        start: Box::new(|sending, _| drop(sending)),
    };
    let _taking = [store.take_turns(turns), store.take_sends(sends)];
    for text in ["hello", "/status"] {
        let said = world.said(text);
        world.takes(app, "1", said).await;
    }
}

async fn talk(world: &mut World) {
    world.model_will(say("Hello."));
    world.ann_says("hello").await;
    for command in ["/status", "/grants", "/link", "/link ABCDEFGHJK", "/stop", "/new", "/whoami"] {
        world.ann_says(command).await;
    }
    let pasted = "x".repeat(4_000);
    let (first, rest) = (world.said(&pasted), world.said("rest"));
    let app = world.node().await;
    world.takes(&app, "1", first).await;
    world.takes(&app, "1", rest).await;
    world.clock.advance(TimeDelta::seconds(2));
    world.model_will(say("Long."));
    world.settle(&app).await;
    let at = json!({ "text": "Tea", "at": "2026-05-04T10:30" });
    world.model_will(call("remind", at));
    world.model_will(say("Noted."));
    world.ann_says("remind me").await;
    world.time_passes(TimeDelta::minutes(40)).await;
}

async fn ask(world: &mut World) {
    let delete = || call("delete", json!({ "path": "a.txt" }));
    world.model_will(delete());
    world.ann_says("delete it").await;
    world.model_will(say("Done."));
    world.ann_presses("Allow once").await;
    world.model_will(delete());
    world.ann_says("delete it").await;
    world.model_will(say("Not."));
    world.time_passes(TimeDelta::minutes(31)).await;
    world.guard("{ approvers = { who = ['members'], needed = 2 } }");
    world.model_will(delete());
    let said = world.said("delete it");
    world.happens_at(World::group(), ("1", &[]), said).await;
    world.model_will(say("Done."));
    for person in ["1", "2"] {
        let press = world.press("Allow once");
        world.happens_at(World::group(), (person, &[]), press).await;
    }
    world.guard("{ approvers = 'requester' }");
}

async fn delegate(world: &mut World) {
    let asks = json!({ "coworker": "researcher", "question": "?" });
    world.model_will(calls(vec![("ask_coworker".into(), asks)]));
    world.model_will(say("An answer."));
    world.model_will(say("It says: an answer."));
    world.ann_says("ask it").await;
    world.model_will(call("create_job", json!({ "task": "Think." })));
    world.ann_says("in the background").await;
    for text in ["It runs.", "Thought.", "It thought."] {
        world.model_will(say(text));
    }
    world.ann_presses("Allow once").await;
    world.model_will(call("list_jobs", json!({})));
    world.model_will(say("One."));
    world.ann_says("list the jobs").await;
}

async fn come_to_grief(world: &mut World) {
    world.make_owner("2").await;
    world.guard("{ approvers = ['role:owner', 'requester', 'admins'] }");
    let again = SendError::Rejected("no".into());
    world.room.fails_next(Fault::Before(again));
    world.model_will(call("delete", json!({ "path": "b.txt" })));
    let said = world.said("delete it");
    world.happens_at(World::group(), ("1", &["admin"]), said).await;
    let moved: Place = Place { chat: "-71".into(), ..World::group() };
    let app = world.node().await;
    let to = IncomingContent::Moved { to: moved.chat.clone() };
    world.takes_at(World::group(), &app, "1", to).await;
    world.takes_at(moved, &app, "1", IncomingContent::Expelled).await;
    world.settle(&app).await;
}

/// `-- claim` in the first line, or the first words.
fn label(statement: &str) -> String {
    let first = statement.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().trim();
    match first.strip_prefix("-- ") {
        Some(label) => label.to_owned(),
        None => first.split_whitespace().take(3).collect::<Vec<_>>().join(" "),
    }
}

fn is_planned(statement: &str) -> bool {
    let words = statement.lines().filter(|line| !line.trim_start().starts_with("--"));
    let first = words.flat_map(str::split_whitespace).next().unwrap_or_default().to_uppercase();
    ["SELECT", "UPDATE", "DELETE", "INSERT", "WITH"].contains(&first.as_str())
        && !statement.contains("_sqlx_migrations")
        // Without parameter types PostgreSQL cannot resolve the sum; the row is found by its key.
        && label(statement) != "take message"
        && !statement.contains("sqlite_master")
}

/// The tables that a SQLite plan scans.
fn scanned_by_sqlite(plan: &[String]) -> Vec<String> {
    let scans = plan.iter().filter_map(|line| line.trim().strip_prefix("SCAN "));
    // A partial index contains only open rows, so a scan of it is allowed.
    let whole = scans.filter(|scan| !PARTIAL.iter().any(|index| scan.contains(index)));
    whole.filter_map(|scan| scan.split_whitespace().next()).map(str::to_owned).collect()
}

/// Partial indexes over open rows: waiting, due, or currently held.
const PARTIAL: &[&str] = &[
    "conversations_ready",
    "conversations_unowned",
    "approvals_deadline",
    "approvals_due",
    "approvals_pending",
    "approvals_shown",
    "audit_unsealed",
    "grants_of_owner",
    "jobs_to_report",
    "notices_waiting",
    "outbox_waiting",
    "people_owners",
    "schedules_due",
];

/// The same for PostgreSQL: an index scan without a condition for the leading column reads the whole
/// index.
fn scanned_by_postgres(plan: &[String], indexes: &Indexes) -> Vec<String> {
    let mut found = Vec::new();
    for (at, line) in plan.iter().enumerate() {
        let line = line.trim().trim_start_matches("->").trim();
        let condition = plan.get(at + 1).filter(|next| next.contains("Index Cond"));
        let follows = |word: &str| line.split(word).nth(1)?.split_whitespace().next();
        let index = match follows(" using ") {
            Some(index) => Some(index),
            None => follows("Bitmap Index Scan on "),
        };
        let table = match index.and_then(|index| indexes.get(index)) {
            Some((_, leading)) if condition.is_some_and(|c| c.contains(leading.as_str())) => None,
            Some((table, _)) => Some(table.as_str()),
            None => follows(" on ").filter(|_| line.starts_with("Seq Scan")),
        };
        let partial = PARTIAL.iter().any(|index| line.contains(index));
        found.extend(table.filter(|_| !partial).map(str::to_owned));
    }
    found
}

/// The table of each index, and its leading column or expression.
type Indexes = BTreeMap<String, (String, String)>;

async fn indexes(url: &str) -> Indexes {
    let mut conn = sqlx::PgConnection::connect(url).await.unwrap();
    let sql = "
        SELECT i.relname::text, t.relname::text, pg_get_indexdef(i.oid, 1, true)
        FROM pg_index x
        JOIN pg_class i ON i.oid = x.indexrelid
        JOIN pg_class t ON t.oid = x.indrelid
        WHERE i.relnamespace = 'public'::regnamespace";
    let rows: Vec<(String, String, String)> =
        sqlx::query_as(sql).fetch_all(&mut conn).await.unwrap();
    rows.into_iter().map(|(index, table, leading)| (index, (table, leading))).collect()
}

/// The aliases of tables in a statement.
fn aliases(statement: &str) -> BTreeMap<String, String> {
    let words: Vec<_> =
        statement.split_whitespace().map(|w| w.trim_matches(['(', ')', ','])).collect();
    let mut found = BTreeMap::new();
    for window in words.windows(3) {
        let [verb, table, alias] = window else { continue };
        if ["FROM", "JOIN", "INTO", "UPDATE"].contains(verb) && GROWING.contains(table) {
            found.insert((*table).to_owned(), (*table).to_owned());
            found.insert((*alias).to_owned(), (*table).to_owned());
        }
    }
    found
}

async fn explained_by_sqlite(url: &str, statement: &str) -> Vec<String> {
    let mut conn = sqlx::SqliteConnection::connect(url).await.unwrap();
    let explain = sqlx::AssertSqlSafe(format!("EXPLAIN QUERY PLAN {statement}"));
    let rows = sqlx::raw_sql(explain).fetch_all(&mut conn).await;
    let rows = rows.unwrap_or_else(|problem| panic!("{statement}: {problem}"));
    rows.iter().map(|row| row.get::<String, _>("detail")).collect()
}

/// Keeps autovacuum from analysing the tables, which would plan for the rows of this test.
async fn keep_defaults(url: &str) {
    let mut conn = sqlx::PgConnection::connect(url).await.unwrap();
    for table in GROWING {
        let alter = format!("ALTER TABLE {table} SET (autovacuum_enabled = off)");
        sqlx::raw_sql(sqlx::AssertSqlSafe(alter)).execute(&mut conn).await.unwrap();
    }
}

/// Makes PostgreSQL plan for tables of a million rows: the planner multiplies the recorded row
/// density by the real size.
async fn enlarge(url: &str) {
    let mut conn = sqlx::PgConnection::connect(url).await.unwrap();
    let tables = GROWING.join("', '");
    let enlarge = format!(
        "UPDATE pg_class SET reltuples = 1000000, relpages = 1
        WHERE relkind = 'r' AND relname IN ('{tables}')"
    );
    sqlx::raw_sql(sqlx::AssertSqlSafe(enlarge)).execute(&mut conn).await.unwrap();
}

/// As a prepared statement with unknown parameters.
async fn explained_by_postgres(url: &str, statement: &str) -> Vec<String> {
    let mut conn = sqlx::PgConnection::connect(url).await.unwrap();
    let run = async |conn: &mut sqlx::PgConnection, sql: String| {
        let rows = sqlx::raw_sql(sqlx::AssertSqlSafe(sql)).fetch_all(conn).await;
        rows.unwrap_or_else(|problem| panic!("{statement}: {problem}"))
    };
    let set = "SET enable_seqscan = off; SET plan_cache_mode = force_generic_plan";
    run(&mut conn, set.to_owned()).await;
    run(&mut conn, format!("PREPARE planned AS {statement}")).await;
    let count = (1..40).rev().find(|n| statement.contains(&format!("${n}"))).unwrap_or(0);
    let nulls = vec!["NULL"; count].join(", ");
    let execute = if count == 0 { "planned".to_owned() } else { format!("planned ({nulls})") };
    let rows = run(&mut conn, format!("EXPLAIN EXECUTE {execute}")).await;
    rows.iter().map(|row| row.get::<String, _>(0)).collect()
}

async fn scans(world: &World, statements: BTreeSet<String>) -> Vec<String> {
    let url = world.config.store_url();
    let statements: Vec<_> = statements.iter().filter(|statement| is_planned(statement)).collect();
    let indexes = if world.is_on_sqlite() { Indexes::default() } else { indexes(&url).await };
    let mut plans = Vec::new();
    for statement in &statements {
        plans.push(if world.is_on_sqlite() {
            let plan = explained_by_sqlite(&url, statement).await;
            (scanned_by_sqlite(&plan), plan)
        } else {
            let plan = explained_by_postgres(&url, statement).await;
            (scanned_by_postgres(&plan, &indexes), plan)
        });
    }
    // PostgreSQL scans tiny indexes and ignores small limits: a scan counts only if it is planned
    // for small and large tables.
    if !world.is_on_sqlite() {
        enlarge(&url).await;
        for (statement, (scanned, _)) in statements.iter().zip(&mut plans) {
            let plan = explained_by_postgres(&url, statement).await;
            let large = scanned_by_postgres(&plan, &indexes);
            scanned.retain(|table| large.contains(table));
        }
    }
    let mut found = Vec::new();
    for (statement, (scanned, plan)) in statements.iter().zip(plans) {
        let names = aliases(statement);
        let growing: BTreeSet<_> =
            scanned.iter().filter_map(|name| names.get(name).map(String::as_str)).collect();
        let label = label(statement);
        let excepted = EXCEPTIONS.iter().any(|(known, _)| label.starts_with(known));
        if !growing.is_empty() && !excepted {
            found.push(format!("{label}: scans {growing:?}\n    {}", plan.join("\n    ")));
        }
    }
    found
}

/// The cost of a statement does not depend on the number of rows.
/// Proves S13.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_statement_scans_a_table_that_grows() {
    let recorder = Recorder::default();
    tracing_subscriber::registry().with(recorder.clone()).init();
    let mut found = Vec::new();
    for mut world in [World::on_sqlite(), World::on_postgres().await] {
        world.guard("{ approvers = 'requester' }");
        let (on, now) = (world.is_on_sqlite(), world.clock.now());
        drop(world.node().await);
        if !on {
            keep_defaults(&world.config.store_url()).await;
        }
        recorder.take();
        Box::pin(a_day(&mut world)).await;
        let statements = recorder.take();
        assert!(
            statements.len() > 100,
            "{} statements in {}",
            statements.len(),
            world.clock.now() - now
        );
        let on = if on { "SQLite" } else { "PostgreSQL" };
        found.extend(
            scans(&world, statements).await.into_iter().map(|scan| format!("{on}: {scan}")),
        );
        world.end().await;
    }
    assert!(found.is_empty(), "{} statements scan:\n{}", found.len(), found.join("\n"));
}

/// A scan is detected, so that a statement of the store with one would fail.
#[tokio::test]
async fn a_scan_is_found_on_both_databases() {
    let statement = "
        -- an example
        SELECT o.body FROM outbox o
        WHERE o.body LIKE $1";
    for world in [World::on_sqlite(), World::on_postgres().await] {
        drop(world.node().await);
        let found = scans(&world, [statement.to_owned()].into()).await;
        assert_eq!(found.len(), 1, "{found:?}");
        world.end().await;
    }
}
