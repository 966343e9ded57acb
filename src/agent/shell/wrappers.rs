//! Programs that start another program, which their arguments name.

use super::{
    command::{Command, FROM_A_PROGRAM, Word},
    options::Options,
    state::{Input, Walk},
};
use crate::texts::UnclearReason;

/// A program that starts the one that its arguments name.
struct Wrapper {
    names: &'static [&'static str],
    /// Its short options that take a value.
    valued: &'static str,
    /// Its long options that take the next argument as value unless written with `=`.
    long: &'static [&'static str],
    /// The possible numbers of its own arguments before the program.
    before: &'static [usize],
}

impl Wrapper {
    /// Whether the next argument may be the value of this unknown option.
    fn may_take_value(&self, text: &str) -> bool {
        text.strip_prefix("--").is_some_and(|long| {
            let is_known = self.long.iter().any(|known| known.starts_with(long));
            !long.is_empty() && !long.contains('=') && !is_known
        })
    }
}

const fn wrapper(names: &'static [&'static str], valued: &'static str) -> Wrapper {
    Wrapper { names, valued, long: &[], before: &[0] }
}

/// A wrapper with one argument of its own before the program.
const fn second(names: &'static [&'static str], valued: &'static str) -> Wrapper {
    Wrapper { names, valued, long: &[], before: &[1] }
}

/// A wrapper with zero or one argument of its own before the program.
const fn either(names: &'static [&'static str], valued: &'static str) -> Wrapper {
    Wrapper { names, valued, long: &[], before: &[0, 1] }
}

const WRAPPERS: &[Wrapper] = &[
    Wrapper {
        names: &["sudo", "doas"],
        valued: "aCcDgGhpRrTtUu",
        long: &["user", "group", "chdir", "chroot", "host", "prompt", "role", "type", "close-from"],
        before: &[0],
    },
    Wrapper {
        names: &["env"],
        valued: "uCS",
        long: &["unset", "chdir", "split-string"],
        before: &[0],
    },
    Wrapper { names: &["nice"], valued: "n", long: &["adjustment"], before: &[0] },
    Wrapper { names: &["ionice"], valued: "cnpPu", long: &["class", "classdata"], before: &[0] },
    Wrapper { names: &["timeout"], valued: "ks", long: &["signal", "kill-after"], before: &[1] },
    Wrapper {
        names: &["stdbuf"],
        valued: "ioe",
        long: &["input", "output", "error"],
        before: &[0],
    },
    Wrapper { names: &["time", "gtime"], valued: "fo", long: &["format", "output"], before: &[0] },
    Wrapper {
        names: &["xargs"],
        valued: "adEILnPs",
        long: &["arg-file", "delimiter", "max-args", "max-procs", "max-lines", "max-chars"],
        before: &[0],
    },
    Wrapper { names: &["chroot"], valued: "", long: &["userspec", "groups"], before: &[1] },
    Wrapper {
        names: &["unshare"],
        valued: "GSwR",
        long: &[
            "setuid",
            "setgid",
            "wd",
            "root",
            "propagation",
            "setgroups",
            "map-user",
            "map-group",
        ],
        before: &[0],
    },
    Wrapper {
        names: &["nsenter"],
        valued: "tSGwr",
        long: &["target", "setuid", "setgid"],
        before: &[0],
    },
    Wrapper {
        names: &["flock"],
        valued: "Ewc",
        long: &["timeout", "conflict-exit-code", "command"],
        before: &[1],
    },
    Wrapper {
        names: &["runcon"],
        valued: "turl",
        long: &["type", "user", "role", "range"],
        before: &[0, 1],
    },
    Wrapper { names: &["prlimit"], valued: "po", long: &["pid", "output"], before: &[0] },
    Wrapper {
        names: &["runuser"],
        valued: "ugGscTw",
        long: &["user", "group", "shell"],
        before: &[0, 1],
    },
    Wrapper { names: &["pkexec"], valued: "", long: &["user"], before: &[0] },
    wrapper(
        &[
            "nohup", "setsid", "command", "builtin", "chronic", "busybox", "toybox", "unbuffer",
            "coproc",
        ],
        "",
    ),
    wrapper(&["exec"], "a"),
    wrapper(&["strace"], "aeEIoOpPsSuX"),
    wrapper(&["ltrace"], "aenoplsu"),
    wrapper(&["fakeroot"], "ilsb"),
    wrapper(&["systemd-run"], "pHMu"),
    wrapper(&["numactl"], "CNmiplwP"),
    wrapper(&["cgexec"], "g"),
    wrapper(&["ssh-agent"], "aEtP"),
    wrapper(&["choom"], "np"),
    wrapper(&["aa-exec"], "pn"),
    wrapper(
        &[
            "setpriv",
            "nocache",
            "eatmydata",
            "fakechroot",
            "catchsegv",
            "dbus-run-session",
            "systemd-inhibit",
        ],
        "",
    ),
    wrapper(
        &["torsocks", "torify", "proxychains", "proxychains4", "pseudo", "daemonize", "entr"],
        "",
    ),
    wrapper(
        &["valgrind", "dumb-init", "tini", "rlwrap", "xvfb-run", "trickle", "cpulimit"],
        "aefnpswdul",
    ),
    wrapper(&["proot"], "rbqwk"),
    wrapper(&["ccache", "distcc", "sccache", "stdbuf"], "ioe"),
    second(&["taskset", "gosu", "su-exec", "setuidgid", "envdir", "envuidgid", "sem"], ""),
    second(&["setlock", "chpst", "softlimit"], "uUbemdoslnpftc"),
    either(&["chrt"], "TPD"),
    either(&["faketime"], "f"),
    either(&["setarch", "linux32", "linux64", "i386", "i686", "x86_64", "uname26", "aarch64"], ""),
];

