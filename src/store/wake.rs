//! The in-process bell: rung after a commit, for whoever waits for work. Only a hint: whoever waits
//! also looks from time to time, because other processes cannot ring.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::sync::Notify;

use crate::journal::ids::ConversationId;

/// How long a waiter for work trusts the bell before it looks by itself.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// How long a turn under way trusts the bell before it looks into its journal.
const TURN_LOOKS_EVERY: Duration = Duration::from_secs(3);

/// What a transaction has made ready.
#[derive(Debug, Default)]
pub struct Rung {
    pub(super) conversations: Vec<ConversationId>,
    pub(super) outbox: bool,
}

#[derive(Debug, Default)]
pub struct Bell {
    ready: Notify,
    outbox: Notify,
    turns: Mutex<HashMap<ConversationId, Arc<Notify>>>,
}

impl Bell {
    pub(super) fn ring(&self, rung: &Rung) {
        for conversation in &rung.conversations {
            if let Some(turn) = self.turns().get(conversation) {
                turn.notify_one();
            }
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
        let _ = tokio::time::timeout(LOOK_EVERY, self.ready.notified()).await;
    }

    /// Waits until something may be waiting in the outbox.
    pub async fn outbox(&self) {
        let _ = tokio::time::timeout(LOOK_EVERY, self.outbox.notified()).await;
    }

    /// Hears what happens in one conversation, until it is dropped.
    pub fn listen(self: &Arc<Self>, conversation: &ConversationId) -> Listener {
        let heard = self.turns().entry(conversation.clone()).or_default().clone();
        Listener { bell: self.clone(), conversation: conversation.clone(), heard }
    }

    fn turns(&self) -> MutexGuard<'_, HashMap<ConversationId, Arc<Notify>>> {
        self.turns.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One turn's ear.
#[derive(Debug)]
pub struct Listener {
    bell: Arc<Bell>,
    conversation: ConversationId,
    heard: Arc<Notify>,
}

impl Listener {
    /// Waits until something may have happened.
    pub async fn news(&self) {
        let _ = tokio::time::timeout(TURN_LOOKS_EVERY, self.heard.notified()).await;
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.bell.turns().remove(&self.conversation);
    }
}
