//! A row of the outbox on its way to its channel.

use channels::{Outgoing, SendError, Shipment};

use crate::store::outbox::Sending;

pub(super) fn shipment(sending: &Sending, what: Outgoing) -> Shipment {
    Shipment {
        key: sending.id.to_string(),
        place: sending.place.clone(),
        what,
        receipt: sending.receipt.clone(),
        bytes: None,
        album: Vec::new(),
        token: None,
    }
}

/// What is wrong on our side does not stay so.
pub(super) fn passing(problem: anyhow::Error) -> SendError {
    SendError::Retry { after: None, reason: format!("{problem:#}") }
}
