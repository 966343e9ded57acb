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
    pub messages_per_minute: u32,
    pub person: PersonEntry,
    pub conversation: DailyEntry,
    pub all: DailyEntry,
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
    pub messages: Option<u64>,
    pub tokens: Option<u64>,
    pub cost: Option<f64>,
    pub tool_minutes: Option<u64>,
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
    pub messages: Option<u64>,
    pub tokens: Option<u64>,
    pub cost: Option<f64>,
    pub tool_minutes: Option<u64>,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolLimitEntry {
    pub tool: String,
    pub per_minute: Option<u32>,
    pub per_hour: Option<u32>,
    pub max_usage_count: Option<u32>,
    #[serde(default)]
    pub unlimited: bool,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RedactionConfig {
    pub results: Results,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AuditConfig {
    pub retention: Option<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HookEntry {
    pub name: String,
    pub on: HookPoint,
    pub action: HookAction,
    pub tool: Option<String>,
    pub argument: Option<String>,
    pub pattern: Option<String>,
    pub text: Option<String>,
    pub command: Option<Vec<String>>,
    #[serde(default = "yes")]
    pub sandbox: bool,
    pub timeout: Option<String>,
    pub max_bytes: Option<usize>,
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
