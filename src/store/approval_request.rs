//! A question, as it is asked and as it stands.

use channels::Outgoing;
use chrono::{DateTime, Utc};
use serde_json::Value;

use crate::{
    agent::approvers::Approvers,
    journal::{
        event::{Asks, Attachment, Event, Speaker, Status},
        grant::Covers,
        ids::{ApprovalId, CallId, ConversationId, OutboxId},
    },
};

/// A question, as the worker asks it: stored with its row and its place in the outbox at once.
#[derive(Debug, Clone)]
pub struct Asked {
    pub id: ApprovalId,
    pub call: CallId,
    pub asks: Asks,
    pub tool: String,
    pub arguments: Value,
    pub digest: String,
    /// The question in one line, for what remains of it when it is settled.
    pub title: String,
    pub requester: Speaker,
    pub approvers: Approvers,
    /// What a lasting leave would cover, where one is offered.
    pub proposal: Option<Covers>,
    /// The keys of its buttons.
    pub offers: String,
    pub expires_at: DateTime<Utc>,
    /// Everything that the question is about, where its text does not show all of it.
    pub file: Option<Attachment>,
    /// What is shown: texts, then the question itself as the last.
    pub shows: Vec<Outgoing>,
}

impl Asked {
    /// What the journal says of it.
    pub fn event(&self) -> Event {
        Event::ApprovalAsked {
            approval: self.id.clone(),
            call: self.call.clone(),
            digest: self.digest.clone(),
            asks: self.asks,
        }
    }
}

/// A question as it stands.
#[derive(Debug, Clone, PartialEq)]
pub struct Approval {
    pub id: ApprovalId,
    pub conversation: ConversationId,
    pub call: CallId,
    pub asks: Asks,
    pub tool: String,
    pub arguments: Value,
    pub title: String,
    pub requester: Speaker,
    pub approvers: Approvers,
    /// The keys of its buttons.
    pub offers: String,
    pub proposal: Option<Covers>,
    /// The outbox row that shows it, and the conversation that this stands in.
    pub question: OutboxId,
    pub shown_in: ConversationId,
    pub status: Status,
    pub expires_at: DateTime<Utc>,
    pub decided_by: Option<String>,
}
