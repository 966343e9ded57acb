//! Guard rules from the command line: asked, read in, written out.

use anyhow::{Context as _, Result, bail};
use serde_json::Value;
use std::fmt::Write as _;

use super::App;
use crate::{
    agent::{
        catalog::{Approval, EffectClass, Found, Subject, ToolSpec},
        guard::{self, Ruling, Verdict},
        import,
        policy::{Action, Origin, Scene},
        rules::{RuleDocument, compile, shipped},
    },
    clock::{Clock as _, SystemClock},
    journal::{
        event::{Call, Speaker},
        session::{CallState, OpenCall, Session},
    },
    store::{
        Store,
        audit::{self, Fact},
        rules as stored,
    },
};

/// A call that somebody wants judged, and its circumstances.
#[derive(Debug, Clone, Default)]
pub struct Supposed {
    pub tool: String,
    pub arguments: String,
    pub agent: String,
    pub channel: String,
    pub person: String,
    pub role: Option<String>,
    pub tainted: bool,
}

/// What the guard would do with the call, which rule decides, and why: by the same code.
pub async fn explain(app: &App, supposed: Supposed) -> Result<String> {
    let agents = app.worker.agents.read().map_err(|_| anyhow::anyhow!("agents"))?.clone();
    let agent = agents
        .get(&supposed.agent)
        .with_context(|| format!("there is no agent `{}`", supposed.agent))?;
    let arguments: Value = serde_json::from_str(&supposed.arguments).context("the arguments")?;
    let arguments = app.worker.toolbox.tidied(&supposed.tool, arguments);
    let mut said = String::new();
    let unknown = acting(&supposed.tool);
    let spec = if let Found::Tool(spec) = agent.catalog.find(&supposed.tool) {
        spec
    } else {
        writeln!(said, "There is no tool `{}` now; judged as one that acts.", supposed.tool)?;
        &unknown
    };
    if let Err(problem) = agent.catalog.check(spec, &arguments) {
        writeln!(said, "It would not be judged at all: {problem}.")?;
    }
    let (_, document) = export(&app.gateway.store).await?;
    let scene = Scene {
        agent: supposed.agent,
        channel: supposed.channel,
        role: supposed.role.or_else(|| Some("member".into())),
        now: app.gateway.clock.now(),
        stored: compile(&document.rules, Origin::Database)?.into(),
        ..Scene::default()
    };
    let session = Session {
        requester: Some(Speaker { id: supposed.person, name: "you".into() }),
        taint: supposed.tainted.then(|| "a page".to_owned()).into_iter().collect(),
        ..Session::default()
    };
    let call = Call { id: "test".into(), model_id: "test".into(), tool: supposed.tool, arguments };
    let ruling = guard::ruling(&call, spec, &session, &agent.policy, &scene);
    let open = OpenCall { call, state: CallState::New };
    let verdict = guard::judge(&open, spec, &session, &agent.policy, &scene);
    said += &told(&verdict, &ruling);
    Ok(said)
}

/// A tool of which nothing is known but its name; the shell is one where it cannot be confined.
fn acting(name: &str) -> ToolSpec {
    ToolSpec {
        effect: EffectClass::AtMostOnce,
        approval: Approval::UnlessAllowed,
        outward: true,
        subject: (name == "shell").then_some(Subject::Command("command")),
        ..ToolSpec::read_only(name, "", serde_json::json!({}))
    }
}

fn told(verdict: &Verdict, ruling: &Ruling) -> String {
    let (does, why) = match verdict {
        Verdict::Run(_) => ("runs", None),
        Verdict::Ask { reason, .. } => ("asks", Some(reason)),
        Verdict::Wait => ("waits", None),
        Verdict::Refuse(text) => ("refuses", Some(text)),
    };
    let mut said = format!("The guard {does}.");
    if let Some(why) = why {
        let why = why.replace('\n', "\n            ");
        let _ = write!(said, "\n  why       {why}");
    }
    let Some(rule) = &ruling.rule else {
        return said + "\n  rule      none matches";
    };
    let origin = ruling.origin.map_or(String::new(), |origin| format!("{origin:?}").to_lowercase());
    let action = match ruling.action {
        Some(Action::Allow) => "allows",
        Some(Action::Deny) => "forbids",
        _ => "asks",
    };
    let _ = write!(said, "\n  rule      {rule} ({origin}), which {action}");
    let _ = write!(said, "\n  severity  {}", format!("{:?}", ruling.severity).to_lowercase());
    if let Some(program) = &ruling.program {
        let _ = write!(said, "\n  program   {program}");
    }
    if let Some(unclear) = &ruling.unclear {
        let _ = write!(said, "\n  unclear   {unclear}");
    }
    said
}

/// The shipped rules, what each does and how grave it is.
pub fn shipped_names() -> String {
    let told = shipped(&[]).into_iter().map(|rule| {
        let does = if rule.action == Action::Deny { "forbids" } else { "asks" };
        format!("{:<32} {does:<8} {:?}", rule.name, rule.severity).to_lowercase()
    });
    told.collect::<Vec<_>>().join("\n")
}

/// Who changes them from here.
const BY: &str = "command line";

/// The rules of the database, with their version.
pub async fn export(store: &Store) -> Result<(i64, RuleDocument)> {
    store.read(|tx| Box::pin(async move { stored::all(tx).await })).await
}

/// Takes in a document, TOML, JSON or MateClaw's YAML, adding to what there is or instead of it;
/// how many rules that were.
pub async fn import(store: &Store, name: &str, text: &str, replace: bool) -> Result<usize> {
    let ending = name.rsplit('.').next().unwrap_or_default();
    let mut document: RuleDocument = match ending {
        "toml" => toml::from_str(text)?,
        "json" => serde_json::from_str(text)?,
        "yaml" | "yml" => import::mateclaw(text)?,
        _ => bail!("{name}: rules are read from .toml, .json, .yaml"),
    };
    for (entry, number) in document.rules.iter_mut().zip(1..) {
        entry.name.get_or_insert_with(|| format!("rule {number}"));
    }
    let (count, now) = (document.rules.len(), SystemClock.now());
    store
        .write("import rules", move |tx| {
            Box::pin(async move {
                let fact = Fact::new("rules_imported", BY)
                    .with("replace", replace)
                    .with("rules", serde_json::to_value(&document)?);
                if replace {
                    stored::replace(tx, &document, BY, now).await?;
                } else {
                    for entry in &document.rules {
                        stored::put(tx, entry, BY, now).await?;
                    }
                }
                audit::append(tx, audit::ADMIN, vec![fact], now).await
            })
        })
        .await?;
    Ok(count)
}

pub async fn remove(store: &Store, name: String) -> Result<bool> {
    let now = SystemClock.now();
    store
        .write("remove rule", move |tx| {
            Box::pin(async move {
                let removed = stored::remove(tx, &name).await?;
                if removed {
                    let fact = Fact::new("rule_removed", BY).with("name", name.as_str());
                    audit::append(tx, audit::ADMIN, vec![fact], now).await?;
                }
                Ok(removed)
            })
        })
        .await
}
