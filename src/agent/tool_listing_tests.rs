//! The listing in the prompt, and searching.

use serde_json::json;

use super::*;
use crate::agent::{
    catalog::{Catalog, ResolvedTool, Skill},
    disclosure::{Disclosure, FOUND},
    spec::Tier,
};

fn own(name: &str, tier: Tier) -> ToolSpec {
    let parameters = json!({ "type": "object", "properties": {} });
    let about = format!("Does {name}\nAnd a zebra explains it");
    ToolSpec { tier, ..ToolSpec::read_only(name, &about, parameters) }
}

fn served(server: &str, name: &str, about: &str) -> ToolSpec {
    let parameters = json!({
        "type": "object",
        "properties": { "title": { "type": "string" }, "labels": { "type": "array" } },
        "required": ["title"],
    });
    let source = ToolSource::Mcp { server: server.into(), original_name: name.into() };
    let name = format!("{server}_{name}");
    ToolSpec { source, tier: Tier::Extension, ..ToolSpec::read_only(&name, about, parameters) }
}

fn small() -> Vec<ToolSpec> {
    vec![
        own("note", Tier::Core),
        own("rare", Tier::Extension),
        served("github", "create_issue", "Opens an issue"),
        served("mail", "send", "Sends a mail"),
    ]
}

/// A catalog with these tools and more of one additional server.
fn with(more: usize) -> Catalog {
    let mut specs = small();
    specs
        .extend((0..more).map(|n| served("zoo", &format!("feed_{n}"), &format!("Feeds cage {n}"))));
    Catalog::new(specs, vec![]).unwrap()
}

fn listing(catalog: &Catalog) -> String {
    directory(&catalog.extensions().collect::<Vec<_>>())
}

fn schemas(catalog: &Catalog) -> Vec<String> {
    catalog.disclosed(&[]).iter().map(|spec| spec.name.clone()).collect()
}

