//! Drafts of the growing answer and the typing indicator. Neither is recorded, and losing them is
//! harmless.
//!
//! Platforms with native drafts show those. Elsewhere the answer grows in a message that is
//! recorded, so that the final answer of the same turn replaces it, even after a crash. A draft
//! that arrives too late for that is deleted; nothing ever replaces an older message.

use channels::{Delivery, Outgoing, PlaceKind, Receipt, SendError};
use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};
use tokio::{
    sync::watch,
    task::JoinHandle,
    time::{Instant, MissedTickBehavior, interval_at},
};

use super::{
    Connected, Gateway,
    delivery::{removal, unstored},
};
use crate::{
    clock::stops_within,
    journal::event::Seq,
    store::{
        db::transient::until_available,
        leases::{Claimed, Lease},
    },
};

/// How long an answer waits for a draft that is being sent, since a draft that arrives later would
/// replace the answer.
const LAST_DRAFT: chrono::TimeDelta = chrono::TimeDelta::seconds(5);
/// How long after the beginning of a turn the typing indicator is first shown. An answer that is
/// there sooner needs none, and no call of the platform.
const TYPING_AFTER: Duration = Duration::from_millis(300);
/// The delays before each further attempt to delete a message.
const WAITS: [Duration; 3] =
    [Duration::from_millis(500), Duration::from_secs(2), Duration::from_secs(8)];

/// The answer of a turn while it is being written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DraftTarget {
    /// The first event of the turn.
    pub turn: Seq,
    /// In a group, the message that is answered.
    pub reply_to: Option<String>,
}

/// The draft of one conversation.
pub struct Drafts<'g> {
    gateway: &'g Arc<Gateway>,
    claimed: &'g Claimed,
    target: DraftTarget,
    /// Continues even if nobody waits for it: a message must not be sent and then forgotten.
    under_way: Option<DraftTask>,
    /// Set when the outcome of a placeholder is unknown: another one could be a second message that
    /// nothing replaces.
    orphaned: Arc<OnceLock<()>>,
}

struct DraftTask {
    task: JoinHandle<()>,
    end: Arc<OnceLock<DraftEnd>>,
}

/// How a draft in flight ended. The side that sets this first decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DraftEnd {
    /// Nothing of the draft can still arrive.
    Sent,
    /// The answer stopped waiting for the draft.
    Abandoned,
}

impl<'g> Drafts<'g> {
    pub fn new(gateway: &'g Arc<Gateway>, claimed: &'g Claimed, target: DraftTarget) -> Self {
        Self { gateway, claimed, target, under_way: None, orphaned: Arc::default() }
    }

    /// Shows the growing text and the typing indicator for as long as it is polled; never returns.
    /// `shown` turns the text into what people may see. It is called once for each draft, however
    /// often the text changes, and nothing else of the text leaves this function.
    pub async fn show(
        &mut self,
        mut text: watch::Receiver<String>,
        shown: impl Fn(&str) -> String,
    ) {
        let Some(connected) = self.gateway.channels.get(&self.claimed.channel) else {
            return std::future::pending().await;
        };
        let limits = connected.channel.limits();
        let typing_for = limits.typing_for.unwrap_or(Duration::from_hours(1));
        let mut typing = interval_at(self.claimed.since + TYPING_AFTER, typing_for.mul_f32(0.8));
        typing.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let edit_interval = limits.drafts.unwrap_or(typing_for);
        // A separate message is worthwhile only if the answer takes some time.
        let first = if self.supports_drafts(connected) { Duration::ZERO } else { edit_interval };
        let mut edit_interval = interval_at(Instant::now() + first, edit_interval);
        // The ticks of a silence would otherwise all follow at once.
        edit_interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut last = String::new();
        loop {
            tokio::select! {
                _ = typing.tick() => self.typing(connected).await,
                changed = text.changed(), if limits.drafts.is_some() => {
                    if changed.is_err() {
                        return std::future::pending().await;
                    }
                    edit_interval.tick().await;
                    let raw = text.borrow_and_update().clone();
                    let markdown = shown(&raw);
                    if !markdown.trim().is_empty() && markdown != last {
                        last.clone_from(&markdown);
                        self.draft(connected, markdown).await;
                    }
                }
            }
        }
    }

    /// Returns when nothing that was sent here can still arrive in a message that the answer takes
    /// over.
    pub async fn end(self) {
        let Some(DraftTask { task, end }) = self.under_way else { return };
        let clock = &self.gateway.clock;
        tokio::select! {
            _ = task => {}
            () = clock.sleep_until(clock.now() + LAST_DRAFT) => {}
        }
        if end.set(DraftEnd::Abandoned).is_ok() {
            let conversation = self.claimed.lease.conversation();
            if let Err(problem) = self.gateway.store.discard_draft(conversation).await {
                let problem = format!("{problem:#}");
                tracing::warn!(
                    conversation.id = %conversation, problem,
                    "could not discard a draft"
                );
            }
        }
    }

    fn supports_drafts(&self, connected: &Connected) -> bool {
        connected.channel.limits().supports_drafts && self.claimed.place.kind == PlaceKind::Private
    }

    /// No drafts are sent to a platform that does not answer.
    fn is_reachable(&self) -> bool {
        self.gateway.breakers.is_closed(&self.claimed.channel)
    }

