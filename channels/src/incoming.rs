//! Events of a platform, before any decision about them.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot, watch};

use crate::error::ListenError;

/// One event of a platform.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Incoming {
    /// The platform's own id of this event (Telegram `update_id`), unique within the channel.
    pub key: String,
    /// When it happened, by the platform's clock.
    pub at: DateTime<Utc>,
    /// Where it happened.
    pub place: Place,
    /// The author; channel posts and service events have none.
    pub person: Option<Person>,
    /// What happened.
    pub what: IncomingContent,
}

/// A place on a platform.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Place {
    /// The platform's numeric chat id, as text.
    pub chat: String,
    /// A topic or thread of that chat, which is a conversation of its own.
    pub thread: Option<String>,
    /// Whether other people can read what is written there.
    pub kind: PlaceKind,
}

/// Whether others can read what is written in a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlaceKind {
    /// A chat of one person with the bot.
    Private,
    /// Everything else: groups, channels, threads of them.
    Group,
}

/// A person, as described by the platform. Only `id` identifies them; people can change the other
/// values themselves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Person {
    /// The platform's numeric id, as text.
    pub id: String,
    /// The name to show.
    pub name: String,
    /// The IETF language tag of the person's client, if known.
    pub language: Option<String>,
    /// Whether the account is another bot.
    pub is_bot: bool,
    /// The person's roles in that place: `owner`, `admin`, or ids of Discord roles. Set for
    /// presses, and for commands in groups. At most a minute old.
    #[serde(default)]
    pub roles: Vec<String>,
    /// Whether the platform has not reported them.
    #[serde(default)]
    pub roles_unknown: bool,
}

/// What happened on a platform. Ids of messages are in the format of the platform.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum IncomingContent {
    /// A message. Messages with the same `album` were sent together.
    Text {
        /// The id of the message.
        message: String,
        /// The text or caption; may be empty if there are files.
        text: String,
        /// The id of the message that this one replies to.
        reply_to: Option<String>,
        /// Whether the message is meant for the bot: it is in a private chat, mentions the bot,
        /// replies to it, or is a command.
        addressed: bool,
        /// The attached files, which have not been fetched yet.
        #[serde(default)]
        files: Vec<FileRef>,
        /// The platform's id of the album that the message is part of.
        #[serde(default)]
        album: Option<String>,
        /// The author of text in the message that is not the person's own, because it is forwarded,
        /// quoted, or made by a bot.
        #[serde(default)]
        #[serde(rename = "foreign")]
        quoted_author: Option<String>,
    },
    /// The person edited a message that they had sent.
    Edited {
        /// The id of the message.
        message: String,
        /// The new text.
        text: String,
        /// Whether the message is meant for the bot.
        addressed: bool,
    },
    /// A button press.
    Press {
        /// The id of the press, which is needed to acknowledge it.
        press: String,
        /// The id of the message with the button.
        message: String,
        /// The data of the button: the token of [`crate::Delivery`] and the key of a
        /// [`crate::Choice`].
        data: String,
        /// The reason that the person gave, if the platform asked for one.
        reason: Option<String>,
    },
    /// The bot was added to the place.
    Admitted,
    /// The bot was removed from the place (kicked, blocked). Nothing can be sent there until it is
    /// added again.
    Expelled,
    /// Content that is not supported.
    Unsupported {
        /// The id of the message.
        message: String,
        /// The platform's name for the content: `sticker`, `poll`.
        content: String,
    },
    /// The chat continues under a new id.
    Moved {
        /// The new chat id.
        to: String,
    },
    /// An event that could not be parsed, in its raw form. It is stored and counted, so that
    /// nothing is lost.
    Unparsed {
        /// The event as the platform sent it.
        raw: String,
    },
}

/// A file of the platform that can be fetched with [`crate::Channel::fetch`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileRef {
    /// The platform's id of the file; it may expire.
    pub id: String,
    /// The name that the sender gave it; not safe as a path.
    pub name: String,
    /// The media type that the sender declared, not verified.
    pub media_type: Option<String>,
    /// The declared size; `None` if the platform does not say.
    pub size_bytes: Option<u64>,
    /// Whether it is a voice note: the platform's client recorded it, so that it is what the sender
    /// said, and not any audio file.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_voice: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_false(flag: &bool) -> bool {
    !flag
}

impl FileRef {
    /// The message to the sender if a file's contents do not match its declared type.
    pub(crate) const TYPE_MISMATCH: &str = "the file's content does not match its declared type";

