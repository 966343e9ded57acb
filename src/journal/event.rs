//! Events: facts about one conversation, in the past tense, which never change.

use channels::FileRef;
use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use strum::{EnumString, IntoStaticStr};
use utoipa::ToSchema;

use super::ids::{ApprovalId, CallId, ConversationId, JobId, ScheduleId};
pub use super::prompt_request::PromptRequest;

/// The number of an event within its conversation, starting at 1.
pub type Seq = i64;

/// An event with its number and time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    pub seq: Seq,
    pub at: DateTime<Utc>,
    pub event: Event,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Event {
    /// A person wrote to the agent.
    Said { by: Speaker, text: String, message: String },
    /// The model answered, having read everything up to `upto`. Its text, if any, was put into the
    /// outbox in the same transaction.
    Replied { text: String, calls: Vec<Call>, upto: Seq, usage: Usage },
    /// A call that must not run twice is about to run.
    ToolStarted { call: CallId },
    /// A call ended: done, failed, denied or withdrawn.
    ToolFinished { call: CallId, result: ToolResult },
    /// An approval was requested from the people in the place.
    #[serde(rename = "approval_asked")]
    ApprovalRequested { approval: ApprovalId, call: CallId, digest: String, asks: ApprovalPurpose },
    /// An approval was decided, by a person or a timeout.
    ApprovalDecided { approval: ApprovalId, call: CallId, decision: Decision, by: Decider },
    /// Untrusted content entered the conversation: a web page, a server's response, a file.
    Tainted { source: String },
    /// The schemas of these tools are in the prompt from this event on.
    ToolsEnabled { names: Vec<String> },
    /// The person was reminded of an open approval, once for the messages up to `upto`.
    Reminded { upto: Seq },
    /// The person was told that the turn failed.
    Failed {
        reason: String,
        /// Identifies the turn in the console and the log.
        reference: String,
        upto: Seq,
        /// The technical cause, shown to operators only.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cause: Option<String>,
    },
    /// `/stop`: everything open was withdrawn.
    Stopped { by: Speaker },
    /// `/new`: the dialogue was restarted.
    Restarted { by: Speaker },
    /// Everything up to `upto` is replaced by `summary`.
    Compacted { upto: Seq, summary: String, usage: Usage },
    /// A file was attached to a message. The platform stores it until it is fetched.
    FileSent {
        message: String,
        file: FileRef,
        /// The prompt of an MCP server that the person requested; then the file is its text.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        prompt: Option<PromptRequest>,
    },
    /// The file was fetched and is in the workspace under `path`.
    #[serde(rename = "file_taken")]
    FileFetched {
        file: Seq,
        path: String,
        attachment: Attachment,
        /// The version of a picture that the model is shown.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        view: Option<Attachment>,
        /// The text of a prompt, which the model is shown.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<String>,
    },
    /// The file will not be fetched. `reason` is the text for the model.
    FileLost { file: Seq, reason: String },
    /// A person edited a message.
    Edited { by: Speaker, message: String, text: String },
    /// `/model`: the model to use from this event on.
    ModelChosen { by: Speaker, model: String },
    /// A scheduled task was due.
    #[serde(rename = "ticked")]
    TaskDue { schedule: ScheduleId, by: Speaker, text: String },
    /// A webhook was received on behalf of a person. Its text is untrusted content.
    #[serde(rename = "pushed")]
    WebhookReceived { hook: String, by: Speaker, text: String },
    /// The agent's memory when the dialogue began. It is part of its prompts from this event on.
    Remembered { text: String },
    /// A hook ran. Its outcome is recorded here and in the event that it concerns.
    #[serde(rename = "hooked")]
    HookRan { hook: String, on: HookPoint, call: Option<CallId>, did: HookEffect },
    /// A call was delegated to sub-agents. Their answers end it.
    Delegated { call: CallId, children: Vec<ConversationId> },
    /// A call was answered with the result of an earlier call, without running.
    #[serde(rename = "reused")]
    ResultReused { call: CallId, from: CallId },
    /// Taint and usage that another conversation of the same delegation passes on.
    #[serde(rename = "inherited")]
    StateInherited(InheritedState),
    /// The sub-agent of this conversation works on a background job, within these limits.
    JobStarted { budget: JobBudget },
    /// A background job has ended. Its report is read like a message of the person who asked for
    /// it.
    JobReported {
        job: JobId,
        by: Speaker,
        task: String,
        is_done: bool,
        text: String,
        /// The number of jobs in succession that led to this report: 1 for a job that a turn of a
        /// person created, 2 for one that the turn after such a report created, and so on.
        #[serde(default = "one")]
        succession: u32,
    },
}

/// Earlier releases did not count.
fn one() -> u32 {
    1
}

/// The limits of a background job. They replace those of its agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobBudget {
    /// Requests to the model.
    pub steps: u32,
    pub tokens: u64,
    /// Excludes the time that people take to decide.
    pub time_ms: u64,
}

/// When a hook runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HookPoint {
    BeforeLlm,
    AfterLlm,
    BeforeTool,
    AfterTool,
    OnError,
}

/// What a hook did.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct HookEffect {
    pub changed: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stopped: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
}

