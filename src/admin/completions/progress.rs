//! Follows the turn of a request, and the text that its client has. Pure.

use chrono::{DateTime, Utc};
use std::collections::BTreeSet;

use crate::journal::{
    event::{Entry, Event, Seq, Usage},
    ids::ApprovalId,
};

/// How a turn ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TurnEnd {
    Answered,
    /// By a person.
    Stopped,
    /// With the text for the person.
    Failed {
        reason: String,
    },
}

/// What has happened since a message was sent.
#[derive(Debug, Default)]
pub struct TurnProgress {
    /// The id of the message.
    message: String,
    said: Option<Seq>,
    /// The last event that counts.
    pub seen: Seq,
    pub ended: Option<(TurnEnd, DateTime<Utc>)>,
    /// Texts from this event on are those of a failure.
    pub failed: Option<Seq>,
    pub usage: Usage,
    pending: BTreeSet<ApprovalId>,
}

impl TurnProgress {
    /// The progress after the event `after`.
    pub fn of(message: &str, after: Seq) -> Self {
        Self { message: message.to_owned(), seen: after, ..Self::default() }
    }

    /// Whether the turn waits for a person.
    pub fn awaits_decision(&self) -> bool {
        !self.pending.is_empty()
    }

    /// Events after the answer are those of later turns, and do not count.
    pub fn apply(&mut self, entry: &Entry) {
        if matches!(self.ended, Some((TurnEnd::Answered | TurnEnd::Stopped, _))) {
            return;
        }
        self.seen = self.seen.max(entry.seq);
        match &entry.event {
            Event::Said { message, .. } if *message == self.message => self.said = Some(entry.seq),
            Event::Replied { calls, upto, usage, .. } => {
                self.usage.input_tokens += usage.input_tokens;
                self.usage.output_tokens += usage.output_tokens;
                self.usage.cached_tokens += usage.cached_tokens;
                if calls.is_empty() && self.has_read(*upto) {
                    self.end(entry, TurnEnd::Answered);
                    self.failed = None;
                }
            }
            Event::Failed { reason, upto, .. } if self.has_read(*upto) => {
                self.end(entry, TurnEnd::Failed { reason: reason.clone() });
                self.failed = Some(entry.seq);
            }
            Event::Stopped { .. } | Event::Restarted { .. } if self.said.is_some() => {
                self.end(entry, TurnEnd::Stopped);
            }
            Event::ApprovalRequested { approval, .. } => {
                self.pending.insert(approval.clone());
            }
            Event::ApprovalDecided { approval, .. } => {
                self.pending.remove(approval);
            }
            _ => {}
        }
    }

    /// Whether the agent had read the message then.
    fn has_read(&self, upto: Seq) -> bool {
        self.said.is_some_and(|said| said <= upto)
    }

    fn end(&mut self, entry: &Entry, end: TurnEnd) {
        self.ended = Some((end, entry.at));
        self.pending.clear();
    }
}

/// The text that a client has. What was sent cannot be taken back.
#[derive(Debug, Default)]
pub struct SentText {
    text: String,
    /// Where the part that still grows begins.
    begins: usize,
}

impl SentText {
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Takes a draft of the current part. Returns what is to be sent of it. A draft that begins
    /// differently from the one before is left out until the part is complete.
    pub fn grow(&mut self, draft: &str) -> Option<String> {
        let rest = draft.trim().strip_prefix(&self.text[self.begins..])?;
        self.push(rest)
    }

    /// Takes the final form of the current part, and ends it. Returns what is to be sent of it.
    pub fn complete(&mut self, part: &str) -> Option<String> {
        let part = part.trim();
        let rest = part.strip_prefix(&self.text[self.begins..]).unwrap_or_else(|| {
            self.begins = self.text.len();
            part
        });
        let sent = self.push(rest);
        self.begins = self.text.len();
        sent
    }

