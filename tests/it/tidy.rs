//! The project's rules that neither the compiler nor a linter checks.

mod syntax;

use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// Types with the same name in two files: alternatives of a feature.
const ALTERNATIVES: &[&str] = &["LoadedModule", "Traces", "WasmRuntime"];

/// Private types that many files have under the same name: the arguments of the file's tool.
const IDIOMS: &[&str] = &["Arguments"];

/// Words of names that are neither plain English nor defined in the glossary.
const BANNED_IN_NAMES: &[&str] = &[
    "anew",
    "belies",
    "bell",
    "desk",
    "dress",
    "dressed",
    "foreign",
    "heritage",
    "house",
    "kin",
    "lapse",
    "lasting",
    "manners",
    "obey",
    "question",
    "questions",
    "rung",
    "scene",
    "shelf",
    "shelves",
    "shipment",
    "standing",
    "teller",
    "told",
    "tongue",
    "unrun",
    "untold",
    "walled",
    "walls",
    "whoever",
    "wish",
    "wished",
    "wishes",
];

/// Names defined by other crates: file, item, owner.
const NAMED_BY_OTHERS: &[(&str, &str, &str)] =
    &[("src/tools/mcp/client_handler.rs", "get_info", "rmcp's trait")];

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

/// The folders of the program.
const FOLDERS: [&str; 4] = ["src", "channels/src", "renderers/src", "sandbox/src"];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Every Rust file of the program, by its path from the root.
fn sources() -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for folder in FOLDERS {
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

/// The text without its unit tests, which begin with the attribute and end with the next line that
/// is indented like it: a brace or a semicolon.
fn program(text: &str) -> String {
    let mut kept = String::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let Some(indent) = line.strip_suffix("#[cfg(test)]") else {
            kept += line;
            kept.push('\n');
            continue;
        };
        let is_end = |line: &&str| {
            let ends = line.ends_with([';', '}']);
            ends && line.strip_prefix(indent).is_some_and(|rest| !rest.starts_with(' '))
        };
        lines.by_ref().find(is_end);
    }
    kept
}

fn is_test(name: &str) -> bool {
    let is_folder = name.split('/').any(|part| part == "tests" || part.ends_with("_tests"));
    is_folder || name.ends_with("tests.rs") || name.ends_with("testing.rs")
}

#[test]
fn a_file_says_what_lives_in_it_and_is_not_long() {
    for (name, text) in sources() {
        assert!(text.starts_with("//! "), "{name} does not begin with a sentence");
        let lines = program(&text).lines().count();
        assert!(is_test(&name) || lines <= LONGEST_FILE, "{name} has {lines} lines");
    }
}

/// Where the introduction of a file lists its modules, it lists all of them.
#[test]
fn lists_of_modules_are_complete() {
    let texts = sources();
    for (name, source) in syntax::sources(&FOLDERS) {
        let lines = texts[&name].lines().take_while(|line| line.starts_with("//!"));
        let introduction: Vec<_> = lines.collect();
        let is_named = |module: &&String| {
            let named = ["`{}`", "`mod@{}`", "`{}()`"].map(|form| form.replace("{}", module));
            introduction.iter().any(|line| named.iter().any(|named| line.contains(named)))
        };
        let is_list = introduction.iter().any(|line| line.starts_with("//! - "));
        if is_list && source.modules.iter().any(|module| is_named(&module)) {
            let missing: Vec<_> =
                source.modules.iter().filter(|module| !is_named(module)).collect();
            assert!(missing.is_empty(), "{name} does not list {missing:?}");
        }
    }
}

#[test]
fn the_tree_is_two_folders_deep() {
    for name in sources().keys() {
        let below = name.split_once("src/").unwrap().1;
        assert!(below.matches('/').count() <= 2, "{name} lies too deep");
    }
}

/// The compiler reports what nothing uses, but not what is exported for tests. This looks for the
/// names only.
#[test]
fn tests_use_everything_that_is_exported_for_them() {
    let mut tests = BTreeMap::new();
    collect(&root().join("tests/it"), &mut tests);
    let all: String = tests.into_values().collect();
    for (name, source) in syntax::sources(&["src/testing/internals"]) {
        let unused: Vec<_> =
            source.exports.iter().filter(|export| !contains_word(&all, export)).collect();
        assert!(unused.is_empty(), "{name}: no test uses {unused:?}");
    }
}

