//! Formulas in `\( … \)` and `\[ … \]`, which most language models write, as `$ … $` and `$$ … $$`.
//!
//! In CommonMark these are escaped brackets, so only content that looks like a formula is changed,
//! and code never.

use std::borrow::Cow;
use std::collections::HashSet;

use comrak::nodes::NodeValue;
use comrak::{Arena, Options};

/// The maximum length of a formula, in bytes.
const FORMULA_BYTES: usize = 4 * 1024;
/// How many bytes of indentation and list marks before a formula are looked at.
const MARGIN_BYTES: usize = 200;

/// The source with its formulas between dollar signs. The time is proportional to its length.
pub fn to_dollars(source: &str) -> Cow<'_, str> {
    if !source.contains("\\(") && !source.contains("\\[") {
        return Cow::Borrowed(source);
    }
    let code = code_lines(source);
    let mut changed = String::with_capacity(source.len());
    let mut reader =
        Reader { source, at: 0, line_start: 0, paragraph_end: 0, absent: HashSet::new() };
    let mut line = 1;
    while reader.at < source.len() {
        let rest = reader.rest();
        let length = if reader.at == reader.line_start && code.contains(&line) {
            let length = rest.find('\n').map_or(rest.len(), |end| end + 1);
            changed.push_str(&rest[..length]);
            length
        } else if let Some((length, formula)) = reader.formula() {
            changed.push_str(&formula);
            length
        } else {
            let length = reader.unchanged();
            changed.push_str(&rest[..length]);
            length
        };
        line += reader.advance(length);
    }
    Cow::Owned(changed)
}

struct Reader<'s> {
    source: &'s str,
    at: usize,
    /// Where the line begins.
    line_start: usize,
    /// Where the paragraph ends, if that is behind `at`.
    paragraph_end: usize,
    /// Lengths of runs of backticks that do not occur in the rest of the text.
    absent: HashSet<usize>,
}

/// The lines of code blocks and HTML blocks.
fn code_lines(source: &str) -> HashSet<usize> {
    let arena = Arena::new();
    let root = comrak::parse_document(&arena, source, &Options::default());
    let mut lines = HashSet::new();
    for node in root.descendants() {
        let data = node.data();
        if matches!(data.value, NodeValue::CodeBlock(_) | NodeValue::HtmlBlock(_)) {
            lines.extend(data.sourcepos.start.line..=data.sourcepos.end.line);
        }
    }
    lines
}

impl<'s> Reader<'s> {
    fn rest(&self) -> &'s str {
        &self.source[self.at..]
    }

    /// Returns the number of line breaks that were passed.
    fn advance(&mut self, length: usize) -> usize {
        let passed = &self.rest()[..length];
        if let Some(last) = passed.rfind('\n') {
            self.line_start = self.at + last + 1;
        }
        self.at += length;
        passed.matches('\n').count()
    }

    /// The length of the text that is copied unchanged: an escape, a code span, or up to the next
    /// of them.
    fn unchanged(&mut self) -> usize {
        let rest = self.rest();
        let first = rest.chars().next().map_or(1, char::len_utf8);
        match rest.as_bytes()[0] {
            b'\\' => first + rest[first..].chars().next().map_or(0, char::len_utf8),
            b'`' => self.span(),
            b'\n' => 1,
            _ => rest.find(['\\', '`', '\n']).unwrap_or(rest.len()),
        }
    }

    /// The length of a code span, or of its opening marks if it has no end in its paragraph.
    fn span(&mut self) -> usize {
        let rest = self.rest();
        let marks = rest.bytes().take_while(|byte| *byte == b'`').count();
        if self.absent.contains(&marks) {
            return marks;
        }
        if self.paragraph_end <= self.at + marks {
            let end = rest[marks..].find("\n\n").map_or(rest.len(), |end| marks + end);
            self.paragraph_end = self.at + end;
        }
        let paragraph = &self.source[self.at..self.paragraph_end];
        let mut at = marks;
        while let Some(from) = paragraph[at..].find('`') {
            at += from;
            let run = paragraph[at..].bytes().take_while(|byte| *byte == b'`').count();
            at += run;
            if run == marks {
                return at;
            }
        }
        if self.paragraph_end == self.source.len() {
            self.absent.insert(marks);
        }
        marks
    }

    /// The length of the formula in brackets that begins here, and its new text.
    fn formula(&self) -> Option<(usize, String)> {
        let rest = self.rest();
        let (close, sign, is_display) = match rest.get(..2)? {
            "\\(" => (')', "$", false),
            "\\[" => (']', "$$", true),
            _ => return None,
        };
        let end = closing(rest, close)?;
        let inside = &rest[2..end];
        let length = end + 2;
        let before = &self.source[self.line_start..self.at];
        let is_alone = before.len() <= MARGIN_BYTES
            && before.chars().all(|c| c.is_whitespace() || "->*+.0123456789".contains(c))
            && rest[length..].lines().next().is_none_or(|after| after.trim().is_empty());
        let mut margin = before.bytes().take(MARGIN_BYTES);
        let is_quoted = margin.find(|byte| !byte.is_ascii_whitespace()) == Some(b'>');
        let joined: Vec<&str> = inside
            .lines()
            .map(|line| if is_quoted { line.trim_start_matches(['>', ' ']) } else { line }.trim())
            .filter(|line| !line.is_empty())
            .collect();
        let joined = joined.join(" ");
        let fits = if is_display {
            has_signs(&joined) || is_alone && has_short_words(&joined)
        } else {
            has_signs(&joined) || has_short_words(&joined)
        };
        // The closing dollar sign of a formula in a line is not followed by a digit.
        let is_followed = !is_display && rest[length..].starts_with(|c: char| c.is_ascii_digit());
        if joined.is_empty() || joined.contains('$') || is_followed || !fits {
            return None;
        }
        Some((length, format!("{sign}{joined}{sign}")))
    }
}

