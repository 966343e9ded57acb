//! How long a plain turn takes, with a model that answers at once: `bench-turns BINARY [TURNS]`; and
//! with `flood` behind that, how long it takes while somebody else writes 10,000 messages.
//! `bench-turns BINARY MINUTES soak` keeps up 20 turns a second and prints how memory and files grow.
//! `bench-turns BINARY table` prints a table of the gateway next to [`floor`]; with `check FILE` it
//! compares the table with a baseline, which `baseline FILE` writes. `bench-turns BINARY profile`
//! prints which functions need the CPU.
//! `bench-turns BINARY SERVER nodes` prints a table of several nodes on a PostgreSQL server.
//!
//! Starts the gateway on SQLite at `durability = "full"` between a fake Telegram and a fake model,
//! says one thing after another and waits for each answer. Prints the median, what two fsyncs take
//! on the same disk in the same run (the physical floor of a durable turn), CPU and memory.

mod check;
mod floor;
mod load;
mod nodes;
mod process;
mod profile;
mod table;

use fakes::{llm::FakeLlm, telegram, telegram::FakeTelegram};
use process::{Running, cpu_seconds, memory_kib};
use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

const USAGE: &str = "usage: bench-turns BINARY \
    [TURNS [flood] | MINUTES soak | table | check FILE | baseline FILE | profile | SERVER nodes]";

#[tokio::main]
async fn main() -> Result<()> {
    let all: Vec<_> = std::env::args().skip(1).collect();
    match &all.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["floor", bot, model, database] => {
            floor::run((*bot).to_owned(), (*model).to_owned(), database).await
        }
        [binary, "table"] => table::print(binary).await,
        [binary, "profile"] => profile::print(binary).await,
        [binary, "check", file] => check::check(binary, Path::new(file)).await,
        [binary, "baseline", file] => check::write(binary, Path::new(file)).await,
        [binary, server, "nodes"] => nodes::print(binary, server).await,
        [binary] => plain(binary, 200).await,
        [binary, turns] => plain(binary, turns.parse()?).await,
        [binary, people, "flood"] => flood(binary, people.parse()?).await,
        [binary, minutes, "soak"] => soak(binary, minutes.parse()?).await,
        _ => Err(USAGE.into()),
    }
}

/// What the measured program talks to.
struct Fakes {
    telegram: FakeTelegram,
    model: FakeLlm,
}

impl Fakes {
    /// The model answers at once.
    async fn start() -> Self {
        let fakes = Self { telegram: FakeTelegram::start().await, model: FakeLlm::start().await };
        fakes.model.answers(load::author).forgets_requests();
        fakes
    }
}

/// Prints how long turns take, one after another.
async fn plain(binary: &str, turns: usize) -> Result<()> {
    let fakes = Fakes::start().await;
    let folder = scratch("turns")?;
    let started = Instant::now();
    let gateway = start(binary, &folder, 0, &fakes)?;
    one_turn(&fakes.telegram, "Ann", 0).await;
    let cold = started.elapsed();
    let idle_kib = memory_kib(&gateway.child)?;
    let cpu_before = cpu_seconds(&gateway.child)?;
    let mut took = Vec::new();
    // Of several people: the gateway keeps to the platform's pace in each chat.
    let people = named(turns.div_ceil(PER_CHAT));
    for turn in 0..turns {
        took.push(one_turn(&fakes.telegram, &people[turn % people.len()], turn).await);
    }
    let cpu = (cpu_seconds(&gateway.child)? - cpu_before) / turns as f64;
    let floor = median(fsyncs(&folder, turns)?);
    let plain = median(took);
    let after_kib = memory_kib(&gateway.child)?;
    let mut out = std::io::stdout();
    writeln!(out, "start to first answer   {:>8.1} ms", ms(cold))?;
    writeln!(out, "idle memory             {:>8.1} MiB", idle_kib as f64 / 1024.0)?;
    writeln!(
        out,
        "plain turn, median      {:>8.2} ms  ({turns} turns, one after another)",
        ms(plain)
    )?;
    writeln!(out, "two fsyncs, median      {:>8.2} ms  (same disk, same run)", ms(floor))?;
    writeln!(out, "turn / two fsyncs       {:>8.2}", plain.as_secs_f64() / floor.as_secs_f64())?;
    writeln!(out, "CPU per turn            {:>8.2} ms  (of the gateway)", cpu * 1000.0)?;
    writeln!(out, "memory after            {:>8.1} MiB", after_kib as f64 / 1024.0)?;
    Ok(())
}

