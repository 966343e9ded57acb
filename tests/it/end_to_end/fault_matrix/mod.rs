//! Lost and duplicated messages for each fault, on each platform and both databases: the whole
//! program over real sockets, and its table.
//!
//! - [`platforms`]: Telegram and Discord, with their fakes
//! - [`own`]: the web chat and the terminal, without a platform in between

#![expect(clippy::print_stdout, reason = "the table is what this test is run for")]

mod own;
mod platforms;

use std::{collections::BTreeMap, time::Duration};

use fakes::llm::{self, Answer, FakeLlm, Request};
use serde_json::Value;

use crate::support::process::{On, Running, Site};
use own::{Terminal, Web};
use platforms::{Discord, Telegram};

/// After this time an answer counts as lost.
const LONGEST: Duration = Duration::from_mins(1);
/// The delay of a slow model, longer than another answer takes.
const SLOW: Duration = Duration::from_secs(30);
/// Makes the answer longer than the longest text of any platform.
const AT_LENGTH: &str = "at length";
const WORDS: usize = 1_200;
/// Makes the model take two seconds.
const LATER: &str = "in a while";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    DeliveredTwice,
    ConnectionDropped,
    SessionForgotten,
    Killed,
    ErrorBefore,
    ErrorAfter,
    AnswerLost,
    CutBefore,
    ChatIsFull,
    BotIsFull,
    LongAnswer,
    AnotherIsSlow,
    Conflict,
    Unparsable,
    OutOfOrder,
    Unchanged,
    AnotherIsGone,
}

/// The faults, with the requirements that they test.
const FAULTS: [(Fault, &str); 17] = [
    (Fault::DeliveredTwice, "M1 delivered twice"),
    (Fault::ConnectionDropped, "M1 connection dropped"),
    (Fault::SessionForgotten, "M1 session forgotten"),
    (Fault::Killed, "M2 killed, started again"),
    (Fault::ErrorBefore, "M3 502, nothing was done"),
    (Fault::ErrorAfter, "M3 502, it was done"),
    (Fault::AnswerLost, "M3 done, the answer lost"),
    (Fault::CutBefore, "M3 cut before it was done"),
    (Fault::ChatIsFull, "M4 429, this chat"),
    (Fault::BotIsFull, "M4 429, the whole bot"),
    (Fault::LongAnswer, "M5 an answer in parts"),
    (Fault::AnotherIsSlow, "M6 another's model is slow"),
    (Fault::Conflict, "M7 another one listens"),
    (Fault::Unparsable, "M8 unparsable update"),
    (Fault::OutOfOrder, "M9 out of order"),
    (Fault::Unchanged, "M10 edit changes nothing"),
    (Fault::AnotherIsGone, "M10 another chat is gone"),
];

/// The outcome of one message and its answer.
#[derive(Debug, Default, PartialEq, Eq)]
struct Count {
    lost: usize,
    twice: usize,
    /// The number of placeholders that stayed.
    orphans: usize,
    /// Whether one of them shows nothing of its content.
    is_bare: bool,
}

/// A platform with Ann's chat and another person's.
trait Platform {
    /// The platform's part of the configuration.
    fn channel(&self) -> String;
    /// A process that has started to listen.
    async fn start(&mut self, site: &Site) -> Running;
    async fn says(&self, running: &mut Running, text: &str);
    /// Sends a message while that fault is active.
    async fn says_under(&self, running: &mut Running, _fault: Fault, text: &str) {
        self.says(running, text).await;
    }
    /// Another person, in a chat of their own.
    async fn another_says(&self, _text: &str) {}
    /// What the bot shows Ann and the other person.
    async fn shown(&self, site: &Site) -> Vec<String>;
    async fn another_is_shown(&self) -> Vec<String> {
        Vec::new()
    }
    /// Injects the fault into the next message and its answer; `false` if not applicable.
    async fn suffers(&self, running: &mut Running, fault: Fault) -> bool;
    /// Causes faults that need a sent message.
    async fn disturbs(&self, _running: &mut Running, _fault: Fault, _aside: &str) {}
}

