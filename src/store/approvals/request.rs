//! Approvals as requested and as stored.

use channels::Outgoing;
use chrono::{DateTime, Utc};
use serde_json::Value;

use crate::{
    agent::approvers::Approvers,
    journal::{
        event::{ApprovalPurpose, Attachment, Event, Speaker, Status},
        grant::GrantSubject,
        ids::{ApprovalId, CallId, ConversationId, OutboxId},
    },
};

/// An approval that the worker requests. It is stored together with its outbox rows.
#[derive(Debug, Clone)]
pub struct NewApproval {
    pub id: ApprovalId,
    pub call: CallId,
    pub asks: ApprovalPurpose,
    pub tool: String,
    pub arguments: Value,
    pub digest: String,
    /// A one-line title, which remains when the approval is settled.
    pub title: String,
    pub requester: Speaker,
    pub approvers: Approvers,
    /// What the offered grant would cover, if one is offered.
    pub proposal: Option<GrantSubject>,
    /// The keys of the buttons.
    pub offers: String,
    pub expires_at: DateTime<Utc>,
    /// The file with all arguments, if the text omits any.
    pub file: Option<Attachment>,
    /// The messages to show: texts, then the approval itself.
    pub shows: Vec<Outgoing>,
}

impl NewApproval {
    /// The event for the journal.
    pub fn event(&self) -> Event {
        Event::ApprovalAsked {
            approval: self.id.clone(),
            call: self.call.clone(),
            digest: self.digest.clone(),
            asks: self.asks,
        }
    }
}

/// A stored approval.
#[derive(Debug, Clone, PartialEq)]
pub struct Approval {
    pub id: ApprovalId,
    pub conversation: ConversationId,
    pub call: CallId,
    pub asks: ApprovalPurpose,
    pub tool: String,
    pub arguments: Value,
    pub title: String,
    pub requester: Speaker,
    pub approvers: Approvers,
    /// The keys of the buttons.
    pub offers: String,
    pub proposal: Option<GrantSubject>,
    /// The outbox row that shows it, and the conversation that the row belongs to.
    pub question: OutboxId,
    pub shown_in: ConversationId,
    pub status: Status,
    pub expires_at: DateTime<Utc>,
    pub decided_by: Option<String>,
}
