//! One line of a timeline, and the lines of events that need no further context.

use chrono::{DateTime, Utc};
use serde::Serialize;

use crate::journal::event::{Call, Event, HookEffect, PromptRequest};

/// What a line of the timeline shows. The page has a label and a colour for each.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TimelineKind {
    /// The heading of a turn.
    Turn,
    Said,
    Model,
    Call,
    Asked,
    Sent,
    #[default]
    Note,
    /// Needs attention.
    Bad,
}

/// One line of the timeline.
#[derive(Debug, Default, Serialize)]
pub struct TimelineStep {
    /// Unique on the page.
    pub key: String,
    pub at: DateTime<Utc>,
    pub kind: TimelineKind,
    pub title: String,
    /// The reference of a failed turn, to which links lead.
    pub anchor: Option<String>,
    pub text: String,
    /// What a tool recorded for operators.
    pub raw: Option<String>,
    /// Further details: names and values.
    pub facts: Vec<(&'static str, String)>,
    pub calls: Vec<Call>,
    pub took_ms: Option<i64>,
    /// Conversations of sub-agents.
    pub children: Vec<String>,
    pub total: Option<Total>,
}

/// The totals of a turn so far.
#[derive(Debug, Default, Serialize)]
pub struct Total {
    pub took_ms: i64,
    pub requests: u32,
    pub calls: u32,
    pub input_tokens: u64,
    pub output_tokens: u64,
    pub cost_micros: u64,
}

pub fn step(kind: TimelineKind, title: impl Into<String>) -> TimelineStep {
    TimelineStep { kind, title: title.into(), ..TimelineStep::default() }
}

/// Events that need no further context.
pub fn plain(event: Event) -> TimelineStep {
    use TimelineKind::{Bad, Note, Said};
    let with = |text: String, step: TimelineStep| TimelineStep { text, ..step };
    match event {
        Event::Said { by, text, .. } => with(text, step(Said, by.name)),
        Event::Edited { by, text, .. } => with(text, step(Said, by.name + ", edited")),
        Event::TaskDue { by, text, .. } => {
            with(text, step(Said, format!("A task of {} was due", by.name)))
        }
        Event::JobReported { job, text, .. } => {
            with(text, step(Said, format!("The background job {} reported", job.code())))
        }
        Event::WebhookReceived { hook, text, .. } => {
            with(text, step(Said, format!("The webhook {hook}")))
        }
        Event::FileSent { prompt: Some(PromptRequest { server, prompt, .. }), .. } => {
            step(Note, format!("Prompt requested: {prompt} of the MCP server {server}"))
        }
        Event::FileSent { file, .. } => step(Note, format!("File received: {}", file.name)),
        Event::FileFetched { path, text, .. } => {
            let stored = step(Note, format!("Stored in the workspace: {path}"));
            with(text.unwrap_or_default(), stored)
        }
        Event::FileLost { reason, .. } => with(reason, step(Bad, "A file could not be fetched")),
        Event::Tainted { source } => step(Note, format!("Untrusted content: {source}")),
        Event::Inherited(inherited) => with(
            inherited.taint.join(", "),
            step(Note, "Taint and usage of a sub-agent apply here"),
        ),
        Event::ToolsEnabled { names } => step(Note, format!("Enabled: {}", names.join(", "))),
        Event::Reminded { .. } => step(Note, "The person was reminded of an open approval"),
        Event::Failed { reason, reference, cause, .. } => {
            let facts = cause.into_iter().map(|cause| ("cause", cause)).collect();
            let step = step(Bad, format!("The turn failed, reference {reference}"));
            TimelineStep { text: reason, facts, anchor: Some(reference), ..step }
        }
        Event::Stopped { by } => step(Note, format!("{} stopped the turn", by.name)),
        Event::Restarted { by } => step(Note, format!("{} started a new conversation", by.name)),
        Event::Remembered { text } => with(text, step(Note, "The agent's memory was loaded")),
        Event::Hooked { hook, did, .. } => hooked(&hook, did),
        other => {
            let value = serde_json::to_value(other).unwrap_or_default();
            step(Note, value["kind"].as_str().unwrap_or("something").replace('_', " "))
        }
    }
}

fn hooked(hook: &str, did: HookEffect) -> TimelineStep {
    let kind = if did.failed.is_some() || did.stopped.is_some() {
        TimelineKind::Bad
    } else {
        TimelineKind::Note
    };
    let what = if did.stopped.is_some() {
        "stopped it"
    } else if did.failed.is_some() {
        "failed"
    } else if did.changed {
        "changed it"
    } else {
        "let it pass"
    };
    let text = did.stopped.or(did.failed).or(did.note).unwrap_or_default();
    TimelineStep { text, ..step(kind, format!("The hook {hook} {what}")) }
}
