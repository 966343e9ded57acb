//! Runs every documented command of the program, each in a copy of the same prepared folder.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use super::{commands, pages, root};

/// Commands that wait for people or events, or need a service of somebody else. Other tests run
/// them against fakes.
const NOT_HERE: &[&str] = &[
    "serve",
    "init",
    "chat",
    "mcp login",
    "doctor --live",
    "logs --follow",
    "skill install https://",
];

/// Commands about things that exist only while a gateway runs or after it ran, and their errors.
const FAILING: &[(&str, &str)] = &[
    ("mcp trust files", "there is no such tool of `files`"),
    ("wasm trust weather", "there is no component `weather`"),
    ("audit verify --seal", "there is no seal 3f7a9c0d"),
];

/// The commands that have to be run before the one that begins with these words.
const BEFORE: &[(&str, &[&str])] = &[
    ("guard remove", &["guard import rules.toml"]),
    ("restore", &["backup /srv/backup/countersign.tar"]),
    ("skill scan edit-docx", &["skill install examples/skills/edit-docx"]),
    ("skill trust edit-docx", &["skill install examples/skills/edit-docx"]),
    ("skill remove edit-docx", &["skill install examples/skills/edit-docx"]),
    ("skill trust letters", &["skill install ./letters"]),
    ("skill remove letters", &["skill install ./letters"]),
    ("token revoke ci", &["token --api ci --role viewer"]),
    ("extract report.pdf", &["render report.md --to pdf"]),
    ("extract --password-env", &["render sales.csv -o report.xlsx"]),
];

const CONFIG: &str = r#"
[admin]
listen = "127.0.0.1:0"

[[channels]]
id = "telegram"
kind = "telegram"
token = { env = "TELEGRAM_BOT_TOKEN" }
"#;

const RULES: &str = r#"
[[rules]]
name = "look around"
tool = "shell"
command = ["ls"]
action = "allow"
"#;

const RULES_OF_MATECLAW: &str = r"
mateclaw:
  tool:
    guard:
      rules:
        - tool: WriteFileTool
          action: require_approval
";

fn prepare(folder: &Path) {
    let write = |name: &str, text: &str| {
        let file = folder.join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    };
    write("countersign.toml", CONFIG);
    write("report.md", "# Report\n\nText.\n");
    write("sales.csv", "region,units\nNorth,1\n");
    write("rules.toml", RULES);
    write("rules.yaml", RULES_OF_MATECLAW);
    write("letters/SKILL.md", "---\nname: letters\ndescription: Writes letters.\n---\nBe brief.\n");
    write("var/log/countersign.log", "");
    for name in ["srv/backup", "etc", "usr/local/share/man"] {
        fs::create_dir_all(folder.join(name)).unwrap();
    }
    run(folder, "migrate").unwrap();
}

/// Paths of the system are below `folder`, and examples are in this repository.
fn run(folder: &Path, command: &str) -> Result<String, String> {
    run_words(folder, &command.split(' ').map(str::to_owned).collect::<Vec<_>>())
}

fn run_words(folder: &Path, words: &[String]) -> Result<String, String> {
    let words = words.iter().map(|word| match word {
        word if word.starts_with('/') => PathBuf::from(format!("{}{word}", folder.display())),
        word if word.starts_with("examples/") => root().join(word),
        word => word.into(),
    });
    let ran = Command::new(env!("CARGO_BIN_EXE_countersign"))
        .args(words)
        .current_dir(folder)
        .env_clear()
        .envs([("TELEGRAM_BOT_TOKEN", "1:a"), ("REPORT_PASSWORD", "secret")])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    if ran.status.success() { Ok(text(&ran.stdout)) } else { Err(text(&ran.stderr)) }
}

fn copy(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            fs::create_dir_all(&target).unwrap();
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// The arguments of the documented commands of the program, without those of [`NOT_HERE`].
fn documented() -> BTreeSet<Vec<String>> {
    let mut all = BTreeSet::new();
    for (_, page) in pages() {
        for (_, text) in page.blocks.iter().filter(|(language, _)| language == "sh") {
            let own = commands(text).into_iter().filter(|command| command[0] == "countersign");
            all.extend(own.map(|command| command[1..].to_vec()));
        }
    }
    for other in NOT_HERE {
        let is_this = |words: &Vec<String>| words.join(" ").starts_with(other);
        assert!(all.iter().any(is_this), "`{other}` is not documented");
    }
    all.retain(|words| {
        let line = words.join(" ");
        // Without a command it is `serve`.
        let is_named = words.first().is_some_and(|word| !word.starts_with('-'));
        is_named && !NOT_HERE.iter().any(|other| line.starts_with(other))
    });
    all
}

#[test]
fn every_documented_command_runs() {
    let prepared = tempfile::tempdir().unwrap();
    prepare(prepared.path());
    let all = documented();
    assert!(all.len() > 50, "only {} commands were found", all.len());
    let lines: Vec<_> = all.iter().map(|words| words.join(" ")).collect();
    for start in FAILING.iter().map(|(of, _)| of).chain(BEFORE.iter().map(|(of, _)| of)) {
        assert!(lines.iter().any(|line| line.starts_with(start)), "`{start}` is not documented");
    }
    let mut problems = Vec::new();
    for words in all {
        let line = words.join(" ");
        let folder = tempfile::tempdir().unwrap();
        copy(prepared.path(), folder.path());
        for before in BEFORE.iter().filter(|(of, _)| line.starts_with(of)).flat_map(|(_, b)| *b) {
            run(folder.path(), before).unwrap_or_else(|error| panic!("{before}: {error}"));
        }
        if line.starts_with("restore") {
            fs::remove_dir_all(folder.path().join("data")).unwrap();
        }
        let expected = FAILING.iter().find(|(of, _)| line.starts_with(of));
        match (run_words(folder.path(), &words), expected) {
            (Ok(_), None) => {}
            (Err(error), Some((_, part))) if error.contains(part) => {}
            (other, _) => problems.push(format!("{line}: {other:?}")),
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}
