//! The main use case with a gateway that may die at any moment and is restarted: a message, two
//! calls of which one is non-repeatable and needs approval, a press, a document, a last message.

use countersign::testing::journal::event::Event;
use fakes::{
    llm::{self, Answer, FakeLlm},
    telegram::{FakeTelegram, TOKEN},
    tools::{ToolServer, tool},
};
use serde_json::{Value, json};
use std::{collections::BTreeMap, fs, time::Duration};

use super::history::{Held, History, Line, Row};
use crate::support::process::{On, Running, Site, eventually};

const DOCUMENT: &str = "flight.docx";
const DONE: &str = "A has flown.";
const BYE: &str = "You are welcome.";

/// A point at which the process dies, the n-th time that it is passed.
pub type KillPoint = (String, usize);

pub struct Scenario {
    site: Site,
    telegram: FakeTelegram,
    llm: FakeLlm,
    tools: ToolServer,
    chat: i64,
}

impl Scenario {
    pub async fn new(on: On) -> Self {
        let mut site = Site::new(on).await;
        let (telegram, llm) = (FakeTelegram::start().await, FakeLlm::start().await);
        let launch = tool("launch", "Launches a rocket", "rocket");
        let tools = ToolServer::start(vec![launch], || Duration::ZERO).await;
        llm.answers(answer);
        let chat = telegram.private("Ann");
        site.variable("TELEGRAM_BOT_TOKEN", TOKEN);
        site.variable("OPENAI_API_KEY", "sk-test");
        let (model, platform) = (llm.base_url(), telegram.url());
        site.configure("127.0.0.1:0", &configuration(&model, &platform, chat, &tools.url(0)));
        Self { site, telegram, llm, tools, chat }
    }

    /// The points that a whole run passes, with their counts, and its final state.
    pub async fn points(self) -> (BTreeMap<String, usize>, History) {
        let log = self.site.path("points");
        let mut running =
            self.site.start(&[("COUNTERSIGN_CRASH_LOG", log.to_str().expect("a plain path"))]);
        let job = self.job().await;
        assert!(running.stop().await.success(), "{}", running.said());
        let mut points = BTreeMap::new();
        for point in fs::read_to_string(log).unwrap().lines() {
            *points.entry(point.to_owned()).or_default() += 1;
        }
        let history = self.history(job, 0).await;
        self.site.end().await;
        (points, history)
    }

    /// Dies at that point, is restarted, and completes.
    pub async fn dies_at(self, (point, time): &KillPoint) -> History {
        let armed = [("COUNTERSIGN_CRASH_AT", format!("{point}#{time}"))];
        let armed = armed.each_ref().map(|(name, value)| (*name, value.as_str()));
        let mut life = Life { running: self.site.start(&armed), kills: 0 };
        let job = tokio::select! {
            job = self.job() => job,
            () = life.go_on(&self.site) => unreachable!("it goes on for ever"),
        };
        life.end(&self.site).await;
        let history = self.history(job, life.kills).await;
        self.site.end().await;
        history
    }

    async fn job(&self) -> Job<'_> {
        let (telegram, site) = (&self.telegram, &self.site);
        let mut job = Job { telegram, site, chat: self.chat, written: vec![], held: vec![] };
        job.run().await;
        job
    }

    async fn history(&self, job: Job<'_>, kills: usize) -> History {
        assert_eq!(self.llm.problems(), Vec::<String>::new(), "the model's wire was broken");
        let conversations = self.site.rows("conversations").await;
        assert_eq!(conversations.len(), 1);
        let shown = self.telegram.messages(self.chat).into_iter().filter(|m| m.from_bot);
        let first = |text: String| text.lines().next().unwrap_or_default().to_owned();
        let mut launches = BTreeMap::<String, usize>::new();
        for execution in self.tools.executions() {
            let rocket = execution.arguments["rocket"].as_str().unwrap_or_default().to_owned();
            *launches.entry(rocket).or_default() += 1;
        }
        let integrity = self.site.integrity().await;
        History {
            written: job.written,
            journal: journal(self.site.rows("events").await),
            fence: number(&conversations[0], "fence"),
            folder: conversations[0]["id"].as_str().unwrap_or_default().to_owned(),
            outbox: outbox(self.site.rows("outbox").await),
            decided: decided(&self.site.rows("approvals").await),
            approvers: vec![self.chat.to_string()],
            shown: shown.map(|m| m.document.unwrap_or_else(|| first(m.text))).collect(),
            expected: [DOCUMENT, DONE, BYE].map(str::to_owned).into(),
            launches,
            kills,
            held: job.held,
            integrity,
        }
    }
}

fn configuration(model: &str, platform: &str, chat: i64, tools: &str) -> String {
    format!(
        r#"
[documents]
office_previews = false
[[models]]
id = "main"
provider = "openai"
base_url = "{model}"
api_key = {{ env = "OPENAI_API_KEY" }}
model = "gpt-5"
[[channels]]
id = "tg"
kind = "telegram"
token = {{ env = "TELEGRAM_BOT_TOKEN" }}
api_url = "{platform}"
allow = ["{chat}"]
[[mcp]]
name = "rockets"
url = "{tools}"
tier = "core"
"#
    )
}

/// The processes in sequence; one kill is expected, two are an error.
struct Life {
    running: Running,
    kills: usize,
}

impl Life {
    /// Restarts the gateway whenever it has died.
    async fn go_on(&mut self, site: &Site) {
        loop {
            self.running.died().await;
            self.start_again(site);
        }
    }

    fn start_again(&mut self, site: &Site) {
        assert_eq!(self.kills, 0, "it died again: {}", self.running.said());
        self.kills = 1;
        self.running = site.start(&[]);
    }

