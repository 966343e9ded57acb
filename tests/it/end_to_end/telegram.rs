//! The program over real sockets, with a fake Telegram and a fake language model.

use countersign::testing::clock::{Clock as _, SystemClock};
use fakes::{
    llm::{self, FakeLlm, Fault, Turn},
    ports::ReservedPort,
    telegram::{FakeTelegram, File, Shown, TOKEN, Trouble},
};
use serde_json::{Value, json};
use std::{collections::BTreeSet, fs, os::unix::fs::PermissionsExt as _, time::Duration};

use crate::support::process::{On, Running, Site, eventually};

/// Secrets that must never appear.
pub const API_KEY: &str = "sk-canary-7f3a9c51d2";
const WEBHOOK_SECRET: &str = "canary-hook-2b8e6f04";

/// The protocol of the model.
#[derive(Debug, Clone, Copy)]
pub enum Vendor {
    OpenAi,
    Anthropic,
}

/// How updates are received.
#[derive(Debug, Clone, Copy)]
pub enum By {
    Poll,
    Push,
}

/// A gateway, a platform, a model, and Ann in her private chat.
pub struct TelegramSystem {
    pub site: Site,
    telegram: FakeTelegram,
    /// The URL at which the gateway expects the platform.
    api: String,
    pub llm: FakeLlm,
    chat: i64,
    pub port: ReservedPort,
    /// The models of the configuration, and further settings.
    pub model: String,
}

fn is_report(message: &Shown) -> bool {
    message.document.as_deref() == Some("rivers.pdf")
}

impl TelegramSystem {
    pub async fn new(on: On, vendor: Vendor) -> Self {
        let (mut site, llm) = (Site::new(on).await, FakeLlm::start().await);
        let telegram = FakeTelegram::start().await;
        let chat = telegram.private("Ann");
        for (name, value) in [
            ("TELEGRAM_BOT_TOKEN", TOKEN),
            ("MODEL_API_KEY", API_KEY),
            ("WEBHOOK_SECRET", WEBHOOK_SECRET),
            ("COUNTERSIGN_LOG", "debug"),
        ] {
            site.variable(name, value);
        }
        let api = telegram.url();
        let provider = match vendor {
            Vendor::OpenAi => "openai",
            Vendor::Anthropic => "anthropic",
        };
        let model = format!(
            r#"
[[models]]
id = "main"
provider = "{provider}"
base_url = "{}"
api_key = {{ env = "MODEL_API_KEY" }}
model = "a-model"
"#,
            llm.base_url()
        );
        Self { site, telegram, api, llm, chat, port: ReservedPort::new(), model }
    }

    /// Writes the configuration and starts the gateway.
    pub async fn start(&self, by: By) -> Running {
        self.configure(by);
        let mut running = self.site.start(&[]);
        running.greeted().await;
        self.is_ready().await;
        running
    }

    pub fn configure(&self, by: By) {
        let (model, api, chat) = (&self.model, &self.api, self.chat);
        let mode = match by {
            By::Poll => "mode = \"poll\"".to_owned(),
            By::Push => format!(
                "mode = \"webhook\"\nwebhook_secret = {{ env = \"WEBHOOK_SECRET\" }}\n\
                 webhook_url = \"http://127.0.0.1:{}/channels/tg/webhook\"",
                self.port.number()
            ),
        };
        let more = format!(
            r#"
{model}
[limits]
messages_per_minute = 0
[[channels]]
id = "tg"
kind = "telegram"
token = {{ env = "TELEGRAM_BOT_TOKEN" }}
api_url = "{api}"
allow = ["{chat}"]
{mode}
"#
        );
        self.site.configure(&format!("127.0.0.1:{}", self.port.number()), &more);
    }

    async fn is_ready(&self) {
        let client = client();
        let url = format!("http://127.0.0.1:{}/readyz", self.port.number());
        eventually("it is ready", async || {
            let answer = client.get(&url).send().await.ok()?;
            answer.status().is_success().then_some(())
        })
        .await;
    }

