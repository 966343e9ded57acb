//! What all that is sent has in common: what a message may be, and what a call came to, by what the
//! caller does next.

use serde_json::Value;

use super::api::Failure;
use crate::{Receipt, SendError};

/// Of a message, in characters.
pub(super) const TEXT: usize = 2000;
/// Flags of a message: no previews of the links in it, which would be fetched for all to see.
pub(super) const NO_PREVIEW: u64 = 1 << 2;

/// For what has a nonce, or none and may be sent only once: without an answer nobody knows.
pub(super) fn once(failure: Failure) -> SendError {
    match failure {
        Failure::Lost(reason) => SendError::Unknown(reason),
        other => repeatable(other),
    }
}

/// For what is the same however often it is said.
/// <https://discord.com/developers/docs/topics/opcodes-and-status-codes#json>
pub(super) fn repeatable(failure: Failure) -> SendError {
    match failure {
        Failure::Unsent(reason) | Failure::Lost(reason) => SendError::Retry { after: None, reason },
        Failure::Refused { status: 429, message, after: Some(after), everywhere: true, .. } => {
            SendError::Paused { after, reason: message }
        }
        Failure::Refused { status, code, message, after, .. } => match (status, code) {
            // A token that is refused is a person's to replace; what waits for it is not lost. A
            // 403 that is not Discord's own comes from what stands in front of it.
            (401 | 408 | 429 | 500.., _) | (403, 0 | 40333) => {
                SendError::Retry { after, reason: message }
            }
            // Unknown channel, no access, no private messages, no permission, no guild in common;
            // a locked thread.
            (_, 10003 | 50001 | 50007 | 50013 | 50278 | 160_005) => SendError::Gone(message),
            _ => SendError::Rejected(message),
        },
    }
}

pub(super) fn message_id(shown: &Value) -> Result<Receipt, Failure> {
    let id = shown["id"].as_str().map(str::to_owned);
    let lost = || Failure::Lost("the answer names no message".to_owned());
    id.map(|message| Receipt { message }).ok_or_else(lost)
}
