//! The guard's analysis of shell commands, compared with what real shells start: every program was
//! recognised, or the line is marked as unclear. Otherwise permissions could be exceeded.

use countersign::testing::agent::shell::{self, Command, Script, Word};
use proptest::{
    prelude::*,
    strategy::ValueTree as _,
    test_runner::{Config, RngAlgorithm, TestRng, TestRunner},
};
use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process,
};

/// The number of clear commands that are tested, and of all lines.
const LINES: usize = 300;
const MAX_LINES: usize = 10_000;

/// Programs that log how they were started; some also run their real counterpart.
const PROGRAMS: [(&str, &str); 13] = [
    ("a", "echo c"),
    ("b", "echo 'c x'; exit 1"),
    ("c", ""),
    ("d", "cat=$(</dev/stdin); echo \"$cat\""),
    ("rm", ""),
    ("env", "exec /usr/bin/env \"$@\""),
    ("xargs", "exec /usr/bin/xargs \"$@\""),
    ("timeout", "exec /usr/bin/timeout \"$@\""),
    ("nice", "exec /usr/bin/nice \"$@\""),
    ("find", "exec /usr/bin/find \"$@\""),
    ("sh", "exec /bin/sh \"$@\""),
    ("bash", "exec /bin/bash \"$@\""),
    ("base64", "exec /usr/bin/base64 \"$@\""),
];

struct Range {
    folder: tempfile::TempDir,
}

impl Range {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("bin")).unwrap();
        let log = folder.path().join("log");
        for (name, does) in PROGRAMS {
            // Written at once, since others write at the same time.
            let script = format!(
                "#!/bin/bash -p\nwords=$(printf '%s\\x1f' {name} \"$@\")\n\
                 printf '%s\\x1e' \"$words\" >> {log}\n{does}\n",
                log = log.display()
            );
            let path = folder.path().join("bin").join(name);
            fs::write(&path, script).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        }
        Self { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The programs that the shell starts, with their arguments.
    fn starts(&self, shell: &str, line: &str) -> Vec<Vec<String>> {
        let (work, log) = (self.path("work"), self.path("log"));
        for gone in [&work, &log] {
            let _ = fs::remove_dir_all(gone).or_else(|_| fs::remove_file(gone));
        }
        fs::create_dir(&work).unwrap();
        fs::write(work.join("p.x"), "a\n").unwrap();
        let ended = process::Command::new("/usr/bin/timeout")
            .args(["-k", "1", "10", shell, "-c", line])
            .env_clear()
            .env("PATH", self.path("bin"))
            .env("HOME", &work)
            .current_dir(&work)
            .stdin(process::Stdio::null())
            .output()
            .unwrap();
        assert_ne!(ended.status.code(), Some(124), "{line}: does not end");
        read(&log)
    }
}

fn read(log: &Path) -> Vec<Vec<String>> {
    let log = fs::read(log).unwrap_or_default();
    let log = String::from_utf8_lossy(&log).into_owned();
    let words = |start: &str| {
        let mut words: Vec<_> = start.split('\x1f').map(str::to_owned).collect();
        words.pop();
        words
    };
    log.split('\x1e').filter(|start| !start.is_empty()).map(words).collect()
}

/// Whether the words match, word by word: a guess may match any number of words, and a shell knows
/// its home and the existing files.
fn covers(words: &[Word], started: &[String]) -> bool {
    let Some((word, rest)) = words.split_first() else { return started.is_empty() };
    if !word.sure {
        return (0..=started.len()).any(|taken| covers(rest, &started[taken..]));
    }
    started.split_first().is_some_and(|(first, others)| {
        let same = match word.text.as_str() {
            "~" => first.starts_with('/'),
            "p?x" => first == "p.x",
            text => first == text,
        };
        same && covers(rest, others)
    })
}

fn is_seen(script: &Script, started: &[String]) -> bool {
    let mut commands = script.commands.iter();
    script.unclear.is_some() || commands.any(|command| covers(&command.words, started))
}

/// The same by the program's name alone.
fn is_named(script: &Script, started: &[String]) -> bool {
    let mut commands = script.commands.iter();
    script.unclear.is_some()
        || commands
            .any(|command| command.words.get(..1).is_some_and(|name| covers(name, &started[..1])))
}

/// Whether a shell without braces, `$"…"` and bash's escapes in `echo` reads some of that line as
/// other words of the same programs; /bin/sh may be one.
fn is_of_bash(shell: &str, line: &str) -> bool {
    let has_sh = shell == "/bin/sh"
        || ["sh -c", "| sh", "sh <<"].iter().any(|call| {
            line.match_indices(call)
                .any(|(at, _)| call.starts_with('|') || !line[..at].ends_with("ba"))
        });
    has_sh && ["{", "$\"", "\\"].iter().any(|sign| line.contains(sign))
}

