//! The Discord setup for the shared conformance suite.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use channels::{
    Channel, Place, PlaceKind,
    discord::{Discord, DiscordConfig},
};
use fakes::discord::{BOT_ID, FakeDiscord, TOKEN, Trouble};
use serde_json::Value;

use crate::suite::{Seen, Stage, conformance};

struct OnDiscord {
    fake: FakeDiscord,
    channel: Arc<Discord>,
    ann: u64,
    chat: u64,
}

async fn stage() -> OnDiscord {
    let fake = FakeDiscord::start().await;
    let ann = fake.person("Ann");
    let chat = fake.private(ann);
    let api_url = Some(fake.url().parse().expect("a URL"));
    let usual = DiscordConfig::new("dc", TOKEN.into());
    let channel = Arc::new(Discord::new(DiscordConfig { api_url, ..usual }));
    OnDiscord { fake, channel, ann, chat }
}

fn is_ours(message: &Value) -> bool {
    message["author"]["id"].as_str().and_then(|id| id.parse().ok()) == Some(BOT_ID)
}

/// The buttons of a message, all rows together.
pub fn buttons(message: &Value) -> Vec<String> {
    let rows = message["components"].as_array().into_iter().flatten();
    let buttons = rows.filter_map(|row| row["components"].as_array()).flatten();
    buttons.filter_map(|button| button["label"].as_str().map(str::to_owned)).collect()
}

impl Stage for OnDiscord {
    fn channel(&self) -> Arc<dyn Channel> {
        self.channel.clone()
    }

    fn place(&self) -> Place {
        Place { chat: self.chat.to_string(), thread: None, kind: PlaceKind::Private }
    }

    async fn hears_us(&self) {
        self.fake.until(FakeDiscord::is_connected).await;
    }

    fn says(&self, text: &str) {
        self.fake.says(self.chat, self.ann, text);
    }

    fn attaches(&self, bytes: Bytes) -> &'static str {
        self.fake.attaches(self.chat, self.ann, ("a_b.txt", &bytes));
        "a_b.txt"
    }

    fn presses(&self, label: &str) {
        let messages = self.fake.messages(self.chat);
        let asked = messages.iter().rfind(|message| !buttons(message).is_empty());
        let id = asked.and_then(|asked| asked["id"].as_str()?.parse().ok()).expect("a question");
        self.fake.presses(self.chat, self.ann, (id, label));
    }

    fn repeats(&self) {
        for message in self.fake.messages(self.chat) {
            self.fake.tells("MESSAGE_CREATE", &message);
        }
    }

    fn shown(&self) -> Vec<Seen> {
        let seen = |message: Value| Seen {
            text: message["content"].as_str().unwrap_or_default().to_owned(),
            buttons: buttons(&message),
            file: self.fake.file(&message).map(|(_, bytes)| bytes),
        };
        self.fake.messages(self.chat).into_iter().filter(is_ours).map(seen).collect()
    }

    fn throttles(&self, wait: Duration) {
        let trouble = Trouble::TooMany { retry_after: wait.as_secs_f64(), global: false };
        self.fake.fault("send", trouble);
    }

    fn loses_answer(&self) -> bool {
        self.fake.fault("send", Trouble::LoseAnswer);
        true
    }
}

conformance!(stage());
