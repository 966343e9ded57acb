//! Caches folded sessions in memory. The journal is append-only, so a folded session stays valid
//! and the worker only reads the events after it. A session that is not in memory is loaded from
//! its stored snapshot.

use anyhow::Result;
use hashlink::LinkedHashMap;
use parking_lot::{Mutex, MutexGuard};
use serde_json::Value;
use std::time::Duration;
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::{
    journal::{
        event::{Attachment, Call, Entry, Event, Speaker},
        ids::ConversationId,
        session::{
            CallState, Item, OpenCall, RepliedCall, Session, TurnUsage,
            messages::{FileState, SentFile},
        },
    },
    store::{
        Store,
        conversations::snapshots::{Folded, PAGE, Stored},
        leases::Lease,
    },
};

/// The metric that counts the events read to bring sessions up to date.
pub const EVENTS_READ: &str = "countersign_events_read_total";

/// The approximate maximum size of all cached sessions.
const BUDGET_BYTES: usize = 64 * 1024 * 1024;
/// The number of events after which a new snapshot is stored at the end of a turn.
const SNAPSHOT_EVERY: usize = 100;

/// The approximate maximum size of all running turns, in bytes.
const FLIGHT_BYTES: usize = 1024 * 1024 * 1024;
/// The number of bytes per permit of [`SessionCache::flight`].
const UNIT_BYTES: usize = 1024;
/// The number of copies in a turn: the session, the prompt, the redacted prompt, and the request.
const COPIES: usize = 4;
/// How long a turn waits for memory before its conversation is released for another node.
const WAITS_FOR: Duration = Duration::from_secs(30);

/// The most recently used sessions, and the memory limit for those in use.
pub struct SessionCache {
    kept: Mutex<CachedSessions>,
    flight: Semaphore,
    flight_bytes: usize,
}

impl Default for SessionCache {
    fn default() -> Self {
        Self::with_flight_bytes(FLIGHT_BYTES)
    }
}

#[derive(Default)]
struct CachedSessions {
    /// The most recently used session is last.
    sessions: LinkedHashMap<ConversationId, (Folded, usize)>,
    bytes: usize,
}

impl SessionCache {
    fn with_flight_bytes(flight_bytes: usize) -> Self {
        let flight = Semaphore::new(flight_bytes / UNIT_BYTES);
        Self { kept: Mutex::default(), flight, flight_bytes }
    }

    /// Takes a session out of the cache, or loads its snapshot.
    pub(super) async fn take(&self, store: &Store, lease: &Lease) -> Result<Folded> {
        match self.take_kept(lease.conversation()) {
            Some(folded) => Ok(folded),
            None => store.stored_session(lease.conversation()).await,
        }
    }

    /// Waits until a turn on this session fits into memory. Returns `None` on timeout.
    pub(super) async fn reserve(&self, session: &Session) -> Option<SemaphorePermit<'_>> {
        let bytes = (weight(session) * COPIES).min(self.flight_bytes);
        let units = u32::try_from(bytes.div_ceil(UNIT_BYTES)).ok()?;
        let room = tokio::time::timeout(WAITS_FOR, self.flight.acquire_many(units)).await;
        room.ok().map(|room| room.expect("never closed"))
    }

    /// Keeps a session for the next turn. Stores a snapshot if many events have been added since
    /// the last one.
    pub(super) async fn keep(&self, store: &Store, lease: &Lease, mut folded: Folded) {
        let conversation = lease.conversation();
        if folded.stored.unsaved >= SNAPSHOT_EVERY {
            match store.store_session(conversation, &mut folded).await {
                Ok(true) => {}
                // Another node has stored a snapshot, or something was erased. The session must be
                // loaded again.
                Ok(false) => return,
                Err(problem) => {
                    let problem = format!("{problem:#}");
                    tracing::warn!(
                        conversation.id = %conversation, problem,
                        "could not store a snapshot"
                    );
                }
            }
        }
        self.keep_within(BUDGET_BYTES, conversation, folded);
    }

    fn take_kept(&self, conversation: &ConversationId) -> Option<Folded> {
        let mut kept = self.kept();
        let (folded, weight) = kept.sessions.remove(conversation)?;
        kept.bytes -= weight;
        Some(folded)
    }

    fn keep_within(&self, budget: usize, conversation: &ConversationId, folded: Folded) {
        let weight = weight(&folded.session);
        let mut kept = self.kept();
        if let Some((_, old)) = kept.sessions.remove(conversation) {
            kept.bytes -= old;
        }
        if weight > budget {
            return;
        }
        kept.bytes += weight;
        kept.sessions.insert(conversation.clone(), (folded, weight));
        while kept.bytes > budget {
            let Some((_, (_, freed))) = kept.sessions.pop_front() else { break };
            kept.bytes -= freed;
        }
    }

    fn kept(&self) -> MutexGuard<'_, CachedSessions> {
        self.kept.lock()
    }
}