    pub fn says(&self, text: &str) -> i64 {
        self.telegram.user_says(self.chat, "Ann", text)
    }

    /// The messages that the bot shows.
    fn shown(&self) -> Vec<Shown> {
        self.telegram.messages(self.chat).into_iter().filter(|m| m.from_bot).collect()
    }

    pub fn count(&self, text: &str) -> usize {
        self.shown().iter().filter(|message| message.text == text).count()
    }

    pub async fn until(&self, text: &str) {
        eventually(text, async || (self.count(text) > 0).then_some(())).await;
    }

    async fn presses(&self, label: &str) {
        let message = eventually(label, async || {
            let found = self.shown().into_iter();
            found.rev().find(|m| m.buttons.iter().any(|(shown, _)| shown == label))
        });
        let message = message.await.id;
        self.telegram.user_presses(self.chat, "Ann", message, label);
    }

    /// Chat, approval, action, attachment.
    pub async fn main_job(&self) {
        let report = json!({ "path": "notes/rivers.md", "content": "# Rivers\n\nThey flow." });
        let render = json!({ "markdown": "# Rivers\n\nThey flow.", "fileName": "rivers" });
        self.llm.will(calling("write_file", &report)).will(calling("render_pdf", &render));
        self.llm.will(llm::text("Here it is."));
        self.says("write a report about rivers");
        self.presses("Allow once").await;
        self.until("Here it is.").await;
        let message = self.shown().into_iter().find(is_report).expect("a file");
        let file = self.telegram.document(self.chat, message.id).expect("its bytes");
        assert!(file.bytes.starts_with(b"%PDF"), "{:?}", &file.bytes[..8]);
        let settled = self.shown().iter().filter(|m| m.text.contains("Allowed by Ann")).count();
        assert_eq!(settled, 1);
        assert_eq!(self.telegram.toasts().len(), 1, "the press is answered");
        assert_eq!(self.llm.problems(), Vec::<String>::new());
    }

    /// The journal, by number.
    async fn events(&self) -> Vec<(i64, Value)> {
        let rows = self.rows("events").await;
        let event = |row: &Value| {
            let body = serde_json::from_str(row["body"].as_str().unwrap()).unwrap();
            (row["seq"].as_i64().unwrap(), body)
        };
        let mut events: Vec<_> = rows.iter().map(event).collect();
        events.sort_by_key(|(seq, _)| *seq);
        events
    }

    async fn rows(&self, table: &str) -> Vec<Value> {
        self.site.rows(table).await
    }

    /// Stops as an operator would: O5.
    pub async fn stop(&self, mut running: Running) {
        let stopped = tokio::time::timeout(Duration::from_secs(10), running.stop()).await;
        let ended = stopped.expect("it stops within ten seconds");
        assert_eq!(ended.code(), Some(0), "{}", running.said());
    }

    /// O1, S11, I10: no log line, row or file contains a secret in any encoding.
    async fn no_secret_is_left(&self) {
        let half = TOKEN.split_once(':').expect("a token has two halves").1;
        let canaries = [API_KEY, WEBHOOK_SECRET, half];
        let encoded = canaries.map(encode);
        let is_seen = |text: &str| {
            canaries
                .iter()
                .copied()
                .chain(encoded.iter().map(String::as_str))
                .find(|c| text.contains(c))
        };
        for table in TABLES {
            for row in self.rows(table).await {
                assert_eq!(is_seen(&row.to_string()), None, "in a row of {table}");
            }
        }
        let said = self.site.said();
        assert!(said.contains("\"level\":\"DEBUG\""), "the log is not deep enough to tell");
        for line in said.lines() {
            assert_eq!(is_seen(line), None, "in the log: {line}");
        }
        for (path, bytes) in self.site.files() {
            let seen = is_seen(&String::from_utf8_lossy(&bytes));
            assert_eq!(seen, None, "in {}", path.display());
        }
    }
}

