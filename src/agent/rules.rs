//! Rules as written in the configuration, the database and documents; and the shipped rules.

use chrono::NaiveTime;
use chrono_tz::Tz;
use globset::{Glob, GlobSet, GlobSetBuilder};
use regex::Regex;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, sync::LazyLock};
use thiserror::Error;
use utoipa::ToSchema;

use super::{
    approvers::Approvers,
    policy::{Action, Conditions, FieldPattern, Hours, Origin, Rule, Severity, TextPattern},
};

/// A rule as written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RuleEntry {
    /// The name of the rule, shown in approvals.
    #[schemars(extend("x-default" = "rule N"))]
    pub name: Option<String>,
    /// Tool name; `*` and `?` are wildcards.
    pub tool: String,
    /// Regular expression for the subject of the call: its path or, for a shell command, each
    /// program with its arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arg_pattern: Option<String>,
    /// Regular expressions (or `{ glob = "…" }`) by argument: `"to.address"` or `"/to/address"`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub fields: BTreeMap<String, Pattern>,
    /// Programs that a shell command starts; `*` and `?` are wildcards.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// Regular expressions; each must match one whole argument of the program.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub words: Vec<String>,
    /// The severity: `low`, `medium`, `high` or `critical`.
    #[serde(default)]
    pub severity: Severity,
    /// Among rules of one severity, the highest priority decides.
    #[serde(default)]
    pub priority: i32,
    /// `false` disables the rule.
    #[serde(default = "yes")]
    pub enabled: bool,
    /// Ids of agents that it applies to; `[]` for all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<String>,
    /// Ids of channels that it applies to; `[]` for all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub channels: Vec<String>,
    /// Numeric platform ids of requesters that it applies to; `[]` for all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub people: Vec<String>,
    /// Roles of requesters that it applies to; `[]` for all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub roles: Vec<String>,
    /// When it applies, for example `mon-fri 09:00-17:00 Europe/Berlin`; `[]` for always.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub times: Vec<String>,
    /// What happens to the call: `allow`, `ask` or `deny`.
    pub action: Action,
    /// Who can decide approvals of this rule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<serde_json::Value>)]
    #[schemars(extend("x-default" = "guard.approvers"))]
    pub approvers: Option<Approvers>,
}

impl RuleEntry {
    /// A rule for all calls of these tools.
    pub fn of(tool: &str, action: Action) -> Self {
        Self {
            name: None,
            tool: tool.to_owned(),
            arg_pattern: None,
            fields: BTreeMap::new(),
            command: Vec::new(),
            words: Vec::new(),
            severity: Severity::default(),
            priority: 0,
            enabled: true,
            agents: Vec::new(),
            channels: Vec::new(),
            people: Vec::new(),
            roles: Vec::new(),
            times: Vec::new(),
            action,
            approvers: None,
        }
    }
}

fn yes() -> bool {
    true
}

/// A regular expression or a glob.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ToSchema)]
#[serde(untagged)]
pub enum Pattern {
    Regex(String),
    Glob { glob: String },
}

/// Several rules as one document.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RuleDocument {
    #[serde(default)]
    pub rules: Vec<RuleEntry>,
}

/// An invalid rule: which one, which key, why.
#[derive(Debug, Clone, Error, PartialEq, Eq)]
#[error("the rule \u{201c}{rule}\u{201d}, {key}: {problem}")]
pub struct Unusable {
    pub rule: String,
    pub key: &'static str,
    pub problem: String,
}

/// Compiles the enabled rules in order of precedence. `origin` says where they are defined.
pub fn compile(entries: &[RuleEntry], origin: Origin) -> Result<Vec<Rule>, Unusable> {
    let numbered = entries.iter().zip(1..);
    let mut rules = numbered
        .filter(|(entry, _)| entry.enabled)
        .map(|(entry, number)| rule(entry, number, origin))
        .collect::<Result<Vec<_>, _>>()?;
    rules.sort_by_key(|rule| std::cmp::Reverse(rule.priority));
    Ok(rules)
}

/// The rules that come before the named one and decide differently about calls that both may match.
/// Within one severity, only the first matching rule decides.
pub fn shadowing(entries: &[RuleEntry], name: &str) -> Vec<String> {
    let mut ordered: Vec<_> = entries.iter().filter(|entry| entry.enabled).collect();
    ordered.sort_by_key(|entry| std::cmp::Reverse(entry.priority));
    let Some(place) = ordered.iter().position(|entry| entry.name.as_deref() == Some(name)) else {
        return Vec::new();
    };
    let rule = ordered[place];
    let before = ordered[..place].iter().filter(|other| {
        other.severity == rule.severity && other.action != rule.action && may_meet(other, rule)
    });
    before.filter_map(|other| other.name.clone()).collect()
}

