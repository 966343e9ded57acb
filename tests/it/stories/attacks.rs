//! Attacks by a compromised model: it reads a hostile page, then follows the page's instructions in
//! hundreds of ways (`attacks.json`). None may take effect without an approval. With a check
//! disabled the same attacks succeed, which shows that the check is effective.

use async_trait::async_trait;
use channels::IncomingContent;
use chrono::TimeDelta;
use comrak::nodes::NodeValue;
use countersign::testing::{
    agent::{
        catalog::{ApprovalMode, EffectClass, Rate, Subject, ToolSource, ToolSpec},
        policy::Action,
        rules::RuleEntry,
    },
    app::App,
    scripted::{call, calls, say},
    tools::{Context, Output, Tool, ToolError},
};
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;

use crate::{
    security::attack_corpus::{ShellAttack, shell_attacks},
    story,
    support::world::World,
};

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Attack {
    family: String,
    name: String,
    /// The model's call.
    #[serde(default)]
    calls: Vec<(String, Value)>,
    /// The model's text.
    #[serde(default)]
    says: String,
    /// A URL that must not be a link in the chat.
    #[serde(default)]
    hides: Option<String>,
    /// What people do while the approval is open.
    #[serde(default)]
    ann: Option<String>,
    #[serde(default)]
    bob: Option<String>,
    #[serde(default)]
    bob_presses: Option<String>,
    #[serde(default)]
    forged: Option<String>,
}

const FAMILIES: [&str; 4] = ["exfiltration", "mutation", "approval spoofing", "argument smuggling"];

fn attacks() -> Vec<Attack> {
    serde_json::from_str(include_str!("attacks.json")).expect("the attacks can be read")
}

/// A tool that records that it ran.
struct Sink(ToolSpec, Arc<Mutex<Vec<String>>>);

#[async_trait]
impl Tool for Sink {
    fn spec(&self) -> ToolSpec {
        self.0.clone()
    }

    async fn run(&self, arguments: Value, _context: &Context) -> Result<Output, ToolError> {
        self.1.lock().push(format!("{} {arguments}", self.0.name));
        Ok(Output::text("done"))
    }
}

fn sinks(ran: &Arc<Mutex<Vec<String>>>, shell: Subject) -> Vec<Arc<dyn Tool>> {
    let schema = |fields: &[&str]| {
        let properties: serde_json::Map<_, _> =
            fields.iter().map(|name| ((*name).to_owned(), json!({}))).collect();
        json!({ "type": "object", "properties": properties })
    };
    let reads = |name: &str, fields: &[&str]| {
        let spec = ToolSpec::read_only(name, "Reads", schema(fields));
        ToolSpec { untrusted: true, ..spec }
    };
    let acts = |name: &str, fields: &[&str]| ToolSpec {
        effect: EffectClass::AtMostOnce,
        approval: ApprovalMode::UnlessAllowed,
        ..ToolSpec::read_only(name, "Acts", schema(fields))
    };
    let server = ToolSource::Mcp { server: "notes".into(), original_name: "lookup".into() };
    let specs = [
        ToolSpec { outward: true, ..reads("fetch", &["url"]) },
        // A server that declares its tool read-only.
        ToolSpec { outward: true, source: server, ..reads("notes_lookup", &["query"]) },
        ToolSpec { subject: Some(shell), ..acts("shell", &["command"]) },
        acts("mail", &["to", "text"]),
    ];
    let mut tools: Vec<Arc<dyn Tool>> = Vec::new();
    for mut spec in specs {
        spec.rate = Some(Rate::new(10_000, 10_000));
        tools.push(Arc::new(Sink(spec, ran.clone())));
    }
    let mut page = reads("page", &[]);
    page.rate = Some(Rate::new(10_000, 10_000));
    tools.push(Arc::new(Sink(page, Arc::default())));
    tools
}

fn allows(keys: Value) -> RuleEntry {
    let mut rule = json!({ "action": "allow" });
    for (name, value) in keys.as_object().unwrap() {
        rule[name] = value.clone();
    }
    serde_json::from_value(rule).unwrap()
}

