//! Parses a shell command line into the programs that it would start, so that rules judge what runs
//! and not how it is written.
//!
//! Every program counts: those of pipelines, lists, subshells, functions, substitutions and
//! here-documents, those that `sh -c`, `sudo`, `xargs` and `find -exec` start ([`inner`],
//! [`wrappers`]), and those that programs start through an option or a language of their own
//! ([`programs`], [`languages`], [`git`]). Further effects are commands of their own, so that no
//! rule that allows the program covers them: `> FILE` writes, `< /dev/tcp/…` connects, `= NAME`
//! sets a variable, `| NAME` is an interpreter that runs piped input, `function NAME
//! --calls-itself` never ends.
//!
//! What is not known in advance is guessed and marked as a guess, which can deny but never allow. A
//! line that cannot be parsed completely is unclear and requires approval. [`scan`] checks
//! independently for syntax that the parser may have missed.

mod arithmetic;
mod builtins;
mod command;
mod git;
mod inner;
mod languages;
mod options;
mod outputs;
mod prints;
mod programs;
mod redirect;
mod runners;
mod scan;
mod state;
mod walk;
mod words;
mod wrappers;

pub use command::{Command, Script, Word};
pub use inner::is_interpreter;
use state::Walk;

/// Parses a command line.
pub fn parse(text: &str) -> Script {
    let mut walk = Walk::default();
    walk.script(text);
    walk.end()
}

#[cfg(test)]
mod hiding_tests;
#[cfg(test)]
mod tests;
