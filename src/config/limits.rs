//! The sections on hooks, limits, redaction and audit.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    agent::{hooks::OnFailure, redact::Results},
    journal::event::HookPoint,
};

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LimitsConfig {
    /// Messages that one person may send per minute (0 for unlimited); further ones are rejected
    /// with a notice.
    pub messages_per_minute: u32,
    /// The daily budget of each person (UTC).
    pub person: PersonEntry,
    /// The daily budget of each conversation (UTC).
    pub conversation: DailyEntry,
    /// The daily budget of all users combined (UTC).
    pub all: DailyEntry,
    /// Rate limits of tools.
    pub tools: Vec<ToolLimitEntry>,
}

impl Default for LimitsConfig {
    fn default() -> Self {
        Self {
            messages_per_minute: 30,
            person: PersonEntry::default(),
            conversation: DailyEntry::default(),
            all: DailyEntry::default(),
            tools: Vec::new(),
        }
    }
}

/// The budget of a person for a UTC day.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PersonEntry {
    /// Messages.
    pub messages: Option<u64>,
    /// Tokens, input and output.
    pub tokens: Option<u64>,
    /// Money, at the configured prices.
    pub cost: Option<f64>,
    /// Tool run time, in minutes.
    pub tool_minutes: Option<u64>,
    /// Megabytes that a person may upload in the web chat.
    pub upload_mb: u32,
}

impl Default for PersonEntry {
    fn default() -> Self {
        Self { messages: None, tokens: None, cost: None, tool_minutes: None, upload_mb: 1_000 }
    }
}

impl PersonEntry {
    /// The part that the other budgets have as well.
    pub fn daily(&self) -> DailyEntry {
        let Self { messages, tokens, cost, tool_minutes, .. } = *self;
        DailyEntry { messages, tokens, cost, tool_minutes }
    }
}

/// The budget of a UTC day.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DailyEntry {
    /// Messages.
    pub messages: Option<u64>,
    /// Tokens, input and output.
    pub tokens: Option<u64>,
    /// Money, at the configured prices.
    pub cost: Option<f64>,
    /// Tool run time, in minutes.
    pub tool_minutes: Option<u64>,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolLimitEntry {
    /// Tool name; `*` and `?` are wildcards; the last matching entry applies.
    pub tool: String,
    /// Calls per person and minute.
    #[schemars(extend("x-default" = "the tool's, or 60"))]
    pub per_minute: Option<u32>,
    /// Calls per person and hour.
    #[schemars(extend("x-default" = "the tool's, or 1000"))]
    pub per_hour: Option<u32>,
    /// Calls per conversation, including its sub-agents.
    pub max_usage_count: Option<u32>,
    /// Whether the calls per person are unlimited.
    #[serde(default)]
    pub unlimited: bool,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RedactionConfig {
    /// What is redacted in tool results: `all` that looks like a secret, or `own` for the secrets
    /// of this configuration only.
    pub results: Results,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AuditConfig {
    /// How long sealed audit records and daily usage totals are kept, for example `400d`.
    #[schemars(extend("x-default" = "kept forever"))]
    pub retention: Option<String>,
}

/// The default of `timeout` of a hook.
pub(super) const HOOK_TIMEOUT: &str = "5s";
/// The default of `max_bytes` of a hook.
pub(super) const HOOK_BYTES: usize = 262_144;

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HookEntry {
    /// The name of the hook in the journal and in logs.
    pub name: String,
    /// When it runs: `before_llm`, `after_llm`, `before_tool`, `after_tool` or `on_error`.
    pub on: HookPoint,
    /// What it does: `redact`, `inject`, `validate`, `filter`, `annotate`, or `run` a program. Hooks
    /// run in the order of the file.
    pub action: HookAction,
    /// Tool name; `*` and `?` are wildcards.
    #[schemars(extend("x-default" = "every tool"))]
    pub tool: Option<String>,
    /// `before_tool`: the argument to check or set.
    pub argument: Option<String>,
    /// Regular expression: what is redacted, must match, or must not match.
    pub pattern: Option<String>,
    /// The text to insert or append, or the reason for stopping.
    pub text: Option<String>,
    /// `run`: program and arguments; receives JSON on standard input and prints JSON.
    pub command: Option<Vec<String>>,
    /// Whether the program is sandboxed: no network, writing only to its own folder, the gateway's
    /// data hidden.
    #[serde(default = "yes")]
    pub sandbox: bool,
    /// Timeout of the program, at most one minute.
    #[schemars(extend("default" = HOOK_TIMEOUT))]
    pub timeout: Option<String>,
    /// Maximum size of its input and of its output, in bytes.
    #[schemars(extend("default" = HOOK_BYTES))]
    pub max_bytes: Option<usize>,
    /// What happens if the program fails: `stop` or `continue`.
    #[schemars(extend("x-default" = "stop for before_tool, else continue"))]
    pub on_failure: Option<OnFailure>,
}

fn yes() -> bool {
    true
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HookAction {
    Redact,
    Inject,
    Validate,
    Filter,
    Annotate,
    Run,
}
