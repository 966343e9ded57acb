//! Kills the gateway at random while people use it, and checks that nothing is lost, shown twice,
//! run twice or run without approval. `docs/development/crash-test.md` describes it.

use fakes::crash::{Database, Options, Result, burst, check::Violation, report, run};
use std::{io::Write as _, path::PathBuf, process::ExitCode};

const USAGE: &str = "usage: crash-test [OPTION]...
  --kills N                        processes to kill on each database (20)
  --seed S                         the choices of the run (taken from the clock)
  --database sqlite|postgres|both  (both)
  --people N                       conversations at a time (8)
  --binary PATH                    the gateway (target/debug/countersign)
  --keep                           keep the folder with databases and logs
  --burst                          kill nothing; measure forty people at once";

/// Violations that are printed for each database; the others are in the folder.
const PRINTED: usize = 20;

#[tokio::main]
async fn main() -> Result<ExitCode> {
    let Some(options) = options()? else {
        writeln!(std::io::stdout(), "{USAGE}")?;
        return Ok(ExitCode::SUCCESS);
    };
    let folder = std::env::temp_dir().join(format!("crash-test-{}", std::process::id()));
    let place = |database: Database| match database {
        Database::Sqlite => folder.join("sqlite"),
        Database::Postgres => folder.join("postgres"),
    };
    if options.burst {
        for database in &options.databases {
            let lines = burst::run(&options, *database, place(*database)).await?;
            write!(std::io::stdout(), "{lines}")?;
        }
        std::fs::remove_dir_all(&folder)?;
        return Ok(ExitCode::SUCCESS);
    }
    let runs =
        options.databases.iter().map(|database| run::run(&options, *database, place(*database)));
    let outcomes = tokio::select! {
        outcomes = futures::future::try_join_all(runs) => outcomes,
        // Dropping the runs kills their processes.
        _ = tokio::signal::ctrl_c() => Err("interrupted".into()),
    };
    let outcomes = outcomes.inspect_err(|_| {
        writeln!(std::io::stderr(), "logs are in {}", folder.display()).ok();
    })?;
    let mut out = std::io::stdout();
    writeln!(out, "seed {}\n\n{}", options.seed, report::table(&outcomes))?;
    let violations: Vec<_> = outcomes.iter().flat_map(|outcome| &outcome.violations).collect();
    if violations.is_empty() && !options.keep {
        std::fs::remove_dir_all(&folder)?;
        return Ok(ExitCode::SUCCESS);
    }
    for outcome in &outcomes {
        outcome.save()?;
    }
    print(&mut out, &violations)?;
    writeln!(out, "databases, logs and events are in {}", folder.display())?;
    Ok(if violations.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn print(out: &mut impl std::io::Write, violations: &[&Violation]) -> Result<()> {
    for violation in violations.iter().take(PRINTED) {
        writeln!(out, "{violation}")?;
    }
    if violations.len() > PRINTED {
        writeln!(out, "and {} more", violations.len() - PRINTED)?;
    }
    Ok(())
}

/// `None` where help was asked for.
fn options() -> Result<Option<Options>> {
    let mut options = Options {
        binary: PathBuf::from("target/debug/countersign"),
        databases: vec![Database::Sqlite, Database::Postgres],
        kills: 20,
        seed: std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH)?.as_millis()
            as u64
            % 1_000_000,
        people: 8,
        keep: false,
        burst: false,
    };
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or_else(|| format!("{argument} needs a value"));
        match argument.as_str() {
            "--help" | "-h" => return Ok(None),
            "--keep" => options.keep = true,
            "--burst" => options.burst = true,
            "--kills" => options.kills = value()?.parse()?,
            "--seed" => options.seed = value()?.parse()?,
            "--people" => options.people = value()?.parse::<usize>()?.max(1),
            "--binary" => options.binary = PathBuf::from(value()?),
            "--database" => {
                options.databases = match value()?.as_str() {
                    "sqlite" => vec![Database::Sqlite],
                    "postgres" => vec![Database::Postgres],
                    "both" => vec![Database::Sqlite, Database::Postgres],
                    other => return Err(format!("there is no database {other}\n{USAGE}").into()),
                };
            }
            other => return Err(format!("there is no option {other}\n{USAGE}").into()),
        }
    }
    options.binary = std::path::absolute(&options.binary)?;
    Ok(Some(options))
}
