//! Cutting Markdown at good places: between paragraphs, lines, sentences, words; never within a
//! character that a person sees as one. Code fences and table headers are repeated behind a cut.

use unicode_segmentation::UnicodeSegmentation;

use super::{
    fence::{Carry, carry, in_fence, on_fence_line},
    format,
};
use crate::limits::Unit;

/// Parts of `markdown`, none of which is longer than `limit` once it is formatted. One part, the
/// same text, if it fits; none if there is nothing to show.
pub fn split(markdown: &str, limit: usize, unit: Unit) -> Vec<String> {
    let mut parts = Vec::new();
    let mut rest = Some(Rest { text: markdown.to_owned(), carried: 0 });
    while let Some(now) = rest {
        let (part, left) = now.cut(&Measure { limit, unit });
        parts.extend(part);
        rest = left;
    }
    parts
}

/// The longest good beginning of `markdown` that fits, and what is left.
pub fn split_off(markdown: &str, limit: usize, unit: Unit) -> (Option<String>, Option<String>) {
    let rest = Rest { text: markdown.to_owned(), carried: 0 };
    let (part, left) = rest.cut(&Measure { limit, unit });
    (part, left.map(|rest| rest.text))
}

/// Plain text, cut to `limit` with an ellipsis.
pub fn cut(text: &str, limit: usize, unit: Unit) -> String {
    if unit.count(text) <= limit {
        return text.to_owned();
    }
    let mut kept = String::new();
    let mut room = limit.saturating_sub(1);
    for grapheme in text.graphemes(true) {
        let Some(left) = room.checked_sub(unit.count(grapheme)) else { break };
        room = left;
        kept.push_str(grapheme);
    }
    kept.push('…');
    kept
}

struct Measure {
    limit: usize,
    unit: Unit,
}

impl Measure {
    fn of(&self, markdown: &str) -> usize {
        self.unit.of(markdown)
    }

    /// How far into the source a cut is looked for: far enough for any usual share of markup, near
    /// enough that a very long text is not formatted again and again.
    fn window(&self, text: &str) -> usize {
        let mut end = text.len().min(self.limit.saturating_mul(4).saturating_add(256));
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        end
    }
}

struct Rest {
    text: String,
    /// The bytes at the beginning that only repeat what was said before (a fence, a table header).
    carried: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Paragraph,
    Line,
    Sentence,
    Word,
    Grapheme,
    /// Only for a grapheme that is longer than the limit.
    Char,
}

const PLACES: [Place; 6] =
    [Place::Paragraph, Place::Line, Place::Sentence, Place::Word, Place::Grapheme, Place::Char];

impl Rest {
    fn cut(self, measure: &Measure) -> (Option<String>, Option<Rest>) {
        if self.text[self.carried..].trim().is_empty() {
            return (None, None);
        }
        let window = measure.window(&self.text);
        if window == self.text.len() && measure.of(&self.text) <= measure.limit {
            return (self.is_shown().then(|| self.text.clone()), None);
        }
        let at = self.best(measure, window);
        let (head, tail) = self.at(at, measure);
        (Some(head), Some(tail))
    }

    /// A text that is nothing but a fence left over from the part before shows nothing.
    fn is_shown(&self) -> bool {
        self.carried == 0 || !format(&self.text).text.is_empty()
    }

    fn best(&self, measure: &Measure, window: usize) -> usize {
        let enough = measure.limit / 4;
        let mut unclean = None;
        for place in PLACES {
            let candidates = self.candidates(place, window);
            let fitting = candidates
                .partition_point(|at| measure.of(&self.at(*at, measure).0) <= measure.limit);
            let last = matches!(place, Place::Grapheme | Place::Char);
            for at in candidates[..fitting].iter().rev().take(8) {
                let shown = measure.of(&self.at(*at, measure).0);
                if shown == 0 || shown > measure.limit || (!last && shown < enough) {
                    continue;
                }
                if self.is_clean(*at, place, window) {
                    return *at;
                }
                unclean = unclean.or(Some(*at));
            }
        }
        unclean.unwrap_or_else(|| self.next_char())
    }

    /// The least that makes progress, for a limit that nothing fits into.
    fn next_char(&self) -> usize {
        let next = self.text[self.carried..].chars().next().map_or(0, char::len_utf8);
        self.carried + next
    }

    fn candidates(&self, place: Place, window: usize) -> Vec<usize> {
        let text = &self.text[..window];
        let all: Vec<usize> = match place {
            Place::Paragraph => paragraphs(text),
            Place::Line => text.match_indices('\n').map(|(at, _)| at + 1).collect(),
            Place::Sentence => text.split_sentence_bound_indices().map(|(at, _)| at).collect(),
            Place::Word => spaces(text),
            Place::Grapheme => text.grapheme_indices(true).map(|(at, _)| at).collect(),
            Place::Char => text.char_indices().map(|(at, _)| at).collect(),
        };
        let inside = !matches!(place, Place::Paragraph | Place::Line | Place::Char);
        let allowed = |at: &usize| {
            *at > self.carried
                && *at < self.text.len()
                && !is_escaped(&self.text[..*at])
                && !(inside && on_fence_line(&self.text, *at))
        };
        all.into_iter().filter(allowed).collect()
    }

