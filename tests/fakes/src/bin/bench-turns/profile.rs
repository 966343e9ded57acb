//! Where turns spend the CPU of the gateway, by samples of `perf`.

use rustix::process::{Pid, Signal, kill_process};
use std::{
    collections::BTreeMap,
    io::Write as _,
    path::Path,
    process::{Command, Stdio},
};

use crate::{Fakes, Result, load::TOOL, named, one_turn, one_turn_about, scratch, start};

const TURNS: usize = 2_000;
const PEOPLE: usize = 50;
/// Functions that are printed.
const PRINTED: usize = 10;
/// Samples per second of CPU.
const RATE: &str = "997";
/// Keeps 32 KiB of the stack with each sample: those of async functions are deep.
const STACK: &str = "dwarf,32768";
/// The crates whose functions are printed.
const OWN: [&str; 4] = ["countersign::", "channels::", "renderers::", "sandbox::"];
/// Runs the statements of the functions around it.
const DATABASE: &str = "countersign::store::db::";

/// Prints the functions of the gateway that need the most CPU in plain turns, and in turns with a
/// tool, one after another. Each sample counts for the innermost function of the gateway, so that
/// a function's share includes the libraries that it calls, and the kernel. Functions of
/// [`DATABASE`] count only where they work for no other.
pub async fn print(binary: &str) -> Result<()> {
    let mut out = std::io::stdout();
    for kind in ["plain", TOOL] {
        let shares = shares(&sample(binary, kind).await?);
        if shares.keys().all(|function| function.ends_with(NO_FUNCTION)) {
            return Err("perf found no function: build the gateway with `-C strip=none`".into());
        }
        let count: usize = shares.values().sum();
        let mut shares: Vec<_> = shares.into_iter().collect();
        shares.sort_by_key(|(_, samples)| std::cmp::Reverse(*samples));
        writeln!(out, "| share | {kind} turns, {count} samples |\n| ---: | --- |")?;
        for (function, samples) in shares.iter().take(PRINTED) {
            writeln!(out, "| {:.1} % | `{function}` |", *samples as f64 * 100.0 / count as f64)?;
        }
        writeln!(out)?;
    }
    Ok(())
}

/// The stacks of the gateway during turns whose messages begin with `kind`, as `perf script` prints
/// them.
async fn sample(binary: &str, kind: &str) -> Result<String> {
    let fakes = Fakes::start().await;
    let folder = scratch(kind)?;
    let gateway = start(binary, &folder, 0, &fakes)?;
    let people = named(PEOPLE);
    for person in &people {
        one_turn(&fakes.telegram, person, 0).await;
    }
    let file = folder.join("samples");
    let mut perf = Command::new("perf");
    // The cache of perf would keep a copy of the gateway.
    perf.args(["record", "--quiet", "--no-buildid-cache", "--freq", RATE, "--call-graph", STACK]);
    perf.arg("--output").arg(&file);
    perf.args(["--pid", &gateway.child.id().to_string()]).stdout(Stdio::null());
    let mut perf = perf.spawn().map_err(|error| format!("perf: {error}"))?;
    for turn in 0..TURNS {
        let text = format!("{kind} {turn}");
        one_turn_about(&fakes.telegram, &people[turn % PEOPLE], &text).await;
    }
    kill_process(Pid::from_child(&perf), Signal::INT)?;
    perf.wait()?;
    read(&file)
}

fn read(file: &Path) -> Result<String> {
    let mut perf = Command::new("perf");
    perf.args(["script", "--no-inline", "--fields", "comm,ip,sym", "--input"]).arg(file);
    let done = perf.stderr(Stdio::null()).output()?;
    Ok(String::from_utf8_lossy(&done.stdout).into_owned())
}

/// How many samples each function has. The stacks are separated by empty lines; each begins with
/// the name of its thread, and the innermost function comes first.
fn shares(stacks: &str) -> BTreeMap<String, usize> {
    let mut shares = BTreeMap::new();
    for stack in stacks.split("\n\n").filter(|stack| !stack.trim().is_empty()) {
        let mut lines = stack.trim().lines();
        let thread = lines.next().unwrap_or_default().trim();
        let functions: Vec<_> = lines.filter_map(own_function).collect();
        let above_database = functions.iter().find(|name| !name.starts_with(DATABASE));
        let function = above_database.or(functions.first());
        let name = function.map_or_else(|| format!("{thread}{NO_FUNCTION}"), String::clone);
        *shares.entry(name).or_default() += 1;
    }
    shares
}

/// Follows the name of the thread where no function is known.
const NO_FUNCTION: &str = " (no function of the gateway)";

/// The name in a line of a stack (address and function), if it is one of the gateway.
fn own_function(line: &str) -> Option<String> {
    let (_, name) = line.trim().split_once(' ')?;
    let path = name.trim_start_matches(['<', '&']);
    OWN.iter().any(|own| path.starts_with(own)).then(|| name.replace("::{{closure}}", ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_counts_for_the_innermost_function_of_the_gateway() {
        let stacks = "\
writer
\t    10 sqlite3_step
\t    20 countersign::store::db::sqlite::run
\t    30 countersign::store::leases::claim::{{closure}}
\t    40 countersign::store::db::writer::write

writer
\t    50 countersign::store::leases::claim
\t    60 countersign::store::outbox::send

writer
\t    40 countersign::store::db::writer::write

tokio-rt-worker
\t    70 epoll_wait

";
        let expected = [
            ("countersign::store::db::writer::write", 1),
            ("countersign::store::leases::claim", 2),
            ("tokio-rt-worker (no function of the gateway)", 1),
        ];
        assert_eq!(shares(stacks), expected.map(|(name, count)| (name.to_owned(), count)).into());
    }
}
