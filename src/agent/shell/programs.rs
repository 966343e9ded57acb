//! Programs that start other programs through an option or a language of their own.

use super::{
    command::Word,
    git, languages,
    options::Options,
    outputs, runners,
    state::{Input, Walk},
};
use crate::texts::UnclearReason;

/// The kind of an option's value.
#[derive(Clone, Copy)]
enum Value {
    /// A command that is run.
    Script,
    /// A file that is written.
    Written,
    /// The same, but a hyphen is standard output.
    Saved,
    /// Something that may start programs in an unknown way.
    Unknown,
}

struct Program {
    names: &'static [&'static str],
    options: Options,
    value: Value,
}

const NONE: Options = Options { short: "", long: &[], words: &[], valued: "" };

const fn script(names: &'static [&'static str], options: Options) -> Program {
    Program { names, options, value: Value::Script }
}

const fn written(names: &'static [&'static str], options: Options) -> Program {
    Program { names, options, value: Value::Written }
}

const fn saved(names: &'static [&'static str], options: Options) -> Program {
    Program { names, options, value: Value::Saved }
}

const fn unknown(names: &'static [&'static str], options: Options) -> Program {
    Program { names, options, value: Value::Unknown }
}

const TARS: &[&str] = &["tar", "gtar", "bsdtar"];
const COMPILERS: &[&str] = &["gcc", "g++", "cc", "c++", "clang", "clang++", "c89", "c99"];
const TEXS: &[&str] = &["tex", "latex", "pdflatex", "xelatex", "lualatex", "pdftex", "luatex"];

const CURL_VALUED: &str = "AbcCdDeEFhHKmoPQrtTuUwxXyYz";
const WGET_VALUED: &str = "aABDeiIlnoOPQRtTUwX";

