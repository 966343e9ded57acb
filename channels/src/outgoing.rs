//! What a platform is to show. A new thing to show is a new variant here, never a new method.

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::incoming::Place;

/// One thing to show. Text is Markdown (CommonMark, tables, strikethrough); each channel
/// translates it into its own dialect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Outgoing {
    Text {
        markdown: String,
        reply_to: Option<String>,
    },
    /// A text with buttons, one press of which decides. `approval` is its public id.
    Question {
        markdown: String,
        approval: String,
        choices: Vec<Choice>,
        #[serde(default)]
        reply_to: Option<String>,
    },
    /// What a question becomes once it is decided: an edit, with what can still be pressed.
    Settled {
        markdown: String,
        #[serde(default)]
        approval: Option<String>,
        #[serde(default)]
        choices: Vec<Choice>,
    },
    /// A file as the platform's own kind of attachment; its bytes travel in the [`Shipment`].
    File {
        name: String,
        media_type: String,
        size_bytes: u64,
        /// SHA-256 of the bytes, in hex: how the artifact store finds them.
        digest: String,
        caption: Option<String>,
        #[serde(default)]
        reply_to: Option<String>,
    },
    /// What stands in a message until its content is edited in, on platforms without a native key.
    Placeholder {
        reply_to: Option<String>,
    },
    /// What the model has written so far; the newest replaces all before it.
    Draft {
        markdown: String,
    },
    /// Deletes the message that the receipt names: one of ours that came too late. A channel that
    /// cannot delete refuses it, and the message stays as it is.
    Removal,
    /// "is typing"
    Typing,
    /// The private answer to a press. An empty text only stops the button's spinner.
    Toast {
        press: String,
        text: String,
        alert: bool,
    },
}

impl Outgoing {
    /// The message that this answers.
    pub fn reply_to(&self) -> Option<&str> {
        match self {
            Self::Text { reply_to, .. }
            | Self::Question { reply_to, .. }
            | Self::File { reply_to, .. }
            | Self::Placeholder { reply_to } => reply_to.as_deref(),
            _ => None,
        }
    }

    /// What the later parts of an answer answer: nothing, but for those to a command of the
    /// platform's own kind (`i:…`), which are shown to whom the first is shown.
    pub(crate) fn behind(answered: &str) -> Option<String> {
        answered.strip_prefix("i:").map(|call| format!("f:{call}"))
    }

    /// Whether it is a picture that platforms show as such; none of them takes an SVG.
    pub fn is_picture(&self) -> bool {
        let shown = ["image/jpeg", "image/png", "image/webp"];
        matches!(self, Self::File { media_type, .. } if shown.contains(&media_type.as_str()))
    }

    /// Of a file; 0 for anything else.
    pub fn size_bytes(&self) -> u64 {
        match self {
            Self::File { size_bytes, .. } => *size_bytes,
            _ => 0,
        }
    }

    /// The public id of the approval whose buttons this shows.
    pub fn approval(&self) -> Option<&str> {
        match self {
            Self::Question { approval, .. } => Some(approval),
            Self::Settled { approval, choices, .. } if !choices.is_empty() => approval.as_deref(),
            _ => None,
        }
    }
}

/// A button.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Choice {
    pub label: String,
    /// One character, the last of the button's data; a capital one stands for its label.
    pub key: char,
}

impl Choice {
    /// Denies, after the platform has asked for the reason: the press comes with key `d` then.
    pub const WITH_REASON: char = 'w';
}

/// One thing on its way to one place.
#[derive(Debug, Clone)]
pub struct Shipment {
    /// The outbox row's id: the platform's idempotency key, where it knows one.
    pub key: String,
    pub place: Place,
    pub what: Outgoing,
    /// What an earlier send of this (or of the message to edit) left: then this is an edit.
    pub receipt: Option<Receipt>,
    /// The bytes of a [`Outgoing::File`].
    pub bytes: Option<Bytes>,
    /// The further pictures of the album that this one begins, where the channel shows albums.
    pub album: Vec<Shipment>,
    /// What the buttons of a [`Outgoing::Question`] carry in front of their choice's key:
    /// version char, kind char, 22 characters of base64url. Random, and known to nobody else.
    pub token: Option<String>,
}

/// Where a sent thing stands, so that it can be edited.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    /// The platform's id of the message; empty where there is none.
    pub message: String,
}

impl Receipt {
    /// Of what leaves no message behind, or none that is known.
    pub fn nowhere() -> Self {
        Self { message: String::new() }
    }
}
