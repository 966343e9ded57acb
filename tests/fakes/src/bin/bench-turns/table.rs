//! The table: the gateway next to the floor, measured in one run with the same fakes.

use std::{
    io::Write as _,
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

use crate::{
    Fakes, Result,
    load::{APPROVAL, APPROVED, TOOL, TURNS, TURNS_EACH, crowd, sequential, under_load},
    ms, one_turn,
    process::{Running, allow_open_files, anonymous_memory_kib, memory_kib},
    scratch,
};

/// The files that the fakes and the measured program each need: up to two connections for each of
/// 10,000 conversations.
const OPEN_FILES: u64 = 20_000;
/// The number of starts, of which the median counts. The first one may read the program from disk.
const STARTS: usize = 5;

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Subject {
    Gateway,
    Floor,
}

/// Which of two values is the better one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Better {
    Lower,
    Higher,
}

/// A row.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    pub name: &'static str,
    pub better: Better,
    pub gateway: f64,
    /// `None` where the floor cannot do it.
    pub floor: Option<f64>,
}

impl Row {
    /// The gateway's value in units of the floor's.
    pub fn ratio(&self) -> Option<f64> {
        self.floor.map(|floor| self.gateway / floor)
    }
}

pub async fn print(binary: &str) -> Result<()> {
    show(&measure(binary).await?)
}

pub fn show(rows: &[Row]) -> Result<()> {
    let mut out = std::io::stdout();
    writeln!(out, "| | Countersign | floor | ratio |")?;
    writeln!(out, "| --- | ---: | ---: | ---: |")?;
    for row in rows {
        let shown = |value: Option<f64>| value.map_or("–".to_owned(), |v| format!("{v:.2}"));
        let (floor, ratio) = (shown(row.floor), shown(row.ratio()));
        writeln!(out, "| {} | {:.2} | {floor} | {ratio} |", row.name, row.gateway)?;
    }
    writeln!(
        out,
        "\n{TURNS} turns one after another; under load {TURNS_EACH} in each conversation\n"
    )?;
    Ok(())
}

/// Measures all rows once.
pub async fn measure(binary: &str) -> Result<Vec<Row>> {
    allow_open_files(OPEN_FILES)?;
    let floor = measure_subject(Subject::Floor, binary).await?;
    let gateway = measure_subject(Subject::Gateway, binary).await?;
    let rows = gateway.into_iter().map(|own| {
        let floor = floor.iter().find(|floor| floor.name == own.name).map(|floor| floor.value);
        Row { name: own.name, better: own.better, gateway: own.value, floor }
    });
    Ok(rows.collect())
}

/// The value of one subject in one row.
struct Measurement {
    name: &'static str,
    better: Better,
    value: f64,
}

fn low(name: &'static str, value: f64) -> Measurement {
    Measurement { name, better: Better::Lower, value }
}

fn high(name: &'static str, value: f64) -> Measurement {
    Measurement { name, better: Better::Higher, value }
}

/// The time from a start with a new database to the first answer, in milliseconds.
async fn start_ms(subject: Subject, binary: &str) -> Result<f64> {
    let mut times = Vec::new();
    for number in 0..STARTS {
        let fakes = Fakes::start().await;
        let folder = scratch(&format!("{subject:?}-start-{number}"))?;
        let started = Instant::now();
        let _running = start(subject, binary, &folder, &fakes)?;
        one_turn(&fakes.telegram, "First", 0).await;
        times.push(ms(started.elapsed()));
    }
    times.sort_by(f64::total_cmp);
    Ok(times[STARTS / 2])
}

async fn measure_subject(subject: Subject, binary: &str) -> Result<Vec<Measurement>> {
    let start_ms = start_ms(subject, binary).await?;
    let fakes = Fakes::start().await;
    let telegram = &fakes.telegram;
    let running = start(subject, binary, &scratch(&format!("{subject:?}"))?, &fakes)?;
    let child = &running.child;
    one_turn(telegram, "First", 0).await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    let (idle, anonymous) = (mib(memory_kib(child)?), mib(anonymous_memory_kib(child)?));
    let alone = sequential(telegram, child).await?;
    let plain = under_load(telegram, child, "plain").await?;
    let with_tool = under_load(telegram, child, TOOL).await?;
    let mut measured = vec![
        low("plain turn, p50, ms", ms(alone.median)),
        low("CPU per plain turn, one after another, ms", alone.cpu_ms),
        low("CPU per plain turn, 32 conversations, ms", plain.cpu_ms),
        high("plain turns/s, 32 conversations", plain.turns_per_second),
        high("one-tool turns/s, 32 conversations", with_tool.turns_per_second),
    ];
    if subject == Subject::Gateway {
        let approved = under_load(telegram, child, APPROVED).await?;
        measured.push(high("approved-call turns/s, 32 conversations", approved.turns_per_second));
    }
    let thousand = crowd(&fakes, child, 1_000).await?;
    let ten_thousand = crowd(&fakes, child, 10_000).await?;
    measured.extend([
        low("1,000 turns at once, model takes 2 s: wall, s", thousand.wall.as_secs_f64()),
        low("1,000 turns at once: memory at most, MiB", mib(thousand.peak_kib)),
        low("10,000 turns at once, model takes 2 s: wall, s", ten_thousand.wall.as_secs_f64()),
        low("10,000 turns at once: memory at most, MiB", mib(ten_thousand.peak_kib)),
        low("start to first answer, ms", start_ms),
        low("idle memory, MiB", idle),
        low("idle memory, anonymous part, MiB", anonymous),
    ]);
    Ok(measured)
}

fn mib(kib: u64) -> f64 {
    kib as f64 / 1024.0
}

fn start(subject: Subject, binary: &str, folder: &Path, fakes: &Fakes) -> Result<Running> {
    if subject == Subject::Gateway {
        let configuration = crate::configuration(folder, 0, fakes) + APPROVAL;
        return crate::serve(binary, folder, &configuration);
    }
    let telegram = fakes.telegram.url();
    let bot = format!("{}/bot{}", telegram.trim_end_matches('/'), fakes::telegram::TOKEN);
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["floor", &bot, &fakes.model.base_url()]).arg(folder.join("floor.db"));
    Running::start(command, folder)
}
