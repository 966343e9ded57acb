//! What runs, what asks whom, what is forbidden: data.

use chrono::TimeDelta;
use globset::GlobMatcher;
use regex::Regex;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    approvers::Approvers,
    catalog::{Subject, ToolSpec},
    paths,
};

#[derive(Debug, Clone)]
pub struct Policy {
    /// For tools that ask unless they are allowed, where no rule matches.
    pub default: Action,
    pub rules: Vec<Rule>,
    /// How long a question stands before it counts as denied.
    pub approval_for: TimeDelta,
    /// Who decides, where the rule that asks names nobody.
    pub approvers: Approvers,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            default: Action::Ask,
            rules: Vec::new(),
            approval_for: TimeDelta::minutes(30),
            approvers: Approvers::default(),
        }
    }
}

/// In the order of their strictness.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, Default)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    Allow,
    #[default]
    Ask,
    Deny,
}

/// The first rule that matches speaks.
#[derive(Debug, Clone)]
pub struct Rule {
    /// What the rule calls itself in questions and logs.
    pub name: String,
    pub tool: GlobMatcher,
    /// Matched against the decoded subject of the call, never against raw JSON.
    pub argument: Option<Regex>,
    pub action: Action,
    /// Who decides what this rule asks.
    pub approvers: Option<Approvers>,
}

/// What a rule says of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Match {
    No,
    Yes,
    /// It names the tool, but cannot be evaluated: that asks.
    Unclear,
}

impl Rule {
    pub fn matches(&self, spec: &ToolSpec, arguments: &Value) -> Match {
        if !self.tool.is_match(&spec.name) {
            return Match::No;
        }
        let Some(pattern) = &self.argument else { return Match::Yes };
        match subject(spec, arguments) {
            Some(text) if pattern.is_match(&text) => Match::Yes,
            Some(_) => Match::No,
            None => Match::Unclear,
        }
    }
}

/// What the call acts upon, as a rule sees it: paths are normalised first, so that `notes/../x`
/// is no note.
pub fn subject(spec: &ToolSpec, arguments: &Value) -> Option<String> {
    match spec.subject.as_ref()? {
        Subject::Path(name) => paths::normalise(arguments.get(name)?.as_str()?).ok(),
        Subject::Text(name) => arguments.get(name)?.as_str().map(str::to_owned),
    }
}
