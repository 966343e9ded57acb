//! What runs, what asks whom, what is forbidden: data.
//!
//! Of the rules of one source and one severity, the first that matches speaks: by priority, then
//! in their order. Of what these say, over all severities and sources, the strictest stands; so
//! neither a leave in the configuration nor one in the database takes back what the shipped set
//! forbids (which is turned off by name).

use chrono::{DateTime, Datelike as _, NaiveTime, TimeDelta, Utc};
use chrono_tz::Tz;
use globset::{GlobMatcher, GlobSet};
use regex::Regex;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use utoipa::ToSchema;

use super::{
    approvers::Approvers,
    catalog::{Approval, Subject, ToolSpec},
    paths,
    shell::{self, Command, Script},
};
use crate::texts::{Doubt, Messages};

#[derive(Debug, Clone)]
pub struct Policy {
    /// For tools that ask unless they are allowed, where no rule matches.
    pub default: Action,
    /// For outward and changing calls of a conversation that has read other people's words, where
    /// no rule names them.
    pub tainted: Action,
    /// Of the shipped set and of the configuration; those of the database come with the [`GuardContext`].
    pub rules: Vec<Rule>,
    /// Hosts that replies of a tainted conversation may link to.
    pub link_hosts: Vec<String>,
    /// How long a question stands before it counts as denied.
    pub approval_for: TimeDelta,
    /// Who decides, where the rule that asks names nobody.
    pub approvers: Approvers,
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
        }
    }
}

/// Where and when a call is judged, and what the database adds to the policy.
#[derive(Debug, Clone, Default)]
pub struct GuardContext {
    pub agent: String,
    pub channel: String,
    /// The requester's role.
    pub role: Option<String>,
    pub now: DateTime<Utc>,
    /// What its people are spoken to in.
    pub language: crate::texts::Language,
    /// The rules of the database, as they are at this moment.
    pub stored: std::sync::Arc<Vec<Rule>>,
    /// The conversation's folder, by a name that is the same on every node.
    pub folder: String,
    /// The files that decided calls name, as they are at this moment.
    pub files: BTreeMap<crate::journal::ids::CallId, Files>,
    /// When a person is asked about these new calls, where that depends on their arguments.
    pub approvals: BTreeMap<crate::journal::ids::CallId, Approval>,
    /// How many agents stand above this one.
    pub depth: u32,
    /// Whether a sub-agent waits for a decision.
    pub asked_below: bool,
}

/// Path → SHA-256; empty for a file that is not there.
pub type Files = BTreeMap<String, String>;

/// In the order of their strictness.
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

/// How bad it is if a call that the rule matches goes wrong.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
    Default,
    ToSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    Low,
    #[default]
    Medium,
    High,
    /// Nobody's leave for more than this one call is taken.
    Critical,
}

impl Severity {
    /// For the question, where it is graver than usual.
    pub fn told(self, words: &Messages) -> Option<String> {
        match self {
            Self::Low | Self::Medium => None,
            Self::High => Some(words.why.severity_high.to_owned()),
            Self::Critical => Some(words.why.severity_critical.to_owned()),
        }
    }
}

/// Where a rule stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    Shipped,
    Configuration,
    Database,
}

#[derive(Debug, Clone)]
pub struct Rule {
    /// What the rule calls itself in questions and logs.
    pub name: String,
    pub origin: Origin,
    pub severity: Severity,
    /// The higher speaks first.
    pub priority: i32,
    pub tool: GlobSet,
    /// Whether `tool` says more than "any".
    pub names_tool: bool,
    /// Matched against the decoded subject of the call, never against raw JSON; of a shell command,
    /// against each program that it starts, with its arguments.
    pub argument: Option<Regex>,
    pub fields: Vec<FieldPattern>,
    /// The program that a shell command starts.
    pub command: Option<GlobSet>,
    /// Each is matched, as a whole, by one of the program's arguments.
    pub words: Vec<Regex>,
    pub when: Conditions,
    pub action: Action,
    /// Who decides what this rule asks.
    pub approvers: Option<Approvers>,
}

