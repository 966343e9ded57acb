//! The policy of the guard: rules, defaults and approvers, as data.
//!
//! Among the rules of one source and one severity, the first match decides, by priority, then in
//! order. Among these decisions, over all severities and sources, the strictest applies. A rule
//! that allows does not override a denial by a shipped rule, which can be disabled by name.

use chrono::{DateTime, Datelike as _, NaiveTime, TimeDelta, Utc};
use chrono_tz::Tz;
use globset::{GlobMatcher, GlobSet};
use regex::Regex;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use strum::IntoStaticStr;
use utoipa::ToSchema;

use super::{
    approvers::Approvers,
    catalog::{CallTerms, Subject, ToolSpec},
    paths,
    required_approval::RequiredApprovals,
    severity,
    shell::{self, Command, Script},
};
use crate::{journal::grant::Permissions, texts::UnclearReason};
pub use severity::Severity;

#[derive(Debug, Clone)]
pub struct Policy {
    /// The action for tools that ask unless allowed, if no rule matches.
    pub default: Action,
    /// For calls with side effects after untrusted content was read, if no rule names the tool.
    pub tainted: Action,
    /// The shipped and configured rules. Those in the database are in the [`GuardContext`].
    pub rules: Vec<Rule>,
    /// Hosts that replies in a tainted conversation may link to.
    pub link_hosts: Vec<String>,
    /// How long an approval stays open before it counts as denied.
    pub approval_for: TimeDelta,
    /// The approvers for calls whose rule names none.
    pub approvers: Approvers,
    pub required: RequiredApprovals,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            default: Action::Ask,
            tainted: Action::Ask,
            rules: Vec::new(),
            link_hosts: Vec::new(),
            approval_for: TimeDelta::minutes(30),
            approvers: Approvers::default(),
            required: RequiredApprovals::default(),
        }
    }
}

/// Where and when a call is judged, and the policy that the database adds.
#[derive(Debug, Clone, Default)]
pub struct GuardContext {
    pub agent: String,
    pub channel: String,
    /// The requester's role.
    pub role: Option<String>,
    pub now: DateTime<Utc>,
    /// The language of the conversation.
    pub language: crate::texts::Language,
    /// The requester's grants, and whether all calls are halted.
    pub permissions: Permissions,
    /// The current rules of the database.
    pub stored: std::sync::Arc<Vec<Rule>>,
    /// The conversation's folder, by a name that is the same on every node.
    pub folder: String,
    /// The current digests of the files that decided calls name.
    pub files: BTreeMap<crate::journal::ids::CallId, FileDigests>,
    /// The terms of new and interrupted calls, which can depend on the arguments.
    pub terms: BTreeMap<crate::journal::ids::CallId, CallTerms>,
    /// The number of agents above this one.
    pub depth: u32,
    /// Whether a sub-agent waits for a decision.
    pub asked_below: bool,
    /// The beginnings of the names of tools that are being loaded.
    pub loading: Vec<String>,
}

impl GuardContext {
    /// Whether a tool that does not exist may appear soon.
    pub fn is_loading(&self, tool: &str) -> bool {
        self.loading.iter().any(|beginning| tool.starts_with(beginning.as_str()))
    }
}

/// Path → SHA-256; empty for a file that does not exist.
pub type FileDigests = BTreeMap<String, String>;

/// Ordered from least to most strict.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    JsonSchema,
    Default,
    ToSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    Allow,
    #[default]
    Ask,
    Deny,
}

/// Where a rule is defined.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, ToSchema, IntoStaticStr,
)]
#[strum(serialize_all = "snake_case")]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    Shipped,
    Configuration,
    Database,
}