    fn push(&mut self, rest: &str) -> Option<String> {
        if rest.is_empty() {
            return None;
        }
        let is_new = self.begins == self.text.len() && self.begins > 0;
        let between = if is_new { "\n\n" } else { "" };
        self.text.push_str(between);
        if is_new {
            self.begins = self.text.len();
        }
        self.text.push_str(rest);
        Some(format!("{between}{rest}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn said(message: &str) -> Value {
        let by = json!({ "id": "token:ci", "name": "ci" });
        json!({ "kind": "said", "by": by, "text": "x", "message": message })
    }

    fn replied(calls: usize, upto: i64) -> Value {
        let call = json!({ "id": "c", "model_id": "c", "tool": "t", "arguments": {} });
        let usage = json!({ "input_tokens": 10, "output_tokens": 1 });
        let calls = vec![call; calls];
        json!({ "kind": "replied", "text": "", "calls": calls, "upto": upto, "usage": usage })
    }

    fn after(events: &Value) -> TurnProgress {
        let events: Vec<Event> = serde_json::from_value(events.clone()).unwrap();
        let mut progress = TurnProgress::of("m", 0);
        for (event, seq) in events.into_iter().zip(1..) {
            progress.apply(&Entry { seq, at: DateTime::UNIX_EPOCH, event });
        }
        progress
    }

    #[test]
    fn a_turn_ends_when_its_own_message_was_answered() {
        let failed = json!({ "kind": "failed", "reason": "busy", "reference": "r", "upto": 1 });
        let stopped = json!({ "kind": "stopped", "by": { "id": "1", "name": "Ann" } });
        let busy = TurnEnd::Failed { reason: "busy".into() };
        for (events, end) in [
            (json!([said("m")]), None),
            (json!([said("m"), replied(1, 1)]), None),
            (json!([said("m"), replied(0, 1)]), Some(TurnEnd::Answered)),
            (json!([said("other"), replied(0, 1)]), None),
            (json!([said("other"), said("m"), replied(0, 1)]), None),
            (
                json!([said("other"), said("m"), replied(0, 1), replied(0, 3)]),
                Some(TurnEnd::Answered),
            ),
            (json!([said("m"), failed]), Some(busy)),
            (json!([said("m"), failed, replied(0, 1)]), Some(TurnEnd::Answered)),
            (json!([said("m"), stopped]), Some(TurnEnd::Stopped)),
            (json!([stopped, said("m")]), None),
        ] {
            let progress = after(&events);
            assert_eq!(progress.ended.map(|(end, _)| end), end, "{events}");
        }
        assert_eq!(after(&json!([said("m"), replied(1, 1), replied(0, 2)])).usage.input_tokens, 20);
        // Later turns of the same conversation are not part of the answer, however they end.
        let again = json!({ "kind": "failed", "reason": "busy", "reference": "r", "upto": 3 });
        for later in [again, replied(0, 3), stopped] {
            let progress = after(&json!([said("m"), replied(0, 1), said("n"), later]));
            let end = progress.ended.map(|(end, _)| end);
            assert_eq!((end, progress.seen), (Some(TurnEnd::Answered), 2), "{later}");
            assert_eq!((progress.failed, progress.usage.input_tokens), (None, 10));
        }
    }

    #[test]
    fn an_open_approval_is_awaited_until_it_is_decided() {
        let asked = json!({ "kind": "approval_asked", "approval": "q", "call": "c", "digest": "d", "asks": "allow" });
        let decided = json!({ "kind": "approval_decided", "approval": "q", "call": "c", "decision": "once", "by": "timeout" });
        assert!(after(&json!([said("m"), replied(1, 1), asked])).awaits_decision());
        assert!(!after(&json!([said("m"), replied(1, 1), asked, decided])).awaits_decision());
    }

    #[test]
    fn drafts_and_their_final_form_make_one_text() {
        let mut text = SentText::default();
        let sent = [
            text.grow("Let"),
            text.grow("Let me "),
            text.grow("Other"),
            text.complete("Let me see."),
            text.grow("Done"),
            text.complete("Done.\n"),
            text.complete("Differs"),
            text.grow("x"),
            text.complete("y"),
        ];
        let sent: Vec<_> = sent.into_iter().flatten().collect();
        assert_eq!(sent.concat(), text.as_str());
        assert_eq!(text.as_str(), "Let me see.\n\nDone.\n\nDiffers\n\nx\n\ny");
    }
}
