//! In-process notifications after a commit, for tasks that wait for work. They are only hints:
//! waiting tasks also poll, because other processes cannot notify them.

use parking_lot::{Mutex, MutexGuard};
use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
    time::Duration,
};
use tokio::{sync::Notify, time::Instant};

use super::{leases::acquisition::LeasePermit, metrics::counter::Count};
use crate::journal::ids::{ConversationId, OutboxId};

/// How often a task that waits for work polls.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// How often a running turn reads its journal, where other nodes may write.
const POLL_SHARED: Duration = Duration::from_secs(3);
/// Like [`POLL_SHARED`], if this process is the only writer and notifies of every commit.
const POLL_OWN: Duration = Duration::from_secs(15);

/// Stands for the channel of an outbox row where it is not known. No channel has this name.
pub const ANY_CHANNEL: &str = "";

/// The work that a transaction has made ready.
#[derive(Default)]
pub struct Wakeups {
    pub(super) conversations: Vec<ConversationId>,
    /// The first row that was inserted into the outbox for each conversation.
    pub(super) sends: BTreeMap<ConversationId, InsertedSend>,
    /// Other channels whose outbox may have a row that is due.
    pub(super) outbox: BTreeSet<String>,
    /// What the transaction has claimed for this process.
    pub(super) turns_claimed: Vec<ClaimedWork>,
    pub(super) sends_claimed: Vec<ClaimedWork>,
    /// Held while something was claimed that has not been started.
    pub(super) permit: Option<LeasePermit>,
    /// Whether a row of the outbox has ended.
    pub(super) sent: bool,
    /// How soon a conversation that is being debounced becomes ready.
    pub(super) debounced_for: Option<Duration>,
    /// The metrics to record.
    pub(super) counts: Vec<Count>,
}

/// A row of the outbox that a transaction has inserted, and that may be due.
#[derive(Debug)]
pub(super) struct InsertedSend {
    pub id: OutboxId,
    pub channel: String,
}

/// Work on a conversation that a transaction has claimed for this process.
pub(super) struct ClaimedWork {
    conversation: ConversationId,
    start: Box<dyn FnOnce() + Send + Sync>,
}

impl ClaimedWork {
    /// `start` must not block.
    pub fn new(conversation: ConversationId, start: impl FnOnce() + Send + Sync + 'static) -> Self {
        Self { conversation, start: Box::new(start) }
    }

    pub fn start(self) {
        (self.start)();
    }
}

impl Wakeups {
    /// A row of an unknown channel may be due.
    pub(super) fn any_send(&mut self) {
        self.outbox.insert(ANY_CHANNEL.to_owned());
    }

    fn has_unclaimed_turn(&self) -> bool {
        let claimed =
            |id: &ConversationId| self.turns_claimed.iter().any(|turn| turn.conversation == *id);
        !self.conversations.iter().all(claimed)
    }

    /// The channels whose rows have to be claimed.
    fn due_channels(&self) -> BTreeSet<String> {
        let claimed =
            |id: &ConversationId| self.sends_claimed.iter().any(|send| send.conversation == *id);
        let sends = self.sends.iter().filter(|(id, _)| !claimed(id));
        sends.map(|(_, send)| &send.channel).chain(&self.outbox).cloned().collect()
    }
}

#[derive(Debug)]
pub struct Notifier {
    ready: Notify,
    outbox: Notify,
    /// The channels for which `outbox` was notified.
    due: Mutex<BTreeSet<String>>,
    sent: Notify,
    /// When debounced conversations become ready.
    debounced: Mutex<BTreeSet<Instant>>,
    /// The listeners of each conversation. There may be several until an old turn notices that its
    /// lease has expired.
    turns: Mutex<HashMap<ConversationId, Vec<Arc<Notify>>>>,
    poll_journal: Duration,
}

/// Whether other processes may commit to the same database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Writers {
    ThisProcess,
    OtherNodes,
}

impl Notifier {
    pub fn new(writers: Writers) -> Self {
        let poll_journal = match writers {
            Writers::ThisProcess => POLL_OWN,
            Writers::OtherNodes => POLL_SHARED,
        };
        Self {
            ready: Notify::new(),
            outbox: Notify::new(),
            due: Mutex::default(),
            sent: Notify::new(),
            debounced: Mutex::default(),
            turns: Mutex::default(),
            poll_journal,
        }
    }