const TABLES: [&str; 12] = [
    "conversations",
    "events",
    "deliveries",
    "positions",
    "unparsed",
    "outbox",
    "approvals",
    "approval_tokens",
    "people",
    "pairings",
    "access_tokens",
    "leases",
];

fn encode(secret: &str) -> String {
    use base64::{Engine as _, engine::general_purpose::STANDARD_NO_PAD};
    STANDARD_NO_PAD.encode(secret)
}

fn calling(tool: &str, arguments: &Value) -> Turn {
    llm::text("").call("call_1", tool, &arguments.to_string())
}

pub fn client() -> reqwest::Client {
    let builder = reqwest::Client::builder().timeout(Duration::from_secs(5));
    builder.build().expect("a client without files to load")
}

async fn whole_job(on: On, vendor: Vendor, by: By) {
    let system = TelegramSystem::new(on, vendor).await;
    let running = system.start(by).await;
    system.main_job().await;
    system.stop(running).await;
    system.no_secret_is_left().await;
    system.site.end().await;
}

/// Proves MC-45, MC-55, A4, O1, O5, S11, I10.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_main_job_over_openai_and_polling() {
    whole_job(On::Sqlite, Vendor::OpenAi, By::Poll).await;
}

/// Proves MC-45, MC-55, A4, O1, O5, S6, S11, I10.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_main_job_over_anthropic_and_a_webhook() {
    whole_job(On::Postgres, Vendor::Anthropic, By::Push).await;
}

/// A platform that is down at startup is waited for; the gateway is ready meanwhile.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_start_while_telegram_is_down_is_survived() {
    let mut system = TelegramSystem::new(On::Sqlite, Vendor::OpenAi).await;
    let port = ReservedPort::new();
    system.api = format!("http://127.0.0.1:{}", port.number());
    system.llm.will(llm::text("Good morning."));
    let running = system.start(By::Poll).await;
    eventually("it has tried", async || {
        running.said().contains("Telegram: will retry").then_some(())
    })
    .await;
    system.telegram = FakeTelegram::start_on(port.number()).await;
    system.chat = system.telegram.private("Ann");
    system.says("are you there?");
    system.until("Good morning.").await;
    system.stop(running).await;
    system.site.end().await;
}

/// 429 with a delay, a proxy's error page, responses lost before and after the effect: everything
/// is shown once, and at most the lost placeholder remains, with the first words.
/// Proves R3, I6, M1.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn platform_errors_duplicate_no_message() {
    let system = TelegramSystem::new(On::Sqlite, Vendor::OpenAi).await;
    let running = system.start(By::Poll).await;
    let telegram = &system.telegram;
    telegram.fault("sendMessage", Trouble::TooMany { retry_after: 1 });
    telegram.fault("sendMessage", Trouble::LoseAnswer);
    telegram.fault("editMessageText", Trouble::LoseAnswer);
    telegram.fault("editMessageText", Trouble::Page { code: 502 });
    telegram.fault("editMessageMedia", Trouble::LoseAnswer);
    telegram.fault("editMessageMedia", Trouble::TooMany { retry_after: 1 });
    telegram.fault("getUpdates", Trouble::LoseAnswer);
    system.main_job().await;
    assert_eq!(system.count("Here it is."), 1);
    assert_eq!(system.shown().into_iter().filter(is_report).count(), 1);
    assert_eq!(system.count("…"), 0, "a placeholder shows the first words: {:?}", system.shown());
    let begun = system.shown().into_iter().filter(|shown| shown.text.ends_with('…')).count();
    assert!(begun <= 1, "one answer to a placeholder was lost: {:?}", system.shown());
    system.stop(running).await;
    system.site.end().await;
}

/// Model failures: a busy server, a truncated answer.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn troubles_of_the_model_are_overcome() {
    let system = TelegramSystem::new(On::Sqlite, Vendor::OpenAi).await;
    system.llm.will(llm::busy("1"));
    system.llm.will(Fault::Cut { turn: llm::text("A broken thought"), after: 2 });
    system.llm.will(llm::text("A whole thought."));
    let running = system.start(By::Poll).await;
    system.says("think");
    system.until("A whole thought.").await;
    system.stop(running).await;
    system.site.end().await;
}