/// The position of the closing bracket in the same paragraph.
fn closing(rest: &str, close: char) -> Option<usize> {
    let mut chars = rest.char_indices().skip(2).peekable();
    while let Some((at, c)) = chars.next() {
        match c {
            _ if at > FORMULA_BYTES => return None,
            '\n' if rest[at + 1..].lines().next().is_none_or(|line| line.trim().is_empty()) => {
                return None;
            }
            '\\' => match chars.next() {
                Some((_, next)) if next == close => return Some(at),
                Some((_, '(' | '[')) if close == ')' => return None,
                Some((_, '[')) => return None,
                _ => {}
            },
            _ => {}
        }
    }
    None
}

/// Signs that occur in formulas and hardly in prose.
fn has_signs(text: &str) -> bool {
    text.contains(['\\', '^', '_', '=', '<', '>', '{', '+'])
}

/// Whether there are letters, and no words of more than two.
fn has_short_words(text: &str) -> bool {
    let words = text.split(|c: char| !c.is_alphabetic()).filter(|word| !word.is_empty());
    let mut lengths = words.map(|word| word.chars().count()).peekable();
    lengths.peek().is_some() && lengths.all(|length| length <= 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formulas_in_brackets_get_dollars() {
        for (source, expected) in [
            (r"so \( x^2 = 4 \) and", "so $x^2 = 4$ and"),
            (r"a \(n\) b", "a $n$ b"),
            (r"\[ x = \pm 2 \]", r"$$x = \pm 2$$"),
            ("\\[\na \\\\ b\n= c\n\\]\n", "$$a \\\\ b = c$$\n"),
            ("> \\[\n> a = b\n> \\]\n", "> $$a = b$$\n"),
            (r"- \(a, b\), \(c\)", "- $a, b$, $c$"),
        ] {
            assert_eq!(to_dollars(source), expected, "{source}");
        }
    }

    #[test]
    fn escaped_brackets_and_code_stay() {
        for source in [
            r"\(see below\) and \[not a link\]",
            r"`\( x^2 \)` and ``\[ ` x=1 \]``",
            "```\n\\( x^2 \\)\n```\n",
            "    \\[ x = 1 \\]\n",
            "\\( a =\n\nb \\)",
            r"\\( x^2 \\)",
            r"\(2026\)",
            r"- \[x\] done",
            r"open \( x^2",
            r"\( a \[ b \)",
        ] {
            assert_eq!(to_dollars(source), source, "{source}");
        }
    }

    #[test]
    fn many_open_brackets_end() {
        for opened in ["\\( x^2 ` ", "\\[ x^2 `` ` ", "\\( x ` \n"] {
            let many = opened.repeat(100_000);
            assert_eq!(to_dollars(&many).len(), many.len());
        }
        let many = format!("{}{}", ".".repeat(200_000), r"\(x\) ".repeat(100_000));
        assert_eq!(to_dollars(&many).len(), 200_000 + "$x$ ".len() * 100_000);
    }
}
