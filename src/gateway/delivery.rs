//! Builds the delivery of a row of the outbox.

use channels::{Delivery, Outgoing, Place, Receipt, SendError};

use crate::store::outbox::sending::Sending;

pub(super) fn delivery(sending: &Sending, what: Outgoing) -> Delivery {
    Delivery {
        key: sending.id.to_string(),
        place: sending.place.clone(),
        what,
        receipt: sending.receipt.clone(),
        bytes: None,
        album: Vec::new(),
        token: None,
    }
}

/// A problem on our side is treated as temporary.
pub(super) fn temporary(problem: anyhow::Error) -> SendError {
    SendError::Retry { after: None, reason: format!("{problem:#}") }
}

/// Deletes a message.
pub(super) fn removal(place: Place, receipt: Receipt) -> Delivery {
    Delivery { receipt: Some(receipt), ..unstored(place, Outgoing::Removal) }
}

/// A message that is not in the outbox.
pub(super) fn unstored(place: Place, what: Outgoing) -> Delivery {
    Delivery {
        key: uuid::Uuid::new_v4().simple().to_string(),
        place,
        what,
        receipt: None,
        bytes: None,
        album: Vec::new(),
        token: None,
    }
}
