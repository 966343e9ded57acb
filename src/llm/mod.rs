//! Thinks: something that answers a prompt.

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

/// Hears each piece of text as it arrives. Named, because `async_trait` would give the elided
/// lifetime of the piece a name, and so keep every piece from being a short borrow.
pub type OnText<'a> = dyn Fn(&str) + Send + Sync + 'a;

#[async_trait]
pub trait Model: Send + Sync {
    /// The id from the configuration.
    fn id(&self) -> &str;

    /// Whether it can be shown pictures.
    fn sees(&self) -> bool {
        false
    }

    /// Answers; `on_text` hears each piece of text as it arrives (to be shown, not to be trusted:
    /// after a retry the text starts again, which is told by an empty piece).
    async fn reply(&self, prompt: &Prompt, on_text: &OnText<'_>) -> Result<Reply, ModelError>;
}

#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    pub text: String,
    pub calls: Vec<Call>,
    pub usage: Usage,
    /// Which model answered, where it is not the one that was asked.
    pub by: Option<String>,
}

/// Why there is no reply, by what the caller does next.
#[derive(Debug, Error, Clone, PartialEq, Eq)]
pub enum ModelError {
    /// Overloaded, rate-limited, cut: the same again, not before `after`.
    #[error("try again{}: {reason}", after.map(|a| format!(" in {} s", a.as_secs())).unwrap_or_default())]
    Retry { after: Option<Duration>, reason: String },
    /// The prompt is longer than the model takes: compact, then again.
    #[error("the prompt is too long: {0}")]
    TooLong(String),
    /// The request or the key is refused: another try changes nothing.
    #[error("refused: {0}")]
    Rejected(String),
}