const PROGRAMS: &[Program] = &[
    script(
        TARS,
        Options {
            short: "IF",
            long: &[
                "use-compress-program",
                "to-command",
                "info-script",
                "new-volume-script",
                "rsh-command",
                "rmt-command",
            ],
            valued: "bCfgHKLNTVX",
            ..NONE
        },
    ),
    script(&["zip"], Options { long: &["unzip-command"], words: &["-TT"], ..NONE }),
    script(&["sort"], Options { long: &["compress-program"], ..NONE }),
    written(&["sort"], Options { short: "o", long: &["output"], valued: "kStT", ..NONE }),
    written(&["shuf"], Options { short: "o", long: &["output"], valued: "in", ..NONE }),
    written(&["tree"], Options { short: "o", valued: "HILPT", ..NONE }),
    written(&["iconv"], Options { short: "o", long: &["output"], valued: "ft", ..NONE }),
    written(&["sdiff"], Options { short: "o", long: &["output"], valued: "Iw", ..NONE }),
    saved(
        &["pandoc"],
        Options { short: "o", long: &["output"], valued: "ABDHKLMTVcdfmrtw", ..NONE },
    ),
    saved(&["gpg", "gpg2"], Options { short: "o", long: &["output"], valued: "Nru", ..NONE }),
    written(
        &["openssl"],
        Options { words: &["-out", "--out", "-keyout", "--keyout", "-writerand"], ..NONE },
    ),
    unknown(
        &["openssl"],
        Options {
            words: &["-engine", "--engine", "-provider", "--provider", "-provider-path", "-config"],
            ..NONE
        },
    ),
    script(&["split"], Options { long: &["filter"], ..NONE }),
    script(&["install", "ginstall"], Options { long: &["strip-program"], ..NONE }),
    script(
        &["man"],
        Options { short: "PH", long: &["pager", "html"], valued: "CLmMrsSeEpR", ..NONE },
    ),
    unknown(&["man"], Options { short: "CX", long: &["config-file", "gxditview"], ..NONE }),
    script(&["rg"], Options { long: &["pre", "hostname-bin"], ..NONE }),
    script(&["ag", "ack", "bat", "batcat"], Options { long: &["pager"], ..NONE }),
    unknown(
        &["less", "more", "most"],
        Options { short: "k", long: &["lesskey-file", "lesskey-src", "lesskey-content"], ..NONE },
    ),
    written(&["less"], Options { short: "oO", long: &["log-file", "LOG-FILE"], ..NONE }),
    script(&["script"], Options { short: "c", long: &["command"], valued: "EBIOTmo", ..NONE }),
    script(
        &["su", "runuser"],
        Options { short: "c", long: &["command", "session-command"], valued: "gGsTuw", ..NONE },
    ),
    script(&["flock"], Options { short: "c", long: &["command"], valued: "Ew", ..NONE }),
    script(
        &["rsync"],
        Options { short: "e", long: &["rsh", "rsync-path"], valued: "fBTM@", ..NONE },
    ),
    script(&["cpio"], Options { long: &["rsh-command"], ..NONE }),
    script(&["tcpdump"], Options { short: "z", valued: "BCcEFGijMrsTVWwyQ", ..NONE }),
    script(
        &["nc", "ncat", "netcat"],
        Options {
            short: "ec",
            long: &["exec", "sh-exec", "lua-exec"],
            valued: "gGiImMOPpqsTVwXx",
            ..NONE
        },
    ),
    script(&["diff3", "sdiff"], Options { long: &["diff-program"], ..NONE }),
    unknown(
        &["fd", "fdfind"],
        Options { short: "xX", long: &["exec", "exec-batch"], valued: "dtEecSgoj", ..NONE },
    ),
    unknown(&["ssh"], Options { short: "oFIS", valued: "BbcDEeiJLlmOpQRWw", ..NONE }),
    unknown(&["scp", "sftp"], Options { short: "oFSD", valued: "cilPXbBR", ..NONE }),
    saved(
        &["curl"],
        Options {
            short: "ocD",
            long: &["output", "dump-header", "trace-ascii", "libcurl", "etag-save"],
            // `--cookie` is no abbreviation.
            words: &["--cookie-jar", "--output-dir", "--hsts", "--alt-svc", "--stderr"],
            valued: CURL_VALUED,
        },
    ),
    unknown(&["curl"], Options { short: "K", long: &["config"], valued: CURL_VALUED, ..NONE }),
    saved(
        &["wget"],
        Options {
            short: "OoaP",
            long: &[
                "output-document",
                "output-file",
                "append-output",
                "directory-prefix",
                "save-cookies",
                "rejected-log",
                "warc-file",
                "hsts-file",
            ],
            valued: WGET_VALUED,
            ..NONE
        },
    ),
    unknown(
        &["wget"],
        Options {
            short: "e",
            long: &["use-askpass", "config", "execute"],
            valued: WGET_VALUED,
            ..NONE
        },
    ),
    saved(
        &["aria2c"],
        Options { short: "odl", long: &["out", "dir", "log"], valued: "ijksxTSM", ..NONE },
    ),
    unknown(
        &["aria2c"],
        Options {
            long: &[
                "conf-path",
                "on-download-start",
                "on-download-pause",
                "on-download-stop",
                "on-download-complete",
                "on-download-error",
                "on-bt-download-complete",
            ],
            ..NONE
        },
    ),
    unknown(&["nmap"], Options { long: &["script"], words: &["-sC", "-A"], ..NONE }),
    unknown(&["hg"], Options { long: &["config", "config-file"], ..NONE }),
    unknown(
        &["svn"],
        Options {
            long: &["config-option", "config-dir", "editor-cmd", "diff-cmd", "diff3-cmd"],
            ..NONE
        },
    ),
    unknown(
        &["pandoc"],
        Options {
            short: "FL",
            long: &["filter", "lua-filter", "pdf-engine", "defaults"],
            valued: "frtowTHBAVMDKmcd",
            ..NONE
        },
    ),
    unknown(
        COMPILERS,
        Options {
            short: "B",
            words: &["-wrapper", "-fplugin", "-specs", "--specs"],
            valued: "oDILUlxW",
            ..NONE
        },
    ),
    unknown(
        TEXS,
        Options {
            words: &["-shell-escape", "--shell-escape", "-enable-write18", "--enable-write18"],
            ..NONE
        },
    ),
    unknown(
        &["gpg", "gpg2"],
        Options {
            long: &["photo-viewer", "agent-program", "dirmngr-program", "options", "homedir"],
            ..NONE
        },
    ),
    written(&["find"], Options { words: &["-fprint", "-fprint0", "-fprintf", "-fls"], ..NONE }),
    unknown(
        &["bash", "sh", "dash", "zsh", "ksh"],
        Options { long: &["rcfile", "init-file"], ..NONE },
    ),
];

