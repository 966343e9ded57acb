//! Programs that prepare an environment, and whose subcommand starts a program in it: `poetry run`.

use super::{
    command::Word,
    state::{Input, Walk},
};
use crate::texts::UnclearReason;

/// Programs that start their arguments after `run` or `exec`.
const RUNNERS: &[&str] = &[
    "asdf", "bundle", "doppler", "dotenv", "hatch", "mise", "nodenv", "op", "pdm", "pipenv",
    "poetry", "pyenv", "rbenv", "rye", "uv",
];

/// The same, with one argument of their own before the program.
const RUNNERS_WITHIN: &[&str] = &["aws-vault", "chamber", "direnv", "rustup"];

/// The maximum number of places at which a program may begin after options.
const MAX_PLACES: usize = 4;

/// Follows the program that such a subcommand starts.
pub(super) fn follow(walk: &mut Walk, name: &str, words: &[Word], input: &Input) {
    let within = RUNNERS_WITHIN.contains(&name);
    if !within && !RUNNERS.contains(&name) {
        return;
    }
    let starts = |word: &Word| ["run", "exec"].contains(&word.text.as_str());
    let Some(place) = words.iter().position(starts) else { return };
    let given = &words[place + 1..];
    let is_option = |word: &Word| word.text.starts_with('-') && word.text != "--";
    if given.first().is_some_and(is_option) {
        // An option may take the next argument as its value.
        walk.doubt(UnclearReason::Starts);
        let may_begin = |place: &usize| !given[*place].text.starts_with('-');
        for place in (0..given.len()).filter(may_begin).take(MAX_PLACES) {
            walk.command(given[place..].to_vec(), input);
        }
        return;
    }
    let rest = given.get(usize::from(within)..).unwrap_or_default();
    let program = rest.strip_prefix(&[Word::sure("--")]).unwrap_or(rest);
    if !program.is_empty() {
        walk.command(program.to_vec(), input);
    }
}
