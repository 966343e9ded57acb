//! Guard rules for operators: testing, importing, changing and exporting. Changes are recorded in
//! the audit.

use anyhow::{Result, ensure};
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fmt;
use strum::IntoStaticStr;
use utoipa::ToSchema;

use crate::{
    agent::{
        catalog::{ApprovalMode, EffectClass, ResolvedTool, Subject, ToolSpec},
        delegation, disclosure,
        guard::{self, Ruling, Verdict},
        policy::{Action, GuardContext, Origin, Rule, Severity},
        rule_import::{self, Imported},
        rules::{self, RuleDocument, RuleEntry, compile, shipped},
    },
    journal::{
        event::{Call, Speaker},
        role::Role,
        session::{CallState, OpenCall, Session},
    },
    store::{
        Store,
        audit::{self, AuditKind, Fact},
        rules as stored,
    },
    texts::Language,
    worker::Worker,
};

/// A call to judge, and its circumstances.
#[derive(Debug, Clone, Default)]
pub struct HypotheticalCall {
    pub tool: String,
    pub arguments: Value,
    pub agent: String,
    pub channel: String,
    pub person: String,
    pub role: Option<Role>,
    pub tainted: bool,
    /// A rule that is not saved yet.
    pub draft: Option<DraftRule>,
}

/// A rule as if it were saved.
#[derive(Debug, Clone)]
pub struct DraftRule {
    /// The name of the rule that it replaces; empty for a new one.
    pub replaces: String,
    pub rule: RuleEntry,
}

/// What the guard does with a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
#[serde(rename_all = "lowercase")]
pub enum GuardEffect {
    Runs,
    Asks,
    Waits,
    Refuses,
}

impl GuardEffect {
    fn as_str(self) -> &'static str {
        self.into()
    }
}

/// What the guard would do with a call, and why.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Explained {
    pub does: GuardEffect,
    pub why: Option<String>,
    /// The rule that decides, if one matches, its origin and its action
    pub rule: Option<String>,
    pub origin: Option<Origin>,
    pub action: Option<Action>,
    pub severity: Severity,
    /// The program of a shell command that the rule applies to
    pub program: Option<String>,
    /// What could not be evaluated
    pub unclear: Option<String>,
    /// Further notes about the call
    pub notes: Vec<String>,
}

/// What the guard would do with the call, which rule decides, and why, determined by the same code
/// that judges calls.
pub async fn explain(worker: &Worker, hypothetical: HypotheticalCall) -> Result<Explained> {
    let agent = worker.agent(&hypothetical.agent).await?;
    let arguments = worker.toolbox.normalized(&hypothetical.tool, hypothetical.arguments);
    let mut notes = Vec::new();
    let unknown = example_spec(&hypothetical.tool);
    let spec = match agent.catalog.find(&hypothetical.tool) {
        ResolvedTool::Tool(spec) => spec,
        found => {
            let tool = &hypothetical.tool;
            let note = match found {
                ResolvedTool::Unavailable { why } => format!("`{tool}` cannot be used: {why}"),
                _ => format!("There is currently no tool `{tool}`"),
            };
            notes.push(format!("{note}; judged as a tool with side effects."));
            &unknown
        }
    };
    if let Err(problem) = agent.catalog.check(spec, &arguments) {
        notes.push(format!("The guard would not judge this call: {problem}."));
    }
    let (_, mut document) = export(&worker.gateway.store).await?;
    if let Some(DraftRule { replaces, rule }) = hypothetical.draft {
        let is_replaced = |known: &RuleEntry| known.name.as_ref() == Some(&replaces);
        match document.rules.iter_mut().find(|known| is_replaced(known)) {
            Some(known) => *known = rule,
            None => document.rules.push(rule),
        }
    }
    let context = GuardContext {
        agent: hypothetical.agent,
        channel: hypothetical.channel,
        role: Some(hypothetical.role.unwrap_or(Role::Member).as_str().to_owned()),
        now: worker.gateway.clock.now(),
        stored: compile(&document.rules, Origin::Database)?.into(),
        ..GuardContext::default()
    };
    let session = Session {
        requester: Some(Speaker { id: hypothetical.person, name: "you".into() }),
        taint: hypothetical.tainted.then(|| "a page".to_owned()).into_iter().collect(),
        ..Session::default()
    };
    let call =
        Call { id: "test".into(), model_id: "test".into(), tool: hypothetical.tool, arguments };
    let ruling = guard::ruling(&call, spec, &session, &agent.policy, &context);
    let open = OpenCall { call, state: CallState::New };
    let verdict = guard::judge(&open, spec, &session, &agent.policy, &context);
    Ok(explained(verdict, ruling, notes))
}

