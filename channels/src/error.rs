//! Errors of a channel, named by what the caller does next.

use std::time::Duration;
use thiserror::Error;

/// Why something could not be sent.
#[derive(Debug, Error, Clone, PartialEq, Eq)]
pub enum SendError {
    /// Nothing was shown: repeat the same request, not before `after` if the platform named a time.
    #[error("try again{}: {reason}", after.map(|a| format!(" in {} s", a.as_secs())).unwrap_or_default())]
    Retry {
        /// The earliest time for the next attempt, from now; `None` if the platform named none.
        after: Option<Duration>,
        /// The platform's message, for logs.
        reason: String,
    },
    /// Like `Retry`, and until then nothing may be sent by this bot anywhere. Only Discord says so:
    /// Telegram's 429 does not distinguish the chat's limit from the bot's, so it only pauses the
    /// chat, and other chats get their own response.
    #[error("paused for {} s: {reason}", .after.as_secs())]
    Paused {
        /// How long the bot may send nothing.
        after: Duration,
        /// The platform's message, for logs.
        reason: String,
    },
    /// The chat can no longer be written to (blocked, kicked, deleted): do not retry.
    #[error("the chat is gone: {0}")]
    Gone(String),
    /// The chat has a new id (a group became a supergroup): send there.
    #[error("the chat moved to {chat}")]
    Moved {
        /// The new chat id.
        chat: String,
    },
    /// The platform rejects this content permanently: a retry would not help.
    #[error("rejected by the platform: {0}")]
    Rejected(String),
    /// The request was sent and no response arrived: it may or may not be shown.
    #[error("no response, the outcome is unknown: {0}")]
    Unknown(String),
}

/// An error for content that this platform never accepts.
pub(crate) fn rejected(reason: &str) -> SendError {
    SendError::Rejected(reason.to_owned())
}

/// Why listening ended permanently. Temporary problems are waited out inside `listen`.
#[derive(Debug, Error)]
pub enum ListenError {
    /// The platform rejects the token; a person has to replace it.
    #[error(
        "the platform rejects the token of channel `{channel}`: correct it in the configuration, \
        then reload the configuration or restart"
    )]
    Unauthorized {
        /// The id of the channel in the configuration.
        channel: String,
    },
    /// The gateway is shutting down: nothing receives events.
    #[error("nothing receives incoming events any more")]
    Closed,
}

/// The response to a pushed request that was not accepted.
#[derive(Debug, Error, Clone, PartialEq, Eq)]
pub enum WebhookError {
    /// This channel accepts no pushed requests: respond 404.
    #[error("this channel has no webhook")]
    Absent,
    /// The secret is missing or wrong: respond 401 without details.
    #[error("not signed by the platform")]
    Forbidden,
    /// Signed, but not valid: respond 400.
    #[error("cannot be parsed: {0}")]
    Malformed(String),
}

/// Why the platform did not accept the account.
#[derive(Debug, Error, Clone, PartialEq, Eq)]
pub enum CheckError {
    /// It rejects the token: a person has to replace it.
    #[error(
        "the platform rejects the token ({0}): check that it is correct and has not been revoked"
    )]
    Refused(String),
    /// It does not answer now: wait, or check the network.
    #[error("the platform does not answer correctly: {0}")]
    Silent(String),
}