/// A photo goes from the platform to the model, and into no row and no log line.
/// Proves CA-36, O1.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_photo_is_seen_by_the_model_and_by_nobody_else() {
    let photo = include_bytes!("../../../renderers/tests/corpus/img/photo.jpg");
    for (on, vendor) in [(On::Sqlite, Vendor::OpenAi), (On::Postgres, Vendor::Anthropic)] {
        let mut system = TelegramSystem::new(on, vendor).await;
        system.model += "vision = true\n";
        system.llm.will(llm::text("A street."));
        let running = system.start(By::Poll).await;
        let file = File::new("", "image/jpeg", &photo[..]);
        system.telegram.user_sends(system.chat, "Ann", ("photo", file));
        system.until("A street.").await;
        let request = system.llm.requests()[0].body.to_string();
        let begin = request.find("/9j/").expect("the picture");
        assert!(request[..begin].contains("image/jpeg"));
        let piece = &request[begin..begin + 200];
        for table in TABLES {
            let rows = system.rows(table).await;
            assert!(!rows.iter().any(|row| row.to_string().contains(piece)), "{table}");
        }
        assert!(!running.said().contains(piece), "the log");
        assert_eq!(system.llm.problems(), Vec::<String>::new());
        system.stop(running).await;
        system.site.end().await;
    }
}

/// Files sent by several calls of one answer are grouped on the platform.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pictures_of_one_answer_are_one_album() {
    let photo = include_bytes!("../../../renderers/tests/corpus/img/photo.jpg");
    let system = TelegramSystem::new(On::Sqlite, Vendor::OpenAi).await;
    let send = json!({ "filePath": "inbox/a.jpg" }).to_string();
    system.llm.will(llm::text("").call("c1", "send_file", &send).call("c2", "send_file", &send));
    system.llm.will(llm::text("Twice."));
    let running = system.start(By::Poll).await;
    let file = File::new("a.jpg", "image/jpeg", &photo[..]);
    system.telegram.user_sends(system.chat, "Ann", ("document", file));
    system.until("Twice.").await;
    let albums = system.telegram.granted("sendMediaGroup");
    let pictures = albums[0]["media"].as_str().expect("JSON").matches("\"photo\"").count();
    assert_eq!((albums.len(), pictures), (1, 2));
    system.stop(running).await;
    system.site.end().await;
}

/// A repeated update, before and after a restart, is processed once.
/// Proves M1, R9.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_update_that_comes_twice_is_taken_once() {
    let system = TelegramSystem::new(On::Postgres, Vendor::OpenAi).await;
    system.llm.will(llm::text("One.")).will(llm::text("Two.")).will(llm::text("Three."));
    system.says("first");
    let update = system.telegram.waiting()[0];
    system.telegram.repeat(update);
    let running = system.start(By::Poll).await;
    system.until("One.").await;
    system.telegram.repeat(update);
    system.says("second");
    system.until("Two.").await;
    system.stop(running).await;
    system.telegram.repeat(update);
    system.says("third");
    let running = system.start(By::Poll).await;
    system.until("Three.").await;
    assert_eq!(system.llm.requests().len(), 3);
    assert_eq!(system.shown().len(), 3, "{:?}", system.shown());
    system.stop(running).await;
    system.site.end().await;
}