/// A pattern for one decoded argument.
#[derive(Debug, Clone)]
pub struct FieldPattern {
    /// JSON pointer.
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

/// Where, for whom and when a rule holds; what is empty says nothing.
#[derive(Debug, Clone, Default)]
pub struct Conditions {
    pub agents: Vec<String>,
    pub channels: Vec<String>,
    pub people: Vec<String>,
    pub roles: Vec<String>,
    pub times: Vec<Hours>,
}

/// On these days of the week, from … until, in a zone.
#[derive(Debug, Clone, PartialEq)]
pub struct Hours {
    /// Monday first.
    pub days: [bool; 7],
    pub from: NaiveTime,
    /// Not after `from`: on the next day.
    pub until: NaiveTime,
    pub zone: Tz,
}

/// What a rule says of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Match {
    No,
    Yes,
    /// It names the tool, but cannot be evaluated: that asks.
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

/// A call as rules see it.
pub struct Judged<'a> {
    pub spec: &'a ToolSpec,
    pub arguments: &'a Value,
    pub person: Option<&'a str>,
    pub scene: &'a GuardContext,
}

impl Rule {
    /// `command` is one program of a shell command; `None` for any other call.
    pub fn matches(&self, call: &Judged<'_>, command: Option<&Command>) -> Match {
        if !self.tool.is_match(&call.spec.name) {
            return Match::No;
        }
        self.when.hold(call).and(|| self.fields_match(call)).and(|| match command {
            Some(command) => self.command_matches(command),
            None if self.command.is_some() || !self.words.is_empty() => Match::No,
            None => self.subject_matches(call),
        })
    }

    fn subject_matches(&self, call: &Judged<'_>) -> Match {
        let Some(pattern) = &self.argument else { return Match::Yes };
        match subject(call.spec, call.arguments) {
            Some(text) if pattern.is_match(&text) => Match::Yes,
            Some(_) => Match::No,
            None => Match::Unclear,
        }
    }

    /// A guess may forbid, but not allow; and what it does not match, it might yet become.
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

    /// An argument that the tool does not have is a fault of the rule; one that is left out, or a
    /// list of which not all match a leave, is none.
    fn fields_match(&self, call: &Judged<'_>) -> Match {
        self.fields.iter().fold(Match::Yes, |so_far, field| {
            so_far.and(|| {
                let Some(value) = call.arguments.pointer(&field.pointer) else {
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

/// Whether the tool has an argument of that name.
fn knows(spec: &ToolSpec, pointer: &str) -> bool {
    let name = pointer.trim_start_matches('/').split('/').next().unwrap_or_default();
    spec.parameters["properties"].get(name).is_some()
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
    fn hold(&self, call: &Judged<'_>) -> Match {
        let one_of =
            |list: &[String], value: &str| list.is_empty() || list.iter().any(|x| x == value);
        let scene = call.scene;
        let here = one_of(&self.agents, &scene.agent)
            && one_of(&self.channels, &scene.channel)
            && (self.times.is_empty() || self.times.iter().any(|hours| hours.hold(scene.now)));
        if !here {
            return Match::No;
        }
        let known = |list: &[String], value: Option<&str>| match value {
            _ if list.is_empty() => Match::Yes,
            Some(value) if one_of(list, value) => Match::Yes,
            Some(_) => Match::No,
            None => Match::Unclear,
        };
        known(&self.people, call.person).and(|| known(&self.roles, scene.role.as_deref()))
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

/// What the call acts upon, as a rule sees it: paths are normalised first, so that `notes/../x`
/// is no note.
pub fn subject(spec: &ToolSpec, arguments: &Value) -> Option<String> {
    match spec.subject.as_ref()? {
        Subject::Path(name) => paths::normalise(arguments.get(name)?.as_str()?).ok(),
        Subject::Text(name) | Subject::Command(name) => {
            arguments.get(name)?.as_str().map(str::to_owned)
        }
    }
}

/// What a shell tool would start; `None` for other tools.
pub fn script(spec: &ToolSpec, arguments: &Value) -> Option<Script> {
    let Some(Subject::Command(name)) = &spec.subject else { return None };
    let text = arguments.get(name).and_then(Value::as_str);
    let unreadable = || Script { unclear: Some(Doubt::NoCommand), ..Script::default() };
    Some(text.map_or_else(unreadable, shell::parse))
}
