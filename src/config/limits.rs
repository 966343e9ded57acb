//! The sections `limits` and `redaction`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::agent::redact::Results;

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