    pub(super) fn notify(&self, wakeups: &Wakeups) {
        if let Some(wait) = wakeups.debounced_for {
            // The clock that ends the wait counts whole milliseconds.
            self.debounced().insert(Instant::now() + wait + Duration::from_millis(1));
        }
        for conversation in &wakeups.conversations {
            self.turns().get(conversation).into_iter().flatten().for_each(|turn| turn.notify_one());
        }
        if wakeups.has_unclaimed_turn() {
            self.ready.notify_one();
        }
        let due = wakeups.due_channels();
        if !due.is_empty() {
            self.due().extend(due);
            self.outbox.notify_one();
        }
        if wakeups.sent {
            self.sent.notify_one();
        }
    }

    /// Waits until a conversation may be ready.
    pub async fn ready(&self) {
        let looks_at = Instant::now() + LOOK_EVERY;
        let debounced = self.debounced().first().copied();
        let until = debounced.map_or(looks_at, |at| at.min(looks_at));
        let _ = tokio::time::timeout_at(until, self.ready.notified()).await;
        let now = Instant::now();
        self.debounced().retain(|at| *at > now);
    }

    /// Waits until the outbox may have rows.
    pub async fn outbox(&self) {
        let _ = tokio::time::timeout(LOOK_EVERY, self.outbox.notified()).await;
    }

    /// The channels for which this process has committed rows since the last call. A row for
    /// [`ANY_CHANNEL`] may be for each of them.
    pub fn due_channels(&self) -> BTreeSet<String> {
        std::mem::take(&mut *self.due())
    }

    /// Waits until a message may have been sent.
    pub async fn sent(&self) {
        let _ = tokio::time::timeout(LOOK_EVERY, self.sent.notified()).await;
    }

    /// Listens to the events of one conversation, until dropped.
    pub fn listen(self: &Arc<Self>, conversation: &ConversationId) -> Listener {
        let notify = Arc::<Notify>::default();
        self.turns().entry(conversation.clone()).or_default().push(notify.clone());
        Listener { notifier: self.clone(), conversation: conversation.clone(), notify }
    }

    fn due(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.due.lock()
    }

    fn debounced(&self) -> MutexGuard<'_, BTreeSet<Instant>> {
        self.debounced.lock()
    }

    fn turns(&self) -> MutexGuard<'_, HashMap<ConversationId, Vec<Arc<Notify>>>> {
        self.turns.lock()
    }
}

/// Notifies one turn of events of its conversation.
#[derive(Debug)]
pub struct Listener {
    notifier: Arc<Notifier>,
    conversation: ConversationId,
    notify: Arc<Notify>,
}

impl Listener {
    /// Waits until something may have happened.
    pub async fn changed(&self) {
        let _ = tokio::time::timeout(self.notifier.poll_journal, self.notify.notified()).await;
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let mut turns = self.notifier.turns();
        let Some(listeners) = turns.get_mut(&self.conversation) else { return };
        listeners.retain(|notify| !Arc::ptr_eq(notify, &self.notify));
        if listeners.is_empty() {
            turns.remove(&self.conversation);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt as _;

    /// Dropping the listener of an old turn does not affect that of a newer one.
    /// Proves F1.
    #[tokio::test]
    async fn every_listener_is_notified_until_it_is_dropped() {
        let (notifier, id) =
            (Arc::new(Notifier::new(Writers::OtherNodes)), ConversationId("c".into()));
        let (old, new) = (notifier.listen(&id), notifier.listen(&id));
        let wakeups = Wakeups { conversations: vec![id.clone()], ..Wakeups::default() };
        notifier.notify(&wakeups);
        for listener in [&old, &new] {
            assert!(listener.notify.notified().now_or_never().is_some());
        }
        drop(old);
        notifier.notify(&wakeups);
        assert!(new.notify.notified().now_or_never().is_some());
        drop(new);
        assert!(notifier.turns().is_empty());
    }

    /// Each end of a debounce wakes the waiting tasks in time.
    /// Proves M9.
    #[tokio::test]
    async fn a_waiting_task_is_notified_when_the_debounce_ends() {
        let notifier = Notifier::new(Writers::OtherNodes);
        let begun = Instant::now();
        for ms in [40, 80] {
            let debounced_for = Some(Duration::from_millis(ms));
            notifier.notify(&Wakeups { debounced_for, ..Wakeups::default() });
        }
        for ms in [40, 80] {
            notifier.ready().await;
            assert!(begun.elapsed() >= Duration::from_millis(ms));
        }
        assert!(begun.elapsed() < LOOK_EVERY, "{:?}", begun.elapsed());
    }
}
