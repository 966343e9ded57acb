//! A build whose process dies: nothing is repeated without a question, and what it had is kept.

use fakes::llm::{self, Answer};

use super::chat::Chat;
use crate::support::process::{On, Site, eventually};

const DONE: &str = "It is done.";

/// `kill -9` while a test case runs: a person is asked whether the build may run again. Its first
/// round is in its record, as interrupted, and is paid for.
/// Proves IC-36, R2.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_death_in_a_build_leaves_the_decision_to_a_person() {
    for on in [On::Sqlite, On::Postgres] {
        let mut site = Site::new(on).await;
        let chat = Chat::new(answer).await;
        let sections = "[builder]\nenabled = true\ncommand_timeout = \"5m\"";
        chat.configures(&mut site, "build_software", sections);
        site.migrate().await;
        let mut dies = site.start(&[]);
        dies.greeted().await;
        chat.says("build it");
        let folder = site.path("data/builds");
        let record = eventually("the second round", async || {
            let record = record(&folder)?;
            // The result of the first round; the second one sleeps in its test case.
            record["result"].is_object().then_some(record)
        })
        .await;
        assert_eq!(record["ended"], false);
        dies.kill().await;
        let mut lives = site.start(&[]);
        chat.skips().await;
        chat.hears(DONE).await;
        assert!(lives.stop().await.success());
        let kept = self::record(&folder).unwrap();
        assert_eq!(kept["result"]["test_results"][0]["passed"], false);
        let usage = site.rows("usage").await;
        let requests = usage.iter().filter(|row| row["kind"] == "model");
        let requests: i64 = requests.filter_map(|row| row["times"].as_i64()).sum();
        assert!(requests >= 3, "two of the chat and one of the build: {usage:?}");
        assert_eq!(chat.model.problems(), Vec::<String>::new());
        site.end().await;
    }
}

/// The record of the only build.
fn record(folder: &std::path::Path) -> Option<serde_json::Value> {
    let conversation = std::fs::read_dir(folder).ok()?.flatten().next()?.path();
    let build = std::fs::read_dir(conversation).ok()?.flatten().next()?.path();
    serde_json::from_slice(&std::fs::read(build.join("build.json")).ok()?).ok()
}

/// The model, whose answers depend only on the request: in the chat it calls the builder; as the
/// writer of the code it gives a wrong version, and then one that does not end.
fn answer(request: &llm::Request) -> Answer {
    let messages = request.body["messages"].as_array().cloned().unwrap_or_default();
    let answered = messages.iter().any(|message| message["role"] == "tool");
    let writes_code = request.body["tools"].to_string().contains("write_files");
    let version = |code: &str| {
        let files = serde_json::json!({ "files": [{ "path": "main.py", "content": code }] });
        llm::text("").call("call_2", "write_files", &files.to_string()).into()
    };
    match (writes_code, answered) {
        (true, false) => version("print(4)"),
        (true, true) => version("import time\ntime.sleep(240)"),
        (false, true) => llm::text(DONE).into(),
        (false, false) => {
            let requirement = serde_json::json!({
                "name": "adder", "description": "Adds", "language": "python",
                "testCases": [{ "name": "sum", "output": "3" }],
            });
            llm::text("").call("call_1", "build_software", &requirement.to_string()).into()
        }
    }
}