/// Programs whose arguments, joined, are a script.
const JOINED: &[Wrapper] = &[
    wrapper(&["eval"], ""),
    Wrapper { names: &["watch"], valued: "nq", long: &["interval", "equexit"], before: &[0] },
    wrapper(&["parallel", "sem"], "jaINLnPCdSE"),
    second(&["ssh"], "BbcDEeFIiJLlmOopQRSWw"),
    second(&["sg"], ""),
];

/// Programs that start a shell by default.
const SHELL_BY_DEFAULT: &[&str] = &[
    "su",
    "sudo",
    "doas",
    "chroot",
    "unshare",
    "nsenter",
    "script",
    "newgrp",
    "sg",
    "fakeroot",
    "setarch",
    "linux32",
    "linux64",
    "runuser",
    "ssh",
    "parallel",
    "systemd-run",
    "busybox",
];

/// The dynamic linker as a program, which runs its argument.
const LINKERS: &[&str] = &["ld.so", "ld-linux", "ld64.so", "ld-musl", "ld-2"];

pub(super) fn starts_a_shell(name: &str) -> bool {
    SHELL_BY_DEFAULT.contains(&name)
}

/// The result for a program that may be a wrapper.
pub(super) enum Followed {
    /// It is not a wrapper.
    Other,
    /// The program that it starts was followed; its output, if known.
    Wrapper(Option<String>),
}

/// Follows the program that a wrapper starts.
pub(super) fn follow(walk: &mut Walk, name: &str, words: &[Word], input: &Input) -> Followed {
    let is_it = |wrapper: &&Wrapper| wrapper.names.contains(&name);
    if let Some(joined) = JOINED.iter().find(is_it) {
        together(walk, joined, name, words, input);
        return Followed::Wrapper(None);
    }
    if let Some(wrapper) = WRAPPERS.iter().find(is_it) {
        started_by_default(walk, name, inner(wrapper, words, wrapper.before[0]), input);
        return Followed::Wrapper(wrapped(walk, wrapper, words, input));
    }
    if LINKERS.iter().any(|linker| name.starts_with(linker)) {
        walk.doubt(UnclearReason::Starts);
        return Followed::Wrapper(wrapped(walk, &wrapper(&["ld.so"], ""), words, input));
    }
    started_by_default(walk, name, &[], input);
    Followed::Other
}

/// If a program starts a shell by default, its input is a script.
fn started_by_default(walk: &mut Walk, name: &str, given: &[Word], input: &Input) {
    if !SHELL_BY_DEFAULT.contains(&name) || !given.is_empty() || !input.piped {
        return;
    }
    walk.push(Command::of(&["|", name]));
    if let Some(script) = &input.text {
        walk.script(script);
    }
}

/// Joins the arguments into one script. `parallel` inserts those after `:::`, or runs each of them.
fn together(walk: &mut Walk, joined: &Wrapper, name: &str, words: &[Word], input: &Input) {
    let rest = inner(joined, words, joined.before[0]);
    let is_list = |word: &Word| word.text.starts_with(":::");
    let (command, lists) = match rest.iter().position(is_list) {
        Some(place) if ["parallel", "sem"].contains(&name) => rest.split_at(place),
        _ => (rest, &rest[rest.len()..]),
    };
    for word in lists.iter().filter(|word| !is_list(word)) {
        walk.doubt(UnclearReason::Script);
        if command.is_empty() {
            walk.runs(name, word);
        }
    }
    started_by_default(walk, name, command, input);
    let text = command.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ");
    if !text.is_empty() {
        walk.runs(name, &Word { text, sure: command.iter().all(|word| word.sure) });
    }
}

