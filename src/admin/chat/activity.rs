//! What the running turn of a conversation does, and its tool calls, as the page shows them. Pure.

use chrono::{DateTime, Utc};
use serde::Serialize;
use std::collections::BTreeMap;

use crate::journal::{
    event::{Call, Entry, Event, Outcome, Seq},
    ids::CallId,
};

/// What a turn waits for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnWait {
    /// No turn is running.
    #[default]
    Idle,
    Model,
    Tools,
    /// A decision or an answer of a person.
    Person,
}

/// What a conversation does, and since when.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Activity {
    pub waits: TurnWait,
    pub since: Option<DateTime<Utc>>,
    /// The running tools.
    pub tools: Vec<String>,
    /// Whether the last turn failed.
    pub failed: bool,
}

/// The state of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CallStatus {
    Running,
    Asked,
    Done,
    Failed,
    Denied,
    Withdrawn,
}

impl From<Outcome> for CallStatus {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Done => Self::Done,
            Outcome::Failed => Self::Failed,
            Outcome::Denied => Self::Denied,
            Outcome::Withdrawn => Self::Withdrawn,
        }
    }
}

/// A call as it is after an event.
#[derive(Debug, Clone, PartialEq)]
pub struct TracedCall {
    pub call: Call,
    pub status: CallStatus,
    pub result: Option<String>,
    pub took_ms: Option<u64>,
    /// The reply that made it, and its place in the reply.
    pub made: Seq,
    pub place: usize,
    pub made_at: DateTime<Utc>,
    /// The event that changed it last.
    pub changed: Seq,
    since: DateTime<Utc>,
}

/// How a call ended.
struct CallEnd {
    status: CallStatus,
    result: Option<String>,
    took_ms: Option<u64>,
}

/// Follows the events of a conversation. It may begin anywhere: calls whose beginning it has not
/// seen are left out.
#[derive(Debug, Default)]
pub struct Trace {
    open: BTreeMap<CallId, TracedCall>,
    model_since: Option<DateTime<Utc>>,
    said_upto: Seq,
    failed: bool,
}

impl Trace {
    /// Applies an event. Returns the calls that it changed.
    pub fn apply(&mut self, entry: &Entry) -> Vec<TracedCall> {
        match &entry.event {
            Event::Said { .. } | Event::TaskDue { .. } | Event::WebhookReceived { .. } => {
                self.said_upto = entry.seq;
                self.failed = false;
                if self.open.is_empty() {
                    self.model_since.get_or_insert(entry.at);
                }
                Vec::new()
            }
            Event::Replied { calls, upto, .. } => self.replied(entry, calls, *upto),
            Event::ApprovalRequested { call, .. } => self.change(entry, call, CallStatus::Asked),
            Event::ApprovalDecided { call, .. } | Event::ToolStarted { call } => {
                self.change(entry, call, CallStatus::Running)
            }
            Event::ToolFinished { call, result } => {
                let text = Some(result.text.clone()).filter(|text| !text.is_empty());
                let took_ms = Some(result.took_ms);
                let ended = CallEnd { status: result.outcome.into(), result: text, took_ms };
                self.end(entry, call, ended)
            }
            Event::ResultReused { call, .. } => {
                let ended = CallEnd { status: CallStatus::Done, result: None, took_ms: None };
                self.end(entry, call, ended)
            }
            Event::Failed { upto, .. } => {
                self.failed = true;
                self.abandon(entry, *upto)
            }
            Event::Stopped { .. } | Event::Restarted { .. } => self.abandon(entry, entry.seq),
            _ => Vec::new(),
        }
    }

    pub fn activity(&self) -> Activity {
        let of = |status| self.open.values().filter(move |call| call.status == status);
        let running: Vec<_> = of(CallStatus::Running).collect();
        let tools = running.iter().map(|call| call.call.tool.clone()).collect();
        let since = running.iter().map(|call| call.since).min();
        let failed = self.failed;
        if since.is_some() {
            return Activity { waits: TurnWait::Tools, since, tools, failed };
        }
        let asked = of(CallStatus::Asked).map(|call| call.since).min();
        let (waits, since) = match (asked, self.model_since) {
            (Some(since), _) => (TurnWait::Person, Some(since)),
            (None, Some(since)) => (TurnWait::Model, Some(since)),
            (None, None) => (TurnWait::Idle, None),
        };
        Activity { waits, since, tools, failed }
    }

    fn replied(&mut self, entry: &Entry, calls: &[Call], upto: Seq) -> Vec<TracedCall> {
        let is_answered = calls.is_empty() && self.said_upto <= upto;
        self.model_since = (calls.is_empty() && !is_answered).then_some(entry.at);
        let made: Vec<_> = calls
            .iter()
            .enumerate()
            .map(|(place, call)| TracedCall {
                call: call.clone(),
                status: CallStatus::Running,
                result: None,
                took_ms: None,
                made: entry.seq,
                place,
                made_at: entry.at,
                changed: entry.seq,
                since: entry.at,
            })
            .collect();
        self.open.extend(made.iter().map(|call| (call.call.id.clone(), call.clone())));
        made
    }

