//! Errors of a channel, named by what the caller does next.

use std::time::Duration;
use thiserror::Error;

/// Why something could not be sent.
#[derive(Debug, Error, Clone, PartialEq, Eq)]
pub enum SendError {
    /// Nothing was shown. Repeat the same request, not before `after` if the platform named a time.
    #[error("try again{}: {reason}", after.map(|a| format!(" in {} s", a.as_secs())).unwrap_or_default())]
    Retry {
        /// The earliest time for the next attempt, from now; `None` if the platform named none.
        after: Option<Duration>,
        /// The platform's message, for logs.
        reason: String,
    },
    /// Like `Retry`, but until then this bot must not send anything, in any chat. Only Discord
    /// reports this. Telegram's 429 does not say whether the limit of the chat or of the bot was
    /// exceeded, so it only pauses the chat; requests for other chats get their own response.
    #[error("paused for {} s: {reason}", .after.as_secs())]
    Paused {
        /// How long the bot must not send anything.
        after: Duration,
        /// The platform's message, for logs.
        reason: String,
    },
    /// The chat can no longer be written to (blocked, kicked, deleted). Do not retry.
    #[error("the chat is gone: {0}")]
    Gone(String),
    /// The chat has a new id, because a group became a supergroup. Send to that id.
    #[error("the chat moved to {chat}")]
    Moved {
        /// The new chat id.
        chat: String,
    },
    /// The platform rejects this content permanently. Retrying would not help.
    #[error("rejected by the platform: {0}")]
    Rejected(String),
    /// The request was sent, but no response arrived. The message may or may not have been shown.
    #[error("no response, the outcome is unknown: {0}")]
    Unknown(String),
}

/// An error for content that this platform never accepts.
pub(crate) fn rejected(reason: &str) -> SendError {
    SendError::Rejected(reason.to_owned())
}

/// Why listening ended permanently. `listen` itself waits for temporary problems to end.
#[derive(Debug, Error)]
pub enum ListenError {
    /// The platform rejects the token. A person has to replace it.
    #[error(
        "the platform rejects the token of channel `{channel}`: correct it in the configuration, \
        then reload the configuration or restart"
    )]
    Unauthorized {
        /// The id of the channel in the configuration.
        channel: String,
    },
    /// The gateway is shutting down, so nothing receives events.
    #[error("nothing receives incoming events any more")]
    Closed,
}

/// Why a pushed request was not accepted, and how to respond.
#[derive(Debug, Error, Clone, PartialEq, Eq)]
pub enum WebhookError {
    /// This channel accepts no pushed requests, whatever they contain. Respond with 404.
    #[error("this channel has no webhook")]
    Absent,
    /// The secret is missing or wrong. Respond with 401 and no details.
    #[error("not signed by the platform")]
    Forbidden,
    /// Correctly signed, but not valid. Respond with 400.
    #[error("cannot be parsed: {0}")]
    Malformed(String),
}

/// Why the platform did not accept the account.
#[derive(Debug, Error, Clone, PartialEq, Eq)]
pub enum CheckError {
    /// It rejects the token. A person has to replace it.
    #[error(
        "the platform rejects the token ({0}): check that it is correct and has not been revoked"
    )]
    Refused(String),
    /// It does not answer. Wait, or check the network.
    #[error("the platform does not answer correctly: {0}")]
    Silent(String),
}
