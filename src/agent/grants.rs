//! Which calls a grant covers, and which grant to propose for a call. Pure.
//!
//! A proposed grant is as narrow as the call can be described: the folder of its path, the origin
//! of its URL, or the command itself. For a read-only command (`git status`) it covers the program,
//! the subcommand and its options, with any operands. No grant is proposed that would allow
//! arbitrary code, such as one for a shell, an interpreter, or a script or build of the workspace.

use url::Url;

use super::{
    catalog::{EffectClass, Subject, ToolSpec},
    named_files::NamedFiles,
    policy, shell,
};
use crate::journal::{
    event::Call,
    grant::{Grant, GrantSubject},
};

/// A longer subject could not be reviewed at a glance.
const LONGEST: usize = 200;

/// The grant that covers this call, if there is one.
pub fn covering<'g>(call: &Call, spec: &ToolSpec, grants: &'g [Grant]) -> Option<&'g Grant> {
    let subject = policy::subject(spec, &call.arguments);
    grants
        .iter()
        .filter(|grant| grant.tool == spec.name)
        .find(|grant| covers(&grant.covers, spec, subject.as_deref()))
}

fn covers(covers: &GrantSubject, spec: &ToolSpec, subject: Option<&str>) -> bool {
    match (covers, subject) {
        (GrantSubject::Everything, _) => spec.subject.is_none(),
        (GrantSubject::Below(folder), Some(path)) => {
            path.strip_prefix(folder.as_str()).is_some_and(|rest| rest.starts_with('/'))
        }
        (GrantSubject::Exactly(text), Some(subject)) => text == subject,
        (GrantSubject::Origin(origin), Some(address)) => {
            origin_of(address).as_ref() == Some(origin)
        }
        (GrantSubject::Command(begin), Some(command)) => {
            words(command).is_some_and(|words| is_like(&words, begin))
        }
        (_, None) => false,
    }
}

/// What "always" would cover for this call. `None` if it must not be offered.
pub fn propose(spec: &ToolSpec, call: &Call) -> Option<GrantSubject> {
    let Some(kind) = &spec.subject else {
        return (!runs_anything(spec)).then_some(GrantSubject::Everything);
    };
    if runs_anything(spec) && !matches!(kind, Subject::Command(_)) {
        return None;
    }
    let subject = policy::subject(spec, &call.arguments)?;
    if subject.len() > LONGEST {
        return None;
    }
    match kind {
        Subject::Path(_) => Some(match subject.rsplit_once('/') {
            Some((folder, _)) => GrantSubject::Below(folder.to_owned()),
            None => GrantSubject::Exactly(subject),
        }),
        Subject::Command(_) => command(&subject),
        Subject::Text(_) => Some(match origin_of(&subject) {
            Some(origin) => GrantSubject::Origin(origin),
            None => GrantSubject::Exactly(subject),
        }),
    }
}

/// The origin of a URL. `None` if it has a user name, because `https://bank@evil` is easily
/// misread.
fn origin_of(address: &str) -> Option<String> {
    let url = Url::parse(address).ok()?;
    let plain = matches!(url.scheme(), "http" | "https")
        && url.username().is_empty()
        && url.password().is_none();
    plain.then(|| url.origin().ascii_serialization())
}

/// Whether the tool runs arbitrary code, so that its name alone does not show what a call does.
pub fn runs_anything(spec: &ToolSpec) -> bool {
    const CODE_ARGUMENTS: &[&str] =
        &["cmd", "code", "command", "expression", "query", "script", "sql"];
    match &spec.subject {
        Some(Subject::Command(_)) => true,
        // The URL of a request does not show what is sent there.
        Some(Subject::Text(_)) => spec.effect != EffectClass::ReadOnly,
        Some(Subject::Path(_)) => false,
        None => spec.parameters["properties"].as_object().is_some_and(|arguments| {
            arguments.keys().any(|name| CODE_ARGUMENTS.contains(&name.to_lowercase().as_str()))
        }),
    }
}