/// A new folder for what one measured program writes.
fn scratch(name: &str) -> Result<PathBuf> {
    let folder = std::env::temp_dir().join(format!("bench-{name}-{}", std::process::id()));
    fs::create_dir_all(&folder)?;
    Ok(folder)
}

/// Starts the gateway with `pace` messages a minute for each person.
fn start(binary: &str, folder: &Path, pace: u32, fakes: &Fakes) -> Result<Running> {
    serve(binary, folder, &configuration(folder, pace, fakes))
}

/// Starts the gateway in the folder.
fn serve(binary: &str, folder: &Path, configuration: &str) -> Result<Running> {
    let config = folder.join("countersign.toml");
    fs::write(&config, configuration)?;
    let mut command = Command::new(binary);
    command.args(["serve", "--log", "warn", "--config"]).arg(&config);
    Running::start(command, folder)
}

/// The configuration of the gateway, with `pace` messages a minute for each person and no limit
/// for sending.
fn configuration(folder: &Path, pace: u32, fakes: &Fakes) -> String {
    format!(
        "data_dir = \"{data}\"\n[admin]\nlisten = \"127.0.0.1:0\"\n\
         [limits]\nmessages_per_minute = {pace}\n\
         [[models]]\nid = \"main\"\nprovider = \"openai\"\nbase_url = \"{model}\"\napi_key = \"k\"\nmodel = \"m\"\n\
         [[channels]]\nid = \"telegram\"\nkind = \"telegram\"\ntoken = \"{token}\"\napi_url = \"{api}\"\nallow = [\"*\"]\npace = \"off\"\n",
        data = folder.join("data").display(),
        model = fakes.model.base_url(),
        token = telegram::TOKEN,
        api = fakes.telegram.url(),
    )
}

/// Turns in a chat that are not held up.
const PER_CHAT: usize = 4;

/// Messages of the one who floods, how many at once, and how often.
const FLOOD: usize = 10_000;
const AT_ONCE: usize = 10;
const EVERY: Duration = Duration::from_millis(20);

/// S13: what everybody else notices: a message each, one after the other, before and meanwhile.
async fn flood(binary: &str, people: usize) -> Result<()> {
    let fakes = Fakes::start().await;
    let _gateway = start(binary, &scratch("flood")?, 30, &fakes)?;
    let telegram = &fakes.telegram;
    one_turn(telegram, "Ann", 0).await;
    let names = named(people);
    let quiet = p95(everybody(telegram, &names).await);
    let eve = telegram.private("Eve");
    let flooding = async {
        for n in 0..FLOOD {
            telegram.user_says(eve, "Eve", &format!("flood {n}"));
            if n % AT_ONCE == 0 {
                tokio::time::sleep(EVERY).await;
            }
        }
    };
    let ((), took) = tokio::join!(flooding, everybody(telegram, &names));
    let flooded = p95(took);
    let mut out = std::io::stdout();
    writeln!(
        out,
        "plain turn, p95         {:>8.2} ms  ({people} people, a message each)",
        ms(quiet)
    )?;
    writeln!(
        out,
        "the same in a flood     {:>8.2} ms  (of {FLOOD} messages by another)",
        ms(flooded)
    )?;
    writeln!(out, "flooded / quiet         {:>8.2}", flooded.as_secs_f64() / quiet.as_secs_f64())?;
    Ok(())
}

