//! The documentation agrees with the program: links lead somewhere, configurations load, commands
//! parse, and generated parts are those of this build.
//!
//! `COUNTERSIGN_UPDATE_DOCS=1 cargo test --test it docs::` writes the generated parts.

use clap::{CommandFactory as _, Parser as _};
use comrak::{
    Arena, Options,
    nodes::{Node, NodeValue},
};
use countersign::{
    cli::Cli,
    config::{Config, build, example},
    tools::manual,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    io::Write as _,
    path::{Path, PathBuf},
};

mod generated;

const UPDATE: &str = "COUNTERSIGN_UPDATE_DOCS";
const EXAMPLE: &str = "countersign.example.toml";

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A page, read.
#[derive(Default)]
struct Page {
    /// Where links lead, as they are written.
    links: Vec<String>,
    anchors: BTreeSet<String>,
    /// The language of each code block, and its text.
    blocks: Vec<(String, String)>,
}

impl Page {
    fn read(text: &str) -> Self {
        let mut options = Options::default();
        options.extension.table = true;
        let arena = Arena::new();
        let mut page = Self::default();
        for node in comrak::parse_document(&arena, text, &options).descendants() {
            match &node.data.borrow().value {
                NodeValue::Link(link) | NodeValue::Image(link) => page.links.push(link.url.clone()),
                NodeValue::CodeBlock(block) => {
                    page.blocks.push((block.info.clone(), block.literal.clone()));
                }
                NodeValue::Heading(_) => {
                    let base = slug(&text_of(node));
                    let again = (1..).map(|number| format!("{base}-{number}"));
                    let free = std::iter::once(base.clone()).chain(again);
                    let free = free.into_iter().find(|name| !page.anchors.contains(name));
                    page.anchors.extend(free);
                }
                _ => {}
            }
        }
        page
    }
}

fn text_of(node: Node<'_>) -> String {
    let words = node.descendants().filter_map(|part| match &part.data.borrow().value {
        NodeValue::Text(text) => Some(text.to_string()),
        NodeValue::Code(code) => Some(code.literal.clone()),
        _ => None,
    });
    words.collect()
}

/// The anchor of a heading, as code hosts and mdBook make it.
fn slug(heading: &str) -> String {
    let kept = heading.trim().chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.map(|c| if c == ' ' { '-' } else { c }).flat_map(char::to_lowercase).collect()
}

/// Every page of the repository that people read, by its path from the root.
fn pages() -> BTreeMap<PathBuf, Page> {
    let mut found = Vec::new();
    collect(&root().join("docs"), &mut found);
    let top = fs::read_dir(root()).unwrap().map(|entry| entry.unwrap().path());
    found.extend(top.filter(|path| path.extension().is_some_and(|ending| ending == "md")));
    let read = |path: PathBuf| {
        let page = Page::read(&fs::read_to_string(&path).unwrap());
        (path.strip_prefix(root()).unwrap().to_owned(), page)
    };
    found.into_iter().map(read).collect()
}

fn collect(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "md") {
            found.push(path);
        }
    }
}

/// Joins a link to the folder of its page, and takes `..` out.
fn target(page: &Path, link: &str) -> PathBuf {
    let mut path = page.parent().unwrap().to_owned();
    for part in link.split('/').filter(|part| !part.is_empty() && *part != ".") {
        if part == ".." {
            assert!(path.pop(), "{}: {link} leads out of the repository", page.display());
        } else {
            path.push(part);
        }
    }
    path
}

