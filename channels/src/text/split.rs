//! Splits Markdown between paragraphs, lines, sentences or words, and never within a grapheme. Code
//! fences and table headers are repeated after a cut.

use std::{borrow::Cow, ops::Range};

use unicode_segmentation::UnicodeSegmentation;

use super::{
    fence::{Carry, carry, code, fence_lines, in_fence},
    format::format,
    unit::Unit,
};

/// Splits `markdown` into parts that are each at most `limit` long once formatted, and that have no
/// more formatted ranges than a message may have. A text that fits is returned unchanged as one
/// part. Empty if there is nothing to show.
pub fn split(markdown: &str, limit: usize, unit: Unit) -> Vec<String> {
    let mut parts = Vec::new();
    let mut rest = Some(Rest::of(markdown));
    while let Some(now) = rest {
        let (part, left) = now.cut(&Measure { limit, unit });
        parts.extend(part);
        rest = left;
    }
    parts
}

/// The longest beginning of `markdown` that fits and ends at a good place, and the rest.
pub fn split_off(markdown: &str, limit: usize, unit: Unit) -> (Option<String>, Option<String>) {
    let (part, left) = Rest::of(markdown).cut(&Measure { limit, unit });
    (part, left.map(|rest| rest.carried + &rest.source))
}

/// Plain text, truncated to `limit` with an ellipsis.
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

    fn fits(&self, markdown: &str) -> bool {
        self.of(markdown) <= self.limit && !self.unit.is_dense(markdown)
    }

    /// How far into the source to look for a cut: far enough for a usual share of markup, and
    /// bounded so that the cost does not depend on the length of the rest.
    fn window(&self, source: &str) -> usize {
        near(source, self.limit.saturating_mul(4).saturating_add(256))
    }
}

/// At most this many bytes, without splitting a character.
fn near(text: &str, bytes: usize) -> usize {
    let mut end = text.len().min(bytes);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    end
}

/// The text that is not shown yet.
struct Rest<'t> {
    /// Text that repeats a fence or a table header, or keeps the following text from gaining a
    /// meaning.
    carried: String,
    source: Cow<'t, str>,
}

/// The beginning of a rest, within which a cut is chosen.
struct View {
    text: String,
    /// The number of bytes at the beginning that are carried over.
    carried: usize,
    /// Whether more text follows.
    goes_on: bool,
    /// The lines that open or close code.
    fences: Vec<Range<usize>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum CutPoint {
    Paragraph,
    Line,
    Sentence,
    Word,
    Grapheme,
    /// Between two characters. Only for a grapheme that is longer than the limit.
    Char,
}

const PLACES: [CutPoint; 6] = [
    CutPoint::Paragraph,
    CutPoint::Line,
    CutPoint::Sentence,
    CutPoint::Word,
    CutPoint::Grapheme,
    CutPoint::Char,
];

impl<'t> Rest<'t> {
    fn of(markdown: &'t str) -> Self {
        Self { carried: String::new(), source: markdown.into() }
    }

    fn cut(self, measure: &Measure) -> (Option<String>, Option<Self>) {
        if self.source.trim().is_empty() {
            return (None, None);
        }
        let view = self.view(measure.window(&self.source));
        if !view.goes_on && measure.fits(&view.text) {
            return (view.is_shown().then_some(view.text), None);
        }
        let at = view.best(measure);
        (Some(view.head(at, measure)), Some(self.behind(&view, at, measure)))
    }

    fn view(&self, window: usize) -> View {
        let text = format!("{}{}", self.carried, &self.source[..window]);
        View {
            fences: fence_lines(&text),
            text,
            carried: self.carried.len(),
            goes_on: window < self.source.len(),
        }
    }

