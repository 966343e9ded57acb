//! Finds the programs that `git` starts through its settings, aliases and arguments.

use super::{
    command::{Command, Word},
    languages::suspect,
    options::Options,
    state::{Input, Walk},
};
use crate::texts::UnclearReason;

const NONE: Options = Options { short: "", long: &[], words: &[], valued: "" };

/// Subcommands that start only programs named in the repository's own settings.
const PLAIN: &[&str] = &[
    "add",
    "am",
    "annotate",
    "apply",
    "archive",
    "blame",
    "branch",
    "bundle",
    "cat-file",
    "check-ignore",
    "checkout",
    "cherry",
    "cherry-pick",
    "clean",
    "clone",
    "commit",
    "commit-tree",
    "count-objects",
    "describe",
    "diff",
    "diff-files",
    "diff-index",
    "diff-tree",
    "fetch",
    "for-each-ref",
    "format-patch",
    "fsck",
    "gc",
    "grep",
    "hash-object",
    "init",
    "log",
    "ls-files",
    "ls-remote",
    "ls-tree",
    "merge",
    "merge-base",
    "mv",
    "name-rev",
    "notes",
    "pull",
    "push",
    "range-diff",
    "rebase",
    "reflog",
    "remote",
    "reset",
    "restore",
    "rev-list",
    "rev-parse",
    "revert",
    "rm",
    "shortlog",
    "show",
    "show-ref",
    "sparse-checkout",
    "stash",
    "status",
    "switch",
    "symbolic-ref",
    "tag",
    "update-index",
    "version",
    "whatchanged",
    "worktree",
    "write-tree",
];

pub(super) fn follow(walk: &mut Walk, words: &[Word]) {
    let is_option = |word: &&Word| word.text.starts_with('-');
    let before: Vec<_> = words.iter().take_while(is_option).collect();
    // Another repository, or settings on the command line, may name programs that git starts.
    let harmless =
        ["--no-pager", "--version", "--help", "--bare", "--no-optional-locks", "-p", "-P"];
    if !before.iter().all(|word| harmless.contains(&word.text.as_str())) {
        walk.doubt(UnclearReason::Starts);
    }
    // An option with a value precedes the subcommand.
    let named = words.iter().position(|word| {
        PLAIN.contains(&word.text.as_str()) || STARTS.contains(&word.text.as_str())
    });
    let Some(place) = named.filter(|place| before.len() != words.len() && *place >= before.len())
    else {
        if before.len() != words.len() {
            // An alias of the repository may be any command.
            walk.doubt(UnclearReason::Starts);
        }
        return;
    };
    if !before.is_empty() && place > before.len() || place == before.len() {
        subcommand(walk, &words[place].text.clone(), &words[place + 1..]);
    } else {
        walk.doubt(UnclearReason::Starts);
    }
}

/// Subcommands that start their arguments, or programs named in settings.
const STARTS: &[&str] =
    &["bisect", "submodule", "difftool", "mergetool", "filter-branch", "config", "send-email"];

fn subcommand(walk: &mut Walk, name: &str, words: &[Word]) {
    if STARTS.contains(&name) {
        walk.doubt(UnclearReason::Starts);
    }
    let rest_after = |word: &str| {
        let place = words.iter().position(|given| given.text == word)?;
        words.get(place + 1..).map(<[Word]>::to_vec)
    };
    let scripts = match name {
        "rebase" => Options { short: "x", long: &["exec"], valued: "sXC", ..NONE },
        "difftool" => Options { short: "x", long: &["extcmd"], valued: "t", ..NONE },
        "grep" => Options { short: "O", long: &["open-files-in-pager"], valued: "ABCefm", ..NONE },
        "clone" => Options { short: "u", long: &["upload-pack"], valued: "bcjo", ..NONE },
        "fetch" | "pull" | "ls-remote" => Options { long: &["upload-pack", "exec"], ..NONE },
        "push" => Options { long: &["receive-pack", "exec"], ..NONE },
        "archive" => Options { long: &["exec"], ..NONE },
        _ => NONE,
    };
    for script in scripts.values(words) {
        walk.doubt(UnclearReason::Starts);
        if let Some(script) = script {
            walk.runs("sh", &script);
        }
    }
    let settings = Options { short: "c", long: &["config", "template"], ..NONE };
    if ["clone", "init"].contains(&name) && settings.are_in(words)
        || (Options { long: &["ext-diff"], ..NONE }).are_in(words)
        || words.iter().any(|word| word.text.contains("ext::"))
    {
        walk.doubt(UnclearReason::Starts);
    }
    let outputs = match name {
        "format-patch" | "archive" => Options { short: "o", long: &["output"], ..NONE },
        _ => Options { long: &["output"], ..NONE },
    };
    for file in outputs.values(words).into_iter().flatten() {
        walk.push(Command { words: vec![Word::sure(">"), file] });
    }
    match name {
        "bisect" => {
            if let Some(rest) = rest_after("run").filter(|rest| !rest.is_empty()) {
                walk.command(rest, &Input::default());
            }
        }
        "submodule" => {
            for word in rest_after("foreach").unwrap_or_default() {
                walk.runs("sh", &word);
            }
            let joined = rest_after("foreach").unwrap_or_default();
            let joined = joined.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ");
            walk.runs("sh", &Word::guess(joined));
        }
        "filter-branch" => words.iter().for_each(|word| suspect(walk, &word.text)),
        _ => {}
    }
}
