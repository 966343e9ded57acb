//! The configuration is reloaded while the program runs, over real sockets.

use countersign::testing::{
    clock::{Clock as _, SystemClock},
    gateway::webhooks::signature::SharedSecret,
};
use fakes::llm::{self, Fault};
use reqwest::Method;
use serde_json::{Value, json};
use std::time::Duration;
use tokio::net::TcpListener;

use crate::{
    end_to_end::telegram::{By, TelegramSystem, Vendor, client},
    support::process::{On, PATIENCE, Running, eventually},
};

const READ: &str = "configuration reloaded";

/// Changes the agent's instructions, in the file only.
fn rewrite(system: &mut TelegramSystem, prompt: &str) {
    let models = system.model.split("[[agents]]").next().unwrap_or_default().to_owned();
    system.model = format!(
        "{models}[[agents]]\nid = \"default\"\nmodel = \"main\"\nsystem_prompt = \"{prompt}\"\n"
    );
    system.configure(By::Poll);
}

async fn says(running: &Running, what: &str, times: usize) {
    eventually(what, async || (running.said().matches(what).count() == times).then_some(())).await;
}

/// The last input of the model.
fn prompted(system: &TelegramSystem) -> String {
    system.llm.requests().last().expect("it was asked").body.to_string()
}

/// A turn whose model request takes longer than a lease.
async fn is_thinking(system: &TelegramSystem) {
    let by = Duration::from_secs(4);
    let asked = system.llm.requests().len();
    system.llm.will(Fault::SlowHeaders { turn: llm::text("Thought through."), by });
    system.says("think long");
    eventually("it thinks", async || (system.llm.requests().len() > asked).then_some(())).await;
}

async fn a_turn_outlives_the_configuration(on: On) {
    let mut system = TelegramSystem::new(on, Vendor::OpenAi).await;
    rewrite(&mut system, "You are Penny.");
    let running = system.start(By::Poll).await;
    is_thinking(&system).await;
    rewrite(&mut system, "You are Nickel.");
    running.hang_up().await;
    says(&running, READ, 1).await;
    let changed = r#"agents.default.system_prompt: \"You are Penny.\" → \"You are Nickel.\""#;
    assert!(running.said().contains(changed), "{}", running.said());
    assert_eq!(system.count("Thought through."), 0, "it is still thinking");

    // Other conversations do not wait for it; the turn itself ends as it began.
    system.until("Thought through.").await;
    assert_eq!(system.llm.requests().len(), 1, "it was thought once");
    assert!(prompted(&system).contains("You are Penny."));
    system.llm.will(llm::text("Nickel."));
    system.says("who are you?");
    system.until("Nickel.").await;
    assert!(prompted(&system).contains("You are Nickel."));
    system.stop(running).await;
    system.site.end().await;
}

/// Running turns continue with the configuration with which they started.
/// Proves O3.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_turn_outlives_the_configuration_on_sqlite() {
    a_turn_outlives_the_configuration(On::Sqlite).await;
}

/// Proves O3.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_turn_outlives_the_configuration_on_postgres() {
    a_turn_outlives_the_configuration(On::Postgres).await;
}

/// An owner who reloads the configuration through the API.
struct Owner {
    url: String,
    token: String,
}

impl Owner {
    async fn of(system: &TelegramSystem) -> Self {
        let made = ["token", "--api", "ops", "--role", "owner"];
        let (good, said) = system.site.run(&made).await;
        assert!(good, "{said}");
        let token = said.split_whitespace().find(|word| word.starts_with("cs_"));
        let token = token.expect("a token").to_owned();
        let url = format!("http://127.0.0.1:{}/api/v1/settings/reload", system.port.number());
        Self { url, token }
    }

    /// `GET` asks what would change, `PUT` applies it.
    async fn asks(&self, method: Method) -> (u16, Value) {
        let request = client().request(method, &self.url).bearer_auth(&self.token);
        let asked = request.send().await.unwrap();
        (asked.status().as_u16(), asked.json().await.unwrap())
    }

    /// Waits until the app with the new configuration serves.
    async fn is_served_by_the_next(&self) {
        let unchanged = (200, json!({ "changes": [] }));
        eventually("the next one serves", async || {
            (self.asks(Method::GET).await == unchanged).then_some(())
        })
        .await;
    }
}