impl Origin {
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

#[derive(Debug, Clone)]
pub struct Rule {
    /// The name in approvals and logs.
    pub name: String,
    pub origin: Origin,
    pub severity: Severity,
    /// Rules with a higher priority are matched first.
    pub priority: i32,
    pub tool: GlobSet,
    /// Whether `tool` is more specific than "any".
    pub names_tool: bool,
    /// Matched against the decoded subject of the call, never against raw JSON. For a shell
    /// command, matched against each program that it starts, with its arguments.
    pub argument: Option<Regex>,
    pub fields: Vec<FieldPattern>,
    /// The program that a shell command starts.
    pub command: Option<GlobSet>,
    /// Each pattern has to match one whole argument of the program.
    pub words: Vec<Regex>,
    pub when: Conditions,
    pub action: Action,
    /// The approvers for calls that this rule requires approval for.
    pub approvers: Option<Approvers>,
}

/// A pattern for one decoded argument.
#[derive(Debug, Clone)]
pub struct FieldPattern {
    /// A JSON pointer.
    pub pointer: String,
    pub pattern: TextPattern,
}

#[derive(Debug, Clone)]
pub enum TextPattern {
    Regex(Regex),
    Glob(GlobMatcher),
}

impl TextPattern {
    fn is_match(&self, text: &str) -> bool {
        match self {
            Self::Regex(regex) => regex.is_match(text),
            Self::Glob(glob) => glob.is_match(text),
        }
    }
}

/// Where, for whom and when a rule applies; empty fields match everything.
#[derive(Debug, Clone, Default)]
pub struct Conditions {
    pub agents: Vec<String>,
    pub channels: Vec<String>,
    pub people: Vec<String>,
    pub roles: Vec<String>,
    pub times: Vec<Hours>,
}

/// Days of the week and a time range, in a time zone.
#[derive(Debug, Clone, PartialEq)]
pub struct Hours {
    /// Monday first.
    pub days: [bool; 7],
    pub from: NaiveTime,
    /// If this is not after `from`, it is on the next day.
    pub until: NaiveTime,
    pub zone: Tz,
}

/// Whether a rule matches a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Match {
    No,
    Yes,
    /// The rule names the tool but cannot be evaluated, so the call requires approval.
    Unclear,
}

impl Match {
    fn and(self, other: impl FnOnce() -> Self) -> Self {
        match self {
            Self::No => Self::No,
            Self::Yes => other(),
            Self::Unclear if other() == Self::No => Self::No,
            Self::Unclear => Self::Unclear,
        }
    }
}

/// The view of a call that rules match.
pub struct RuleInput<'a> {
    pub spec: &'a ToolSpec,
    pub arguments: &'a Value,
    pub person: Option<&'a str>,
    pub context: &'a GuardContext,
}

impl Rule {
    /// `command` is one program of a shell command, or `None` for any other call.
    pub fn matches(&self, call: &RuleInput<'_>, command: Option<&Command>) -> Match {
        if !self.tool.is_match(&call.spec.name) {
            return Match::No;
        }
        self.when.hold(call).and(|| self.fields_match(call)).and(|| match command {
            Some(command) => self.command_matches(command),
            None if self.command.is_some() || !self.words.is_empty() => Match::No,
            None => self.subject_matches(call),
        })
    }

    fn subject_matches(&self, call: &RuleInput<'_>) -> Match {
        let Some(pattern) = &self.argument else { return Match::Yes };
        match subject(call.spec, call.arguments) {
            Some(text) if pattern.is_match(&text) => Match::Yes,
            Some(_) => Match::No,
            None => Match::Unclear,
        }
    }

    /// A guess may deny but not allow. A guess that does not match may still turn out to match.
    fn command_matches(&self, command: &Command) -> Match {
        let allows = self.action == Action::Allow;
        if let Some(programs) = &self.command {
            let name = if allows { command.own_name() } else { command.likely_name() };
            match name {
                Some(name) if programs.is_match(name) => {}
                _ if command.name().is_none() => return Match::Unclear,
                _ => return Match::No,
            }
        }
        let text = self.argument.as_ref().is_none_or(|pattern| pattern.is_match(&command.text()));
        let arguments = command.words.get(1..).unwrap_or_default();
        let words = self
            .words
            .iter()
            .all(|pattern| arguments.iter().any(|word| pattern.is_match(&word.text)));
        let looks = self.argument.is_some() || !self.words.is_empty();
        match (text && words, command.is_sure()) {
            (true, false) if allows => Match::Unclear,
            (true, _) => Match::Yes,
            (false, false) if looks => Match::Unclear,
            (false, _) => Match::No,
        }
    }

