//! The state after a run, in the database, on the platform and in the outside world, and the checks
//! of the invariants I1 to I9, each a list of violations.

use countersign::testing::{
    agent::{guard::digest_of, policy::GuardContext},
    journal::event::{ApprovalPurpose, Call, Decider, Decision, Event, Outcome},
};
use std::collections::BTreeMap;

#[derive(Debug, Clone, Default)]
pub struct History {
    /// The platform's ids of the messages that people wrote, in order.
    pub written: Vec<String>,
    /// The journal of the conversation.
    pub journal: Vec<Line>,
    /// The current fence of the conversation.
    pub fence: i64,
    /// The effects of the conversation's calls.
    pub folder: String,
    pub outbox: Vec<Row>,
    /// For each approval, the time of the decision and of the expiry.
    pub decided: BTreeMap<String, (i64, i64)>,
    /// Who may decide, by the platform's id.
    pub approvers: Vec<String>,
    /// What the bot's messages show: a text's first line, or a file's name.
    pub shown: Vec<String>,
    /// The texts that must be shown exactly once, in this order.
    pub expected: Vec<String>,
    /// How often the non-repeatable tool took effect, by its argument.
    pub launches: BTreeMap<String, usize>,
    pub kills: usize,
    /// For each approval, the resources held while it was open.
    pub held: Vec<Held>,
    /// The database's integrity report.
    pub integrity: String,
}

#[derive(Debug, Clone)]
pub struct Line {
    pub seq: i64,
    /// The fence; 0 for events from outside.
    pub fence: i64,
    pub event: Event,
}

/// A row of the outbox, in the order in which it is to be shown.
#[derive(Debug, Clone)]
pub struct Row {
    pub status: String,
    pub sent_at: i64,
    /// The platform's message, for a row that is one of its own.
    pub message: Option<i64>,
}

/// Resources held while an approval was open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Held {
    pub lease: bool,
    /// Whether the conversation could be claimed although there was nothing to do.
    pub ready: bool,
}

/// How the trace of an unfinished send ends.
pub const ORPHAN: &str = "…";

type Claim = fn(&History) -> Vec<String>;

const CLAIMS: [(&str, Claim); 9] = [
    ("I1", every_message_is_answered_once),
    ("I2", the_order_is_kept),
    ("I3", no_fence_is_above_the_last),
    ("I4", repeated_without_approval),
    ("I5", every_run_was_allowed),
    ("I6", everything_is_shown_once),
    ("I7", fences_grow),
    ("I8", held_during_a_pending_approval),
    ("I9", the_database_is_whole),
];

impl History {
    /// Every violation, with the name of its invariant.
    pub fn contradictions(&self) -> Vec<String> {
        let found = CLAIMS.iter().flat_map(|(name, claim)| {
            claim(self).into_iter().map(move |what| format!("{name}: {what}"))
        });
        found.collect()
    }

    fn events(&self) -> impl Iterator<Item = &Event> {
        self.journal.iter().map(|line| &line.event)
    }

    fn calls(&self) -> impl Iterator<Item = &Call> {
        self.events().flat_map(|event| match event {
            Event::Replied { calls, .. } => calls.as_slice(),
            _ => &[],
        })
    }
}

/// I1: one final answer, or one visible failure, for each accepted message.
fn every_message_is_answered_once(history: &History) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut open: Vec<(i64, &str)> = Vec::new();
    for line in &history.journal {
        let upto = match &line.event {
            Event::Said { message, .. } => {
                open.push((line.seq, message));
                continue;
            }
            Event::Replied { calls, upto, .. } if calls.is_empty() => *upto,
            Event::Failed { upto, .. } => *upto,
            _ => continue,
        };
        let before = open.len();
        open.retain(|(seq, _)| *seq > upto);
        if open.len() == before {
            wrong.push(format!("event {} ends a turn that had ended", line.seq));
        }
    }
    wrong.extend(open.iter().map(|(_, message)| format!("message {message} has no answer")));
    for message in &history.written {
        let count = history
            .events()
            .filter(|event| matches!(event, Event::Said { message: said, .. } if said == message))
            .count();
        if count != 1 {
            wrong.push(format!("message {message} was taken {count} times"));
        }
    }
    wrong
}

/// I2: messages are read, and answers shown, in order.
fn the_order_is_kept(history: &History) -> Vec<String> {
    let mut wrong = Vec::new();
    let said: Vec<_> = history
        .events()
        .filter_map(|event| match event {
            Event::Said { message, .. } => Some(message),
            _ => None,
        })
        .collect();
    let written: Vec<_> = history.written.iter().filter(|w| said.contains(w)).collect();
    if said != written {
        wrong.push(format!("written {written:?}, read {said:?}"));
    }
    let numbers = history.journal.iter().map(|line| line.seq);
    if !numbers.eq(1..=history.journal.len() as i64) {
        wrong.push("the journal's numbers have gaps".to_owned());
    }
    if !history.outbox.iter().map(|row| row.sent_at).is_sorted() {
        wrong.push("the outbox was not sent in its order".to_owned());
    }
    if !history.outbox.iter().filter_map(|row| row.message).is_sorted() {
        wrong.push("the messages do not stand in the outbox's order".to_owned());
    }
    let shown = history.shown.iter().filter(|shown| history.expected.contains(shown));
    if !shown.eq(history.expected.iter()) {
        wrong.push(format!("shown {:?} instead of {:?}", history.shown, history.expected));
    }
    wrong
}