    fn change(&mut self, entry: &Entry, id: &CallId, status: CallStatus) -> Vec<TracedCall> {
        let Some(call) = self.open.get_mut(id) else { return Vec::new() };
        (call.status, call.changed, call.since) = (status, entry.seq, entry.at);
        vec![call.clone()]
    }

    fn end(&mut self, entry: &Entry, id: &CallId, ended: CallEnd) -> Vec<TracedCall> {
        let Some(call) = self.open.remove(id) else { return Vec::new() };
        if self.open.is_empty() {
            self.model_since = Some(entry.at);
        }
        let CallEnd { status, result, took_ms } = ended;
        vec![TracedCall { status, result, took_ms, changed: entry.seq, ..call }]
    }

    /// The turn ended before its calls did.
    fn abandon(&mut self, entry: &Entry, upto: Seq) -> Vec<TracedCall> {
        self.model_since = (self.said_upto > upto).then_some(entry.at);
        let open = std::mem::take(&mut self.open).into_values();
        open.map(|call| TracedCall { status: CallStatus::Withdrawn, changed: entry.seq, ..call })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chrono::TimeDelta;
    use serde_json::{Value, json};

    fn followed(events: Value) -> (Trace, Vec<TracedCall>) {
        let events: Vec<Event> = serde_json::from_value(events).unwrap();
        let mut trace = Trace::default();
        let mut calls = Vec::new();
        for (event, seq) in events.into_iter().zip(1..) {
            let at = DateTime::UNIX_EPOCH + TimeDelta::seconds(seq);
            calls.extend(trace.apply(&Entry { seq, at, event }));
        }
        (trace, calls)
    }

    fn activity(events: Value) -> Activity {
        followed(events).0.activity()
    }

    fn said() -> Value {
        json!({ "kind": "said", "by": { "id": "1", "name": "Ann" }, "text": "x", "message": "m" })
    }

    fn replied(calls: &[&str], upto: i64) -> Value {
        let call = |id: &&str| json!({ "id": id, "model_id": id, "tool": format!("tool {id}"), "arguments": {} });
        let calls: Vec<_> = calls.iter().map(call).collect();
        json!({ "kind": "replied", "text": "", "calls": calls, "upto": upto, "usage": { "input_tokens": 1, "output_tokens": 1 } })
    }

    fn finished(call: &str) -> Value {
        json!({ "kind": "tool_finished", "call": call, "result": { "outcome": "done", "text": "ok", "took_ms": 7 } })
    }

    fn asked(call: &str) -> Value {
        json!({ "kind": "approval_asked", "approval": "q", "call": call, "digest": "d", "asks": "allow" })
    }

    #[test]
    fn a_turn_waits_for_the_model_its_tools_or_people() {
        let failed = json!({ "kind": "failed", "reason": "x", "reference": "r", "upto": 1 });
        let stopped = json!({ "kind": "stopped", "by": { "id": "1", "name": "Ann" } });
        for (events, waits, since, tools) in [
            (json!([]), TurnWait::Idle, None, 0),
            (json!([said()]), TurnWait::Model, Some(1), 0),
            (json!([said(), said()]), TurnWait::Model, Some(1), 0),
            (json!([said(), replied(&[], 1)]), TurnWait::Idle, None, 0),
            (json!([said(), said(), replied(&[], 1)]), TurnWait::Model, Some(3), 0),
            (json!([said(), replied(&["a", "b"], 1)]), TurnWait::Tools, Some(2), 2),
            (json!([said(), replied(&["a"], 1), asked("a")]), TurnWait::Person, Some(3), 0),
            (json!([said(), replied(&["a", "b"], 1), asked("a")]), TurnWait::Tools, Some(2), 1),
            (json!([said(), replied(&["a"], 1), finished("a")]), TurnWait::Model, Some(3), 0),
            (json!([said(), failed]), TurnWait::Idle, None, 0),
            (json!([said(), replied(&["a"], 1), stopped]), TurnWait::Idle, None, 0),
            (json!([finished("unknown")]), TurnWait::Idle, None, 0),
        ] {
            let found = activity(events.clone());
            let at = |seconds| DateTime::UNIX_EPOCH + TimeDelta::seconds(seconds);
            assert_eq!((found.waits, found.since), (waits, since.map(at)), "{events}");
            assert_eq!(found.tools.len(), tools, "{events}");
        }
    }

    #[test]
    fn each_change_of_a_call_is_reported() {
        let (_, calls) = followed(json!([
            said(),
            replied(&["a", "b"], 1),
            asked("b"),
            finished("a"),
            { "kind": "stopped", "by": { "id": "1", "name": "Ann" } },
        ]));
        let traced: Vec<_> = calls
            .iter()
            .map(|call| (call.call.id.as_str(), call.status, call.changed, call.took_ms))
            .collect();
        assert_eq!(
            traced,
            [
                ("a", CallStatus::Running, 2, None),
                ("b", CallStatus::Running, 2, None),
                ("b", CallStatus::Asked, 3, None),
                ("a", CallStatus::Done, 4, Some(7)),
                ("b", CallStatus::Withdrawn, 5, None),
            ]
        );
        assert_eq!((calls[1].made, calls[1].place), (2, 1));
    }
}
