//! Each kind of violation is found in a history that contains it, and in no other.

use super::*;
use crate::crash::history::{Kill, Outage, Press, Prompt, Said, answer_to};

const NONE: [Kind; 0] = [];

fn at(seconds: u64) -> Moment {
    Moment::from_secs(seconds)
}

fn tag(message: u32) -> Tag {
    Tag { chat: 1, message, edited: false }
}

fn said(message: u32, request: Request) -> Said {
    let (at, platform) = (at(u64::from(message) * 10), i64::from(message) * 10);
    Said { at, arrived: at, tag: tag(message), request, message: platform, replaced: false }
}

fn shown(message: i64, text: impl Into<String>) -> Shown {
    Shown { message, text: text.into() }
}

fn run(message: u32, tool: Request, began: u64) -> Run {
    Run {
        tag: tag(message),
        tool: tool.word().to_owned(),
        node: 1,
        began: at(began),
        ended: Some(at(began + 1)),
    }
}

fn question(message: i64, asks: ApprovalPurpose, asked_at: u64) -> Question {
    Question { at: at(asked_at), tag: tag(2), message, asks }
}

fn press(message: i64, choice: Choice, pressed_at: u64) -> Press {
    Press { at: at(pressed_at), message, by: "Ann".to_owned(), choice, may_decide: true }
}

/// Message 1 asks for an answer, 2 for a launch (at 20 s, asked at 22, allowed at 24, run from 25 to
/// 26), 3 for a note (at 30 s, run from 31 to 32).
fn good() -> History {
    let chat = Chat {
        number: 1,
        id: 500,
        since: at(10),
        said: vec![said(1, Request::Say), said(2, Request::Launch), said(3, Request::Note)],
        questions: vec![question(21, ApprovalPurpose::Allow, 22)],
        presses: vec![press(21, Choice::Allow, 24), press(21, Choice::Deny, 24)],
        shown: vec![
            shown(11, answer_to(&[tag(1)])),
            shown(21, "Allow pad_launch? c1m2\n\n✅ Allowed by Ann."),
            shown(22, answer_to(&[tag(2)])),
            shown(31, answer_to(&[tag(3)])),
        ],
    };
    History {
        chats: vec![chat],
        runs: vec![run(2, Request::Launch, 25), run(3, Request::Note, 31)],
        prompts: vec![Prompt { at: at(30), tags: vec![tag(1), tag(2), tag(3)] }],
        kills: vec![Kill { at: at(5), node: 1 }],
        integrity: "ok".to_owned(),
        ..History::default()
    }
}

/// The launch was interrupted by a kill at 25.5 s, and Ann allowed a second one.
fn cut_off(history: &mut History) {
    history.runs[0].ended = None;
    history.runs.push(run(2, Request::Launch, 28));
    history.kills.push(Kill { at: Moment::from_millis(25_500), node: 1 });
    let chat = &mut history.chats[0];
    chat.questions.push(question(23, ApprovalPurpose::Retry, 27));
    chat.presses.push(press(23, Choice::Again, 28));
}

/// The kinds of violation that are found after this change.
fn found(change: impl FnOnce(&mut History)) -> Vec<Kind> {
    let mut history = good();
    change(&mut history);
    let mut kinds: Vec<_> = violations(&history).iter().map(|found| found.kind).collect();
    kinds.sort();
    kinds.dedup();
    kinds
}

#[test]
fn a_good_history_has_no_violation() {
    assert_eq!(found(|_| ()), NONE);
    assert_eq!(found(cut_off), NONE);
    assert_eq!(found(|h| h.chats[0].presses.swap(0, 1)), NONE);
    let skipped = |h: &mut History| {
        cut_off(h);
        h.runs.pop();
        h.chats[0].presses[2].choice = Choice::Skip;
    };
    assert_eq!(found(skipped), NONE);
}

#[test]
fn a_lost_message_is_found() {
    assert_eq!(found(|h| drop(h.chats[0].shown.remove(0))), [Kind::Lost]);
    let failed = |h: &mut History| {
        h.chats[0].shown[3] = shown(31, "I could not reach the model.\n\nReference: `x`");
    };
    assert_eq!(found(failed), NONE, "a visible failure is an answer");
    let failed_before = |h: &mut History| {
        h.chats[0].shown[0] = shown(9, "I could not reach the model.\n\nReference: `x`");
    };
    assert_eq!(found(failed_before), [Kind::Lost], "that was about something else");
}