/// A backup of a running gateway, restored on another machine, loses nothing: an open approval is
/// decided there, and received files can be sent again.
/// Proves R12, O6.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_is_restored_elsewhere() {
    let mut system = TelegramSystem::new(On::Sqlite, Vendor::OpenAi).await;
    let mut running = system.start(By::Poll).await;
    system.main_job().await;
    let note = json!({ "path": "notes/b.md", "content": "b" });
    system.llm.will(calling("write_file", &note)).will(llm::text("It is noted."));
    system.says("note it");
    let open = |m: &Shown| m.buttons.iter().any(|(label, _)| label == "Allow once");
    eventually("the question", async || system.shown().iter().any(open).then_some(())).await;
    let login = |site: &Site| site.path("data/mcp_logins/far.json");
    fs::create_dir(login(&system.site).parent().unwrap()).unwrap();
    fs::write(login(&system.site), "{}").unwrap();
    fs::set_permissions(login(&system.site), fs::Permissions::from_mode(0o600)).unwrap();
    let archive = system.site.path("b.tar");
    let archive = archive.to_str().expect("a plain path");
    let (good, said) = system.site.run(&["backup", archive]).await;
    let contents = "contains the database, and of data_dir: artifacts, workspaces, builds, skills, \
        mcp_servers, mcp_logins. It contains neither the configuration and its secrets";
    assert!(good && said.contains(contents), "{said}");
    running.kill().await;

    let home = system.site.elsewhere().await;
    let lost = std::mem::replace(&mut system.site, home);
    system.configure(By::Poll);
    let (good, said) = system.site.run(&["restore", archive]).await;
    assert!(good, "{said}");
    let (again, said) = system.site.run(&["restore", archive]).await;
    assert!(!again && said.contains("already exists"), "{said}");
    assert_eq!(system.site.integrity().await, "ok");
    let artifacts = |site: &Site| {
        let files = site.files().into_iter();
        let kept =
            files.filter(|(path, _)| path.components().any(|c| c.as_os_str() == "artifacts"));
        kept.map(|(_, bytes)| bytes).collect::<BTreeSet<_>>()
    };
    assert!(!artifacts(&lost).is_empty());
    assert_eq!(artifacts(&system.site), artifacts(&lost));
    let mode = fs::metadata(login(&system.site)).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "who is signed in is nobody else's");

    let running = system.start(By::Poll).await;
    system.presses("Allow once").await;
    system.until("It is noted.").await;
    let files = system.site.files();
    assert!(files.iter().any(|(path, bytes)| path.ends_with("notes/b.md") && bytes == b"b"));
    system.stop(running).await;
    system.site.end().await;
}

/// A damaged or invalid archive changes nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_damaged_backup_is_refused() {
    let system = TelegramSystem::new(On::Sqlite, Vendor::OpenAi).await;
    let running = system.start(By::Poll).await;
    system.main_job().await;
    let archive = system.site.path("b.tar");
    system.site.run(&["backup", archive.to_str().expect("a plain path")]).await;
    system.stop(running).await;
    let whole = std::fs::read(&archive).expect("it was written");
    let pdf = whole.windows(4).position(|bytes| bytes == b"%PDF").expect("the report");
    let mut damaged = whole.clone();
    damaged[pdf + 50] ^= 1;
    for (bytes, reason) in [
        (damaged, "is damaged in the backup"),
        (whole[..whole.len() / 2].to_vec(), "is not a complete backup"),
        (b"hello".to_vec(), "is not a complete backup"),
    ] {
        let home = system.site.elsewhere().await;
        let file = home.path("bad.tar");
        std::fs::write(&file, bytes).expect("a writable folder");
        let (good, said) = home.run(&["restore", file.to_str().expect("a plain path")]).await;
        assert!(!good && said.contains(reason), "{reason}: {said}");
        let left: Vec<_> = home.files().into_iter().map(|(path, _)| path).collect();
        assert_eq!(left, [file], "nothing is left behind");
    }
}

