//! Which calls a lasting leave covers, and what leave to propose for a call. Pure.
//!
//! A leave is as narrow as the call can be described: the folder of its path, the origin of its
//! address, the program and subcommand of its command. None is proposed that would let a shell or
//! an interpreter run whatever it is given.

use url::Url;

use super::{
    catalog::{Subject, ToolSpec},
    policy,
};
use crate::journal::{
    event::Call,
    session::Session,
    standing::{Covers, Grant},
};

/// A longer one could not be read at a glance before it is given.
const LONGEST: usize = 200;

/// The leave of the session by which that call runs, if there is one.
pub fn covering<'s>(call: &Call, spec: &ToolSpec, session: &'s Session) -> Option<&'s Grant> {
    let subject = policy::subject(spec, &call.arguments);
    let grants = session.standing.grants.iter();
    grants
        .filter(|grant| grant.tool == spec.name)
        .find(|grant| covers(&grant.covers, spec, subject.as_deref()))
}

fn covers(covers: &Covers, spec: &ToolSpec, subject: Option<&str>) -> bool {
    match (covers, subject) {
        (Covers::Everything, _) => spec.subject.is_none(),
        (Covers::Below(folder), Some(path)) => {
            path.strip_prefix(folder.as_str()).is_some_and(|rest| rest.starts_with('/'))
        }
        (Covers::Exactly(text), Some(subject)) => text == subject,
        (Covers::Origin(origin), Some(address)) => origin_of(address).as_ref() == Some(origin),
        (Covers::Command(begin), Some(command)) => {
            words(command).is_some_and(|words| words.starts_with(begin))
        }
        (_, None) => false,
    }
}

/// What "always" would mean for that call; `None` where it must not be offered.
pub fn propose(spec: &ToolSpec, call: &Call) -> Option<Covers> {
    let Some(kind) = &spec.subject else { return Some(Covers::Everything) };
    let subject = policy::subject(spec, &call.arguments)?;
    if subject.len() > LONGEST {
        return None;
    }
    match kind {
        Subject::Path(_) => Some(match subject.rsplit_once('/') {
            Some((folder, _)) => Covers::Below(folder.to_owned()),
            None => Covers::Exactly(subject),
        }),
        Subject::Command(_) => command(&subject),
        Subject::Text(_) => Some(match origin_of(&subject) {
            Some(origin) => Covers::Origin(origin),
            None => Covers::Exactly(subject),
        }),
    }
}

/// Of an address that names no user: who reads `https://bank@evil` reads the wrong host.
fn origin_of(address: &str) -> Option<String> {
    let url = Url::parse(address).ok()?;
    let plain = matches!(url.scheme(), "http" | "https")
        && url.username().is_empty()
        && url.password().is_none();
    plain.then(|| url.origin().ascii_serialization())
}

fn command(text: &str) -> Option<Covers> {
    let words = words(text)?;
    let program = words.first()?;
    if runs_what_it_is_given(program) {
        return None;
    }
    match words.get(1) {
        Some(second) if HAS_SUBCOMMANDS.contains(&program.as_str()) && is_subcommand(second) => {
            Some(Covers::Command(words[..2].to_vec()))
        }
        _ => Some(Covers::Exactly(text.to_owned())),
    }
}

/// The words of a command in which the shell would find nothing to do: no quotes, variables,
/// globs, redirections, second commands.
fn words(command: &str) -> Option<Vec<String>> {
    let plain = |c: char| c.is_ascii_alphanumeric() || " ._/:@,+%=-".contains(c);
    if !command.chars().all(plain) {
        return None;
    }
    let words: Vec<_> = command.split(' ').filter(|w| !w.is_empty()).map(str::to_owned).collect();
    // `NAME=value program` sets a variable for it.
    words.first().is_some_and(|first| !first.contains('=')).then_some(words)
}

/// A word, and none that runs what stands behind it.
fn is_subcommand(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_lowercase())
        && word.chars().all(|c| c.is_ascii_lowercase() || c == '-')
        && !matches!(word, "run" | "exec" | "x" | "eval" | "shell" | "dlx" | "start" | "config")
}

/// Programs whose second word says what they do.
const HAS_SUBCOMMANDS: &[&str] = &[
    "apt",
    "apt-get",
    "brew",
    "bundle",
    "cargo",
    "docker",
    "gh",
    "git",
    "go",
    "helm",
    "journalctl",
    "kubectl",
    "npm",
    "pip",
    "pnpm",
    "podman",
    "systemctl",
    "terraform",
    "uv",
    "yarn",
];

/// Shells, interpreters, and programs that start others: their name says nothing of what happens.
const RUN_ANYTHING: &[&str] = &[
    "ash",
    "at",
    "awk",
    "bash",
    "batch",
    "bun",
    "busybox",
    "cmd",
    "cron",
    "crontab",
    "csh",
    "dash",
    "deno",
    "doas",
    "ed",
    "emacs",
    "env",
    "eval",
    "ex",
    "exec",
    "expect",
    "find",
    "fish",
    "gawk",
    "gdb",
    "groovy",
    "iex",
    "java",
    "jshell",
    "julia",
    "ksh",
    "less",
    "lua",
    "luajit",
    "make",
    "mawk",
    "more",
    "nice",
    "node",
    "nohup",
    "npx",
    "nsenter",
    "octave",
    "osascript",
    "parallel",
    "perl",
    "php",
    "pkexec",
    "powershell",
    "pwsh",
    "pypy",
    "python",
    "r",
    "rlwrap",
    "rscript",
    "ruby",
    "script",
    "sed",
    "setsid",
    "sh",
    "source",
    "ssh",
    "stdbuf",
    "strace",
    "su",
    "sudo",
    "taskset",
    "tclsh",
    "time",
    "timeout",
    "toybox",
    "ts-node",
    "tsx",
    "unshare",
    "uvx",
    "vi",
    "vim",
    "watch",
    "xargs",
    "zsh",
];

