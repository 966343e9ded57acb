//! The length of a text as a platform counts it.

use super::{discord, format};

/// The unit in which a platform counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// UTF-16 code units (Telegram).
    Utf16,
    /// Unicode scalar values.
    Chars,
    /// Characters of the message in Discord's own Markdown: marks and URLs count too.
    Discord,
}

impl Unit {
    /// The length of a text that is shown as it is.
    pub fn count(self, text: &str) -> usize {
        match self {
            Self::Utf16 => text.encode_utf16().count(),
            Self::Chars | Self::Discord => text.chars().count(),
        }
    }

    /// The length of this Markdown once it is shown.
    pub fn of(self, markdown: &str) -> usize {
        match self {
            Self::Utf16 | Self::Chars => self.count(&format(markdown).text),
            Self::Discord => self.count(&discord(markdown)),
        }
    }
}