/// One update of ten is duplicated and one of twenty is early, polled and pushed. Each message is
/// in the journal once, in order, and is answered.
/// Proves R9, I1, I2.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reordered_updates_are_neither_duplicated_nor_lost() {
    let system = TelegramSystem::new(On::Sqlite, Vendor::OpenAi).await;
    system.llm.always(llm::text("Heard."));
    system.telegram.disorders(10, 20);
    for (round, by) in [By::Poll, By::Push].into_iter().enumerate() {
        let running = system.start(by).await;
        for number in round * 40..(round + 1) * 40 {
            system.says(&number.to_string());
        }
        let said = eventually("all are answered", async || {
            let events = system.events().await;
            let of = |kind: &str| events.iter().filter(|(_, e)| e["kind"] == kind).collect();
            let (said, replied): (Vec<_>, Vec<_>) = (of("said"), of("replied"));
            let upto = replied.iter().filter_map(|(_, e)| e["upto"].as_i64()).max()?;
            let all = said.len() >= (round + 1) * 40 && said.iter().all(|(seq, _)| *seq <= upto);
            all.then(|| said.into_iter().map(|(_, e)| e["text"].clone()).collect::<Vec<_>>())
        })
        .await;
        for (place, text) in said.iter().enumerate() {
            let number: usize = text.as_str().unwrap().parse().unwrap();
            assert!(number.abs_diff(place) <= 1, "{said:?}");
        }
        assert_eq!(said.len(), (round + 1) * 40, "{said:?}");
        system.stop(running).await;
    }
    system.site.end().await;
}

/// A press is acknowledged once; a failed acknowledgement does not affect the decision.
/// Proves A2.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_acknowledgement_that_fails_costs_no_decision() {
    let system = TelegramSystem::new(On::Sqlite, Vendor::OpenAi).await;
    let running = system.start(By::Poll).await;
    let late = "Bad Request: query is too old and response timeout expired".to_owned();
    let troubles = [
        Trouble::Page { code: 502 },
        Trouble::LoseAnswer,
        Trouble::Refuse { code: 400, description: late },
    ];
    for (number, trouble) in troubles.into_iter().enumerate() {
        let done = format!("Saved {number}.");
        let save = json!({ "path": format!("{number}.md"), "content": "x" });
        system.llm.will(calling("write_file", &save)).will(llm::text(&done));
        system.telegram.fault("answerCallbackQuery", trouble);
        system.says("save");
        system.presses("Allow once").await;
        system.until(&done).await;
    }
    let calls = system.telegram.calls();
    let answers = calls.iter().filter(|call| call.method == "answerCallbackQuery").count();
    assert_eq!(answers, 5, "two of them are tried again, and none that comes too late");
    system.stop(running).await;
    system.site.end().await;
}

/// Unreadable updates are kept, and block nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_update_that_cannot_be_read_is_kept() {
    let system = TelegramSystem::new(On::Sqlite, Vendor::OpenAi).await;
    system.llm.will(llm::text("Still here."));
    let running = system.start(By::Poll).await;
    system.telegram.push_raw(json!({ "message": { "message_id": "not a number" } }));
    system.says("and this one?");
    system.until("Still here.").await;
    let kept = system.rows("unparsed").await;
    assert_eq!(kept.len(), 1);
    assert!(kept[0]["raw"].as_str().unwrap().contains("not a number"), "{kept:?}");
    system.stop(running).await;
    system.site.end().await;
}

/// Leases of a killed process on SQLite are released by the next one: a turn continues although its
/// lease would last another hour. A second gateway on the same file is rejected; commands work
/// beside the first.
/// Proves R5.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_turn_goes_on_at_once_after_a_kill_on_sqlite() {
    let mut system = TelegramSystem::new(On::Sqlite, Vendor::OpenAi).await;
    system.site.variable("COUNTERSIGN__STORE__LEASE_DURATION", "1h");
    let late = Fault::SlowHeaders { turn: llm::text("Too late."), by: Duration::from_mins(5) };
    system.llm.will(late);
    let mut running = system.start(By::Poll).await;
    system.says("think long");
    eventually("it thinks", async || (system.llm.requests().len() == 1).then_some(())).await;
    let leases = async || {
        let held = system.site.rows("conversations").await;
        held.iter().map(|row| row["lease_until"].as_i64().unwrap()).max().unwrap()
    };
    let until = leases().await;

    let mut second = system.site.start(&[("COUNTERSIGN__ADMIN__LISTEN", "127.0.0.1:0")]);
    assert!(!second.ended().await.success());
    let lock = system.site.path("countersign.db.lock");
    assert!(second.said().contains(lock.to_str().unwrap()), "{}", second.said());
    let (good, said) = system.site.run(&["pair"]).await;
    assert!(good, "{said}");

    running.kill().await;
    assert_eq!(leases().await, until, "the dead process still holds its lease");
    system.llm.will(llm::text("Thought through."));
    let running = system.start(By::Poll).await;
    system.until("Thought through.").await;
    assert!(SystemClock.now().timestamp_millis() < until, "the lease has not expired meanwhile");
    assert_eq!(system.count("Too late."), 0);
    system.stop(running).await;
    system.site.end().await;
}

