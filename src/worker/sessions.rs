//! Conversations as they were folded last: only a cache. The journal is never changed, so what was
//! folded stays true; whoever takes a session out reads on from where it ends.

use hashlink::LinkedHashMap;
use serde_json::Value;
use std::sync::{Mutex, PoisonError};

use crate::journal::{
    ids::ConversationId,
    session::{Item, Session},
};

/// What all that is kept weighs at most, roughly.
const BUDGET_BYTES: usize = 64 * 1024 * 1024;

/// The sessions that were used last.
#[derive(Default)]
pub struct Sessions {
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    /// The one that was used last stands last.
    sessions: LinkedHashMap<ConversationId, (Session, usize)>,
    bytes: usize,
}

impl Sessions {
    /// Takes it out; an empty one, if none is kept.
    pub(super) fn take(&self, conversation: &ConversationId) -> Session {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((session, weight)) = kept.sessions.remove(conversation) else {
            return Session::default();
        };
        kept.bytes -= weight;
        session
    }

    pub(super) fn keep(&self, conversation: &ConversationId, session: Session) {
        self.keep_within(BUDGET_BYTES, conversation, session);
    }

    fn keep_within(&self, budget: usize, conversation: &ConversationId, session: Session) {
        let weight = weight(&session);
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.bytes += weight;
        if let Some((_, old)) = kept.sessions.insert(conversation.clone(), (session, weight)) {
            kept.bytes -= old;
        }
        while kept.bytes > budget {
            let Some((_, (_, freed))) = kept.sessions.pop_front() else { break };
            kept.bytes -= freed;
        }
    }
}

/// A little more than the texts: names, ids and places have some weight too.
fn weight(session: &Session) -> usize {
    const EACH: usize = 256;
    let items = session.items.iter().map(|item| match item {
        Item::Said { text, .. } | Item::Summary { text } | Item::Note { text, .. } => {
            EACH + text.len()
        }
        Item::Replied { text, calls, .. } => {
            let call = |(call, result): &(crate::journal::event::Call, Option<String>)| {
                EACH + size(&call.arguments) + result.as_ref().map_or(0, String::len)
            };
            EACH + text.len() + calls.iter().map(call).sum::<usize>()
        }
        Item::Looked { .. } => EACH,
    });
    let calls = session.calls.iter().map(|open| EACH + size(&open.call.arguments));
    let pinned = session.pinned.iter().map(String::len);
    EACH + items.sum::<usize>()
        + calls.sum::<usize>()
        + pinned.sum::<usize>()
        + EACH * session.seen.len()
}

fn size(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len() + 24,
        Value::Array(items) => items.iter().map(size).sum::<usize>() + 24,
        Value::Object(fields) => {
            fields.iter().map(|(name, value)| name.len() + size(value) + 48).sum::<usize>() + 24
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => 24,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::event::Speaker;

    fn session(seq: i64, text: &str) -> Session {
        let by = Speaker { id: "1".into(), name: "Ann".into() };
        let items = vec![Item::Said {
            seq,
            by,
            text: text.into(),
            message: String::new(),
            files: Vec::new(),
        }];
        Session { seq, items, ..Session::default() }
    }

    #[test]
    fn what_is_kept_is_taken_out_once() {
        let (sessions, id) = (Sessions::default(), ConversationId("a".into()));
        assert_eq!(sessions.take(&id), Session::default());
        sessions.keep(&id, session(1, "one"));
        sessions.keep(&id, session(2, "two"));
        assert_eq!(sessions.take(&id), session(2, "two"));
        assert_eq!(sessions.take(&id), Session::default());
        assert_eq!(sessions.kept.lock().unwrap().bytes, 0);
    }

    /// O4: bounded, the longest unused goes first; one that is too large by itself is not kept.
    #[test]
    fn the_budget_holds() {
        let sessions = Sessions::default();
        let id = |n: i64| ConversationId(n.to_string());
        for n in 0..100 {
            sessions.keep_within(20_000, &id(n), session(n, &"x".repeat(1_000)));
            assert!(sessions.kept.lock().unwrap().bytes <= 20_000);
        }
        assert_eq!(sessions.take(&id(99)).seq, 99);
        assert_eq!(sessions.take(&id(0)).seq, 0, "an empty one");
        sessions.keep_within(20_000, &id(7), session(7, &"x".repeat(30_000)));
        assert_eq!(sessions.take(&id(7)), Session::default());
    }
}