    /// Shuts it down, even if it dies before that, or while it stops.
    async fn end(&mut self, site: &Site) {
        if !self.running.starts().await || !self.running.stop().await.success() {
            self.start_again(site);
            self.running.greeted().await;
            let ended = self.running.stop().await;
            assert!(ended.success(), "{ended}: {}", self.running.said());
        }
    }
}

/// Ann's actions, which do not depend on processes.
struct Job<'s> {
    telegram: &'s FakeTelegram,
    site: &'s Site,
    chat: i64,
    written: Vec<String>,
    held: Vec<Held>,
}

impl Job<'_> {
    async fn run(&mut self) {
        self.says("launch A");
        let question = self.button("Allow once").await;
        self.held.push(self.at_rest().await);
        self.says("and tell me when");
        self.shows("I'm still waiting").await;
        self.telegram.user_presses(self.chat, "Ann", question, "Allow once");
        let mut pressed = Vec::new();
        eventually(DONE, async || {
            self.skips(&mut pressed);
            self.is_shown(DONE).then_some(())
        })
        .await;
        self.says("thanks");
        self.shows(BYE).await;
        eventually("everything is sent", async || {
            let rows = self.site.rows("outbox").await;
            rows.iter().all(|row| row["status"] != "waiting").then_some(())
        })
        .await;
    }

    fn says(&mut self, text: &str) {
        self.written.push(self.telegram.user_says(self.chat, "Ann", text).to_string());
    }

    async fn button(&self, label: &str) -> i64 {
        eventually(label, async || {
            let messages = self.telegram.messages(self.chat);
            let found = messages.iter().find(|m| m.buttons.iter().any(|(l, _)| l == label));
            found.map(|message| message.id)
        })
        .await
    }

    async fn shows(&self, text: &str) {
        eventually(text, async || self.is_shown(text).then_some(())).await;
    }

    fn is_shown(&self, text: &str) -> bool {
        self.telegram.messages(self.chat).iter().any(|m| m.from_bot && m.text.starts_with(text))
    }

    /// Ann declines to repeat the interrupted call.
    fn skips(&self, pressed: &mut Vec<i64>) {
        for message in self.telegram.messages(self.chat) {
            let asks = message.buttons.iter().any(|(label, _)| label == "Skip");
            if asks && !pressed.contains(&message.id) {
                pressed.push(message.id);
                self.telegram.user_presses(self.chat, "Ann", message.id, "Skip");
            }
        }
    }

    /// The resources held while the approval is open, as soon as there are none, or after a
    /// timeout: the worker releases them only after the approval was sent.
    async fn at_rest(&self) -> Held {
        let mut looks = 0;
        eventually("it rests or does not", async || {
            looks += 1;
            let conversation = self.site.rows("conversations").await.pop()?;
            let lease = number(&conversation, "lease_until") > 0;
            let held = Held { lease, ready: !conversation["ready_at"].is_null() };
            ((!held.lease && !held.ready) || looks > 500).then_some(held)
        })
        .await
    }
}

fn number(row: &Value, column: &str) -> i64 {
    row[column].as_i64().unwrap_or_else(|| panic!("no number {column} in {row}"))
}

fn journal(mut rows: Vec<Value>) -> Vec<Line> {
    rows.sort_by_key(|row| number(row, "seq"));
    let line = |row: &Value| {
        let body = row["body"].as_str().expect("a text");
        let event: Event = serde_json::from_str(body).expect("an event");
        Line { seq: number(row, "seq"), fence: number(row, "fence"), event }
    };
    rows.iter().map(line).collect()
}

fn outbox(mut rows: Vec<Value>) -> Vec<Row> {
    rows.sort_by_key(|row| {
        (number(row, "seq"), number(row, "part"), row["id"].as_str().map(str::to_owned))
    });
    let row = |row: &Value| {
        let receipt = row["receipt"].as_str().filter(|_| row["edits"].is_null());
        let receipt: Option<Value> = receipt.and_then(|text| serde_json::from_str(text).ok());
        Row {
            status: row["status"].as_str().unwrap_or_default().to_owned(),
            sent_at: row["sent_at"].as_i64().unwrap_or_default(),
            message: receipt.and_then(|r| r["message"].as_str()?.parse().ok()),
        }
    };
    rows.iter().map(row).collect()
}

fn decided(rows: &[Value]) -> BTreeMap<String, (i64, i64)> {
    let pair = |row: &Value| {
        let id = row["id"].as_str()?.to_owned();
        Some((id, (row["decided_at"].as_i64()?, row["expires_at"].as_i64()?)))
    };
    rows.iter().filter_map(pair).collect()
}

/// The model, whose answers depend only on the history and not on how often it is asked.
fn answer(request: &llm::Request) -> Answer {
    let messages = request.body["messages"].as_array().cloned().unwrap_or_default();
    let says = |message: &Value, text| message.to_string().contains(text);
    if messages.iter().any(|m| m["role"] == "user" && says(m, "thanks")) {
        return llm::text(BYE).into();
    }
    let turn = llm::text("");
    match messages.iter().filter(|m| m["role"] == "tool").count() {
        0 => turn
            .call("call_1", "get_current_datetime", "{}")
            .call("call_2", "rockets_launch", r#"{"rocket":"A"}"#)
            .into(),
        2 => {
            let arguments = json!({ "markdown": "# A\n\nIt flew.", "fileName": "flight" });
            turn.call("call_3", "render_docx", &arguments.to_string()).into()
        }
        3 => llm::text(DONE).into(),
        other => llm::refuse(400, "invalid_request_error", &format!("{other} results")),
    }
}
