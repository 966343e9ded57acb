//! The table: the gateway next to the floor, measured in one run with the same fakes.

use fakes::{
    llm::{self, Answer, FakeLlm, Fault, Request},
    telegram::FakeTelegram,
};
use futures::future::join_all;
use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use crate::{Result, answers, cpu_seconds, median, memory_kib, ms, named, one_turn};

/// Messages that begin like this make the model call a tool, without and with an approval.
pub const TOOL: &str = "tool";
const APPROVED: &str = "approved";

/// The conversations under load, and their turns.
const CONVERSATIONS: usize = 32;
const TURNS_EACH: usize = 25;
/// The people who write at once, and how long the model takes then.
const CROWD: usize = 1_000;
const LATENCY: Duration = Duration::from_secs(2);
const TURNS: usize = 200;

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Subject {
    Gateway,
    Floor,
}

/// The rows; `None` where the subject cannot do it.
struct Measured {
    rows: Vec<Option<f64>>,
}

const NAMES: [&str; 10] = [
    "plain turn, p50, ms",
    "CPU per plain turn, one after another, ms",
    "CPU per plain turn, 32 conversations, ms",
    "plain turns/s, 32 conversations",
    "one-tool turns/s, 32 conversations",
    "approved-call turns/s, 32 conversations",
    "1,000 turns at once, model takes 2 s: wall, s",
    "the same: memory at most, MiB",
    "start to first answer, ms",
    "idle memory, MiB",
];

pub async fn print(binary: &str) -> Result<()> {
    let floor = measure(Subject::Floor, binary).await?.rows;
    let gateway = measure(Subject::Gateway, binary).await?.rows;
    let mut out = std::io::stdout();
    writeln!(out, "| | Countersign | floor | ratio |")?;
    writeln!(out, "| --- | ---: | ---: | ---: |")?;
    for ((name, own), floor) in NAMES.iter().zip(gateway).zip(floor) {
        let shown = |value: Option<f64>| value.map_or("–".to_owned(), |v| format!("{v:.2}"));
        let ratio = own.zip(floor).map(|(own, floor)| own / floor);
        writeln!(out, "| {name} | {} | {} | {} |", shown(own), shown(floor), shown(ratio))?;
    }
    writeln!(
        out,
        "\n{TURNS} turns one after another; under load {TURNS_EACH} in each conversation"
    )?;
    Ok(())
}

async fn measure(subject: Subject, binary: &str) -> Result<Measured> {
    let (telegram, model) = (FakeTelegram::start().await, FakeLlm::start().await);
    model.answers(author).forgets_requests();
    let folder = std::env::temp_dir().join(format!("bench-{subject:?}-{}", std::process::id()));
    fs::create_dir_all(&folder)?;
    let started = Instant::now();
    let mut child = Running(start(subject, binary, &folder, (&telegram, &model))?, folder);
    one_turn(&telegram, "First", 0).await;
    let cold = started.elapsed();
    tokio::time::sleep(Duration::from_secs(2)).await;
    let idle = memory_kib(&child.0)? as f64 / 1024.0;
    let mut rows = sequential(&telegram, &child.0).await?;
    let (per_second, cpu) = under_load(&telegram, &child.0, "plain").await?;
    rows.extend([Some(cpu), Some(per_second)]);
    rows.push(Some(under_load(&telegram, &child.0, TOOL).await?.0));
    rows.push(if subject == Subject::Gateway {
        Some(under_load(&telegram, &child.0, APPROVED).await?.0)
    } else {
        None
    });
    rows.extend(crowd(&telegram, &model, &child.0).await?);
    rows.extend([Some(ms(cold)), Some(idle)]);
    child.0.kill()?;
    Ok(Measured { rows })
}

/// A process, which ends with its folder. Its log is printed.
struct Running(Child, PathBuf);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = (self.0.kill(), self.0.wait());
        let log = fs::read_to_string(self.1.join("log")).unwrap_or_default();
        let _ = std::io::stderr().write_all(log.as_bytes());
        let _ = fs::remove_dir_all(&self.1);
    }
}

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

fn start(
    subject: Subject,
    binary: &str,
    folder: &Path,
    (telegram, model): (&FakeTelegram, &FakeLlm),
) -> Result<Child> {
    let log = fs::File::create(folder.join("log"))?;
    let mut command = match subject {
        Subject::Gateway => {
            let config = folder.join("countersign.toml");
            fs::write(&config, crate::configuration(folder, 0, (telegram, model)) + APPROVAL)?;
            let mut command = Command::new(binary);
            command.args(["serve", "--log", "warn", "--config"]).arg(&config);
            command
        }
        Subject::Floor => {
            let bot = format!("{}bot{}", slash(telegram.url()), fakes::telegram::TOKEN);
            let mut command = Command::new(std::env::current_exe()?);
            command.args(["floor", &bot, &model.base_url()]).arg(folder.join("floor.db"));
            command
        }
    };
    Ok(command.stdout(Stdio::null()).stderr(log).spawn()?)
}

fn slash(url: String) -> String {
    if url.ends_with('/') { url } else { url + "/" }
}

/// The call of an approved turn needs an approval, the others do not.
const APPROVAL: &str = "
[[guard.rules]]
name = \"berlin\"
tool = \"get_current_datetime\"
fields = { timezone = \"Berlin\" }
action = \"ask\"
";

async fn sequential(telegram: &FakeTelegram, child: &Child) -> Result<Vec<Option<f64>>> {
    let people = named(50);
    for person in &people {
        one_turn(telegram, person, 0).await;
    }
    let before = cpu_seconds(child)?;
    let mut took = Vec::new();
    for turn in 0..TURNS {
        took.push(one_turn(telegram, &people[turn % people.len()], turn).await);
    }
    let cpu = (cpu_seconds(child)? - before) * 1000.0 / TURNS as f64;
    Ok(vec![Some(ms(median(took))), Some(cpu)])
}

/// Turns per second, and the CPU of each in milliseconds.
pub async fn under_load(telegram: &FakeTelegram, child: &Child, kind: &str) -> Result<(f64, f64)> {
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
    let cpu = (cpu_seconds(child)? - before) * 1000.0 / turns;
    Ok((turns / started.elapsed().as_secs_f64(), cpu))
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

/// Wall time and the most memory while a crowd waits for a slow model.
async fn crowd(
    telegram: &FakeTelegram,
    model: &FakeLlm,
    child: &Child,
) -> Result<[Option<f64>; 2]> {
    model.answers(|_| Fault::SlowHeaders { turn: llm::text("Noted."), by: LATENCY }.into());
    let people: Vec<_> = (0..CROWD).map(|n| format!("Crowd {n}")).collect();
    let chats: Vec<_> = people.iter().map(|person| telegram.private(person)).collect();
    let (started, mut peak) = (Instant::now(), 0);
    for (chat, person) in chats.iter().zip(&people) {
        telegram.user_says(*chat, person, "hello");
    }
    while chats.iter().any(|chat| answers(telegram, *chat) == 0) {
        peak = peak.max(memory_kib(child)?);
        tokio::time::sleep(Duration::from_millis(20)).await;
        if started.elapsed() > Duration::from_mins(2) {
            return Err("the crowd was not answered within two minutes".into());
        }
    }
    Ok([Some(started.elapsed().as_secs_f64()), Some(peak as f64 / 1024.0)])
}
