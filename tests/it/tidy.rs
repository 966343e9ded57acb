//! The project's rules that neither the compiler nor a linter checks.

use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// The layers of the program. A folder may use the folders before it.
const ORDER: &[&str] = &[
    "clock",
    "crash",
    "tls",
    "encryption",
    "journal",
    "texts",
    "agent",
    "store",
    "llm",
    "tools",
    "gateway",
    "worker",
    "admin",
    "config",
    "telemetry",
    "app",
    "cli",
];

/// Exceptions from the order: user, used folder, reason.
const EXCEPTIONS: &[(&str, &str, &str)] = &[];

/// Names defined by other crates: file, item, owner.
const FOREIGN: &[(&str, &str, &str)] =
    &[("src/tools/mcp/client_handler.rs", "fn get_info", "rmcp's trait")];

const LONGEST_FILE: usize = 400;

/// Words that are neither plain English nor defined in `docs/development/glossary.md`.
const BANNED_WORDS: &[&str] = &[
    "anew",
    "for ever",
    "gave way",
    "gives way",
    "hither",
    "lapsed",
    "lapses",
    "likewise",
    "other people's words",
    "so many",
    "stood",
    "thereof",
    "turned away",
    "whence",
    "whoever",
    "whomever",
    "wished",
];

/// Banned in comments only, because they may occur in data.
const BANNED_IN_COMMENTS: &[&str] =
    &["desk", "house", "scene", "shelf", "tongue", "walls", "wish", "wishes"];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Every Rust file of the program, by its path from the root.
fn sources() -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for folder in ["src", "channels/src", "renderers/src"] {
        collect(&root().join(folder), &mut found);
    }
    found
}

fn collect(folder: &Path, found: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, found);
        } else if path.extension().is_some_and(|e| e == "rs") {
            let name = path.strip_prefix(root()).unwrap().to_string_lossy().into_owned();
            found.insert(name, fs::read_to_string(&path).unwrap());
        }
    }
}

/// The file without its unit tests.
fn program(text: &str) -> &str {
    text.split("\n#[cfg(test)]").next().unwrap_or(text)
}

fn is_test(name: &str) -> bool {
    name.ends_with("tests.rs") || name.ends_with("testing.rs")
}

#[test]
fn a_file_says_what_lives_in_it_and_is_not_long() {
    for (name, text) in sources() {
        assert!(text.starts_with("//! "), "{name} does not begin with a sentence");
        let lines = program(&text).lines().count();
        assert!(is_test(&name) || lines <= LONGEST_FILE, "{name} has {lines} lines");
    }
}

#[test]
fn the_tree_is_two_folders_deep() {
    for name in sources().keys() {
        let below = name.split_once("src/").unwrap().1;
        assert!(below.matches('/').count() <= 2, "{name} lies too deep");
    }
}

#[test]
fn dependencies_run_one_way() {
    let place = |folder: &str| ORDER.iter().position(|known| *known == folder);
    for (name, text) in sources() {
        let Some(folder) = name.strip_prefix("src/").map(top) else { continue };
        let Some(here) = place(folder) else { continue };
        for used in uses(program(&text)) {
            let there = place(&used).unwrap_or_else(|| panic!("{name} uses crate::{used}"));
            let excepted = EXCEPTIONS.iter().any(|(who, whom, _)| *who == folder && *whom == used);
            assert!(there <= here || excepted, "{name} uses {used}, which stands to its right");
        }
    }
}

/// `journal/event.rs` → `journal`, `texts.rs` → `texts`.
fn top(path: &str) -> &str {
    path.split('/').next().unwrap_or(path).trim_end_matches(".rs")
}

/// The modules of this crate that a file uses.
fn uses(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (at, _) in text.match_indices("crate::") {
        let rest = &text[at + "crate::".len()..];
        match rest.strip_prefix('{') {
            Some(list) => found.extend(first_words(list)),
            None => found.extend(word(rest)),
        }
    }
    found
}

/// The first words of the entries of a `use` list, which may be nested.
fn first_words(list: &str) -> Vec<String> {
    let (mut depth, mut words, mut fresh) = (0, Vec::new(), true);
    for (at, c) in list.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => fresh = true,
            c if fresh && c.is_ascii_lowercase() => {
                words.extend(word(&list[at..]));
                fresh = false;
            }
            _ => {}
        }
    }
    words
}

fn word(text: &str) -> Option<String> {
    let end = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(text.len());
    let word = &text[..end];
    word.starts_with(|c: char| c.is_ascii_lowercase()).then(|| word.to_owned())
}

#[test]
fn each_library_stays_where_it_belongs() {
    for (library, home) in [
        ("sqlx::", "src/store/"),
        ("axum::", "src/admin/"),
        ("teloxide::", "channels/src/telegram/"),
        ("serenity::", "channels/src/discord/"),
        ("genai::", "src/llm/"),
        ("rmcp::", "src/tools/mcp"),
        ("typst", "renderers/src/pdf/"),
    ] {
        for (name, text) in sources().into_iter().filter(|(name, _)| !is_test(name)) {
            let text = program(&text);
            let used =
                text.contains(&format!("use {library}")) || text.contains(&format!(" {library}"));
            assert!(!used || name.starts_with(home), "{name} uses {library}");
        }
    }
}