/// Applies new events, and passes each to `hear`.
pub(super) async fn catch_up(
    store: &Store,
    conversation: &ConversationId,
    session: &mut Session,
    stored: &mut Stored,
    mut notify: impl FnMut(&Entry),
) -> Result<()> {
    loop {
        let entries = store.next_events(conversation, session.seq).await?;
        metrics::counter!(EVENTS_READ).increment(entries.len() as u64);
        for entry in &entries {
            session.apply(entry);
            notify(entry);
            // Earlier events are no longer needed and must not stay in a snapshot.
            let restarted = matches!(entry.event, Event::Restarted { .. });
            stored.unsaved += if restarted { SNAPSHOT_EVERY } else { 1 };
        }
        if entries.len() < PAGE {
            return Ok(());
        }
    }
}

/// The overhead of an entry of a list or map, in addition to its texts.
const EACH: usize = 256;

/// The approximate size of a session. The pattern names each field, so that none is forgotten.
pub(super) fn weight(session: &Session) -> usize {
    let Session {
        items,
        calls,
        enabled,
        allowed,
        seen,
        requester,
        joined,
        turn,
        taint,
        untrusted,
        sent,
        pinned,
        done,
        answers,
        uncached,
        used,
        remarks,
        memory,
        model,
        seq: _,
        said_upto: _,
        said_at: _,
        answered_upto: _,
        reminded_upto: _,
        prepared: _,
        job: _,
    } = session;
    let TurnUsage { asking, .. } = turn;
    let texts = [enabled, taint, pinned].into_iter().flatten();
    let pairs = seen.iter().chain(sent).map(|(key, value)| EACH + key.len() + value.len());
    EACH + items.iter().map(of_item).sum::<usize>()
        + calls.iter().map(of_open).sum::<usize>()
        + texts.chain(untrusted).map(|text| EACH + text.len()).sum::<usize>()
        + pairs.sum::<usize>()
        + requester.iter().chain(joined).map(of_speaker).sum::<usize>()
        + remarks.values().flatten().map(|text| EACH + text.len()).sum::<usize>()
        + memory.iter().chain(model).map(String::len).sum::<usize>()
        + EACH * (allowed.len() + asking.len() + used.len())
        + EACH * (done.len() + answers.len() + uncached.len())
}

fn of_item(item: &Item) -> usize {
    EACH + match item {
        Item::Said { by, text, message, files, .. } => {
            let files = files.iter().map(of_file).sum::<usize>();
            of_speaker(by) + text.len() + message.len() + files
        }
        Item::Summary { text } | Item::Note { text, .. } => text.len(),
        Item::Replied { text, calls, .. } => {
            let calls = calls.iter().map(|RepliedCall { call, result }| {
                of_call(call) + result.as_ref().map_or(0, String::len)
            });
            text.len() + calls.sum::<usize>()
        }
        Item::Looked { view, .. } => of_attachment(view),
    }
}

fn of_open(open: &OpenCall) -> usize {
    let state = match &open.state {
        CallState::Asked { digest, .. } | CallState::Decided { digest, .. } => digest.len(),
        _ => 0,
    };
    of_call(&open.call) + state
}

fn of_call(call: &Call) -> usize {
    EACH + call.tool.len() + call.model_id.len() + of_value(&call.arguments)
}

fn of_speaker(by: &Speaker) -> usize {
    by.id.len() + by.name.len()
}

fn of_file(sent: &SentFile) -> usize {
    let state = match &sent.state {
        FileState::Waiting => 0,
        FileState::Taken { path, attachment, view, text } => {
            let view = view.as_deref().map_or(0, of_attachment);
            let text = text.as_deref().map_or(0, str::len);
            path.len() + of_attachment(attachment) + view + text
        }
        FileState::Lost { reason } => reason.len(),
    };
    EACH + sent.file.id.len() + sent.file.name.len() + state
}

fn of_attachment(file: &Attachment) -> usize {
    let caption = file.caption.as_deref().map_or(0, str::len);
    file.name.len() + file.media_type.len() + file.digest.len() + caption
}