fn runs_what_it_is_given(program: &str) -> bool {
    let name = program.rsplit('/').next().unwrap_or(program).to_lowercase();
    let name = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-');
    let name = name.strip_suffix(".exe").unwrap_or(name);
    name.is_empty() || RUN_ANYTHING.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::{
        event::Speaker,
        ids::GrantId,
        standing::{Scope, Standing},
    };
    use chrono::DateTime;
    use serde_json::{Value, json};

    fn spec(subject: Option<Subject>) -> ToolSpec {
        ToolSpec { subject, ..ToolSpec::read_only("tool", "Does", json!({ "type": "object" })) }
    }

    fn call(arguments: Value) -> Call {
        Call { id: "c".into(), model_id: "m".into(), tool: "tool".into(), arguments }
    }

    fn path(path: &str) -> (ToolSpec, Call) {
        (spec(Some(Subject::Path("path"))), call(json!({ "path": path })))
    }

    fn shell(command: &str) -> (ToolSpec, Call) {
        (spec(Some(Subject::Command("command"))), call(json!({ "command": command })))
    }

    fn address(url: &str) -> (ToolSpec, Call) {
        (spec(Some(Subject::Text("url"))), call(json!({ "url": url })))
    }

    /// A11: what is proposed is as narrow as the call can be described.
    #[test]
    fn a_leave_is_proposed_from_the_call() {
        let command =
            |words: &[&str]| Some(Covers::Command(words.iter().map(|&w| w.to_owned()).collect()));
        for ((spec, call), expected) in [
            (path("notes/2026/a.md"), Some(Covers::Below("notes/2026".into()))),
            (path("./a.md"), Some(Covers::Exactly("a.md".into()))),
            (path("../a.md"), None),
            (
                address("https://example.com/a?b"),
                Some(Covers::Origin("https://example.com".into())),
            ),
            (address("not an address"), Some(Covers::Exactly("not an address".into()))),
            (shell("git push origin main"), command(&["git", "push"])),
            (shell("ls -la"), Some(Covers::Exactly("ls -la".into()))),
            (
                shell("git -c core.pager=x log"),
                Some(Covers::Exactly("git -c core.pager=x log".into())),
            ),
            (shell("docker run alpine"), Some(Covers::Exactly("docker run alpine".into()))),
            (shell(&format!("ls {}", "x".repeat(300))), None),
            ((spec(None), call(json!({ "any": 1 }))), Some(Covers::Everything)),
        ] {
            assert_eq!(propose(&spec, &call), expected, "{call:?}");
        }
    }

    /// S3: no lasting leave for what runs whatever it is given.
    #[test]
    fn no_leave_is_proposed_for_interpreters_and_shells() {
        for command in [
            "bash",
            "sh -c ls",
            "/bin/bash x",
            "python3.12 a.py",
            "python a.py",
            "sudo ls",
            "env ls",
            "xargs rm",
            "find . -delete",
            "node a.js",
            "perl a.pl",
            "ssh host ls",
            "awk a b",
            "PYTHON3 a.py",
            "cmd.exe dir",
            "X=1 git push",
            "git push; ls",
            "echo $(ls)",
            "ls | wc",
            "git log `ls`",
            "a && b",
            "ls > x",
            "",
        ] {
            let (spec, call) = shell(command);
            assert_eq!(propose(&spec, &call), None, "{command}");
        }
    }

    fn covered(covers: Covers, (spec, call): (ToolSpec, Call)) -> bool {
        let grant = Grant {
            id: GrantId::new(),
            tool: "tool".into(),
            covers,
            scope: Scope::Person,
            owner: String::new(),
            given_by: Speaker { id: "1".into(), name: "Ann".into() },
            expires_at: DateTime::UNIX_EPOCH,
            uses_left: None,
        };
        let standing = Standing { halted: false, grants: vec![grant] };
        let session = Session { standing, ..Session::default() };
        covering(&call, &spec, &session).is_some()
    }

    #[test]
    fn a_leave_covers_what_was_shown_and_nothing_beside_it() {
        let below = || Covers::Below("notes".into());
        assert!(covered(below(), path("notes/b.md")));
        assert!(covered(below(), path("./notes//deep/b.md")));
        for outside in ["notes2/b.md", "notes", "notes/../secret", "/notes/b", "a/notes/b"] {
            assert!(!covered(below(), path(outside)), "{outside}");
        }
        let origin = || Covers::Origin("https://example.com".into());
        assert!(covered(origin(), address("https://EXAMPLE.com/other")));
        for outside in [
            "https://example.com.evil.net/",
            "http://example.com/",
            "https://example.com:8443/",
            "https://example.com@evil.net/",
            "https://user@example.com/",
            "example.com",
        ] {
            assert!(!covered(origin(), address(outside)), "{outside}");
        }
        let push = || Covers::Command(vec!["git".into(), "push".into()]);
        assert!(covered(push(), shell("git  push origin main")));
        for outside in ["git pull", "git push; rm -rf x", "git", "git pushx", "git push $(id)"] {
            assert!(!covered(push(), shell(outside)), "{outside}");
        }
        assert!(covered(Covers::Everything, (spec(None), call(json!({})))));
        // A tool that has learned to say what it acts upon is asked about again.
        assert!(!covered(Covers::Everything, path("a")));
        assert!(!covered(Covers::Exactly("a".into()), (spec(None), call(json!({})))));
    }
}
