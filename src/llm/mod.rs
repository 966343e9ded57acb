//! Language models: the trait, providers, retries and failover.

mod code_state;
mod decode;
pub(crate) mod demo;
mod demo_document;
mod demo_intent;
mod error_class;
pub(crate) mod failover;
mod model_call_id;
pub(crate) mod prompted;
pub(crate) mod remote;
mod reply;
mod request;
pub(crate) mod retry;
mod tool_call_scan;
pub(crate) mod vendor;

use async_trait::async_trait;
use std::time::Duration;
use thiserror::Error;

use crate::texts::Messages;

// Needed to implement `Model` outside this crate.
pub use crate::{
    agent::{
        catalog::ToolSchema,
        prompt::{Message, Picture, Prompt},
    },
    journal::event::{Call, Usage},
};

/// Receives each piece of text as it arrives. This is a named type because `async_trait` would
/// otherwise name the elided lifetime of the piece, which prevents short borrows.
pub type OnText<'a> = dyn Fn(&str) + Send + Sync + 'a;

#[async_trait]
pub trait Model: Send + Sync {
    /// The id from the configuration.
    fn id(&self) -> &str;

    /// Whether it supports images.
    fn sees(&self) -> bool {
        false
    }

    /// Answers a prompt. `on_text` receives each piece of text as it arrives, for display only. An
    /// empty piece means that the text starts again after a retry.
    async fn reply(&self, prompt: &Prompt, on_text: &OnText<'_>) -> Result<Reply, ModelError>;
}

#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    pub text: String,
    pub calls: Vec<Call>,
    pub usage: Usage,
    /// The model that answered, if it is not the requested one.
    pub by: Option<String>,
}

/// Why there is no reply, classified by what the caller does next.
#[derive(Debug, Error, Clone, PartialEq, Eq)]
pub enum ModelError {
    /// Overloaded, rate-limited or disconnected: retry, not before `after`.
    #[error("try again{}: {reason}", after.map(|a| format!(" in {} s", a.as_secs())).unwrap_or_default())]
    Retry { after: Option<Duration>, reason: String },
    /// The prompt is longer than the model accepts: compact it and retry.
    #[error("the prompt is too long: {0}")]
    TooLong(String),
    /// The request has more bytes than the server accepts: compact the prompt and retry.
    #[error("the request is too large: {0}")]
    TooLarge(String),
    /// A content filter blocked the prompt or the answer: another model may answer.
    #[error("filtered: {0}")]
    Filtered(String),
    /// The model wrote a tool call that its provider could not parse: retry immediately, at most
    /// twice.
    #[error("malformed tool call: {0}")]
    MalformedCall(String),
    /// The provider reported an internal failure in the answer: retry at most twice.
    #[error("failed: {0}")]
    Failed(String),
    /// The request or the key was rejected: retrying would not help.
    #[error("refused: {0}")]
    Rejected(String),
    /// The person who pays has used up a budget: the provider was not asked.
    #[error("{0}")]
    OverBudget(String),
}

impl ModelError {
    /// Whether a shorter prompt may help.
    pub fn is_size(&self) -> bool {
        matches!(self, Self::TooLong(_) | Self::TooLarge(_))
    }

    /// The text for the person when all attempts have failed.
    pub fn user_text(&self, words: &Messages) -> &'static str {
        match self {
            Self::Retry { .. } => words.model_unavailable,
            Self::TooLong(_) => words.model_too_long,
            Self::TooLarge(_) => words.model_too_large,
            Self::Filtered(_) => words.model_filtered,
            Self::MalformedCall(_) => words.model_malformed_call,
            Self::Failed(_) => words.model_failed,
            Self::Rejected(_) | Self::OverBudget(_) => words.model_refused,
        }
    }
}
