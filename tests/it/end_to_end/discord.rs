//! The program over real sockets, with a fake Discord and a fake language model.

use fakes::{
    discord::{FakeDiscord, TOKEN, Trouble},
    llm::{self, FakeLlm, Turn},
};
use serde_json::{Value, json};
use std::time::Duration;

use crate::support::process::{On, Running, Site, eventually};

/// A gateway, a platform, a model, and Ann in her private chat.
struct DiscordSystem {
    site: Site,
    discord: FakeDiscord,
    llm: FakeLlm,
    ann: u64,
    chat: u64,
}

impl DiscordSystem {
    async fn new(on: On) -> Self {
        let (mut site, llm) = (Site::new(on).await, FakeLlm::start().await);
        let discord = FakeDiscord::start().await;
        let ann = discord.person("Ann");
        let chat = discord.private(ann);
        for (name, value) in [("DISCORD_TOKEN", TOKEN), ("COUNTERSIGN_LOG", "debug")] {
            site.variable(name, value);
        }
        Self { site, discord, llm, ann, chat }
    }

    async fn start(&self) -> Running {
        let (llm, api, ann) = (self.llm.base_url(), self.discord.url(), self.ann);
        let more = format!(
            r#"
[[models]]
id = "main"
provider = "openai"
base_url = "{llm}"
api_key = "sk-of-no-use"
model = "a-model"
[[channels]]
id = "dc"
kind = "discord"
token = {{ env = "DISCORD_TOKEN" }}
api_url = "{api}"
allow = ["{ann}"]
"#
        );
        self.site.configure("127.0.0.1:0", &more);
        let mut running = self.site.start(&[]);
        running.greeted().await;
        eventually("it is connected", async || self.discord.is_connected().then_some(())).await;
        running
    }

    fn says(&self, text: &str) -> u64 {
        self.discord.says(self.chat, self.ann, text)
    }

    fn count(&self, text: &str) -> usize {
        self.discord.reads(self.chat).iter().filter(|shown| *shown == text).count()
    }

    async fn until(&self, text: &str) {
        eventually(text, async || (self.count(text) > 0).then_some(())).await;
    }

    /// The message with that button.
    async fn offered(&self, label: &str) -> u64 {
        let has = |message: &Value| {
            let rows = message["components"].as_array().into_iter().flatten();
            let mut buttons = rows.flat_map(|r| r["components"].as_array().into_iter().flatten());
            buttons.any(|button| button["label"] == label)
        };
        let found =
            eventually(label, async || self.discord.messages(self.chat).into_iter().find(has));
        found.await["id"].as_str().and_then(|id| id.parse().ok()).expect("an id")
    }

    /// Stops as an operator would: O5.
    async fn stop(&self, mut running: Running) {
        let stopped = tokio::time::timeout(Duration::from_secs(10), running.stop()).await;
        let ended = stopped.expect("it stops within ten seconds");
        assert_eq!(ended.code(), Some(0), "{}", running.said());
    }

    /// O1: neither in the log nor in a file.
    fn no_secret_is_left(&self) {
        assert!(self.site.said().contains("\"level\":\"DEBUG\""), "the log is not deep enough");
        for (path, bytes) in self.site.files() {
            let seen = String::from_utf8_lossy(&bytes).contains(TOKEN);
            assert!(!seen, "the token stands in {}", path.display());
        }
    }
}

fn calling(tool: &str, arguments: &Value) -> Turn {
    llm::text("").call("call_1", tool, &arguments.to_string())
}

/// Chat, approval, action, attachment; the gateway crashes while the approval is open, and every
/// response to a message is lost once.
/// Proves MC-45, M3, A2, A4, R10, O1, O5.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_main_job_over_discord_with_troubles() {
    let system = DiscordSystem::new(On::Sqlite).await;
    let running = system.start().await;
    let report = json!({ "path": "notes/rivers.md", "content": "# Rivers\n\nThey flow." });
    let render = json!({ "markdown": "# Rivers\n\nThey flow.", "fileName": "rivers" });
    system.llm.will(calling("write_file", &report)).will(calling("render_pdf", &render));
    system.llm.will(llm::text("Here it is."));
    system.discord.faults("send", Trouble::LoseAnswer, 1);
    system.says("write a report about rivers");
    let question = system.offered("Allow once").await;
    system.discord.faults("send", Trouble::LoseAnswer, 2);
    system.discord.fault("edit", Trouble::LoseAnswer);
    system.discord.hangs_up();
    let press = system.discord.presses(system.chat, system.ann, (question, "Allow once"));
    system.until("Here it is.").await;

    let shown = system.discord.messages(system.chat);
    let files: Vec<_> = shown.iter().filter_map(|message| system.discord.file(message)).collect();
    assert_eq!(files.len(), 2, "{shown:#?}");
    assert_eq!((files[0].0.as_str(), files[1].0.as_str()), ("rivers.png", "rivers.pdf"));
    assert!(files[1].1.starts_with(b"%PDF"));
    assert_eq!(system.count("Here it is."), 1);
    let settled = |text: &&String| text.contains("Allowed by Ann");
    assert_eq!(system.discord.reads(system.chat).iter().filter(settled).count(), 1);
    let each = "one each: the request, the question, the first page, the file, the end";
    assert_eq!(shown.len(), 5, "{each}: {shown:#?}");
    assert_eq!(system.discord.answer(press).map(|(kind, _)| kind), Some(6));
    eventually("the presser is told", async || {
        (system.discord.whispers(press).len() == 1).then_some(())
    })
    .await;
    assert_eq!(system.discord.introductions().1, 1, "the session was taken up again");
    assert_eq!(system.llm.problems(), Vec::<String>::new());
    system.stop(running).await;
    system.no_secret_is_left();
    system.site.end().await;
}

/// Messages sent during downtime are read afterwards, in the private chat and in channels with
/// mentions, without duplicates. Commands are registered and answered.
/// Proves R10, M1, M12.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restart_reads_back_what_was_missed_and_commands_are_answered() {
    let system = DiscordSystem::new(On::Postgres).await;
    let general = system.discord.general();
    system.llm.will(llm::text("One."));
    let running = system.start().await;
    system.says("first");
    system.until("One.").await;
    system.stop(running).await;

    system.llm.will(llm::text("Two.")).will(llm::text("Two."));
    system.says("second");
    system.discord.says(general, system.ann, "not for the bot");
    let mention = format!("<@{}> third", fakes::discord::BOT_ID);
    system.discord.says(general, system.ann, &mention);
    let running = system.start().await;
    system.until("Two.").await;
    eventually("the mention is answered", async || {
        (system.discord.reads(general) == ["Two."]).then_some(())
    })
    .await;
    assert_eq!(system.llm.requests().len(), 3);

    eventually("the commands are offered", async || {
        let offered = system.discord.commands();
        offered.iter().any(|command| command["name"] == "whoami").then_some(())
    })
    .await;
    let called = system.discord.calls_command(system.chat, system.ann, ("whoami", ""));
    eventually("the command is answered", async || {
        let mut shown = system.discord.whispers(called);
        shown.extend(system.discord.reads(system.chat));
        shown.iter().find(|text| text.contains(&system.ann.to_string())).map(|_| ())
    })
    .await;
    system.stop(running).await;
    system.site.end().await;
}
