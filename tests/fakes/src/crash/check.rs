//! Checks a history against what the gateway promises.
//!
//! Each promise is one function from a history to what contradicts it. I1–I10 are the invariants of
//! the durable core; what can only be seen in the gateway's own database (leases, fences, the order
//! of the journal) is checked by its effects: nothing runs twice, nothing is shown twice.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    time::Duration,
};

use super::{
    history::{
        ApprovalPurpose, Chat, Choice, History, Moment, Question, Request, Run, Said, Shown, Tag,
        tags,
    },
    run::LEASE,
};

/// How long the result of a finished call may need to be stored. A kill within that time after the
/// end of a call counts as a kill while it was in flight.
const STORED_WITHIN: Duration = Duration::from_secs(2);

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// I1: a message without an answer or a failure notice; an approved call that never ran.
    Lost,
    /// I1, I6: an answer or a question that is shown twice; a placeholder that nothing explains.
    Duplicated,
    /// A message of one chat in another one, or before the model together with another chat's.
    Misrouted,
    /// I2: messages read or answered out of order.
    Reordered,
    /// I3, I4, I7: a call that ran again without a person's consent.
    RanTwice,
    /// I5: a gated call that ran without an approval.
    Unapproved,
    /// A call whose outcome was called unknown although nothing had interrupted it.
    Unknown,
    /// Work that was not finished in time after the last kill.
    Undrained,
    /// I9, I10 and the rest: database integrity, secrets, processes that ended by themselves,
    /// malformed requests to the model.
    Other,
}

impl Kind {
    pub const ALL: [Self; 9] = [
        Self::Lost,
        Self::Duplicated,
        Self::Misrouted,
        Self::Reordered,
        Self::RanTwice,
        Self::Unapproved,
        Self::Unknown,
        Self::Undrained,
        Self::Other,
    ];

    /// The heading of its column.
    pub fn title(self) -> &'static str {
        match self {
            Self::Lost => "lost",
            Self::Duplicated => "duplicated",
            Self::Misrouted => "misrouted",
            Self::Reordered => "reordered",
            Self::RanTwice => "ran twice",
            Self::Unapproved => "unapproved",
            Self::Unknown => "false unknown",
            Self::Undrained => "undrained",
            Self::Other => "other",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    pub kind: Kind,
    /// The number of the chat in which it shows.
    pub chat: Option<u32>,
    pub detail: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.kind.title())?;
        if let Some(chat) = self.chat {
            write!(f, "chat {chat}: ")?;
        }
        f.write_str(&self.detail)
    }
}

/// Collects what one chat contradicts.
struct Found<'v> {
    violations: &'v mut Vec<Violation>,
    chat: u32,
}

impl Found<'_> {
    fn add(&mut self, kind: Kind, detail: String) {
        self.violations.push(Violation { kind, chat: Some(self.chat), detail });
    }
}

/// Everything in which the history contradicts a promise.
pub fn violations(history: &History) -> Vec<Violation> {
    let mut violations = Vec::new();
    let runs = by_tag(&history.runs);
    for chat in &history.chats {
        let mut found = Found { violations: &mut violations, chat: chat.number };
        every_message_is_answered(history, chat, &mut found);
        no_message_is_shown_twice(chat, &mut found);
        answers_stand_in_their_own_chat_in_order(chat, &mut found);
        for (tag, runs) in runs.range(first_of(chat)..=last_of(chat)) {
            each_run_was_allowed(*tag, runs, chat, &mut found);
        }
        allowed_calls_have_run(history, chat, &runs, &mut found);
        unknown_outcomes_have_a_cause(history, chat, &runs, &mut found);
    }
    let other = |kind, detail| Violation { kind, chat: None, detail };
    violations.extend(runs_of_no_chat(history).map(|detail| other(Kind::Misrouted, detail)));
    violations.extend(unexplained_placeholders(history).map(|d| other(Kind::Duplicated, d)));
    violations.extend(prompts(history));
    violations.extend(history.undrained.iter().map(|w| other(Kind::Undrained, w.clone())));
    violations.extend(the_rest(history).map(|detail| other(Kind::Other, detail)));
    violations
}

fn by_tag(runs: &[Run]) -> BTreeMap<Tag, Vec<&Run>> {
    let mut sorted: Vec<_> = runs.iter().collect();
    sorted.sort_by_key(|run| run.began);
    let mut by_tag = BTreeMap::<Tag, Vec<&Run>>::new();
    for run in sorted {
        by_tag.entry(run.tag).or_default().push(run);
    }
    by_tag
}

