//! What is lost and what comes twice, fault by fault, on each platform: the whole program over real
//! sockets, and its table.

#![expect(clippy::print_stdout, reason = "the table is what this test is run for")]

use std::time::Duration;

use fakes::{
    discord::{self, FakeDiscord},
    llm::{self, Answer, FakeLlm, Request},
    telegram::{self, FakeTelegram},
};
use serde_json::{Value, json};

use crate::process::{On, Running, Site, free_port};

/// After which an answer counts as lost.
const LONGEST: Duration = Duration::from_secs(45);

#[derive(Debug, Clone, Copy)]
enum Fault {
    ChatIsFull,
    BotIsFull,
    ErrorBefore,
    ErrorAfter,
    AnswerLost,
    CutBefore,
    DeliveredTwice,
    OutOfOrder,
    ConnectionDropped,
    SessionForgotten,
    Unparsable,
    Conflict,
    Killed,
}

/// With the rows that they are about.
const FAULTS: [(Fault, &str); 13] = [
    (Fault::ChatIsFull, "M4 429, this chat"),
    (Fault::BotIsFull, "M4 429, the whole bot"),
    (Fault::ErrorBefore, "M3 502, nothing was done"),
    (Fault::ErrorAfter, "M3 502, it was done"),
    (Fault::AnswerLost, "M3 done, the answer lost"),
    (Fault::CutBefore, "M3 cut before it was done"),
    (Fault::DeliveredTwice, "M1 delivered twice"),
    (Fault::OutOfOrder, "M9 out of order"),
    (Fault::ConnectionDropped, "M1 connection dropped"),
    (Fault::SessionForgotten, "M1 session forgotten"),
    (Fault::Unparsable, "M8 unparsable update"),
    (Fault::Conflict, "M7 another one listens"),
    (Fault::Killed, "M2 killed, started again"),
];

/// What became of one message and its answer.
#[derive(Debug, Default, PartialEq, Eq)]
struct Count {
    lost: usize,
    twice: usize,
    /// Placeholders that nothing was put into.
    orphans: usize,
}

enum Platform {
    Telegram { fake: FakeTelegram, chat: i64 },
    Discord { fake: FakeDiscord, ann: u64, chat: u64 },
}

impl Platform {
    async fn telegram() -> Self {
        let fake = FakeTelegram::start().await;
        let chat = fake.private("Ann");
        Self::Telegram { fake, chat }
    }

    async fn discord() -> Self {
        let fake = FakeDiscord::start().await;
        let ann = fake.person("Ann");
        let chat = fake.private(ann);
        Self::Discord { fake, ann, chat }
    }

    fn channel(&self) -> String {
        let (kind, token, url, ann) = match self {
            Self::Telegram { fake, chat } => {
                ("telegram", telegram::TOKEN, fake.url(), chat.to_string())
            }
            Self::Discord { fake, ann, .. } => {
                ("discord", discord::TOKEN, fake.url(), ann.to_string())
            }
        };
        format!(
            "[[channels]]\nid = \"c\"\nkind = \"{kind}\"\ntoken = \"{token}\"\n\
             api_url = \"{url}\"\nallow = [\"{ann}\"]\n"
        )
    }

    fn says(&self, text: &str) {
        match self {
            Self::Telegram { fake, chat } => {
                fake.user_says(*chat, "Ann", text);
            }
            Self::Discord { fake, ann, chat } => {
                fake.says(*chat, *ann, text);
            }
        }
    }

    /// What the bot shows.
    fn shown(&self) -> Vec<String> {
        match self {
            Self::Telegram { fake, chat } => {
                let ours = fake.messages(*chat).into_iter().filter(|message| message.from_bot);
                ours.map(|message| message.text).collect()
            }
            Self::Discord { fake, chat, .. } => fake.reads(*chat),
        }
    }

    fn count(&self, text: &str) -> usize {
        self.shown().iter().filter(|shown| *shown == text).count()
    }

