//! The contract of a tool, and what runs it.
//!
//! - [`Tool`], [`Context`], [`Output`], [`ToolError`]: what a tool implements, gets and returns
//! - [`toolbox`]: all tools by name; validates arguments, runs a call within its limits; `entry`: one
//!   tool with its schema; `attempts`: retries
//! - [`arguments`], [`overflow`], [`one_line`]: parsing of arguments, truncation of results and of texts
//! - [`elicit`]: elicitations of running calls

pub mod arguments;
mod attempts;
pub mod elicit;
pub(in crate::tools) mod entry;
pub mod one_line;
pub mod overflow;
pub mod toolbox;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use sandbox::SandboxError;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    time::Duration,
};
use thiserror::Error;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::{
    agent::{
        catalog::{ApprovalMode, CallTerms, ToolSpec},
        paths::PathRefused,
        policy::FileDigests,
    },
    journal::{
        event::{Attachment, InheritedState, SeenFile, Speaker, Usage},
        ids::{CallId, ConversationId},
    },
    store::{files::Artifacts, memory::scope::MemoryScope},
    texts::{self, preview::Preview},
};

#[async_trait]
pub trait Tool: Send + Sync {
    fn spec(&self) -> ToolSpec;

    /// The part of the approval that is not an argument, such as the diff of an edit, in Markdown.
    async fn preview(&self, _arguments: &Value, _context: &Context) -> Option<Preview> {
        None
    }

    /// The files that an approval is bound to, in addition to the arguments and the files named by
    /// the spec's subject, with their current state. On an error the call does not run.
    async fn bound(
        &self,
        _arguments: &Value,
        _context: &Context,
    ) -> Result<FileDigests, ToolError> {
        Ok(FileDigests::new())
    }

    /// The maximum cost of a call with these arguments, in millionths of a currency unit. A call
    /// that exceeds the day's remaining budget does not run.
    fn estimated_cost(&self, _arguments: &Value) -> Option<u64> {
        None
    }

    /// Whether a call with these arguments needs an approval, before any rule is applied.
    fn approval(&self, _arguments: &Value) -> ApprovalMode {
        self.spec().approval
    }

    /// The approval, the effect and the reach of a call with these arguments.
    fn terms(&self, arguments: &Value) -> CallTerms {
        CallTerms { approval: self.approval(arguments), ..self.spec().terms() }
    }

    /// Runs the call. The arguments match the schema. The caller applies the spec's timeout by
    /// dropping this future, so anything that must not outlive it has to be tied to it or to
    /// `context.cancelled`.
    async fn run(&self, arguments: Value, context: &Context) -> Result<Output, ToolError>;
}

/// The context in which a call runs.
#[derive(Debug, Clone)]
pub struct Context {
    /// The conversation with people; for a sub-agent, the one that it works for.
    pub conversation: ConversationId,
    pub call: CallId,
    /// The id of the acting agent.
    pub agent: String,
    /// The requester. For a sub-agent, the requester of the agent that delegated to it.
    pub person: Speaker,
    /// Other people whose messages may have led to the call.
    pub joined: Vec<Speaker>,
    /// The number of agents above the acting one.
    pub depth: u32,
    /// The folder of this conversation. Created when it is first needed.
    pub workspace: PathBuf,
    pub artifacts: Artifacts,
    /// The scope of the agent's memory.
    pub memory_scope: MemoryScope,
    /// The files of the workspace that the agent has read: path → SHA-256.
    pub seen: BTreeMap<String, String>,
    /// The files of the workspace that the agent has read or written while the conversation was
    /// tainted.
    pub untrusted: BTreeSet<String>,
    /// The sources of untrusted content in the conversation.
    pub taint: Vec<String>,
    /// The state that a person has approved, as [`Tool::bound`] returned it. `None` if no approval
    /// was necessary. A tool whose state others can change compares it when it makes the change.
    pub approved: Option<FileDigests>,
    /// What a sub-agent that this call starts inherits.
    pub inherited: InheritedState,
    /// The number of background jobs in succession that led to this turn: 0 for a turn that a
    /// person, a schedule or a webhook began, 1 after the report of a job that such a turn created.
    pub jobs_before: u32,
    pub now: DateTime<Utc>,
    pub cancelled: CancellationToken,
    /// Whether pictures are shown inline here: then a picture of its first page precedes a
    /// document.
    pub shows_pictures: bool,
    /// The language of the chat.
    pub language: texts::Language,
    /// Receives progress messages in Markdown. Only the latest is shown.
    pub progress: watch::Sender<String>,
    /// The people whom the call can ask while it runs.
    pub people: elicit::Elicitor,
    /// The values of the environment variables that the spec names; no others.
    pub variables: BTreeMap<String, String>,
}

