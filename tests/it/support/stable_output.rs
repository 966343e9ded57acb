//! Messages and pages for inline snapshots, without the parts that differ between runs.

use regex::Regex;
use std::sync::LazyLock;

use crate::support::fake_channel::Message;

/// Variable parts, and their placeholders.
static UNSTABLE: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    let patterns = [
        (r"\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b", "<id>"),
        (r"\b[0-9a-f]{32}-\d+\b", "<reference>"),
        (r"\b[0-9a-f]{16,64}\b", "<digest>"),
        (r"\b(?:[0-9a-f]{8}|[0-9A-Z]{10})\b", "<code>"),
        (r"/(?:[\w.-]+/)*\.tmp\w{6}\b", "<folder>"),
        // Also in Markdown, with its escapes.
        (r"\b127\\?\.0\\?\.0\\?\.1\\?:\d+", "127.0.0.1:<port>"),
    ];
    patterns.map(|(pattern, placeholder)| (Regex::new(pattern).unwrap(), placeholder)).into()
});

/// The text with placeholders for ids, digests, codes, temporary folders and ports.
pub fn stable(text: &str) -> String {
    UNSTABLE.iter().fold(text.to_owned(), |text, (pattern, placeholder)| {
        pattern.replace_all(&text, *placeholder).into_owned()
    })
}

/// A message on one line: the first and the last line of its text, its buttons, its file.
pub fn line(message: &Message) -> String {
    let text = stable(&message.text);
    let (first, last) = (text.lines().next(), text.lines().last());
    let (first, last) = (first.unwrap_or_default(), last.unwrap_or_default());
    let text = if first == last { first.to_owned() } else { format!("{first} … {last}") };
    let labels: Vec<_> = message.buttons.iter().map(|(label, _)| format!(" [{label}]")).collect();
    let file = message.file.as_ref().map_or(String::new(), |(name, _)| format!("📎 {name}"));
    format!("{text}{}{file}", labels.concat())
}

/// The visible text of a console page, or of a part of one: the title and the main content, one
/// line per block, buttons in brackets.
pub fn visible(html: &str) -> String {
    static TAGS: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
        let patterns = [
            (r"^[^<>]*>", ""),
            (r"(?s)<(?:input|option|textarea)[^>]*>", ""),
            (r"(?s)\s*<button[^>]*>(.*?)</button>", " [$1]"),
            (r"</t[dh]>\s*<t[dh][^>]*>", " | "),
            (r"</?(?:p|h\d|li|tr|div|pre|summary|dt|header|form|table)\b[^>]*>", "\n"),
            (r"(?s)<[^>]*>", ""),
            (r"[ \t]+", " "),
            (r"\s*\n\s*", "\n"),
        ];
        patterns.map(|(pattern, instead)| (Regex::new(pattern).unwrap(), instead)).into()
    });
    let within =
        |start: &str, end: &str| html.split_once(start)?.1.split_once(end).map(|(in_it, _)| in_it);
    let main = within("<main", "</main>").and_then(|main| main.split_once('>'));
    let html = match (within("<title>", "</title>"), main) {
        (Some(title), Some((_, main))) => format!("{title}\n{main}"),
        _ => html.to_owned(),
    };
    let text = TAGS
        .iter()
        .fold(html, |text, (pattern, instead)| pattern.replace_all(&text, *instead).into_owned());
    let signs = [
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&#x27;", "'"),
        ("&#x2f;", "/"),
        ("&amp;", "&"),
    ];
    let text = signs.iter().fold(text, |text, (escaped, sign)| text.replace(escaped, sign));
    stable(text.trim())
}

#[test]
fn variable_values_are_replaced() {
    let text =
        "`1a2b3c4d` 0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b http://127.0.0.1:4711/ /tmp/.tmpAbC123/x";
    insta::assert_snapshot!(stable(text), @"`<code>` <id> http://127.0.0.1:<port>/ <folder>/x");
    assert_eq!(stable("at 10:00 on 2026-05-04, `delete`"), "at 10:00 on 2026-05-04, `delete`");
}