/// The names of the rules that apply to none of these tools, perhaps because of a typing error.
pub fn unmatched<'a>(entries: &'a [RuleEntry], tools: &[String]) -> Vec<&'a str> {
    let matches = |entry: &RuleEntry| {
        Glob::new(&entry.tool).is_ok_and(|glob| {
            let glob = glob.compile_matcher();
            tools.iter().any(|tool| glob.is_match(tool))
        })
    };
    let unmatched = entries.iter().filter(|entry| !matches(entry));
    unmatched.filter_map(|entry| entry.name.as_deref()).collect()
}

/// Whether a call may match both rules. Patterns for arguments are not compared.
fn may_meet(one: &RuleEntry, other: &RuleEntry) -> bool {
    let is_glob = |text: &str| text.contains(['*', '?', '[', '{']);
    let matches = |glob: &str, text: &str| {
        Glob::new(glob).is_ok_and(|glob| glob.compile_matcher().is_match(text))
    };
    let alike = |one: &str, other: &str| {
        matches(one, other) || matches(other, one) || is_glob(one) && is_glob(other)
    };
    let share = |one: &[String], other: &[String]| {
        let common = one.iter().any(|one| other.iter().any(|other| alike(one, other)));
        one.is_empty() || other.is_empty() || common
    };
    alike(&one.tool, &other.tool)
        && share(&one.command, &other.command)
        && share(&one.agents, &other.agents)
        && share(&one.channels, &other.channels)
        && share(&one.people, &other.people)
        && share(&one.roles, &other.roles)
}

/// The shipped rules except the disabled ones.
pub fn shipped(off: &[String]) -> Vec<Rule> {
    let is_off =
        |rule: &Rule| off.iter().any(|name| current_name(name) == rule.name || name == "*");
    SHIPPED.iter().filter(|rule| !is_off(rule)).cloned().collect()
}

/// Whether there is a shipped rule with this name.
pub fn is_shipped(name: &str) -> bool {
    name == "*" || SHIPPED.iter().any(|rule| rule.name == current_name(name))
}

/// The current name of a shipped rule that an earlier release called otherwise.
fn current_name(name: &str) -> &str {
    FORMER_NAMES.iter().find(|former| former.old == name).map_or(name, |former| former.new)
}

/// The former name of a shipped rule, which `guard.disabled_rules` accepts.
struct FormerName {
    old: &'static str,
    new: &'static str,
}

const fn former(old: &'static str, new: &'static str) -> FormerName {
    FormerName { old, new }
}

const FORMER_NAMES: &[FormerName] = &[
    former("rights for everybody", "world-writable permissions"),
    former("rights and owners", "change permissions or owner"),
    former("disks", "disk tools"),
    former("delete what find finds", "delete with find"),
    former("find writes or starts", "find that writes files or starts programs"),
    former("run what is downloaded", "run downloaded code"),
    former("scripts that delete", "delete in a script"),
    former("push over others' work", "force push"),
    former("discard work", "discard git changes"),
    former("git starts programs", "git commands that start programs"),
    former("write into the system", "write to system folders"),
    former("copy to or from the system", "copy to or from system folders"),
    former("write where programs look", "write to startup or search paths"),
    former("open a connection", "shell network connection"),
    former("as another", "run as another user"),
    former("the machine", "system administration"),
    former("the network", "network programs"),
    former("packages", "package managers"),
    former("programs within programs", "programs that start programs"),
];

static SHIPPED: LazyLock<Vec<Rule>> = LazyLock::new(|| {
    let document: RuleDocument =
        toml::from_str(include_str!("shipped_rules.toml")).expect("a test reads the shipped rules");
    compile(&document.rules, Origin::Shipped).expect("a test compiles the shipped rules")
});

