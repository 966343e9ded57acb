//! Telegram on the stage that all channels share.

use std::time::Duration;

use channels::{Channel, Place, PlaceKind};
use fakes::telegram::{FakeTelegram, File, Trouble};

use super::*;
use crate::conformance::{Seen, Stage, conformance};

struct OnTelegram {
    fake: FakeTelegram,
    channel: Arc<Telegram>,
    chat: i64,
}

async fn stage() -> OnTelegram {
    let fake = FakeTelegram::start().await;
    let chat = fake.private("Ann");
    let channel = telegram(&fake);
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

    fn attaches(&self, name: &str, bytes: Bytes) {
        let file = File::new(name, "text/plain", bytes);
        self.fake.user_sends_document(self.chat, "Ann", file);
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

    fn loses_answer(&self) {
        self.fake.fault("editMessage*", Trouble::LoseAnswer);
    }
}

conformance!(stage());