/// The author of a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Speaker {
    /// The platform's id of the person. Only this identifies them.
    pub id: String,
    pub name: String,
}

/// The prefix of a visitor's id.
pub const VISITOR: &str = "visitor:";

pub fn is_visitor(person: &str) -> bool {
    person.starts_with(VISITOR)
}

impl Speaker {
    /// Whether this is a visitor from a page of another site, who is not authenticated.
    pub fn is_visitor(&self) -> bool {
        is_visitor(&self.id)
    }
}

/// A tool call as the model made it, its arguments parsed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Call {
    /// Assigned by the gateway, globally unique.
    pub id: CallId,
    /// The model's own id. Its provider expects it back with the result.
    pub model_id: String,
    pub tool: String,
    /// An object or, if the model's JSON was invalid, the text as a JSON string.
    pub arguments: Value,
}

/// What an approval asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalPurpose {
    /// Whether a call may run.
    Allow,
    /// Whether to run a call again whose outcome is unknown. Denying continues without it.
    Retry,
    /// An elicitation of a running call.
    Answer,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// Allow this call once. Also "retry".
    Once,
    /// Allow this call, and this tool for the rest of the conversation.
    Conversation,
    /// Do not run this call. Also "skip", and declining an elicitation.
    Deny { reason: Option<String> },
    /// A person's answer to an elicitation.
    Answer { text: String },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decider {
    Person(Speaker),
    /// Nobody decided in time.
    Timeout,
    /// The approval could not be shown to anyone who may decide it.
    Undeliverable,
}

/// The state of an approval.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema, IntoStaticStr, EnumString,
)]
#[strum(serialize_all = "snake_case")]
#[serde(rename_all = "snake_case")]
#[schema(as = ApprovalStatus)]
pub enum Status {
    Pending,
    Allowed,
    Denied,
    Expired,
    Withdrawn,
    /// The request that led to it was edited.
    Superseded,
    /// It could not be shown to anyone who may decide it.
    Undeliverable,
}

impl Status {
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    pub fn parse(text: &str) -> Option<Self> {
        text.parse().ok()
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolResult {
    pub outcome: Outcome,
    /// The text that the model reads.
    pub text: String,
    /// Files sent to the person through the outbox in the same transaction.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<Attachment>,
    /// Files that the agent has read in this call, by path in the workspace.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub seen: Vec<SeenFile>,
    /// Sources of untrusted content in the text, in addition to the tool's own.
    #[serde(default, skip_serializing_if = "Vec::is_empty", rename = "foreign")]
    pub untrusted: Vec<String>,
    /// Pictures that the model is shown, by path in the workspace.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub views: Vec<Attachment>,
    /// Details of the call for operators. They are never part of a prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw: Option<String>,
    /// The cost, in millionths of a currency unit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_micros: Option<u64>,
    /// The usage of models that the call requested, by model id.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub asked: BTreeMap<String, Usage>,
    /// The result is the reply to the person. The model does not read it first.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_answer: bool,
    /// The result must not be reused for an identical call.
    #[serde(default, skip_serializing_if = "is_false")]
    pub uncached: bool,
    /// The arguments were rejected, so the call counts towards no limit on the uses of its tool.
    #[serde(default, skip_serializing_if = "is_false")]
    pub rejected: bool,
    pub took_ms: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_false(flag: &bool) -> bool {
    !flag
}

impl ToolResult {
    /// Whether the tool has run. A call with invalid arguments has not.
    pub fn has_run(&self) -> bool {
        matches!(self.outcome, Outcome::Done | Outcome::Failed) && !self.rejected
    }

    /// A result with this text and nothing else.
    pub fn text(outcome: Outcome, text: String) -> Self {
        Self {
            outcome,
            text,
            attachments: vec![],
            seen: vec![],
            untrusted: vec![],
            views: vec![],
            raw: None,
            cost_micros: None,
            asked: BTreeMap::new(),
            is_answer: false,
            uncached: false,
            rejected: false,
            took_ms: 0,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Done,
    Failed,
    /// Denied by a person, the policy or a timeout.
    Denied,
    /// A person stopped the turn or restarted the dialogue before the call ended.
    Withdrawn,
}

/// A stored file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attachment {
    pub name: String,
    pub media_type: String,
    pub size_bytes: u64,
    /// The SHA-256 of the contents, in hex.
    pub digest: String,
    /// The text that is sent with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caption: Option<Box<str>>,
}

/// A file as the agent last read it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeenFile {
    pub path: String,
    pub digest: String,
}

/// Token counts, as reported by the provider.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    pub input_tokens: u64,
    pub output_tokens: u64,
    #[serde(default)]
    pub cached_tokens: u64,
}

/// The taint and usage that one conversation passes to another of the same delegation.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct InheritedState {
    /// The sources of untrusted content.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub taint: Vec<String>,
    /// Files of the shared workspace that may contain untrusted content.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[serde(rename = "foreign")]
    pub untrusted: Vec<String>,
    /// Passed down only: people other than the requester who took part.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub joined: Vec<Speaker>,
    /// Runs of tools with a usage limit. The limit applies to the whole delegation.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub used: BTreeMap<String, u32>,
    /// Passed up only: the tokens of a sub-agent, which count towards the parent's turn.
    pub tokens: u64,
}
