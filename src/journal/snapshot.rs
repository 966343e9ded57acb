//! Serialises sessions, so that a fold need not begin at the first event.

use super::session::Session;

/// The version of the fold. Increase it whenever the same events yield a different session, or the
/// serialisation changes: snapshots of other versions are ignored.
pub const VERSION: i64 = 5;

/// Larger sessions are not stored but folded again each time. Compaction keeps sessions far below
/// this size.
const LONGEST_BYTES: usize = 8 * 1024 * 1024;

/// Serialises a session. Returns `None` if it is too large or would not survive the round trip
/// exactly: floating-point arguments may change, and approvals are bound to them.
pub fn written(session: &Session) -> Option<String> {
    let text = serde_json::to_string(session).ok()?;
    let again = read(&text).filter(|_| text.len() <= LONGEST_BYTES)?;
    (again == *session).then_some(text)
}

/// Deserialises a session.
pub fn read(text: &str) -> Option<Session> {
    serde_json::from_str(text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::event::{Entry, Event};
    use chrono::{DateTime, TimeDelta};
    use serde_json::{Value, json};
    use sha2::{Digest as _, Sha256};
    use std::collections::BTreeSet;

    /// The digest of the fixed journal's fold, by version. Never change or remove an entry.
    const DIGESTS: &[(i64, &str)] = &[
        (1, "94d485f51cec1ffa4513ee24a0d03176f1a614b284a85ec0ce5e07d50ba8bc7c"),
        (2, "c6d80354004747780f8ad689fe4df3758cb9bfd6bd6d3fda028d9679de9106cb"),
        (3, "46883fc8077cb34db44140205f75fe22b8b7f5c37660aab300d52f41b63c3ff6"),
        (4, "b2e2242c40b8f2859f59c43db3fa285e57f4497e5796885d1895db9c8e673a4a"),
        (5, "f459deda20b4bd8c0b7fff09233e8868e4ffa31ae81c53ce8cf2666e291e3cac"),
    ];

    /// A journal with an event of each kind.
    fn journal() -> Value {
        let by = json!({ "id": "1", "name": "Ann" });
        let usage = json!({ "input_tokens": 10, "output_tokens": 5 });
        let call = |id: &str, tool: &str| json!({ "id": id, "model_id": id, "tool": tool, "arguments": { "path": "a.txt", "n": 0.1 } });
        let file =
            json!({ "name": "a.png", "media_type": "image/png", "size_bytes": 3, "digest": "d" });
        let result = |text: &str| json!({ "outcome": "done", "text": text, "took_ms": 1, "seen": [{ "path": "a.txt", "digest": "d" }], "views": [file] });
        json!([
            { "kind": "remembered", "text": "Ann likes tea." },
            { "kind": "model_chosen", "by": by, "model": "large" },
            { "kind": "said", "by": by, "text": "one", "message": "m1" },
            { "kind": "restarted", "by": by },
            { "kind": "inherited", "taint": ["a page"], "foreign": ["b.txt"], "joined": [by], "used": { "t": 2 }, "tokens": 7 },
            { "kind": "said", "by": by, "text": "do it", "message": "m2" },
            { "kind": "file_sent", "message": "m2", "file": { "id": "f", "name": "a.png", "media_type": null, "size_bytes": null } },
            { "kind": "file_sent", "message": "m2", "file": { "id": "g", "name": "b.png", "media_type": null, "size_bytes": null } },
            { "kind": "file_taken", "file": 7, "path": "a.png", "attachment": file, "view": file },
            { "kind": "file_lost", "file": 8, "reason": "too large" },
            { "kind": "hooked", "hook": "h", "on": "before_llm", "call": null, "did": { "note": "be brief" } },
            { "kind": "replied", "text": "", "calls": [call("a", "read_file"), call("b", "write_file"), call("c", "ask_agent"), call("e", "read_file")], "upto": 11, "usage": usage },
            { "kind": "hooked", "hook": "h", "on": "before_tool", "call": "b", "did": { "note": "careful" } },
            { "kind": "tool_started", "call": "a" },
            { "kind": "tool_finished", "call": "a", "result": result("contents") },
            { "kind": "reused", "call": "e", "from": "a" },
            { "kind": "approval_asked", "approval": "q", "call": "b", "digest": "d", "asks": "allow" },
            { "kind": "approval_decided", "approval": "q", "call": "b", "decision": "conversation", "by": { "person": by } },
            { "kind": "delegated", "call": "c", "children": ["x"] },
            { "kind": "tainted", "source": "another page" },
            { "kind": "tools_enabled", "names": ["search"] },
            { "kind": "tool_finished", "call": "c", "result": result("done") },
            { "kind": "edited", "by": by, "message": "m2", "text": "do it well" },
            { "kind": "reminded", "upto": 6 },
            { "kind": "tool_finished", "call": "b", "result": result("written") },
            { "kind": "said", "by": by, "text": "and?", "message": "m3" },
            { "kind": "replied", "text": "Done.", "calls": [], "upto": 25, "usage": usage },
            { "kind": "failed", "reason": "x", "reference": "r", "upto": 26 },
            { "kind": "compacted", "upto": 20, "summary": "Ann had a file written.", "usage": usage },
            { "kind": "ticked", "schedule": "s", "by": by, "text": "look" },
            { "kind": "pushed", "hook": "ci", "by": by, "text": "built" },
            { "kind": "replied", "text": "", "calls": [call("f", "write_file")], "upto": 31, "usage": usage },
            { "kind": "stopped", "by": by },
            { "kind": "said", "by": by, "text": "again", "message": "m4" },
            { "kind": "replied", "text": "", "calls": [call("g", "write_file")], "upto": 34, "usage": usage },
            { "kind": "approval_asked", "approval": "r", "call": "g", "digest": "d", "asks": "retry" },
            { "kind": "job_started", "budget": { "steps": 9, "tokens": 99, "time_ms": 999 } },
            { "kind": "job_reported", "job": "j", "by": by, "task": "look", "is_done": true, "text": "Found." },
        ])
    }

    fn entries() -> Vec<Entry> {
        let events: Vec<Event> = serde_json::from_value(journal()).unwrap();
        let at = |seq| DateTime::UNIX_EPOCH + TimeDelta::seconds(seq);
        events.into_iter().zip(1..).map(|(event, seq)| Entry { seq, at: at(seq), event }).collect()
    }

    /// Matches every event, so that a new kind does not compile until it is in the fixed journal.
    fn kind(event: &Event) -> &'static str {
        match event {
            Event::Said { .. } => "said",
            Event::Replied { .. } => "replied",
            Event::ToolStarted { .. } => "tool_started",
            Event::ToolFinished { .. } => "tool_finished",
            Event::ApprovalRequested { .. } => "approval_asked",
            Event::ApprovalDecided { .. } => "approval_decided",
            Event::Tainted { .. } => "tainted",
            Event::ToolsEnabled { .. } => "tools_enabled",
            Event::Reminded { .. } => "reminded",
            Event::Failed { .. } => "failed",
            Event::Stopped { .. } => "stopped",
            Event::Restarted { .. } => "restarted",
            Event::Compacted { .. } => "compacted",
            Event::FileSent { .. } => "file_sent",
            Event::FileFetched { .. } => "file_taken",
            Event::FileLost { .. } => "file_lost",
            Event::Edited { .. } => "edited",
            Event::ModelChosen { .. } => "model_chosen",
            Event::TaskDue { .. } => "ticked",
            Event::WebhookReceived { .. } => "pushed",
            Event::Remembered { .. } => "remembered",
            Event::HookRan { .. } => "hooked",
            Event::Delegated { .. } => "delegated",
            Event::ResultReused { .. } => "reused",
            Event::StateInherited(_) => "inherited",
            Event::JobStarted { .. } => "job_started",
            Event::JobReported { .. } => "job_reported",
        }
    }
    const KINDS: usize = 27;

    /// If the fold of the same events changes, old snapshots must be invalidated.
    #[test]
    fn a_change_of_the_fold_raises_the_version() {
        let entries = entries();
        let kinds: BTreeSet<_> = entries.iter().map(|entry| kind(&entry.event)).collect();
        assert_eq!(kinds.len(), KINDS);
        let texts = (1..=entries.len()).map(|count| {
            let session = Session::fold(&entries[..count]);
            let text = written(&session).expect("it can be read back");
            assert_eq!(read(&text), Some(session));
            text
        });
        let digest = hex::encode(Sha256::digest(texts.collect::<Vec<_>>().join("\n")));
        let known = DIGESTS.last().copied();
        let advice = "the fold has changed: raise VERSION and add its digest";
        assert_eq!(known, Some((VERSION, digest.as_str())), "{advice}");
    }

    #[test]
    fn invalid_and_oversized_snapshots_are_not_used() {
        assert_eq!(read("nonsense"), None);
        assert_eq!(read("{}"), None);
        let long = Session { memory: Some("x".repeat(LONGEST_BYTES)), ..Session::default() };
        assert_eq!(written(&long), None);
    }

    #[test]
    fn calls_that_no_item_shows_are_forgotten() {
        let entries = entries();
        let at = |kind_of: &str| {
            let place = entries.iter().position(|entry| kind(&entry.event) == kind_of).unwrap();
            Session::fold(&entries[..=place])
        };
        let done = Session::fold(&entries[..25]).done;
        assert_eq!(done.len(), 4);
        assert!(at("compacted").done.is_empty(), "their results are summed up");
    }
}
