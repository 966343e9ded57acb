//! What a tool tells about itself, as data.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::{collections::BTreeMap, time::Duration};
use utoipa::ToSchema;

/// What a tool tells about itself.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSpec {
    /// `snake_case`, at most 64 characters, unique.
    pub name: String,
    /// For the model; its first line stands in the directory of extension tools.
    pub description: String,
    /// JSON Schema (2020-12) of the arguments, an object.
    pub parameters: Value,
    pub effect: EffectClass,
    pub tier: Tier,
    pub source: Source,
    /// When a person is asked, before any rule has spoken.
    pub approval: Approval,
    /// The argument that says what is acted upon; guard rules match on it.
    pub subject: Option<Subject>,
    pub timeout: Duration,
    pub rate: Rate,
    /// How often it may run in one conversation.
    pub max_usage_count: Option<u32>,
    /// Its results are other people's words: they taint the session.
    pub untrusted: bool,
    /// It tells somebody outside something, though it changes nothing: it fetches an address.
    pub outward: bool,
    /// The same arguments give the same result for as long as a conversation lasts.
    pub cache: bool,
    /// Its result is the answer to the person; the model does not read it first.
    pub result_as_answer: bool,
    pub domain: Domain,
    /// What it reads of the environment.
    pub env: Vec<Variable>,
    /// Why it cannot be used here; then no agent is offered it.
    pub unavailable: Option<String>,
}

/// A variable of the environment that a tool reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variable {
    pub name: String,
    /// What it is where it is not set. Without one the tool needs it, and its value is a secret.
    pub default: Option<String>,
}

impl Variable {
    pub fn required(name: &str) -> Self {
        Self { name: name.to_owned(), default: None }
    }

    pub fn with_default(name: &str, default: &str) -> Self {
        Self { name: name.to_owned(), default: Some(default.to_owned()) }
    }

    /// Its value, where it has one: nothing but blanks is none.
    pub fn value(&self, environment: &BTreeMap<String, String>) -> Option<String> {
        let set = environment.get(&self.name).filter(|value| !value.trim().is_empty());
        set.or(self.default.as_ref()).cloned()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    /// Its schema is in every prompt.
    Core,
    /// One line in the directory until `enable_tool`.
    Extension,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    Builtin,
    Mcp { server: String, original_name: String },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Approval {
    Never,
    /// Asked, unless a rule or an earlier decision allows it.
    UnlessAllowed,
    /// Asked every time.
    Always,
}

/// The argument that a call is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// A path in the workspace: normalised before a rule sees it.
    Path(&'static str),
    /// A shell command: parsed, and every program that it starts judged.
    Command(&'static str),
    /// Any other text.
    Text(&'static str),
}

/// Calls per person.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    pub per_minute: u32,
    pub per_hour: u32,
}

impl Default for Rate {
    fn default() -> Self {
        Self { per_minute: 60, per_hour: 1000 }
    }
}

impl ToolSpec {
    /// A core tool that changes nothing, with the usual limits; the rest is set by field.
    pub fn read_only(name: &str, description: &str, parameters: Value) -> Self {
        Self {
            name: name.to_owned(),
            description: description.to_owned(),
            parameters,
            effect: EffectClass::ReadOnly,
            tier: Tier::Core,
            source: Source::Builtin,
            approval: Approval::Never,
            subject: None,
            timeout: Duration::from_secs(30),
            rate: Rate::default(),
            max_usage_count: None,
            untrusted: false,
            outward: false,
            cache: false,
            result_as_answer: false,
            domain: Domain::Orchestrator,
            env: Vec::new(),
            unavailable: None,
        }
    }

    /// Whether a call changes more than its result says: what may run twice and never asks does not.
    pub fn changes_something(&self) -> bool {
        match self.effect {
            EffectClass::ReadOnly => false,
            EffectClass::Idempotent => self.approval != Approval::Never,
            EffectClass::AtMostOnce => true,
        }
    }
}

/// Where a tool does its work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Domain {
    /// In this process.
    Orchestrator,
    /// In a process of its own within the sandbox; without one, not at all.
    Container,
}

/// What a second run would do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum EffectClass {
    /// Changes nothing.
    ReadOnly,
    /// Changes something; twice is the same as once.
    Idempotent,
    /// Must not run twice.
    AtMostOnce,
}
