//! Metrics that are recorded after a transaction has committed. Labels contain only names from the
//! configuration or the program, never a person or a chat.

use super::counter::Count;
use crate::{
    journal::event::{Event, Outcome, Status},
    store::usage::{UsageRecord, UsageSource},
};

pub const TURNS: &str = "countersign_turns_total";
pub const STEPS: &str = "countersign_steps_total";
pub const TOOL_CALLS: &str = "countersign_tool_calls_total";
pub const TOOL_SECONDS: &str = "countersign_tool_seconds";
pub const REQUESTED: &str = "countersign_approvals_asked_total";
pub const APPROVALS: &str = "countersign_approvals_total";
pub const APPROVAL_SECONDS: &str = "countersign_approval_seconds";
pub const SENDS: &str = "countersign_sends_total";
pub const UNPARSED: &str = "countersign_unparsed_total";
pub const WEBHOOKS_IN: &str = "countersign_webhooks_in_total";
pub const WEBHOOKS_OUT: &str = "countersign_webhooks_out_total";
pub const LLM_TOKENS: &str = "countersign_llm_tokens_total";
pub const LLM_COST: &str = "countersign_llm_cost_micros_total";

pub fn of_event(event: &Event) -> Vec<Count> {
    let turn = |outcome: &str| vec![Count::more(TURNS, &[("outcome", outcome)], 1)];
    match event {
        Event::Replied { calls, .. } => {
            let mut counts = vec![Count::more(STEPS, &[], 1)];
            counts.extend(if calls.is_empty() { turn("finished") } else { vec![] });
            counts
        }
        Event::Failed { .. } => turn("failed"),
        Event::Stopped { .. } => turn("stopped"),
        Event::ApprovalRequested { .. } => vec![Count::more(REQUESTED, &[], 1)],
        Event::ToolFinished { result, .. } => vec![
            Count::more(TOOL_CALLS, &[("outcome", outcome(result.outcome))], 1),
            Count::took(TOOL_SECONDS, result.took_ms),
        ],
        _ => vec![],
    }
}

fn outcome(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Done => "done",
        Outcome::Failed => "failed",
        Outcome::Denied => "denied",
        Outcome::Withdrawn => "withdrawn",
    }
}

pub fn of_used(used: &UsageRecord) -> Vec<Count> {
    let UsageSource::Model { id, usage, cost_micros, .. } = &used.what else { return vec![] };
    let tokens = |kind, by| Count::more(LLM_TOKENS, &[("model", id), ("kind", kind)], by);
    vec![
        tokens("input", usage.input_tokens),
        tokens("output", usage.output_tokens),
        tokens("cached", usage.cached_tokens),
        Count::more(LLM_COST, &[("model", id)], *cost_micros),
    ]
}

/// An approval that was settled after the given time.
pub fn of_resolved_approval(status: Status, after_ms: i64) -> Vec<Count> {
    vec![
        Count::more(APPROVALS, &[("outcome", status.as_str())], 1),
        Count::took(APPROVAL_SECONDS, u64::try_from(after_ms).unwrap_or_default()),
    ]
}

/// An update that was set aside.
pub fn of_unparsed() -> Count {
    Count::more(UNPARSED, &[], 1)
}

/// An attempt to send a message.
pub fn of_send(outcome: &'static str) -> Count {
    Count::more(SENDS, &[("outcome", outcome)], 1)
}

/// An attempt to deliver a webhook.
pub fn of_webhook_delivery(outcome: &'static str) -> Count {
    Count::more(WEBHOOKS_OUT, &[("outcome", outcome)], 1)
}
