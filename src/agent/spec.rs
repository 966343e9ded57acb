//! What a tool tells about itself, as data.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::{borrow::Cow, collections::BTreeMap, time::Duration};
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
    /// How often one person may have it run; `None` is no limit.
    pub rate: Option<Rate>,
    /// How often it may run in one conversation.
    pub max_usage_count: Option<u32>,
    /// Its results are other people's words: they taint the session.
    pub untrusted: bool,
    /// It tells somebody outside something, though it changes nothing: it fetches an address.
    pub outward: bool,
    /// The same arguments give the same result for as long as a conversation lasts, unless
    /// `Tool::caches` says otherwise of a result.
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

impl Rate {
    pub const fn new(per_minute: u32, per_hour: u32) -> Self {
        Self { per_minute, per_hour }
    }
}

impl Default for Rate {
    fn default() -> Self {
        Self::new(60, 1000)
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
            rate: None,
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

    /// The same, for a call about which a person is asked in this case.
    pub fn asking(&self, approval: Option<Approval>) -> Cow<'_, Self> {
        match approval.filter(|approval| *approval != self.approval) {
            Some(approval) => Cow::Owned(Self { approval, ..self.clone() }),
            None => Cow::Borrowed(self),
        }
    }

    /// Whether it acts on anything outside the gateway's own memory: then one person may not have it
    /// run without limit, even where its author has set none.
    pub fn needs_rate(&self) -> bool {
        self.outward || self.untrusted || self.effect != EffectClass::ReadOnly
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
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Domain {
    /// In this process.
    Orchestrator,
    /// In a process of its own within the sandbox; without one, not at all.
    Container(Confinement),
}

/// How the work of a tool of the container domain gets into the sandbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Confinement {
    program: Option<Vec<String>>,
}

impl Confinement {
    /// The tool starts its own programs in the sandbox. Only for tools of this program.
    pub(crate) const OWN: Self = Self { program: None };

    /// This program does the work: it is given the arguments as JSON on its standard input, starts
    /// in the folder of the conversation, and its standard output is the result. The tool's `run`
    /// is never called.
    pub fn program(command: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { program: Some(command.into_iter().map(Into::into).collect()) }
    }
}

impl Domain {
    /// The program that does the work in the sandbox.
    pub fn program(&self) -> Option<&[String]> {
        match self {
            Self::Container(Confinement { program }) => program.as_deref(),
            Self::Orchestrator => None,
        }
    }
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