#[test]
fn an_edited_message_needs_an_answer_to_its_new_version_only() {
    let edited = |h: &mut History| {
        let mut new = h.chats[0].said[0].clone();
        new.tag.edited = true;
        h.chats[0].said[0].replaced = true;
        h.chats[0].shown[0] = shown(11, answer_to(&[new.tag]));
        h.chats[0].said.push(new);
    };
    assert_eq!(found(edited), NONE);
    let lost = |h: &mut History| {
        edited(h);
        h.chats[0].shown[0] = shown(11, answer_to(&[tag(1)]));
    };
    assert_eq!(found(lost), [Kind::Lost]);
    let read_before = |h: &mut History| {
        lost(h);
        h.prompts[0].at = at(0);
    };
    assert_eq!(found(read_before), NONE, "the answer was on its way when the message was edited");
    let arrived_late = |h: &mut History| {
        lost(h);
        h.chats[0].said[3].arrived = at(31);
    };
    assert_eq!(found(arrived_late), NONE, "the model read the old one before the edit arrived");
}

#[test]
fn a_lost_call_is_found() {
    assert_eq!(found(|h| drop(h.runs.remove(0))), [Kind::Lost], "allowed and never run");
    assert_eq!(found(|h| drop(h.runs.remove(1))), [Kind::Lost], "never run");
}

#[test]
fn duplicates_are_found() {
    let twice = |h: &mut History| h.chats[0].shown.push(shown(32, answer_to(&[tag(3)])));
    assert_eq!(found(twice), [Kind::Duplicated]);
    let asked_twice = |h: &mut History| {
        h.chats[0].questions.push(question(24, ApprovalPurpose::Allow, 25));
    };
    assert_eq!(found(asked_twice), [Kind::Duplicated]);
    let retry_twice = |h: &mut History| {
        cut_off(h);
        h.chats[0].presses.pop();
        h.runs.pop();
        h.chats[0].questions.push(question(24, ApprovalPurpose::Retry, 27));
    };
    assert_eq!(found(retry_twice), [Kind::Duplicated, Kind::Unknown]);
}

/// A repeat that says so is no duplicate, but has a cause, as a placeholder has.
#[test]
fn a_marked_repeat_needs_a_cause() {
    let marked = |h: &mut History| {
        let text = format!("This may be a duplicate.\n\n{}", answer_to(&[tag(3)]));
        h.chats[0].shown.push(shown(33, text));
    };
    assert_eq!(found(marked), [Kind::Duplicated], "the kill was before the chat");
    let killed = |h: &mut History| {
        marked(h);
        h.kills[0].at = at(40);
    };
    assert_eq!(found(killed), NONE);
    let instead = |h: &mut History| {
        killed(h);
        h.chats[0].shown.remove(3);
    };
    assert_eq!(found(instead), NONE, "the first attempt was never shown");
    let late = |h: &mut History| {
        killed(h);
        let text = format!("This may be a duplicate.\n\n{}", answer_to(&[tag(1)]));
        h.chats[0].shown.push(shown(34, text));
        h.kills.push(Kill { at: at(41), node: 1 });
    };
    assert_eq!(found(late), NONE, "a repeat does not count as an answer out of order");
}

#[test]
fn a_placeholder_needs_a_cause() {
    let orphan = |h: &mut History| h.chats[0].shown.push(shown(33, "…"));
    assert_eq!(found(orphan), [Kind::Duplicated], "the kill was before the chat");
    let killed = |h: &mut History| {
        orphan(h);
        h.kills[0].at = at(40);
    };
    assert_eq!(found(killed), NONE);
    let unconfirmed = |h: &mut History| {
        orphan(h);
        h.unconfirmed = 1;
    };
    assert_eq!(found(unconfirmed), NONE);
}

#[test]
fn misrouted_messages_are_found() {
    let foreign = Tag { chat: 2, ..tag(1) };
    let shown_here = |h: &mut History| h.chats[0].shown.push(shown(33, answer_to(&[foreign])));
    assert_eq!(found(shown_here), [Kind::Misrouted, Kind::Reordered]);
    assert_eq!(found(|h| h.prompts[0].tags.push(foreign)), [Kind::Misrouted, Kind::Reordered]);
    let ran = |h: &mut History| h.runs.push(run(9, Request::Note, 40));
    assert_eq!(found(ran), [Kind::Misrouted]);
}

#[test]
fn a_wrong_order_is_found() {
    assert_eq!(found(|h| h.chats[0].shown.swap(2, 3)), [Kind::Reordered]);
    assert_eq!(found(|h| h.prompts[0].tags.swap(0, 1)), [Kind::Reordered]);
    let edited = |h: &mut History| {
        h.prompts[0].tags[0].edited = true;
        h.prompts[0].tags.rotate_left(1);
    };
    assert_eq!(found(edited), NONE, "an edit is read when it comes");
}

#[test]
fn a_call_that_ran_twice_is_found() {
    assert_eq!(found(|h| h.runs.push(run(3, Request::Note, 33))), [Kind::RanTwice]);
    assert_eq!(found(|h| h.runs.push(run(2, Request::Launch, 27))), [Kind::RanTwice]);
    let once_more = |h: &mut History| {
        cut_off(h);
        h.chats[0].presses.push(press(23, Choice::Again, 28));
        h.runs.push(run(2, Request::Launch, 29));
    };
    assert_eq!(found(once_more), [Kind::RanTwice], "the same button, pressed twice");
    let skipped = |h: &mut History| {
        cut_off(h);
        h.chats[0].presses[2].choice = Choice::Skip;
    };
    assert_eq!(found(skipped), [Kind::RanTwice]);
}

