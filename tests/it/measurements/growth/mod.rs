//! The durations of frequent operations in a database as it is after years.
//!
//! `tests/run -E 'test(growth_is_measured)' --run-ignored all --no-capture` generates it and prints
//! the table, on both databases; with `--release` the figures are those of a release.

#![expect(clippy::print_stdout, reason = "the table is what this is run for")]

mod generate;

use chrono::TimeDelta;
use countersign::testing::{
    app::App,
    clock::Clock as _,
    gateway::approvals,
    journal::ids::ConversationId,
    scripted::say,
    store::{
        audit::{AuditKind, Fact},
        conversations::places,
        outbox::due::Share,
        usage::spent::UsageScope,
    },
    worker::erasure,
};
use std::time::{Duration, Instant};

use crate::support::world::World;
use generate::{LARGE, Size};

/// The operation, and its duration.
type Figures = Vec<(&'static str, Duration)>;

/// Measures a duration.
async fn timed<T>(work: impl Future<Output = T>) -> (T, Duration) {
    let begun = Instant::now();
    (work.await, begun.elapsed())
}

async fn measure(world: &mut World, size: Size) -> Figures {
    let mut figures = Vec::new();
    generate::fill(world, size).await;
    let app = world.node().await;
    let store = &app.gateway.store;

    let said = world.said("hello");
    world.takes_at(generate::longest(), &app, "1", said).await;
    world.model_will(say("Hello."));
    let (advanced, took) = timed(app.worker.advance_ready()).await;
    assert_eq!(advanced.unwrap(), 1);
    figures.push(("a cold turn in the longest conversation", took));

    let (claimed, took) = timed(
        store.claim_sends(vec![Share { channel: "room".into(), limit: 64 }], world.clock.now()),
    )
    .await;
    assert!(!claimed.unwrap().is_empty());
    figures.push(("claiming 64 sends, all waiting rows due", took));

    let person = generate::person(size.conversations / 2);
    let (found, took) = timed(private_with(&app, person)).await;
    assert!(found.is_some());
    figures.push(("finding a person's private chat", took));

    let limits = async {
        for scope in [
            UsageScope::Person(format!("room/{}", generate::person(1))),
            UsageScope::Conversation(ConversationId("c1".into())),
            UsageScope::All,
        ] {
            store.spent(scope, world.clock.now()).await.unwrap();
        }
    };
    figures.push(("checking three limits of the day", timed(limits).await.1));

    let fact = Fact::new(AuditKind::Erased, "");
    let (erased, took) =
        timed(erasure::erase(&app.worker, "room", &generate::person(2), fact)).await;
    assert_eq!(erased.unwrap().unwrap().conversations.len(), 1);
    figures.push(("erasing a person", took));

    world.clock.advance(TimeDelta::hours(1));
    let (expired, took) = timed(approvals::sweep(&app.gateway)).await;
    assert_eq!(expired.unwrap(), size.approvals);
    figures.push(("expiring all open approvals", took));
    figures
}

async fn private_with(app: &App, person: String) -> Option<ConversationId> {
    let find = app
        .gateway
        .store
        .read(move |tx| Box::pin(async move { places::private_with(tx, "room", &person).await }));
    find.await.unwrap()
}

/// In MiB; `None` if the system does not report it.
fn resident_mib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|kib| kib.parse::<u64>().ok()).unwrap_or(0) / 1024
}

fn print(on: &str, size: Size, figures: &Figures) {
    println!("\n{on}: {size:?}\n");
    println!("| what | ms |\n| --- | ---: |");
    for (what, took) in figures {
        println!("| {what} | {:.1} |", took.as_secs_f64() * 1e3);
    }
    println!("| resident memory, MiB | {} |", resident_mib());
}

/// The benchmark: prints the table.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "takes minutes; docs/development/benchmarks.md says how to run it"]
async fn growth_is_measured() {
    let mut expiries = Vec::new();
    for mut world in [World::on_sqlite(), World::on_postgres().await] {
        let on = if world.is_on_sqlite() { "SQLite" } else { "PostgreSQL" };
        let figures = measure(&mut world, LARGE).await;
        print(on, LARGE, &figures);
        world.end().await;
        expiries.push(figures.last().unwrap().1);
    }
    let is_in_time = expiries.iter().all(|took| *took < Duration::from_secs(5));
    assert!(is_in_time, "10,000 approvals took {expiries:?}");
}

/// The same with few rows, to test the benchmark.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_small_database_is_measured() {
    for mut world in [World::on_sqlite(), World::on_postgres().await] {
        let figures = measure(&mut world, LARGE.divided_by(500)).await;
        assert_eq!(figures.len(), 6);
        world.end().await;
    }
}