fn command(text: &str) -> Option<GrantSubject> {
    let words = words(text)?;
    let program = words.first()?;
    let script = shell::parse(text);
    if script.unclear.is_some() {
        return None;
    }
    let is_file = |name: Option<&str>| matches!(name, Some(">" | "<"));
    let starts = script.commands.iter().filter(|command| !is_file(command.name())).count();
    let looks =
        READ_ONLY_SUBCOMMANDS.iter().find(|(name, _)| name == program).map(|(_, looks)| *looks);
    match (looks, words.get(1)) {
        (Some(looks), Some(second))
            if looks.contains(&second.as_str()) && script.commands.len() == 1 =>
        {
            let options = words[2..].iter().filter(|word| word.starts_with('-'));
            Some(GrantSubject::Command(words[..2].iter().chain(options).cloned().collect()))
        }
        (Some(_), _) => None,
        (None, _) if starts != 1 || runs_what_it_is_given(program) => None,
        (None, _) if runs_files(program, text) => None,
        (None, _) => Some(GrantSubject::Exactly(text.to_owned())),
    }
}

/// The same program and subcommand with no other options, since an option may name a program to
/// run.
fn is_like(words: &[String], begin: &[String]) -> bool {
    let (named, options) = begin.split_at(begin.len().min(2));
    words.strip_prefix(named).is_some_and(|rest| {
        rest.iter().all(|word| !word.starts_with('-') || options.contains(word))
    })
}

/// The words of a command. `None` if it has any shell syntax: quotes, variables, globs,
/// redirections or further commands.
fn words(command: &str) -> Option<Vec<String>> {
    let plain = |c: char| c.is_ascii_alphanumeric() || " ._/:@,+%=-".contains(c);
    if !command.chars().all(plain) {
        return None;
    }
    let words: Vec<_> = command.split(' ').filter(|w| !w.is_empty()).map(str::to_owned).collect();
    // `NAME=value program` sets a variable for the program.
    words.first().is_some_and(|first| !first.contains('=')).then_some(words)
}

/// Programs whose second word is a subcommand, with their read-only subcommands. Other subcommands
/// run files of the workspace, or have effects that their operands do not show.
const READ_ONLY_SUBCOMMANDS: &[(&str, &[&str])] = &[
    ("apt", &["list", "search", "show"]),
    ("brew", &["info", "list", "search"]),
    ("bundle", &[]),
    ("cargo", &["search", "tree"]),
    ("docker", &["images", "inspect", "logs", "ps"]),
    ("gh", &[]),
    ("git", &["blame", "describe", "diff", "log", "ls-files", "rev-parse", "show", "status"]),
    ("go", &["version"]),
    ("helm", &["list", "status"]),
    ("kubectl", &["describe", "get", "logs", "top"]),
    ("npm", &["ls", "outdated", "view"]),
    ("pip", &["freeze", "list", "show"]),
    ("pnpm", &["list", "outdated"]),
    ("podman", &["images", "inspect", "logs", "ps"]),
    ("systemctl", &["list-units", "status"]),
    ("terraform", &["version"]),
    ("uv", &[]),
    ("yarn", &["info", "list"]),
];

/// Shells, interpreters and programs that start other programs.
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

/// Whether the program runs files of the workspace, which can change after the grant was given.
fn runs_files(program: &str, command: &str) -> bool {
    let files = NamedFiles::of_line(command);
    shell::is_interpreter(program) || files.everything || !files.scripts.is_empty()
}

