//! What the model is given: byte-stable from one request to the next.

use serde_json::Value;

use crate::journal::event::Call;

/// One request to a model. Each is the last one with something appended.
#[derive(Debug, Clone, PartialEq)]
pub struct Prompt {
    pub system: String,
    pub tools: Vec<ToolSchema>,
    pub messages: Vec<Message>,
    pub max_output_tokens: u32,
}

/// A tool as the model sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSchema {
    pub name: String,
    pub description: String,
    pub parameters: Value,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Message {
    User {
        text: String,
    },
    Assistant {
        text: String,
        calls: Vec<Call>,
    },
    /// The result of a call; follows the assistant's message that made it.
    Tool {
        call: Call,
        text: String,
    },
}
