//! Messages to show on a platform. Add a new kind of message as a variant here, not as a new
//! method.

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::{button::Button, incoming::Place, message_ref::MessageRef, text};

/// The media type of a file that platforms with voice notes show as one: Opus in Ogg (RFC 7845).
/// Other recordings have a type without `codecs`.
pub const VOICE_NOTE: &str = "audio/ogg; codecs=opus";

/// One message. Text is Markdown (CommonMark, tables, strikethrough), which each channel translates
/// into its own dialect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Outgoing {
    /// A text.
    Text {
        /// The text, of any length. [`Outgoing::degrade`] splits it.
        markdown: String,
        /// The id of the message that this one answers.
        reply_to: Option<String>,
    },
    /// A text with buttons. One press decides.
    #[serde(rename = "question", alias = "approval")]
    Approval {
        /// The text.
        markdown: String,
        /// The public id of the approval, which people can type.
        approval: String,
        /// The buttons, in order.
        choices: Vec<Choice>,
        /// The id of the message that this one answers.
        #[serde(default)]
        reply_to: Option<String>,
    },
    /// A settled approval: an edit that keeps only the buttons that can still be pressed.
    Settled {
        /// The text, with the outcome.
        markdown: String,
        /// The public id of the approval, if there are buttons.
        #[serde(default)]
        approval: Option<String>,
        /// The buttons that remain.
        #[serde(default)]
        choices: Vec<Choice>,
    },
    /// A file as a native attachment. Its contents are in the [`Delivery`].
    File {
        /// The name that people see.
        name: String,
        /// The media type, which decides whether it is shown inline.
        media_type: String,
        /// The size, which must not exceed [`crate::Limits::upload_bytes`].
        size_bytes: u64,
        /// SHA-256 of the contents, in hex, with which the artifact store finds them.
        digest: String,
        /// Markdown below the file.
        caption: Option<String>,
        /// The id of the message that this one answers.
        #[serde(default)]
        reply_to: Option<String>,
    },
    /// A message whose real content is edited in later, on platforms without idempotency keys.
    Placeholder {
        /// The beginning of the content, because nothing replaces the message if the platform's
        /// response is lost.
        markdown: String,
        /// The id of the message that this one answers.
        reply_to: Option<String>,
    },
    /// The model's text so far. Each draft replaces the previous one.
    Draft {
        /// The text so far, which may end within a word or a markup sequence.
        markdown: String,
    },
    /// Deletes the message of the receipt, which was sent by the bot but is obsolete. A channel
    /// that cannot delete returns an error, and the message stays.
    Removal,
    /// The typing indicator.
    Typing,
    /// A reaction to a message of a person. It is not recorded in the outbox.
    Reaction {
        /// The platform's id of the message.
        message: String,
        /// An emoji that every platform accepts. Telegram only has a fixed set.
        emoji: String,
    },
    /// An ephemeral reply to a press. An empty text only stops the button's spinner.
    Toast {
        /// The id of the press.
        press: String,
        /// Plain text, at most 200 characters on Telegram.
        text: String,
        /// Whether the person has to dismiss it, on platforms that support this.
        alert: bool,
    },
}

impl Outgoing {
    /// The message that this replies to.
    pub fn reply_to(&self) -> Option<&str> {
        match self {
            Self::Text { reply_to, .. }
            | Self::Approval { reply_to, .. }
            | Self::File { reply_to, .. }
            | Self::Placeholder { reply_to, .. } => reply_to.as_deref(),
            _ => None,
        }
    }

    /// What the further parts of an answer reply to. None, except for native commands, whose
    /// answers share the visibility of the first part.
    pub(crate) fn behind(answered: &str) -> Option<String> {
        match MessageRef::parse(answered) {
            MessageRef::Command(call) => Some(MessageRef::CommandFollowUp(call).to_string()),
            MessageRef::Message(_) | MessageRef::CommandFollowUp(_) => None,
        }
    }