    /// The text after the cut, as valid Markdown of its own.
    fn behind(self, view: &View, at: usize, measure: &Measure) -> Self {
        let source = from(self.source, at - self.carried.len());
        match view.carries(at, measure) {
            Some(Carry::Fence { opening, .. }) => Self { carried: opening + "\n", source },
            Some(Carry::Header(header)) => Self { carried: header, source },
            None => {
                let (mark, source) = guarded(source, &view.text[..at]);
                Self { carried: mark.to_owned(), source }
            }
        }
    }
}

fn from(text: Cow<'_, str>, at: usize) -> Cow<'_, str> {
    match text {
        Cow::Borrowed(text) => text[at..].into(),
        Cow::Owned(text) => text[at..].to_owned().into(),
    }
}

impl View {
    /// Whether the text shows anything. A leftover fence alone does not.
    fn is_shown(&self) -> bool {
        self.carried == 0 || !format(&self.text).text.is_empty()
    }

    fn best(&self, measure: &Measure) -> usize {
        let enough = self.room(measure) / 4;
        let mut unclean = None;
        for place in PLACES {
            let candidates = self.candidates(place);
            let fitting = candidates.partition_point(|at| measure.fits(&self.head(*at, measure)));
            let last = matches!(place, CutPoint::Grapheme | CutPoint::Char);
            for at in candidates[..fitting].iter().rev().take(8) {
                let head = self.head(*at, measure);
                let shown = measure.of(&head);
                if shown == 0 || !measure.fits(&head) || (!last && shown < enough) {
                    continue;
                }
                if self.is_clean(*at, place) {
                    return *at;
                }
                unclean = unclean.or(Some(*at));
            }
        }
        unclean.unwrap_or_else(|| self.next_char())
    }

    /// The maximum length that fits. It is less than the limit if the text has too many formatted
    /// ranges.
    fn room(&self, measure: &Measure) -> usize {
        if !measure.unit.is_dense(&self.text) {
            return measure.limit;
        }
        let words = self.candidates(CutPoint::Word);
        let fitting = words.partition_point(|at| measure.fits(&self.head(*at, measure)));
        fitting.checked_sub(1).map_or(0, |at| measure.of(&self.head(words[at], measure)))
    }

    /// The minimum that makes progress if nothing fits into the limit.
    fn next_char(&self) -> usize {
        let next = self.text[self.carried..].chars().next().map_or(0, char::len_utf8);
        self.carried + next
    }

    fn candidates(&self, place: CutPoint) -> Vec<usize> {
        let text = self.text.as_str();
        let all: Vec<usize> = match place {
            CutPoint::Paragraph => paragraphs(text),
            CutPoint::Line => text.match_indices('\n').map(|(at, _)| at + 1).collect(),
            CutPoint::Sentence => text.split_sentence_bound_indices().map(|(at, _)| at).collect(),
            CutPoint::Word => spaces(text),
            CutPoint::Grapheme => text.grapheme_indices(true).map(|(at, _)| at).collect(),
            CutPoint::Char => text.char_indices().map(|(at, _)| at).collect(),
        };
        let inside = !matches!(place, CutPoint::Paragraph | CutPoint::Line | CutPoint::Char);
        let allowed = |at: &usize| {
            *at > self.carried
                && (*at < text.len() || self.goes_on)
                && !is_escaped(&text[..*at])
                && !(inside && self.is_on_fence_line(*at))
        };
        all.into_iter().filter(allowed).collect()
    }

    fn is_on_fence_line(&self, at: usize) -> bool {
        let next = self.fences.partition_point(|line| line.end < at);
        self.fences.get(next).is_some_and(|line| line.start <= at)
    }

    /// Whether the cut preserves the meaning: both sides together, formatted, show what the whole
    /// shows, so that no emphasis, link or code is split.
    fn is_clean(&self, at: usize, place: CutPoint) -> bool {
        if place == CutPoint::Paragraph || in_fence(&self.text[..at]) {
            return true;
        }
        let (head, tail) = self.text.split_at(at);
        if place == CutPoint::Line && matches!(carry(&self.text, at), Some(Carry::Header(_))) {
            return true;
        }
        let solid = |text: &str| -> String {
            format(text).text.chars().filter(|c| !c.is_whitespace()).collect()
        };
        let (mark, tail) = guarded(tail.into(), head);
        solid(head) + &solid(&format!("{mark}{tail}")) == solid(&self.text)
    }

    /// The interrupted element that has to be repeated, if there is room for more.
    fn carries(&self, at: usize, measure: &Measure) -> Option<Carry> {
        carry(&self.text, at).filter(|carry| match carry {
            Carry::Fence { .. } => true,
            Carry::Header(header) => measure.of(header) <= measure.limit / 4,
        })
    }

    /// The text before a cut, as valid Markdown of its own.
    fn head(&self, at: usize, measure: &Measure) -> String {
        let head = &self.text[..at];
        match self.carries(at, measure) {
            Some(Carry::Fence { closing, .. }) => {
                format!("{}\n{closing}", head.trim_end_matches('\n'))
            }
            Some(Carry::Header(_)) | None => head.trim_end().to_owned(),
        }
    }
}

/// The maximum length of a definition's label, in bytes. Other markers are shorter.
const LABEL: usize = 1_000;

/// The text after a cut, with a prefix that keeps its first characters from gaining a meaning, such
/// as a word that looks like a heading, a list, a rule or a definition now that it begins a line.
fn guarded<'t>(tail: Cow<'t, str>, head: &str) -> (&'static str, Cow<'t, str>) {
    let inner = !head.ends_with('\n');
    let trimmed = if inner { tail.trim_start() } else { tail.trim_start_matches('\n') };
    let blank = tail.len() - trimmed.len();
    let tail = from(tail, blank);
    if let Some(items) = (!inner).then(|| without_indent(&tail)).flatten() {
        return ("", items.into());
    }
    let tail = if inner { reduce_indent(tail, inset(head)) } else { tail };
    let line = tail[..near(&tail, LABEL)].lines().next().unwrap_or("").trim_end();
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
    (if definition || (inner && marker) { "\\" } else { "" }, tail)
}

/// Turns an inner list item and its contents into an outer one. Without the enclosing list, its
/// indentation would turn it into code.
fn without_indent(tail: &str) -> Option<String> {
    let body = tail.trim_start_matches(' ');
    let indent = tail.len() - body.len();
    if indent < 4 || marker(body).is_none() {
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

/// The marker at the beginning of a list item.
fn marker(body: &str) -> Option<&str> {
    let marker = body[..near(body, LABEL)].split(' ').next()?;
    let number = marker.trim_end_matches(['.', ')']);
    let is_number = number.len() + 1 == marker.len() && number.bytes().all(|b| b.is_ascii_digit());
    (matches!(marker, "-" | "*" | "+") || is_number).then_some(marker)
}

/// The indentation of the contents of the list item at the end of this text.
fn inset(head: &str) -> usize {
    let line = head.rsplit('\n').next().unwrap_or(head);
    let body = line.trim_start_matches(' ');
    line.len() - body.len() + marker(body).map_or(0, |marker| marker.len() + 1)
}

/// The rest of an item with less indentation. Without the enclosing item, the markers of inner
/// items would become part of its text.
fn reduce_indent(tail: Cow<'_, str>, inset: usize) -> Cow<'_, str> {
    let Some((first, below)) = tail.split_once('\n').filter(|_| inset > 0) else { return tail };
    let mut inside = true;
    let lines = below.split_inclusive('\n').map(|line| {
        inside &= line.starts_with([' ', '\n']);
        let spaces = line.len() - line.trim_start_matches(' ').len();
        if inside { &line[spaces.min(inset)..] } else { line }
    });
    format!("{first}\n{}", lines.collect::<String>()).into()
}

/// Positions after empty lines, outside of code.
fn paragraphs(text: &str) -> Vec<usize> {
    let code = code(text);
    let empty = text.match_indices("\n\n").map(|(at, _)| at + 2);
    let is_code = |at: usize| {
        let next = code.partition_point(|block| block.end < at);
        code.get(next).is_some_and(|block| block.start < at)
    };
    empty.filter(|at| !is_code(*at)).collect()
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

    /// Whether `all` contains `wanted` in order, with only additions between.
    fn holds(all: &[char], wanted: &[char]) -> bool {
        let mut all = all.iter();
        wanted.iter().all(|c| all.any(|other| other == c))
    }

    /// Telegram formats at most 100 ranges of a message.
    #[test]
    fn a_text_with_much_formatting_is_split_before_it_would_lose_some() {
        let text = "**a** `b` *c* d. ".repeat(100);
        let parts = split(&text, 4096, Unit::Utf16);
        assert!((3..=4).contains(&parts.len()), "{parts:?}");
        for part in &parts {
            assert!(format(part).spans.len() <= 100, "{part}");
        }
        assert_eq!(split(&text, 4096, Unit::Chars).len(), 1, "the others have no such limit");
        let spans: usize = parts.iter().map(|part| format(part).spans.len()).sum();
        assert_eq!(spans, 300, "no formatting is lost");
    }

    #[test]
    fn a_text_that_fits_is_one_part() {
        assert_eq!(split("a **b** c", 5, Unit::Utf16), ["a **b** c"]);
        assert_eq!(split(" \n", 5, Unit::Utf16), Vec::<String>::new());
    }

    /// Proves M5.
    #[test]
    fn cuts_prefer_paragraphs_then_sentences_then_words() {
        let text = "One two three.\n\nFour five six. Seven eight nine ten eleven.";
        assert_eq!(
            split(text, 20, Unit::Utf16),
            ["One two three.", "Four five six.", "Seven eight nine ten", "eleven."]
        );
    }

    /// Proves M5.
    #[test]
    fn a_code_fence_is_closed_and_opened_again() {
        let text = "Look:\n\n```rust\nlet a = 1;\nlet b = 2;\nlet c = 3;\n```\nDone.";
        assert_eq!(
            split(text, 22, Unit::Utf16),
            ["Look:", "```rust\nlet a = 1;\nlet b = 2;\n```", "```rust\nlet c = 3;\n```\nDone."]
        );
    }

    /// Proves M5.
    #[test]
    fn a_table_repeats_its_header() {
        let rows: Vec<String> = (0..40).map(|n| format!("| row {n} | {n} |\n")).collect();
        let rows = rows.concat();
        let parts = split(&format!("| name | n |\n|---|---|\n{rows}"), 200, Unit::Utf16);
        assert!(parts.len() > 2);
        assert!(parts.iter().all(|p| p.starts_with("| name | n |\n|---|---|\n| row")));
    }

    /// Proves M5.
    #[test]
    fn emphasis_and_links_are_not_torn_apart() {
        let text = "some words here **bold words** and [a link](https://example.org/long/path) end";
        for limit in 16..60 {
            let parts = split(text, limit, Unit::Utf16);
            let shown: String = parts.iter().map(|part| format(part).text + " ").collect();
            assert!(!shown.contains(['*', '[', ']']), "{limit}: {parts:?}");
        }
    }

    /// Proves M5.
    #[test]
    fn an_inner_item_does_not_become_code() {
        let text = "1. one **b**\n   - two **b**\n     - three **b**\n       - four **b**\n\nend";
        let parts = split(text, 12, Unit::Utf16);
        let shown: Vec<String> = parts.iter().map(|part| format(part).text).collect();
        assert_eq!(shown, ["1. one b", "• two b", "• three b", "• four b", "end"]);
    }

    /// Proves M5.
    #[test]
    fn a_nested_list_stays_a_list_after_a_split() {
        let text = "1. one two three four\n   - five six\n     - seven\n2. eight";
        for limit in [12, 14, 18, 24] {
            let parts = split(text, limit, Unit::Utf16);
            let shown: Vec<String> = parts.iter().map(|part| format(part).text).collect();
            let shown = shown.join(" ");
            assert_eq!(shown.matches('•').count(), 2, "{limit}: {parts:?}");
            assert!(!shown.contains('-'), "{limit}: {parts:?}");
        }
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
        let text = "word and more words. ".repeat(2_000);
        let parts = split(&text, 4096, Unit::Utf16);
        assert!((11..=13).contains(&parts.len()), "{}", parts.len());
    }

    /// Text far behind the window does not affect a cut, so each part has the same cost and the
    /// total is linear.
    #[test]
    fn a_cut_looks_no_further_than_its_window() {
        for piece in [
            "word and *more* words. ",
            "x",
            "- one\n    - two\n",
            "| a | b |\n|---|---|\n",
            "a\n\n",
        ] {
            let text = piece.repeat(25_000 / piece.len());
            let long = split(&text, 1_024, Unit::Utf16);
            let short = split(&text[..10_000 - 10_000 % piece.len()], 1_024, Unit::Utf16);
            let sure = short.len().saturating_sub(6);
            assert!(sure > 0, "{piece:?}: {}", short.len());
            assert_eq!(long[..sure], short[..sure], "{piece:?}");
        }
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

        /// Proves M5.
        #[test]
        fn splitting_loses_no_text(text in "(?s)[ -~\n\n`*é👍]{0,300}", limit in 8_usize..80) {
            let parts = split(&text, limit, Unit::Utf16);
            for part in &parts {
                prop_assert!(Unit::Utf16.count(&format(part).text) <= limit, "{part:?}");
            }
            prop_assert!(holds(&solid(&parts.concat()), &solid(&text)), "{parts:?}");
        }

        /// Proves M5.
        #[test]
        fn the_parts_show_the_same_as_the_whole(
            blocks in prop::collection::vec(block(), 1..6),
            limit in 40_usize..200,
        ) {
            let text = blocks.join("\n\n");
            let parts = split(&text, limit, Unit::Utf16);
            let shown: String = parts.iter().map(|part| format(part).text).collect();
            prop_assert!(holds(&solid(&shown), &solid(&format(&text).text)), "{parts:?}");
            prop_assert!(parts.iter().all(|p| Unit::Utf16.count(&format(p).text) <= limit));
        }

        /// Text far behind changes no part, and nothing of a long text is lost.
        /// Proves M5.
        #[test]
        fn parts_are_the_same_whatever_follows(
            blocks in prop::collection::vec(block(), 20..40),
            more in "[a-z ]{0,2000}",
            limit in 40_usize..80,
        ) {
            let text = blocks.join("\n\n");
            let parts = split(&text, limit, Unit::Utf16);
            let longer = split(&format!("{text}\n\n{more}"), limit, Unit::Utf16);
            let far = limit * 4 + 256;
            let behind = parts.iter().rev().scan(0, |sum, part| {
                *sum += part.len();
                (*sum <= far + part.len()).then_some(())
            });
            let sure = parts.len().saturating_sub(behind.count() + 1);
            prop_assert_eq!(&longer[..sure], &parts[..sure]);
            let shown: String = longer.iter().map(|part| format(part).text).collect();
            prop_assert!(holds(&solid(&shown), &solid(&format(&text).text)));
        }

        /// Proves M5.
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
