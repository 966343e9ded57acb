//! The Telegram setup for the shared conformance suite.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use channels::{
    Channel, Place, PlaceKind,
    telegram::{Mode, Telegram, TelegramConfig},
};
use fakes::telegram::{FakeTelegram, File, TOKEN, Trouble};

use crate::suite::{Seen, Stage, conformance};

struct OnTelegram {
    fake: FakeTelegram,
    channel: Arc<Telegram>,
    chat: i64,
}

async fn stage() -> OnTelegram {
    let fake = FakeTelegram::start().await;
    let url = fake.url();
    on(fake, &url)
}

/// With the fake at that URL.
fn on(fake: FakeTelegram, url: &str) -> OnTelegram {
    let chat = fake.private("Ann");
    let config = TelegramConfig {
        id: "tg".to_owned(),
        token: TOKEN.into(),
        api_url: url.parse().expect("a URL"),
        mode: Mode::Poll,
        menus: Vec::new(),
    };
    let channel = Arc::new(Telegram::new(config));
    OnTelegram { fake, channel, chat }
}

impl Stage for OnTelegram {
    fn channel(&self) -> Arc<dyn Channel> {
        self.channel.clone()
    }

    fn place(&self) -> Place {
        Place { chat: self.chat.to_string(), thread: None, kind: PlaceKind::Private }
    }

    fn says(&self, text: &str) {
        self.fake.user_says(self.chat, "Ann", text);
    }

    fn attaches(&self, bytes: Bytes) -> &'static str {
        let file = File::new("a b.txt", "text/plain", bytes);
        self.fake.user_sends_document(self.chat, "Ann", file);
        "a b.txt"
    }

    fn presses(&self, label: &str) {
        let messages = self.fake.messages(self.chat);
        let asked = messages.iter().rfind(|message| !message.buttons.is_empty());
        self.fake.user_presses(self.chat, "Ann", asked.expect("a question").id, label);
    }

    fn repeats(&self) {
        self.fake.repeats_all();
    }

    fn shown(&self) -> Vec<Seen> {
        let messages = self.fake.messages(self.chat).into_iter().filter(|message| message.from_bot);
        let seen = |message: fakes::telegram::Shown| Seen {
            file: self.fake.document(self.chat, message.id).map(|file| file.bytes),
            text: message.text,
            buttons: message.buttons.into_iter().map(|(label, _)| label).collect(),
        };
        messages.map(seen).collect()
    }

    fn throttles(&self, wait: Duration) {
        self.fake.fault("editMessageText", Trouble::TooMany { retry_after: wait.as_secs() });
    }

    fn loses_answer(&self) -> bool {
        self.fake.fault("editMessage*", Trouble::LoseAnswer);
        true
    }
}

conformance!(stage());

/// Behind a proxy that validates every request against the platform's schema.
mod behind_the_shim {
    use super::*;

    async fn stage() -> OnTelegram {
        let set = |name| std::env::var(name).expect("shim_check.sh sets it");
        let port = set("COUNTERSIGN_FAKE_PORT").parse().expect("a port");
        on(FakeTelegram::start_on(port).await, &set("COUNTERSIGN_PROXY_URL"))
    }

    conformance!(ignore = "needs a peer: tests/peers/shim_check.sh", stage());
}