fn explained(verdict: Verdict, ruling: Ruling, notes: Vec<String>) -> Explained {
    let (does, why) = match verdict {
        Verdict::Run(_) => (GuardEffect::Runs, None),
        Verdict::Ask { reason, .. } => (GuardEffect::Asks, Some(reason)),
        Verdict::Wait => (GuardEffect::Waits, None),
        Verdict::Refuse(text) => (GuardEffect::Refuses, Some(text)),
    };
    let Ruling { rule, origin, action, severity, program, unclear, .. } = ruling;
    let describe = |doubt| (Language::English.words().why.unclear_reason)(doubt).to_owned();
    let unclear = unclear.map(describe);
    Explained { does, why, rule, origin, action, severity, program, unclear, notes }
}

impl fmt::Display for Explained {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for note in &self.notes {
            writeln!(f, "{note}")?;
        }
        write!(f, "The guard {}.", self.does.as_str())?;
        if let Some(why) = &self.why {
            write!(f, "\n  why       {}", why.replace('\n', "\n            "))?;
        }
        let Some(rule) = &self.rule else { return write!(f, "\n  rule      none matches") };
        let origin = self.origin.map_or("", Origin::as_str);
        let action = match self.action {
            Some(Action::Allow) => "allows",
            Some(Action::Deny) => "forbids",
            _ => "asks",
        };
        write!(f, "\n  rule      {rule} ({origin}), which {action}")?;
        write!(f, "\n  severity  {}", self.severity.as_str())?;
        if let Some(program) = &self.program {
            write!(f, "\n  program   {program}")?;
        }
        if let Some(unclear) = &self.unclear {
            write!(f, "\n  unclear   {unclear}")?;
        }
        Ok(())
    }
}

/// A tool of which only the name is known; for a shell without sandbox.
fn example_spec(name: &str) -> ToolSpec {
    ToolSpec {
        effect: EffectClass::AtMostOnce,
        approval: ApprovalMode::UnlessAllowed,
        outward: true,
        subject: (name == "shell").then_some(Subject::Command("command")),
        ..ToolSpec::read_only(name, "", serde_json::json!({}))
    }
}

/// A shipped rule.
#[derive(Debug, Serialize)]
pub struct ShippedRule {
    pub name: String,
    pub action: Action,
    pub severity: Severity,
}

impl fmt::Display for ShippedRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let does = if self.action == Action::Deny { "forbids" } else { "asks" };
        let severity = self.severity.as_str();
        write!(f, "{:<32} {does:<8} {severity}", self.name.to_lowercase())
    }
}

pub fn shipped_rules() -> Vec<ShippedRule> {
    let rule = |Rule { name, action, severity, .. }: Rule| ShippedRule { name, action, severity };
    shipped(&[]).into_iter().map(rule).collect()
}

/// The shipped rules, one per line.
pub fn shipped_names() -> String {
    shipped_rules().iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

/// The rules of the database, with their version.
pub async fn export(store: &Store) -> Result<(i64, RuleDocument)> {
    store.read(|tx| Box::pin(async move { stored::all(tx).await })).await
}

/// The names of all tools that a rule can apply to.
pub fn tool_names(worker: &Worker) -> Vec<String> {
    let own = disclosure::TOOLS.into_iter().chain(delegation::TOOLS).map(str::to_owned);
    worker.toolbox.specs().into_iter().map(|spec| spec.name).chain(own).collect()
}

/// The format of a document with rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum ImportFormat {
    Toml,
    Json,
    /// The format of MateClaw.
    #[serde(alias = "yml")]
    Yaml,
}

