//! The preview of an edit: a diff or the new file, in a fence that the contents cannot close.

use similar::TextDiff;
use std::time::Duration;

use crate::texts::{
    PreviewNote,
    preview::{Block, Preview},
};

const MAX_DIFF_LINES: usize = 120;
const MAX_NEW_LINES: usize = 60;
const MAX_LINE_CHARS: usize = 300;

/// Larger texts are not compared: the diff would be too long to read, and computing it would be
/// slow.
const MAX_COMPARED_BYTES: usize = 1024 * 1024;

/// The change of an existing file.
pub fn changed(path: &str, old: &str, new: &str) -> Preview {
    if old == new {
        return Preview::note(PreviewNote::Unchanged);
    }
    if old.len().max(new.len()) > MAX_COMPARED_BYTES {
        let sizes = PreviewNote::Replaced { before: old.len(), after: new.len() };
        return shortened("", new.to_owned(), 0).after(sizes);
    }
    let unified = [old, new].iter().all(|text| is_crlf(text));
    let plain = |text: &str| if unified { text.replace("\r\n", "\n") } else { text.to_owned() };
    let (old, new) = (plain(old), plain(new));
    let diff = TextDiff::configure().timeout(Duration::from_secs(1)).diff_lines(&old, &new);
    let (before, after) = (format!("a/{path}"), format!("b/{path}"));
    let text = diff.unified_diff().context_radius(3).header(&before, &after).to_string();
    shortened("diff", text, MAX_DIFF_LINES)
}

/// A new file.
pub fn created(content: &str) -> Preview {
    if content.is_empty() {
        return Preview::note(PreviewNote::EmptyFile);
    }
    shortened("", content.to_owned(), MAX_NEW_LINES)
}

fn shortened(language: &'static str, text: String, lines: usize) -> Preview {
    Preview::block(Block { language, text, lines, line_chars: MAX_LINE_CHARS })
}

/// Every line ends with CRLF.
fn is_crlf(text: &str) -> bool {
    text.matches('\n').count() == text.matches("\r\n").count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_shown_as_a_unified_diff() {
        assert_eq!(
            changed("a.rs", "one\ntwo\nthree\n", "one\n2\nthree\n").shown(),
            "```diff\n--- a/a.rs\n+++ b/a.rs\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n```"
        );
        assert_eq!(changed("a", "x", "x").shown(), "Nothing changes.");
    }

    #[test]
    fn a_fence_inside_does_not_end_the_fence() {
        let shown = created("text\n````\ncode\n````\n").shown();
        assert!(shown.starts_with("`````\n") && shown.ends_with("\n`````"), "{shown}");
    }

    #[test]
    fn a_long_file_is_cut_and_the_rest_is_counted() {
        let preview = created(&"x\n".repeat(100));
        assert_eq!(preview.everything().matches('x').count(), 100);
        let shown = preview.shown();
        assert_eq!(shown.lines().filter(|line| *line == "x").count(), 60);
        assert!(shown.ends_with("\n… and 40 more lines"), "{shown}");
        assert!(created(&"x\n".repeat(61)).shown().ends_with("… and 1 more line"));
        let long = created(&"y".repeat(1000));
        assert!(long.shown().contains("… and 700 more characters"), "{}", long.shown());
        assert!(long.everything().contains(&"y".repeat(1000)));
        assert!(!created(&"z\n".repeat(60)).is_cut());
    }

    #[test]
    fn invisible_characters_are_escaped() {
        let shown = created("a\u{202e}b\u{1b}[2J").shown();
        assert!(shown.contains("a‹U+202E›b‹U+001B›[2J"), "{shown}");
    }

    #[test]
    fn line_ends_are_shown_only_where_they_differ() {
        let same = changed("a", "a\r\nb\r\n", "a\r\nc\r\n").shown();
        assert!(!same.contains('␍'), "{same}");
        let other = changed("a", "a\r\n", "a\n").shown();
        assert!(other.contains("-a␍") && other.contains("+a\n"), "{other}");
    }

    #[test]
    fn giants_are_not_compared() {
        let big = "a\n".repeat(600_000);
        let preview = changed("a", &big, "b").covering(&["content"]);
        assert_eq!(preview.shown(), "1200000 bytes are replaced by 1 bytes.");
        assert!(!preview.covers("content"), "sizes stand for no content");
    }
}
