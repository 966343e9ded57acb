//! Limits of messages, and the classification of results by what the caller does next.

use serde_json::Value;

use super::api::Failure;
use crate::{Receipt, SendError};

/// The maximum length of a message, in characters.
pub(super) const TEXT: usize = 2000;
/// The flag that suppresses link previews, which would fetch the links.
pub(super) const NO_PREVIEW: u64 = 1 << 2;

/// Classifies the failure of a request that has a nonce or may be sent only once: without a
/// response, the outcome is unknown.
pub(super) fn once(failure: Failure) -> SendError {
    match failure {
        Failure::Lost(reason) => SendError::Unknown(reason),
        other => repeatable(other),
    }
}

/// Classifies the failure of an idempotent request.
/// <https://discord.com/developers/docs/topics/opcodes-and-status-codes#json>
pub(super) fn repeatable(failure: Failure) -> SendError {
    match failure {
        Failure::Unsent(reason) | Failure::Lost(reason) => SendError::Retry { after: None, reason },
        Failure::Refused { status: 429, message, after: Some(after), everywhere: true, .. } => {
            SendError::Paused { after, reason: message }
        }
        Failure::Refused { status, code, message, after, .. } => match (status, code) {
            // A person has to replace a rejected token; until then messages wait and are not lost.
            // A 403 without Discord's own code comes from a proxy in front of it.
            (401 | 408 | 429 | 500.., _) | (403, 0 | 40333) => {
                SendError::Retry { after, reason: message }
            }
            // Unknown channel, no access, no private messages, no permission, no guild in common; a
            // locked thread.
            (_, 10003 | 50001 | 50007 | 50013 | 50278 | 160_005) => SendError::Gone(message),
            _ => SendError::Rejected(message),
        },
    }
}

pub(super) fn message_id(shown: &Value) -> Result<Receipt, Failure> {
    let id = shown["id"].as_str().map(str::to_owned);
    let lost = || Failure::Lost("the response contains no message".to_owned());
    id.map(|message| Receipt { message }).ok_or_else(lost)
}