/// Answers the last `ask-N` with `got-N`; repeated answers have another word.
fn answer(request: &Request) -> Answer {
    let asked = request.body["messages"].to_string();
    let last = asked.rsplit("ask-").next().unwrap_or_default();
    let number = number(last);
    if asked.split("got-").skip(1).any(|answered| self::number(answered) == number) {
        return llm::text("Noted.").into();
    }
    let turn = llm::text(&expected(&number, last.contains(AT_LENGTH)).join(" "));
    let slow = [("slowly", SLOW), (LATER, Duration::from_secs(2))];
    match slow.into_iter().find(|(word, _)| last.contains(word)) {
        Some((_, by)) => llm::Fault::SlowFirstToken { turn, by }.into(),
        None => turn.into(),
    }
}

fn number(text: &str) -> String {
    text.chars().take_while(char::is_ascii_digit).collect()
}

/// The words of an answer.
fn expected(number: &str, at_length: bool) -> Vec<String> {
    let more = (0..WORDS).filter(|_| at_length).map(|word| format!("w{word}"));
    std::iter::once(format!("got-{number}")).chain(more).collect()
}

/// A gateway on one platform, which goes through all faults.
struct Trial<P> {
    site: Site,
    llm: FakeLlm,
    platform: P,
}

impl<P: Platform> Trial<P> {
    async fn new(on: On, platform: P) -> Self {
        let (site, llm) = (Site::new(on).await, FakeLlm::start().await);
        llm.answers(answer);
        let more = format!(
            "[limits]\nmessages_per_minute = 0\n\
             [[models]]\nid = \"main\"\nprovider = \"openai\"\nbase_url = \"{}\"\n\
             api_key = \"sk-of-no-use\"\nmodel = \"a-model\"\n{}",
            llm.base_url(),
            platform.channel()
        );
        site.configure("127.0.0.1:0", &more);
        Self { site, llm, platform }
    }

    /// How often each word was shown.
    async fn words(&self) -> BTreeMap<String, usize> {
        let mut words = BTreeMap::new();
        for text in self.platform.shown(&self.site).await {
            for word in text.split_whitespace() {
                *words.entry(word.to_owned()).or_default() += 1;
            }
        }
        words
    }

    /// Whether the whole answer arrives in time.
    async fn shows(&self, number: &str, at_length: bool) -> bool {
        let words = expected(number, at_length);
        let mut ticks = tokio::time::interval(Duration::from_millis(100));
        let looking = async {
            loop {
                ticks.tick().await;
                let shown = self.words().await;
                if words.iter().all(|word| shown.contains_key(word)) {
                    return;
                }
            }
        };
        tokio::time::timeout(LONGEST, looking).await.is_ok()
    }

    /// Waits until the model was asked this.
    async fn is_asked(&self, text: &str) {
        crate::support::process::eventually(text, async || {
            let asked = self.llm.requests();
            asked.iter().any(|request| request.body.to_string().contains(text)).then_some(())
        })
        .await;
    }

    /// The counts in the order of the faults; `None` if the platform does not have the fault.
    async fn run(mut self) -> Vec<Option<Count>> {
        let mut running = self.platform.start(&self.site).await;
        self.platform.says(&mut running, "ask-100.").await;
        assert!(self.shows("100", false).await, "{}", running.said());
        let mut counts = Vec::new();
        for (number, (fault, _)) in FAULTS.iter().enumerate() {
            counts.push(self.suffer(&mut running, (number, *fault)).await);
        }
        // After this message, no earlier one is still in transit.
        self.platform.says(&mut running, "ask-999.").await;
        assert!(self.shows("999", false).await, "{}", running.said());
        self.count(&mut counts).await;
        running.kill().await;
        self.site.end().await;
        counts
    }

    async fn suffer(
        &mut self,
        running: &mut Running,
        (number, fault): (usize, Fault),
    ) -> Option<Count> {
        let begun = |words: BTreeMap<String, usize>| {
            words
                .iter()
                .filter(|(word, _)| word.ends_with('…'))
                .map(|(_, count)| count)
                .sum::<usize>()
        };
        let before = begun(self.words().await);
        if !self.platform.suffers(running, fault).await {
            return None;
        }
        let at_length = fault == Fault::LongAnswer;
        let more = match fault {
            Fault::LongAnswer => AT_LENGTH,
            // The process is killed during a model request.
            Fault::Killed => LATER,
            _ => "",
        };
        match fault {
            Fault::AnotherIsSlow => self.platform.another_says("ask-500. slowly").await,
            Fault::AnotherIsGone => self.platform.another_says("ask-501.").await,
            _ => {}
        }
        self.platform.says_under(running, fault, &format!("ask-{number}. {more}")).await;
        self.platform.disturbs(running, fault, &format!("aside-{number}.")).await;
        if fault == Fault::Killed {
            self.is_asked(&format!("ask-{number}.")).await;
            running.kill().await;
            *running = self.platform.start(&self.site).await;
        }
        self.shows(&number.to_string(), at_length).await;
        if fault == Fault::AnotherIsSlow {
            let other = self.platform.another_is_shown().await.concat();
            assert!(!other.contains("got-500"), "the slow one was waited for");
        }
        let orphans = begun(self.words().await).saturating_sub(before);
        let is_bare = self.words().await.contains_key("…");
        Some(Count { orphans, is_bare, ..Count::default() })
    }

