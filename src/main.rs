//! The `countersign` binary.

use clap::Parser as _;
use countersign::cli::{self, Cli};
use std::{
    io::{self, Write as _},
    process::ExitCode,
};

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        // Not `Debug`, which prints a backtrace of an error that only its cause explains.
        Err(problem) => {
            // There is nowhere else to report it.
            let _ = writeln!(io::stderr(), "Error: {problem:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> anyhow::Result<()> {
    let cli = Cli::parse();
    // The process has a single thread here, so that restrictions apply to all later threads.
    cli.perform_confined_job();
    // Two cryptography providers are compiled in through dependencies, so one has to be selected.
    rustls::crypto::ring::default_provider().install_default().ok();
    cli::run(cli, std::env::vars().collect())
}
