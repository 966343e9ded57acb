//! `manual`: the documentation of this build, which the agent reads to answer questions about the
//! bot.

use super::custom::{Tier, tool};

/// The maximum number of lines of a search.
const FOUND_LINES: usize = 40;
/// The maximum length of an answer. A longer page is read by sections.
const ANSWER_CHARS: usize = 12_000;

/// A page of `docs/`: its path without the extension, and its Markdown.
pub type ManualPage = (&'static str, &'static str);

macro_rules! pages {
    ($($path:literal),* $(,)?) => {
        &[$(($path, include_str!(concat!("../../docs/", $path, ".md")))),*]
    };
}

/// All pages for people who use or run the gateway, in the order of `docs/SUMMARY.md`. Pages under
/// `development/` are left out.
pub const PAGES: &[ManualPage] = pages![
    "README",
    "getting-started/install",
    "getting-started/telegram",
    "getting-started/discord",
    "getting-started/web-chat",
    "getting-started/models",
    "concepts/approvals",
    "concepts/guard-rules",
    "concepts/untrusted-content",
    "concepts/sandbox",
    "concepts/disclosure",
    "concepts/memory",
    "concepts/schedules",
    "concepts/delegation",
    "concepts/jobs",
    "concepts/threat-model",
    "guides/console",
    "guides/mcp",
    "guides/skills",
    "guides/extensions",
    "guides/builder",
    "guides/wiki",
    "guides/hooks",
    "guides/http",
    "guides/datasources",
    "guides/browser",
    "guides/media",
    "guides/webhooks",
    "guides/oidc",
    "guides/widget",
    "guides/openai-api",
    "guides/documents",
    "guides/custom-tool",
    "guides/wasm-tools",
    "guides/reverse-proxy",
    "guides/cluster",
    "guides/backup",
    "reference/configuration",
    "reference/cli",
    "reference/chat-commands",
    "reference/api",
    "reference/metrics",
    "reference/events",
    "reference/rules",
    "reference/tools",
    "operations/doctor",
    "operations/monitoring",
    "operations/upgrading",
    "operations/retention",
    "operations/erasure",
    "operations/audit",
    "operations/troubleshooting",
];

/// Documentation of this gateway.
///
/// Installation, chat commands, approvals, guard rules, configuration keys, documents, operation.
/// Without a topic: the list of pages.
#[tool(tier = Tier::Extension, cache = true)]
pub fn manual(
    /// A page or a section by its name, or a word to look for, such as a configuration key
    topic: Option<String>,
) -> Result<String, String> {
    let Some(topic) = topic.filter(|topic| !topic.trim().is_empty()) else {
        return Ok(contents());
    };
    let wanted = topic.trim().trim_end_matches(".md").to_lowercase();
    if let Some((path, text)) = PAGES.iter().find(|page| is_called(page, &wanted)) {
        return Ok(page(path, text));
    }
    let all = PAGES
        .iter()
        .flat_map(|(path, text)| sections(text).into_iter().map(move |section| (*path, section)));
    let all: Vec<_> = all.collect();
    let named = all.iter().filter(|(_, section)| section.name.to_lowercase() == wanted);
    let named =
        named.map(|(path, Section { name, body, .. })| format!("# {name} ({path})\n{body}"));
    let named = named.collect::<Vec<_>>().concat();
    if !named.is_empty() {
        return Ok(bounded(named));
    }
    let lines = all.iter().flat_map(|(path, Section { name, body, .. })| {
        let has_it = |line: &&str| line.to_lowercase().contains(&wanted);
        body.lines().filter(has_it).map(move |line| format!("{path}, {name}: {line}\n"))
    });
    let found: String = lines.take(FOUND_LINES).collect();
    if found.is_empty() {
        return Err(format!("The manual has nothing about that.\n{}", contents()));
    }
    Ok(bounded(found))
}

fn contents() -> String {
    let line = |(path, text): &ManualPage| format!("- {path}: {}\n", title(text));
    let lines: String = PAGES.iter().map(line).collect();
    format!("The pages of the manual:\n{lines}")
}

fn is_called(page: &ManualPage, wanted: &str) -> bool {
    let (path, text) = page;
    let last = path.rsplit('/').next().unwrap_or(path);
    [*path, last, title(text)].iter().any(|name| name.to_lowercase() == *wanted)
}