fn first_of(chat: &Chat) -> Tag {
    Tag { chat: chat.number, message: 0, edited: false }
}

fn last_of(chat: &Chat) -> Tag {
    Tag { chat: chat.number, message: u32::MAX, edited: true }
}

/// I1: an answer, or a failure notice below it. An edited message needs an answer to its new version,
/// unless the model had read the old one before the new one arrived.
fn every_message_is_answered(history: &History, chat: &Chat, found: &mut Found<'_>) {
    let answered: BTreeSet<Tag> = chat.shown.iter().flat_map(Shown::answers).collect();
    let last_failure =
        chat.shown.iter().rev().find(|shown| shown.is_failure()).map(|shown| shown.message);
    for said in chat.said.iter().filter(|said| !said.replaced) {
        let failed = last_failure.is_some_and(|failure| failure > said.message);
        let original = said.tag.original();
        let was_read =
            || history.prompts.iter().any(|p| p.at < said.arrived && p.tags.contains(&original));
        let is_answered =
            answered.contains(&said.tag) || (answered.contains(&original) && was_read());
        if !is_answered && !failed {
            found.add(Kind::Lost, format!("{} was not answered", said.tag));
        }
    }
}

/// The versions of a message of which the answer counts: the last one, and the one before it if the
/// model had read that before the edit.
fn versions(history: &History, said: &Said) -> impl Iterator<Item = Tag> {
    let original = said.tag.original();
    let was_read =
        history.prompts.iter().any(|p| p.at < said.arrived && p.tags.contains(&original));
    std::iter::once(said.tag).chain(was_read.then_some(original))
}

/// I6: one answer per message, one question per call and per consent to run it again.
fn no_message_is_shown_twice(chat: &Chat, found: &mut Found<'_>) {
    let mut answers = BTreeMap::<Tag, usize>::new();
    let unmarked = chat.shown.iter().filter(|shown| !shown.is_marked_repeat());
    for tag in unmarked.flat_map(Shown::answers) {
        *answers.entry(tag).or_default() += 1;
    }
    for (tag, times) in answers.into_iter().filter(|(_, times)| *times > 1) {
        found.add(Kind::Duplicated, format!("{tag} was answered {times} times"));
    }
    let mut questions = BTreeMap::<(Tag, bool), usize>::new();
    for question in &chat.questions {
        *questions.entry((question.tag, question.asks == ApprovalPurpose::Retry)).or_default() += 1;
    }
    for ((tag, retry), times) in questions {
        let limit = if retry { 1 + consents(chat, tag, Choice::Again).count() } else { 1 };
        if times > limit {
            found.add(Kind::Duplicated, format!("{tag} was asked about {times} times"));
        }
    }
}

fn answers_stand_in_their_own_chat_in_order(chat: &Chat, found: &mut Found<'_>) {
    let mut last = 0;
    for shown in &chat.shown {
        for (tag, _) in tags(&shown.text) {
            if tag.chat != chat.number {
                found.add(Kind::Misrouted, format!("{tag} is shown there: {:?}", shown.text));
            }
        }
        // A repeat comes as late as its post was found to be unconfirmed.
        if shown.is_marked_repeat() {
            continue;
        }
        // An edited message is read again, behind those that came after it.
        for tag in shown.answers().into_iter().filter(|tag| !tag.edited) {
            if tag.message < last {
                found.add(Kind::Reordered, format!("{tag} was answered after m{last}"));
            }
            last = last.max(tag.message);
        }
    }
}

/// Presses by people who may decide, on questions about that call.
fn consents(chat: &Chat, tag: Tag, choice: Choice) -> impl Iterator<Item = Moment> {
    let about: BTreeSet<_> =
        chat.questions.iter().filter(|q| q.tag == tag).map(|q| q.message).collect();
    let presses = chat.presses.iter();
    let presses = presses.filter(move |press| {
        press.choice == choice && press.may_decide && about.contains(&press.message)
    });
    presses.map(|press| press.at)
}