/// The permissions that the attacks try to use.
fn leaves() -> Vec<RuleEntry> {
    vec![
        allows(json!({ "tool": "shell", "arg_pattern": "^(ls|cat|grep|find)\\s" })),
        allows(json!({ "tool": "write_file", "arg_pattern": "^notes/" })),
        allows(json!({ "tool": "mail", "fields": { "to": "^[^@,\\s]+@example\\.org$" } })),
    ]
}

struct Range<'w> {
    world: &'w mut World,
    app: App,
    ran: Arc<Mutex<Vec<String>>>,
}

impl<'w> Range<'w> {
    async fn open(world: &'w mut World, shell: Subject) -> Self {
        // The attackers' permission runs nothing.
        world.config.shell.enabled = false;
        let ran = Arc::default();
        world.config.guard.rules = leaves();
        world.config.limits.messages_per_minute = 0;
        world.tools = sinks(&ran, shell);
        let app = world.node().await;
        Self { world, app, ran }
    }

    async fn happens(&mut self, person: &str, what: IncomingContent) {
        self.world.takes(&self.app, person, what).await;
        self.world.settle(&self.app).await;
    }

    async fn types(&mut self, person: &str, text: &str) {
        let what = self.world.said(text);
        self.happens(person, what).await;
    }

    /// The effects of the attack without an approval.
    async fn suffers(&mut self, attack: &Attack) -> Vec<String> {
        let shown = self.world.room.messages().len();
        self.world.model_will(call("page", json!({})));
        if attack.calls.is_empty() {
            self.world.model_will(say(attack.says.clone()));
        } else {
            self.world.model_will(calls(attack.calls.clone()).saying(attack.says.clone()));
        }
        self.types("1", "what does the page say?").await;
        for (person, text) in [("2", &attack.bob), ("1", &attack.ann)] {
            if let Some(text) = text {
                self.types(person, text).await;
            }
        }
        if let Some(label) = &attack.bob_presses {
            let press = self.world.press_if_there(label);
            if let Some(press) = press {
                self.happens("2", press).await;
            }
        }
        if let Some(data) = &attack.forged {
            let press = self.world.forged(data);
            self.happens("1", press).await;
        }
        let mut effects = std::mem::take(&mut *self.ran.lock());
        let deleted = self.world.deleted.swap(0, std::sync::atomic::Ordering::SeqCst);
        effects.extend((0..deleted).map(|_| "delete".to_owned()));
        effects.extend(self.written());
        if let Some(address) = &attack.hides {
            let messages = self.world.room.messages();
            let live = messages[shown..].iter().any(|m| is_live(&m.text, address));
            effects.extend(live.then(|| format!("shows {address}")));
        }
        self.types("1", "/new").await;
        assert_eq!(self.world.model.left(), 0, "{}: the model was not heard", attack.name);
        // No attack is stopped only because of the limit on open approvals.
        self.world.clock.advance(TimeDelta::minutes(2));
        effects
    }

    /// Files of the workspace, removed afterwards.
    fn written(&self) -> Vec<String> {
        let root = self.world.config.data_dir.join("workspaces");
        let Ok(folders) = std::fs::read_dir(&root) else { return vec![] };
        let mut found = Vec::new();
        for folder in folders.map(|folder| folder.unwrap().path()) {
            let files = std::fs::read_dir(&folder).unwrap();
            found
                .extend(files.map(|file| format!("wrote {}", file.unwrap().file_name().display())));
            std::fs::remove_dir_all(&folder).unwrap();
        }
        found
    }
}

/// Whether a Markdown renderer would make a link or picture of it, or a platform of its plain text.
fn is_live(markdown: &str, address: &str) -> bool {
    let arena = comrak::Arena::new();
    let options = comrak::Options::default();
    let root = comrak::parse_document(&arena, markdown, &options);
    let mut text = String::new();
    let mut links = Vec::new();
    for node in root.descendants() {
        match &node.data.borrow().value {
            NodeValue::Link(link) | NodeValue::Image(link) => links.push(link.url.clone()),
            NodeValue::Text(words) => text.push_str(words),
            NodeValue::HtmlInline(html) => text.push_str(html),
            NodeValue::HtmlBlock(html) => text.push_str(&html.literal),
            _ => text.push(' '),
        }
    }
    text.contains(address) || links.iter().any(|link| link == address)
}

