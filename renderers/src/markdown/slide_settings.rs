//! Front matter of single slides, as Slidev writes it: lines of `key: value` between two `---`.
//!
//! CommonMark would read them as a heading. They are replaced by a rule and a comment that names
//! the class of the slide.

use std::borrow::Cow;

use super::losses::Losses;
use crate::package::text::unquoted;

/// The maximum number of lines of such settings.
const LINES: usize = 40;

/// Keys of Slidev for a single slide; at least one must be present.
const KEYS: [&str; 22] = [
    "layout",
    "transition",
    "level",
    "class",
    "background",
    "clicks",
    "clicksStart",
    "disabled",
    "hide",
    "hideInToc",
    "preload",
    "routeAlias",
    "src",
    "dragPos",
    "zoom",
    "image",
    "url",
    "fonts",
    "theme",
    "backgroundSize",
    "preload",
    "mdc",
];

/// Layouts that show only a title.
const TITLES: [&str; 4] = ["cover", "section", "intro", "end"];

/// Layouts that differ by their slots, or in nothing.
const PLAIN: [&str; 3] = ["default", "two-cols", "two-cols-header"];

/// Replaces the settings of slides; those without an effect are reported.
pub fn apart<'s>(source: &'s str, losses: &mut Losses) -> Cow<'s, str> {
    let lines: Vec<&str> = source.split_inclusive('\n').collect();
    let mut changed: Option<String> = None;
    let mut fence: Option<&str> = None;
    let mut ignored = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        let line = lines[at].trim_end();
        fence = after_fence(fence, line);
        let is_alone = at == 0 || lines[at - 1].trim().is_empty();
        let end = (fence.is_none() && line == "---" && is_alone).then(|| end(&lines, at)).flatten();
        let Some(end) = end else {
            if let Some(text) = &mut changed {
                text.push_str(lines[at]);
            }
            at += 1;
            continue;
        };
        let text = changed.get_or_insert_with(|| lines[..at].concat());
        text.push_str("---\n\n");
        for (key, value) in lines[at + 1..end].iter().filter_map(|line| entry(line)) {
            let is_title = key == "layout" && TITLES.contains(&value)
                || key == "class" && value.split(' ').any(|class| class == "lead");
            if is_title {
                text.push_str("<!-- _class: lead -->\n\n");
            } else if !(ignored.contains(&key) || key == "layout" && PLAIN.contains(&value)) {
                ignored.push(key);
            }
        }
        at = end + 1;
    }
    if !ignored.is_empty() {
        losses.other(format!("Settings of slides were ignored: {}.", ignored.join(", ")));
    }
    changed.map_or(Cow::Borrowed(source), Cow::Owned)
}

/// The line of the closing `---`, if the lines after `at` are settings.
fn end(lines: &[&str], at: usize) -> Option<usize> {
    let inside = lines[at + 1..].iter().take(LINES);
    let count = inside.clone().position(|line| line.trim_end() == "---").filter(|n| *n > 0)?;
    let mut has_known = false;
    for line in inside.take(count) {
        let is_nested = line.starts_with([' ', '\t', '#']) || line.starts_with("- ");
        match entry(line) {
            Some((key, _)) => has_known |= KEYS.contains(&key),
            None if is_nested && !line.trim().is_empty() => {}
            None => return None,
        }
    }
    let first = lines.get(at + 1).and_then(|line| entry(line));
    (has_known && first.is_some()).then_some(at + 1 + count)
}

/// The key and the value of a line.
fn entry(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.trim_end().split_once(':')?;
    let is_key = !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    let is_value = value.is_empty() || value.starts_with(' ');
    (is_key && is_value).then(|| (key, unquoted(value)))
}

/// The open fence after this line.
pub fn after_fence<'s>(open: Option<&'s str>, line: &'s str) -> Option<&'s str> {
    let text = line.trim_start();
    let mark = text.chars().next().filter(|c| matches!(c, '`' | '~'));
    let length = mark.map_or(0, |mark| text.chars().take_while(|c| *c == mark).count());
    match open {
        None if length >= 3 && line.len() - text.len() < 4 => Some(&text[..length]),
        Some(fence) if text.starts_with(fence) && text.trim_end().len() == length => None,
        open => open,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(source: &str) -> (String, Vec<String>) {
        let mut losses = Losses::default();
        let text = apart(source, &mut losses).into_owned();
        (text, losses.warnings().iter().map(ToString::to_string).collect())
    }

    #[test]
    fn settings_of_a_slide_are_no_heading() {
        let (text, losses) = read(
            "# A\n\n---\ntransition: slide-up\nlevel: 2\n---\n\n# B\n\n---\nlayout: cover\n---\n# C\n",
        );
        assert_eq!(text, "# A\n\n---\n\n\n# B\n\n---\n\n<!-- _class: lead -->\n\n# C\n");
        assert_eq!(losses, ["Settings of slides were ignored: transition, level."]);
    }

    #[test]
    fn only_quotation_marks_around_a_value_are_removed() {
        assert_eq!(entry("background: \"sea.jpg\""), Some(("background", "sea.jpg")));
        assert_eq!(entry("class: a 'b'"), Some(("class", "a 'b'")));
    }

    #[test]
    fn other_text_between_rules_stays() {
        for source in [
            "---\n\nSummary: the end\n\n---\n",
            "---\nNote: important\n---\n",
            "text\n---\nlevel: 2\n---\n",
            "```\n\n---\nlevel: 2\n---\n```\n",
            "---\nlevel: 2\nand a sentence\n---\n",
            "---\nlevel: 2\n",
        ] {
            assert_eq!(read(source), (source.to_owned(), vec![]), "{source}");
        }
    }
}
