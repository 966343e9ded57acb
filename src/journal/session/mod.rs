//! The session: state folded from events. A change of the fold requires a new
//! [`super::snapshot::VERSION`].

pub mod delegation;
pub mod messages;
mod open_call;
pub mod result_cache;

use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

use super::{
    event::{
        Attachment, Call, Decider, Decision, Entry, Event, HookEffect, HookPoint, JobBudget, Seq,
        Speaker, Usage,
    },
    ids::{ApprovalId, CallId},
};
use messages::SentFile;
pub use open_call::{CallState, OpenCall};

/// The state of one conversation. Only [`Session::apply`] changes its fields; others read them.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Session {
    /// The last event that was applied.
    pub seq: Seq,
    /// What the model sees, in order.
    pub items: Vec<Item>,
    /// The calls of the last reply, in order. The turn continues when all have ended.
    pub calls: Vec<OpenCall>,
    /// Extension tools whose schemas are in the prompt, in the order in which they were enabled.
    pub enabled: Vec<String>,
    /// Tools allowed for the rest of the conversation.
    pub allowed: Vec<ConversationPermission>,
    /// Files as the agent last read them: path → SHA-256.
    pub seen: BTreeMap<String, String>,
    /// The last message, and the last message that a reply or a failure notice has answered.
    pub said_upto: Seq,
    pub said_at: Option<DateTime<Utc>>,
    pub answered_upto: Seq,
    pub reminded_upto: Seq,
    /// The person on whose behalf the agent acts: the author of the message that led to the calls.
    pub requester: Option<Speaker>,
    /// Other people whose messages were read since then and may have influenced a call.
    pub joined: Vec<Speaker>,
    pub turn: TurnUsage,
    /// The sources of untrusted content, until the dialogue is restarted.
    pub taint: Vec<String>,
    /// Files written or read while the conversation was tainted. They stay marked after `/new`.
    #[serde(rename = "foreign")]
    pub untrusted: BTreeSet<String>,
    /// Files that people sent, with their senders.
    pub sent: BTreeMap<String, String>,
    /// Skills that were loaded before the last compaction and must survive it.
    pub pinned: Vec<String>,
    /// The completed calls among those that the model still sees.
    pub done: BTreeSet<CallId>,
    /// Completed calls whose results are replies to the person, and completed calls whose results
    /// must not be reused.
    pub answers: BTreeSet<CallId>,
    pub uncached: BTreeSet<CallId>,
    /// How often each tool has run.
    pub used: BTreeMap<String, u32>,
    /// Whether the hooks for the next model request have run.
    pub prepared: bool,
    /// Remarks of hooks on the calls of the last reply.
    pub remarks: BTreeMap<CallId, Vec<String>>,
    /// The agent's memory when the dialogue began.
    pub memory: Option<String>,
    /// The model that a person chose.
    pub model: Option<String>,
    /// The limits of the background job that this conversation works on.
    pub job: Option<JobBudget>,
}

/// A permission for all calls of one tool on behalf of one person, for the rest of the
/// conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ConversationPermission {
    pub person: String,
    pub tool: String,
    /// The approval by which it was given.
    pub approval: ApprovalId,
    pub by: Decider,
}

/// What the current turn has used so far.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct TurnUsage {
    pub started_at: Option<DateTime<Utc>>,
    /// The message that started it.
    pub began: Seq,
    pub steps: u32,
    pub tokens: u64,
    /// Whether it was started by a schedule and not by a message.
    pub is_scheduled: bool,
    /// The number of background jobs in succession whose reports led to it.
    #[serde(default)]
    pub jobs_before: u32,
    /// How long the turn has waited for people or sub-agents, and since when it is waiting now.
    pub waited: TimeDelta,
    pub waits_since: Option<DateTime<Utc>>,
    /// Running calls with open elicitations, one entry per elicitation.
    pub asking: Vec<CallId>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Item {
    Said {
        seq: Seq,
        by: Speaker,
        text: String,
        /// The platform's message id.
        message: String,
        files: Vec<SentFile>,
    },
    Replied {
        upto: Seq,
        text: String,
        calls: Vec<RepliedCall>,
    },
    /// A summary of the earlier dialogue.
    Summary {
        text: String,
    },
    /// A note from a hook to the model.
    Note {
        seq: Seq,
        text: String,
    },
    /// A picture that a tool shows to the model.
    Looked {
        seq: Seq,
        view: Attachment,
    },
}