    /// Counts lost and duplicated messages: those that the model has read, and those that Ann was
    /// shown.
    async fn count(&self, counts: &mut [Option<Count>]) {
        let heard = self.llm.requests().into_iter().map(|request| request.body["messages"].clone());
        let heard = heard.filter(|heard| heard.to_string().contains("ask-999."));
        let heard = heard.last().unwrap_or(Value::Null).to_string();
        let shown = self.words().await;
        for (number, count) in counts.iter_mut().enumerate() {
            let Some(count) = count else { continue };
            let fault = FAULTS[number].0;
            let aside = format!("aside-{number}.");
            let said = [format!("ask-{number}."), aside].into_iter();
            let said = said.take(1 + usize::from(fault == Fault::OutOfOrder));
            let said = said.map(|text| heard.matches(text.as_str()).count());
            let words = expected(&number.to_string(), fault == Fault::LongAnswer);
            let words = words.iter().map(|word| shown.get(word).copied().unwrap_or_default());
            for times in said.chain(words) {
                count.lost += usize::from(times == 0);
                count.twice += times.saturating_sub(1);
            }
        }
    }
}

/// M1 … M10: nothing is lost and nothing is duplicated. Telegram has no idempotency key, so one
/// placeholder whose response was lost may remain; it shows the first words and never only “…”.
async fn fault_matrix(on: On) {
    let (telegram, discord) = (Telegram::new().await, Discord::new().await);
    let (telegram, discord) = (Trial::new(on, telegram).await, Trial::new(on, discord).await);
    let web = Trial::new(on, Web::default()).await;
    // The terminal uses a separate SQLite file.
    let terminal = Trial::new(On::Sqlite, Terminal).await;
    let (telegram, discord) = tokio::join!(telegram.run(), discord.run());
    let (web, terminal) = tokio::join!(web.run(), terminal.run());
    let columns =
        [("Telegram", telegram), ("Discord", discord), ("Web", web), ("Terminal", terminal)];
    let cell = |count: &Option<Count>| match count {
        None => "–".to_owned(),
        Some(Count { lost, twice, orphans: 0, .. }) => format!("{lost}, {twice}"),
        Some(Count { lost, twice, orphans, .. }) => format!("{lost}, {twice} (+{orphans} begun)"),
    };
    let heads = columns.iter().map(|(name, _)| format!("{name:<18}")).collect::<Vec<_>>();
    let row = |(row, (_, name)): (usize, &(Fault, &str))| {
        let cells = columns.iter().map(|(_, counts)| format!("{:<18}", cell(&counts[row])));
        format!("{name:<30}{}\n", cells.collect::<Vec<_>>().concat())
    };
    let rows = FAULTS.iter().enumerate().map(row).collect::<Vec<_>>().concat();
    let head = format!("{on:?} (lost, twice)");
    let table = format!("\n{head:<30}{}\n{rows}", heads.concat());
    println!("{table}");
    for (row, (fault, name)) in FAULTS.iter().enumerate() {
        for (column, counts) in &columns {
            let Some(count) = &counts[row] else { continue };
            assert_eq!((count.lost, count.twice), (0, 0), "{name} on {column}{table}");
            let unknown = matches!(fault, Fault::AnswerLost | Fault::ErrorAfter);
            let orphans = usize::from(unknown && *column == "Telegram");
            assert!(count.orphans <= orphans, "{name} on {column}: {count:?}");
            assert!(!count.is_bare, "{name} on {column}: {count:?}");
        }
    }
}

/// Proves M1 … M10.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_sqlite() {
    fault_matrix(On::Sqlite).await;
}

/// Proves M1 … M10.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_postgres() {
    fault_matrix(On::Postgres).await;
}
