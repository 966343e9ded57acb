//! Fault injection: each invariant's check detects its violation, and no other check does unless
//! the fault violates two.

use super::*;
use countersign::testing::journal::{
    event::{Speaker, ToolResult, Usage},
    ids::{ApprovalId, CallId},
};
use serde_json::json;

const ANN: &str = "500";

fn ann(id: &str) -> Speaker {
    Speaker { id: id.into(), name: "Ann".into() }
}

fn launch() -> Call {
    Call {
        id: CallId::from("c1"),
        model_id: "m1".into(),
        tool: "rockets_launch".into(),
        arguments: json!({ "rocket": "A" }),
    }
}

fn replied(text: &str, calls: Vec<Call>, upto: i64) -> Event {
    Event::Replied { text: text.into(), calls, upto, usage: Usage::default() }
}

fn asked(approval: &str, asks: ApprovalPurpose) -> Event {
    Event::ApprovalRequested {
        approval: ApprovalId::from(approval),
        call: CallId::from("c1"),
        digest: digest_of(&launch(), &GuardContext::default()),
        asks,
    }
}

fn allowed(approval: &str, by: &str) -> Event {
    Event::ApprovalDecided {
        approval: ApprovalId::from(approval),
        call: CallId::from("c1"),
        decision: Decision::Once,
        by: Decider::Person(ann(by)),
    }
}

fn started() -> Event {
    Event::ToolStarted { call: CallId::from("c1") }
}

fn finished() -> Event {
    let text = "launched".into();
    let result = ToolResult::text(Outcome::Done, text);
    Event::ToolFinished { call: CallId::from("c1"), result }
}

fn said(message: &str) -> Event {
    Event::Said { by: ann(ANN), text: "launch A".into(), message: message.into() }
}

fn journal(events: Vec<(i64, Event)>) -> Vec<Line> {
    let lines = events.into_iter().zip(1..);
    lines.map(|((fence, event), seq)| Line { seq, fence, event }).collect()
}

fn sent(sent_at: i64, message: Option<i64>) -> Row {
    Row { status: "sent".into(), sent_at, message }
}

/// A run without violations.
fn good() -> History {
    History {
        written: vec!["10".into(), "20".into()],
        journal: journal(vec![
            (0, said("10")),
            (1, replied("", vec![launch()], 1)),
            (1, asked("a1", ApprovalPurpose::Allow)),
            (0, allowed("a1", ANN)),
            (2, started()),
            (2, finished()),
            (2, replied("Done.", vec![], 6)),
            (0, said("20")),
            (3, replied("Bye.", vec![], 8)),
        ]),
        fence: 3,
        folder: String::new(),
        outbox: vec![sent(1, Some(11)), sent(2, None), sent(3, Some(12)), sent(4, Some(21))],
        decided: BTreeMap::from([("a1".into(), (5, 9))]),
        approvers: vec![ANN.into()],
        shown: vec!["Allowed".into(), "Done.".into(), "Bye.".into()],
        expected: vec!["Done.".into(), "Bye.".into()],
        launches: BTreeMap::from([("A".into(), 1)]),
        kills: 1,
        held: vec![Held { lease: false, ready: false }],
        integrity: "ok".into(),
    }
}

/// The invariants that this history violates.
fn broken(plant: impl FnOnce(&mut History)) -> Vec<String> {
    let mut history = good();
    plant(&mut history);
    let mut names: Vec<String> =
        history.contradictions().iter().map(|what| what[..2].to_owned()).collect();
    names.dedup();
    names
}

/// The state after the process died during the launch, and Ann allowed a second one.
fn run_again(history: &mut History) {
    history.journal = journal(vec![
        (0, said("10")),
        (1, replied("", vec![launch()], 1)),
        (1, asked("a1", ApprovalPurpose::Allow)),
        (0, allowed("a1", ANN)),
        (2, started()),
        (3, asked("a2", ApprovalPurpose::Retry)),
        (0, allowed("a2", ANN)),
        (4, started()),
        (4, finished()),
        (4, replied("Done.", vec![], 9)),
        (0, said("20")),
        (5, replied("Bye.", vec![], 11)),
    ]);
    history.fence = 5;
    history.decided.insert("a2".into(), (6, 9));
    history.launches.insert("A".into(), 2);
}

#[test]
fn a_good_run_contradicts_nothing() {
    assert_eq!(broken(|_| ()), [""; 0]);
    assert_eq!(broken(run_again), [""; 0]);
}

