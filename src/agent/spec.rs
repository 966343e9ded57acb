//! The properties of a tool, as data.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::{borrow::Cow, collections::BTreeMap, time::Duration};
use utoipa::ToSchema;

/// The properties of a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSpec {
    /// `snake_case`, at most 64 characters, unique.
    pub name: String,
    /// For the model. The first line is shown in the tool listing.
    pub description: String,
    /// JSON Schema (2020-12) of the arguments, an object.
    pub parameters: Value,
    pub effect: EffectClass,
    pub tier: Tier,
    pub source: ToolSource,
    /// When approval is required, unless a rule decides.
    pub approval: ApprovalMode,
    /// The argument that is the subject, which guard rules match.
    pub subject: Option<Subject>,
    /// How long a call may take. The outcome of a call that takes longer is unknown if it must not
    /// run twice; otherwise it has failed.
    pub timeout: Duration,
    /// The limit of runs for one person; `None` is no limit.
    pub rate: Option<Rate>,
    /// The maximum number of runs in one conversation, with its sub-agents.
    pub max_usage_count: Option<u32>,
    /// The arguments with paths of files of the workspace, besides the subject, whose text may get
    /// into its result, its errors or the files that it writes: JSON pointers, with `*` for every
    /// entry of a list. Untrusted files taint the session.
    pub reads: &'static [&'static str],
    /// Its results are untrusted content and taint the session.
    pub untrusted: bool,
    /// It contacts external systems although it has no side effects, for example by fetching a URL.
    pub outward: bool,
    /// The same arguments give the same result for the whole conversation, except for results
    /// marked with `Output::uncached`.
    pub cache: bool,
    /// Its result is sent to the person as the answer. The model does not read it first.
    pub result_as_answer: bool,
    pub domain: Domain,
    /// The environment variables that it reads.
    pub env: Vec<Variable>,
    /// Why the tool is unavailable. If set, no agent has it.
    pub unavailable: Option<String>,
}

/// A tool as the model sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSchema {
    pub name: String,
    pub description: String,
    pub parameters: Value,
}

impl ToolSchema {
    /// That unknown arguments are refused is left out: a call is checked in any case.
    pub fn of(spec: &ToolSpec) -> Self {
        let mut parameters = spec.parameters.clone();
        if let Some(fields) = parameters.as_object_mut() {
            fields.remove("additionalProperties");
        }
        Self { name: spec.name.clone(), description: spec.description.clone(), parameters }
    }
}

/// An environment variable that a tool reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variable {
    pub name: String,
    /// The default. Without one, the tool requires the variable and its value is treated as a
    /// secret.
    pub default: Option<String>,
}

impl Variable {
    pub fn required(name: &str) -> Self {
        Self { name: name.to_owned(), default: None }
    }

    pub fn with_default(name: &str, default: &str) -> Self {
        Self { name: name.to_owned(), default: Some(default.to_owned()) }
    }

    /// Its value, unless it is missing or blank.
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
    /// It has one line in the tool listing until it is enabled with `enable_tool`.
    Extension,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolSource {
    Builtin,
    Mcp {
        server: String,
        original_name: String,
    },
    /// A component, by the name of its file.
    Wasm {
        module: String,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApprovalMode {
    Never,
    /// Required, unless a rule or an earlier decision allows the call.
    UnlessAllowed,
    /// Required every time.
    Always,
}

/// The properties of one call that can depend on its arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallTerms {
    pub approval: ApprovalMode,
    pub effect: EffectClass,
    pub outward: bool,
}

/// The argument that a call acts on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// A path in the workspace. It is normalised before rules see it.
    Path(&'static str),
    /// A shell command. It is parsed, and each program is judged.
    Command(&'static str),
    /// Any other text.
    Text(&'static str),
}

/// The rate limit per person.
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
    /// A core tool without side effects and with default limits. Other properties are set by field.
    pub fn read_only(name: &str, description: &str, parameters: Value) -> Self {
        Self {
            name: name.to_owned(),
            description: description.to_owned(),
            parameters,
            effect: EffectClass::ReadOnly,
            tier: Tier::Core,
            source: ToolSource::Builtin,
            approval: ApprovalMode::Never,
            subject: None,
            timeout: Duration::from_secs(30),
            rate: None,
            max_usage_count: None,
            reads: &[],
            untrusted: false,
            outward: false,
            cache: false,
            result_as_answer: false,
            domain: Domain::Orchestrator,
            env: Vec::new(),
            unavailable: None,
        }
    }

    /// The terms of a call for which they do not depend on the arguments.
    pub fn terms(&self) -> CallTerms {
        CallTerms { approval: self.approval, effect: self.effect, outward: self.outward }
    }

    /// The spec with the terms of a call.
    pub fn on_terms(&self, terms: Option<CallTerms>) -> Cow<'_, Self> {
        match terms.filter(|terms| *terms != self.terms()) {
            Some(CallTerms { approval, effect, outward }) => {
                Cow::Owned(Self { effect, approval, outward, ..self.clone() })
            }
            None => Cow::Borrowed(self),
        }
    }

    /// The spec with this approval requirement, if there is one.
    pub fn asking(&self, approval: Option<ApprovalMode>) -> Cow<'_, Self> {
        match approval.filter(|approval| *approval != self.approval) {
            Some(approval) => Cow::Owned(Self { approval, ..self.clone() }),
            None => Cow::Borrowed(self),
        }
    }

    /// Whether it acts on anything outside the gateway's own memory. Such a tool gets the default
    /// rate limit unless its author sets one.
    pub fn needs_rate(&self) -> bool {
        self.outward || self.untrusted || self.effect != EffectClass::ReadOnly
    }

    /// Whether a call has side effects. A tool that may run twice and never requires approval has
    /// none.
    pub fn changes_something(&self) -> bool {
        match self.effect {
            EffectClass::ReadOnly => false,
            EffectClass::Idempotent => self.approval != ApprovalMode::Never,
            EffectClass::AtMostOnce => true,
        }
    }
}

/// Where a tool runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Domain {
    /// In this process.
    Orchestrator,
    /// In a separate process in the sandbox. If there is no sandbox, it does not run.
    Container(Confinement),
    /// In the WebAssembly runtime: the component with this digest, with access to nothing but what
    /// its manifest grants.
    Wasm(ModuleDigest),
}

/// The SHA-256 of a component, in hex. Only components that were loaded have one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModuleDigest(String);

impl ModuleDigest {
    pub(crate) fn new(sha256: String) -> Self {
        Self(sha256)
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// How a tool of the container domain runs in the sandbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Confinement {
    program: Option<Vec<String>>,
}

impl Confinement {
    /// The tool starts its own programs in the sandbox. Only for built-in tools.
    pub(crate) const OWN: Self = Self { program: None };

    /// Runs this program in the sandbox, in the folder of the conversation. The program reads the
    /// arguments as JSON from standard input and writes the result to standard output. The tool's
    /// `run` is not called.
    pub fn program(command: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { program: Some(command.into_iter().map(Into::into).collect()) }
    }
}

impl Domain {
    /// The program to run in the sandbox.
    pub fn program(&self) -> Option<&[String]> {
        match self {
            Self::Container(Confinement { program }) => program.as_deref(),
            Self::Orchestrator | Self::Wasm(_) => None,
        }
    }
}

/// The effect of running a call a second time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum EffectClass {
    /// No side effects.
    ReadOnly,
    /// The same effect as running it once.
    Idempotent,
    /// It must not run twice.
    AtMostOnce,
}