fn runs_what_it_is_given(program: &str) -> bool {
    // The file at that path can be replaced.
    if program.contains('/') {
        return true;
    }
    let name = program.to_lowercase();
    let name = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-');
    let name = name.strip_suffix(".exe").unwrap_or(name);
    name.is_empty() || RUN_ANYTHING.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::{event::Speaker, grant::Scope, ids::GrantId};
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

    /// A proposed grant is as narrow as the call can be described.
    /// Proves A11.
    #[test]
    fn a_grant_is_proposed_from_the_call() {
        let command = |words: &[&str]| {
            Some(GrantSubject::Command(words.iter().map(|&w| w.to_owned()).collect()))
        };
        for ((spec, call), expected) in [
            (path("notes/2026/a.md"), Some(GrantSubject::Below("notes/2026".into()))),
            (path("./a.md"), Some(GrantSubject::Exactly("a.md".into()))),
            (path("../a.md"), None),
            (
                address("https://example.com/a?b"),
                Some(GrantSubject::Origin("https://example.com".into())),
            ),
            (address("not an address"), Some(GrantSubject::Exactly("not an address".into()))),
            (shell("git status"), command(&["git", "status"])),
            (shell("git log --oneline a.txt"), command(&["git", "log", "--oneline"])),
            (shell("ls -la"), Some(GrantSubject::Exactly("ls -la".into()))),
            (shell("sort -o a b"), Some(GrantSubject::Exactly("sort -o a b".into()))),
            (shell(&format!("ls {}", "x".repeat(300))), None),
            ((spec(None), call(json!({ "any": 1 }))), Some(GrantSubject::Everything)),
        ] {
            assert_eq!(propose(&spec, &call), expected, "{call:?}");
        }
    }

    /// No grant is proposed for programs that run arbitrary code.
    /// Proves S3, A11.
    #[test]
    fn no_grant_is_proposed_for_interpreters_and_shells() {
        for command in [
            "./build.sh",
            "bin/ls",
            "make",
            "cargo build",
            "npm test",
            "git",
            "git push origin main",
            "git -c core.pager=x log",
            "git submodule foreach x",
            "docker run alpine",
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
            "mksh build.sh",
            "tcsh build.sh",
            "guile a.scm",
            "psql a",
            "pytest",
            "ninja",
            "gmake",
            "gradle build",
            "nano a",
            "flock lock make",
            "ionice sh a.sh",
            "chrt 1 a",
            "git log --output a",
            "git diff --ext-diff",
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

    /// A server's tool that runs arbitrary code is treated like a shell.
    /// Proves S3.
    #[test]
    fn no_grant_is_proposed_for_tools_that_run_what_they_are_given() {
        for argument in ["command", "code", "SQL"] {
            let parameters = json!({ "type": "object", "properties": { argument: {} } });
            let spec = ToolSpec { parameters, ..spec(None) };
            assert_eq!(propose(&spec, &call(json!({}))), None, "{argument}");
        }
        // A grant given for a GET would also cover a DELETE.
        let (spec, call) = address("https://example.com/");
        let spec = ToolSpec { effect: EffectClass::AtMostOnce, ..spec };
        assert!(runs_anything(&spec) && propose(&spec, &call).is_none());
    }

    fn covered(covers: GrantSubject, call: (ToolSpec, Call)) -> bool {
        covered_by("tool", covers, call)
    }

    fn covered_by(tool: &str, covers: GrantSubject, (spec, call): (ToolSpec, Call)) -> bool {
        let grant = Grant {
            id: GrantId::new(),
            tool: tool.into(),
            covers,
            scope: Scope::Person,
            owner: String::new(),
            given_by: Speaker { id: "1".into(), name: "Ann".into() },
            expires_at: DateTime::UNIX_EPOCH,
            uses_left: None,
        };
        covering(&call, &spec, &[grant]).is_some()
    }

    #[test]
    fn a_grant_covers_what_was_shown_and_nothing_else() {
        let below = || GrantSubject::Below("notes".into());
        assert!(covered(below(), path("notes/b.md")));
        assert!(covered(below(), path("./notes//deep/b.md")));
        for outside in ["notes2/b.md", "notes", "notes/../secret", "/notes/b", "a/notes/b"] {
            assert!(!covered(below(), path(outside)), "{outside}");
        }
        let origin = || GrantSubject::Origin("https://example.com".into());
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
        let log = || GrantSubject::Command(vec!["git".into(), "log".into(), "--oneline".into()]);
        assert!(covered(log(), shell("git  log a.txt --oneline")));
        assert!(covered(log(), shell("git log")));
        for outside in [
            "git pull",
            "git log; rm -rf x",
            "git",
            "git logx",
            "git log $(id)",
            "git log --output=x",
            "git log --oneline -p",
        ] {
            assert!(!covered(log(), shell(outside)), "{outside}");
        }
        assert!(covered(GrantSubject::Everything, (spec(None), call(json!({})))));
        // If a tool declares a subject later, its calls require approval again.
        assert!(!covered(GrantSubject::Everything, path("a")));
        assert!(!covered(GrantSubject::Exactly("a".into()), (spec(None), call(json!({})))));
        assert!(covered_by("tool", below(), path("notes/b.md")));
        assert!(!covered_by("another", below(), path("notes/b.md")));
    }
}
