//! Failures of a channel, named by what the caller does next.

use std::time::Duration;
use thiserror::Error;

/// Why something could not be shown.
#[derive(Debug, Error, Clone, PartialEq, Eq)]
pub enum SendError {
    /// Nothing was shown: send the same again, not before `after` where the platform named a time.
    #[error("try again{}: {reason}", after.map(|a| format!(" in {} s", a.as_secs())).unwrap_or_default())]
    Retry { after: Option<Duration>, reason: String },
    /// The same, and until then for everything that this bot sends anywhere. Only Discord says so:
    /// Telegram's 429 does not tell the chat's limit from the bot's, so that it holds the chat, and
    /// each other chat is told for itself.
    #[error("nothing for {} s: {reason}", .after.as_secs())]
    Paused { after: Duration, reason: String },
    /// The chat cannot be written to any more (blocked, kicked, deleted): never try again.
    #[error("the chat is gone: {0}")]
    Gone(String),
    /// The chat has a new id (a group became a supergroup): send there.
    #[error("the chat moved to {chat}")]
    Moved { chat: String },
    /// The platform refuses this content for good: another try changes nothing.
    #[error("refused by the platform: {0}")]
    Rejected(String),
    /// The request was written and no answer came: it may or may not be shown.
    #[error("no answer, the outcome is unknown: {0}")]
    Unknown(String),
}

/// What this platform never takes.
pub(crate) fn rejected(reason: &str) -> SendError {
    SendError::Rejected(reason.to_owned())
}

/// Why listening ended for good. What passes by itself is waited for inside `listen`.
#[derive(Debug, Error)]
pub enum ListenError {
    /// The platform does not know the token; a person has to replace it.
    #[error("the platform refuses the token of channel `{channel}`: check it, then restart")]
    Unauthorized { channel: String },
    /// The gateway is stopping: nothing takes what arrives.
    #[error("nothing takes incoming events any more")]
    Closed,
}

/// What to answer to a pushed request that was not taken.
#[derive(Debug, Error, Clone, PartialEq, Eq)]
pub enum WebhookError {
    /// This channel takes no pushed requests: answer 404.
    #[error("this channel has no webhook")]
    Absent,
    /// The secret is missing or wrong: answer 401 and say no more.
    #[error("not signed by the platform")]
    Forbidden,
    /// Signed, but not to be read: answer 400.
    #[error("cannot be read: {0}")]
    Malformed(String),
}

/// Why a platform does not say that it knows us.
#[derive(Debug, Error, Clone, PartialEq, Eq)]
pub enum CheckError {
    /// It does not know the token: a person has to replace it.
    #[error("the platform refuses the token ({0}): is it right, and in force?")]
    Refused(String),
    /// It may know us, and does not answer so now: wait, or look at the way to it.
    #[error("the platform does not answer as it should: {0}")]
    Silent(String),
}