    /// Whether the answer is there in time.
    async fn shows(&self, text: &str) -> bool {
        let mut ticks = tokio::time::interval(Duration::from_millis(50));
        let looking = async {
            while self.count(text) == 0 {
                ticks.tick().await;
            }
        };
        tokio::time::timeout(LONGEST, looking).await.is_ok()
    }

    /// What goes wrong with the message and its answer; `false` where it cannot.
    fn suffers(&self, fault: Fault) -> bool {
        match self {
            Self::Telegram { fake, chat } => on_telegram(fake, *chat, fault),
            Self::Discord { fake, chat, .. } => on_discord(fake, *chat, fault),
        }
    }

    /// What can only go wrong once the message was said.
    fn disturbs(&self, fault: Fault, aside: &str) {
        match (self, fault) {
            (Self::Telegram { fake, .. }, Fault::DeliveredTwice) => fake.repeats_all(),
            (Self::Discord { fake, chat, .. }, Fault::DeliveredTwice) => {
                for message in fake.messages(*chat) {
                    fake.tells("MESSAGE_CREATE", &message);
                }
            }
            (_, Fault::OutOfOrder) => self.says(aside),
            _ => {}
        }
    }
}

/// Both the placeholder and what is edited into it.
fn on_telegram(fake: &FakeTelegram, chat: i64, fault: Fault) -> bool {
    use fakes::telegram::Trouble;
    let trouble = match fault {
        // It does not say which of the two it means.
        Fault::ChatIsFull => Trouble::TooMany { retry_after: 1 },
        Fault::ErrorBefore => Trouble::Page { code: 502 },
        Fault::ErrorAfter => Trouble::PageAfter { code: 502 },
        Fault::AnswerLost => Trouble::LoseAnswer,
        Fault::CutBefore => Trouble::Cut,
        Fault::BotIsFull | Fault::SessionForgotten => return false,
        Fault::DeliveredTwice | Fault::Killed => return true,
        Fault::OutOfOrder => {
            fake.disorders(0, 2);
            // What waits to be fetched is taken with this one, or together after it.
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

fn on_discord(fake: &FakeDiscord, chat: u64, fault: Fault) -> bool {
    use fakes::discord::Trouble;
    let trouble = match fault {
        Fault::ChatIsFull => Trouble::TooMany { retry_after: 0.5, global: false },
        Fault::BotIsFull => Trouble::TooMany { retry_after: 0.5, global: true },
        Fault::ErrorBefore => Trouble::Page { status: 502 },
        Fault::ErrorAfter => Trouble::PageAfter { status: 502 },
        Fault::AnswerLost => Trouble::LoseAnswer,
        Fault::CutBefore => Trouble::Cut,
        // A connection keeps its order; a bot may have several.
        Fault::OutOfOrder | Fault::Conflict => return false,
        Fault::DeliveredTwice | Fault::Killed => return true,
        Fault::ConnectionDropped => {
            fake.hangs_up();
            return true;
        }
        Fault::SessionForgotten => {
            fake.forgets_sessions();
            return true;
        }
        Fault::Unparsable => {
            let odd = json!({ "id": "x", "channel_id": chat.to_string(), "author": 7 });
            fake.tells("MESSAGE_CREATE", &odd);
            return true;
        }
    };
    fake.fault("send", trouble);
    true
}

/// Answers the last `ask-N` with `got-N`.
fn answer(request: &Request) -> Answer {
    let asked = request.body["messages"].to_string();
    let last = asked.rsplit("ask-").next().unwrap_or_default();
    let number: String = last.chars().take_while(char::is_ascii_digit).collect();
    llm::text(&format!("got-{number}")).into()
}

/// A gateway on one platform, through all faults.
struct Trial {
    site: Site,
    llm: FakeLlm,
    platform: Platform,
}

impl Trial {
    async fn new(platform: Platform) -> Self {
        let (site, llm) = (Site::new(On::Sqlite).await, FakeLlm::start().await);
        llm.answers(answer);
        let more = format!(
            "[[models]]\nid = \"main\"\nprovider = \"openai\"\nbase_url = \"{}\"\n\
             api_key = \"sk-of-no-use\"\nmodel = \"a-model\"\n{}",
            llm.base_url(),
            platform.channel()
        );
        site.configure(&format!("127.0.0.1:{}", free_port()), &more);
        Self { site, llm, platform }
    }

    async fn start(&self) -> Running {
        let mut running = self.site.start(&[]);
        running.greeted().await;
        if let Platform::Discord { fake, .. } = &self.platform {
            fake.until(FakeDiscord::is_connected).await;
        }
        running
    }

    /// The counts in the order of the faults; `None` where the platform does not know the fault.
    async fn run(&self) -> Vec<Option<Count>> {
        let mut running = self.start().await;
        self.platform.says("ask-100");
        assert!(self.platform.shows("got-100").await, "{}", running.said());
        let mut counts = Vec::new();
        for (number, (fault, _)) in FAULTS.iter().enumerate() {
            let before = self.platform.count("…");
            if !self.platform.suffers(*fault) {
                counts.push(None);
                continue;
            }
            self.platform.says(&format!("ask-{number}."));
            self.platform.disturbs(*fault, &format!("aside-{number}."));
            if matches!(fault, Fault::Killed) {
                running.kill().await;
                running = self.start().await;
            }
            self.platform.shows(&format!("got-{number}")).await;
            let orphans = self.platform.count("…").saturating_sub(before);
            counts.push(Some(Count { orphans, ..Count::default() }));
        }
        // Behind this, nothing of what came before is still on its way.
        self.platform.says("ask-999.");
        assert!(self.platform.shows("got-999").await, "{}", running.said());
        running.stop().await;
        let heard = self.llm.requests().pop().map_or(Value::Null, |last| last.body);
        for (number, count) in counts.iter_mut().enumerate() {
            let Some(count) = count else { continue };
            let aside = matches!(FAULTS[number].0, Fault::OutOfOrder);
            let said = [format!("ask-{number}."), format!("aside-{number}.")];
            let heard = heard["messages"].to_string();
            let of = |text: &String| heard.matches(text.as_str()).count();
            let times = said[..=usize::from(aside)].iter().map(of);
            for times in times.chain([self.platform.count(&format!("got-{number}"))]) {
                count.lost += usize::from(times == 0);
                count.twice += times.saturating_sub(1);
            }
        }
        counts
    }
}

/// M1–M4, M7–M9: nothing is lost and nothing shown twice. On Telegram, which knows no key for a
/// repeated send, a placeholder whose answer was lost may stay behind, empty: one at most.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fault_matrix() {
    let telegram = Trial::new(Platform::telegram().await).await;
    let discord = Trial::new(Platform::discord().await).await;
    let (on_telegram, on_discord) = tokio::join!(telegram.run(), discord.run());
    let cell = |count: &Option<Count>| match count {
        None => "–".to_owned(),
        Some(Count { lost, twice, orphans: 0 }) => format!("{lost}, {twice}"),
        Some(Count { lost, twice, orphans }) => format!("{lost}, {twice} (+{orphans} empty)"),
    };
    println!("\n{:<28}{:<22}Discord   (lost, twice)", "fault", "Telegram");
    for (row, (_, name)) in FAULTS.iter().enumerate() {
        println!("{name:<28}{:<22}{}", cell(&on_telegram[row]), cell(&on_discord[row]));
    }
    println!("Web, terminal: no platform stands between; src/admin/tests, terminal_wires\n");
    for (row, (fault, name)) in FAULTS.iter().enumerate() {
        let orphans = usize::from(matches!(fault, Fault::AnswerLost | Fault::ErrorAfter));
        for (count, orphans) in [(&on_telegram[row], orphans), (&on_discord[row], 0)] {
            let Some(count) = count else { continue };
            assert_eq!((count.lost, count.twice), (0, 0), "{name}");
            assert!(count.orphans <= orphans, "{name}: {count:?}");
        }
    }
    telegram.site.end().await;
    discord.site.end().await;
}
