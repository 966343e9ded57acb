//! Programs that are started by other programs, and script interpreters.

use super::{
    builtins,
    command::{Command, FROM_A_PROGRAM, Word},
    prints::prints,
    programs,
    state::{Input, Walk},
    wrappers::{self, Followed},
};
use crate::texts::UnclearReason;

/// Interpreters, which may run anything. A version may follow the name.
const SHELLS: &[&str] = &[
    "sh", "bash", "dash", "ash", "zsh", "ksh", "mksh", "fish", "csh", "tcsh", "rbash", "yash",
    "posh", "osh", "elvish", "nu", "xonsh",
];
const INTERPRETERS: &[&str] = &[
    "python",
    "pypy",
    "ipython",
    "perl",
    "ruby",
    "irb",
    "node",
    "nodejs",
    "ts-node",
    "tsx",
    "deno",
    "bun",
    "php",
    "lua",
    "luajit",
    "tclsh",
    "wish",
    "pwsh",
    "osascript",
    "psql",
    "mysql",
    "mariadb",
    "sqlite",
    "Rscript",
    "R",
    "julia",
    "guile",
    "groovy",
    "scala",
    "jshell",
    "elixir",
    "iex",
    "swipl",
];

pub(super) fn is_interpreter(name: &str) -> bool {
    is_named(SHELLS, name)
        || is_named(INTERPRETERS, name)
        || ["eval", "source", ".", "xargs", "parallel"].contains(&name)
        || wrappers::starts_a_shell(name)
}

fn is_named(names: &[&str], name: &str) -> bool {
    let plain = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-');
    names.contains(&name) || names.contains(&plain)
}

/// A normalised path in the workspace.
pub(super) fn plain_path(path: &str) -> String {
    let parts = path.split('/').filter(|part| !part.is_empty() && *part != ".");
    parts.collect::<Vec<_>>().join("/")
}

/// Follows the programs that this program starts; returns its output, if known.
pub(super) fn follow(walk: &mut Walk, command: &Command, input: &Input) -> Option<String> {
    let Some(name) = command.name().map(str::to_owned) else {
        walk.doubt(UnclearReason::Program);
        return None;
    };
    let words = command.words.get(1..).unwrap_or_default();
    notes_files(walk, &name, &command.words);
    builtins::follow(walk, &name, words);
    programs::follow(walk, &name, words, input);
    if is_named(SHELLS, &name) {
        shell(walk, &name, words, input);
    } else if is_named(INTERPRETERS, &name) {
        interpreter(walk, &name, words, input);
    } else if ["source", "."].contains(&name.as_str()) {
        reads_script(walk, &name, words);
    } else if let Followed::Wrapper(said) = wrappers::follow(walk, &name, words, input) {
        return said;
    } else if name == "find" || name == "fd" {
        wrappers::found(walk, words);
    } else if name == "trap"
        && let Some(script) = words.iter().find(|word| !word.text.starts_with('-'))
    {
        walk.runs(&name, script);
    }
    prints(&name, words, input)
}

/// The options of a shell, up to its script: `-c`, and `-o NAME`, which takes the next argument.
fn shell(walk: &mut Walk, name: &str, words: &[Word], input: &Input) {
    let (mut takes_script, mut reads_input) = (false, false);
    let mut rest = words;
    while let Some((word, after)) = rest.split_first() {
        let text = word.text.as_str();
        if text == "--" || text == "-" {
            rest = after;
            break;
        }
        if !text.starts_with(['-', '+']) {
            break;
        }
        rest = after;
        if !text.starts_with("--") {
            takes_script |= text.contains('c');
            reads_input |= text.contains('s');
            let values = text.matches(['o', 'O']).count();
            rest = rest.get(values..).unwrap_or_default();
        }
    }
    if takes_script {
        return match rest.first() {
            Some(script) => walk.runs(name, script),
            None => walk.doubt(UnclearReason::Script),
        };
    }
    let operands = if reads_input { &[] } else { rest };
    interpreter(walk, name, operands, input);
    if let (true, Some(script)) = (input.piped, &input.text) {
        walk.script(script);
    }
}

/// An interpreter with a script in a file or on standard input.
fn interpreter(walk: &mut Walk, name: &str, words: &[Word], input: &Input) {
    let mut operands = words.iter().filter(|word| word.text == "-" || !is_option(word));
    let inline = ["-c", "-e", "-E", "-r", "--eval", "-p", "--execute"];
    if words.iter().any(|word| inline.iter().any(|option| word.text.starts_with(option))) {
        return;
    }
    let file = operands.next();
    let from_input = ["-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"];
    match file {
        Some(file) if file.text.contains(FROM_A_PROGRAM) => {
            walk.push(Command::of(&["|", name]));
        }
        Some(file) if !from_input.contains(&file.text.as_str()) => {
            walk.files_run.push(plain_path(&file.text));
        }
        _ if input.piped => walk.push(Command::of(&["|", name])),
        _ => {}
    }
}

fn is_option(word: &Word) -> bool {
    word.text.starts_with(['-', '+'])
}

fn reads_script(walk: &mut Walk, name: &str, words: &[Word]) {
    match words.first() {
        Some(file) if file.text.contains(FROM_A_PROGRAM) => {
            walk.push(Command::of(&["|", name]));
        }
        Some(file) => walk.files_run.push(plain_path(&file.text)),
        None => {}
    }
}

/// Records the files that a program downloads or writes, and whether the program itself is such a
/// file.
fn notes_files(walk: &mut Walk, name: &str, words: &[Word]) {
    if words[0].text.contains('/') {
        walk.files_run.push(plain_path(&words[0].text));
    }
    let rest = &words[1..];
    let mut wrote = |text: &str| {
        walk.written.insert(plain_path(text));
    };
    match name {
        "curl" | "wget" | "aria2c" => {
            for pair in rest.windows(2) {
                if ["-o", "-O", "--output", "--output-document"].contains(&pair[0].text.as_str()) {
                    wrote(&pair[1].text);
                }
            }
            for word in rest {
                let attached = word.text.split_once('=').map(|(_, value)| value);
                let short = word.text.strip_prefix("-o").filter(|_| !word.text.starts_with("--"));
                attached.into_iter().chain(short).for_each(&mut wrote);
                // Without an output name, the file is named after the URL.
                if word.text.contains("://") {
                    wrote(word.text.rsplit('/').next().unwrap_or_default());
                }
            }
        }
        "tee" | "cp" | "mv" | "ln" | "install" => rest.iter().for_each(|word| wrote(&word.text)),
        _ => {}
    }
}
