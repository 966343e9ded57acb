//! Builtins of shells that set variables, evaluate their arguments or change the meaning of names.

use super::{
    command::Word,
    options::Options,
    state::{Input, Walk},
};
use crate::texts::UnclearReason;

/// Builtins that set the variables that their operands name.
const SETTERS: &[&str] = &[
    "export",
    "readonly",
    "declare",
    "typeset",
    "local",
    "read",
    "unset",
    "getopts",
    "mapfile",
    "readarray",
];

/// Builtins that evaluate subscripts in their arguments, in which `$(…)` runs.
const EVALUATORS: &[&str] = &["test", "[", "printf", "let", "wait"];

/// Builtins after which a name refers to another program, or that run their arguments later.
const OBSCURE: &[&str] =
    &["alias", "bind", "complete", "compgen", "coproc", "enable", "fc", "shopt"];

/// Words that begin or end a compound command. One that appears as a program's name was written in
/// a way that the parser does not understand.
const RESERVED: &[&str] = &[
    "if", "then", "elif", "else", "fi", "for", "while", "until", "do", "done", "case", "esac",
    "in", "function", "select", "time", "!", "{", "}", "[[", "]]",
];

/// Follows the further effects of a builtin.
pub(super) fn follow(walk: &mut Walk, name: &str, words: &[Word]) {
    if RESERVED.contains(&name) {
        walk.doubt(UnclearReason::NoShell);
    }
    if name.starts_with('-') {
        // The option of a reserved word, as in `time -- ls`.
        walk.doubt(UnclearReason::NoShell);
        walk.command(words.to_vec(), &Input::default());
    }
    if OBSCURE.contains(&name) {
        walk.doubt(UnclearReason::Script);
        for word in words {
            let script = word.text.split_once('=').map_or(word.text.as_str(), |(_, value)| value);
            walk.runs(name, &Word { text: script.to_owned(), sure: word.sure });
        }
    }
    if SETTERS.contains(&name) || EVALUATORS.contains(&name) {
        for word in words {
            evaluated(walk, word);
        }
    }
    match name {
        name if SETTERS.contains(&name) => operands(walk, name, words),
        "let" => words.iter().for_each(|word| walk.arithmetic(&word.text)),
        "printf" => named_by(walk, words, Options { short: "v", ..Options::default() }),
        "wait" => named_by(walk, words, Options { short: "p", ..Options::default() }),
        "hash" if Options { short: "p", ..Options::default() }.are_in(words) => {
            walk.doubt(UnclearReason::Program);
        }
        "jobs" if Options { short: "x", ..Options::default() }.are_in(words) => {
            walk.doubt(UnclearReason::Program);
        }
        "set" => {
            let keyword = words.iter().any(|word| {
                word.text == "keyword"
                    || word.text.starts_with(['-', '+']) && word.text.contains('k')
            });
            if keyword {
                walk.doubt(UnclearReason::OtherShells);
            }
        }
        _ => {}
    }
}

fn named_by(walk: &mut Walk, words: &[Word], options: Options) {
    for name in options.values(words).into_iter().flatten() {
        walk.sets(&name.text, None);
    }
}

/// The variables that the operands name, with their values.
fn operands(walk: &mut Walk, name: &str, words: &[Word]) {
    let declares = ["export", "readonly", "declare", "typeset", "local"].contains(&name);
    let attributes = Options { short: "ni", ..Options::default() };
    if declares && name != "export" && attributes.are_in(words) {
        // A name for another variable, or a value that is evaluated.
        walk.doubt(UnclearReason::Variable);
    }
    if ["mapfile", "readarray"].contains(&name) {
        let callback = Options { short: "C", valued: "cdnOstu", ..Options::default() };
        for script in callback.values(words).into_iter().flatten() {
            walk.runs(name, &script);
        }
    }
    for word in words.iter().filter(|word| !word.text.starts_with(['-', '+'])) {
        let (variable, value) = match word.text.split_once('=') {
            Some((variable, value)) => (variable.trim_end_matches('+'), Some(Word::guess(value))),
            None => (word.text.as_str(), None),
        };
        if !word.sure && value.is_none() {
            walk.doubt(UnclearReason::Variable);
        }
        // Exporting a variable that is already set does not set it.
        if value.is_some() || !declares {
            walk.sets(variable, value.as_ref());
        }
    }
    for attached in words.iter().filter_map(|word| word.text.strip_prefix("-a")) {
        if name == "read" && !attached.is_empty() {
            walk.sets(attached, None);
        }
    }
}

fn evaluated(walk: &mut Walk, word: &Word) {
    if word.text.contains('[') && word.text.contains(['$', '`']) {
        walk.inside(&word.text);
        walk.doubt(UnclearReason::Script);
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Command, parse};

    /// Every way to set a variable is recognised.
    #[test]
    fn every_way_to_set_a_variable_is_seen() {
        for line in [
            "for PATH in 0; do ls; done",
            "for i in a; do for PATH in .; do ls; done; done",
            "read PATH < x; ls",
            "read -r PATH; ls",
            "read -ra PATH; ls",
            "read -aPATH; ls",
            "printf -v PATH .; ls",
            "printf -vPATH .; ls",
            "export PATH=.; ls",
            "export PATH+=:.; ls",
            "readonly PATH=.; ls",
            "declare -x PATH=.; ls",
            "typeset PATH=.; ls",
            "f() { local PATH=.; ls; }; f",
            "getopts a PATH; ls",
            "mapfile PATH; ls",
            "readarray -t PATH; ls",
            "unset PATH; ls",
            "wait -p PATH; ls",
            "ls ${PATH:=.}",
            "ls ${PATH=.}",
            "ls \"${PATH:=.}\"",
            "PATH=. ls",
            "PATH[0]=.; ls",
            "PATH+=.; ls",
            "PATH=(.); ls",
            "env PATH=. ls",
            "sudo PATH=. ls",
            "env -i PATH=. ls",
            "command export PATH=.; ls",
        ] {
            let commands = parse(line).commands;
            let sets = commands.iter().any(|command| command.text().starts_with("= PATH"));
            assert!(sets, "{line}: {:?}", commands.iter().map(Command::text).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_builtin_that_obscures_what_runs_is_doubtful() {
        for line in [
            "select PATH in .; do ls; done",
            "ls {PATH}> x",
            "declare -n x=PATH; x=.; ls",
            "declare -i x='PATH=0'; ls",
            "alias ls='rm -rf'\nls x",
            "hash -p ./x ls; ls",
            "enable -f ./x ls; ls",
            "jobs -x rm y",
            "complete -C 'rm x' y",
            "test -v 'a[$(rm y)]'",
            "[ -v 'a[$(rm y)]' ]",
            "printf -v 'a[$(rm y)]' x",
            "unset 'a[`rm y`]'",
            "read 'a[$(rm y)]'",
            "coproc rm x",
            "set -k; ls PATH=.",
            "export $X; ls",
            "t\\\nhen rm -rf x",
        ] {
            assert!(parse(line).unclear.is_some(), "{line}");
        }
        for line in ["export X=1", "read line", "printf '%s' a", "set -eu", "unset X"] {
            assert_eq!(parse(line).unclear, None, "{line}");
        }
    }
}