/// The schema of a core tool; name, source and one line of an extension tool.
/// Proves MC-05.
#[test]
fn the_tool_listing_has_one_line_for_each_extension_tool() {
    let catalog = with(0);
    assert_eq!(schemas(&catalog), ["note", "enable_tool"]);
    insta::assert_snapshot!(listing(&catalog), @"
    Of these tools:
    - rare: Does rare
    Of the server github:
    - github_create_issue: Opens an issue
    Of the server mail:
    - mail_send: Sends a mail
    ");
}

/// A server's description of its tool does not fill the prompt.
/// Proves MC-05.
#[test]
fn a_line_is_short_and_ends_with_a_word() {
    let spec = served("s", "t", &format!("Does {}\nmore", "something ".repeat(50)));
    assert_eq!(line(&spec), format!("Does {}something", "something ".repeat(8)));
    let spec = served("s", "t", &"查询天气".repeat(50));
    assert_eq!(line(&spec).chars().count(), LINE_CHARS);
}

/// If there are more than sixty, the listing has their number, and they can be searched.
#[test]
fn a_large_catalogue_is_counted_and_searched() {
    let catalog = with(57);
    assert_eq!(schemas(&catalog), ["note", "enable_tool"], "60 are listed");
    let catalog = with(58);
    assert_eq!(schemas(&catalog), ["note", "find_tool", "enable_tool"]);
    insta::assert_snapshot!(listing(&catalog), @"
    Of what `find_tool` finds, or of the list below. There are 60 tools of these servers: github, mail, zoo.
    - rare: Does rare
    ");
    let all = catalog.extensions().count();
    let found = catalog.finding(&json!({ "query": "open an issue" })).unwrap();
    insta::assert_snapshot!(search_result(all, &found, &["github_create_issue".into()]), @"
    1 of 61 tools, best match first:
    - github_create_issue: Opens an issue (title, labels?) [callable]
    ");
    let found = catalog.finding(&json!({ "query": "feed the animals in a cage" })).unwrap();
    assert_eq!(found.len(), FOUND);
    let none = catalog.finding(&json!({ "query": "股票" })).unwrap();
    assert!(search_result(all, &none, &[]).starts_with("No match among 61 tools"));
    assert!(catalog.finding(&json!({ "query": "  " })).unwrap_err().contains("/query"));
}

/// Servers after the tenth are not named.
#[test]
fn many_servers_do_not_fill_the_prompt() {
    let specs = (0..1000).map(|n| served(&format!("server{:03}", n / 5), &format!("t{n}"), "x"));
    let catalog = Catalog::new(specs.collect(), vec![]).unwrap();
    let said = listing(&catalog);
    assert!(said.ends_with("server009, and 190 others."), "{said}");
    assert!(said.len() < 500, "{said}");
}

/// Progressive is the default; legacy shows all listed tools; direct shows all of a small catalog.
/// Proves MC-08, IC-14.
#[test]
fn the_disclosure_mode_decides_which_schemas_are_shown() {
    let names = |more, mode| schemas(&with(more).disclosing(mode));
    assert_eq!(Disclosure::default(), Disclosure::Progressive);
    assert_eq!(names(0, Disclosure::Progressive), ["note", "enable_tool"]);
    let all = ["note", "rare", "github_create_issue", "mail_send"];
    assert_eq!(names(0, Disclosure::Legacy), all);
    assert_eq!(names(0, Disclosure::Legacy), with(0).names().collect::<Vec<_>>());
    assert_eq!(names(1000, Disclosure::Legacy).len(), 1004);
    assert_eq!(names(0, Disclosure::Direct), all);
    assert_eq!(names(17, Disclosure::Direct).len(), 21, "20 extension tools and a core one");
    assert_eq!(names(18, Disclosure::Direct), ["note", "enable_tool"]);
    assert_eq!(listing(&with(1000).disclosing(Disclosure::Legacy)), "");
}

/// Only the agent's own tools can be enabled; names may be misspelt.
/// Proves MC-09.
#[test]
fn enabling_is_within_what_the_agent_has() {
    let catalog = with(0);
    let enabling = |name: &str| catalog.enabling(&json!({ "toolName": name }));
    assert_eq!(enabling("GithubCreateIssue"), Ok(vec!["github_create_issue".to_owned()]));
    assert_eq!(enabling("note"), Ok(vec![]), "it is callable already");
    let untrusted = enabling("github_create_issues_of_others").unwrap_err();
    assert!(untrusted.starts_with("There is no tool"), "{untrusted}");
    assert!(untrusted.contains("github_create_issue"), "{untrusted}");
}

/// A name in another notation refers to the tool.
/// Proves CA-17.
#[test]
fn a_call_by_another_spelling_means_the_tool() {
    let catalog = with(0);
    for (written, meant) in [
        ("githubCreateIssue", "github_create_issue"),
        ("EnableTool", "enable_tool"),
        ("mail_sent", "mail_send"),
        ("mail-send", "mail_send"),
        ("none such", "none such"),
    ] {
        assert_eq!(catalog.meant(written), meant);
    }
    assert_eq!(catalog.find("find_tool"), ResolvedTool::Find);
}

/// A long file of a skill is loaded in parts, and nothing is lost.
/// Proves MC-13, T8.
#[test]
fn a_long_file_is_loaded_part_by_part() {
    let lines: Vec<_> = (0..3_000).map(|n| format!("{n}: größe 🦀\n")).collect();
    let content = lines.concat();
    let files = [("SKILL.md", "short"), ("long.md", content.as_str())];
    let files = files.map(|(name, text)| (name.to_owned(), text.to_owned())).into();
    let skill = Skill { name: "s".into(), description: "d".into(), files, untrusted: false };
    let catalog = Catalog::new(vec![], vec![skill]).unwrap();
    let (mut whole, mut line) = (String::new(), 1);
    loop {
        let asked = json!({ "name": "s", "file": "long.md", "line": line });
        let (_, text) = catalog.loading(&asked).unwrap();
        assert!(text.chars().count() < 17_000);
        let (part, rest) = text.split_once('\n').unwrap().1.rsplit_once("\n</skill>").unwrap();
        whole.push_str(part);
        let Some((_, next)) = rest.rsplit_once("`line` ") else { break };
        line = next.trim_end_matches('.').parse().unwrap();
    }
    assert_eq!(whole, content);
    let (_, short) = catalog.loading(&json!({ "name": "s" })).unwrap();
    assert_eq!(
        short,
        "<skill name=\"s\" file=\"SKILL.md\">\nshort\n</skill>\nIts other files: long.md"
    );
}