#[test]
fn what_decides_does_no_io_and_asks_no_clock() {
    for (name, text) in sources() {
        if !["src/journal/", "src/agent/", "src/texts"].iter().any(|p| name.starts_with(p)) {
            continue;
        }
        for forbidden in
            ["async fn", "tokio::", "std::fs", "std::net", "crate::clock", "Instant::now"]
        {
            assert!(!program(&text).contains(forbidden), "{name} has {forbidden}");
        }
    }
}

#[test]
fn few_traits_carry_the_design() {
    let traits: Vec<_> = sources()
        .into_iter()
        .filter(|(name, _)| name.starts_with("src/") || name.starts_with("channels/"))
        .flat_map(|(_, text)| {
            let names = program(&text).lines().filter_map(|line| line.strip_prefix("pub trait "));
            names
                .filter_map(|rest| Some(rest.split([':', ' ', '<']).next()?.to_owned()))
                .collect::<Vec<_>>()
        })
        .collect();
    assert!(traits.len() <= 6, "{traits:?}");
}

#[test]
fn names_say_what_things_are() {
    let banned = [
        "Manager",
        "Service",
        "Helper",
        "Util",
        "Handler",
        "Processor",
        "Factory",
        "Impl",
        "Data",
        "Info",
    ];
    for (name, text) in sources() {
        for line in program(&text).lines() {
            for kind in ["struct ", "enum ", "trait "] {
                let Some(defined) = line.trim_start().trim_start_matches("pub ").strip_prefix(kind)
                else {
                    continue;
                };
                let defined = defined.split(|c: char| !c.is_alphanumeric()).next().unwrap();
                let bad = banned.iter().find(|word| defined.ends_with(**word));
                assert!(bad.is_none(), "{name} defines {defined}");
            }
            let verb = line.trim_start().trim_start_matches("pub ").trim_start_matches("async ");
            let bad = ["fn get_", "fn handle_", "fn process_"].iter().any(|p| verb.starts_with(p));
            let theirs =
                FOREIGN.iter().any(|(place, what, _)| name == *place && verb.starts_with(what));
            assert!(!bad || theirs, "{name}: {line}");
        }
    }
}

#[test]
fn comments_and_strings_are_plain_english() {
    for (name, text) in sources() {
        for (number, line) in text.lines().enumerate().map(|(at, line)| (at + 1, line.trim())) {
            let is_comment = line.starts_with("//");
            let prose = if is_comment {
                line.to_lowercase()
            } else {
                line.split('"').skip(1).step_by(2).collect::<Vec<_>>().join("\n")
            };
            let banned =
                BANNED_WORDS.iter().chain(BANNED_IN_COMMENTS.iter().filter(|_| is_comment));
            for word in banned {
                assert!(!contains_word(&prose, word), "{name}:{number}: “{word}” in {line}");
            }
        }
    }
}

/// Whether the word or phrase occurs with no letter, digit or underscore beside it.
fn contains_word(text: &str, word: &str) -> bool {
    let is_part = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    text.match_indices(word).any(|(at, _)| {
        !is_part(text[..at].chars().next_back()) && !is_part(text[at + word.len()..].chars().next())
    })
}

#[test]
fn nothing_is_left_for_later_or_bound_to_a_machine() {
    let output = Command::new("git").args(["ls-files"]).current_dir(root()).output().unwrap();
    let home = ["/ro", "ot/"].concat();
    let later = ["FIX", "ME"].concat();
    for name in String::from_utf8(output.stdout).unwrap().lines() {
        let Ok(text) = fs::read_to_string(root().join(name)) else { continue };
        assert!(!text.contains(&home), "{name} names a folder of this machine");
        assert!(!text.contains(&later), "{name} leaves something for later");
    }
}

#[test]
fn every_migration_is_embedded() {
    let db = fs::read_to_string(root().join("src/store/db/mod.rs")).unwrap();
    for folder in ["migrations", "migrations/sqlite", "migrations/postgres"] {
        for entry in fs::read_dir(root().join(folder)).unwrap().map(Result::unwrap) {
            let name = format!("{folder}/{}", entry.file_name().into_string().unwrap());
            let is_embedded = entry.path().is_dir() || db.contains(&name);
            assert!(is_embedded, "{name} is not in src/store/db/mod.rs");
        }
    }
}