    /// Whether the cut leaves the meaning as it was: both sides, formatted, show what the whole
    /// shows, so that no emphasis, link or code is torn apart.
    fn is_clean(&self, at: usize, place: Place, window: usize) -> bool {
        if place == Place::Paragraph || in_fence(&self.text[..at]) {
            return true;
        }
        let (head, tail) = (&self.text[..at], &self.text[at..window]);
        if place == Place::Line && matches!(carry(&self.text, at), Some(Carry::Header(_))) {
            return true;
        }
        let solid = |text: &str| -> String {
            format(text).text.chars().filter(|c| !c.is_whitespace()).collect()
        };
        solid(head) + &solid(&guarded(tail, place_is_inner(head))) == solid(&self.text[..window])
    }

    /// Both sides of a cut, each complete in itself.
    fn at(&self, at: usize, measure: &Measure) -> (String, Rest) {
        let (head, tail) = self.text.split_at(at);
        match carry(&self.text, at) {
            Some(Carry::Fence { opening, closing }) => {
                let head = format!("{}\n{closing}", head.trim_end_matches('\n'));
                (head, Rest { carried: opening.len() + 1, text: format!("{opening}\n{tail}") })
            }
            Some(Carry::Header(header)) if measure.of(&header) <= measure.limit / 4 => {
                let text = format!("{header}{tail}");
                (head.trim_end().to_owned(), Rest { carried: header.len(), text })
            }
            _ => {
                let text = guarded(tail, place_is_inner(head));
                let carried = usize::from(text.starts_with('\\') && !tail.starts_with('\\'));
                (head.trim_end().to_owned(), Rest { text, carried })
            }
        }
    }
}

fn place_is_inner(head: &str) -> bool {
    !head.ends_with('\n')
}

/// What follows a cut, so that its first characters do not suddenly mean something: a word that
/// looks like a heading, a list, a rule or a definition only because a line begins with it now.
fn guarded(tail: &str, inner: bool) -> String {
    let tail = if inner { tail.trim_start() } else { tail.trim_start_matches('\n') };
    if let Some(items) = (!inner).then(|| outdented(tail)).flatten() {
        return items;
    }
    let line = tail.lines().next().unwrap_or("").trim_end();
    let first = line.chars().next();
    let rest = line.trim_start_matches(|c| Some(c) == first);
    let definition = line.starts_with('[') && line.contains("]:");
    let marker = match first {
        Some('#' | '-' | '+' | '*') => rest.is_empty() || rest.starts_with([' ', '\t']),
        Some('>') => true,
        Some('=' | '_') => rest.is_empty(),
        Some('`' | '~') => line.len() - rest.len() >= 3,
        _ => false,
    };
    if definition || (inner && marker) { format!("\\{tail}") } else { tail.to_owned() }
}

/// An inner item of a list, and what belongs to it, as an outer one: without the list around it, its
/// indentation would make code of it.
fn outdented(tail: &str) -> Option<String> {
    let body = tail.trim_start_matches(' ');
    let indent = tail.len() - body.len();
    let marker = body.split(' ').next()?;
    let number = marker.trim_end_matches(['.', ')']);
    let is_item = matches!(marker, "-" | "*" | "+")
        || (number.len() + 1 == marker.len() && number.bytes().all(|b| b.is_ascii_digit()));
    if indent < 4 || !is_item {
        return None;
    }
    let mut inside = true;
    let lines = tail.split_inclusive('\n').map(|line| {
        inside &= line.starts_with([' ', '\n']);
        let spaces = line.len() - line.trim_start_matches(' ').len();
        if inside { &line[spaces.min(indent)..] } else { line }
    });
    Some(lines.collect())
}

/// Positions behind empty lines, outside of code.
fn paragraphs(text: &str) -> Vec<usize> {
    let empty = text.match_indices("\n\n").map(|(at, _)| at + 2);
    empty.filter(|at| !in_fence(&text[..*at])).collect()
}

fn spaces(text: &str) -> Vec<usize> {
    let blanks = text.char_indices().filter(|(_, c)| c.is_whitespace());
    blanks.map(|(at, c)| at + c.len_utf8()).collect()
}

