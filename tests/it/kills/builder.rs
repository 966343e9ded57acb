//! A build whose process dies: nothing is repeated without a question, and what it had is kept.

use fakes::{
    llm::{self, Answer, FakeLlm},
    telegram::{FakeTelegram, TOKEN},
};

use crate::process::{On, Site, eventually};

const DONE: &str = "It is done.";

/// `kill -9` while a test case runs: a person is asked whether the build may run again. Its first
/// round is in its record, as interrupted, and is paid for.
/// Proves IC-36, R2.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_death_in_a_build_leaves_the_decision_to_a_person() {
    for on in [On::Sqlite, On::Postgres] {
        let mut site = Site::new(on).await;
        let (telegram, model) = (FakeTelegram::start().await, FakeLlm::start().await);
        let chat = telegram.private("Ann");
        model.answers(answer);
        site.variable("TELEGRAM_BOT_TOKEN", TOKEN);
        site.variable("OPENAI_API_KEY", "sk-test");
        let (model_url, platform) = (model.base_url(), telegram.url());
        site.configure(
            "127.0.0.1:0",
            &format!(
                "[builder]\nenabled = true\ncommand_timeout = \"5m\"\n\
                 [[models]]\nid = \"main\"\nprovider = \"openai\"\nbase_url = \"{model_url}\"\n\
                 api_key = {{ env = \"OPENAI_API_KEY\" }}\nmodel = \"gpt-5\"\n\
                 [[channels]]\nid = \"tg\"\nkind = \"telegram\"\n\
                 token = {{ env = \"TELEGRAM_BOT_TOKEN\" }}\napi_url = \"{platform}\"\n\
                 allow = [\"{chat}\"]\n\
                 [[guard.rules]]\nname = \"build\"\ntool = \"build_software\"\naction = \"allow\""
            ),
        );
        site.migrate().await;
        let mut dies = site.start(&[]);
        dies.greeted().await;
        telegram.user_says(chat, "Ann", "build it");
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
        let question = eventually("the question", async || {
            let messages = telegram.messages(chat);
            let found =
                messages.iter().find(|m| m.buttons.iter().any(|(label, _)| label == "Skip"));
            found.map(|message| message.id)
        })
        .await;
        telegram.user_presses(chat, "Ann", question, "Skip");
        eventually(DONE, async || {
            let messages = telegram.messages(chat);
            messages.iter().any(|message| message.text == DONE).then_some(())
        })
        .await;
        assert!(lives.stop().await.success());
        let kept = self::record(&folder).unwrap();
        assert_eq!(kept["result"]["test_results"][0]["passed"], false);
        let usage = site.rows("usage").await;
        let requests = usage.iter().filter(|row| row["kind"] == "model");
        let requests: i64 = requests.filter_map(|row| row["times"].as_i64()).sum();
        assert!(requests >= 3, "two of the chat and one of the build: {usage:?}");
        assert_eq!(model.problems(), Vec::<String>::new());
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
