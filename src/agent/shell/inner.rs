//! Programs that are started by other programs, and script interpreters.

use super::{
    builtins,
    command::{Command, FROM_A_PROGRAM, Word},
    options::Options,
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

/// How an interpreter takes its script as an argument.
struct Inline {
    names: &'static [&'static str],
    /// The options with a script or with the name of a module.
    options: Options,
    /// Other options whose value may be the next argument.
    separate: &'static str,
}

const INLINE: &[Inline] = &[
    Inline {
        names: &["python", "pypy", "ipython"],
        options: Options { short: "cm", long: &[], words: &[], valued: "WXQ" },
        separate: "WXQ",
    },
    Inline {
        names: &["perl"],
        options: Options { short: "eE", long: &[], words: &[], valued: "CDFIMVimx" },
        separate: "I",
    },
    Inline {
        names: &["ruby"],
        options: Options { short: "e", long: &[], words: &[], valued: "CEFIKTWirx" },
        separate: "CEIr",
    },
    Inline {
        names: &["node", "nodejs", "ts-node", "tsx", "bun"],
        options: Options { short: "ep", long: &["eval", "print"], words: &[], valued: "rC" },
        separate: "rC",
    },
    Inline {
        names: &["php"],
        options: Options {
            short: "rBRE",
            long: &["run", "process-begin", "process-code", "process-end"],
            words: &[],
            valued: "cdtzS",
        },
        separate: "cdtzS",
    },
    Inline {
        names: &["lua", "luajit"],
        options: Options { short: "e", long: &[], words: &[], valued: "l" },
        separate: "l",
    },
];

/// Interpreters whose options are not known exactly.
const OTHER: Inline = Inline {
    names: &[],
    options: Options { short: "", long: &["eval", "execute"], words: &[], valued: "" },
    separate: "",
};

impl Inline {
    fn of(name: &str) -> &'static Self {
        INLINE.iter().find(|inline| is_named(inline.names, name)).unwrap_or(&OTHER)
    }

    /// The options of the interpreter itself, and its operands: the script's file and the script's
    /// own arguments.
    fn split<'w>(&self, words: &'w [Word]) -> (&'w [Word], &'w [Word]) {
        let mut at = 0;
        while let Some(word) = words.get(at) {
            let text = word.text.as_str();
            if text == "-" || !is_option(word) {
                break;
            }
            at += 1;
            if text == "--" {
                break;
            }
            let takes_value =
                |c: char| self.options.short.contains(c) || self.options.valued.contains(c);
            let may_be_next = |c: char| self.options.short.contains(c) || self.separate.contains(c);
            let is_long = text.starts_with("--");
            let option = text.char_indices().skip(1).find(|(_, c)| !is_long && takes_value(*c));
            at += usize::from(
                option.is_some_and(|(place, c)| place + 1 == text.len() && may_be_next(c)),
            );
        }
        words.split_at(at.min(words.len()))
    }

    /// Whether the script is among these options.
    fn is_in(&self, own: &[Word]) -> bool {
        let known = ["-c", "-e", "-E", "-r", "-p"];
        let may_be = |word: &Word| known.iter().any(|option| word.text.starts_with(option));
        self.options.are_in(own) || self.names.is_empty() && own.iter().any(may_be)
    }
}

/// Whether the program may run any script, or starts a shell.
pub fn is_interpreter(name: &str) -> bool {
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
    let inline = Inline::of(name);
    let (own, operands) = inline.split(words);
    if inline.is_in(own) {
        return;
    }
    let from_input = ["-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"];
    match operands.first() {
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
    match name {
        "curl" | "wget" | "aria2c" => notes_downloads(walk, name, rest),
        "tee" | "cp" | "mv" | "ln" | "install" => {
            walk.written.extend(rest.iter().map(|word| plain_path(&word.text)));
        }
        _ => {}
    }
}

/// Records the files that a download program may name after its URLs. Files that its options name
/// are recorded with these options.
fn notes_downloads(walk: &mut Walk, name: &str, words: &[Word]) {
    let folder = match name {
        "curl" => Options { words: &["--output-dir"], ..Options::default() },
        "wget" => Options { short: "P", long: &["directory-prefix"], ..Options::default() },
        _ => Options { short: "d", long: &["dir"], ..Options::default() },
    };
    let given = folder.values(words).into_iter().flatten().map(|word| word.text);
    let folders: Vec<_> = given.chain([String::new()]).collect();
    for word in words.iter().filter(|word| word.text.contains('/')) {
        let path = word.text.split(['?', '#']).next().unwrap_or_default();
        for address in [word.text.as_str(), path] {
            let file = address.rsplit('/').next().unwrap_or_default();
            let places = folders.iter().map(|folder| plain_path(&format!("{folder}/{file}")));
            walk.written.extend(places.filter(|_| !file.is_empty()));
        }
    }
}