/// Programs whose arguments can do anything, but are not a shell script.
const OPEN_ENDED: &[&str] = &[
    "gdb",
    "lldb",
    "perf",
    "expect",
    "m4",
    "dc",
    "emacs",
    "gnuplot",
    "tmux",
    "screen",
    "octave",
    "start-stop-daemon",
    "run-parts",
    "vi",
    "vim",
    "view",
    "rvim",
    "rview",
    "vimdiff",
    "gvim",
    "nvim",
    "ex",
    "ed",
    "red",
    "nano",
    "pico",
    "mg",
    "joe",
    "xdg-open",
    "at",
    "batch",
    "capsh",
    "firejail",
    "bwrap",
    "logrotate",
    "crontab",
    "git-shell",
    "sshpass",
    "autossh",
    "make",
    "gmake",
    "ninja",
];

/// Follows the further effects of a program.
pub(super) fn follow(walk: &mut Walk, name: &str, words: &[Word], input: &Input) {
    for program in PROGRAMS.iter().filter(|program| program.names.contains(&name)) {
        for value in program.options.values(words) {
            match (program.value, value) {
                (Value::Script, Some(script)) => walk.runs("sh", &script),
                (Value::Saved, Some(file)) if file.sure && file.text == "-" => {}
                (Value::Written | Value::Saved, Some(file)) => walk.writes(file),
                _ => walk.doubt(UnclearReason::Starts),
            }
        }
    }
    outputs::follow(walk, name, words);
    runners::follow(walk, name, words, input);
    match name {
        name if TARS.contains(&name) => tar(walk, words),
        "zip" if words.iter().any(|word| word.text.starts_with("-TT") && word.text.len() > 3) => {
            walk.doubt(UnclearReason::Starts);
        }
        "less" | "more" | "most" => {
            words.iter().filter(|word| word.text.starts_with('+')).for_each(|word| {
                languages::suspect(walk, &word.text);
            });
        }
        "git" => git::follow(walk, words),
        "ip" => netns(walk, words),
        "su" => {
            // A user, and arguments of the shell.
            let operands = words.iter().filter(|word| !word.text.starts_with('-')).count();
            if operands > 1 {
                walk.doubt(UnclearReason::Script);
            }
        }
        "socat" => {
            let starts = |word: &&Word| {
                let text = word.text.to_lowercase();
                text.contains("exec:") || text.contains("system:") || text.contains("shell:")
            };
            words.iter().filter(starts).for_each(|word| languages::suspect(walk, &word.text));
        }
        "make" | "gmake" | "ninja" => {}
        name if OPEN_ENDED.contains(&name) => {
            let given = words.iter().map(|word| word.text.clone()).chain(input.text.clone());
            let given: Vec<_> = given.collect();
            languages::suspect(walk, &given.join("\n"));
        }
        _ => languages::follow(walk, name, words, input),
    }
}

/// A checkpoint action may be a command. Old-style options have no hyphen.
fn tar(walk: &mut Walk, words: &[Word]) {
    let actions = Options { long: &["checkpoint-action"], ..NONE };
    for action in actions.values(words) {
        match action.as_ref().map(|action| (action.text.strip_prefix("exec="), action.sure)) {
            Some((Some(script), sure)) => {
                walk.runs("sh", &Word { text: script.to_owned(), sure });
            }
            Some((None, true)) => {}
            _ => walk.doubt(UnclearReason::Starts),
        }
    }
    let old_style = words.first().filter(|word| !word.text.starts_with('-'));
    if old_style.is_some_and(|word| word.text.contains(['I', 'F'])) {
        walk.doubt(UnclearReason::Starts);
    }
}

/// `ip netns exec NAME PROGRAM …`
fn netns(walk: &mut Walk, words: &[Word]) {
    if let Some(place) = words.iter().position(|word| "exec".starts_with(&word.text)) {
        walk.doubt(UnclearReason::Starts);
        let rest = words.get(place + 2..).unwrap_or_default().to_vec();
        if !rest.is_empty() {
            walk.command(rest, &Input::default());
        }
    }
}