    /// An argument that the tool does not have is an error in the rule. An omitted argument, or a
    /// list that a rule with `allow` matches only in part, is not.
    fn fields_match(&self, call: &RuleInput<'_>) -> Match {
        self.fields.iter().fold(Match::Yes, |so_far, field| {
            so_far.and(|| {
                let left_out = || default_of(call.spec, &field.pointer);
                let Some(value) = call.arguments.pointer(&field.pointer).or_else(left_out) else {
                    return if knows(call.spec, &field.pointer) {
                        Match::No
                    } else {
                        Match::Unclear
                    };
                };
                let Some(texts) = texts(value) else { return Match::Unclear };
                let mut hits = texts.iter().map(|text| field.pattern.is_match(text));
                let all = self.action == Action::Allow;
                let hit = if all {
                    !texts.is_empty() && hits.all(|hit| hit)
                } else {
                    hits.any(|hit| hit)
                };
                if hit { Match::Yes } else { Match::No }
            })
        })
    }
}

/// Whether the tool has an argument with this name.
fn knows(spec: &ToolSpec, pointer: &str) -> bool {
    let name = pointer.trim_start_matches('/').split('/').next().unwrap_or_default();
    spec.parameters["properties"].get(name).is_some()
}

/// The default of an omitted argument in the tool's schema.
fn default_of<'s>(spec: &'s ToolSpec, pointer: &str) -> Option<&'s Value> {
    let name = pointer.trim_start_matches('/');
    let default = spec.parameters["properties"].get(name)?.get("default")?;
    (default.is_string() || default.is_boolean() || default.is_number()).then_some(default)
}

fn texts(value: &Value) -> Option<Vec<String>> {
    match value {
        Value::Null => Some(Vec::new()),
        Value::String(text) => Some(vec![text.clone()]),
        Value::Bool(_) | Value::Number(_) => Some(vec![value.to_string()]),
        Value::Array(items) => {
            items.iter().map(texts).collect::<Option<Vec<_>>>().map(|texts| texts.concat())
        }
        Value::Object(_) => None,
    }
}

impl Conditions {
    fn hold(&self, call: &RuleInput<'_>) -> Match {
        let one_of =
            |list: &[String], value: &str| list.is_empty() || list.iter().any(|x| x == value);
        let context = call.context;
        let here = one_of(&self.agents, &context.agent)
            && one_of(&self.channels, &context.channel)
            && (self.times.is_empty() || self.times.iter().any(|hours| hours.hold(context.now)));
        if !here {
            return Match::No;
        }
        let known = |list: &[String], value: Option<&str>| match value {
            _ if list.is_empty() => Match::Yes,
            Some(value) if one_of(list, value) => Match::Yes,
            Some(_) => Match::No,
            None => Match::Unclear,
        };
        known(&self.people, call.person).and(|| known(&self.roles, context.role.as_deref()))
    }
}

impl Hours {
    pub fn hold(&self, now: DateTime<Utc>) -> bool {
        let local = now.with_timezone(&self.zone);
        let (day, time) = (local.weekday().num_days_from_monday() as usize, local.time());
        let yesterday = (day + 6) % 7;
        if self.from < self.until {
            return self.days[day] && (self.from..self.until).contains(&time);
        }
        self.days[day] && time >= self.from || self.days[yesterday] && time < self.until
    }
}

/// The subject of the call as rules see it. Paths are normalised first, so that `notes/../x` does
/// not match `notes/`.
pub fn subject(spec: &ToolSpec, arguments: &Value) -> Option<String> {
    match spec.subject.as_ref()? {
        Subject::Path(name) => paths::normalise(arguments.get(name)?.as_str()?).ok(),
        Subject::Text(name) | Subject::Command(name) => {
            arguments.get(name)?.as_str().map(str::to_owned)
        }
    }
}

/// The programs that a shell tool would start; `None` for other tools.
pub fn script(spec: &ToolSpec, arguments: &Value) -> Option<Script> {
    let Some(Subject::Command(name)) = &spec.subject else { return None };
    let text = arguments.get(name).and_then(Value::as_str);
    let unreadable = || Script { unclear: Some(UnclearReason::NoCommand), ..Script::default() };
    Some(text.map_or_else(unreadable, shell::parse))
}