/// The order is the one in `ARCHITECTURE.md`: a module may use itself and those before it.
#[test]
fn dependencies_run_one_way() {
    let order = order();
    let place = |module: &str| order.iter().position(|known| known == module);
    for (name, source) in syntax::sources(&["src"]) {
        let folder = top(name.strip_prefix("src/").unwrap());
        if ["lib", "main"].contains(&folder) {
            continue;
        }
        let here = place(folder).unwrap_or_else(|| panic!("ARCHITECTURE.md has no {folder}"));
        for used in &source.uses {
            let there = place(used).unwrap_or_else(|| panic!("{name} uses crate::{used}"));
            assert!(there <= here, "{name} uses {used}, which stands to its right");
        }
    }
}

/// What a tool is does not depend on any tool. The workspace is the access to files that all share.
#[test]
fn the_contract_of_tools_knows_no_tool() {
    let root = syntax::sources(&["src/tools"]).remove("src/tools/mod.rs").unwrap();
    let is_family = |module: &&String| !["contract", "workspace"].contains(&module.as_str());
    let families: Vec<_> = root.modules.iter().chain(&root.functions).filter(is_family).collect();
    let used = |source: &syntax::Source| -> Vec<String> {
        let is_used = |family: &&&String| source.uses_within.contains(&format!("tools::{family}"));
        families.iter().filter(is_used).map(ToString::to_string).collect()
    };
    for (name, source) in syntax::sources(&["src/tools/contract"]) {
        assert!(used(&source).is_empty(), "{name} uses {:?}", used(&source));
    }
    let sample = "
        use crate::tools::{Context, mcp::server::Servers, workspace};
        fn f() { super::super::wasm::load(); print!(\"{}\", crate::tools::json::NAME) }
        fn all() { crate::tools::builtin() }";
    let source = syntax::source("src/tools/contract/sample.rs", sample);
    assert_eq!(used(&source), ["json", "mcp", "wasm", "builtin"]);
}

/// The modules from left to right, as `ARCHITECTURE.md` lists them after the three crates.
fn order() -> Vec<String> {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let list =
        text.split('`').find(|code| code.starts_with("channels renderers sandbox |")).unwrap();
    let words = list.split([' ', '|']).filter(|word| !word.is_empty());
    words.skip(3).map(str::to_owned).collect()
}

/// `journal/event.rs` → `journal`, `texts.rs` → `texts`.
fn top(path: &str) -> &str {
    path.split('/').next().unwrap_or(path).trim_end_matches(".rs")
}

/// A tuple has no names: two values of one type can change places unnoticed.
#[test]
fn parameters_are_not_tuples() {
    for (name, source) in
        syntax::sources(&["src", "channels/src", "renderers/src", "sandbox/src", "macros/src"])
    {
        assert!(source.tuple_parameters.is_empty(), "{name}: {:?}", source.tuple_parameters);
    }
}

/// Files with parameters that are lists of keys and values.
const KEYED_LISTS: &[(&str, &str)] = &[
    ("channels/src/telegram/api.rs", "the fields of a form"),
    ("renderers/src/edit/tree.rs", "the attributes of an XML element"),
    ("renderers/src/package/xml.rs", "the attributes of an XML element"),
    ("renderers/src/pptx/markup.rs", "the attributes of an XML element"),
    ("renderers/src/xlsx/formula/parse.rs", "operators by their signs"),
    ("src/admin/console/start.rs", "the keys and values of an entry of the configuration"),
    ("src/store/metrics/counter.rs", "the labels of a metric, as the crate metrics takes them"),
    ("src/testing/scripted.rs", "tools and their arguments, in the scripts of tests"),
    ("src/texts/template.rs", "the names and values of placeholders"),
];

/// A list may contain tuples if each is a key and its value.
#[test]
fn lists_as_parameters_do_not_contain_tuples() {
    let mut known = BTreeSet::new();
    for (name, source) in
        syntax::sources(&["src", "channels/src", "renderers/src", "sandbox/src", "macros/src"])
    {
        let is_keyed = KEYED_LISTS.iter().any(|(file, _)| *file == name);
        let lists = source.tuple_lists;
        assert!(is_keyed || lists.is_empty(), "{name}: {lists:?}");
        known.extend((!lists.is_empty()).then_some(name));
    }
    for (file, _) in KEYED_LISTS {
        assert!(known.contains(*file), "{file} has no such parameter any more");
    }
    let sample = "
        fn a(a: &[(A, B)]) {} fn b(b: Option<Vec<(A, B)>>) {} fn c(c: &mut [(A, B); 2]) {}
        fn d(d: impl Iterator<Item = (A, B)>) {} fn e(e: &BTreeMap<(A, B), C>, f: &[A]) {}";
    assert_eq!(syntax::source("src/sample.rs", sample).tuple_lists, ["a", "b", "c", "d"]);
}

/// Rows with more than two columns are structs, whose columns are read by name.
#[test]
fn wide_rows_have_named_columns() {
    for (name, source) in syntax::sources(&["src"]) {
        assert!(source.wide_rows.is_empty(), "{name}: {:?}", source.wide_rows);
    }
    let sample = "fn f() { let a: Vec<(i64, A, B)> = sql!(); let (b, c): (i64, A) = sql!(); }";
    assert_eq!(syntax::source("src/sample.rs", sample).wide_rows, ["3 columns"]);
}

/// A name that crosses a file has one meaning in its crate, and in the sandbox that the gateway uses.
/// A private name has two at most.
#[test]
fn type_names_are_unique() {
    let mut known: BTreeMap<String, String> = BTreeMap::new();
    let mut private: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (name, source) in syntax::sources(&["src", "sandbox/src"]) {
        for defined in source.types {
            if !defined.is_visible {
                private.entry(defined.name).or_default().push(name.clone());
                continue;
            }
            let before = known.insert(defined.name.clone(), name.clone());
            let is_alternative = ALTERNATIVES.contains(&defined.name.as_str());
            assert!(
                before.is_none() || is_alternative,
                "{} is defined in {name} and in {before:?}",
                defined.name
            );
        }
    }
    private.retain(|name, files| files.len() > 2 && !IDIOMS.contains(&name.as_str()));
    assert!(private.is_empty(), "these private types have the same name: {private:#?}");
}

/// Failures that tests cause, and doubles, are not in other builds.
#[test]
fn faults_are_in_test_builds_only() {
    let faults = [
        "Breakdown",
        "interrupt_at",
        "lose_next_answer",
        "move_database_clock",
        "refuse_next",
        "without_bubblewrap",
    ];
    for (name, source) in syntax::sources(&["src", "sandbox/src"]) {
        let types = source.types.iter().map(|defined| &defined.name);
        let found: Vec<_> =
            types.chain(&source.functions).filter(|name| faults.contains(&name.as_str())).collect();
        assert!(found.is_empty(), "{name} defines {found:?}");
    }
    let texts: String = sources().into_values().collect();
    for fault in faults {
        let is_defined = |kind: &&str| texts.contains(&format!("{kind} {fault}"));
        assert!(["fn", "enum"].iter().any(is_defined), "{fault} is renamed or gone");
    }
    let sample = "
        #[cfg(any(test, feature = \"testing\"))] fn double() {}
        #[cfg(all(test, unix))] fn local() {}
        #[cfg(any(test, debug_assertions))] fn everywhere() {}
        #[cfg(not(test))] fn real() {}";
    assert_eq!(syntax::source("src/sample.rs", sample).functions, ["everywhere", "real"]);
}

#[test]
fn each_library_stays_where_it_belongs() {
    for (library, home) in [
        ("sqlx::", "src/store/"),
        ("rusqlite::", "src/store/"),
        ("axum::", "src/admin/"),
        ("teloxide::", "channels/src/telegram/"),
        ("serenity::", "channels/src/discord/"),
        ("genai::", "src/llm/"),
        ("rmcp::", "src/tools/mcp"),
        ("wasmtime::", "src/tools/wasm/"),
        ("typst", "renderers/src/pdf/"),
        ("landlock::", "sandbox/src/confine.rs"),
        ("seccompiler::", "sandbox/src/seccomp.rs"),
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
fn deciding_modules_do_no_io_and_read_no_clock() {
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
    let sources = syntax::sources(&["src", "channels/src", "sandbox/src"]);
    let traits: Vec<_> = sources.into_values().flat_map(|source| source.traits).collect();
    assert!(traits.len() <= 9, "{traits:?}");
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
    for (name, source) in syntax::sources(&FOLDERS) {
        for defined in &source.types {
            let bad = banned.iter().find(|word| defined.name.ends_with(**word));
            assert!(bad.is_none(), "{name} defines {}", defined.name);
        }
        for function in &source.functions {
            let bad = ["get_", "handle_", "process_"].iter().any(|p| function.starts_with(p));
            let theirs =
                NAMED_BY_OTHERS.iter().any(|(place, what, _)| name == *place && function == what);
            assert!(!bad || theirs, "{name} defines {function}");
        }
        let bad = banned_names(&source);
        assert!(bad.is_empty(), "{name}: {bad:?}");
    }
}

/// The names of types, functions, fields, variants, parameters and variables with a banned word.
fn banned_names(source: &syntax::Source) -> Vec<&str> {
    let types = source.types.iter().map(|defined| &defined.name);
    let names = types.chain(&source.functions).chain(&source.members);
    let is_banned =
        |name: &&String| words_of(name).iter().any(|word| BANNED_IN_NAMES.contains(&word.as_str()));
    names.filter(is_banned).map(String::as_str).collect()
}

/// The variables of loops in the console's templates are names, too.
#[test]
fn loop_variables_of_templates_say_what_they_are() {
    for entry in fs::read_dir(root().join("src/admin/console/pages")).unwrap() {
        let path = entry.unwrap().path();
        let text = fs::read_to_string(&path).unwrap();
        let loops = text.split("{% for ").skip(1).filter_map(|rest| rest.split_once(" in "));
        for (variables, _) in loops {
            let banned = BANNED_IN_NAMES.iter().find(|word| contains_word(variables, word));
            assert!(banned.is_none(), "{}: {variables}", path.display());
        }
    }
}

/// Unit tests and words that only contain a banned one are not meant.
#[test]
fn banned_words_are_found_in_names_of_every_kind() {
    let source = syntax::source(
        "src/sample.rs",
        "
        struct OldHouse { wish: u8, wishlist: u8 }
        enum Answer { Told { scene: u8 }, Other(u8) }
        fn walled(bell: u8) { let lasting = |shelf: u8| shelf; }
        #[cfg(test)]
        mod tests { fn told() {} }
        ",
    );
    let expected = ["OldHouse", "walled", "wish", "Told", "scene", "bell", "lasting", "shelf"];
    assert_eq!(banned_names(&source), expected);
}

/// `FooBar` and `foo_bar` → `foo`, `bar`.
fn words_of(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    for c in name.chars() {
        if c == '_' || c.is_uppercase() {
            words.push(String::new());
        }
        words.last_mut().unwrap().extend(c.to_lowercase().filter(|c| *c != '_'));
    }
    words
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
fn no_file_contains_todo_marks_or_home_paths() {
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
    let embedded = fs::read_to_string(root().join("src/store/db/migrations.rs")).unwrap();
    for folder in ["migrations", "migrations/sqlite", "migrations/postgres"] {
        for entry in fs::read_dir(root().join(folder)).unwrap().map(Result::unwrap) {
            let name = entry.file_name().into_string().unwrap();
            let is_embedded =
                entry.path().is_dir() || embedded.contains(name.trim_end_matches(".sql"));
            assert!(is_embedded, "{folder}/{name} is not in src/store/db/migrations.rs");
        }
    }
}

/// Licences, sources, banned crates, one SQLite. The advisory database is checked by `cargo deny`
/// where it can be downloaded.
/// Proves S20.
#[test]
fn dependencies_are_allowed() {
    let packages = packages();
    assert!(packages.len() > 100, "cargo metadata lists too few packages");
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

/// The sandbox can be read and reviewed alone.
#[test]
fn the_sandbox_uses_no_other_crate_of_this_repository() {
    let packages = packages();
    let sandbox = packages.iter().find(|package| package["name"] == "sandbox").unwrap();
    let dependencies = sandbox["dependencies"].as_array().unwrap().iter();
    let local: Vec<_> = dependencies.filter(|dependency| dependency["path"].is_string()).collect();
    assert!(local.is_empty(), "{local:?}");
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
        "--all-features",
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

/// The name of a test states what is true, and is not a riddle about it.
#[test]
fn names_of_tests_are_statements() {
    let mut found = sources();
    for folder in ["tests", "channels/tests", "renderers/tests"] {
        collect(&root().join(folder), &mut found);
    }
    for (name, text) in found {
        for line in text.lines().filter_map(|line| line.trim().split_once("fn ")) {
            let is_riddle = ["what_", "who_", "whom_", "whose_", "whoever_"]
                .iter()
                .any(|begin| line.1.starts_with(begin));
            let is_test =
                line.1.split('(').next().is_some_and(|name| name.matches('_').count() >= 3);
            assert!(!(is_riddle && is_test), "{name}: {}", line.1);
        }
    }
}