/// I4, I5: the first run of a gated call has an approval before it, every further run of any call
/// has one consent more.
fn each_run_was_allowed(tag: Tag, runs: &[&Run], chat: &Chat, found: &mut Found<'_>) {
    let is_gated = runs.iter().any(|run| run.tool == Request::Launch.word());
    if is_gated && !consents(chat, tag, Choice::Allow).any(|at| at <= runs[0].began) {
        found.add(Kind::Unapproved, format!("{tag} ran without an approval"));
    }
    for question in
        chat.questions.iter().filter(|q| q.tag == tag && q.asks == ApprovalPurpose::Allow)
    {
        let end = chat.text_of(question.message);
        if !end.contains("Allowed") && (end.contains("Denied") || end.contains("Superseded")) {
            found.add(Kind::Unapproved, format!("{tag} ran although it says: {end:?}"));
        }
    }
    // One consent to run again, pressed twice, counts once.
    let again: BTreeSet<i64> = chat
        .questions
        .iter()
        .filter(|q| q.tag == tag && q.asks == ApprovalPurpose::Retry)
        .filter(|q| {
            chat.presses.iter().any(|p| p.message == q.message && p.choice == Choice::Again)
        })
        .map(|q| q.message)
        .collect();
    if runs.len() > 1 + again.len() {
        let times: Vec<_> = runs.iter().map(|run| format!("{:?}", run.began)).collect();
        let detail = format!("{tag} ran {} times, at {}", runs.len(), times.join(", "));
        found.add(Kind::RanTwice, detail);
    }
}

/// I1: an approval leads to a run, or to a question about its outcome.
fn allowed_calls_have_run(
    history: &History,
    chat: &Chat,
    runs: &BTreeMap<Tag, Vec<&Run>>,
    found: &mut Found<'_>,
) {
    let retried: BTreeSet<Tag> =
        chat.questions.iter().filter(|q| q.asks == ApprovalPurpose::Retry).map(|q| q.tag).collect();
    for question in chat.questions.iter().filter(|q| q.asks == ApprovalPurpose::Allow) {
        let allowed = chat.text_of(question.message).contains("Allowed");
        if allowed && !runs.contains_key(&question.tag) && !retried.contains(&question.tag) {
            found.add(Kind::Lost, format!("{} was allowed and never ran", question.tag));
        }
    }
    let failed = chat.shown.iter().any(Shown::is_failure);
    for said in chat.said.iter().filter(|said| said.request == Request::Note && !said.replaced) {
        let ran =
            versions(history, said).any(|tag| runs.contains_key(&tag) || retried.contains(&tag));
        if !failed && !ran {
            found.add(Kind::Lost, format!("{} never ran", said.tag));
        }
    }
}

/// The outcome of a call is unknown only where a kill came between its start and the storing of its
/// result, the database went away while the start was recorded, or it was away around the end of the
/// call for so long that the lease may have run out.
fn unknown_outcomes_have_a_cause(
    history: &History,
    chat: &Chat,
    runs: &BTreeMap<Tag, Vec<&Run>>,
    found: &mut Found<'_>,
) {
    for question in chat.questions.iter().filter(|q| q.asks == ApprovalPurpose::Retry) {
        let runs = runs.get(&question.tag).map_or(&[][..], Vec::as_slice);
        let from = cleared_at(chat, question);
        let run = runs.iter().rev().find(|run| (from..=question.at).contains(&run.began));
        let (to, node) = match run {
            Some(run) => {
                (run.ended.map_or(question.at, |at| stored_by(history, at)), Some(run.node))
            }
            None => (question.at, None),
        };
        let killed = history.kills.iter().any(|kill| {
            (from..=to).contains(&kill.at) && node.is_none_or(|node| node == kill.node)
        });
        // Nobody knows whether a start whose commit was cut off has been recorded, and another node
        // cannot know whether the call has begun.
        let cut_off = run.is_none()
            && history.outages.iter().any(|outage| (from..=to).contains(&outage.from));
        let lost_its_lease =
            run.and_then(|run| run.ended).is_some_and(|at| lease_ran_out(history, at));
        if !killed && !cut_off && !lost_its_lease {
            let run = run.map(|run| (run.node, run.began, run.ended));
            let detail = format!(
                "the outcome of {} was called unknown at {:?}; no kill from {from:?} to {to:?}; \
                 (node, began, ended): {run:?}",
                question.tag, question.at
            );
            found.add(Kind::Unknown, detail);
        }
    }
}