fn rule(entry: &RuleEntry, number: usize, origin: Origin) -> Result<Rule, Unusable> {
    let name = entry.name.clone().unwrap_or_else(|| format!("rule {number}"));
    let wrong = |key: &'static str| {
        let rule = name.clone();
        move |problem: String| Unusable { rule, key, problem }
    };
    let fields = entry.fields.iter().map(|(path, pattern)| {
        Ok(FieldPattern { pointer: pointer(path), pattern: pattern.compile()? })
    });
    let words = entry.words.iter().map(|word| regex(&format!("^(?s:{word})$")));
    let command = (!entry.command.is_empty()).then(|| globs(&entry.command)).transpose();
    let argument = entry.arg_pattern.as_deref().map(regex).transpose();
    let times = entry.times.iter().map(|text| hours(text)).collect::<Result<_, _>>();
    if let Some(id) = entry.people.iter().find(|id| !is_id(id)) {
        let problem =
            format!("`{id}` is not an id; people are identified by the platform's number");
        return Err(wrong("people")(problem));
    }
    Ok(Rule {
        origin,
        severity: entry.severity,
        priority: entry.priority,
        tool: globs(std::slice::from_ref(&entry.tool)).map_err(wrong("tool"))?,
        names_tool: entry.tool.contains(|c: char| c.is_alphanumeric()),
        argument: argument.map_err(wrong("arg_pattern"))?,
        fields: fields.collect::<Result<_, _>>().map_err(wrong("fields"))?,
        command: command.map_err(wrong("command"))?,
        words: words.collect::<Result<_, _>>().map_err(wrong("words"))?,
        when: Conditions {
            agents: entry.agents.clone(),
            channels: entry.channels.clone(),
            people: entry.people.clone(),
            roles: entry.roles.clone(),
            times: times.map_err(wrong("times"))?,
        },
        action: entry.action,
        approvers: entry.approvers.clone(),
        name,
    })
}

/// Only numeric ids are accepted, because people can change their names.
fn is_id(id: &str) -> bool {
    !id.is_empty() && id.chars().all(|c| c.is_ascii_digit())
}

impl Pattern {
    fn compile(&self) -> Result<TextPattern, String> {
        match self {
            Self::Regex(text) => regex(text).map(TextPattern::Regex),
            Self::Glob { glob } => Glob::new(glob)
                .map(|glob| TextPattern::Glob(glob.compile_matcher()))
                .map_err(|problem| problem.to_string()),
        }
    }
}

fn regex(text: &str) -> Result<Regex, String> {
    Regex::new(text).map_err(|problem| problem.to_string())
}

fn globs(patterns: &[String]) -> Result<GlobSet, String> {
    let mut set = GlobSetBuilder::new();
    for pattern in patterns {
        set.add(Glob::new(pattern).map_err(|problem| problem.to_string())?);
    }
    set.build().map_err(|problem| problem.to_string())
}

/// `to.address` and `/to/address` are equivalent.
fn pointer(path: &str) -> String {
    if path.starts_with('/') { path.to_owned() } else { format!("/{}", path.replace('.', "/")) }
}

/// Parses `mon-fri 09:00-17:00 Europe/Berlin`. The default zone is UTC, the default days are all.
fn hours(text: &str) -> Result<Hours, String> {
    let wrong = || format!("`{text}` is not a time range; use `mon-fri 09:00-17:00 Europe/Berlin`");
    let mut parts = text.split_whitespace().peekable();
    let first = parts.next_if(|part| !part.starts_with(|c: char| c.is_ascii_digit()));
    let days = first.map_or(Some([true; 7]), days).ok_or_else(wrong)?;
    let (from, until) = parts.next().and_then(|part| part.split_once('-')).ok_or_else(wrong)?;
    let time = |text: &str| match text {
        "24:00" => Ok(NaiveTime::MIN),
        text => NaiveTime::parse_from_str(text, "%H:%M").map_err(|_| wrong()),
    };
    let zone: Tz = parts.next().unwrap_or("UTC").parse().map_err(|_| wrong())?;
    if parts.next().is_some() {
        return Err(wrong());
    }
    Ok(Hours { days, from: time(from)?, until: time(until)?, zone })
}

/// Parses `mon,wed` or `fri-sun`.
fn days(text: &str) -> Option<[bool; 7]> {
    let day = |name: &str| {
        let names = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
        names.iter().position(|known| *known == name.to_lowercase())
    };
    let mut days = [false; 7];
    for part in text.split(',') {
        let (from, until) = part.split_once('-').unwrap_or((part, part));
        let (from, until) = (day(from)?, day(until)?);
        let count = (until + 7 - from) % 7;
        (0..=count).for_each(|step| days[(from + step) % 7] = true);
    }
    Some(days)
}

#[cfg(test)]
#[path = "rules_tests/mod.rs"]
mod tests;
