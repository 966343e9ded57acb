//! The length of a text as a platform counts it.

use super::{discord, format};

/// The unit in which a platform counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// UTF-16 code units, as Telegram counts.
    Utf16,
    /// Unicode scalar values.
    Chars,
    /// Characters of the message in Discord's own Markdown, including markup and URLs.
    Discord,
}

impl Unit {
    /// The length of a plain text.
    pub fn count(self, text: &str) -> usize {
        match self {
            Self::Utf16 => text.encode_utf16().count(),
            Self::Chars | Self::Discord => text.chars().count(),
        }
    }

    /// The maximum number of formatted ranges in a message, beyond which the platform drops the
    /// formatting without an error. <https://core.telegram.org/bots/api#formatting-options>
    fn max_spans(self) -> Option<usize> {
        match self {
            Self::Utf16 => Some(100),
            Self::Chars | Self::Discord => None,
        }
    }

    /// Whether this Markdown has too many formatted ranges for one message.
    pub(super) fn is_dense(self, markdown: &str) -> bool {
        self.max_spans().is_some_and(|limit| format(markdown).spans.len() > limit)
    }

    /// The length of this Markdown once it is shown.
    pub fn of(self, markdown: &str) -> usize {
        match self {
            Self::Utf16 | Self::Chars => self.count(&format(markdown).text),
            Self::Discord => self.count(&discord(markdown)),
        }
    }
}