/// Whether the result of a call that ended at that moment could not be stored until its lease may
/// have run out. A lease is renewed after a third of its duration.
fn lease_ran_out(history: &History, ended: Moment) -> bool {
    let mut away = history.outages.iter();
    away.any(|outage| {
        outage.from <= ended + STORED_WITHIN
            && ended <= outage.to
            && outage.to.saturating_sub(outage.from) >= LEASE * 2 / 3
    })
}

/// When the call that is asked about was last allowed to begin.
fn cleared_at(chat: &Chat, question: &Question) -> Moment {
    let presses = [Choice::Allow, Choice::Again]
        .into_iter()
        .flat_map(|choice| consents(chat, question.tag, choice))
        .filter(|at| *at <= question.at);
    let said = chat.said.iter().find(|said| said.tag == question.tag).map(|said| said.at);
    // Of several presses of one button the first may be the one that counted.
    let first_after = |floor: Moment| presses.filter(|at| *at >= floor).min();
    let earlier =
        chat.questions.iter().filter(|q| q.tag == question.tag && q.message < question.message);
    let floor = earlier.map(|q| q.at).max().or(said).unwrap_or_default();
    first_after(floor).unwrap_or(floor)
}

/// Until when the result of a call that ended at that moment may have been in memory only.
fn stored_by(history: &History, ended: Moment) -> Moment {
    let until = ended + STORED_WITHIN;
    let outages = history.outages.iter().filter(|o| o.from <= until && ended <= o.to);
    outages.map(|outage| outage.to + STORED_WITHIN).max().unwrap_or(until).max(until)
}

fn runs_of_no_chat(history: &History) -> impl Iterator<Item = String> {
    let said: BTreeSet<Tag> =
        history.chats.iter().flat_map(|chat| &chat.said).map(|said| said.tag).collect();
    let foreign = history.runs.iter().filter(move |run| !said.contains(&run.tag));
    foreign.map(|run| format!("{} ran for {}, which nobody has written", run.tool, run.tag))
}

/// A placeholder whose content is shown elsewhere: one for each kill while the chat was in use, and
/// one for each post that the platform did not confirm.
fn unexplained_placeholders(history: &History) -> impl Iterator<Item = String> {
    let more = history.chats.iter().map(|chat| {
        let uncertain = |shown: &&Shown| shown.is_orphan() || shown.is_marked_repeat();
        let orphans = chat.shown.iter().filter(uncertain).count();
        let kills = history.kills.iter().filter(|kill| kill.at >= chat.since).count();
        let outages = history.outages.iter().filter(|outage| outage.to >= chat.since).count();
        orphans.saturating_sub(kills + outages)
    });
    let more: usize = more.sum();
    let unexplained = more.saturating_sub(history.unconfirmed);
    (unexplained > 0)
        .then(|| format!("{unexplained} placeholders or marked repeats without a cause"))
        .into_iter()
}

/// What the model was shown: messages of one chat, in their order.
fn prompts(history: &History) -> Vec<Violation> {
    let mut violations = Vec::new();
    let mut known = BTreeSet::new();
    for prompt in &history.prompts {
        let chat = prompt.tags.first().map(|tag| tag.chat);
        let mut add = |kind, what: &str| {
            // A wrong order appears in every prompt that follows.
            if known.insert((kind, chat)) {
                let tags: Vec<_> = prompt.tags.iter().map(Tag::to_string).collect();
                let detail = format!("{what} at {:?}: {}", prompt.at, tags.join(" "));
                violations.push(Violation { kind, chat, detail });
            }
        };
        if prompt.tags.iter().any(|tag| Some(tag.chat) != chat) {
            add(Kind::Misrouted, "the model was shown several chats");
        }
        let written = prompt.tags.iter().filter(|tag| !tag.edited).map(|tag| tag.message);
        if !written.is_sorted() {
            add(Kind::Reordered, "the model was shown messages out of order");
        }
    }
    violations
}

fn the_rest(history: &History) -> impl Iterator<Item = String> {
    let integrity = (history.integrity != "ok").then(|| history.integrity.clone());
    let integrity = integrity.map(|said| format!("the integrity check of the database: {said}"));
    let secrets = history.secrets.iter().map(|place| format!("a secret stands in {place}"));
    let exits = history.exits.iter().map(|exit| format!("a process ended by itself: {exit}"));
    let malformed = history.malformed.iter().map(|what| format!("a request to the model: {what}"));
    integrity.into_iter().chain(secrets).chain(exits).chain(malformed)
}

#[cfg(test)]
#[path = "check_tests.rs"]
mod tests;
