//! What a platform told us, before anybody has decided what it means.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use tokio::sync::{mpsc, oneshot};

use crate::error::ListenError;

/// One event of a platform.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Incoming {
    /// The platform's own id of this event (Telegram `update_id`), unique within the channel.
    pub key: String,
    /// When it happened, by the platform's clock.
    pub at: DateTime<Utc>,
    pub place: Place,
    /// Who did it; channel posts and service events have nobody.
    pub person: Option<Person>,
    pub what: What,
}

/// Where something happened or is to be shown.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Place {
    /// The platform's numeric chat id, as text.
    pub chat: String,
    /// A topic or thread of that chat; a conversation of its own.
    pub thread: Option<String>,
    pub kind: PlaceKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlaceKind {
    Private,
    Group,
}

/// A person as the platform names them. Only `id` is identity; the rest can be changed at will.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Person {
    /// The platform's numeric id, as text.
    pub id: String,
    /// The name to show.
    pub name: String,
    /// IETF language tag of the person's client, if it told.
    pub language: Option<String>,
    pub is_bot: bool,
    /// What the platform says they are in that place: `owner`, `admin`, Discord's role ids. Known
    /// for presses and commands in groups; a stale answer is at most a minute old.
    #[serde(default)]
    pub roles: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum What {
    /// A message. `addressed` says that it is meant for the bot: a private chat, a mention, a
    /// reply to the bot, a command. Messages that share an `album` are one thing to the person.
    Text {
        message: String,
        text: String,
        reply_to: Option<String>,
        addressed: bool,
        #[serde(default)]
        files: Vec<FileRef>,
        #[serde(default)]
        album: Option<String>,
        /// Whose words stand in it besides the person's own: forwarded, answered, made by a bot.
        #[serde(default)]
        foreign: Option<String>,
    },
    /// The person changed a message that they had sent.
    Edited {
        message: String,
        text: String,
        addressed: bool,
    },
    /// A button: what the platform wants acknowledged, the message it stands on, what it carries;
    /// and the reason that the person gave with it, where the platform asked for one.
    Press {
        press: String,
        message: String,
        data: String,
        reason: Option<String>,
    },
    /// The bot was let into the place, or is shown out of it (kicked, blocked): until it is back,
    /// nothing can be shown there.
    Admitted,
    Expelled,
    /// Something that the agent cannot take in yet, by the platform's name for it.
    Unsupported {
        message: String,
        content: String,
    },
    /// The chat goes on under another id.
    Moved {
        to: String,
    },
    /// What this program could not read, as it came: kept and counted, never lost.
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
    /// What a sender is told of a file that is not fetched because its bytes belie it.
    pub(crate) const BELIED: &str = "the file's content is not of the kind that it says it is";

    /// Whether it is declared as a picture, a sound, a film or a PDF, and surely is none. Which kind
    /// of picture it is, people's programs often get wrong themselves.
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

/// Events that are to be committed together with the position behind them.
#[derive(Debug, Clone, Default)]
pub struct Batch {
    pub incomings: Vec<Incoming>,
    /// Where to listen from after a restart, once this batch is committed: in the channel's own
    /// words, which nobody else reads.
    pub position: Option<String>,
}

/// Hands batches to whoever writes them down.
#[derive(Clone)]
pub struct Intake {
    batches: mpsc::Sender<(Batch, oneshot::Sender<()>)>,
}

/// The other end of an [`Intake`]: each batch with the sender that says "committed".
pub type Batches = mpsc::Receiver<(Batch, oneshot::Sender<()>)>;

impl Intake {
    pub fn new() -> (Self, Batches) {
        let (batches, receiver) = mpsc::channel(64);
        (Self { batches }, receiver)
    }

    /// Returns once the batch is in the database. Whoever drops the acknowledgement did not commit:
    /// the platform must then be left to deliver the same again.
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