#[test]
fn every_link_leads_somewhere() {
    let pages = pages();
    assert!(pages.len() > 50, "only {} pages were found", pages.len());
    let mut broken = Vec::new();
    for (path, page) in &pages {
        for link in page.links.iter().filter(|link| !link.contains("://")) {
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = if file.is_empty() { path.clone() } else { target(path, file) };
            let known = match pages.get(&target) {
                Some(there) => anchor.is_empty() || there.anchors.contains(anchor),
                None => anchor.is_empty() && root().join(&target).exists(),
            };
            if !known {
                broken.push(format!("{}: {link}", path.display()));
            }
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}

/// The pages that `docs/SUMMARY.md` lists, in its order, without their ending.
fn summary() -> Vec<String> {
    let text = fs::read_to_string(root().join("docs/SUMMARY.md")).unwrap();
    let links = Page::read(&text).links.into_iter();
    links.map(|link| link.trim_end_matches(".md").to_owned()).collect()
}

#[test]
fn the_summary_lists_every_page_once() {
    let listed: BTreeSet<_> = summary().into_iter().collect();
    assert_eq!(listed.len(), summary().len(), "a page is listed twice");
    let mut files = Vec::new();
    collect(&root().join("docs"), &mut files);
    let name = |path: &PathBuf| {
        let path = path.strip_prefix(root().join("docs")).unwrap().with_extension("");
        path.to_string_lossy().into_owned()
    };
    let there: BTreeSet<_> = files.iter().map(name).filter(|name| name != "SUMMARY").collect();
    assert_eq!(listed, there);
}

/// Proves MC-38: nothing that people who use the gateway can read is hidden from the agent.
#[test]
fn the_manual_has_all_pages_but_those_for_developers() {
    let mut wanted = summary();
    wanted.retain(|page| !page.starts_with("development/"));
    let has: Vec<_> = manual::PAGES.iter().map(|(path, _)| *path).collect();
    assert_eq!(has, wanted);
}

/// A block that is marked `toml` is a whole configuration. Others, as a document of rules, are
/// marked otherwise, for example `toml rules`.
#[test]
fn every_configuration_loads() {
    let mut count = 0;
    for (path, page) in pages() {
        for (_, text) in page.blocks.iter().filter(|(language, _)| language == "toml") {
            count += 1;
            let mut file = tempfile::NamedTempFile::new().unwrap();
            file.write_all(text.as_bytes()).unwrap();
            let checked = Config::load(Some(file.path()), &BTreeMap::new()).and_then(|config| {
                build::policy(&config.guard)?;
                build::hooks(&config.hooks)?;
                config.schedules.build()?;
                countersign::config::retention::retention(&config).map(drop)
            });
            assert!(checked.is_ok(), "{}: {:?}\n{text}", path.display(), checked.unwrap_err());
        }
        for (_, text) in page.blocks.iter().filter(|(language, _)| language == "toml rules") {
            let read = countersign::admin::rules::read("toml", text, &[]);
            assert!(read.is_ok(), "{}: {:?}", path.display(), read.unwrap_err());
        }
    }
    assert!(count >= 15, "only {count} configurations were found");
}

#[test]
fn the_readme_has_one_complete_configuration() {
    let readme = &pages()[Path::new("README.md")];
    let toml: Vec<_> = readme.blocks.iter().filter(|(language, _)| language == "toml").collect();
    assert_eq!(toml.len(), 1);
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(toml[0].1.as_bytes()).unwrap();
    let config = Config::load(Some(file.path()), &BTreeMap::new()).unwrap();
    let kinds: BTreeSet<_> = config.channels.iter().map(|c| format!("{:?}", c.kind)).collect();
    assert!(kinds.contains("Telegram") && kinds.contains("Discord"), "{kinds:?}");
    assert!(config.models[0].api_key.is_some());
}

#[test]
fn every_command_parses_and_every_script_is_there() {
    let (mut own, mut scripts) = (0, 0);
    for (path, page) in pages() {
        for (_, text) in page.blocks.iter().filter(|(language, _)| language == "sh") {
            for command in commands(text) {
                let program = command[0].rsplit('/').next().unwrap_or_default();
                let arguments = match command.iter().position(|word| word == "--") {
                    Some(at) if command[0] == "cargo" && command[1] == "run" => &command[at + 1..],
                    _ if program == "countersign" => &command[1..],
                    _ => {
                        scripts += check_script(&path, &command);
                        continue;
                    }
                };
                own += 1;
                let words = std::iter::once("countersign".to_owned()).chain(arguments.to_vec());
                let parsed = Cli::try_parse_from(words);
                let told = parsed.err().map(|problem| problem.to_string());
                assert_eq!(told, None, "{}: {}", path.display(), command.join(" "));
            }
        }
    }
    assert!(own > 30 && scripts > 5, "{own} commands and {scripts} scripts were found");
}

/// A file of this repository that a command names as its program, or an example that it runs.
fn check_script(page: &Path, command: &[String]) -> usize {
    let here = ["tests/", ".ci/", "deploy/", "examples/", "docs/"];
    let mut found = 0;
    for word in command.iter().filter(|word| here.iter().any(|folder| word.starts_with(folder))) {
        let there = root().join(word).exists();
        assert!(there, "{}: there is no {word}", page.display());
        found += 1;
    }
    if let [cargo, run, flag, name, ..] = command
        && [cargo.as_str(), run, flag] == ["cargo", "run", "--example"]
    {
        let file = format!("examples/{name}.rs");
        assert!(root().join(&file).exists(), "{}: there is no {file}", page.display());
        found += 1;
    }
    found
}

/// The commands of a block, in words. Comments, prompts of `sudo` and variables in front are left
/// out; what a pipe or `&&` joins are commands of their own.
fn commands(text: &str) -> Vec<Vec<String>> {
    let text = text.replace("\\\n", " ");
    let mut all = Vec::new();
    for line in text.lines() {
        let (mut current, mut word, mut quote) = (Vec::new(), None::<String>, None);
        for letter in line.chars() {
            match (letter, quote) {
                (c, Some(open)) if c == open => quote = None,
                (c @ ('\'' | '"'), None) => {
                    quote = Some(c);
                    word.get_or_insert_default();
                }
                ('#', None) if word.is_none() => break,
                ('|' | ';' | '&', None) => {
                    current.extend(word.take());
                    all.push(std::mem::take(&mut current));
                }
                (c, None) if c.is_whitespace() => current.extend(word.take()),
                (c, _) => word.get_or_insert_default().push(c),
            }
        }
        current.extend(word);
        all.push(current);
    }
    for command in &mut all {
        if command.first().is_some_and(|word| word == "sudo") {
            command.remove(0);
            if command.first().is_some_and(|word| word == "-u") {
                command.drain(..2);
            }
        }
        let is_variable = |word: &String| {
            word.split_once('=')
                .is_some_and(|(name, _)| name.chars().all(|c| c.is_uppercase() || c == '_'))
        };
        let variables = command.iter().take_while(|word| is_variable(word)).count();
        command.drain(..variables);
        // What follows a redirection is a file.
        if let Some(at) = command.iter().position(|word| word.starts_with(['>', '<'])) {
            command.truncate(at);
        }
    }
    all.retain(|command| !command.is_empty());
    all
}

#[test]
fn commands_are_found_in_blocks() {
    let text = "A=1 x 'b c' \"d\" # no\n  # no\nsudo -u me countersign pair \\\n  --hours 2 | y && z > f\n";
    let found = commands(text);
    let found: Vec<_> = found.iter().map(|words| words.join("|")).collect();
    assert_eq!(found, ["x|b c|d", "countersign|pair|--hours|2", "y", "z"]);
    assert_eq!(slug("The `[guard]` section: 2 rules"), "the-guard-section-2-rules");
}

/// Compares a file with what it should be, or writes it.
fn keep(file: &str, wanted: &str) {
    let path = root().join(file);
    let mut is = fs::read_to_string(&path).unwrap_or_default();
    // A file that is written is newer than the program, which contains some of them.
    if std::env::var_os(UPDATE).is_some() && is != wanted {
        fs::write(&path, wanted).unwrap();
        wanted.clone_into(&mut is);
    }
    assert!(is == wanted, "{file} is stale: run the tests with {UPDATE}=1\n{wanted}");
}

#[test]
fn the_example_configuration_is_that_of_this_build() {
    let text = example::example().unwrap();
    keep(EXAMPLE, &text);
    // As it is, and with every default of a section that is there once, it changes nothing.
    let mut in_list = false;
    let mut filled = String::new();
    for line in text.lines().filter_map(|line| line.strip_prefix('#')) {
        in_list = if line.starts_with('[') { line.starts_with("[[") } else { in_list };
        let has_value = line.split_once(" = ").is_some_and(|(name, value)| {
            !name.contains(' ') && !value.trim_start().starts_with('#')
        });
        if !in_list && (line.starts_with('[') || has_value) {
            filled += line;
            filled.push('\n');
        }
    }
    let load = |text: &str| {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        let config = Config::load(Some(file.path()), &BTreeMap::new());
        toml::to_string(&config.unwrap()).unwrap()
    };
    assert!(filled.contains("[admin]\nlisten = \"127.0.0.1:8642\"\n"), "{filled}");
    assert_eq!(load(&filled), load(&text), "{filled}");
}

/// `<!-- generated: NAME -->` begins a part that a test writes, `<!-- end of generated -->` ends it.
#[tokio::test]
async fn generated_parts_are_those_of_this_build() {
    let parts = generated::parts(&Cli::command()).await;
    let mut seen = BTreeSet::new();
    for path in pages().keys() {
        let text = fs::read_to_string(root().join(path)).unwrap();
        let mut wanted = String::new();
        let mut rest = text.as_str();
        while let Some((before, after)) = rest.split_once("\n<!-- generated: ") {
            let (name, after) = after.split_once(" -->\n").unwrap();
            let (_, after) = after.split_once("\n<!-- end of generated -->").unwrap();
            let part = parts.get(name).unwrap_or_else(|| panic!("there is no part {name}"));
            let part = part.trim_end();
            let begin = format!("\n<!-- generated: {name} -->\n\n");
            wanted.extend([before, &begin, part, "\n\n<!-- end of generated -->"]);
            seen.insert(name.to_owned());
            rest = after;
        }
        if wanted.is_empty() {
            continue;
        }
        wanted += rest;
        keep(&path.to_string_lossy(), &wanted);
    }
    assert_eq!(seen, parts.keys().map(|name| (*name).to_owned()).collect());
}