/// A call of a reply, with its result once it has ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RepliedCall {
    pub call: Call,
    pub result: Option<String>,
}

/// The tool whose results stay in the prompt after a compaction.
pub const LOAD_SKILL: &str = "load_skill";

const MAY_HAVE_RUN: &str = "It had started; it is unknown whether it took effect.";

impl Session {
    pub fn fold<'a>(entries: impl IntoIterator<Item = &'a Entry>) -> Self {
        let mut session = Self::default();
        for entry in entries {
            session.apply(entry);
        }
        session
    }

    /// Applies one event. Events must be applied in order and without gaps.
    pub fn apply(&mut self, entry: &Entry) {
        self.seq = entry.seq;
        self.prepared &= !requires_new_request(&entry.event);
        match &entry.event {
            Event::Said { by, text, message } => self.said(entry, by, text, message),
            Event::Replied { text, calls, upto, usage } => {
                self.replied(text, calls, *upto, *usage);
            }
            Event::ToolStarted { call } => self.set(call, CallState::Started),
            Event::ToolFinished { call, result } => {
                self.finished(call, result);
                self.stop_waiting(entry.at);
            }
            Event::ApprovalRequested { approval, call, digest, asks } => {
                let (approval, digest) = (approval.clone(), digest.clone());
                self.asked(entry.at, call, CallState::Asked { approval, asks: *asks, digest });
            }
            Event::ApprovalDecided { call, decision, by, .. } => {
                self.decided(call, decision, by);
                self.elicitation_settled(call);
                self.stop_waiting(entry.at);
            }
            Event::Tainted { source } => self.tainted(source),
            Event::ToolsEnabled { names } => self.enable(names),
            Event::Reminded { upto } => self.reminded_upto = *upto,
            Event::Failed { upto, .. } => self.failed(*upto),
            Event::Stopped { by } => self.stopped(by),
            Event::Restarted { .. } => {
                let untrusted = std::mem::take(&mut self.untrusted);
                let sent = std::mem::take(&mut self.sent);
                let (seq, model) = (entry.seq, self.model.take());
                *self = Self { seq, answered_upto: seq, untrusted, sent, model, ..Self::default() };
            }
            Event::Compacted { upto, summary, usage } => self.compacted(*upto, summary, *usage),
            Event::HookRan { on, call, did, .. } => self.hooked(*on, call.as_ref(), did),
            Event::FileSent { message, .. } => self.file_sent(entry, message),
            Event::FileFetched { file, path, attachment, view, text } => {
                self.file_taken(*file, path);
                let (path, attachment) = (path.clone(), attachment.clone());
                let (view, text) = (view.clone().map(Box::new), text.clone());
                self.set_file(*file, messages::FileState::Taken { path, attachment, view, text });
            }
            Event::FileLost { file, reason } => {
                self.set_file(*file, messages::FileState::Lost { reason: reason.clone() });
            }
            Event::Edited { by, message, text } => self.edited(entry.seq, by, message, text),
            Event::TaskDue { by, text, .. } => self.task_due(entry, by, text),
            Event::WebhookReceived { hook, by, text } => self.pushed(entry, hook, by, text),
            Event::Remembered { text } => self.memory = Some(text.clone()),
            Event::ModelChosen { model, .. } => self.model = Some(model.clone()),
            Event::Delegated { call, .. } => self.delegated(entry.at, call),
            Event::ResultReused { call, from } => self.reuse(call, from),
            Event::StateInherited(inherited) => self.inherit(inherited),
            Event::JobStarted { budget } => self.job = Some(*budget),
            Event::JobReported { job, by, task, is_done, text, succession } => {
                let report = messages::job_report(job, task, *is_done, text);
                self.said(entry, by, &report, "");
                self.turn.jobs_before = self.turn.jobs_before.max(*succession);
            }
        }
    }

    /// Whether there is a message without an answer.
    pub fn awaits_model(&self) -> bool {
        self.said_upto > self.answered_upto
    }

    /// Whether the calls of the last reply have all ended, so that the model can read the results.
    pub fn has_unread_results(&self) -> bool {
        !self.calls.is_empty() && self.calls.iter().all(|c| c.state == CallState::Ended)
    }

    pub fn open_calls(&self) -> impl Iterator<Item = &OpenCall> {
        self.calls.iter().filter(|c| c.state != CallState::Ended)
    }

    pub(super) fn said(&mut self, entry: &Entry, by: &Speaker, text: &str, message: &str) {
        if !self.awaits_model() && self.calls.is_empty() {
            let (started_at, began) = (Some(entry.at), entry.seq);
            self.turn = TurnUsage { started_at, began, ..TurnUsage::default() };
        }
        self.turn.is_scheduled = false;
        (self.said_upto, self.said_at) = (entry.seq, Some(entry.at));
        self.say(entry.seq, by, text.to_owned(), message);
    }

    /// Places messages that arrived during a request after its reply, to keep the prompt's prefix.
    fn replied(&mut self, text: &str, calls: &[Call], upto: Seq, usage: Usage) {
        self.asked_by(upto);
        self.answered_upto = upto;
        self.remarks.clear();
        self.turn.steps += 1;
        self.turn.tokens += usage.input_tokens + usage.output_tokens;
        self.calls = calls
            .iter()
            .map(|call| OpenCall { call: call.clone(), state: CallState::New })
            .collect();
        let place = self.first_said_after(upto);
        let calls =
            calls.iter().map(|call| RepliedCall { call: call.clone(), result: None }).collect();
        self.items.insert(place, Item::Replied { upto, text: text.to_owned(), calls });
    }

    fn hooked(&mut self, on: HookPoint, call: Option<&CallId>, did: &HookEffect) {
        if on == HookPoint::BeforeLlm {
            self.prepared = true;
        }
        let Some(note) = did.note.clone() else { return };
        match (on, call) {
            (HookPoint::BeforeLlm, _) => self.items.push(Item::Note { seq: self.seq, text: note }),
            (HookPoint::BeforeTool, Some(call)) => {
                self.remarks.entry(call.clone()).or_default().push(note);
            }
            _ => {}
        }
    }

    pub(super) fn set(&mut self, id: &CallId, state: CallState) {
        if let Some(open) = self.calls.iter_mut().find(|c| c.call.id == *id)
            && open.state != CallState::Ended
        {
            open.state = state;
        }
    }

    pub(super) fn end(&mut self, id: &CallId, text: &str) {
        self.set(id, CallState::Ended);
        let made = self.items.iter_mut().rev().find_map(|item| match item {
            Item::Replied { calls, .. } => calls.iter_mut().find(|made| made.call.id == *id),
            _ => None,
        });
        if let Some(made) = made {
            made.result = Some(text.to_owned());
        }
    }

    fn decided(&mut self, id: &CallId, decision: &Decision, by: &Decider) {
        let Some(open) = self.calls.iter().find(|c| c.call.id == *id) else { return };
        let CallState::Asked { approval, asks, digest } = &open.state else { return };
        let state = CallState::Decided {
            asks: *asks,
            digest: digest.clone(),
            decision: decision.clone(),
            by: by.clone(),
        };
        if *decision == Decision::Conversation {
            let person = self.requester.as_ref().map(|r| r.id.clone()).unwrap_or_default();
            let (tool, approval) = (open.call.tool.clone(), approval.clone());
            let is_known = |one: &ConversationPermission| one.person == person && one.tool == tool;
            if !self.allowed.iter().any(is_known) {
                let by = by.clone();
                self.allowed.push(ConversationPermission { person, tool, approval, by });
            }
        }
        self.set(id, state);
    }

    fn enable(&mut self, names: &[String]) {
        for name in names {
            if !self.enabled.contains(name) {
                self.enabled.push(name.clone());
            }
        }
    }

    fn failed(&mut self, upto: Seq) {
        self.answered_upto = self.answered_upto.max(upto);
        self.end_all("The turn failed before this call had ended.");
        self.calls.clear();
    }

    fn stopped(&mut self, by: &Speaker) {
        self.answered_upto = self.said_upto;
        self.end_all(&format!("Withdrawn: {} stopped the turn.", by.name));
        self.calls.clear();
    }

    /// Calls that have started may have taken effect, so their results must not say that they did
    /// not run.
    fn end_all(&mut self, text: &str) {
        let open: Vec<_> = self.open_calls().cloned().collect();
        for OpenCall { call, state } in open {
            match state {
                CallState::Started => self.end(&call.id, &format!("{text} {MAY_HAVE_RUN}")),
                _ => self.end(&call.id, text),
            }
        }
    }

    fn compacted(&mut self, upto: Seq, summary: &str, usage: Usage) {
        self.turn.tokens += usage.input_tokens + usage.output_tokens;
        let (old, new): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.items).into_iter().partition(|item| item.seq() <= upto);
        let text = messages::summary(summary, &old);
        for text in old.into_iter().flat_map(|item| skills_in(item, &self.done)) {
            if !self.pinned.contains(&text) {
                self.pinned.push(text);
            }
        }
        self.items = vec![Item::Summary { text }];
        self.items.extend(new);
        self.forget_unseen_calls();
    }
}

