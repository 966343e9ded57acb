//! A background job whose process dies while it is created, runs, ends or reports is done once.

use fakes::llm::{self, Answer};

use super::chat::Chat;
use crate::support::process::{On, Site, eventually};

const TOLD: &str = "The job says: 42.";

/// Proves R7.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_death_neither_loses_nor_doubles_a_job() {
    let points = [
        "create job/before commit#1",
        "create job/after commit#1",
        "report job/before commit#1",
        "report job/after commit#1",
    ];
    for on in [On::Sqlite, On::Postgres] {
        for point in points {
            reports_once(on, point).await;
        }
    }
}

async fn reports_once(on: On, point: &str) {
    let mut site = Site::new(on).await;
    let chat = Chat::new(answer).await;
    chat.configures(&mut site, "create_job", "");
    let mut dies = site.start(&[("COUNTERSIGN_CRASH_AT", point)]);
    dies.greeted().await;
    chat.says("find the answer");
    dies.died().await;
    let mut lives = site.start(&[]);
    let told = || {
        let messages = chat.telegram.messages(chat.id).into_iter();
        messages.filter(|message| message.from_bot && message.text == TOLD).count()
    };
    eventually("the report", async || (told() > 0).then_some(())).await;
    assert!(lives.stop().await.success());
    assert_eq!(told(), 1, "{point}: {}", site.said());
    let jobs = site.rows("jobs").await;
    assert!(jobs.len() == 1 && jobs[0]["status"] == "reported", "{point}: {jobs:?}");
    let events = site.rows("events").await;
    let reports = events.iter().filter(|row| row["body"].to_string().contains("job_reported"));
    assert_eq!(reports.count(), 1, "{point}");
    assert_eq!(chat.model.problems(), Vec::<String>::new());
    site.end().await;
}

/// The model, whose answers depend only on the history.
fn answer(request: &llm::Request) -> Answer {
    let messages = request.body["messages"].as_array().cloned().unwrap_or_default();
    let said =
        |text: &str| messages.iter().any(|m| m["role"] == "user" && m.to_string().contains(text));
    let called = messages.iter().any(|message| message["role"] == "tool");
    if said("The background job") {
        return llm::text(TOLD).into();
    }
    if !said("find the answer") {
        return llm::text("42").into();
    }
    if called {
        return llm::text("It runs.").into();
    }
    llm::text("").call("call_1", "create_job", r#"{"task":"Think."}"#).into()
}