    async fn typing(&self, connected: &Connected) {
        if connected.channel.limits().typing_for.is_some() && self.is_reachable() {
            let (channel, place) = (&self.claimed.channel, &self.claimed.place);
            // The outcome does not matter.
            let _ = self.gateway.show_now(channel, place, Outgoing::Typing).await;
        }
    }

    async fn draft(&mut self, connected: &Connected, markdown: String) {
        let draft = Outgoing::Draft { markdown }.degrade(connected.channel.limits()).pop();
        let Some(draft) = draft.filter(|_| self.is_reachable()) else { return };
        let (channel, place) = (self.claimed.channel.clone(), self.claimed.place.clone());
        if self.supports_drafts(connected) {
            let _ = self.gateway.show_now(&channel, &place, draft).await;
            return;
        }
        let is_sending = self.under_way.as_ref().is_some_and(|s| !s.task.is_finished());
        if is_sending || self.orphaned.get().is_some() {
            return;
        }
        let now = self.gateway.clock.now();
        if !self.gateway.rate_limiter.may_draft(&channel, &place, &connected.rate_limits, now) {
            return;
        }
        let end = Arc::new(OnceLock::new());
        let message = Message {
            gateway: self.gateway.clone(),
            channel,
            lease: self.claimed.lease.clone(),
            target: self.target.clone(),
            delivery: unstored(place, Outgoing::Typing),
            end: end.clone(),
            orphaned: self.orphaned.clone(),
        };
        let task = self.gateway.tasks.spawn(async move {
            if let Err(problem) = message.grow(draft).await {
                tracing::debug!(problem = format!("{problem:#}"), "could not show a draft");
            }
        });
        self.under_way = Some(DraftTask { task, end });
    }
}

/// A message in which an answer grows.
struct Message {
    gateway: Arc<Gateway>,
    channel: String,
    lease: Lease,
    target: DraftTarget,
    delivery: Delivery,
    end: Arc<OnceLock<DraftEnd>>,
    orphaned: Arc<OnceLock<()>>,
}

impl Message {
    async fn grow(mut self, draft: Outgoing) -> anyhow::Result<()> {
        let store = self.gateway.store.clone();
        let (conversation, turn) = (self.lease.conversation().clone(), self.target.turn);
        let kept = store.draft(&conversation, turn).await?;
        let begun = if kept.is_some() { kept } else { self.begin(&draft).await? };
        let Some(receipt) = begun else { return Ok(()) };
        self.delivery.receipt = Some(receipt.clone());
        self.delivery.what = draft;
        let shown = self.send().await;
        if self.end.set(DraftEnd::Sent).is_err()
            && store.abandon_draft(&conversation, &receipt).await?
        {
            self.delete(receipt).await;
        }
        Ok(shown.map(drop)?)
    }

    /// Sends the message with the first words and records it for the answer; `None` if it is too
    /// late for that, or too early.
    async fn begin(&mut self, draft: &Outgoing) -> anyhow::Result<Option<Receipt>> {
        let Some(mut opening) = draft.opening() else { return Ok(None) };
        if let Outgoing::Placeholder { reply_to, .. } = &mut opening {
            reply_to.clone_from(&self.target.reply_to);
        }
        self.delivery.what = opening;
        let receipt = self.send().await.inspect_err(|problem| {
            if matches!(problem, SendError::Unknown(_)) {
                let _ = self.orphaned.set(());
            }
        })?;
        let is_late = self.end.get() == Some(&DraftEnd::Abandoned);
        let store = &self.gateway.store;
        let kept = if is_late {
            Ok(false)
        } else {
            store.keep_draft(&self.lease, self.target.turn, &receipt).await
        };
        if matches!(kept, Ok(true)) {
            return Ok(Some(receipt));
        }
        // A failure may have been reported for a draft that was recorded, even for one that an
        // answer has taken over since.
        let conversation = self.lease.conversation();
        let is_free =
            kept.is_ok() || until_available(|| store.abandon_draft(conversation, &receipt)).await?;
        if is_free {
            self.delete(receipt).await;
        }
        kept.map(|_| None)
    }

    /// Deletes the message. Where the platform cannot delete, it keeps the text that it had: a
    /// partial answer. It is never reused for anything else.
    async fn delete(&self, receipt: Receipt) {
        let connected = &self.gateway.channels[&self.channel];
        let removal = removal(self.delivery.place.clone(), receipt);
        let mut waits = WAITS.into_iter();
        while let Err(problem) = connected.channel.send(&removal).await {
            let passes = matches!(problem, SendError::Retry { .. } | SendError::Unknown(_));
            let Some(wait) = waits.next().filter(|_| passes) else {
                let problem = problem.to_string();
                tracing::warn!(channel.id = self.channel, problem, "could not delete a late draft");
                return;
            };
            // In real time, because this waits for a platform.
            stops_within(wait, &self.gateway.stop).await;
        }
    }

    async fn send(&self) -> Result<Receipt, SendError> {
        let connected = &self.gateway.channels[&self.channel];
        let sent = connected.channel.send(&self.delivery).await;
        if let Err(SendError::Retry { after: Some(after), .. } | SendError::Paused { after, .. }) =
            &sent
        {
            let now = self.gateway.clock.now();
            self.gateway.rate_limiter.park(&self.channel, &self.delivery.place, now, *after);
        }
        sent
    }
}