impl Context {
    /// The value of an environment variable that the tool's spec names.
    pub fn variable(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str)
    }
}

/// The result of a call.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Output {
    /// The text that the model reads.
    pub text: String,
    /// Files for the person, already stored as artifacts.
    pub attachments: Vec<Attachment>,
    /// Files that the agent has read in this call, by path, in their state after the call.
    pub seen: Vec<SeenFile>,
    /// Sources of untrusted content in the text, in addition to those that the spec declares.
    #[serde(rename = "foreign")]
    pub untrusted: Vec<String>,
    /// Pictures for the model, already stored as artifacts, by path.
    pub views: Vec<Attachment>,
    /// Details for operators. They are stored, but no model reads them.
    pub raw: Option<String>,
    /// The cost, in millionths of a currency unit.
    pub cost_micros: Option<u64>,
    /// The usage of the models that the call requested, by model id.
    pub asked: BTreeMap<String, Usage>,
    /// The result is the reply to the person; the model does not read it first.
    pub is_answer: bool,
    /// The result is not reused for an identical call, although the tool's results are cached.
    pub uncached: bool,
}

impl Output {
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// A result that is the reply to the person.
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

/// An error, worded so that the model can act on it.
#[derive(Debug, Error, Clone, PartialEq, Eq)]
pub enum ToolError {
    #[error("Invalid parameters: {0}")]
    InvalidParameters(String),
    #[error("{0}")]
    ExecutionFailed(String),
    /// The file that the call names does not exist.
    #[error("Not found: {0}")]
    NotFound(String),
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
    /// The call has failed, but has to be paid for: the cost is in millionths of a currency unit.
    #[error("{error}")]
    Billed { error: Box<ToolError>, cost_micros: u64 },
    /// The result was lost. A person decides what to do, as after a crash.
    #[error("{}", texts::OUTCOME_UNKNOWN)]
    Unknown,
}

impl From<PathRefused> for ToolError {
    fn from(refused: PathRefused) -> Self {
        Self::ExecutionFailed(refused.to_string())
    }
}

impl From<SandboxError> for ToolError {
    fn from(error: SandboxError) -> Self {
        Self::Sandbox(error.to_string())
    }
}

/// Runs work that blocks, on a thread for such work.
pub async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ToolError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|_| ToolError::ExecutionFailed("The tool crashed".into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools;

    /// The text of an error says what to do next.
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

    /// Tools are used in the same way, on any thread, and their errors are ordinary errors.
    /// Proves IC-01, CA-08, CA-38, CA-39.
    #[tokio::test]
    async fn tools_are_shared_between_tasks() {
        fn is_error<E: std::error::Error + Clone + std::fmt::Debug>() {}
        is_shared::<dyn Tool>();
        is_error::<ToolError>();
        let tools: Vec<std::sync::Arc<dyn Tool>> = vec![
            std::sync::Arc::new(tools::time::CurrentDatetime),
            std::sync::Arc::new(tools::json::Json),
        ];
        let place = tools::testing::ToolFixture::new();
        let (clock, other) = (tools[0].clone(), tools[0].clone());
        let (first, second) = tokio::join!(
            clock.run(serde_json::json!({}), &place.context),
            other.run(serde_json::json!({}), &place.context)
        );
        assert_eq!(first, second);
        assert!(first.is_ok());
    }
}