fn wrapped(walk: &mut Walk, wrapper: &Wrapper, words: &[Word], input: &Input) -> Option<String> {
    let mut said = None;
    let mut places: Vec<_> = wrapper.before.iter().rev().copied().collect();
    let own = &words[..words.len() - inner(wrapper, words, wrapper.before[0]).len()];
    if own.iter().any(|word| wrapper.may_take_value(&word.text)) {
        places.insert(0, wrapper.before[0] + 1);
    }
    for before in places {
        let mut rest = inner(wrapper, words, before).to_vec();
        let own = &words[..words.len() - rest.len()];
        if wrapper.names.contains(&"env") {
            rest.splice(..0, split_strings(walk, own));
        }
        for word in own.iter().filter(|word| is_assignment(&word.text)) {
            let (name, value) = word.text.split_once('=').unwrap_or((&word.text, ""));
            walk.sets(name, Some(&Word::guess(value)));
        }
        if rest.is_empty() {
            continue;
        }
        said = if wrapper.names.contains(&"xargs") {
            with_items(walk, rest, input);
            None
        } else {
            walk.command(rest, input)
        };
    }
    said
}

/// The words that `env -S` makes of one.
fn split_strings(walk: &mut Walk, own: &[Word]) -> Vec<Word> {
    let options =
        Options { short: "S", long: &["split-string"], valued: "uC", ..Options::default() };
    let mut words = Vec::new();
    for text in options.values(own).into_iter().flatten() {
        if text.text.contains(['\\', '\'', '"', '$', '#']) {
            walk.doubt(UnclearReason::Script);
        }
        words.extend(
            text.text.split_whitespace().map(|word| Word { sure: text.sure, text: word.into() }),
        );
    }
    words
}

/// `xargs` appends its input, or inserts it in place of `{}`.
fn with_items(walk: &mut Walk, mut rest: Vec<Word>, input: &Input) {
    let said = input.text.as_deref().unwrap_or(FROM_A_PROGRAM);
    let more: Vec<_> = said.split_whitespace().map(Word::guess).collect();
    for word in &mut rest {
        if word.text.contains("{}") {
            *word = Word::guess(word.text.replace("{}", said.trim()));
        }
    }
    rest.extend(more);
    walk.command(rest, &Input::default());
}

/// The program and its arguments, after the wrapper's own.
fn inner<'a>(wrapper: &Wrapper, words: &'a [Word], mut before: usize) -> &'a [Word] {
    let mut at = 0;
    while let Some(word) = words.get(at) {
        let text = word.text.as_str();
        at += 1;
        if text == "--" {
            break;
        }
        if text == "-" && ["env", "sg"].contains(&wrapper.names[0]) {
            continue;
        }
        if let Some(long) = text.strip_prefix("--") {
            let is_valued = wrapper.long.iter().any(|known| known.starts_with(long));
            at += usize::from(!long.contains('=') && is_valued);
        } else if let Some(short) = text.strip_prefix('-').filter(|short| !short.is_empty()) {
            // Only the first option that takes a value can have it, in the same word or in the
            // next.
            let valued = short.find(|c| wrapper.valued.contains(c));
            at += usize::from(valued.is_some_and(|place| place + 1 == short.len()));
        } else if is_assignment(text) && ["env", "sudo"].contains(&wrapper.names[0]) {
        } else if before > 0 {
            before -= 1;
        } else {
            at -= 1;
            break;
        }
    }
    let rest = words.get(at..).unwrap_or_default();
    rest.get(before.min(rest.len())..).unwrap_or_default()
}

fn is_assignment(text: &str) -> bool {
    text.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_')
    })
}

/// `find … -exec PROGRAM … ;`
pub(super) fn found(walk: &mut Walk, words: &[Word]) {
    let starts = ["-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch"];
    let mut rest = words;
    while let Some(place) = rest.iter().position(|word| starts.contains(&word.text.as_str())) {
        rest = &rest[place + 1..];
        let end = rest.iter().position(|word| word.text == ";" || word.text == "+");
        let (program, after) = rest.split_at(end.unwrap_or(rest.len()));
        let program: Vec<_> = program
            .iter()
            .map(
                |word| {
                    if word.text.contains("{}") { Word::guess(&word.text) } else { word.clone() }
                },
            )
            .collect();
        if !program.is_empty() {
            walk.command(program, &Input::default());
        }
        rest = after;
    }
}
