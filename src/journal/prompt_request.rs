//! Prompts of MCP servers that people request.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A prompt of an MCP server, as a person requested it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromptRequest {
    /// The server's name in the configuration.
    pub server: String,
    /// The server's name for the prompt.
    pub prompt: String,
    pub arguments: BTreeMap<String, String>,
}
