//! One fact of one conversation, in the past tense, never changed.

use channels::FileRef;
use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

use super::ids::{ApprovalId, CallId, ConversationId, ScheduleId};

/// The number of an event within its conversation: 1, 2, 3, …
pub type Seq = i64;

/// A fact with its number and its time.
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
    /// The model answered, having read everything up to `upto`. Its text, if any, went into the
    /// outbox in the same transaction.
    Replied { text: String, calls: Vec<Call>, upto: Seq, usage: Usage },
    /// A call that must not run twice is about to run.
    ToolStarted { call: CallId },
    /// A call came to its end: done, failed, denied, withdrawn.
    ToolFinished { call: CallId, result: ToolResult },
    /// A question was put to the people of the place.
    ApprovalAsked { approval: ApprovalId, call: CallId, digest: String, asks: Asks },
    /// A question was answered; `by` is a person or the time.
    ApprovalDecided { approval: ApprovalId, call: CallId, decision: Decision, by: Decider },
    /// Somebody else's words came into the conversation: a page, a server's answer, a file.
    Tainted { source: String },
    /// Tools whose schemas the prompt carries from here on.
    ToolsEnabled { names: Vec<String> },
    /// The person was told that a question is open, once for the messages up to `upto`.
    Reminded { upto: Seq },
    /// The person was told that this turn failed; `reference` is in the log.
    Failed { reason: String, reference: String, upto: Seq },
    /// `/stop`: everything open is withdrawn.
    Stopped { by: Speaker },
    /// `/new`: the dialogue starts afresh.
    Restarted { by: Speaker },
    /// Everything up to `upto` is now told by `summary`.
    Compacted { upto: Seq, summary: String, usage: Usage },
    /// With a message came a file, which the platform keeps until it is fetched.
    FileSent { message: String, file: FileRef },
    /// It was fetched, and lies in the workspace under `path`.
    FileTaken {
        file: Seq,
        path: String,
        attachment: Attachment,
        /// What the model is shown of a picture.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        view: Option<Attachment>,
    },
    /// It will never be fetched: why, as the model is told.
    FileLost { file: Seq, reason: String },
    /// A person changed what they had written.
    Edited { by: Speaker, message: String, text: String },
    /// `/model`: who thinks from here on.
    ModelChosen { by: Speaker, model: String },
    /// A task was due that somebody had scheduled.
    Ticked { schedule: ScheduleId, by: Speaker, text: String },
    /// A webhook came in, on behalf of somebody; what it says are other people's words.
    Pushed { hook: String, by: Speaker, text: String },
    /// What the agent remembered when the dialogue began, as its prompts tell it from here on.
    Remembered { text: String },
    /// A hook was asked; what came of it stands here and in the event that it was about.
    Hooked { hook: String, on: Point, call: Option<CallId>, did: Did },
    /// A call was given to sub-agents: conversations of their own, whose answers end it.
    Delegated { call: CallId, children: Vec<ConversationId> },
    /// A call was answered by what an earlier one had given, and did not run.
    Reused { call: CallId, from: CallId },
    /// What another conversation of the family has read and used counts here too.
    Inherited(Heritage),
}

/// When a hook is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Point {
    BeforeLlm,
    AfterLlm,
    BeforeTool,
    AfterTool,
    OnError,
}

/// What a hook did.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Did {
    pub changed: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stopped: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
}

/// Who wrote.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Speaker {
    /// The platform's id; the only thing that identity rests on.
    pub id: String,
    pub name: String,
}

/// What the id of a visitor begins with.
pub const VISITOR: &str = "visitor:";

pub fn is_visitor(person: &str) -> bool {
    person.starts_with(VISITOR)
}

impl Speaker {
    /// Whether they come from a page of another site: nobody has let them in, nobody knows them.
    pub fn is_visitor(&self) -> bool {
        is_visitor(&self.id)
    }
}

