//! The kill test: the main job, with a death at each named point, on both databases. The program
//! `crash-test` kills at random moments, several nodes, and while many people write; the short form
//! here leaves to it what does not depend on the exact point.
//!
//! - [`scenario`]: the job, its people and its world
//! - [`history`]: what must hold afterwards
//! - [`builder`]: a software build
//! - [`chat`]: a person who talks to the gateway
//! - [`jobs`]: a background job
//! - [`timers`]: a reminder that is due at that moment
//! - [`wasm`]: a WASM tool

mod builder;
mod chat;
mod history;
mod jobs;
mod scenario;
mod timers;
mod wasm;

use futures::{FutureExt as _, StreamExt as _, stream};
use std::{collections::BTreeMap, panic::AssertUnwindSafe};

use crate::support::process::{On, Site};
use history::History;
use scenario::{KillPoint, Scenario};

/// The number of concurrent child processes. They mostly wait.
const AT_ONCE: usize = 4;

/// Points that are passed periodically, independent of the job.
const BEATS: [&str; 3] = ["heartbeat/", "sweep/", "hold duty/"];

/// Points between an effect and its record in the journal. Each time that they are passed is
/// tested.
const UNWRITTEN: [&str; 2] = ["end send/before commit", "tool/after run"];

/// Proves I1 … I9, R2, R3, T6, M1.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_death_at_any_point_costs_nothing_on_sqlite() {
    die_everywhere(On::Sqlite).await;
}

/// Proves I1 … I9, R2, R3, T6, M1.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_death_at_any_point_costs_nothing_on_postgres() {
    die_everywhere(On::Postgres).await;
}

async fn die_everywhere(on: On) {
    let (points, calm) = Scenario::new(on).await.points().await;
    assert_eq!(calm.contradictions(), Vec::<String>::new(), "without any death");
    assert!(points.len() >= 25, "few points are named: {points:?}");
    let chosen = if is_full() { all(&points) } else { some(on, &points) };
    let count = chosen.len();
    let runs = stream::iter(chosen).map(|point| async move {
        let run = async { Scenario::new(on).await.dies_at(&point).await };
        let history = AssertUnwindSafe(run).catch_unwind().await;
        (point, history.ok())
    });
    let runs: Vec<(KillPoint, Option<History>)> = runs.buffer_unordered(AT_ONCE).collect().await;
    let mut wrong = Vec::new();
    for ((point, time), history) in &runs {
        match history {
            Some(history) => {
                let found = history.contradictions();
                wrong.extend(found.into_iter().map(|what| format!("{point}#{time}: {what}")));
            }
            None => wrong.push(format!("{point}#{time}: it did not come to its end")),
        }
    }
    assert!(wrong.is_empty(), "{} of {count} deaths:\n{}", wrong.len(), wrong.join("\n"));
    let died = runs.iter().filter(|(_, history)| history.as_ref().is_some_and(|h| h.kills == 1));
    // How often a point is passed depends on timing. Most points must be met, which shows that they
    // were armed.
    let died = died.count();
    assert!(died * 10 >= count * 8, "only {died} of {count} points were met");
}

fn is_full() -> bool {
    std::env::var("COUNTERSIGN_TEST_FULL").is_ok_and(|full| full == "1")
}

/// Every point, each time that it is passed.
fn all(points: &BTreeMap<String, usize>) -> Vec<KillPoint> {
    let times = points.iter().flat_map(|(point, times)| {
        let limit = if is_beat(point) { 2 } else { *times };
        (1..=limit).map(|time| (point.clone(), time))
    });
    times.collect()
}

/// On SQLite every point of the job once, in its middle; on both databases the points between an
/// effect and its record, each time.
fn some(on: On, points: &BTreeMap<String, usize>) -> Vec<KillPoint> {
    let times = points.iter().flat_map(|(point, times)| {
        let each = UNWRITTEN.contains(&point.as_str());
        let once = on == On::Sqlite && !is_beat(point);
        let middle = times.div_ceil(2);
        let chosen = (1..=*times).filter(move |time| each || (once && *time == middle));
        chosen.map(|time| (point.clone(), time))
    });
    times.collect()
}

fn is_beat(point: &str) -> bool {
    BEATS.iter().any(|beat| point.starts_with(beat))
}

/// A gateway that dies after creating a token, and before responding, has created exactly one.
#[tokio::test]
async fn a_request_with_a_key_outlives_the_process_that_does_it() {
    let site = Site::new(On::Sqlite).await;
    site.configure("127.0.0.1:0", "");
    site.migrate().await;
    let (_, said) = site.run(&["token", "--api", "ops", "--role", "owner"]).await;
    let token = said.split_whitespace().find(|word| word.starts_with("cs_")).unwrap();
    let client = reqwest::Client::new();
    let make = |url: String| {
        let request = client.post(format!("{url}/api/v1/tokens"));
        let request = request.bearer_auth(token).header("idempotency-key", "make");
        request.json(&serde_json::json!({ "name": "night", "role": "viewer" })).send()
    };
    let mut dies = site.start(&[("COUNTERSIGN_CRASH_AT", "create token/after commit#1")]);
    dies.greeted().await;
    assert!(make(dies.url()).await.is_err());
    dies.died().await;
    let mut again = site.start(&[]);
    again.greeted().await;
    assert_eq!(make(again.url()).await.unwrap().status(), reqwest::StatusCode::CONFLICT);
    let names = site.rows("api_tokens").await;
    assert_eq!(names.iter().filter(|row| row["name"] == "night").count(), 1, "{names:?}");
    again.stop().await;
    site.end().await;
}