    /// Whether the file is declared as an image, audio, video or PDF but is certainly none. The
    /// exact image format is not checked, because clients often declare it wrongly.
    pub(crate) fn contradicts_type(&self, bytes: &[u8]) -> bool {
        let begins = |with: &[&[u8]]| with.iter().any(|magic| bytes.starts_with(magic));
        let boxed = bytes.get(4..8) == Some(b"ftyp");
        let riff = begins(&[b"RIFF"]);
        match self.media_type.as_deref().unwrap_or_default() {
            "image/png" | "image/jpeg" | "image/gif" | "image/webp" | "image/avif"
            | "image/heic" => {
                let known: [&[u8]; 5] =
                    [b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF8", b"BM", b"II*\0"];
                !(begins(&known) || riff || boxed)
            }
            "video/mp4" | "video/quicktime" | "video/webm" => {
                let atoms = [b"moov".as_slice(), b"mdat", b"free", b"wide"];
                let old = bytes.get(4..8).is_some_and(|atom| atoms.contains(&atom));
                !(boxed || old || begins(&[b"\x1a\x45\xdf\xa3"]))
            }
            "audio/ogg" | "audio/mpeg" | "audio/wav" | "audio/x-wav" | "audio/flac" => {
                let known: [&[u8]; 4] = [b"OggS", b"ID3", b"fLaC", b"\x1a\x45\xdf\xa3"];
                let frames = bytes.len() > 1 && bytes[0] == 0xff && bytes[1] & 0xe0 == 0xe0;
                !(begins(&known) || frames || riff || boxed)
            }
            "application/pdf" => !bytes[..bytes.len().min(1024)].windows(5).any(|w| w == b"%PDF-"),
            _ => false,
        }
    }
}

/// Events, and the position after them, which are committed together.
#[derive(Debug, Clone, Default)]
pub struct Batch {
    /// The events, oldest first.
    pub incomings: Vec<Incoming>,
    /// The position to resume from after a restart once this batch is committed, in the channel's
    /// own format.
    pub position: Option<String>,
}

/// Whether a channel is connected to its platform.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum ConnectionState {
    /// The first attempt has not finished yet.
    #[default]
    Connecting,
    /// Events are received.
    Connected,
    /// The platform does not answer, or not as expected. The channel keeps trying.
    Disconnected {
        /// What went wrong, for operators.
        problem: String,
    },
}

/// Passes batches to the gateway, and reports the state of the connection.
#[derive(Clone)]
pub struct Intake {
    batches: mpsc::Sender<(Batch, oneshot::Sender<()>)>,
    connection: Arc<watch::Sender<ConnectionState>>,
}

/// The receiver of an [`Intake`]: each batch with a sender that confirms the commit.
pub type Batches = mpsc::Receiver<(Batch, oneshot::Sender<()>)>;

impl Intake {
    /// Creates an intake and its receiver. At most 64 batches wait for the receiver.
    pub fn new() -> (Self, Batches) {
        let (batches, receiver) = mpsc::channel(64);
        (Self { batches, connection: Arc::default() }, receiver)
    }

    /// Reports the state of the connection. A channel without a platform is connected as soon as
    /// it listens.
    pub fn report(&self, connection: ConnectionState) {
        self.connection.send_if_modified(|known| {
            let is_news = *known != connection;
            *known = connection;
            is_news
        });
    }

    /// The state that was reported last.
    pub fn connection(&self) -> watch::Receiver<ConnectionState> {
        self.connection.subscribe()
    }

    /// Returns once the batch is committed to the database. An error means that it was not
    /// committed and must not be acknowledged to the platform.
    pub async fn commit(&self, batch: Batch) -> Result<(), ListenError> {
        let (committed, wait) = oneshot::channel();
        self.batches.send((batch, committed)).await.map_err(|_| ListenError::Closed)?;
        wait.await.map_err(|_| ListenError::Closed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves S8.
    #[test]
    fn a_declared_kind_is_held_against_the_first_bytes() {
        let contradicts_type = |claimed: &str, bytes: &[u8]| {
            let media_type = Some(claimed.to_owned());
            FileRef {
                id: String::new(),
                name: String::new(),
                media_type,
                size_bytes: None,
                is_voice: false,
            }
            .contradicts_type(bytes)
        };
        assert!(contradicts_type("image/png", b"<html>"));
        assert!(contradicts_type("application/pdf", b"MZ\x90"));
        assert!(contradicts_type("audio/ogg", b"PK\x03\x04"));
        assert!(contradicts_type("video/mp4", b""));
        assert!(!contradicts_type("image/png", b"\xff\xd8\xff\xe0"), "a picture all the same");
        assert!(!contradicts_type("image/jpeg", b"RIFF\0\0\0\0WEBP"));
        assert!(!contradicts_type("application/pdf", b"\n%PDF-1.7"));
        assert!(!contradicts_type("video/mp4", b"\0\0\0\x18ftypmp42"));
        assert!(!contradicts_type("text/plain", b"anything"));
    }
}
