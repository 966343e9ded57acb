//! Faults of Telegram and Discord.

use fakes::{
    discord::{self, FakeDiscord},
    telegram::{self, FakeTelegram},
};
use serde_json::json;

use super::{Fault, Platform};
use crate::support::process::{Running, Site};

pub struct Telegram {
    fake: FakeTelegram,
    chat: i64,
    other: i64,
}

impl Telegram {
    pub async fn new() -> Self {
        let fake = FakeTelegram::start().await;
        let (chat, other) = (fake.private("Ann"), fake.private("Bob"));
        Self { fake, chat, other }
    }

    fn shown_in(&self, chat: i64) -> Vec<String> {
        let ours = self.fake.messages(chat).into_iter().filter(|message| message.from_bot);
        ours.map(|message| message.text).collect()
    }
}

fn channel(kind: &str, token: &str, url: &str, people: [String; 2]) -> String {
    format!(
        "[[channels]]\nid = \"c\"\nkind = \"{kind}\"\ntoken = \"{token}\"\n\
         api_url = \"{url}\"\nallow = {people:?}\n"
    )
}

impl Platform for Telegram {
    fn channel(&self) -> String {
        let people = [self.chat, self.other].map(|chat| chat.to_string());
        channel("telegram", telegram::TOKEN, &self.fake.url(), people)
    }

    async fn start(&mut self, site: &Site) -> Running {
        let mut running = site.start(&[]);
        running.greeted().await;
        running
    }

    async fn says(&self, _running: &mut Running, text: &str) {
        self.fake.user_says(self.chat, "Ann", text);
    }

    async fn another_says(&self, text: &str) {
        self.fake.user_says(self.other, "Bob", text);
    }

    async fn shown(&self, _site: &Site) -> Vec<String> {
        self.shown_in(self.chat)
    }

    async fn another_is_shown(&self) -> Vec<String> {
        self.shown_in(self.other)
    }

    /// Applies to both the placeholder and its edit.
    async fn suffers(&self, _running: &mut Running, fault: Fault) -> bool {
        use fakes::telegram::Trouble;
        let (fake, chat) = (&self.fake, self.chat);
        let trouble = match fault {
            // The error does not say whether the chat or the bot is limited.
            Fault::ChatIsFull => Trouble::TooMany { retry_after: 1 },
            Fault::ErrorBefore => Trouble::Page { code: 502 },
            Fault::ErrorAfter => Trouble::PageAfter { code: 502 },
            Fault::AnswerLost => Trouble::LoseAnswer,
            Fault::CutBefore => Trouble::Cut,
            Fault::BotIsFull | Fault::SessionForgotten => return false,
            Fault::DeliveredTwice
            | Fault::Killed
            | Fault::LongAnswer
            | Fault::AnotherIsSlow
            | Fault::AnotherIsGone => return true,
            Fault::Unchanged => {
                // The edit is repeated, and the platform says that nothing has changed.
                fake.fault("editMessageText", Trouble::LoseAnswer);
                return true;
            }
            Fault::OutOfOrder => {
                fake.disorders(0, 2);
                // The waiting update is fetched together with this one or after it.
                fake.user_says(chat, "Ann", "early");
                return true;
            }
            Fault::ConnectionDropped => {
                fake.faults("getUpdates", Trouble::Cut, 2);
                return true;
            }
            Fault::Unparsable => {
                let odd = json!({ "id": 7, "first_name": [], "is_bot": "no" });
                fake.push_raw(json!({ "message": { "chat": { "id": chat }, "from": odd } }));
                return true;
            }
            Fault::Conflict => {
                let description = "Conflict: terminated by other getUpdates request".to_owned();
                fake.fault("getUpdates", Trouble::Refuse { code: 409, description });
                return true;
            }
        };
        for method in ["sendMessage", "editMessageText"] {
            fake.fault(method, trouble.clone());
        }
        true
    }

    async fn disturbs(&self, running: &mut Running, fault: Fault, aside: &str) {
        match fault {
            Fault::DeliveredTwice => self.fake.repeats_all(),
            Fault::OutOfOrder => self.says(running, aside).await,
            Fault::AnotherIsGone => self.fake.user_blocks(self.other),
            _ => {}
        }
    }
}

pub struct Discord {
    fake: FakeDiscord,
    ann: u64,
    chat: u64,
    bob: u64,
    other: u64,
}

impl Discord {
    pub async fn new() -> Self {
        let fake = FakeDiscord::start().await;
        let (ann, bob) = (fake.person("Ann"), fake.person("Bob"));
        let (chat, other) = (fake.private(ann), fake.private(bob));
        Self { fake, ann, chat, bob, other }
    }
}

impl Platform for Discord {
    fn channel(&self) -> String {
        let people = [self.ann, self.bob].map(|person| person.to_string());
        channel("discord", discord::TOKEN, &self.fake.url(), people)
    }

    async fn start(&mut self, site: &Site) -> Running {
        let mut running = site.start(&[]);
        running.greeted().await;
        self.fake.until(FakeDiscord::is_connected).await;
        running
    }

    async fn says(&self, _running: &mut Running, text: &str) {
        self.fake.says(self.chat, self.ann, text);
    }

    async fn another_says(&self, text: &str) {
        self.fake.says(self.other, self.bob, text);
    }

    async fn shown(&self, _site: &Site) -> Vec<String> {
        self.fake.reads(self.chat)
    }

    async fn another_is_shown(&self) -> Vec<String> {
        self.fake.reads(self.other)
    }

    async fn suffers(&self, _running: &mut Running, fault: Fault) -> bool {
        use fakes::discord::Trouble;
        let fake = &self.fake;
        let trouble = match fault {
            Fault::ChatIsFull => Trouble::TooMany { retry_after: 0.5, global: false },
            Fault::BotIsFull => Trouble::TooMany { retry_after: 0.5, global: true },
            Fault::ErrorBefore => Trouble::Page { status: 502 },
            Fault::ErrorAfter => Trouble::PageAfter { status: 502 },
            Fault::AnswerLost => Trouble::LoseAnswer,
            Fault::CutBefore => Trouble::Cut,
            // A connection keeps its order; a bot may have several; an edit may change nothing.
            Fault::OutOfOrder | Fault::Conflict | Fault::Unchanged => return false,
            Fault::DeliveredTwice | Fault::Killed | Fault::LongAnswer | Fault::AnotherIsSlow => {
                return true;
            }
            Fault::AnotherIsGone => {
                fake.closes(self.other);
                return true;
            }
            Fault::ConnectionDropped => {
                fake.hangs_up();
                return true;
            }
            Fault::SessionForgotten => {
                fake.forgets_sessions();
                return true;
            }
            Fault::Unparsable => {
                let odd = json!({ "id": "x", "channel_id": self.chat.to_string(), "author": 7 });
                fake.tells("MESSAGE_CREATE", &odd);
                return true;
            }
        };
        fake.fault("send", trouble);
        true
    }

    async fn disturbs(&self, _running: &mut Running, fault: Fault, _aside: &str) {
        if fault == Fault::DeliveredTwice {
            for message in self.fake.messages(self.chat) {
                self.fake.tells("MESSAGE_CREATE", &message);
            }
        }
    }
}