/// Proves I1.
#[test]
fn a_lost_a_doubled_and_an_unanswered_message_are_noticed() {
    assert_eq!(broken(|h| h.written.push("30".into())), ["I1"]);
    assert_eq!(broken(|h| h.journal[7].event = said("10")), ["I1", "I2"]);
    assert_eq!(broken(|h| drop(h.journal.pop())), ["I1"]);
    let twice = |h: &mut History| {
        h.journal.push(Line { seq: 10, fence: 3, event: replied("Bye.", vec![], 9) });
    };
    assert_eq!(broken(twice), ["I1"]);
    let failed = |h: &mut History| {
        let (reason, reference) = (String::new(), String::new());
        h.journal[8].event = Event::Failed { reason, reference, upto: 8, cause: None };
    };
    assert_eq!(broken(failed), [""; 0], "a visible failure is an answer");
}

/// Proves I2.
#[test]
fn messages_out_of_order_are_noticed() {
    assert_eq!(broken(|h| h.written.reverse()), ["I2"]);
    assert_eq!(broken(|h| h.journal[8].seq = 11), ["I2"]);
    assert_eq!(broken(|h| h.outbox[1].sent_at = 9), ["I2"]);
    assert_eq!(broken(|h| h.outbox[2].message = Some(30)), ["I2"]);
    assert_eq!(broken(|h| h.shown.reverse()), ["I2"]);
}

/// Proves I3, I7.
#[test]
fn invalid_and_outdated_fences_are_detected() {
    assert_eq!(broken(|h| h.fence = 2), ["I3"]);
    assert_eq!(broken(|h| h.journal[8].fence = 1), ["I7"]);
}

/// Proves I4.
#[test]
fn a_second_run_without_a_cause_is_detected() {
    assert_eq!(broken(|h| h.launches = BTreeMap::from([("A".into(), 2)])), ["I4"]);
    let thrice = |h: &mut History| {
        run_again(h);
        h.launches.insert("A".into(), 3);
    };
    assert_eq!(broken(thrice), ["I4"]);
    let unwritten = |h: &mut History| h.journal[4].event = Event::Reminded { upto: 1 };
    assert_eq!(broken(unwritten), ["I4"]);
}

/// Proves I5.
#[test]
fn a_run_without_its_approval_is_noticed() {
    assert_eq!(broken(|h| h.approvers = vec!["501".into()]), ["I5"], "by somebody else");
    let late = |h: &mut History| h.decided = BTreeMap::from([("a1".into(), (9, 9))]);
    assert_eq!(broken(late), ["I5"], "too late");
    let unasked = |h: &mut History| h.journal[3].event = Event::Reminded { upto: 1 };
    assert_eq!(broken(unasked), ["I5"]);
    let other = |h: &mut History| {
        let Event::Replied { calls, .. } = &mut h.journal[1].event else { unreachable!() };
        calls[0].arguments["more"] = 1.into();
    };
    assert_eq!(broken(other), ["I5"], "other arguments than were asked about");
    let after = |h: &mut History| {
        let run = h.journal[4].event.clone();
        h.journal[4].event = std::mem::replace(&mut h.journal[3].event, run);
    };
    assert_eq!(broken(after), ["I5"], "asked after it ran");
    let again = |h: &mut History| {
        run_again(h);
        h.journal[6].event = Event::Reminded { upto: 1 };
        h.launches.insert("A".into(), 1);
    };
    assert_eq!(broken(again), ["I5"], "run again without being asked");
}

/// Proves I6.
#[test]
fn messages_shown_twice_or_never_are_noticed() {
    assert_eq!(broken(|h| h.shown.push("Bye.".into())), ["I2", "I6"]);
    assert_eq!(broken(|h| drop(h.shown.pop())), ["I2", "I6"]);
    assert_eq!(broken(|h| h.shown.push("What?".into())), ["I6"], "nobody knows where it is from");
    assert_eq!(broken(|h| h.shown.push(ORPHAN.into())), [""; 0], "one kill, one orphan");
    assert_eq!(broken(|h| h.shown.extend([ORPHAN.into(), ORPHAN.into()])), ["I6"]);
    assert_eq!(broken(|h| h.outbox[3].status = "waiting".into()), ["I6"]);
}

/// Proves I8, I9.
#[test]
fn a_held_lease_and_a_broken_database_are_noticed() {
    assert_eq!(broken(|h| h.held[0].lease = true), ["I8"]);
    assert_eq!(broken(|h| h.held[0].ready = true), ["I8"]);
    assert_eq!(broken(|h| h.integrity = "row 1 missing from index".into()), ["I9"]);
}
