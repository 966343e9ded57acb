//! One line of a timeline, and the lines of events that need no further context.

use chrono::{DateTime, Utc};
use serde::Serialize;

use crate::{
    journal::event::{Call, Event, HookEffect, PromptRequest},
    texts::{TimelineTexts, filled},
};

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
pub fn plain(event: Event, texts: &TimelineTexts) -> TimelineStep {
    use TimelineKind::{Bad, Note, Said};
    let with = |text: String, step: TimelineStep| TimelineStep { text, ..step };
    let named = |kind, template, name, value: &str| step(kind, filled(template, &[(name, value)]));
    match event {
        Event::Said { by, text, .. } => with(text, step(Said, by.name)),
        Event::Edited { by, text, .. } => with(text, named(Said, texts.edited, "person", &by.name)),
        Event::TaskDue { by, text, .. } => {
            with(text, named(Said, texts.task_due, "person", &by.name))
        }
        Event::JobReported { job, text, .. } => {
            with(text, named(Said, texts.job_reported, "job", job.code()))
        }
        Event::WebhookReceived { hook, text, .. } => {
            with(text, named(Said, texts.webhook, "webhook", &hook))
        }
        Event::FileSent { prompt: Some(PromptRequest { server, prompt, .. }), .. } => {
            let values = [("prompt", prompt.as_str()), ("server", server.as_str())];
            step(Note, filled(texts.prompt_requested, &values))
        }
        Event::FileSent { file, .. } => named(Note, texts.file_received, "file", &file.name),
        Event::FileFetched { path, text, .. } => {
            with(text.unwrap_or_default(), named(Note, texts.file_stored, "path", &path))
        }
        Event::FileLost { reason, .. } => with(reason, step(Bad, texts.file_lost)),
        Event::Tainted { source } => named(Note, texts.untrusted, "source", &source),
        Event::StateInherited(inherited) => {
            with(inherited.taint.join(", "), step(Note, texts.inherited))
        }
        Event::ToolsEnabled { names } => named(Note, texts.enabled, "tools", &names.join(", ")),
        Event::Reminded { .. } => step(Note, texts.reminded),
        Event::Failed { reason, reference, cause, .. } => {
            let facts = cause.into_iter().map(|cause| ("cause", cause)).collect();
            let step = named(Bad, texts.turn_failed, "reference", &reference);
            TimelineStep { text: reason, facts, anchor: Some(reference), ..step }
        }
        Event::Stopped { by } => named(Note, texts.stopped, "person", &by.name),
        Event::Restarted { by } => named(Note, texts.restarted, "person", &by.name),
        Event::Remembered { text } => with(text, step(Note, texts.remembered)),
        Event::HookRan { hook, did, .. } => hooked(&hook, did, texts),
        other => {
            let value = serde_json::to_value(other).unwrap_or_default();
            step(Note, value["kind"].as_str().unwrap_or("something").replace('_', " "))
        }
    }
}

fn hooked(hook: &str, did: HookEffect, texts: &TimelineTexts) -> TimelineStep {
    let kind = if did.failed.is_some() || did.stopped.is_some() {
        TimelineKind::Bad
    } else {
        TimelineKind::Note
    };
    let template = if did.stopped.is_some() {
        texts.hook_stopped
    } else if did.failed.is_some() {
        texts.hook_failed
    } else if did.changed {
        texts.hook_changed
    } else {
        texts.hook_passed
    };
    let text = did.stopped.or(did.failed).or(did.note).unwrap_or_default();
    TimelineStep { text, ..step(kind, filled(template, &[("hook", hook)])) }
}