/// Whether this event requires another model request.
fn requires_new_request(event: &Event) -> bool {
    matches!(
        event,
        Event::Said { .. }
            | Event::TaskDue { .. }
            | Event::WebhookReceived { .. }
            | Event::JobReported { .. }
            | Event::Replied { .. }
            | Event::ToolFinished { .. }
            | Event::ResultReused { .. }
            | Event::Failed { .. }
            | Event::Stopped { .. }
    )
}

/// The skills that were loaded. `done` are the calls that succeeded.
fn skills_in(item: Item, done: &BTreeSet<CallId>) -> Vec<String> {
    let Item::Replied { calls, .. } = item else { return Vec::new() };
    let is_loaded =
        |made: &RepliedCall| made.call.tool == LOAD_SKILL && done.contains(&made.call.id);
    calls.into_iter().filter(is_loaded).filter_map(|made| made.result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::event::{ApprovalPurpose, Outcome, ToolResult};
    use proptest::prelude::*;
    use serde_json::json;

    fn ann() -> Speaker {
        Speaker { id: "1".into(), name: "Ann".into() }
    }

    fn entries(events: Vec<Event>) -> Vec<Entry> {
        let at = DateTime::UNIX_EPOCH;
        events.into_iter().zip(1..).map(|(event, seq)| Entry { seq, at, event }).collect()
    }

    fn said(text: &str) -> Event {
        Event::Said { by: ann(), text: text.into(), message: "m".into() }
    }

    fn call(id: &str) -> Call {
        Call { id: id.into(), model_id: id.into(), tool: "t".into(), arguments: json!({}) }
    }

    fn replied(upto: Seq, calls: Vec<Call>) -> Event {
        Event::Replied { text: "x".into(), calls, upto, usage: Usage::default() }
    }

    fn finished(id: &str, text: &str) -> Event {
        let result = ToolResult::text(Outcome::Done, text.into());
        Event::ToolFinished { call: id.into(), result }
    }

    #[test]
    fn messages_during_a_model_call_follow_its_reply() {
        let session = Session::fold(&entries(vec![said("one"), said("two"), replied(1, vec![])]));
        let kinds: Vec<_> = session.items.iter().map(Item::seq).collect();
        assert_eq!(kinds, [1, 1, 2]);
        assert!(matches!(session.items[1], Item::Replied { .. }));
        assert!(session.awaits_model());
    }

    #[test]
    fn a_call_ends_once() {
        let events = vec![
            said("do"),
            replied(1, vec![call("a")]),
            finished("a", "first"),
            finished("a", "second"),
        ];
        let session = Session::fold(&entries(events));
        let Item::Replied { calls, .. } = &session.items[1] else { panic!() };
        assert_eq!(calls[0].result.as_deref(), Some("first"));
        assert!(session.has_unread_results());
    }

    #[test]
    fn stop_ends_everything_open_and_answers_everything_said() {
        let events = vec![
            said("do"),
            replied(1, vec![call("a")]),
            said("more"),
            Event::Stopped { by: ann() },
        ];
        let session = Session::fold(&entries(events));
        assert!(!session.awaits_model() && !session.has_unread_results());
        assert_eq!(session.open_calls().count(), 0);
    }

    #[test]
    fn waiting_for_people_does_not_count_as_turn_time() {
        let at = |minutes| DateTime::UNIX_EPOCH + TimeDelta::minutes(minutes);
        let asked = |call: &str, asks| Event::ApprovalRequested {
            approval: "q".into(),
            call: call.into(),
            digest: String::new(),
            asks,
        };
        let decided = |call: &str| Event::ApprovalDecided {
            approval: "q".into(),
            call: call.into(),
            decision: Decision::Once,
            by: Decider::Person(ann()),
        };
        let waited = |events: Vec<Event>, times: &[i64]| {
            let entries = events.into_iter().zip(times).zip(1..);
            let entries: Vec<_> =
                entries.map(|((event, &time), seq)| Entry { seq, at: at(time), event }).collect();
            Session::fold(&entries).turn.waited
        };
        let allowed =
            vec![said("do"), replied(1, vec![call("a")]), asked("a", ApprovalPurpose::Allow)];
        let allowed = allowed.into_iter().chain([decided("a")]).collect();
        assert_eq!(waited(allowed, &[0, 1, 2, 50]), TimeDelta::minutes(48));
        // An elicitation of one call is not affected when another call ends.
        let calls = vec![said("do"), replied(1, vec![call("a"), call("b")])];
        let midst = [
            Event::ToolStarted { call: "a".into() },
            asked("a", ApprovalPurpose::Answer),
            finished("b", "done"),
            decided("a"),
        ];
        let answered = calls.into_iter().chain(midst).collect();
        assert_eq!(waited(answered, &[0, 1, 1, 2, 3, 9]), TimeDelta::minutes(7));
    }

    fn any_event() -> impl Strategy<Value = Event> {
        let id = prop_oneof![Just("a"), Just("b")];
        prop_oneof![
            Just(said("hello")),
            id.clone().prop_map(|id| replied(1, vec![call(id)])),
            Just(replied(2, vec![])),
            id.clone().prop_map(|id| finished(id, "r")),
            id.prop_map(|id| Event::ToolStarted { call: id.into() }),
            Just(Event::Stopped { by: ann() }),
            Just(Event::Restarted { by: ann() }),
            Just(Event::ToolsEnabled { names: vec!["x".into()] }),
            (0_i64..9).prop_map(|upto| Event::Compacted {
                upto,
                summary: "s".into(),
                usage: Usage::default(),
            }),
        ]
    }

    proptest! {
        /// Events survive storage, and folding in two steps gives the same result as folding in
        /// one.
        #[test]
        fn folding_is_the_same_in_any_steps(
            events in proptest::collection::vec(any_event(), 0..20),
            cut in 0_usize..20,
        ) {
            let entries = entries(events);
            let stored = serde_json::to_string(&entries).unwrap();
            let read: Vec<Entry> = serde_json::from_str(&stored).unwrap();
            prop_assert_eq!(&entries, &read);
            let mut stepwise = Session::fold(&entries[..cut.min(entries.len())]);
            for entry in entries.iter().skip(cut) {
                stepwise.apply(entry);
            }
            prop_assert_eq!(stepwise, Session::fold(&entries));
        }
    }
}
