//! The entries of `[[agents]]`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

use crate::agent::{disclosure::Disclosure, limits::Budget};

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentEntry {
    /// The id that channels use.
    pub id: String,
    /// The id of a model.
    pub model: String,
    /// The system prompt.
    #[serde(default = "default_prompt")]
    pub system_prompt: String,
    /// What it is good at, for agents that may delegate work to it.
    #[serde(default)]
    pub description: String,
    /// One folder for all conversations of the agent; a sub-agent works in the folder of the
    /// conversation that it works for.
    #[schemars(extend("x-default" = "a folder per conversation"))]
    pub workspace: Option<PathBuf>,
    /// The folder of its skills, each a folder with a `SKILL.md`.
    #[schemars(extend("x-default" = "<data_dir>/skills"))]
    pub skills_dir: Option<PathBuf>,
    /// `progressive`: extension tools are found and enabled when needed; `legacy`: all are in every
    /// prompt; `direct`: all, if there are at most 20.
    #[serde(default)]
    pub disclosure: Disclosure,
    /// The built-in tools that the agent has; `*` and `?` are wildcards; `[]` for all.
    #[serde(default)]
    pub tools: Vec<String>,
    /// MCP servers, or individual tools of a server, that the agent may use; `[]` for all.
    #[serde(default)]
    pub mcp: Vec<String>,
    /// `chat`: memories belong to one chat; `agent`: all conversations of the agent share them.
    #[serde(default)]
    pub memory: MemorySharing,
    /// Model requests per turn.
    #[schemars(extend("default" = Budget::default().steps))]
    pub max_steps: Option<u32>,
    /// Tokens per turn, input and output.
    #[schemars(extend("default" = Budget::default().tokens))]
    pub max_tokens: Option<u64>,
    /// Time per turn, not counting the wait for people.
    #[schemars(extend("default" = Budget::default().time.num_minutes()))]
    pub max_minutes: Option<u32>,
    /// Maximum tokens of an answer.
    #[schemars(extend("default" = Budget::default().output_tokens))]
    pub max_output_tokens: Option<u32>,
    /// Tokens above which a dialogue is summarised.
    #[schemars(extend("default" = Budget::default().context_tokens))]
    pub context_tokens: Option<u64>,
}

/// Who shares an agent's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MemorySharing {
    #[default]
    Chat,
    Agent,
}

pub(super) fn default_prompt() -> String {
    "You are a careful, friendly assistant in a chat. Answer briefly and in the language of the \
     person. Use your tools to do what is asked instead of describing how it could be done."
        .into()
}
