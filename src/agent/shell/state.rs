//! The state of a walk over a command line: the programs that were found, and what is known of
//! variables and files.

use std::collections::{BTreeMap, BTreeSet};

use super::command::{Command, Script};
use crate::texts::UnclearReason;

const MAX_COMMANDS: usize = 500;

/// The state of the walk.
#[derive(Default)]
pub(super) struct Walk {
    commands: Vec<Command>,
    unclear: Option<UnclearReason>,
    pub(super) depth: usize,
    /// The values of variables, if known.
    pub(super) variables: BTreeMap<String, Option<String>>,
    /// Files that the line writes, and files that it runs.
    pub(super) written: BTreeSet<String>,
    pub(super) files_run: Vec<String>,
    pub(super) functions: Vec<String>,
    /// Expansions and substitutions that were followed, as written.
    pub(super) followed: BTreeSet<String>,
    /// The script that is walked, to look up the text of its parts.
    pub(super) source: Vec<char>,
}

/// Standard input of a program.
#[derive(Debug, Clone, Default)]
pub(super) struct Input {
    /// From another program or file, not from the terminal.
    pub(super) piped: bool,
    pub(super) text: Option<String>,
}

impl Walk {
    /// Finishes the walk.
    pub(super) fn end(mut self) -> Script {
        for file in std::mem::take(&mut self.files_run) {
            // The same line wrote the file, so its contents were not shown to anyone.
            if self.written.contains(&file) {
                self.push(Command::of(&["|", &file]));
            }
        }
        Script { commands: self.commands, unclear: self.unclear }
    }

    pub(super) fn doubt(&mut self, why: UnclearReason) {
        self.unclear.get_or_insert(why);
    }

    pub(super) fn push(&mut self, command: Command) {
        if self.commands.len() >= MAX_COMMANDS {
            return self.doubt(UnclearReason::TooMany);
        }
        self.commands.push(command);
    }
}
