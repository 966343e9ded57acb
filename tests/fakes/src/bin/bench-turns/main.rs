//! How long a plain turn takes, with a model that answers at once: `bench-turns BINARY [TURNS]`; and
//! with `flood` behind that, how long it takes while somebody else writes 10,000 messages.
//! `bench-turns BINARY MINUTES soak` keeps up 20 turns a second and prints how memory and files grow.
//! `bench-turns BINARY table` prints a table of the gateway next to [`floor`], and
//! `bench-turns BINARY SERVER nodes` one of several nodes on a PostgreSQL server.
//!
//! Starts the gateway on SQLite at `durability = "full"` between a fake Telegram and a fake model,
//! says one thing after another and waits for each answer. Prints the median, what two fsyncs take
//! on the same disk in the same run (the physical floor of a durable turn), CPU and memory.

mod floor;
mod nodes;
mod table;

use fakes::{llm, telegram};
use std::{
    fs,
    io::Write as _,
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

#[tokio::main]
async fn main() -> Result<()> {
    let all: Vec<_> = std::env::args().skip(1).collect();
    match &all.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["floor", bot, model, database] => {
            return floor::run((*bot).to_owned(), (*model).to_owned(), database).await;
        }
        [binary, "table"] => return table::print(binary).await,
        [binary, server, "nodes"] => return nodes::print(binary, server).await,
        _ => {}
    }
    let mut arguments = all.into_iter();
    let usage = "usage: bench-turns BINARY [TURNS [flood] | MINUTES soak | table | SERVER nodes]";
    let binary = arguments.next().ok_or(usage)?;
    let turns: usize = arguments.next().map_or(Ok(200), |n| n.parse())?;
    let telegram = telegram::FakeTelegram::start().await;
    let mode = arguments.next();
    let model = llm::FakeLlm::start().await;
    model.always(llm::text("Noted."));
    let folder = std::env::temp_dir().join(format!("bench-turns-{}", std::process::id()));
    fs::create_dir_all(&folder)?;

    let started = Instant::now();
    let pace = if mode.as_deref() == Some("flood") { 30 } else { 0 };
    let mut gateway = start(&binary, (&folder, pace), &telegram, &model)?;
    let cold = first_answer(&telegram, started).await?;
    if let Some(mode) = mode {
        match mode.as_str() {
            "flood" => flood(&telegram, turns).await?,
            "soak" => soak(&telegram, &gateway, &folder, turns).await?,
            other => return Err(format!("there is no mode {other:?}").into()),
        }
        gateway.kill()?;
        gateway.wait()?;
        return Ok(fs::remove_dir_all(&folder)?);
    }
    let idle_kib = memory_kib(&gateway)?;
    let cpu_before = cpu_seconds(&gateway)?;
    let mut took = Vec::new();
    // Of several people: the gateway keeps to the platform's pace in each chat.
    let people = named(turns.div_ceil(PER_CHAT));
    for turn in 0..turns {
        took.push(one_turn(&telegram, &people[turn % people.len()], turn).await);
    }
    let cpu = (cpu_seconds(&gateway)? - cpu_before) / turns as f64;
    let floor = median(fsyncs(&folder, turns)?);
    let plain = median(took);
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
    writeln!(out, "memory after            {:>8.1} MiB", memory_kib(&gateway)? as f64 / 1024.0)?;
    gateway.kill()?;
    gateway.wait()?;
    Ok(fs::remove_dir_all(&folder)?)
}

fn start(
    binary: &str,
    (folder, pace): (&Path, u32),
    telegram: &telegram::FakeTelegram,
    model: &llm::FakeLlm,
) -> Result<Child> {
    let config = folder.join("countersign.toml");
    fs::write(&config, configuration(folder, pace, (telegram, model)))?;
    let log = fs::File::create(folder.join("log"))?;
    let child = Command::new(binary)
        .args(["serve", "--log", "warn", "--config"])
        .arg(&config)
        .stdout(Stdio::null())
        .stderr(log)
        .spawn()?;
    Ok(child)
}

/// The configuration of the gateway, with `pace` messages a minute for each person and no limit
/// for sending.
fn configuration(
    folder: &Path,
    pace: u32,
    (telegram, model): (&telegram::FakeTelegram, &llm::FakeLlm),
) -> String {
    format!(
        "data_dir = \"{data}\"\n[admin]\nlisten = \"127.0.0.1:0\"\n\
         [limits]\nmessages_per_minute = {pace}\n\
         [[models]]\nid = \"main\"\nprovider = \"openai\"\nbase_url = \"{model}\"\napi_key = \"k\"\nmodel = \"m\"\n\
         [[channels]]\nid = \"telegram\"\nkind = \"telegram\"\ntoken = \"{token}\"\napi_url = \"{api}\"\nallow = [\"*\"]\npace = \"off\"\n",
        data = folder.join("data").display(),
        model = model.base_url(),
        token = telegram::TOKEN,
        api = telegram.url(),
    )
}

/// Turns in a chat that are not held up.
const PER_CHAT: usize = 4;

/// Messages of the one who floods, how many at once, and how often.
const FLOOD: usize = 10_000;
const AT_ONCE: usize = 10;
const EVERY: Duration = Duration::from_millis(20);

/// S13: what everybody else notices: a message each, one after the other, before and meanwhile.
async fn flood(telegram: &telegram::FakeTelegram, people: usize) -> Result<()> {
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
async fn soak(
    telegram: &telegram::FakeTelegram,
    gateway: &Child,
    folder: &Path,
    minutes: usize,
) -> Result<()> {
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
            let memory = memory_kib(gateway)? as f64 / 1024.0;
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

async fn everybody(telegram: &telegram::FakeTelegram, names: &[String]) -> Vec<Duration> {
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

async fn first_answer(telegram: &telegram::FakeTelegram, started: Instant) -> Result<Duration> {
    one_turn(telegram, "Ann", 0).await;
    Ok(started.elapsed())
}

/// From the moment the person has sent the message until the answer is shown.
async fn one_turn(telegram: &telegram::FakeTelegram, person: &str, turn: usize) -> Duration {
    let chat = telegram.private(person);
    let before = answers(telegram, chat);
    let started = Instant::now();
    telegram.user_says(chat, person, &format!("message {turn}"));
    telegram.until(|fake| answers(fake, chat) > before).await;
    started.elapsed()
}

fn answers(telegram: &telegram::FakeTelegram, chat: i64) -> usize {
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

/// User and system time of the process, by `/proc` (100 ticks a second on Linux).
fn cpu_seconds(child: &Child) -> Result<f64> {
    let stat = fs::read_to_string(format!("/proc/{}/stat", child.id()))?;
    let fields: Vec<_> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks: f64 = fields[11].parse::<f64>()? + fields[12].parse::<f64>()?;
    Ok(ticks / 100.0)
}

fn memory_kib(child: &Child) -> Result<u64> {
    let status = fs::read_to_string(format!("/proc/{}/status", child.id()))?;
    let line = status.lines().find(|line| line.starts_with("VmRSS")).ok_or("no VmRSS")?;
    Ok(line.split_whitespace().nth(1).ok_or("no VmRSS")?.parse()?)
}