    /// What a placeholder shows until it is replaced by this: the first words, never the whole
    /// text. `None` if there is nothing to show a part of.
    pub fn opening(&self) -> Option<Self> {
        if self.is_voice_note() {
            // No platform edits a text into a voice note.
            return None;
        }
        let (markdown, reply_to) = match self {
            Self::Text { markdown, reply_to } | Self::Approval { markdown, reply_to, .. } => {
                (markdown.clone(), reply_to.clone())
            }
            Self::Draft { markdown } | Self::Settled { markdown, .. } => (markdown.clone(), None),
            Self::File { name, reply_to, .. } => {
                // The name can be shown as a whole: the file is more.
                let markdown = format!("{} …", text::escape(name));
                return Some(Self::Placeholder { markdown, reply_to: reply_to.clone() });
            }
            _ => return None,
        };
        let is_text = matches!(self, Self::Text { .. } | Self::Draft { .. });
        let words = match text::opening(&text::format(&markdown)) {
            None if is_text => return None,
            words => words.unwrap_or_else(|| "…".to_owned()),
        };
        Some(Self::Placeholder { markdown: text::escape(&words), reply_to })
    }

    /// Whether it is an image that platforms show inline. No platform supports SVG.
    pub fn is_picture(&self) -> bool {
        let shown = ["image/jpeg", "image/png", "image/webp"];
        matches!(self, Self::File { media_type, .. } if shown.contains(&media_type.as_str()))
    }

    /// Whether it is a voice note.
    pub fn is_voice_note(&self) -> bool {
        matches!(self, Self::File { media_type, .. } if media_type == VOICE_NOTE)
    }

    /// The size of a file; 0 for anything else.
    pub fn size_bytes(&self) -> u64 {
        match self {
            Self::File { size_bytes, .. } => *size_bytes,
            _ => 0,
        }
    }

    /// The public id of the approval whose buttons this shows.
    pub fn approval(&self) -> Option<&str> {
        match self {
            Self::Approval { approval, .. } => Some(approval),
            Self::Settled { approval, choices, .. } if !choices.is_empty() => approval.as_deref(),
            _ => None,
        }
    }
}

/// A button.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Choice {
    /// The text on the button.
    pub label: String,
    /// What it does.
    #[serde(rename = "key")]
    pub button: Button,
}

/// A message that is being sent to one place.
#[derive(Debug, Clone)]
pub struct Delivery {
    /// The outbox row's id, used as the platform's idempotency key where supported.
    pub key: String,
    /// Where it is sent.
    pub place: Place,
    /// What is sent, already degraded to the limits of the channel.
    pub what: Outgoing,
    /// The receipt of an earlier send, or of the message to edit. If set, this is an edit.
    pub receipt: Option<Receipt>,
    /// The contents of an [`Outgoing::File`].
    pub bytes: Option<Bytes>,
    /// The further pictures of an album, if the channel supports albums.
    pub album: Vec<Delivery>,
    /// The prefix of the data of an [`Outgoing::Approval`]'s buttons: version char, kind char, 22
    /// characters of base64url. Random and secret.
    pub token: Option<String>,
}

/// The location of a sent message, so that it can be edited.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    /// The platform's id of the message; empty if there is none.
    pub message: String,
}

impl Receipt {
    /// The receipt for something that leaves no message, or whose message is unknown.
    pub fn nowhere() -> Self {
        Self { message: String::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A URL in code is not a link, nor is it one while the message is being replaced.
    #[test]
    fn the_opening_shows_no_code_as_text() {
        let url = "`https://evil.test/?q=secret`";
        for (markdown, shown) in [
            (url.to_owned(), "…"),
            (format!("**{url}** more words"), "…"),
            (format!("See {url} for more"), "See …"),
            (format!("👍🏽 See {url}"), "👍🏽 See …"),
            (format!("> {url} x"), "…"),
            ("```\n@everyone come here now\n```".to_owned(), "…"),
            (format!("one two three four five six seven {url}"), "one two three four five six …"),
            ("one two `three`".to_owned(), "one two …"),
            ("one two three".to_owned(), "one two …"),
        ] {
            let text = Outgoing::Text { markdown: markdown.clone(), reply_to: None };
            let Some(Outgoing::Placeholder { markdown: opening, .. }) = text.opening() else {
                panic!("{markdown} has no opening")
            };
            assert_eq!(text::format(&opening).text, shown, "{markdown}");
            let draft = Outgoing::Draft { markdown };
            let Some(Outgoing::Placeholder { markdown: same, .. }) = draft.opening() else {
                panic!("no opening")
            };
            assert_eq!(same, opening);
        }
        let short = Outgoing::Text { markdown: "x".into(), reply_to: None };
        assert_eq!(short.opening(), None);
    }
}
