//! The loads of the table: turns one after another, conversations side by side, and crowds.

use fakes::{
    llm::{self, Answer, Fault, Request},
    telegram::FakeTelegram,
};
use futures::future::join_all;
use std::{
    process::Child,
    time::{Duration, Instant},
};

use crate::{
    Fakes, Result, answers, median, named, one_turn,
    process::{cpu_seconds, memory_kib},
};

/// Messages that begin like this make the model call a tool, without and with an approval.
pub const TOOL: &str = "tool";
pub const APPROVED: &str = "approved";

/// The conversations under load, and their turns.
const CONVERSATIONS: usize = 32;
pub const TURNS_EACH: usize = 25;
/// The turns one after another, and the people they come from.
pub const TURNS: usize = 200;
const PEOPLE: usize = 50;
/// How long the model takes to answer one of a crowd.
const LATENCY: Duration = Duration::from_secs(2);

/// Answers by the last message: calls a tool if it asks for one, and otherwise ends the turn.
pub fn author(request: &Request) -> Answer {
    let last = request.body["messages"].as_array().and_then(|all| all.last());
    let said = last.map(|last| last["content"].to_string()).unwrap_or_default();
    let is_result = last.is_some_and(|last| last["role"] == "tool");
    let zone = if said.contains(APPROVED) { "Europe/Berlin" } else { "UTC" };
    if !is_result && (said.contains(APPROVED) || said.contains(&format!("{TOOL} "))) {
        let call = llm::text("").call(
            "c1",
            "get_current_datetime",
            &format!("{{\"timezone\":\"{zone}\"}}"),
        );
        return call.into();
    }
    llm::text("Noted.").into()
}

/// The call of an approved turn needs an approval, the others do not.
pub const APPROVAL: &str = "
[[guard.rules]]
name = \"berlin\"
tool = \"get_current_datetime\"
fields = { timezone = \"Berlin\" }
action = \"ask\"
";

/// What turns one after another took.
pub struct Sequential {
    pub median: Duration,
    pub cpu_ms: f64,
}

pub async fn sequential(telegram: &FakeTelegram, child: &Child) -> Result<Sequential> {
    let people = named(PEOPLE);
    for person in &people {
        one_turn(telegram, person, 0).await;
    }
    let before = cpu_seconds(child)?;
    let mut took = Vec::new();
    for turn in 0..TURNS {
        took.push(one_turn(telegram, &people[turn % people.len()], turn).await);
    }
    let cpu_ms = (cpu_seconds(child)? - before) * 1000.0 / TURNS as f64;
    Ok(Sequential { median: median(took), cpu_ms })
}

/// What turns of many conversations took.
pub struct Loaded {
    pub turns_per_second: f64,
    /// Of each turn.
    pub cpu_ms: f64,
}

/// `kind` is the first word of each message.
pub async fn under_load(telegram: &FakeTelegram, child: &Child, kind: &str) -> Result<Loaded> {
    let (before, started) = (cpu_seconds(child)?, Instant::now());
    let people = named(CONVERSATIONS);
    let talking = people.iter().map(async |person| {
        let person = format!("{person} {kind}");
        let chat = telegram.private(&person);
        for turn in 1..=TURNS_EACH {
            telegram.user_says(chat, &person, &format!("{kind} {turn}"));
            if kind == APPROVED {
                press(telegram, chat, &person, turn).await;
            }
            telegram.until(|fake| answers(fake, chat) >= turn).await;
        }
    });
    join_all(talking).await;
    let turns = (CONVERSATIONS * TURNS_EACH) as f64;
    let cpu_ms = (cpu_seconds(child)? - before) * 1000.0 / turns;
    Ok(Loaded { turns_per_second: turns / started.elapsed().as_secs_f64(), cpu_ms })
}

/// Allows the call of this turn as soon as its approval is shown.
async fn press(telegram: &FakeTelegram, chat: i64, person: &str, turn: usize) {
    const ALLOW: &str = "Allow once";
    let open = |fake: &FakeTelegram| {
        let shown = fake.messages(chat);
        let mut asked =
            shown.iter().filter(|message| message.text.contains("get_current_datetime"));
        let last = asked.next_back().filter(|m| m.buttons.iter().any(|(label, _)| label == ALLOW));
        (answers(fake, chat) + 1 == turn).then(|| last.map(|message| message.id)).flatten()
    };
    telegram.until(|fake| open(fake).is_some()).await;
    if let Some(message) = open(telegram) {
        telegram.user_presses(chat, person, message, ALLOW);
    }
}

/// What it took to answer everybody of a crowd.
pub struct Crowd {
    pub wall: Duration,
    pub peak_kib: u64,
}

/// Answers so many people, who all write at once, with a slow model.
pub async fn crowd(fakes: &Fakes, child: &Child, people: usize) -> Result<Crowd> {
    let telegram = &fakes.telegram;
    let slow = |_: &Request| Fault::SlowHeaders { turn: llm::text("Noted."), by: LATENCY }.into();
    fakes.model.answers(slow);
    let names: Vec<_> = (0..people).map(|n| format!("One of {people}: {n}")).collect();
    let chats: Vec<_> = names.iter().map(|name| telegram.private(name)).collect();
    let started = Instant::now();
    for (chat, name) in chats.iter().zip(&names) {
        telegram.user_says(*chat, name, "hello");
    }
    let (mut answered, mut peak_kib) = (0, 0);
    loop {
        peak_kib = peak_kib.max(memory_kib(child)?);
        answered +=
            chats[answered..].iter().take_while(|chat| answers(telegram, **chat) > 0).count();
        if answered == people {
            break;
        }
        if started.elapsed() > Duration::from_mins(2) {
            return Err(format!("{people} people were not answered within two minutes").into());
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let wall = started.elapsed();
    fakes.model.answers(author);
    Ok(Crowd { wall, peak_kib })
}
