//! A channel of your own: a chat over UDP, one datagram per message.
//!
//! `main` stands in for the gateway: it confirms what arrives and repeats it. Start it with
//! `cargo run -p channels --example datagrams`, and write to it with `nc -u 127.0.0.1 7000`.

use async_trait::async_trait;
use bytes::Bytes;
use channels::{
    Channel, Delivery, FileRef, Incoming, IncomingContent, Intake, Limits, ListenError, Outgoing,
    Person, Place, PlaceKind, Receipt, SendError, Unit, WebhookError, WebhookRequest,
    incoming::{Batch, Batches},
    limits::{RateLimits, Repeat},
    text,
};
use chrono::DateTime;
use std::{
    collections::VecDeque,
    net::SocketAddr,
    sync::{Mutex, PoisonError},
};
use tokio::net::UdpSocket;
use tokio_util::sync::CancellationToken;

/// The largest payload of a datagram that every network passes on.
const DATAGRAM_BYTES: usize = 508;

/// The number of messages that are recognised if they are sent again.
const REMEMBERED: usize = 1_000;

struct Datagrams {
    id: String,
    limits: Limits,
    socket: UdpSocket,
    sent: Mutex<VecDeque<String>>,
}

impl Datagrams {
    async fn bind(id: &str, address: SocketAddr) -> std::io::Result<Self> {
        let limits = Limits {
            // A character takes at most four bytes.
            text: DATAGRAM_BYTES / 4,
            caption: DATAGRAM_BYTES / 4,
            unit: Unit::Chars,
            // Files become a sentence that says that they are too large.
            upload_bytes: 0,
            buttons: false,
            repeat: Repeat::NativeKey,
            typing_for: None,
            drafts: None,
            supports_drafts: false,
            reasons: false,
            pictures: false,
            reactions: false,
            album: 1,
            rate_limits: RateLimits::default(),
        };
        let socket = UdpSocket::bind(address).await?;
        Ok(Self { id: id.to_owned(), limits, socket, sent: Mutex::default() })
    }

    fn was_sent(&self, key: &str) -> bool {
        self.sent.lock().unwrap_or_else(PoisonError::into_inner).iter().any(|sent| sent == key)
    }

    fn remember(&self, key: &str) {
        let mut sent = self.sent.lock().unwrap_or_else(PoisonError::into_inner);
        sent.push_back(key.to_owned());
        if sent.len() > REMEMBERED {
            sent.pop_front();
        }
    }
}

/// Each address that writes is a person with a private chat.
fn incoming(text: &str, number: u64, from: SocketAddr) -> Incoming {
    let address = from.to_string();
    Incoming {
        key: number.to_string(),
        // A channel has no clock, and a datagram no time.
        at: DateTime::UNIX_EPOCH,
        place: Place { chat: address.clone(), thread: None, kind: PlaceKind::Private },
        person: Some(Person {
            id: address.clone(),
            name: address,
            language: None,
            is_bot: false,
            roles: Vec::new(),
            roles_unknown: false,
        }),
        what: IncomingContent::Text {
            message: number.to_string(),
            text: text.to_owned(),
            reply_to: None,
            addressed: true,
            files: Vec::new(),
            album: None,
            quoted_author: None,
        },
    }
}

#[async_trait]
impl Channel for Datagrams {
    fn id(&self) -> &str {
        &self.id
    }

    fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The position counts the datagrams over all starts, so that each has a key of its own.
    async fn listen(
        &self,
        intake: Intake,
        from: Option<String>,
        stop: CancellationToken,
    ) -> Result<(), ListenError> {
        let mut number: u64 = from.and_then(|count| count.parse().ok()).unwrap_or_default();
        let mut buffer = [0; DATAGRAM_BYTES];
        loop {
            let received = tokio::select! {
                received = self.socket.recv_from(&mut buffer) => received,
                () = stop.cancelled() => return Ok(()),
            };
            // An error belongs to an earlier datagram that could not be delivered.
            let Ok((length, from)) = received else { continue };
            number += 1;
            let text = String::from_utf8_lossy(&buffer[..length]);
            let incomings = vec![incoming(text.trim(), number, from)];
            intake.commit(Batch { incomings, position: Some(number.to_string()) }).await?;
        }
    }

    async fn webhook(&self, _request: &WebhookRequest) -> Result<Vec<Incoming>, WebhookError> {
        Err(WebhookError::Absent)
    }

    async fn send(&self, delivery: &Delivery) -> Result<Receipt, SendError> {
        let shown = match &delivery.what {
            Outgoing::Text { markdown, .. }
            | Outgoing::Approval { markdown, .. }
            | Outgoing::Settled { markdown, .. } => text::format(markdown).text,
            Outgoing::Toast { text, .. } => text.clone(),
            Outgoing::Placeholder { .. }
            | Outgoing::Draft { .. }
            | Outgoing::Typing
            | Outgoing::Reaction { .. } => {
                return Ok(Receipt::nowhere());
            }
            Outgoing::File { .. } | Outgoing::Removal => {
                return Err(SendError::Rejected("only text can be sent".to_owned()));
            }
        };
        if !self.was_sent(&delivery.key) {
            let to = &delivery.place.chat;
            let sent = self.socket.send_to(format!("{shown}\n").as_bytes(), to).await;
            sent.map_err(|error| SendError::Retry { after: None, reason: error.to_string() })?;
            self.remember(&delivery.key);
        }
        Ok(Receipt { message: delivery.key.clone() })
    }

    async fn fetch(&self, file: &FileRef) -> Result<Bytes, SendError> {
        Err(SendError::Rejected(format!("{}: there are no files here", file.id)))
    }
}

/// Confirms each batch, and answers each message with its text.
async fn repeat_everything(channel: &Datagrams, mut batches: Batches) -> Result<(), SendError> {
    while let Some((batch, committed)) = batches.recv().await {
        // The gateway stores the batch here. Dropping `committed` would reject it.
        let _ = committed.send(());
        for incoming in batch.incomings {
            let IncomingContent::Text { text, .. } = incoming.what else { continue };
            let answer = Outgoing::Text { markdown: text, reply_to: None };
            for (part, what) in answer.degrade(channel.limits()).into_iter().enumerate() {
                let delivery = Delivery {
                    key: format!("{}/{part}", incoming.key),
                    place: incoming.place.clone(),
                    what,
                    receipt: None,
                    bytes: None,
                    album: Vec::new(),
                    token: None,
                };
                channel.send(&delivery).await?;
            }
        }
    }
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let channel = Datagrams::bind("datagrams", SocketAddr::from(([127, 0, 0, 1], 7_000))).await?;
    let (intake, batches) = Intake::new();
    let listening = channel.listen(intake, None, CancellationToken::new());
    let (listened, repeated) = tokio::join!(listening, repeat_everything(&channel, batches));
    listened?;
    Ok(repeated?)
}