#[test]
fn a_run_without_approval_is_found() {
    let nobody = |h: &mut History| drop(h.chats[0].presses.remove(0));
    assert_eq!(found(nobody), [Kind::Unapproved]);
    let outsider = |h: &mut History| h.chats[0].presses[0].may_decide = false;
    assert_eq!(found(outsider), [Kind::Unapproved]);
    let late = |h: &mut History| h.chats[0].presses[0].at = at(26);
    assert_eq!(found(late), [Kind::Unapproved]);
    let other = |h: &mut History| h.chats[0].presses[0].message = 99;
    assert_eq!(found(other), [Kind::Unapproved]);
    for end in ["🚫 Denied by Bob.", "Superseded: Ann edited the message."] {
        let ended = |h: &mut History| h.chats[0].shown[1] = shown(21, end);
        assert_eq!(found(ended), [Kind::Unapproved], "{end}");
    }
}

/// A call is cut off by a kill at this time.
fn kill_at(millis: u64, node: usize) -> impl FnOnce(&mut History) {
    move |h| {
        cut_off(h);
        h.kills[1] = Kill { at: Moment::from_millis(millis), node };
    }
}

#[test]
fn an_unknown_outcome_needs_a_kill_in_flight() {
    assert_eq!(found(kill_at(24_500, 1)), NONE, "allowed, and not begun");
    assert_eq!(found(kill_at(23_000, 1)), [Kind::Unknown], "not allowed yet");
    assert_eq!(found(kill_at(25_500, 0)), [Kind::Unknown], "another node");
    let ended = |millis| {
        move |h: &mut History| {
            kill_at(millis, 1)(h);
            h.runs[0].ended = Some(at(26));
            h.chats[0].questions[1].at = at(40);
            h.chats[0].presses[2].at = at(41);
            h.runs[2].began = at(42);
        }
    };
    assert_eq!(found(ended(27_000)), NONE, "it may not have been stored");
    assert_eq!(found(ended(29_000)), [Kind::Unknown], "long finished");
    let outage = |h: &mut History| {
        ended(29_000)(h);
        h.outages.push(Outage { from: at(26), to: at(30) });
    };
    assert_eq!(found(outage), NONE, "it could not be stored before");
    let away = |from, to| {
        move |h: &mut History| {
            ended(29_000)(h);
            h.kills.pop();
            h.outages.push(Outage { from: at(from), to: at(to) });
        }
    };
    assert_eq!(found(away(24, 28)), NONE, "the lease may have run out");
    assert_eq!(found(away(25, 28)), [Kind::Unknown], "it was renewed in time");
    assert_eq!(found(away(30, 39)), [Kind::Unknown], "the result had been stored");
}

#[test]
fn an_unknown_outcome_of_a_call_that_never_ran_needs_a_kill_or_an_outage() {
    let never_ran = |h: &mut History| {
        cut_off(h);
        h.runs.remove(0);
    };
    assert_eq!(found(never_ran), NONE, "killed before the tool was reached");
    let outage_at = |seconds| {
        move |h: &mut History| {
            never_ran(h);
            h.kills.pop();
            h.outages.push(Outage { from: at(seconds), to: at(seconds) });
        }
    };
    assert_eq!(found(outage_at(25)), NONE, "its start may not have been recorded");
    assert_eq!(found(outage_at(23)), [Kind::Unknown], "not allowed yet");
    let never_ran_again = |node| {
        move |h: &mut History| {
            cut_off(h);
            h.runs.pop();
            h.kills.push(Kill { at: at(29), node });
            let chat = &mut h.chats[0];
            chat.questions.push(question(24, ApprovalPurpose::Retry, 30));
            chat.presses.push(press(24, Choice::Again, 31));
            h.runs.push(run(2, Request::Launch, 32));
        }
    };
    assert_eq!(found(never_ran_again(0)), NONE, "any node may have been about to run it");
    let not_killed = |h: &mut History| {
        never_ran_again(0)(h);
        h.kills.pop();
    };
    assert_eq!(found(not_killed), [Kind::Unknown], "the first kill does not explain the second");
}

#[test]
fn leftover_and_damaged_rows_are_found() {
    assert_eq!(found(|h| h.undrained.push("c1m3".to_owned())), [Kind::Undrained]);
    assert_eq!(found(|h| h.integrity = "row 1 missing from index".to_owned()), [Kind::Other]);
    assert_eq!(found(|h| h.integrity = String::new()), [Kind::Other]);
    assert_eq!(found(|h| h.secrets.push("node0.log".to_owned())), [Kind::Other]);
    assert_eq!(found(|h| h.exits.push("node 0: 101".to_owned())), [Kind::Other]);
    assert_eq!(found(|h| h.malformed.push("no messages".to_owned())), [Kind::Other]);
}
