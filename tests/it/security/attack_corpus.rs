//! Attacks as data, judged one by one: shell commands, URLs, sandbox probes, calls that a hostile
//! page asks for, and attempts to bypass rules. Each entry has its expected outcome.

use countersign::testing::{
    agent::{
        catalog::{ApprovalMode, EffectClass, ResolvedTool, Subject, ToolSpec},
        disclosure,
        guard::{self, Ruling, Verdict},
        policy::{Action, GuardContext, Origin, Policy},
        rules::{RuleEntry, compile, shipped},
    },
    journal::{
        event::{Call, Speaker},
        session::{CallState, OpenCall, Session},
    },
    tools::{
        ToolError,
        web::client::{WebClient, WebRequest},
    },
};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use sandbox::{Job, SandboxLimits, Work, profile::Profile, run};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    net::SocketAddr,
    sync::Arc,
    time::Duration,
};

use crate::support::{program::sandbox, world::World};

/// All attacks of the corpus, in addition to those of `attacks.json`.
const ENOUGH: usize = 1_000;
/// The number of sandbox probes per process.
const PROBES: usize = 30;
const PROBE_FOR: Duration = Duration::from_mins(1);

fn read<T: DeserializeOwned>(text: &str) -> Vec<T> {
    serde_json::from_str(text).expect("the corpus can be read")
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShellAttack {
    pub name: String,
    pub command: String,
    pub expect: Expected,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Expected {
    /// A person is asked, also if the effect is only doubtful.
    Asked,
    Denied,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Address {
    name: String,
    url: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Probe {
    name: String,
    /// A probe prints ESCAPED if it gets out.
    script: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Injected {
    name: String,
    tool: String,
    arguments: Value,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AroundRules {
    name: String,
    rules: Vec<RuleEntry>,
    tool: String,
    arguments: Value,
    /// The weakest acceptable verdict.
    expect: Strictness,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Strictness {
    Run,
    Ask,
    Refuse,
}

pub fn shell_attacks() -> Vec<ShellAttack> {
    read(include_str!("corpus/shell.json"))
}

fn addresses() -> Vec<Address> {
    read(include_str!("corpus/ssrf.json"))
}

fn probes() -> Vec<Probe> {
    read(include_str!("corpus/sandbox.json"))
}

fn injected() -> Vec<Injected> {
    read(include_str!("corpus/injection.json"))
}

fn around_rules() -> Vec<AroundRules> {
    read(include_str!("corpus/rules.json"))
}

#[test]
fn the_corpus_is_large_and_names_each_attack_once() {
    let names = [
        shell_attacks().into_iter().map(|attack| attack.name).collect::<Vec<_>>(),
        addresses().into_iter().map(|attack| attack.name).collect(),
        probes().into_iter().map(|attack| attack.name).collect(),
        injected().into_iter().map(|attack| attack.name).collect(),
        around_rules().into_iter().map(|attack| attack.name).collect(),
    ];
    let all: usize = names.iter().map(Vec::len).sum();
    assert!(all >= ENOUGH, "{all}");
    for names in names {
        let different: BTreeSet<_> = names.iter().collect();
        assert_eq!(different.len(), names.len());
    }
}

/// A guard with these rules, and the tools that it judges.
struct Judge {
    policy: Policy,
    session: Session,
    specs: BTreeMap<String, ToolSpec>,
}

impl Judge {
    fn new(policy: Policy) -> Self {
        let shell = ToolSpec {
            effect: EffectClass::AtMostOnce,
            approval: ApprovalMode::UnlessAllowed,
            subject: Some(Subject::Command("command")),
            ..ToolSpec::read_only(
                "shell",
                "Runs a command",
                json!({ "properties": { "command": {} } }),
            )
        };
        let own =
            [disclosure::enable_tool(), disclosure::find_tool(), disclosure::load_skill(), shell];
        let specs = own.map(|spec| (spec.name.clone(), spec)).into();
        let requester = Some(Speaker { id: "7".into(), name: "Ann".into() });
        Self { policy, session: Session { requester, ..Session::default() }, specs }
    }

    fn says(&self, tool: &str, arguments: &Value) -> (Strictness, Ruling) {
        let call = Call {
            id: "c".into(),
            model_id: "m".into(),
            tool: tool.to_owned(),
            arguments: arguments.clone(),
        };
        let spec = self.specs.get(tool).unwrap_or_else(|| panic!("there is no tool {tool}"));
        let context = GuardContext {
            agent: "default".into(),
            role: Some("member".into()),
            ..GuardContext::default()
        };
        let ruling = guard::ruling(&call, spec, &self.session, &self.policy, &context);
        let open = OpenCall { call, state: CallState::New };
        let strictness = match guard::judge(&open, spec, &self.session, &self.policy, &context) {
            Verdict::Run(_) => Strictness::Run,
            Verdict::Ask { .. } | Verdict::Wait => Strictness::Ask,
            Verdict::Refuse(_) => Strictness::Refuse,
        };
        (strictness, ruling)
    }
}

/// With everything else allowed, and with the programs allowed behind which the attacks hide.
#[test]
fn no_command_of_the_corpus_runs_unasked() {
    let open = Policy { default: Action::Allow, rules: shipped(&[]), ..Policy::default() };
    let allow = RuleEntry {
        command: ["ls", "cat", "echo", "grep", "test", "env", "nice", "timeout", "printf", ":"]
            .map(str::to_owned)
            .into(),
        ..RuleEntry::of("shell", Action::Allow)
    };
    let mut rules = shipped(&[]);
    rules.extend(compile(&[allow], Origin::Configuration).unwrap());
    let lookers = Policy { rules, ..Policy::default() };
    let (open, lookers) = (Judge::new(open), Judge::new(lookers));
    let mut wrong = Vec::new();
    for attack in shell_attacks() {
        let arguments = json!({ "command": attack.command });
        let (strictness, ruling) = open.says("shell", &arguments);
        let expected = match attack.expect {
            Expected::Asked => Strictness::Ask,
            Expected::Denied => Strictness::Refuse,
        };
        if strictness < expected {
            wrong.push(format!("{} {:?}: {strictness:?} {ruling:?}", attack.name, attack.command));
        }
        let (strictness, ruling) = lookers.says("shell", &arguments);
        if strictness == Strictness::Run {
            wrong.push(format!("{} {:?} is allowed: {ruling:?}", attack.name, attack.command));
        }
    }
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}

/// Every name resolves to an internal address.
struct Inside;

impl Resolve for Inside {
    fn resolve(&self, _name: Name) -> Resolving {
        let found: Addrs = Box::new([SocketAddr::from(([127, 0, 0, 1], 0))].into_iter());
        Box::pin(std::future::ready(Ok(found)))
    }
}

/// No notation of an address reaches the internal network, and only web URLs are requested.
/// Proves S8.
#[tokio::test]
async fn no_address_of_the_corpus_is_asked() {
    let web_client = WebClient::resolving(BTreeSet::new(), Arc::new(Inside)).unwrap();
    for Address { name, url } in addresses() {
        let Ok(parsed) = url.parse() else { continue };
        let answer = web_client.send(WebRequest::get(parsed, 1)).await;
        assert!(matches!(answer, Err(ToolError::NotAuthorized(_))), "{name} {url}: {answer:?}");
    }
}

/// No probe escapes from the sandbox.
/// Proves S7.
#[tokio::test]
async fn no_probe_of_the_corpus_gets_out() {
    let sandbox = sandbox().await;
    let folder = tempfile::tempdir().unwrap();
    let mut escaped = Vec::new();
    for probes in probes().chunks(PROBES) {
        let lines = probes
            .iter()
            .map(|probe| format!("( {}\n) | sed 's/^/{}: /'", probe.script, probe.name));
        let script = format!("{}\necho DONE", lines.collect::<Vec<_>>().join("\n"));
        let program = ["/bin/sh", "-c", &script].map(str::to_owned).to_vec();
        let cell = Profile::around(Job::new(Work::Program(program), Some(SandboxLimits::COMMAND)))
            .with_workspace(folder.path());
        let confined_command = sandbox.confined_command(&cell).unwrap();
        let ended = run::to_its_end(confined_command, Vec::new(), PROBE_FOR).await.unwrap();
        let said = ended.stdout.text();
        assert!(said.contains("DONE"), "{said} {}", ended.stderr.text());
        escaped.extend(said.lines().filter(|line| line.contains("ESCAPED")).map(str::to_owned));
    }
    assert_eq!(escaped, Vec::<String>::new());
}

/// A tool with side effects, of which nothing else is known.
fn acting(name: &str) -> ToolSpec {
    let properties = json!({ "url": {}, "query": {}, "method": {}, "body": {} });
    ToolSpec {
        effect: EffectClass::AtMostOnce,
        approval: ApprovalMode::UnlessAllowed,
        outward: true,
        ..ToolSpec::read_only(name, "Acts", json!({ "properties": properties }))
    }
}

/// The default tools of a gateway.
async fn tools() -> BTreeMap<String, ToolSpec> {
    let world = World::on_sqlite();
    let app = world.node().await;
    let catalog = app.worker.agent("default").await.unwrap().catalog.clone();
    let mut specs = Judge::new(Policy::default()).specs;
    for name in catalog.names() {
        if let ResolvedTool::Tool(spec) = catalog.find(name) {
            specs.insert(name.to_owned(), spec.clone());
        }
    }
    // Calls that need the sandbox are judged all the same.
    for name in ["web_fetch", "web_search", "http_request", "run_skill_script"] {
        specs.entry(name.to_owned()).or_insert_with(|| acting(name));
    }
    drop((app, catalog));
    world.end().await;
    specs
}

/// A tainted conversation runs no call with side effects without an approval, even if the default
/// allows it.
/// Proves S1, S16.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_call_of_the_corpus_that_a_page_asks_for_runs_unasked() {
    let specs = Box::pin(tools()).await;
    for default in [Action::Ask, Action::Allow] {
        let policy = Policy { default, rules: shipped(&[]), ..Policy::default() };
        let mut judge = Judge::new(policy);
        judge.specs = specs.clone();
        judge.session.taint = vec!["a page".into()];
        for Injected { name, tool, arguments } in injected() {
            let (strictness, ruling) = judge.says(&tool, &arguments);
            assert!(strictness >= Strictness::Ask, "{name} {tool} {arguments}: {ruling:?}");
        }
    }
}

/// A rule allows exactly what it describes, and denies all of it.
/// Proves MC-42.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_call_of_the_corpus_gets_around_a_rule() {
    let specs = Box::pin(tools()).await;
    for AroundRules { name, rules, tool, arguments, expect } in around_rules() {
        let rules = compile(&rules, Origin::Database).unwrap();
        let mut judge = Judge::new(Policy { rules, ..Policy::default() });
        judge.specs = specs.clone();
        let (strictness, ruling) = judge.says(&tool, &arguments);
        assert!(strictness >= expect, "{name} {tool} {arguments}: {strictness:?} {ruling:?}");
    }
}
