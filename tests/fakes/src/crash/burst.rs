//! How long it takes when many people want something at once. Nothing is killed and nothing goes
//! wrong; what takes time is the gateway, and the pace that the platform allows.

use serde_json::{Value, json};
use std::{collections::BTreeSet, fmt::Write as _, path::PathBuf, time::Duration};
use tokio::{task::JoinSet, time::Instant};

use super::{Database, Options, Result, run::World};
use crate::{
    llm::{self, Answer},
    telegram::FakeTelegram,
};

/// The people who each want some calls, and how many of them.
const PEOPLE: usize = 40;
const CALLS: usize = 5;
/// The calls that one reply makes side by side.
const PARALLEL: usize = 32;
const POLL_INTERVAL: Duration = Duration::from_millis(20);
const WITHIN: Duration = Duration::from_mins(5);
const DONE: &str = "All done.";

/// What was measured, one line each.
pub async fn run(options: &Options, database: Database, folder: PathBuf) -> Result<String> {
    std::fs::create_dir_all(&folder)?;
    let mut world = World::set_up(options, database, &folder).await?;
    world.telegram.goes_well();
    world.llm.answers(answer);
    world.trial.start().await?;
    let telegram = world.telegram.clone();
    let mut lines = String::new();
    let quiet = turn(&telegram, "Eve", "hello").await?;
    let _ = writeln!(lines, "{}: a plain turn {}", database.name(), millis(quiet));
    let begun = Instant::now();
    let mut people = JoinSet::new();
    for person in 0..PEOPLE {
        let telegram = telegram.clone();
        people.spawn(async move { turn(&telegram, &format!("Ann {person}"), "launch").await });
    }
    let mut times = Vec::new();
    while let Some(time) = people.join_next().await {
        times.push(time??);
    }
    times.sort();
    let (first, last) = (times[0], times[times.len() - 1]);
    let calls = world.tools.count();
    let _ = writeln!(
        lines,
        "{}: {PEOPLE} people with {CALLS} approved calls each: {} in all, first {}, last {}, {calls} \
         calls",
        database.name(),
        millis(begun.elapsed()),
        millis(first),
        millis(last)
    );
    let (recall, beside) =
        tokio::join!(turn(&telegram, "Bob", "recall"), turn(&telegram, "Eve", "hello again"));
    let _ = writeln!(
        lines,
        "{}: {PARALLEL} parallel memory_recall calls {}, a plain turn beside them {}",
        database.name(),
        millis(recall?),
        millis(beside?)
    );
    world.trial.gateway.stop().await?;
    if calls != PEOPLE * CALLS {
        return Err(format!("{calls} calls ran instead of {}\n{lines}", PEOPLE * CALLS).into());
    }
    Ok(lines)
}

fn millis(time: Duration) -> String {
    format!("{:.0} ms", time.as_secs_f64() * 1_000.0)
}

/// From the message to the answer; every question is allowed as soon as it is seen.
async fn turn(telegram: &FakeTelegram, person: &str, text: &str) -> Result<Duration> {
    let (chat, begun) = (telegram.private(person), Instant::now());
    let asked = telegram.user_says(chat, person, text);
    let mut pressed = BTreeSet::new();
    let mut ticks = tokio::time::interval(POLL_INTERVAL);
    while begun.elapsed() < WITHIN {
        ticks.tick().await;
        for message in telegram.messages_from(chat, asked) {
            if message.from_bot && message.text == DONE {
                return Ok(begun.elapsed());
            }
            let allow = message.buttons.iter().find(|(_, data)| data.ends_with('a'));
            if let Some((_, data)) = allow.filter(|_| pressed.insert(message.id)) {
                telegram.user_forges(chat, person, message.id, data);
            }
        }
    }
    Err(format!("{person} has got no answer to {text:?}").into())
}

/// Makes the calls that the last message asks for, and answers when they have ended.
fn answer(request: &llm::Request) -> Answer {
    let messages = request.body["messages"].as_array().cloned().unwrap_or_default();
    let Some(last) = messages.iter().rposition(|message| message["role"] == "user") else {
        return llm::text(DONE).into();
    };
    if messages[last..].iter().any(|message| message["role"] == "tool") {
        return llm::text(DONE).into();
    }
    let text = messages[last]["content"].to_string();
    let calls = |count: usize, name: &str, arguments: &dyn Fn(usize) -> Value| {
        (0..count).fold(llm::text(""), |turn, n| {
            turn.call(&format!("call_{n}"), name, &arguments(n).to_string())
        })
    };
    let turn = if text.contains("launch") {
        calls(CALLS, "pad_launch", &|n| json!({ "id": format!("launch {n}") }))
    } else if text.contains("recall") {
        calls(PARALLEL, "memory_recall", &|n| json!({ "path": format!("context/{n}.md") }))
    } else {
        llm::text(DONE)
    };
    turn.into()
}