/// A `kill -9` with an open approval, and a stop during a model request, lose nothing: both
/// continue after the next start.
/// Proves O5, A14.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_end_in_the_middle_costs_nothing() {
    let system = TelegramSystem::new(On::Postgres, Vendor::OpenAi).await;
    let save = json!({ "path": "a.md", "content": "A" });
    system.llm.will(calling("write_file", &save));
    let mut running = system.start(By::Poll).await;
    system.says("save a");
    let question = "Allow write_file?";
    eventually(question, async || {
        let open = system.shown().into_iter().find(|message| !message.buttons.is_empty());
        open.map(|message| assert!(message.text.starts_with(question), "{}", message.text))
    })
    .await;
    running.kill().await;

    let late = Fault::SlowHeaders { turn: llm::text("Too late."), by: Duration::from_mins(1) };
    system.llm.will(late);
    let running = system.start(By::Poll).await;
    system.presses("Allow once").await;
    eventually("the model is asked", async || (system.llm.requests().len() == 2).then_some(()))
        .await;
    system.stop(running).await;

    system.llm.will(llm::text("Saved."));
    let running = system.start(By::Poll).await;
    system.until("Saved.").await;
    assert_eq!(system.count("Too late."), 0);
    system.stop(running).await;
    system.site.end().await;
}

/// A database outage during a model request loses nothing: the model's answer is shown, and the
/// model is not asked again.
/// Proves R5.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_that_goes_away_and_comes_back_costs_nothing() {
    let system = TelegramSystem::new(On::Postgres, Vendor::OpenAi).await;
    let slow = Fault::SlowHeaders { turn: llm::text("Kept."), by: Duration::from_secs(1) };
    system.llm.will(slow).will(llm::text("Found.")).will(llm::text("Onwards."));
    let running = system.start(By::Poll).await;
    system.says("think long");
    eventually("the model is asked", async || (system.llm.requests().len() == 1).then_some(()))
        .await;
    system.site.lose_database().await;
    eventually("the reply cannot be recorded", async || {
        running.said().contains("database operation failed, will retry").then_some(())
    })
    .await;
    system.says("still there?");
    system.site.find_database().await;
    let back = tokio::time::timeout(Duration::from_secs(10), system.until("Found."));
    back.await.expect("it works again within ten seconds");
    assert_eq!(system.count("Kept."), 1);
    eventually("both are answered", async || {
        let said = system.rows("events").await;
        (said.iter().filter(|row| row.to_string().contains("said")).count() >= 2).then_some(())
    })
    .await;
    system.stop(running).await;
    system.site.end().await;
}

/// A bot moves from polling to a webhook and back; requests without the secret are rejected.
/// Proves R9, S6.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bot_moves_between_polling_and_a_webhook() {
    let system = TelegramSystem::new(On::Sqlite, Vendor::OpenAi).await;
    for (by, text) in [(By::Poll, "One."), (By::Push, "Two."), (By::Poll, "Three.")] {
        system.llm.will(llm::text(text));
        // Sent during downtime: it waits on the platform.
        system.says("go on");
        let running = system.start(by).await;
        system.until(text).await;
        let forged = json!({ "update_id": 1, "message": { "text": "let me in" } });
        let url = format!("http://127.0.0.1:{}/channels/tg/webhook", system.port.number());
        let answer = client().post(url).json(&forged).send().await.unwrap().status().as_u16();
        assert_eq!(answer, if matches!(by, By::Push) { 401 } else { 404 });
        system.stop(running).await;
    }
    assert_eq!(system.llm.requests().len(), 3);
    system.site.end().await;
}