/// The load of a soak, the people it comes from, and the rows that are printed.
const TURNS_PER_SECOND: u32 = 20;
const SOAKERS: usize = 2_000;
const ROWS: usize = 10;

/// A steady load. Nothing may grow but the history of the conversations.
async fn soak(binary: &str, minutes: usize) -> Result<()> {
    let fakes = Fakes::start().await;
    let folder = scratch("soak")?;
    let gateway = start(binary, &folder, 0, &fakes)?;
    let telegram = &fakes.telegram;
    one_turn(telegram, "Ann", 0).await;
    let people = named(SOAKERS);
    let chats: Vec<_> = people.iter().map(|name| telegram.private(name)).collect();
    let answered = || chats.iter().map(|chat| answers(telegram, *chat)).sum::<usize>();
    let turns = minutes * 60 * TURNS_PER_SECOND as usize;
    let mut ticks = tokio::time::interval(Duration::from_secs(1) / TURNS_PER_SECOND);
    let started = Instant::now();
    let mut out = std::io::stdout();
    writeln!(out, "| minute | turns | unanswered | memory, MiB | files, MiB |")?;
    writeln!(out, "| ---: | ---: | ---: | ---: | ---: |")?;
    for turn in 1..=turns {
        ticks.tick().await;
        let person = turn % people.len();
        telegram.user_says(chats[person], &people[person], &format!("message {turn}"));
        if turn % (turns / ROWS).max(1) == 0 {
            let minute = started.elapsed().as_secs_f64() / 60.0;
            let memory = memory_kib(&gateway.child)? as f64 / 1024.0;
            let files = size_bytes(&folder.join("data"))? as f64 / f64::from(1 << 20);
            let open = turn - answered();
            writeln!(out, "| {minute:.1} | {turn} | {open} | {memory:.1} | {files:.1} |")?;
        }
    }
    telegram.until(|_| answered() == turns).await;
    writeln!(out, "\nall answered after {:.1} s", started.elapsed().as_secs_f64())?;
    Ok(())
}

/// All files in the folder and below it.
fn size_bytes(folder: &Path) -> Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        // A file may have been removed meanwhile.
        bytes += match entry.metadata() {
            Ok(metadata) if metadata.is_dir() => size_bytes(&entry.path())?,
            Ok(metadata) => metadata.len(),
            Err(_) => 0,
        };
    }
    Ok(bytes)
}

fn named(people: usize) -> Vec<String> {
    (0..people).map(|n| format!("Ann {n}")).collect()
}

async fn everybody(telegram: &FakeTelegram, names: &[String]) -> Vec<Duration> {
    let mut took = Vec::new();
    for name in names {
        took.push(one_turn(telegram, name, 0).await);
    }
    took
}

fn p95(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() * 95 / 100]
}

/// From the moment the person has sent the message until the answer is shown.
async fn one_turn(telegram: &FakeTelegram, person: &str, turn: usize) -> Duration {
    one_turn_about(telegram, person, &format!("message {turn}")).await
}

/// The same with this message.
async fn one_turn_about(telegram: &FakeTelegram, person: &str, text: &str) -> Duration {
    let chat = telegram.private(person);
    let before = answers(telegram, chat);
    let started = Instant::now();
    telegram.user_says(chat, person, text);
    telegram.until(|fake| answers(fake, chat) > before).await;
    started.elapsed()
}

fn answers(telegram: &FakeTelegram, chat: i64) -> usize {
    telegram.messages(chat).iter().filter(|message| message.text == "Noted.").count()
}

/// What the disk asks for at least: the update and the answer, one after the other.
fn fsyncs(folder: &Path, times: usize) -> Result<Vec<Duration>> {
    let mut file = fs::File::create(folder.join("floor"))?;
    (0..times)
        .map(|_| {
            let started = Instant::now();
            for _ in 0..2 {
                file.write_all(&[0; 4096])?;
                file.sync_data()?;
            }
            Ok(started.elapsed())
        })
        .collect()
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}
