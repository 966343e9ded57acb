//! `countersign completions` and `countersign man`: generate shell completions and manual pages.

use anyhow::{Context as _, Result};
use clap::CommandFactory as _;
use clap_complete::Shell;
use std::path::Path;

use super::Cli;

const NAME: &str = "countersign";

/// The completion script of a shell.
pub(super) fn completions(shell: Shell) -> String {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), NAME, &mut script);
    String::from_utf8_lossy(&script).trim_end().to_owned()
}

/// Writes a page for each command. Returns instructions for using them.
pub(super) fn write(folder: &Path) -> Result<String> {
    let shown = folder.display();
    std::fs::create_dir_all(folder).with_context(|| format!("creating {shown}"))?;
    clap_mangen::generate_to(Cli::command(), folder).with_context(|| format!("writing {shown}"))?;
    Ok(format!("The man pages are in {shown}; `man -l {shown}/{NAME}.1` shows the first."))
}
