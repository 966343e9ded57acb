//! What a person is shown before an edit: a diff, or the new file, in a fence that holds.

use similar::TextDiff;
use std::time::Duration;

const MAX_DIFF_LINES: usize = 120;
const MAX_NEW_LINES: usize = 60;
const MAX_LINE_CHARS: usize = 300;

/// A larger text is not compared: nobody reads that, and it would take long.
const MAX_COMPARED_BYTES: usize = 1024 * 1024;

/// The change of an existing file.
pub fn changed(path: &str, old: &str, new: &str) -> String {
    if old == new {
        return "Nothing changes.".to_owned();
    }
    if old.len().max(new.len()) > MAX_COMPARED_BYTES {
        return format!("{} bytes are replaced by {} bytes.", old.len(), new.len());
    }
    let unified = [old, new].iter().all(|text| is_crlf(text));
    let plain = |text: &str| if unified { text.replace("\r\n", "\n") } else { text.to_owned() };
    let (old, new) = (plain(old), plain(new));
    let diff = TextDiff::configure().timeout(Duration::from_secs(1)).diff_lines(&old, &new);
    let (before, after) = (format!("a/{path}"), format!("b/{path}"));
    let text = diff.unified_diff().context_radius(3).header(&before, &after).to_string();
    fenced("diff", &text, MAX_DIFF_LINES)
}

/// A file that is new.
pub fn created(content: &str) -> String {
    if content.is_empty() {
        return "The new file is empty.".to_owned();
    }
    fenced("", content, MAX_NEW_LINES)
}

/// Longer than any run of backticks inside, so that nothing gets out of it.
fn fenced(language: &str, text: &str, max_lines: usize) -> String {
    let lines: Vec<String> = text.split_terminator('\n').map(visible).collect();
    let shown = lines[..lines.len().min(max_lines)].join("\n");
    let fence = "`".repeat(longest_run(&shown).max(2) + 1);
    let rest = match lines.len().saturating_sub(max_lines) {
        0 => String::new(),
        1 => "\n… and 1 more line".to_owned(),
        more => format!("\n… and {more} more lines"),
    };
    format!("{fence}{language}\n{shown}\n{fence}{rest}")
}

fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

/// Every line ends with CRLF.
fn is_crlf(text: &str) -> bool {
    text.matches('\n').count() == text.matches("\r\n").count()
}

/// A line whose every character can be seen: what turns or hides text is written out.
fn visible(line: &str) -> String {
    let mut seen = String::new();
    for (count, c) in line.chars().enumerate() {
        if count == MAX_LINE_CHARS {
            seen.extend([format!(" … and {} more characters", line.chars().count() - count)]);
            break;
        }
        match c {
            '\t' => seen.push(c),
            '\r' => seen.push('␍'),
            '\u{200b}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{2069}'
            | '\u{feff}' => seen.extend(c.escape_unicode()),
            c if c.is_control() => seen.extend(c.escape_unicode()),
            c => seen.push(c),
        }
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_shown_as_a_unified_diff() {
        assert_eq!(
            changed("a.rs", "one\ntwo\nthree\n", "one\n2\nthree\n"),
            "```diff\n--- a/a.rs\n+++ b/a.rs\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n```"
        );
        assert_eq!(changed("a", "x", "x"), "Nothing changes.");
    }

    #[test]
    fn a_fence_inside_does_not_end_the_fence() {
        let shown = created("text\n````\ncode\n````\n");
        assert!(shown.starts_with("`````\n") && shown.ends_with("\n`````"), "{shown}");
    }

    #[test]
    fn a_long_file_is_cut_and_the_rest_is_counted() {
        let shown = created(&"x\n".repeat(100));
        assert_eq!(shown.lines().filter(|line| *line == "x").count(), 60);
        assert!(shown.ends_with("\n… and 40 more lines"), "{shown}");
        assert!(created(&"x\n".repeat(61)).ends_with("… and 1 more line"));
        let long = created(&"y".repeat(1000));
        assert!(long.contains("… and 700 more characters"), "{long}");
    }

    #[test]
    fn what_would_mislead_the_eye_is_written_out() {
        assert!(created("a\u{202e}b\u{1b}[2J").contains("a\\u{202e}b\\u{1b}[2J"));
    }

    #[test]
    fn line_ends_are_shown_only_where_they_differ() {
        let same = changed("a", "a\r\nb\r\n", "a\r\nc\r\n");
        assert!(!same.contains('␍'), "{same}");
        let other = changed("a", "a\r\n", "a\n");
        assert!(other.contains("-a␍") && other.contains("+a\n"), "{other}");
    }

    #[test]
    fn giants_are_not_compared() {
        let big = "a\n".repeat(600_000);
        assert_eq!(changed("a", &big, "b"), "1200000 bytes are replaced by 1 bytes.");
    }
}
