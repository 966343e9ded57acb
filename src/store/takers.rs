//! Claims in the transactions that make work ready: a new message is claimed by the transaction that
//! stores it, and an answer by the one that records it, so that a turn needs no commits of its own for
//! its claims.
//!
//! The loops that claim and run such work register here. What a transaction does not claim, because
//! it is not due, has a holder or has no permit, is left to them.

use anyhow::Result;
use chrono::{DateTime, Utc};
use parking_lot::Mutex;
use std::{
    ops::RangeInclusive,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::{
    Store, Tx,
    leases::{
        Claimed,
        acquisition::Acquisition,
        claim::{Claimant, claim_one},
    },
    outbox::{due::SendClaim, inserted::claim_inserted, sending::Sending},
    wake::ClaimedWork,
};
use crate::clock::Clock;

/// Runs conversations that are claimed for this process.
pub struct TurnTaker {
    /// One for each turn.
    pub permits: Arc<Semaphore>,
    /// The clock for debouncing.
    pub clock: Arc<dyn Clock>,
    /// Must not block.
    pub start: Box<dyn Fn(Claimed, OwnedSemaphorePermit) + Send + Sync>,
}

/// Gives a permit to send on a channel.
pub type GivePermit = Box<dyn Fn(&str) -> Option<OwnedSemaphorePermit> + Send + Sync>;

/// Sends rows of the outbox that are claimed for this process.
pub struct SendTaker {
    /// Gives a permit if a row may be sent on the channel now. Must not block.
    pub permit: GivePermit,
    /// The clock for retries.
    pub clock: Arc<dyn Clock>,
    /// Must not block.
    pub start: Box<dyn Fn(Sending, OwnedSemaphorePermit) + Send + Sync>,
}

/// What is registered.
#[derive(Clone, Default)]
pub(super) struct Takers(Arc<Mutex<Registered>>);

#[derive(Clone, Default)]
struct Registered {
    turns: Option<Arc<TurnTaker>>,
    sends: Option<Arc<SendTaker>>,
}

/// Ends a registration when it is dropped.
#[must_use]
pub struct Registration {
    takers: Takers,
    of: Registered,
}

impl Drop for Registration {
    fn drop(&mut self) {
        let mut registered = self.takers.0.lock();
        // A loop that was restarted may have registered again.
        registered
            .turns
            .take_if(|taker| self.of.turns.as_ref().is_some_and(|of| Arc::ptr_eq(of, taker)));
        registered
            .sends
            .take_if(|taker| self.of.sends.as_ref().is_some_and(|of| Arc::ptr_eq(of, taker)));
    }
}

/// The claims that a transaction may make at its end.
#[derive(Clone)]
pub(super) struct CommitClaims {
    takers: Registered,
    acquisition: Acquisition,
    claimant: Claimant,
    between: RangeInclusive<i64>,
    has_claimed: Arc<AtomicBool>,
}

impl Store {
    /// Runs conversations through `taker` as soon as they are ready, until the result is dropped.
    pub fn take_turns(&self, taker: TurnTaker) -> Registration {
        let taker = Arc::new(taker);
        self.takers.0.lock().turns = Some(taker.clone());
        let of = Registered { turns: Some(taker), sends: None };
        Registration { takers: self.takers.clone(), of }
    }

    /// Sends rows of the outbox through `taker` as soon as they are due, until the result is dropped.
    pub fn take_sends(&self, taker: SendTaker) -> Registration {
        let taker = Arc::new(taker);
        self.takers.0.lock().sends = Some(taker.clone());
        let of = Registered { turns: None, sends: Some(taker) };
        Registration { takers: self.takers.clone(), of }
    }

    /// `None` if nothing takes work, or while this node must renew leases before it claims.
    pub(super) fn commit_claims(&self) -> Option<CommitClaims> {
        let takers = self.takers.0.lock().clone();
        if takers.turns.is_none() && takers.sends.is_none() {
            return None;
        }
        Some(CommitClaims {
            takers,
            acquisition: self.claims.clone(),
            claimant: self.claimant(),
            between: self.held.claims_between(self.term_ms())?,
            has_claimed: Arc::default(),
        })
    }
}

impl CommitClaims {
    /// Whether the transaction tried to claim something.
    pub fn has_claimed(&self) -> bool {
        self.has_claimed.load(Ordering::Relaxed)
    }

    /// Claims what the transaction has made ready.
    pub async fn claim(&self, tx: &mut Tx<'_>) -> Result<()> {
        if tx.wakeups.conversations.is_empty() && tx.wakeups.sends.is_empty() {
            return Ok(());
        }
        // Until the transaction has ended and the work is started, the node does not release its
        // leases.
        let Some(permit) = self.acquisition.try_permit() else { return Ok(()) };
        tx.wakeups.permit = Some(permit);
        self.has_claimed.store(true, Ordering::Relaxed);
        if let Some(taker) = &self.takers.turns {
            self.claim_turns(tx, taker).await?;
        }
        if let Some(taker) = &self.takers.sends {
            self.claim_sends(tx, taker).await?;
        }
        Ok(())
    }

    async fn claim_turns(&self, tx: &mut Tx<'_>, taker: &Arc<TurnTaker>) -> Result<()> {
        let mut ready = std::mem::take(&mut tx.wakeups.conversations);
        ready.sort_unstable();
        ready.dedup();
        for conversation in &ready {
            let Ok(permit) = taker.permits.clone().try_acquire_owned() else { break };
            let now = taker.clock.now();
            let claimed = claim_one(tx, &self.claimant, &self.between, conversation, now).await?;
            if let Some(claimed) = claimed {
                let taker = taker.clone();
                let start = move || (taker.start)(claimed, permit);
                tx.wakeups.turns_claimed.push(ClaimedWork::new(conversation.clone(), start));
            }
        }
        tx.wakeups.conversations = ready;
        Ok(())
    }

    async fn claim_sends(&self, tx: &mut Tx<'_>, taker: &Arc<SendTaker>) -> Result<()> {
        let inserted = std::mem::take(&mut tx.wakeups.sends);
        for send in inserted.values() {
            let Some(permit) = (taker.permit)(&send.channel) else { continue };
            let claim = self.send_claim(taker.clock.now());
            if let Some(sending) = claim_inserted(tx, &claim, &self.between, send).await? {
                let (taker, conversation) = (taker.clone(), sending.conversation.clone());
                let start = move || (taker.start)(sending, permit);
                tx.wakeups.sends_claimed.push(ClaimedWork::new(conversation, start));
            }
        }
        tx.wakeups.sends = inserted;
        Ok(())
    }

    fn send_claim(&self, now: DateTime<Utc>) -> SendClaim {
        let Claimant { node, term, held } = self.claimant.clone();
        SendClaim { node, term_ms: term, held, now }
    }
}

/// Reserves up to `most` permits; `None` if none is free.
pub fn reserve(permits: &Arc<Semaphore>, most: usize) -> Option<OwnedSemaphorePermit> {
    loop {
        let free = permits.available_permits().min(most);
        if free == 0 {
            return None;
        }
        // Another task may have taken some in the meantime.
        if let Ok(reserved) = permits.clone().try_acquire_many_owned(free as u32) {
            return Some(reserved);
        }
    }
}

#[cfg(test)]
mod tests {
    use channels::{Outgoing, Place, PlaceKind};
    use tokio::sync::mpsc;

    use super::*;
    use crate::{
        clock::SystemClock,
        journal::{
            event::{Event, Speaker},
            ids::ConversationId,
        },
        store::{
            conversations::journal,
            outbox,
            scratch::{Scratch, on_postgres, on_sqlite},
        },
    };

    /// A store whose transactions claim for the test.
    struct Taking {
        scratch: Scratch,
        permits: Arc<Semaphore>,
        turns: mpsc::UnboundedReceiver<(Claimed, OwnedSemaphorePermit)>,
        sends: mpsc::UnboundedReceiver<(Sending, OwnedSemaphorePermit)>,
        registrations: Vec<Registration>,
    }

    /// Takes at most `most` turns and sends at once.
    async fn taking(scratch: Scratch, most: usize) -> Taking {
        let store = &scratch.store;
        store.heartbeat().await.unwrap();
        let (permits, clock) = (Arc::new(Semaphore::new(most)), Arc::new(SystemClock));
        let ((turn, turns), (send, sends)) = (mpsc::unbounded_channel(), mpsc::unbounded_channel());
        let turn_taker = TurnTaker {
            permits: permits.clone(),
            clock: clock.clone(),
            start: Box::new(move |claimed, permit| drop(turn.send((claimed, permit)))),
        };
        let free = permits.clone();
        let send_taker = SendTaker {
            permit: Box::new(move |_| free.clone().try_acquire_owned().ok()),
            clock,
            start: Box::new(move |sending, permit| drop(send.send((sending, permit)))),
        };
        let registrations = vec![store.take_turns(turn_taker), store.take_sends(send_taker)];
        Taking { scratch, permits, turns, sends, registrations }
    }

    impl Taking {
        /// Stores a message in a chat, and fails afterwards if it says `fail`.
        async fn said(&self, chat: &str, text: &'static str) -> Result<ConversationId> {
            let place = Place { chat: chat.into(), thread: None, kind: PlaceKind::Private };
            let said = self.scratch.store.write("said", move |tx| {
                Box::pin(async move {
                    let now = SystemClock.now();
                    let conversation = journal::conversation(tx, "tg", &place, now).await?;
                    let by = Speaker { id: "1".into(), name: "Ann".into() };
                    let event = Event::Said { by, text: text.into(), message: "1".into() };
                    journal::append(tx, &conversation, &event, now).await?;
                    anyhow::ensure!(text != "fail", "as the test asked");
                    Ok(conversation)
                })
            });
            said.await
        }

        /// Shows texts in a conversation.
        async fn shown(&self, conversation: &ConversationId, texts: usize) {
            let conversation = conversation.clone();
            let text = Outgoing::Text { markdown: "hello".into(), reply_to: None };
            let shown = self.scratch.store.write("shown", move |tx| {
                Box::pin(async move {
                    let texts = vec![text; texts];
                    outbox::put(tx, &conversation, texts, SystemClock.now()).await
                })
            });
            shown.await.unwrap();
        }

        async fn claims(&self) -> usize {
            self.scratch.store.claim(9, SystemClock.now()).await.unwrap().len()
        }
    }

    /// The transaction that stores a message claims its conversation, and the one that inserts rows
    /// claims the first of them.
    async fn a_transaction_claims_what_it_makes_ready(scratch: Scratch) {
        let mut taking = taking(scratch, 2).await;
        let store = taking.scratch.store.clone();
        // PostgreSQL has a clock of its own, which the conversation may be ahead of for a moment.
        let mut claimed = None;
        for _ in 0..1_000 {
            let conversation = taking.said("1", "hello").await.unwrap();
            if let Ok(turn) = taking.turns.try_recv() {
                claimed = Some((conversation, turn));
                break;
            }
        }
        let (conversation, (claimed, _turn)) = claimed.expect("it is claimed at last");
        assert_eq!(*claimed.lease.conversation(), conversation);
        assert!(store.accepts_writes(&claimed.lease).await.unwrap());
        assert_eq!(taking.claims().await, 0);

        taking.shown(&conversation, 3).await;
        let (sending, _send) = taking.sends.try_recv().unwrap();
        assert_eq!((sending.attempts, &sending.conversation), (1, &conversation));
        taking.sends.try_recv().expect_err("the others wait");
        assert_eq!(taking.permits.available_permits(), 0);
        assert!(store.notifier.due_channels().is_empty(), "nothing is left to claim");
        taking.shown(&conversation, 1).await;
        taking.sends.try_recv().expect_err("it waits for those before it");

        // A conversation that has a holder is not claimed again.
        taking.permits.add_permits(1);
        taking.said("1", "and then?").await.unwrap();
        taking.turns.try_recv().expect_err("it has a holder");
        assert_eq!(taking.permits.available_permits(), 1);
        taking.scratch.end().await;
    }

    #[tokio::test]
    async fn a_transaction_claims_what_it_makes_ready_on_sqlite() {
        a_transaction_claims_what_it_makes_ready(on_sqlite().await).await;
    }

    #[tokio::test]
    async fn a_transaction_claims_what_it_makes_ready_on_postgres() {
        a_transaction_claims_what_it_makes_ready(on_postgres().await).await;
    }

    /// What is not claimed is left to the loops.
    #[tokio::test]
    async fn without_a_permit_the_loops_are_notified() {
        let mut taking = taking(on_sqlite().await, 0).await;
        let conversation = taking.said("1", "hello").await.unwrap();
        taking.shown(&conversation, 1).await;
        taking.turns.try_recv().expect_err("there is no permit");
        taking.sends.try_recv().expect_err("there is no permit");
        assert!(taking.scratch.store.notifier.due_channels().contains("tg"));
        assert_eq!(taking.claims().await, 1);
    }

    /// A row that must not be sent yet is left to the loops.
    #[tokio::test]
    async fn rows_of_paused_chats_are_not_claimed() {
        let mut taking = taking(on_sqlite().await, 2).await;
        let conversation = taking.said("7", "hello").await.unwrap();
        let park = "INSERT INTO parked (channel, chat, until) VALUES ('tg', '7', 9000000000000)";
        taking.scratch.run(park.into()).await;
        taking.shown(&conversation, 1).await;
        taking.sends.try_recv().expect_err("the platform asked to wait");
        assert!(taking.scratch.store.notifier.due_channels().contains("tg"));
    }

    #[tokio::test]
    async fn a_failed_transaction_starts_nothing() {
        let mut taking = taking(on_sqlite().await, 2).await;
        taking.said("1", "fail").await.unwrap_err();
        taking.turns.try_recv().expect_err("it was rolled back");
        assert_eq!(taking.permits.available_permits(), 2);
    }

    /// Neither after the loops have ended, nor after the node has released its leases.
    #[tokio::test]
    async fn nothing_is_claimed_after_the_end() {
        let mut unregistered = taking(on_sqlite().await, 2).await;
        unregistered.registrations.clear();
        unregistered.said("1", "hello").await.unwrap();
        assert_eq!(unregistered.claims().await, 1);

        let mut released = taking(on_sqlite().await, 2).await;
        released.scratch.store.release_all().await.unwrap();
        released.said("1", "hello").await.unwrap();
        released.turns.try_recv().expect_err("its leases are released for good");
    }
}