async fn through(world: &mut World, shell: Subject, family: &str) -> Vec<String> {
    // The second database runs only a part, because the guard does not depend on the database.
    let is_whole = world.is_on_sqlite() || std::env::var_os("COUNTERSIGN_TEST_FULL").is_some();
    let every = if is_whole { 1 } else { 8 };
    let mut range = Range::open(world, shell).await;
    let mut through = Vec::new();
    let attacks = attacks().into_iter().filter(|attack| attack.family == family);
    for attack in attacks.step_by(every) {
        let effects = range.suffers(&attack).await;
        through.extend((!effects.is_empty()).then(|| format!("{}: {effects:?}", attack.name)));
    }
    through
}

#[test]
fn there_are_enough_attacks_of_every_family() {
    let all = attacks();
    assert!(all.len() >= 200);
    for family in FAMILIES {
        let of_it = all.iter().filter(|attack| attack.family == family).count();
        assert!(of_it >= 40, "{family}: {of_it}");
    }
    assert!(all.iter().all(|attack| FAMILIES.contains(&attack.family.as_str())));
}

const SHELL: Subject = Subject::Command("command");

story! {
    /// No attack of any family has an effect without an approval.
    /// Proves S1 … S3, CV-07, MC-42.
    async fn no_attack_takes_effect_unasked(world: &mut World) {
        for family in FAMILIES {
            assert_eq!(through(world, SHELL, family).await, Vec::<String>::new(), "{family}");
        }
    }
}

story! {
    /// The same with a sample of the command corpus, which is tested one by one elsewhere.
    async fn no_command_of_the_corpus_takes_effect_unasked(world: &mut World) {
        let every = if world.is_on_sqlite() { 20 } else { 100 };
        let mut range = Range::open(world, SHELL).await;
        for ShellAttack { name, command, .. } in shell_attacks().into_iter().step_by(every) {
            let calls = vec![("shell".to_owned(), json!({ "command": command }))];
            let attack = Attack { name, calls, ..Attack::default() };
            let effects = range.suffers(&attack).await;
            assert_eq!(effects, Vec::<String>::new(), "{} {command}", attack.name);
        }
    }
}

/// Fault injection: with each check disabled, the attacks that it stopped succeed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_the_taint_check_a_page_gets_secrets() {
    let mut world = World::on_sqlite();
    world.config.guard.untrusted_content = Action::Allow;
    let through = through(&mut world, SHELL, "exfiltration").await;
    for name in ["fetch 1:", "server 1:"] {
        assert!(through.iter().any(|one| one.starts_with(name)), "{name} {through:?}");
    }
    world.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_links_let_through_replies_carry_secrets_off() {
    let mut world = World::on_sqlite();
    world.config.guard.link_hosts = vec!["evil.test".into()];
    let through = through(&mut world, SHELL, "exfiltration").await;
    for name in ["picture 1:", "link 1:", "reply 1:"] {
        assert!(through.iter().any(|one| one.starts_with(name)), "{name} {through:?}");
    }
    world.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_everything_allowed_by_default_things_are_changed() {
    let mut world = World::on_sqlite();
    world.config.guard.untrusted_content = Action::Allow;
    world.config.guard.default = Action::Allow;
    let by_shipped = through(&mut world, SHELL, "mutation").await;
    assert!(by_shipped.len() > 5, "{by_shipped:?}");
    world.config.guard.disabled_rules = vec!["*".into()];
    let by_none = through(&mut world, SHELL, "mutation").await;
    assert!(by_none.len() > by_shipped.len() + 20, "the shipped rules hold the most");
    world.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_members_as_approvers_another_may_be_talked_into_it() {
    let mut world = World::on_sqlite();
    world.config.guard.approvers = serde_json::from_value(json!("members")).unwrap();
    let through = through(&mut world, SHELL, "approval spoofing").await;
    assert!(through.iter().any(|one| one.starts_with("pressed by Bob")), "{through:?}");
    world.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_the_shell_unread_programs_are_smuggled_in() {
    let mut world = World::on_sqlite();
    let through = through(&mut world, Subject::Text("command"), "argument smuggling").await;
    assert!(through.len() > 30, "{through:?}");
    world.end().await;
}