/// A tool call as the model made it, its arguments parsed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Call {
    /// Ours, unique for ever.
    pub id: CallId,
    /// The model's, which its provider wants to see again with the result.
    pub model_id: String,
    pub tool: String,
    /// An object; or, where the model's JSON was broken, the text as a JSON string.
    pub arguments: Value,
}

/// What a question asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Asks {
    /// May this call run?
    Allow,
    /// Its outcome is unknown: run it again, or go on without it?
    Retry,
    /// It is under way, and its server wants to know something of a person.
    Answer,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// This call, once. Also "retry".
    Once,
    /// This call, and this tool for the rest of the conversation.
    Conversation,
    /// Not this call. Also "skip", and no answer.
    Deny { reason: Option<String> },
    /// What a person told a call under way.
    Answer { text: String },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decider {
    Person(Speaker),
    /// Nobody, in time.
    Timeout,
    /// Nobody could: the question could not be shown.
    Undeliverable,
}

/// How a question stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    Pending,
    Allowed,
    Denied,
    Expired,
    Withdrawn,
    /// The request that it was about was changed.
    Superseded,
    /// It could not be shown to anybody who may decide.
    Undeliverable,
}

impl Status {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Allowed => "allowed",
            Self::Denied => "denied",
            Self::Expired => "expired",
            Self::Withdrawn => "withdrawn",
            Self::Superseded => "superseded",
            Self::Undeliverable => "undeliverable",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        [
            Self::Pending,
            Self::Allowed,
            Self::Denied,
            Self::Expired,
            Self::Withdrawn,
            Self::Superseded,
            Self::Undeliverable,
        ]
        .into_iter()
        .find(|status| status.as_str() == text)
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolResult {
    pub outcome: Outcome,
    /// What the model reads.
    pub text: String,
    /// Files that went to the person, through the outbox, in the same transaction.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<Attachment>,
    /// Files that the agent has now seen, by their path in the workspace.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub seen: Vec<Seen>,
    /// Where other people's words in the text have come from, besides what the tool says of itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub foreign: Vec<String>,
    /// Pictures that the model is shown, by their paths in the workspace.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub views: Vec<Attachment>,
    /// What else there is to know of the call, for operators: no model reads it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw: Option<String>,
    /// What it has cost, in millionths of a currency unit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_micros: Option<u64>,
    /// What models were asked for it, by their ids.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub asked: BTreeMap<String, Usage>,
    /// It is the answer to the person; the model does not read it first.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_answer: bool,
    /// It is not reused for an equal call.
    #[serde(default, skip_serializing_if = "is_false")]
    pub uncached: bool,
    pub took_ms: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_false(flag: &bool) -> bool {
    !flag
}

impl ToolResult {
    /// One that says this, and nothing else.
    pub fn text(outcome: Outcome, text: String) -> Self {
        Self {
            outcome,
            text,
            attachments: vec![],
            seen: vec![],
            foreign: vec![],
            views: vec![],
            raw: None,
            cost_micros: None,
            asked: BTreeMap::new(),
            is_answer: false,
            uncached: false,
            took_ms: 0,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Done,
    Failed,
    /// A person, the policy or the time said no.
    Denied,
    /// The person stopped the turn, or started afresh, before the call had ended.
    Withdrawn,
}

/// A stored file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attachment {
    pub name: String,
    pub media_type: String,
    pub size_bytes: u64,
    /// SHA-256 of its bytes, in hex.
    pub digest: String,
}

/// A file as the agent last saw it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    pub path: String,
    pub digest: String,
}

/// Tokens, as the provider counted them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    pub input_tokens: u64,
    pub output_tokens: u64,
    #[serde(default)]
    pub cached_tokens: u64,
}

/// What one conversation has read and used, which counts for another of its family too.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Heritage {
    /// Where other people's words have come from.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub taint: Vec<String>,
    /// Files of the common workspace in which such words may stand.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub foreign: Vec<String>,
    /// Only downwards: who has joined in, besides the one who asked.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub joined: Vec<Speaker>,
    /// Only upwards: what a sub-agent's turn has cost is a part of the turn that it was for.
    pub tokens: u64,
}
