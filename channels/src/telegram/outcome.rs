//! Classifies results of calls by what the caller does next.

use serde_json::Value;
use teloxide::types::MessageId;

use super::api::Failure;
use crate::{Receipt, SendError};

pub(super) fn receipt(answer: &Value) -> Receipt {
    Receipt { message: answer["message_id"].as_i64().map(|id| id.to_string()).unwrap_or_default() }
}

/// An edit that the platform rejects because it changes nothing was already made.
pub(super) fn edit_receipt(
    edited: Result<Value, Failure>,
    message: MessageId,
) -> Result<Receipt, SendError> {
    match edited {
        Err(Failure::Refused { description, .. })
            if description.contains("message is not modified") => {}
        Err(failure) => return Err(repeatable(failure)),
        Ok(_) => {}
    }
    Ok(Receipt { message: message.0.to_string() })
}

/// Classifies the failure of a request that may be sent only once: without a response, or after a
/// server error, the outcome is unknown.
pub(super) fn once(failure: Failure) -> SendError {
    match failure {
        Failure::Lost(reason) | Failure::Refused { code: 500.., description: reason, .. } => {
            SendError::Unknown(reason)
        }
        other => repeatable(other),
    }
}

/// Classifies the failure of an idempotent request.
pub(super) fn repeatable(failure: Failure) -> SendError {
    match failure {
        Failure::Unsent(reason) | Failure::Lost(reason) => SendError::Retry { after: None, reason },
        Failure::Refused { moved: Some(chat), .. } => SendError::Moved { chat: chat.to_string() },
        Failure::Refused { code, description, after, .. } => match code {
            // A person has to replace a rejected token; until then messages wait and are not lost.
            401 | 404 | 409 | 429 | 500.. => SendError::Retry { after, reason: description },
            403 => SendError::Gone(description),
            _ if is_gone(&description) => SendError::Gone(description),
            _ => SendError::Rejected(description),
        },
    }
}

/// Errors that mean that this place no longer accepts any message from the bot. A group can forbid
/// photos, documents or voice notes and still accept texts.
fn is_gone(description: &str) -> bool {
    let gone = [
        "chat not found",
        "group chat was deactivated",
        "have no rights to send a message",
        "not enough rights to send text messages",
        "CHAT_SEND_PLAIN_FORBIDDEN",
        "CHAT_WRITE_FORBIDDEN",
        "CHAT_RESTRICTED",
        "message thread not found",
        "TOPIC_CLOSED",
        "TOPIC_DELETED",
        "PEER_ID_INVALID",
    ];
    gone.iter().any(|sign| description.contains(sign))
}

/// Errors that mean that the message to edit no longer exists or cannot be edited.
pub(super) fn is_missing(reason: &str) -> bool {
    let missing = ["message to edit not found", "MESSAGE_ID_INVALID", "message can't be edited"];
    missing.iter().any(|sign| reason.contains(sign))
}