fn of_value(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len() + 24,
        Value::Array(items) => items.iter().map(of_value).sum::<usize>() + 24,
        Value::Object(fields) => {
            fields.iter().map(|(name, value)| name.len() + of_value(value) + 48).sum::<usize>() + 24
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => 24,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::{
        event::{ApprovalPurpose, Decider},
        ids::CallId,
        session::ConversationPermission,
    };
    use channels::FileRef;
    use serde_json::json;

    fn session(seq: i64, text: &str) -> Folded {
        let by = Speaker { id: "1".into(), name: "Ann".into() };
        let items = vec![Item::Said {
            seq,
            by,
            text: text.into(),
            message: String::new(),
            files: Vec::new(),
        }];
        let session = Session { seq, items, ..Session::default() };
        Folded { session, stored: Stored::default() }
    }

    fn keep(sessions: &SessionCache, n: i64, text: &str) {
        sessions.keep_within(20_000, &ConversationId(n.to_string()), session(n, text));
    }

    #[test]
    fn a_cached_session_is_taken_once() {
        let (sessions, id) = (SessionCache::default(), ConversationId("7".into()));
        assert_eq!(sessions.take_kept(&id), None);
        keep(&sessions, 7, "one");
        keep(&sessions, 7, "two");
        assert_eq!(sessions.take_kept(&id), Some(session(7, "two")));
        assert_eq!(sessions.take_kept(&id), None);
        assert_eq!(sessions.kept().bytes, 0);
    }

    /// The cache is bounded and evicts the least recently used session. A session that exceeds the
    /// bound is neither cached nor evicts others.
    /// Proves O4.
    #[test]
    fn the_budget_holds() {
        let sessions = SessionCache::default();
        for n in 0..100 {
            keep(&sessions, n, &"x".repeat(1_000));
            assert!(sessions.kept().bytes <= 20_000);
        }
        keep(&sessions, 7, &"x".repeat(30_000));
        assert_eq!(sessions.take_kept(&ConversationId("7".into())), None);
        assert!(sessions.take_kept(&ConversationId("99".into())).is_some());
        assert_eq!(sessions.take_kept(&ConversationId("0".into())), None, "it went first");
    }

    /// Sessions that fill the bound exactly are cached.
    /// Proves O4.
    #[test]
    fn the_whole_budget_is_used() {
        let [one, two] = ["1", "2"].map(|id| ConversationId(id.to_owned()));
        let each = weight(&session(1, "hello").session);
        for (budget, kept) in [(each - 1, [false, false]), (each, [false, true])] {
            let sessions = SessionCache::default();
            for id in [&one, &two] {
                sessions.keep_within(budget, id, session(1, "hello"));
            }
            assert_eq!([&one, &two].map(|id| sessions.take_kept(id).is_some()), kept, "{budget}");
        }
        let sessions = SessionCache::default();
        for id in [&one, &two] {
            sessions.keep_within(2 * each, id, session(1, "hello"));
        }
        assert_eq!(sessions.kept().bytes, 2 * each);
        assert!([&one, &two].iter().all(|id| sessions.take_kept(id).is_some()));
        assert_eq!(sessions.kept().bytes, 0);
    }

    /// Running turns are bounded by size. Large ones wait for each other, and the largest one still
    /// runs.
    /// Proves O4.
    #[tokio::test(start_paused = true)]
    async fn heavy_turns_wait_for_each_other() {
        let bytes = 1024 * 1024;
        let sessions = SessionCache::with_flight_bytes(bytes);
        let heavy = session(1, &"x".repeat(bytes / 8)).session;
        let first = sessions.reserve(&heavy).await.expect("there is room");
        assert!(sessions.reserve(&heavy).await.is_none(), "not beside the first");
        let light = sessions.reserve(&session(1, "hello").session).await;
        assert!(light.is_some(), "a light one has room");
        drop((first, light));
        let heaviest = session(1, &"x".repeat(bytes / 2)).session;
        assert!(sessions.reserve(&heaviest).await.is_some());
    }

    /// Every field that can grow counts, about as much as it grows.
    /// Proves O4.
    #[test]
    fn every_field_has_weight() {
        let Folded { session: plain, .. } = session(1, "");
        let speaker = || Speaker { id: long(), name: String::new() };
        for grown in [
            Session { memory: Some(long()), ..plain.clone() },
            Session { model: Some(long()), ..plain.clone() },
            Session { taint: vec![long()], ..plain.clone() },
            Session { untrusted: [long()].into(), ..plain.clone() },
            Session { sent: [(long(), "1".to_owned())].into(), ..plain.clone() },
            Session { pinned: vec![long()], ..plain.clone() },
            Session { requester: Some(speaker()), ..plain.clone() },
            Session { joined: vec![speaker()], ..plain.clone() },
            Session {
                done: (0..40).map(|n| n.to_string().as_str().into()).collect(),
                ..plain.clone()
            },
            Session { used: (0..40).map(|n| (n.to_string(), 1)).collect(), ..plain.clone() },
        ] {
            assert_grown_by_10_000(weight(&grown) - weight(&plain));
        }
        for grown in sessions_with_many(&plain) {
            assert_grown_by_10_000(weight(&grown) - weight(&plain));
        }
        for item in items().into_iter().chain(messages()) {
            let grown = Session { items: vec![item], ..Session::default() };
            assert_grown_by_10_000(weight(&grown) - weight(&Session::default()));
        }
        let (asks, digest) = (ApprovalPurpose::Allow, long());
        let asked = CallState::Asked { approval: "a".into(), asks, digest };
        for open in [
            OpenCall { call: call(json!({}), &long()), state: CallState::New },
            OpenCall { call: call(json!({}), ""), state: asked },
            OpenCall { call: Call { tool: long(), ..call(json!({}), "") }, state: CallState::New },
        ] {
            let grown = Session { calls: vec![open], ..Session::default() };
            assert_grown_by_10_000(weight(&grown) - weight(&Session::default()));
        }
    }

    /// Sessions in which one field has many entries, or a long text in a list of them.
    fn sessions_with_many(plain: &Session) -> Vec<Session> {
        let calls = || (0..40).map(|n| CallId::from(n.to_string().as_str()));
        let permission = ConversationPermission {
            person: "1".into(),
            tool: "t".into(),
            approval: "a".into(),
            by: Decider::Timeout,
        };
        let turn = TurnUsage { asking: calls().collect(), ..TurnUsage::default() };
        vec![
            Session { answers: calls().collect(), ..plain.clone() },
            Session { uncached: calls().collect(), ..plain.clone() },
            Session { allowed: vec![permission; 40], ..plain.clone() },
            Session { turn, ..plain.clone() },
            Session { enabled: vec![long()], ..plain.clone() },
            Session { seen: [(long(), "digest".to_owned())].into(), ..plain.clone() },
            Session { seen: [("path".to_owned(), long())].into(), ..plain.clone() },
            Session { remarks: [("1".into(), vec![long()])].into(), ..plain.clone() },
        ]
    }

    fn long() -> String {
        "x".repeat(10_000)
    }

    fn call(arguments: Value, model_id: &str) -> Call {
        Call { id: "1".into(), model_id: model_id.to_owned(), tool: "t".into(), arguments }
    }

    /// Items with one long text each.
    fn items() -> Vec<Item> {
        let attachment = |caption: Option<String>| Attachment {
            name: "a".into(),
            media_type: "image/png".into(),
            size_bytes: 1,
            digest: "d".into(),
            caption: caption.map(Into::into),
        };
        let sent = |name: String, state| {
            let id = "1".into();
            let file = FileRef { id, name, media_type: None, size_bytes: None, is_voice: false };
            let files = vec![SentFile { seq: 1, file, prompt: None, state }];
            let (by, text) = (Speaker { id: "1".into(), name: "Ann".into() }, String::new());
            Item::Said { seq: 1, by, text, message: String::new(), files }
        };
        let taken = |path: String, caption, view: Option<String>, text| FileState::Taken {
            path,
            attachment: attachment(caption),
            view: view.map(|long| Box::new(attachment(Some(long)))),
            text,
        };
        let replied = |arguments, result: Option<String>| {
            let calls = vec![RepliedCall { call: call(arguments, ""), result }];
            Item::Replied { upto: 1, text: String::new(), calls }
        };
        vec![
            sent(long(), FileState::Waiting),
            sent(String::new(), FileState::Lost { reason: long() }),
            sent(String::new(), taken(long(), None, None, None)),
            sent(String::new(), taken(String::new(), Some(long()), None, None)),
            sent(String::new(), taken(String::new(), None, Some(long()), None)),
            sent(String::new(), taken(String::new(), None, None, Some(long()))),
            replied(json!({}), Some(long())),
            replied(json!({ "a": long() }), None),
            replied(json!({ long(): 1 }), None),
            replied(json!({ "list": [1, [long()], null, []], "a": null, "b": "" }), None),
            Item::Replied { upto: 1, text: long(), calls: vec![] },
            Item::Summary { text: long() },
            Item::Note { seq: 1, text: long() },
            Item::Looked { seq: 1, view: attachment(Some(long())) },
            Item::Looked { seq: 1, view: Attachment { name: long(), ..attachment(None) } },
            Item::Looked { seq: 1, view: Attachment { digest: long(), ..attachment(None) } },
        ]
    }

    /// Messages with a long text, a long id, and a file with a long id.
    fn messages() -> Vec<Item> {
        let by = || Speaker { id: "1".into(), name: "Ann".into() };
        let said = |text: String, message: String| Item::Said {
            seq: 1,
            by: by(),
            text,
            message,
            files: vec![],
        };
        let (name, state) = (String::new(), FileState::Waiting);
        let file =
            FileRef { id: long(), name, media_type: None, size_bytes: None, is_voice: false };
        let files = vec![SentFile { seq: 1, file, prompt: None, state }];
        vec![
            said(long(), String::new()),
            said("x".into(), long()),
            Item::Said { seq: 1, by: by(), text: String::new(), message: String::new(), files },
        ]
    }

    #[track_caller]
    fn assert_grown_by_10_000(bytes: usize) {
        assert!((10_000..13_000).contains(&bytes), "{bytes}");
    }
}