fn title(text: &str) -> &str {
    text.lines().find_map(|line| line.strip_prefix("# ")).unwrap_or_default()
}

/// The whole page or, if it is too long, its beginning and the names of its sections.
fn page(path: &str, text: &str) -> String {
    let sections = sections(text);
    let shown =
        |Section { level, name, body }: &Section| format!("{} {name}\n{body}", "#".repeat(*level));
    let whole = sections.iter().map(shown).collect::<Vec<_>>().concat();
    if whole.chars().count() <= ANSWER_CHARS {
        return whole;
    }
    let names = sections.iter().map(|section| format!("- {}\n", section.name));
    let names = names.collect::<Vec<_>>().concat();
    let names = format!("The page {path} is long. Ask for one of its sections:\n{names}\n");
    bounded(names + &whole)
}

fn bounded(text: String) -> String {
    match text.char_indices().nth(ANSWER_CHARS) {
        None => text,
        Some((end, _)) => format!("{}\n(cut: ask for a section or a word)", &text[..end]),
    }
}

#[derive(Default)]
struct Section {
    level: usize,
    name: String,
    body: String,
}

/// Splits by headings, except in code blocks. Pictures and comments are left out.
fn sections(text: &str) -> Vec<Section> {
    let (mut sections, mut current, mut fence) = (Vec::new(), Section::default(), None);
    for line in text.lines() {
        let ticks = line.len() - line.trim_start_matches('`').len();
        match fence {
            None if ticks >= 3 => fence = Some(ticks),
            Some(open) if ticks >= open => fence = None,
            _ => {}
        }
        let level = line.len() - line.trim_start_matches('#').len();
        match line[level..].strip_prefix(' ').filter(|_| level > 0 && fence.is_none()) {
            Some(name) => {
                let next = Section { level, name: name.trim().to_owned(), body: String::new() };
                sections.push(std::mem::replace(&mut current, next));
            }
            None if line.starts_with("![") || line.starts_with("<!--") => {}
            None => {
                current.body += line;
                current.body.push('\n');
            }
        }
    }
    sections.push(current);
    sections.retain(|section| !section.body.trim().is_empty());
    sections
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reads(topic: &str) -> Result<String, String> {
        manual(Some(topic.to_owned()))
    }

    /// The agent reads the documentation of this build.
    /// Proves MC-38.
    #[test]
    fn the_agent_reads_our_documentation() {
        let names = manual(None).expect("the pages");
        for name in ["getting-started/install: ", "concepts/guard-rules: ", "guides/documents: "] {
            assert!(names.contains(name), "{name}: {names}");
        }
        assert!(reads("guard rules").expect("a title").contains("pipes"));
        assert!(reads("guides/backup.md").expect("a path").starts_with("# "));
        assert!(reads("Shell commands").expect("a section").contains("(concepts/guard-rules)"));
        let key = reads("guard.approval_timeout").expect("a key");
        assert!(
            key.contains("reference/configuration, `[guard]`: | `guard.approval_timeout`"),
            "{key}"
        );
        assert!(reads("zebras").expect_err("nothing").contains("reference/configuration"));
        assert_eq!(reads(" ").expect("the pages"), names);
    }

    #[test]
    fn an_answer_is_bounded_and_names_the_sections_of_a_long_page() {
        for (path, _) in PAGES {
            assert!(reads(path).expect("a page").chars().count() < ANSWER_CHARS + 100, "{path}");
        }
        let long = reads("reference/configuration").expect("a page");
        assert!(long.contains("- `[guard]`\n") && long.ends_with("word)"), "{long}");
        assert!(reads("e").expect("lines").lines().count() <= FOUND_LINES + 1);
    }

    #[test]
    fn headings_in_code_blocks_are_ignored() {
        let text = "# A\none\n````text\n```\n# B\n```\n# C\n````\n![p](q)\n## D\ntwo\n#no\n";
        let read = sections(text);
        let names: Vec<_> = read.iter().map(|section| section.name.as_str()).collect();
        assert_eq!(names, ["A", "D"]);
        assert!(read[0].body.contains("# C") && !read[0].body.contains("![p]"));
    }
}