fn is_escaped(head: &str) -> bool {
    head.bytes().rev().take_while(|b| *b == b'\\').count() % 2 == 1
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn solid(text: &str) -> Vec<char> {
        text.chars().filter(|c| !c.is_whitespace()).collect()
    }

    /// Whether `all` holds `wanted` in order, with nothing but additions between.
    fn holds(all: &[char], wanted: &[char]) -> bool {
        let mut all = all.iter();
        wanted.iter().all(|c| all.any(|other| other == c))
    }

    #[test]
    fn a_text_that_fits_is_one_part() {
        assert_eq!(split("a **b** c", 5, Unit::Utf16), ["a **b** c"]);
        assert_eq!(split(" \n", 5, Unit::Utf16), Vec::<String>::new());
    }

    /// M5
    #[test]
    fn cuts_prefer_paragraphs_then_sentences_then_words() {
        let text = "One two three.\n\nFour five six. Seven eight nine ten eleven.";
        assert_eq!(
            split(text, 20, Unit::Utf16),
            ["One two three.", "Four five six.", "Seven eight nine ten", "eleven."]
        );
    }

    /// M5
    #[test]
    fn a_code_fence_is_closed_and_opened_again() {
        let text = "Look:\n\n```rust\nlet a = 1;\nlet b = 2;\nlet c = 3;\n```\nDone.";
        assert_eq!(
            split(text, 22, Unit::Utf16),
            ["Look:", "```rust\nlet a = 1;\nlet b = 2;\n```", "```rust\nlet c = 3;\n```\nDone."]
        );
    }

    /// M5
    #[test]
    fn a_table_repeats_its_header() {
        let rows: Vec<String> = (0..40).map(|n| format!("| row {n} | {n} |\n")).collect();
        let rows = rows.concat();
        let parts = split(&format!("| name | n |\n|---|---|\n{rows}"), 200, Unit::Utf16);
        assert!(parts.len() > 2);
        assert!(parts.iter().all(|p| p.starts_with("| name | n |\n|---|---|\n| row")));
    }

    /// M5
    #[test]
    fn emphasis_and_links_are_not_torn_apart() {
        let text = "some words here **bold words** and [a link](https://example.org/long/path) end";
        for limit in 16..60 {
            let parts = split(text, limit, Unit::Utf16);
            let shown: String = parts.iter().map(|part| format(part).text + " ").collect();
            assert!(!shown.contains(['*', '[', ']']), "{limit}: {parts:?}");
        }
    }

    /// M5
    #[test]
    fn an_inner_item_does_not_become_code() {
        let text = "1. one **b**\n   - two **b**\n     - three **b**\n       - four **b**\n\nend";
        let parts = split(text, 12, Unit::Utf16);
        let shown: Vec<String> = parts.iter().map(|part| format(part).text).collect();
        assert_eq!(shown, ["1. one b", "• two b", "• three b", "• four b", "end"]);
    }

    #[test]
    fn an_emoji_of_many_characters_stays_whole() {
        let family = "👨‍👩‍👧‍👦";
        let parts = split(&family.repeat(10), 24, Unit::Utf16);
        assert!(parts.iter().all(|part| part.len() % family.len() == 0), "{parts:?}");
        assert_eq!(cut(&family.repeat(3), 24, Unit::Utf16), format!("{}…", family.repeat(2)));
    }

    #[test]
    fn a_very_long_text_is_cut_into_full_parts() {
        let text = "word and *more* words. ".repeat(2_000);
        let parts = split(&text, 4096, Unit::Utf16);
        assert!((11..=13).contains(&parts.len()), "{}", parts.len());
    }

    fn block() -> impl Strategy<Value = String> {
        prop_oneof![
            "([a-zé👍]{1,9}[ .]){1,30}",
            "(\\*\\*[a-z]{1,9} [a-z]{1,9}\\*\\* ){1,9}",
            "(- [a-z]{1,12} `[a-z]{1,5}`\n){1,9}",
            "```[a-z]{0,4}\n([a-z (){}]{0,30}[a-z]\n){1,9}```",
            "(> [a-z ]{0,20}[a-z]\n){1,4}",
            "[a-z]{1,9} \\[[a-z]{1,9}\\]\\(https://a\\.b/[a-z]{1,30}\\)",
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// M5
        #[test]
        fn nothing_of_any_text_is_lost(text in "(?s)[ -~\n\n`*é👍]{0,300}", limit in 8_usize..80) {
            let parts = split(&text, limit, Unit::Utf16);
            for part in &parts {
                prop_assert!(Unit::Utf16.count(&format(part).text) <= limit, "{part:?}");
            }
            prop_assert!(holds(&solid(&parts.concat()), &solid(&text)), "{parts:?}");
        }

        /// M5
        #[test]
        fn what_is_shown_in_parts_is_what_the_whole_shows(
            blocks in prop::collection::vec(block(), 1..6),
            limit in 40_usize..200,
        ) {
            let text = blocks.join("\n\n");
            let parts = split(&text, limit, Unit::Utf16);
            let shown: String = parts.iter().map(|part| format(part).text).collect();
            prop_assert!(holds(&solid(&shown), &solid(&format(&text).text)), "{parts:?}");
            prop_assert!(parts.iter().all(|p| Unit::Utf16.count(&format(p).text) <= limit));
        }

        /// M5
        #[test]
        fn spans_are_within_bounds_and_nested(text in "(?s)[ -~\n*_`>é👍|-]{0,200}") {
            let formatted = format(&text);
            let units: Vec<u16> = formatted.text.encode_utf16().collect();
            for (index, span) in formatted.spans.iter().enumerate() {
                let end = span.offset + span.length;
                prop_assert!(span.length > 0 && end <= units.len());
                prop_assert!(String::from_utf16(&units[span.offset..end]).is_ok());
                for other in &formatted.spans[index + 1..] {
                    prop_assert!(other.offset >= end || other.offset + other.length <= end);
                }
            }
        }
    }
}
