//! The real Telegram adapter against a stateful Bot API.

#![expect(clippy::disallowed_methods, reason = "a test waits for what it has spawned itself")]

mod drafts;
mod groups;
mod listening;
mod media;
mod pushes;
mod schema;
mod secrets;
mod sending;
#[path = "../shared/mod.rs"]
mod shared;

use std::sync::Arc;

use bytes::Bytes;
use channels::{
    Batch, Button, Channel, ConnectionState, Delivery, Incoming, Intake, ListenError, Outgoing,
    Place, PlaceKind, Receipt,
    incoming::{Batches, IncomingContent},
    telegram::{Menu, Mode, Telegram, TelegramConfig},
};
use fakes::telegram::{FakeTelegram, TOKEN};
use tokio::{sync::watch, task::JoinHandle};
use tokio_util::sync::CancellationToken;

use shared::{asked, file, text};

const BUTTON_TOKEN: &str = "1aAAAAAAAAAAAAAAAAAAAAAA";

fn telegram_at(url: &str, token: &str, mode: Mode) -> Arc<Telegram> {
    let api_url = url.parse().expect("a URL");
    let menus = Vec::new();
    let config = TelegramConfig { id: "tg".to_owned(), token: token.into(), api_url, mode, menus };
    Arc::new(Telegram::new(config))
}

fn telegram_offering(url: &str, menus: Vec<Menu>) -> Arc<Telegram> {
    let (id, token, mode) = ("tg".to_owned(), TOKEN.into(), Mode::Poll);
    let api_url = url.parse().expect("a URL");
    Arc::new(Telegram::new(TelegramConfig { id, token, api_url, mode, menus }))
}

fn menu(language: Option<&str>, help: &str) -> Menu {
    let commands = vec![("help".to_owned(), help.to_owned())];
    Menu { language: language.map(str::to_owned), commands }
}

fn telegram(fake: &FakeTelegram) -> Arc<Telegram> {
    telegram_at(&fake.url(), TOKEN, Mode::Poll)
}

/// A channel that listens, and the receiver of its intake.
struct Listening {
    batches: Batches,
    connection: watch::Receiver<ConnectionState>,
    stop: CancellationToken,
    task: JoinHandle<Result<(), ListenError>>,
}

impl Listening {
    fn begin(channel: &Arc<Telegram>, from: Option<String>) -> Self {
        let (intake, batches) = Intake::new();
        let connection = intake.connection();
        let stop = CancellationToken::new();
        let (channel, stopped) = (Arc::clone(channel), stop.clone());
        let task = tokio::spawn(async move { channel.listen(intake, from, stopped).await });
        Self { batches, connection, stop, task }
    }

    /// The next batch, committed.
    async fn batch(&mut self) -> Batch {
        let (batch, committed) = self.batches.recv().await.expect("it listens");
        committed.send(()).expect("it waits for the commit");
        batch
    }

    /// The next event, alone in its batch.
    async fn event(&mut self) -> Incoming {
        let mut batch = self.batch().await;
        assert_eq!(batch.incomings.len(), 1, "{batch:?}");
        batch.incomings.remove(0)
    }

    /// The next events, in any number of batches.
    async fn events(&mut self, count: usize) -> Vec<Incoming> {
        let mut events = Vec::new();
        while events.len() < count {
            events.extend(self.batch().await.incomings);
        }
        events
    }

    async fn what(&mut self) -> IncomingContent {
        self.event().await.what
    }

    async fn end(self) -> Result<(), ListenError> {
        self.stop.cancel();
        self.task.await.expect("it does not panic")
    }
}

fn question(text: &str) -> Outgoing {
    asked(text, &[("Allow", Button::Allow), ("Deny", Button::Deny)])
}

fn delivery(chat: i64, what: Outgoing, receipt: Option<&Receipt>) -> Delivery {
    Delivery {
        key: "k".to_owned(),
        place: Place { chat: chat.to_string(), thread: None, kind: PlaceKind::Private },
        what,
        receipt: receipt.cloned(),
        bytes: Some(Bytes::from_static(b"hello")),
        album: Vec::new(),
        token: Some(BUTTON_TOKEN.to_owned()),
    }
}

fn webhook(secret: &str, before: Option<&str>) -> Mode {
    let url = "https://example.org/hook".parse().expect("a URL");
    Mode::Webhook { url, secret: secret.into(), before: before.map(Into::into) }
}

/// The id of the message that a receipt names.
fn id(receipt: &Receipt) -> i64 {
    receipt.message.parse().expect("a message has a number")
}
