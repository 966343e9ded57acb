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
    pub place: Place,
    /// The author; channel posts and service events have none.
    pub person: Option<Person>,
    pub what: What,
}

/// A place on a platform.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Place {
    /// The platform's numeric chat id, as text.
    pub chat: String,
    /// A topic or thread of that chat, which is a conversation of its own.
    pub thread: Option<String>,
    pub kind: PlaceKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlaceKind {
    Private,
    Group,
}

/// A person as named by the platform. Only `id` establishes identity; the rest can be changed at
/// will.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Person {
    /// The platform's numeric id, as text.
    pub id: String,
    /// The name to show.
    pub name: String,
    /// The IETF language tag of the person's client, if known.
    pub language: Option<String>,
    pub is_bot: bool,
    /// The person's roles in that place: `owner`, `admin`, Discord's role ids. Set for presses and
    /// for commands in groups; at most a minute old.
    #[serde(default)]
    pub roles: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum What {
    /// A message. `addressed` says that it is meant for the bot: a private chat, a mention, a reply
    /// to the bot, a command. Messages with the same `album` are one for the person.
    Text {
        message: String,
        text: String,
        reply_to: Option<String>,
        addressed: bool,
        #[serde(default)]
        files: Vec<FileRef>,
        #[serde(default)]
        album: Option<String>,
        /// The author of text in the message that is not the person's own: forwarded, quoted, made
        /// by a bot.
        #[serde(default)]
        foreign: Option<String>,
    },
    /// The person edited a message that they had sent.
    Edited {
        message: String,
        text: String,
        addressed: bool,
    },
    /// A button press: the id to acknowledge, the message of the button, the button's data; and the
    /// reason that the person gave, if the platform asked for one.
    Press {
        press: String,
        message: String,
        data: String,
        reason: Option<String>,
    },
    /// The bot was added to the place, or removed from it (kicked, blocked): until it is back,
    /// nothing can be sent there.
    Admitted,
    Expelled,
    /// Content that is not supported, by the platform's name for it.
    Unsupported {
        message: String,
        content: String,
    },
    /// The chat continues under a new id.
    Moved {
        to: String,
    },
    /// An event that could not be parsed, in its raw form: stored and counted, never lost.
    Unparsed {
        raw: String,
    },
}

/// A file of the platform that can be fetched with [`crate::Channel::fetch`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileRef {
    pub id: String,
    pub name: String,
    pub media_type: Option<String>,
    pub size_bytes: Option<u64>,
}

impl FileRef {
    /// What the sender is told about a file that is not fetched because its contents do not match
    /// its type.
    pub(crate) const BELIED: &str = "the file's content does not match its declared type";

    /// Whether the file is declared as an image, audio, video or PDF and certainly is none. The
    /// exact image format is not checked, because clients often get it wrong.
    pub(crate) fn belies(&self, bytes: &[u8]) -> bool {
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

/// Events that are committed together with the position after them.
#[derive(Debug, Clone, Default)]
pub struct Batch {
    pub incomings: Vec<Incoming>,
    /// The position to resume from after a restart, once this batch is committed; in the channel's
    /// own format.
    pub position: Option<String>,
}

/// Whether a channel is connected to its platform.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum ConnectionState {
    /// The first attempt has not ended yet.
    #[default]
    Connecting,
    Connected,
    /// The platform does not answer, or not as expected; the channel keeps trying.
    Disconnected {
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

    /// Returns once the batch is in the database. If the confirmation is dropped, the batch was not
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
        let belies = |claimed: &str, bytes: &[u8]| {
            let media_type = Some(claimed.to_owned());
            FileRef { id: String::new(), name: String::new(), media_type, size_bytes: None }
                .belies(bytes)
        };
        assert!(belies("image/png", b"<html>"));
        assert!(belies("application/pdf", b"MZ\x90"));
        assert!(belies("audio/ogg", b"PK\x03\x04"));
        assert!(belies("video/mp4", b""));
        assert!(!belies("image/png", b"\xff\xd8\xff\xe0"), "a picture all the same");
        assert!(!belies("image/jpeg", b"RIFF\0\0\0\0WEBP"));
        assert!(!belies("application/pdf", b"\n%PDF-1.7"));
        assert!(!belies("video/mp4", b"\0\0\0\x18ftypmp42"));
        assert!(!belies("text/plain", b"anything"));
    }
}