impl ImportFormat {
    /// The format of a file by its extension.
    pub fn parse(extension: &str) -> Option<Self> {
        match extension {
            "toml" => Some(Self::Toml),
            "json" => Some(Self::Json),
            "yaml" | "yml" => Some(Self::Yaml),
            _ => None,
        }
    }
}

/// Parses a document. Invalid rules are reported by name.
pub fn read(format: ImportFormat, text: &str, tools: &[String]) -> Result<Imported> {
    let own = |document| Imported { document, notes: Vec::new() };
    let mut imported = match format {
        ImportFormat::Toml => own(toml::from_str(text)?),
        ImportFormat::Json => own(serde_json::from_str(text)?),
        ImportFormat::Yaml => rule_import::mateclaw(text, tools)?,
    };
    let rules = &mut imported.document.rules;
    for (entry, number) in rules.iter_mut().zip(1..) {
        entry.name.get_or_insert_with(|| format!("rule {number}"));
    }
    rules.iter().try_for_each(check)?;
    Ok(imported)
}

/// The rules of the database that take precedence over this one and decide differently.
pub async fn shadowing(store: &Store, name: &str) -> Result<Vec<String>> {
    let (_, document) = export(store).await?;
    Ok(rules::shadowing(&document.rules, name))
}

/// Validates a rule.
pub fn check(rule: &RuleEntry) -> Result<()> {
    let name = rule.name.as_deref().unwrap_or_default();
    ensure!(!name.trim().is_empty(), "a rule in the database needs a name");
    // Disabled rules are validated as well.
    let enabled = RuleEntry { enabled: true, ..rule.clone() };
    compile(&[enabled], Origin::Database)?;
    Ok(())
}

/// Imports a document, adding to the existing rules or replacing them. Returns the number of rules.
pub async fn import_rules(
    store: &Store,
    document: RuleDocument,
    replace: bool,
    by: &str,
    now: DateTime<Utc>,
) -> Result<usize> {
    let (count, by) = (document.rules.len(), by.to_owned());
    store
        .write("import rules", move |tx| {
            Box::pin(async move {
                let fact = Fact::new(AuditKind::RulesImported, &by)
                    .with("replace", replace)
                    .with("rules", serde_json::to_value(&document)?);
                if replace {
                    stored::replace(tx, &document, &by, now).await?;
                } else {
                    for entry in &document.rules {
                        stored::put(tx, entry, &by, now).await?;
                    }
                }
                audit::append(tx, audit::ADMIN, vec![fact], now).await
            })
        })
        .await?;
    Ok(count)
}

/// What a stored rule may replace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImportMode {
    /// Nothing: its name must be free.
    New,
    /// A rule with the same name, if there is one.
    Any,
}

/// Adds or changes a rule. Returns `false` if its name is taken.
pub async fn put(
    store: &Store,
    entry: RuleEntry,
    how: ImportMode,
    by: &str,
    now: DateTime<Utc>,
) -> Result<bool> {
    let by = by.to_owned();
    store
        .write("put rule", move |tx| {
            Box::pin(async move {
                stored::lock(tx).await?;
                let (_, there) = stored::all(tx).await?;
                if how == ImportMode::New && there.rules.iter().any(|rule| rule.name == entry.name)
                {
                    return Ok(false);
                }
                let fact =
                    Fact::new(AuditKind::RulePut, &by).with("rule", serde_json::to_value(&entry)?);
                stored::put(tx, &entry, &by, now).await?;
                audit::append(tx, audit::ADMIN, vec![fact], now).await?;
                Ok(true)
            })
        })
        .await
}

/// Deletes a rule. Returns whether it existed.
pub async fn remove(store: &Store, name: String, by: &str, now: DateTime<Utc>) -> Result<bool> {
    let by = by.to_owned();
    store
        .write("remove rule", move |tx| {
            Box::pin(async move {
                let removed = stored::remove(tx, &name).await?;
                if removed {
                    let fact = Fact::new(AuditKind::RuleRemoved, &by).with("name", name.as_str());
                    audit::append(tx, audit::ADMIN, vec![fact], now).await?;
                }
                Ok(removed)
            })
        })
        .await
}
