//! Language models: the trait, providers, retries and failover.

mod code_state;
pub mod demo;
mod demo_document;
mod demo_intent;
mod error_class;
pub mod failover;
mod genai_mapping;
pub mod prompted;
pub mod remote;
pub mod retry;
pub mod scripted;
mod tool_call_scan;
pub mod vendor;

use async_trait::async_trait;
use std::time::Duration;
use thiserror::Error;

use crate::{
    agent::prompt::Prompt,
    journal::event::{Call, Usage},
};

/// Receives each piece of text as it arrives. A named type, because `async_trait` would name the
/// elided lifetime of the piece and so prevent short borrows.
pub type OnText<'a> = dyn Fn(&str) + Send + Sync + 'a;

#[async_trait]
pub trait Model: Send + Sync {
    /// The id from the configuration.
    fn id(&self) -> &str;

    /// Whether it supports images.
    fn sees(&self) -> bool {
        false
    }

    /// Answers a prompt. `on_text` receives each piece of text as it arrives, for display only;
    /// after a retry the text starts again, which is signalled by an empty piece.
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

/// Why there is no reply, by what the caller does next.
#[derive(Debug, Error, Clone, PartialEq, Eq)]
pub enum ModelError {
    /// Overloaded, rate-limited or cut off: retry, not before `after`.
    #[error("try again{}: {reason}", after.map(|a| format!(" in {} s", a.as_secs())).unwrap_or_default())]
    Retry { after: Option<Duration>, reason: String },
    /// The prompt is longer than the model accepts: compact it and retry.
    #[error("the prompt is too long: {0}")]
    TooLong(String),
    /// The request or the key was rejected: a retry would not help.
    #[error("refused: {0}")]
    Rejected(String),
}