/// The whole program with the demo model, behind a proxy that validates each request against the
/// public schema.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs a proxy in front of the fake: tests/peers/shim_check.sh starts it and this"]
async fn every_request_of_a_job_is_what_the_official_schema_wants() {
    let set = |name| {
        let value = std::env::var_os(name).expect("shim_check.sh sets it");
        value.into_string().expect("it is text")
    };
    let port = set("COUNTERSIGN_FAKE_PORT").parse().expect("a port");
    let mut system = TelegramSystem::new(On::Sqlite, Vendor::OpenAi).await;
    system.telegram = FakeTelegram::start_on(port).await;
    system.chat = system.telegram.private("Ann");
    system.api = set("COUNTERSIGN_PROXY_URL");
    system.model = "[[models]]\nid = \"main\"\nprovider = \"demo\"\n".to_owned();
    let running = system.start(By::Poll).await;
    system.says("save a note: buy honey");
    system.presses("Allow once").await;
    shows(&system, "a word on the note", |m| m.text.contains("I saved")).await;
    system.says("write a report about bees as pdf");
    shows(&system, "the report", |m| m.document.as_deref() == Some("bees.pdf")).await;
    shows(&system, "a last word", |m| m.text.contains("Your document is ready")).await;
    system.stop(running).await;
    let running = system.start(By::Push).await;
    eventually("the webhook is set", async || {
        (!system.telegram.granted("setWebhook").is_empty()).then_some(())
    })
    .await;
    system.stop(running).await;
    let log = client().get(format!("{}/_shim/log", system.api)).send().await.unwrap();
    let log: Vec<Value> = serde_json::from_str(&log.text().await.unwrap()).unwrap();
    for method in [
        "getUpdates",
        "sendMessage",
        "editMessageText",
        "editMessageMedia",
        "answerCallbackQuery",
        "setWebhook",
    ] {
        assert!(log.iter().any(|call| call["method"] == method), "no {method} went through");
    }
    let is_bad = |call: &&Value| call["problems"] != json!([]) || !call["bad_updates"].is_null();
    let bad: Vec<_> = log.iter().filter(is_bad).collect();
    assert!(bad.is_empty(), "{bad:#?}");
    system.site.end().await;
}

async fn shows(system: &TelegramSystem, what: &str, is: impl Fn(&Shown) -> bool) {
    eventually(what, async || system.shown().iter().any(&is).then_some(())).await;
}

/// A pairing code comes with a link that sends it, if the platform reports the bot's name; anybody
/// who opens the link is admitted. Without the name only the code is printed.
/// Proves S5.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pairing_code_comes_with_its_link() {
    let system = TelegramSystem::new(On::Sqlite, Vendor::OpenAi).await;
    let mut running = system.start(By::Poll).await;
    let (went_well, said) = system.site.run(&["pair"]).await;
    assert!(went_well, "{said}");
    let code = said.lines().next().expect("the code");
    assert!(said.contains(&format!("https://t.me/counter_bot?start={code}\n")), "{said}");
    let eve = system.telegram.private("Eve");
    system.telegram.user_says(eve, "Eve", &format!("/start {code}"));
    eventually("Eve is let in", async || {
        let shown = system.telegram.messages(eve);
        shown.iter().any(|message| message.text.starts_with("Welcome!")).then_some(())
    })
    .await;
    running.stop().await;
    system.telegram.fault("getMe", Trouble::Page { code: 502 });
    let (went_well, said) = system.site.run(&["pair"]).await;
    assert!(went_well && !said.contains("t.me"), "{said}");
    assert!(said.contains("Send this to the bot."), "{said}");
    system.site.end().await;
}
