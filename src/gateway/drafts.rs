//! The answer as it grows, and "is typing". Losing any of it loses nothing.
//!
//! Where the platform has drafts of its own, they are shown so. Elsewhere the answer grows in a
//! message, which is remembered: the answer takes it over, after a crash too.

use channels::{Outgoing, PlaceKind, Receipt, SendError, Shipment};
use std::{sync::Arc, time::Duration};
use tokio::{
    sync::watch,
    task::JoinHandle,
    time::{Instant, interval_at},
};

use super::{Connected, Gateway};
use crate::{journal::ids::ConversationId, store::leases::Claimed};

/// How long an answer waits for a draft that is on its way: one that came later would replace it.
const LAST_DRAFT: Duration = Duration::from_secs(5);

/// What grows in one conversation.
pub struct Drafts<'g> {
    gateway: &'g Arc<Gateway>,
    claimed: &'g Claimed,
    /// What the message answers, in a group.
    reply_to: Option<String>,
    /// Goes on although nobody waits for it: a message must not be sent and then forgotten.
    under_way: Option<JoinHandle<()>>,
}

impl<'g> Drafts<'g> {
    pub fn new(gateway: &'g Arc<Gateway>, claimed: &'g Claimed, reply_to: Option<String>) -> Self {
        Self { gateway, claimed, reply_to, under_way: None }
    }

    /// Shows the text as it grows and that the agent is at work, for as long as it is polled; never
    /// returns.
    pub async fn show(&mut self, mut text: watch::Receiver<String>) {
        let Some(connected) = self.gateway.channels.get(&self.claimed.channel) else {
            return std::future::pending().await;
        };
        let limits = connected.channel.limits();
        let typing_for = limits.typing_for.unwrap_or(Duration::from_hours(1));
        let mut typing = tokio::time::interval(typing_for.mul_f32(0.8));
        let pace = limits.drafts.unwrap_or(typing_for);
        // A message of its own is worth it only for an answer that takes its time.
        let first = if self.own_drafts(connected) { Duration::ZERO } else { pace };
        let mut pace = interval_at(Instant::now() + first, pace);
        loop {
            tokio::select! {
                _ = typing.tick() => self.typing(connected).await,
                changed = text.changed(), if limits.drafts.is_some() => {
                    if changed.is_err() {
                        return std::future::pending().await;
                    }
                    pace.tick().await;
                    let markdown = text.borrow_and_update().clone();
                    if !markdown.trim().is_empty() {
                        self.draft(connected, markdown).await;
                    }
                }
            }
        }
    }

    /// Returns when nothing that this has sent can still arrive.
    pub async fn end(self) {
        if let Some(under_way) = self.under_way {
            let _ = tokio::time::timeout(LAST_DRAFT, under_way).await;
        }
    }

    fn own_drafts(&self, connected: &Connected) -> bool {
        connected.channel.limits().own_drafts && self.claimed.place.kind == PlaceKind::Private
    }

    async fn typing(&self, connected: &Connected) {
        if connected.channel.limits().typing_for.is_some() {
            let (channel, place) = (&self.claimed.channel, &self.claimed.place);
            // Whether it is seen is not worth a word.
            let _ = self.gateway.show_now(channel, place, Outgoing::Typing).await;
        }
    }

    async fn draft(&mut self, connected: &Connected, markdown: String) {
        let draft = Outgoing::Draft { markdown }.degrade(connected.channel.limits()).pop();
        let Some(draft) = draft else { return };
        let (channel, place) = (self.claimed.channel.clone(), self.claimed.place.clone());
        if self.own_drafts(connected) {
            let _ = self.gateway.show_now(&channel, &place, draft).await;
            return;
        }
        if self.under_way.as_ref().is_some_and(|sending| !sending.is_finished()) {
            return;
        }
        let now = self.gateway.clock.now();
        if !self.gateway.paces.may_draft((&channel, &place), &connected.channel.limits().paces, now)
        {
            return;
        }
        let gateway = self.gateway.clone();
        let conversation = self.claimed.lease.conversation().clone();
        let reply_to = self.reply_to.clone();
        self.under_way = Some(self.gateway.tasks.spawn(async move {
            let growing = Growing { gateway: &gateway, channel, shipment: shipment(place) };
            if let Err(problem) = growing.grow(&conversation, reply_to, draft).await {
                tracing::debug!(problem = format!("{problem:#}"), "a draft was not shown");
            }
        }));
    }
}

/// A message in which an answer grows.
struct Growing<'g> {
    gateway: &'g Gateway,
    channel: String,
    shipment: Shipment,
}

impl Growing<'_> {
    async fn grow(
        mut self,
        conversation: &ConversationId,
        reply_to: Option<String>,
        draft: Outgoing,
    ) -> anyhow::Result<()> {
        let store = &self.gateway.store;
        let receipt = if let Some(receipt) = store.draft(conversation).await? {
            receipt
        } else {
            self.shipment.what = Outgoing::Placeholder { reply_to };
            let receipt = self.send().await?;
            store.keep_draft(conversation, &receipt).await?;
            receipt
        };
        self.shipment.receipt = Some(receipt);
        self.shipment.what = draft;
        self.send().await?;
        Ok(())
    }

    async fn send(&self) -> Result<Receipt, SendError> {
        let connected = &self.gateway.channels[&self.channel];
        let sent = connected.channel.send(&self.shipment).await;
        if let Err(SendError::Retry { after: Some(after), .. } | SendError::Paused { after, .. }) =
            &sent
        {
            let now = self.gateway.clock.now();
            self.gateway.paces.park((&self.channel, &self.shipment.place), now, *after);
        }
        sent
    }
}

fn shipment(place: channels::Place) -> Shipment {
    Shipment {
        key: uuid::Uuid::new_v4().simple().to_string(),
        place,
        what: Outgoing::Typing,
        receipt: None,
        bytes: None,
        album: Vec::new(),
        token: None,
    }
}