/// I3: every writer holds an issued fence.
fn no_fence_is_above_the_last(history: &History) -> Vec<String> {
    let above = history.journal.iter().filter(|line| line.fence > history.fence);
    above.map(|line| format!("event {} has the fence {}", line.seq, line.fence)).collect()
}

/// I4: the non-repeatable call was not repeated, unless a person wanted it.
fn repeated_without_approval(history: &History) -> Vec<String> {
    let mut wrong = Vec::new();
    for (argument, times) in &history.launches {
        let calls = history.calls().filter(|call| call.arguments["rocket"] == argument.as_str());
        let (mut started, mut again) = (0, 0);
        for call in calls {
            started += count(history, |event| is_start(event, call));
            again += count(history, |event| is_leave(event, call, ApprovalPurpose::Retry, history));
        }
        if *times > 1 + again {
            wrong.push(format!("{argument} ran {times} times, {again} of them asked for"));
        }
        if *times > started {
            wrong.push(format!("{argument} ran {times} times, {started} of them written down"));
        }
    }
    wrong
}

/// I5: each run of a call that needs approval is preceded by exactly one of its own: for the same
/// arguments, by an authorized person, in time. A second run needs a second one.
fn every_run_was_allowed(history: &History) -> Vec<String> {
    let mut wrong = Vec::new();
    for call in history.calls() {
        let mut leaves = 0;
        let mut runs = 0;
        for event in history.events() {
            let asks = if runs == 0 { ApprovalPurpose::Allow } else { ApprovalPurpose::Retry };
            if is_leave(event, call, asks, history) {
                leaves += 1;
            }
            if is_start(event, call) {
                runs += 1;
                if leaves != runs {
                    wrong.push(format!("run {runs} of {} had {leaves} leaves", call.tool));
                }
            }
        }
        let asked = history
            .events()
            .any(|e| matches!(e, Event::ApprovalRequested { call: id, .. } if *id == call.id));
        let done = history.events().any(|event| {
            matches!(event, Event::ToolFinished { call: id, result }
                if *id == call.id && result.outcome == Outcome::Done)
        });
        if asked && done && leaves == 0 {
            wrong.push(format!("{} was done without leave", call.tool));
        }
    }
    wrong
}

fn count(history: &History, is: impl Fn(&Event) -> bool) -> usize {
    history.events().filter(|event| is(event)).count()
}

fn is_start(event: &Event, call: &Call) -> bool {
    matches!(event, Event::ToolStarted { call: id } if *id == call.id)
}

/// Whether this event allows the call: the approval was of that kind and for exactly these
/// arguments, and was decided in time by an authorized person.
fn is_leave(event: &Event, call: &Call, kind: ApprovalPurpose, history: &History) -> bool {
    let Event::ApprovalDecided { approval, call: id, decision, by } = event else { return false };
    let allows = matches!(decision, Decision::Once | Decision::Conversation);
    let may = matches!(by, Decider::Person(person) if history.approvers.contains(&person.id));
    let in_time = history.decided.get(approval.as_str()).is_some_and(|(at, until)| at < until);
    let context = GuardContext { folder: history.folder.clone(), ..GuardContext::default() };
    let meant = history.events().any(|event| {
        matches!(event, Event::ApprovalRequested { approval: asked, digest, asks, .. }
            if asked == approval && *asks == kind && *digest == digest_of(call, &context))
    });
    *id == call.id && allows && may && in_time && meant
}

/// I6: the expected messages are shown once, each kill left at most one placeholder, and nothing is
/// pending.
fn everything_is_shown_once(history: &History) -> Vec<String> {
    let mut wrong = Vec::new();
    for expected in &history.expected {
        let times = history.shown.iter().filter(|shown| *shown == expected).count();
        if times != 1 {
            wrong.push(format!("{expected:?} is shown {times} times"));
        }
    }
    let orphans = history.shown.iter().filter(|shown| shown.ends_with(ORPHAN)).count();
    if orphans > history.kills {
        wrong.push(format!("{orphans} orphans after {} kills", history.kills));
    }
    let messages = history.outbox.iter().filter(|row| row.message.is_some()).count();
    if history.shown.len() != messages + orphans {
        let shown = history.shown.len();
        wrong.push(format!("{shown} messages, of which {messages} are known, {orphans} orphans"));
    }
    let unsent = history.outbox.iter().filter(|row| row.status != "sent");
    wrong.extend(unsent.map(|row| format!("a row of the outbox is {}", row.status)));
    wrong
}

/// I7: nothing was written with an outdated fence.
fn fences_grow(history: &History) -> Vec<String> {
    let mut highest = 0;
    let mut wrong = Vec::new();
    for line in history.journal.iter().filter(|line| line.fence > 0) {
        if line.fence < highest {
            wrong.push(format!("event {} has {} after {highest}", line.seq, line.fence));
        }
        highest = highest.max(line.fence);
    }
    wrong
}

/// I8: a turn that waits for a person holds no worker.
fn held_during_a_pending_approval(history: &History) -> Vec<String> {
    let held = history.held.iter().filter(|held| held.lease || held.ready);
    held.map(|held| format!("{held:?} while a question was open")).collect()
}

/// I9
fn the_database_is_whole(history: &History) -> Vec<String> {
    let said = Some(history.integrity.clone()).filter(|said| said != "ok");
    said.into_iter().collect()
}

#[cfg(test)]
#[path = "history_tests.rs"]
mod tests;