fn word() -> impl Strategy<Value = String> {
    let plain = [
        "x",
        "-c",
        "--",
        "'x y'",
        "\"x $V\"",
        "$V",
        "${V:-b}",
        "$(b c)",
        "`b`",
        "\"$(a)\"",
        "{p,q}",
        "\\x",
        "$'\\x62'",
        "*.x",
        "~",
        "r''m",
        "\"\"",
        "$((1+1))",
        "${V#x}",
        "\"$@\"",
        "#x",
        "$(echo rm)",
        "x\\\ny",
        "'$(a)'",
        "$IFS",
        "2>&1",
        ">out",
        "</dev/null",
        "é",
        "-exec",
        "--foo=$(c)",
        "$#",
        "!",
        "[x]",
        "p?x",
        "a=b",
        "'a\"b'",
        "\"a'b\"",
        "\\$V",
        "\"\\$(a)\"",
        "$\"x\"",
    ];
    prop::sample::select(plain.to_vec()).prop_map(str::to_owned)
}

fn simple() -> impl Strategy<Value = String> {
    let names =
        ["a", "b", "c", "d", "'a'", "\"b\"", "\\c", "$'\\x61'", "a\"\"", "r''m", "$V", "{a,x}"];
    let wraps = [
        "",
        "",
        "",
        "",
        "! ",
        "V=b ",
        "V=b; $V ",
        "env ",
        "env V=1 ",
        "timeout 5 ",
        "nice -n 1 ",
        "command ",
        "exec ",
        "env -i PATH=\"$PATH\" ",
        "nice timeout 5 env ",
        "time ",
    ];
    let names = prop::sample::select(names.to_vec());
    let wraps = prop::sample::select(wraps.to_vec());
    (wraps, names, prop::collection::vec(word(), 0..4)).prop_map(|(wrap, name, words)| {
        format!("{wrap}{name} {}", words.join(" ")).trim().to_owned()
    })
}

/// Within single quotes.
fn quoted(line: &str) -> String {
    format!("'{}'", line.replace('\'', "'\\''"))
}

fn line() -> impl Strategy<Value = String> {
    simple().prop_recursive(3, 12, 2, |inner| {
        let joined = ["; ", " && ", " || ", " | ", "\n", " & "];
        let two = (inner.clone(), prop::sample::select(joined.to_vec()), inner.clone());
        let around = prop::sample::select((0..16_usize).collect::<Vec<_>>());
        prop_oneof![
            two.prop_map(|(one, by, other)| format!("{one}{by}{other}")),
            (around, inner).prop_map(|(how, line)| wrapped(how, &line)),
        ]
    })
}

fn wrapped(how: usize, line: &str) -> String {
    match how {
        0 => format!("( {line}\n)"),
        1 => format!("{{ {line}\n}}"),
        2 => format!("if true; then {line}\nfi"),
        3 => format!("for v in p q; do {line}\ndone"),
        4 => format!("case x in x) {line}\n;; esac"),
        5 => format!("f() {{ {line}\n}}; f"),
        6 => format!("sh -c {}", quoted(line)),
        7 => format!("bash -c {}", quoted(line)),
        8 => format!("eval {}", quoted(line)),
        9 => format!("sh <<'X'\n{line}\nX"),
        10 => format!("echo {} | sh", quoted(line)),
        11 => "printf 'x y\\n' | xargs a".to_owned(),
        12 => "find . -maxdepth 1 -name 'p*' -exec a {} \\;".to_owned(),
        13 => format!("x=$({line}\n)"),
        14 => format!("trap {} EXIT", quoted(line)),
        _ => format!("until {line}\ndo break; done"),
    }
}

/// Over hundreds of lines, in two shells.
/// Proves S3, S7, MC-24.
#[test]
fn no_program_starts_that_the_guard_has_not_seen() {
    let range = Range::new();
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let (mut clear, mut started, mut unseen) = (0, 0, Vec::new());
    for _ in 0..MAX_LINES {
        if clear == LINES {
            break;
        }
        let line = line().new_tree(&mut runner).unwrap().current();
        let script = shell::parse(&line);
        if script.unclear.is_some() {
            continue;
        }
        clear += 1;
        for shell in ["/bin/bash", "/bin/sh"] {
            let starts = range.starts(shell, &line);
            started += starts.len();
            let is_seen = if is_of_bash(shell, &line) { is_named } else { is_seen };
            let missed = starts.into_iter().filter(|start| !is_seen(&script, start));
            unseen.extend(missed.map(|start| {
                format!(
                    "{shell}: {line:?} starts {start:?}, seen as {:?}",
                    script.commands.iter().map(Command::text).collect::<Vec<_>>()
                )
            }));
        }
    }
    assert!(unseen.is_empty(), "{} unseen:\n{}", unseen.len(), unseen.join("\n"));
    assert!(
        clear == LINES && started >= 500,
        "{clear} lines were clear, {started} programs started"
    );
}

/// A gap is detected by this comparison.
#[test]
fn a_program_that_was_overlooked_is_found_out() {
    let range = Range::new();
    let starts = range.starts("/bin/bash", "a x; rm -rf y");
    assert_eq!(starts, [vec!["a", "x"], vec!["rm", "-rf", "y"]]);
    let overlooked = shell::parse("a x");
    assert!(is_seen(&overlooked, &starts[0]) && !is_seen(&overlooked, &starts[1]));
    assert!(!is_seen(&shell::parse("a x; rm y"), &starts[1]), "its arguments count too");
}
