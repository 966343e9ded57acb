//! Acts: what the agent can do, one file a family of tools.
//!
//! - [`toolbox`]: all tools by name; checks arguments, runs a call within its limits
//! - [`arguments`], [`overflow`]: with what, and how much comes back
//! - [`elicit`]: what a call wants to know of a person while it runs
//! - [`custom`]: tools made of documented functions
//! - [`workspace`]: the only way to a file
//! - [`sandbox`]: what is around programs that we start
//! - [`confined_reader`]: documents, read within it
//! - [`skills`]: folders of know-how, and their tools
//! - [`manual`]: our own documentation
//! - [`files`], [`documents`], [`extract`], [`json`], [`view_image`], [`memory`], [`schedule`], [`send`], [`shell`],
//!   [`time`], [`web`]: the tools
//! - [`semantic_search`]: what memories mean, for their search
//! - [`mcp`]: the tools of other people's servers

pub mod arguments;
mod attempts;
pub mod confined_reader;
pub mod conversions;
pub mod custom;
pub mod documents;
pub mod echo;
pub mod elicit;
mod entry;
pub mod extract;
pub mod file_binding;
pub mod file_names;
pub mod files;
pub mod json;
pub mod manual;
pub mod mcp;
pub mod memory;
pub mod overflow;
pub mod sandbox;
pub mod schedule;
pub mod semantic_search;
pub mod send;
pub mod shell;
#[cfg(test)]
mod shown_tests;
pub mod skills;
#[cfg(test)]
mod testing;
pub mod time;
pub mod toolbox;
pub mod view_image;
pub mod web;
pub mod workspace;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::{collections::BTreeMap, path::PathBuf, time::Duration};
use thiserror::Error;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::{
    agent::{
        catalog::{Approval, ToolSpec},
        paths::PathRefused,
        policy::Files,
    },
    journal::{
        event::{Attachment, Seen, Speaker, Usage},
        ids::{CallId, ConversationId},
    },
    store::{files::Artifacts, memory_scope::MemoryScope},
    texts::{self, preview::Preview},
};

#[async_trait]
pub trait Tool: Send + Sync {
    fn spec(&self) -> ToolSpec;

    /// What the approval request shows besides the arguments: the diff of an edit, in Markdown.
    async fn preview(&self, _arguments: &Value, _context: &Context) -> Option<Preview> {
        None
    }

    /// What a decision is bound to besides the arguments, and the files of the workspace that the
    /// spec's subject names: what each is now. Where it cannot be said, nothing runs.
    async fn bound(&self, _arguments: &Value, _context: &Context) -> Result<Files, ToolError> {
        Ok(Files::new())
    }

    /// What a call with these arguments may cost at most, in millionths of a currency unit: one for
    /// which the day has no money left does not run.
    fn estimated_cost(&self, _arguments: &Value) -> Option<u64> {
        None
    }

    /// When a person is asked about a call with these arguments, before any rule has spoken.
    fn approval(&self, _arguments: &Value) -> Approval {
        self.spec().approval
    }

    /// Does it. The arguments fit the schema. Bounded by the spec's timeout from outside, which
    /// drops this future: what must not outlive it is tied to it or to `context.cancelled`.
    async fn run(&self, arguments: Value, context: &Context) -> Result<Output, ToolError>;
}

/// Where and for whom a call runs.
#[derive(Debug, Clone)]
pub struct Context {
    /// The one of people: a sub-agent's is the one that it works for.
    pub conversation: ConversationId,
    pub call: CallId,
    /// The id of the agent that acts.
    pub agent: String,
    /// On whose behalf the agent acts: the requester of the task, a sub-agent's of the one above it.
    pub person: Speaker,
    /// The folder of this conversation. Created when it is first needed.
    pub workspace: PathBuf,
    pub artifacts: Artifacts,
    /// Where what is remembered here lies.
    pub shelf: MemoryScope,
    /// What the agent has seen of the workspace: path → SHA-256 of the content.
    pub seen: BTreeMap<String, String>,
    /// Where other people's words in the conversation have come from.
    pub taint: Vec<String>,
    pub now: DateTime<Utc>,
    pub cancelled: CancellationToken,
    /// Whether people here see pictures as such: then one of its first page goes before a document.
    pub shows_pictures: bool,
    /// Where people see how far the call is, in Markdown; the last word counts.
    pub progress: watch::Sender<String>,
    /// Whom the call can ask something while it runs.
    pub people: elicit::People,
    /// What the tool reads of the environment: what its spec names, and nothing else.
    pub variables: BTreeMap<String, String>,
}

