//! Reads a shell command line as the programs that it would start, so that rules judge what runs
//! and not how it is written.
//!
//! Every program counts: those of pipelines, lists, subshells, functions, substitutions and
//! here-documents, those that `sh -c`, `sudo`, `xargs` and `find -exec` start ([`inner`],
//! [`wrappers`]), and those that programs start by an option or by a language of their own
//! ([`programs`], [`languages`], [`git`]). What a program does besides is a command of its own, so
//! that no rule that allows the program covers it: `> FILE` writes, `< /dev/tcp/…` connects,
//! `= NAME` sets a variable, `| NAME` is an interpreter that runs what comes from elsewhere,
//! `function NAME --calls-itself` never ends.
//!
//! What is not known before it runs is guessed, and marked: a guess can forbid, never allow. A line
//! that cannot be read to its end is doubtful, which asks; [`scan`] looks a second time for what the
//! parser may have overlooked.

mod arithmetic;
mod builtins;
mod command;
mod git;
mod inner;
mod languages;
mod options;
mod prints;
mod programs;
mod redirect;
mod scan;
mod walk;
mod words;
mod wrappers;

pub use command::{Command, Script, Word};
use walk::Walk;

/// What the command line would do.
pub fn parse(text: &str) -> Script {
    let mut walk = Walk::default();
    walk.script(text);
    walk.end()
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