/// The changes are shown, and applied as a whole or not at all; the audit records who applied them.
/// Proves O3.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_configuration_is_taken_whole_or_not_at_all() {
    let mut system = TelegramSystem::new(On::Sqlite, Vendor::OpenAi).await;
    rewrite(&mut system, "You are Penny.");
    let running = system.start(By::Poll).await;
    let owner = Owner::of(&system).await;
    let ask = async |method| owner.asks(method).await;
    assert_eq!(ask(Method::GET).await, (200, json!({ "changes": [] })));

    rewrite(&mut system, "You are Nickel.\"\nmood = \"good");
    let (status, problem) = ask(Method::PUT).await;
    assert_eq!(status, 409);
    assert!(problem["detail"].to_string().contains("mood"), "{problem}");
    running.hang_up().await;
    says(&running, "nothing has changed", 1).await;

    rewrite(&mut system, "You are Nickel.");
    let changes = json!([r#"agents.default.system_prompt: "You are Penny." → "You are Nickel.""#]);
    assert_eq!(ask(Method::GET).await, (200, json!({ "changes": changes })));
    system.llm.will(llm::text("Penny."));
    system.says("who are you?");
    system.until("Penny.").await;
    assert!(prompted(&system).contains("You are Penny."), "nothing has been applied");

    assert_eq!(ask(Method::PUT).await, (200, json!({ "changes": changes })));
    owner.is_served_by_the_next().await;
    system.llm.will(llm::text("Nickel."));
    system.says("and now?");
    system.until("Nickel.").await;
    assert!(prompted(&system).contains("You are Nickel."));
    let audit = system.site.rows("audit").await;
    let audit = audit.iter().find(|row| row["kind"] == "configuration_reloaded");
    let audit = audit.expect("it is written down").to_string();
    assert!(audit.contains("token:ops") && audit.contains("Nickel"), "{audit}");
    system.stop(running).await;
    system.site.end().await;
}

/// Whether the audit has a record of this kind with this text.
async fn is_recorded(system: &TelegramSystem, kind: &str, text: &str) -> bool {
    let audit = system.site.rows("audit").await;
    audit.iter().any(|row| row["kind"] == kind && row.to_string().contains(text))
}

/// No reload is without a record in the audit. If the first record cannot be written, nothing
/// changes; if the second one cannot, the configuration is in effect, and the answer says so.
/// Proves O3.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reload_is_recorded_before_it_begins() {
    let mut system = TelegramSystem::new(On::Sqlite, Vendor::OpenAi).await;
    rewrite(&mut system, "You are Penny.");
    let running = system.start(By::Poll).await;
    let owner = Owner::of(&system).await;
    let refuse = |kind: &str| {
        format!(
            "CREATE TRIGGER refuse BEFORE INSERT ON audit WHEN NEW.kind = '{kind}'
            BEGIN SELECT RAISE(ABORT, 'refused by a test'); END"
        )
    };
    rewrite(&mut system, "You are Nickel.\"\nskills_dir = \"nowhere");
    assert_eq!(owner.asks(Method::PUT).await.0, 409);
    assert!(is_recorded(&system, "configuration_reload_begun", "token:ops").await);
    assert!(is_recorded(&system, "configuration_reload_failed", "skills_dir: ").await);

    rewrite(&mut system, "You are Nickel.");
    let changes = json!([r#"agents.default.system_prompt: "You are Penny." → "You are Nickel.""#]);
    let changes = json!({ "changes": changes });
    system.site.tampers(&refuse("configuration_reload_begun")).await;
    assert_eq!(owner.asks(Method::PUT).await.0, 409);
    assert_eq!(owner.asks(Method::GET).await, (200, changes.clone()), "nothing has changed");

    system.site.tampers("DROP TRIGGER refuse").await;
    system.site.tampers(&refuse("configuration_reloaded")).await;
    assert_eq!(owner.asks(Method::PUT).await, (200, changes));
    owner.is_served_by_the_next().await;
    assert!(!is_recorded(&system, "configuration_reloaded", "").await);
    assert!(is_recorded(&system, "configuration_reload_begun", "You are Nickel.").await);
    assert!(running.said().contains("could not record the outcome of a reload"));
    system.stop(running).await;
    system.site.end().await;
}

/// A gateway that is asked to stop while a reload waits for a server stops at once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reload_under_way_does_not_delay_the_end() {
    let mut system = TelegramSystem::new(On::Sqlite, Vendor::OpenAi).await;
    rewrite(&mut system, "You are Penny.");
    let running = system.start(By::Poll).await;
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let server =
        format!("[[mcp]]\nname = \"silent\"\nurl = \"http://{}/\"\n", silent.local_addr().unwrap());
    system.model.push_str(&server);
    system.configure(By::Poll);
    running.hang_up().await;
    let connected = tokio::time::timeout(PATIENCE, silent.accept()).await;
    let _connection = connected.expect("the reload connects to the server").unwrap();
    system.stop(running).await;
    assert!(!system.site.said().contains(READ), "{}", system.site.said());
    system.site.end().await;
}

const OLD: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const NEW: &str = "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

/// The same message to the webhook `ci`, signed now.
async fn pushes(system: &TelegramSystem, secret: &str) -> u16 {
    let (now, body) = (SystemClock.now(), "{}");
    let signature = SharedSecret::standard(secret).unwrap().sign("m1", now, body.as_bytes());
    let request = client()
        .post(format!("http://127.0.0.1:{}/hooks/ci", system.port.number()))
        .header("webhook-id", "m1")
        .header("webhook-timestamp", now.timestamp().to_string())
        .header("webhook-signature", signature);
    request.body(body).send().await.unwrap().status().as_u16()
}

async fn answers_with(system: &TelegramSystem, secret: &str, status: u16) {
    let what = format!("{secret} is answered {status}");
    eventually(&what, async || (pushes(system, secret).await == status).then_some(())).await;
}

/// A secret is replaced without downtime; after the reload the old one is rejected, and the audit
/// records the replacement.
/// Proves S6.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_old_secret_is_dead_once_the_reload_is_answered() {
    let mut system = TelegramSystem::new(On::Sqlite, Vendor::OpenAi).await;
    let models = system.model.clone();
    let secrets = |system: &mut TelegramSystem, secret: &str, before: Option<&str>| {
        std::fs::write(system.site.path("ci.key"), secret).unwrap();
        let before = before.map(|before| format!("previous_secret = {before:?}\n"));
        system.model = format!(
            "{models}[[webhooks_in]]\nname = \"ci\"\nchannel = \"web\"\nchat = \"ann\"\n\
             secret = {{ file = \"ci.key\" }}\n{}",
            before.unwrap_or_default()
        );
        system.configure(By::Poll);
    };
    secrets(&mut system, OLD, None);
    let running = system.start(By::Poll).await;
    let (_, token) = system.site.run(&["token", "--api", "ops", "--role", "owner"]).await;
    let token = token.split_whitespace().find(|word| word.starts_with("cs_")).expect("a token");
    let url = format!("http://127.0.0.1:{}/api/v1/settings/reload", system.port.number());
    let reload = async || {
        let sent = client().put(&url).bearer_auth(token).send().await.unwrap();
        let (status, answer) = (sent.status().as_u16(), sent.text().await.unwrap());
        assert_eq!(status, 200, "{answer}");
        answer
    };
    system.llm.will(llm::text("Seen."));
    assert_eq!(pushes(&system, OLD).await, 200);
    assert_eq!(pushes(&system, NEW).await, 401);

    secrets(&mut system, NEW, Some(OLD));
    let changes = reload().await;
    assert!(changes.contains("secrets: changed"), "{changes}");
    assert!(!changes.contains("whsec_"), "{changes}");
    answers_with(&system, NEW, 200).await;
    answers_with(&system, OLD, 200).await;

    secrets(&mut system, NEW, None);
    reload().await;
    assert_ne!(pushes(&system, OLD).await, 200, "whichever of the two answers");
    answers_with(&system, OLD, 401).await;
    answers_with(&system, NEW, 200).await;
    system.stop(running).await;
    system.site.end().await;
}