/// Licences, sources, banned crates, one SQLite. The advisory database is checked by `cargo deny`
/// where it can be downloaded.
/// Proves S20.
#[test]
fn dependencies_are_allowed() {
    let packages = packages();
    assert!(packages.len() > 100, "cargo metadata has told little");
    for package in &packages {
        let name = package["name"].as_str().unwrap();
        assert!(!BANNED.contains(&name), "{name} is banned");
        let source = package["source"].as_str().unwrap_or_default();
        assert!(!source.starts_with("git"), "{name} comes from a git repository");
        let licence = package["license"].as_str();
        let allowed = licence.is_some_and(is_allowed) || UNNAMED.contains(&name);
        assert!(allowed, "{name} has the licence {licence:?}");
    }
    for once in ONCE {
        let count = packages.iter().filter(|p| p["name"] == *once).count();
        assert_eq!(count, 1, "{once} is there {count} times");
    }
}

/// `deny.toml` is for `cargo deny`, which is not installed on every machine.
#[test]
fn deny_toml_says_the_same_as_the_tests() {
    let text = fs::read_to_string(root().join("deny.toml")).unwrap();
    let deny: toml::Value = toml::from_str(&text).unwrap();
    let list = |value: &toml::Value| {
        let items = value.as_array().unwrap().iter();
        items.map(|item| item.as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(list(&deny["licenses"]["allow"]), ALLOWED);
    let crates = deny["bans"]["deny"].as_array().unwrap();
    let is_once = |entry: &&toml::Value| entry.get("deny-multiple-versions").is_some();
    let (once, banned): (Vec<_>, Vec<_>) = crates.iter().partition(is_once);
    let names = |entries: Vec<&toml::Value>| {
        entries.iter().map(|entry| entry["crate"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names(banned), BANNED);
    assert_eq!(names(once), ONCE);
    for source in ["unknown-registry", "unknown-git"] {
        assert_eq!(deny["sources"][source].as_str(), Some("deny"), "{source}");
    }
}

/// Each unmaintained crate is named in the docs, and none that is no longer used.
#[test]
fn the_docs_name_what_is_unmaintained() {
    let text = fs::read_to_string(root().join("docs/development/dependencies.md")).unwrap();
    let packages = packages();
    for line in text.lines().filter(|line| line.starts_with("| `")) {
        let mut words = line.trim_start_matches("| `").split(['`', ' ', '|']);
        let (name, _, version) = (words.next(), words.next(), words.next());
        let there = packages.iter().any(|package| {
            let has = package["version"].as_str().unwrap();
            package["name"].as_str() == name
                && version.is_some_and(|version| has.split('+').next() == Some(version))
        });
        assert!(there, "there is no {name:?} {version:?}");
    }
    for name in ["bincode", "yaml-rust", "serde_yaml", "paste", "rsa"] {
        assert!(text.contains(&format!("| `{name}` ")), "{name}");
    }
}

/// Each test that the threat model names exists, so that no promise rests on a test that is gone.
#[test]
fn the_threat_model_names_tests_that_exist() {
    let text = fs::read_to_string(root().join("docs/concepts/threat-model.md")).unwrap();
    let mut found = sources();
    collect(&root().join("tests/it"), &mut found);
    let code = found.into_values().collect::<Vec<_>>().join("\n");
    let is_sentence = |name: &&str| {
        name.matches('_').count() >= 3
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    let named: BTreeSet<_> = text.split('`').skip(1).step_by(2).filter(is_sentence).collect();
    assert!(named.len() > 15, "{named:?}");
    let gone: Vec<_> =
        named.into_iter().filter(|name| !code.contains(&format!("fn {name}("))).collect();
    assert!(gone.is_empty(), "there is no test {gone:?}");
}

const BANNED: &[&str] = &["openssl-sys", "aws-lc-sys", "aws-lc-rs", "native-tls"];

/// Crates that must have a single version.
const ONCE: &[&str] = &["libsqlite3-sys", "sqlx", "ring"];

/// Their licence is a file with the text of MIT, Apache-2.0 or similar.
const UNNAMED: &[&str] = &["vecrem"];

const ALLOWED: &[&str] = &[
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "CDLA-Permissive-2.0",
    "ISC",
    "MIT",
    "MIT-0",
    "MPL-2.0",
    "Unicode-3.0",
    "Unicode-DFS-2016",
    "Unlicense",
    "Zlib",
];

/// Every part of an AND must be allowed, one part of an OR.
fn is_allowed(licence: &str) -> bool {
    let licence = licence.replace(['(', ')'], "").replace('/', " OR ");
    licence.split(" AND ").all(|all| all.split(" OR ").any(|one| ALLOWED.contains(&one.trim())))
}

fn packages() -> Vec<Value> {
    let args = [
        "metadata",
        "--format-version",
        "1",
        "--locked",
        "--filter-platform",
        "x86_64-unknown-linux-gnu",
    ];
    let manifest: PathBuf = root().join("Cargo.toml");
    let output = Command::new(env!("CARGO"))
        .args(args)
        .arg("--manifest-path")
        .arg(manifest)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let resolved: BTreeSet<String> = metadata["resolve"]["nodes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|node| node["id"].as_str().unwrap().to_owned())
        .collect();
    let all = metadata["packages"].take();
    let all = all.as_array().unwrap().iter();
    all.filter(|p| resolved.contains(p["id"].as_str().unwrap())).cloned().collect()
}