impl Context {
    /// The value of a variable that the tool's spec names.
    pub fn variable(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str)
    }
}

/// What came of a call.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Output {
    /// What the model reads.
    pub text: String,
    /// Files for the person, stored as artifacts already.
    pub attachments: Vec<Attachment>,
    /// Files of the workspace that the agent has now seen, as they are after the call.
    pub seen: Vec<Seen>,
    /// Where other people's words in the text have come from, besides what the spec says.
    pub foreign: Vec<String>,
    /// Pictures that the model is to see, stored as artifacts already, by their paths.
    pub views: Vec<Attachment>,
    /// What else there is to know, for operators: it is kept, and no model reads it.
    pub raw: Option<String>,
    /// What it has cost, in millionths of a currency unit.
    pub cost_micros: Option<u64>,
    /// What models were asked for it, by their ids.
    pub asked: BTreeMap<String, Usage>,
    /// It is the answer to the person; the model does not read it first.
    pub is_answer: bool,
    /// The same call must run again, though its tool's results are cached.
    pub uncached: bool,
}

impl Output {
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// One that answers the person.
    pub fn as_answer(text: impl Into<String>) -> Self {
        Self { is_answer: true, ..Self::text(text) }
    }
}

impl From<&str> for Output {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl From<String> for Output {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}

impl std::fmt::Display for Output {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

/// A failure that the model is told about, in words that it can act on.
#[derive(Debug, Error, Clone, PartialEq, Eq)]
pub enum ToolError {
    #[error("Invalid parameters: {0}")]
    InvalidParameters(String),
    #[error("{0}")]
    ExecutionFailed(String),
    #[error("Timed out after {} s", .0.as_secs())]
    Timeout(Duration),
    #[error("Not authorized: {0}")]
    NotAuthorized(String),
    #[error("Rate limit exceeded{}", .0.map(|d| format!(": try again in {} s", d.as_millis().div_ceil(1_000))).unwrap_or_default())]
    RateLimited(Option<Duration>),
    #[error("External service: {0}")]
    ExternalService(String),
    #[error("Sandbox: {0}")]
    Sandbox(String),
    /// The answer was lost: people are asked, as after a crash.
    #[error("{}", texts::OUTCOME_UNKNOWN)]
    Unknown,
}

impl From<PathRefused> for ToolError {
    fn from(refused: PathRefused) -> Self {
        Self::ExecutionFailed(refused.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the model reads says what to do next.
    /// Proves IC-25, IC-20, IC-21, IC-23.
    #[test]
    fn an_error_says_what_it_is() {
        let says = |error: ToolError| error.to_string();
        assert_eq!(says(ToolError::NotAuthorized("ann".into())), "Not authorized: ann");
        let wait = Some(Duration::from_millis(1_500));
        assert_eq!(says(ToolError::RateLimited(wait)), "Rate limit exceeded: try again in 2 s");
        assert_eq!(says(ToolError::RateLimited(None)), "Rate limit exceeded");
        assert_eq!(says(ToolError::ExternalService("500".into())), "External service: 500");
        assert_eq!(says(ToolError::Sandbox("trap".into())), "Sandbox: trap");
    }

    fn is_shared<T: Send + Sync + ?Sized>() {}

    /// Any tool is one thing to whoever runs it, on any thread; what went wrong is an error like
    /// others.
    /// Proves IC-01, CA-08, CA-38, CA-39.
    #[tokio::test]
    async fn tools_are_shared_between_tasks() {
        fn is_error<E: std::error::Error + Clone + std::fmt::Debug>() {}
        is_shared::<dyn Tool>();
        is_error::<ToolError>();
        let tools: Vec<std::sync::Arc<dyn Tool>> =
            vec![std::sync::Arc::new(time::CurrentDatetime), std::sync::Arc::new(json::Json)];
        let place = testing::Place::new();
        let (clock, other) = (tools[0].clone(), tools[0].clone());
        let (first, second) = tokio::join!(
            clock.run(serde_json::json!({}), &place.context),
            other.run(serde_json::json!({}), &place.context)
        );
        assert_eq!(first, second);
        assert!(first.is_ok());
    }
}
