//! The in-process bell: rung after a commit, for whoever waits for work. Only a hint: whoever waits
//! also looks from time to time, because other processes cannot ring.

use std::{
    collections::{BTreeSet, HashMap},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::{sync::Notify, time::Instant};

use super::counter::Count;
use crate::journal::ids::ConversationId;

/// How long a waiter for work trusts the bell before it looks by itself.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// How long a turn under way trusts the bell before it reads its journal, where other nodes write.
const POLL_SHARED: Duration = Duration::from_secs(3);
/// The same where this process is the only one: it rings for all that it commits.
const POLL_OWN: Duration = Duration::from_secs(15);

/// What a transaction has made ready.
#[derive(Debug, Default)]
pub struct Rung {
    pub(super) conversations: Vec<ConversationId>,
    pub(super) outbox: bool,
    /// After how long a conversation that waits for more of what was said becomes ready.
    pub(super) settles_in: Option<Duration>,
    /// What is counted with it.
    pub(super) tally: Vec<Count>,
}

#[derive(Debug)]
pub struct Bell {
    ready: Notify,
    outbox: Notify,
    /// When conversations that wait for more become ready.
    settled: Mutex<BTreeSet<Instant>>,
    /// Who listens to each conversation: more than one for as long as an old turn has not noticed
    /// that its lease has expired.
    turns: Mutex<HashMap<ConversationId, Vec<Arc<Notify>>>>,
    poll_journal: Duration,
}

/// Whether other processes may commit to the same database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Writers {
    ThisProcess,
    OtherNodes,
}

impl Bell {
    pub fn new(writers: Writers) -> Self {
        let poll_journal = match writers {
            Writers::ThisProcess => POLL_OWN,
            Writers::OtherNodes => POLL_SHARED,
        };
        Self {
            ready: Notify::new(),
            outbox: Notify::new(),
            settled: Mutex::default(),
            turns: Mutex::default(),
            poll_journal,
        }
    }

    pub(super) fn ring(&self, rung: &Rung) {
        if let Some(wait) = rung.settles_in {
            // The clock that says when it is over counts whole milliseconds.
            self.settled().insert(Instant::now() + wait + Duration::from_millis(1));
        }
        for conversation in &rung.conversations {
            self.turns().get(conversation).into_iter().flatten().for_each(|turn| turn.notify_one());
        }
        if !rung.conversations.is_empty() {
            self.ready.notify_one();
        }
        if rung.outbox {
            self.outbox.notify_one();
        }
    }

    /// Waits until some conversation may be ready to be advanced.
    pub async fn ready(&self) {
        let looks_at = Instant::now() + LOOK_EVERY;
        let settled = self.settled().first().copied();
        let until = settled.map_or(looks_at, |at| at.min(looks_at));
        let _ = tokio::time::timeout_at(until, self.ready.notified()).await;
        let now = Instant::now();
        self.settled().retain(|at| *at > now);
    }

    /// Waits until something may be waiting in the outbox.
    pub async fn outbox(&self) {
        let _ = tokio::time::timeout(LOOK_EVERY, self.outbox.notified()).await;
    }

    /// Hears what happens in one conversation, until it is dropped.
    pub fn listen(self: &Arc<Self>, conversation: &ConversationId) -> Listener {
        let heard = Arc::<Notify>::default();
        self.turns().entry(conversation.clone()).or_default().push(heard.clone());
        Listener { bell: self.clone(), conversation: conversation.clone(), heard }
    }

    fn settled(&self) -> MutexGuard<'_, BTreeSet<Instant>> {
        self.settled.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn turns(&self) -> MutexGuard<'_, HashMap<ConversationId, Vec<Arc<Notify>>>> {
        self.turns.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What one turn waits with for news of its conversation.
#[derive(Debug)]
pub struct Listener {
    bell: Arc<Bell>,
    conversation: ConversationId,
    heard: Arc<Notify>,
}

impl Listener {
    /// Waits until something may have happened.
    pub async fn news(&self) {
        let _ = tokio::time::timeout(self.bell.poll_journal, self.heard.notified()).await;
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let mut turns = self.bell.turns();
        let Some(listeners) = turns.get_mut(&self.conversation) else { return };
        listeners.retain(|heard| !Arc::ptr_eq(heard, &self.heard));
        if listeners.is_empty() {
            turns.remove(&self.conversation);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt as _;

    /// The end of an old turn leaves the newer one its bell.
    /// Proves F1.
    #[tokio::test]
    async fn every_listener_is_rung_until_it_is_dropped() {
        let (bell, id) = (Arc::new(Bell::new(Writers::OtherNodes)), ConversationId("c".into()));
        let (old, new) = (bell.listen(&id), bell.listen(&id));
        let rung = Rung { conversations: vec![id.clone()], ..Rung::default() };
        bell.ring(&rung);
        for listener in [&old, &new] {
            assert!(listener.heard.notified().now_or_never().is_some());
        }
        drop(old);
        bell.ring(&rung);
        assert!(new.heard.notified().now_or_never().is_some());
        drop(new);
        assert!(bell.turns().is_empty());
    }

    /// The end of a wait for more is heard when it comes, the next one too.
    /// Proves M9.
    #[tokio::test]
    async fn the_bell_rings_when_a_wait_ends() {
        let bell = Bell::new(Writers::OtherNodes);
        let begun = Instant::now();
        for ms in [40, 80] {
            let settles_in = Some(Duration::from_millis(ms));
            bell.ring(&Rung { settles_in, ..Rung::default() });
        }
        for ms in [40, 80] {
            bell.ready().await;
            assert!(begun.elapsed() >= Duration::from_millis(ms));
        }
        assert!(begun.elapsed() < LOOK_EVERY, "{:?}", begun.elapsed());
    }
}
