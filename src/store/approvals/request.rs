//! Approvals as requested and as stored.

use channels::{Button, Outgoing};
use chrono::{DateTime, Utc};
use serde_json::Value;
use std::fmt;

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
    pub offers: Offers,
    pub expires_at: DateTime<Utc>,
    /// The file with all arguments, if the text omits any.
    pub file: Option<Attachment>,
    /// The messages to show: texts, then the approval itself.
    pub shows: Vec<Outgoing>,
}

impl NewApproval {
    /// The event for the journal.
    pub fn event(&self) -> Event {
        Event::ApprovalRequested {
            approval: self.id.clone(),
            call: self.call.clone(),
            digest: self.digest.clone(),
            asks: self.asks,
        }
    }
}

/// What an approval offers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Offers {
    /// The buttons, in order.
    pub buttons: Vec<Button>,
    /// Whether any text is accepted as an answer.
    pub typed: bool,
}

impl Offers {
    /// The character that marks [`Offers::typed`] among the keys of the buttons.
    const TYPED: char = 't';

    /// Parses the stored form. Keys of other versions are ignored.
    pub fn parse(stored: &str) -> Self {
        let buttons = stored.chars().filter_map(Button::from_key).collect();
        Self { buttons, typed: stored.contains(Self::TYPED) }
    }

    pub fn has(&self, button: Button) -> bool {
        self.buttons.contains(&button)
    }
}

/// The stored form: the key of each button.
impl fmt::Display for Offers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let keys = self.buttons.iter().map(|button| button.key());
        keys.chain(self.typed.then_some(Self::TYPED)).try_for_each(|key| write!(f, "{key}"))
    }
}

impl From<Vec<Button>> for Offers {
    fn from(buttons: Vec<Button>) -> Self {
        Self { buttons, typed: false }
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
    pub offers: Offers,
    pub proposal: Option<GrantSubject>,
    /// The outbox row that shows it, and the conversation that the row belongs to.
    pub message: OutboxId,
    pub shown_in: ConversationId,
    pub status: Status,
    pub expires_at: DateTime<Utc>,
    pub decided_by: Option<String>,
}
