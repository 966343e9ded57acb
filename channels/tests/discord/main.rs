//! The real Discord adapter against a stateful fake.

#![expect(clippy::disallowed_methods, reason = "a test waits for what it has spawned itself")]

mod commands;
mod endpoint;
mod files;
mod guilds;
mod listening;
mod peer;
mod presses;
mod secrets;
mod sending;
#[path = "../shared/mod.rs"]
mod shared;

use std::{collections::VecDeque, sync::Arc, time::Duration};

use bytes::Bytes;
use channels::{
    Batch, Button, Channel, Choice, ConnectionState, Delivery, Incoming, IncomingContent, Intake,
    ListenError, Outgoing, Place, PlaceKind, Receipt, SendError,
    discord::{Discord, DiscordConfig},
    incoming::Batches,
};
use fakes::discord::{FakeDiscord, TOKEN, Trouble};
use tokio::{sync::watch, task::JoinHandle};
use tokio_util::sync::CancellationToken;

use shared::{asked, file, text};

const BUTTON_TOKEN: &str = "1aAAAAAAAAAAAAAAAAAAAAAA";

fn discord_at(url: &str, token: &str, public_key: Option<String>) -> Arc<Discord> {
    let api_url = Some(url.parse().expect("a URL"));
    let usual = DiscordConfig::new("dc", token.into());
    Arc::new(Discord::new(DiscordConfig { api_url, public_key, ..usual }))
}

fn discord(fake: &FakeDiscord) -> Arc<Discord> {
    discord_at(&fake.url(), TOKEN, None)
}

/// A channel that listens, and the receiver of its intake.
struct Listening {
    batches: Batches,
    connection: watch::Receiver<ConnectionState>,
    /// Events that arrived together with the expected one.
    more: VecDeque<Incoming>,
    stop: CancellationToken,
    task: JoinHandle<Result<(), ListenError>>,
}

impl Listening {
    fn begin(channel: &Arc<Discord>, from: Option<String>) -> Self {
        let (intake, batches) = Intake::new();
        let connection = intake.connection();
        let stop = CancellationToken::new();
        let (channel, stopped) = (Arc::clone(channel), stop.clone());
        let task = tokio::spawn(async move { channel.listen(intake, from, stopped).await });
        Self { batches, connection, more: VecDeque::new(), stop, task }
    }

    /// Listens, and waits until the platform knows it.
    async fn connected(fake: &FakeDiscord) -> Self {
        let listening = Self::begin(&discord(fake), None);
        fake.until(FakeDiscord::is_connected).await;
        listening
    }

    /// The next batch, committed.
    async fn batch(&mut self) -> Batch {
        let next = tokio::time::timeout(Duration::from_secs(20), self.batches.recv());
        let (batch, committed) = next.await.expect("in time").expect("it listens");
        committed.send(()).expect("it waits for the commit");
        batch
    }

    /// A number of events, in any batches, and the position after them.
    async fn events(&mut self, count: usize) -> (Vec<Incoming>, Option<String>) {
        let (mut events, mut position) = (Vec::from(std::mem::take(&mut self.more)), None);
        while events.len() < count {
            let batch = self.batch().await;
            events.extend(batch.incomings);
            position = batch.position.or(position);
        }
        assert_eq!(events.len(), count, "{events:#?}");
        (events, position)
    }

    async fn event(&mut self) -> Incoming {
        while self.more.is_empty() {
            let batch = self.batch().await;
            self.more.extend(batch.incomings);
        }
        self.more.pop_front().expect("not empty")
    }

    /// The texts of the next events.
    async fn texts(&mut self, count: usize) -> Vec<String> {
        self.events(count).await.0.into_iter().map(|event| text_of(event.what)).collect()
    }

    async fn end(self) -> Result<(), ListenError> {
        self.stop.cancel();
        self.task.await.expect("it does not panic")
    }
}

fn text_of(what: IncomingContent) -> String {
    match what {
        IncomingContent::Text { text, .. } => text,
        other => panic!("no text: {other:?}"),
    }
}

fn question(text: &str) -> Outgoing {
    asked(
        text,
        &[
            ("Allow", Button::Allow),
            ("Always here", Button::AllowConversation),
            ("Deny", Button::Deny),
        ],
    )
}

fn delivery(chat: u64, what: Outgoing, receipt: Option<Receipt>) -> Delivery {
    Delivery {
        key: "01992f5e-7d2c-7b51-9d7a-5b8c0f7a3e11".to_owned(),
        place: Place { chat: chat.to_string(), thread: None, kind: PlaceKind::Group },
        what,
        receipt,
        bytes: Some(Bytes::from_static(b"hello")),
        album: Vec::new(),
        token: Some(BUTTON_TOKEN.to_owned()),
    }
}

/// Sent with a key of its own.
async fn show(channel: &Discord, chat: u64, what: Outgoing) -> Result<Receipt, SendError> {
    static NEXT: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
    let key = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    channel.send(&Delivery { key: format!("row-{key}"), ..delivery(chat, what, None) }).await
}

fn id(receipt: &Receipt) -> u64 {
    receipt.message.parse().expect("an id is a number")
}
