//! The printed lines of a PDF page that continue a paragraph, which become one line of text.
//!
//! A line continues the one before it if its first word had no room there. That is only known where
//! lines end at a common right edge; short lines, lists and lines of different letters stay apart, and
//! without tags also code, records and addresses.

use std::collections::HashMap;

use super::{bidi, grid::TextPiece};
use crate::package::measure::is_wide;

/// The number of lines that must end near an edge, unless the paragraph is tagged.
const FULL_LINES: usize = 3;
/// The part of the width of a column in which a line that is broken ends.
const RAGGED: f32 = 0.15;
/// The minimum width of a column, in line heights: with tags, and without.
const WIDTHS: [f32; 2] = [20.0, 15.0];
/// The beginnings of addresses, in lower case.
const URLS: [&str; 4] = ["http://", "https://", "ftp://", "www."];
/// Left edges within this distance are the same, in points.
const LEFT_STEP: f32 = 2.0;

/// The right edges of a page, by the left edges of their lines.
pub struct LineEdges(HashMap<i32, RightEdge>);

#[derive(Clone, Copy)]
struct RightEdge {
    at: f32,
    /// The number of lines that end near it.
    full: usize,
}

/// A line of text, with all its pieces.
pub struct TextLine<'p> {
    pub pieces: &'p [TextPiece],
    pub left: f32,
    right: f32,
    pub height: f32,
    /// The tagged paragraph that all of it belongs to.
    paragraph: Option<usize>,
}

impl<'p> TextLine<'p> {
    fn of(pieces: &'p [TextPiece]) -> Self {
        let fold = |from: f32, pick: fn(f32, f32) -> f32, of: fn(&TextPiece) -> f32| {
            pieces.iter().map(of).fold(from, pick)
        };
        let paragraph = pieces[0].paragraph;
        let is_one = pieces.iter().all(|piece| piece.paragraph == paragraph);
        Self {
            pieces,
            left: fold(f32::INFINITY, f32::min, |piece| piece.left),
            right: fold(f32::NEG_INFINITY, f32::max, |piece| piece.right),
            height: fold(1.0, f32::max, |piece| piece.height),
            paragraph: paragraph.filter(|_| is_one),
        }
    }

    pub fn text(&self) -> String {
        self.pieces.iter().map(|piece| piece.text.as_str()).collect()
    }

    /// The baseline, measured upwards.
    pub fn y(&self) -> f32 {
        self.pieces[0].y
    }

    /// Whether all its letters have the same width, as in code.
    pub fn is_fixed_pitch(&self) -> bool {
        self.pieces.iter().all(|piece| piece.is_fixed_pitch)
    }

    /// Whether it has dots that lead to the number of a page.
    pub fn has_leaders(&self) -> bool {
        let text = self.text();
        text.contains("....") || text.contains(". . .")
    }

    /// Whether it is certainly no prose: code and columns have a fixed pitch or rows of spaces.
    fn is_verbatim(&self) -> bool {
        self.is_fixed_pitch()
            || self.text().trim_end().contains("  ")
            || URLS.iter().any(|start| self.first_word().to_lowercase().starts_with(start))
    }

    fn first_word(&self) -> String {
        self.text().split_whitespace().next().unwrap_or_default().to_owned()
    }

    /// Whether both are records: they begin with a date or a number of the same form, or with the
    /// name of a field or a speaker.
    fn is_record_like(&self, next: &Self) -> bool {
        let (one, other) = (self.first_word(), next.first_word());
        let is_number = one.contains(|c: char| c.is_ascii_digit());
        (is_number && shape(&one) == shape(&other)) || (one.ends_with(':') && other.ends_with(':'))
    }

    /// Whether it may be an item of a list, an entry of a table of contents, or a cell beside others.
    fn is_apart(&self) -> bool {
        if self.has_leaders() {
            return true;
        }
        let text = self.text();
        let first = text.split_whitespace().next().unwrap_or_default();
        let mark = first.trim_start_matches('(').trim_end_matches(['.', ')', ':']);
        let is_letter = mark.len() == 1 && mark.starts_with(|c: char| c.is_ascii_alphabetic());
        let is_number = mark.len() < first.len()
            && (is_letter || mark.chars().all(|c| c.is_ascii_digit() || c == '.'));
        let is_bullet = !first.contains(char::is_alphanumeric) && first.chars().count() == 1;
        self.pieces.len() > 1 || is_number || is_bullet
    }
}

/// The lines of these pieces, which continue after a wide gap.
pub fn lines(pieces: &[TextPiece]) -> impl Iterator<Item = TextLine<'_>> {
    pieces.chunk_by(|_, next| next.before == " ").map(TextLine::of)
}

fn step(left: f32) -> i32 {
    (left / LEFT_STEP).round() as i32
}

impl LineEdges {
    pub fn of(pieces: &[TextPiece]) -> Self {
        let mut ends: HashMap<i32, Vec<f32>> = HashMap::new();
        for line in lines(pieces) {
            ends.entry(step(line.left)).or_default().push(line.right);
        }
        let edge = |left: i32| {
            let near = [left.saturating_sub(1), left, left.saturating_add(1)];
            let near: Vec<f32> =
                near.iter().filter_map(|left| ends.get(left)).flatten().copied().collect();
            let left = left as f32 * LEFT_STEP;
            let at = near.iter().copied().fold(left, f32::max);
            let is_full = |right: &&f32| **right >= at - (at - left) * RAGGED;
            RightEdge { at, full: near.iter().filter(is_full).count() }
        };
        Self(ends.keys().map(|left| (*left, edge(*left))).collect())
    }

    /// For each piece, what separates it from the one before it, if that is not a line end: `None`
    /// leaves it as it is.
    pub fn joints(&self, pieces: &[TextPiece]) -> Vec<Option<&'static str>> {
        let mut joints = vec![None; pieces.len()];
        let lines: Vec<TextLine> = lines(pieces).collect();
        let mut at = 0;
        for pair in lines.windows(2) {
            at += pair[0].pieces.len();
            joints[at] = self.joint(&pair[0], &pair[1]);
        }
        joints
    }

    /// What joins a line to the one before it, if it continues it.
    fn joint(&self, last: &TextLine, line: &TextLine) -> Option<&'static str> {
        let height = last.height.max(line.height);
        let is_alike = (last.height - line.height).abs() < height * 0.1
            && (-height * 0.5..=height * 3.0).contains(&(last.left - line.left));
        if line.pieces[0].before != "\n" || !is_alike || last.paragraph != line.paragraph {
            return None;
        }
        let is_tagged = line.paragraph.is_some();
        if !is_tagged && !may_be_prose(last, line) {
            return None;
        }
        let (before, text) = (last.text(), line.text());
        if bidi::has_rtl(&before) || bidi::has_rtl(&text) {
            return None;
        }
        let RightEdge { at: edge, full } = *self.0.get(&step(line.left))?;
        let width = edge - line.left;
        let is_column = width >= height * WIDTHS[usize::from(!is_tagged)];
        if !is_column || (!is_tagged && full < FULL_LINES) {
            return None;
        }
        if had_room(last, line, edge, width) {
            return None;
        }
        between(before.trim_end(), text.trim_start())
    }

    /// Whether the first word of a line had no room in the one before it, which may begin elsewhere.
    pub fn is_broken(&self, last: &TextLine, line: &TextLine) -> bool {
        let edges = [last, line].map(|line| self.0.get(&step(line.left)));
        let edge = edges.into_iter().flatten().map(|edge| edge.at).fold(last.right, f32::max);
        !had_room(last, line, edge, edge - line.left)
    }
}

/// Whether the first word of a line had room in the one before it, if their column ends at this edge
/// and is as wide as that.
fn had_room(last: &TextLine, line: &TextLine, edge: f32, width: f32) -> bool {
    let height = last.height.max(line.height);
    let letters = line.text().trim().chars().count().max(1) as f32;
    let word = line.first_word().chars().count() as f32;
    let word = (line.right - line.left) * word / letters;
    last.right + height * 0.25 + word < edge - width * 0.01
}

/// Whether two lines without tags may belong to a paragraph. In doubt they stay as they are.
fn may_be_prose(last: &TextLine, line: &TextLine) -> bool {
    let is_other = |line: &TextLine| line.is_apart() || line.is_verbatim();
    !is_other(last) && !is_other(line) && !last.is_record_like(line)
}

/// The word with each number as one `9`.
fn shape(word: &str) -> String {
    let mut shape = String::new();
    for c in word.chars() {
        let c = if c.is_ascii_digit() { '9' } else { c };
        if c != '9' || !shape.ends_with('9') {
            shape.push(c);
        }
    }
    shape
}

/// What stands between the last letter of a line and the first of the next; `None` after a hyphen,
/// which may belong to the word.
pub fn between(before: &str, after: &str) -> Option<&'static str> {
    let (last, first) = (before.chars().next_back()?, after.chars().next()?);
    match last {
        '-' | '\u{2010}' | '\u{ad}' => None,
        _ if is_wide(last) && is_wide(first) => Some(""),
        _ => Some(" "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A line with its left edge; 5 points per letter.
    fn piece(at: usize, text: &str, left: f32, paragraph: Option<usize>) -> TextPiece {
        TextPiece {
            text: text.into(),
            left,
            right: left + 5.0 * text.chars().count() as f32,
            y: 700.0 - 12.0 * at as f32,
            height: 10.0,
            before: "\n",
            block: None,
            cell: None,
            paragraph,
            is_fixed_pitch: false,
        }
    }

    /// Whether each of these lines below each other continues the one before it.
    fn joined(paragraph: Option<usize>, lines: &[(&str, f32)]) -> Vec<bool> {
        let pieces: Vec<TextPiece> = lines
            .iter()
            .enumerate()
            .map(|(at, line)| piece(at, line.0, line.1, paragraph))
            .collect();
        let joints = LineEdges::of(&pieces).joints(&pieces);
        joints[1..].iter().map(Option::is_some).collect()
    }

    const LONG: &str = "a line of many words that reaches as far as the";

    #[test]
    fn lines_that_reach_the_right_edge_go_on() {
        let lines = [
            ("A line of many words that reaches as far as", 20.0),
            (LONG, 0.0),
            (LONG, 0.0),
            (LONG, 0.0),
            ("end.", 0.0),
            ("Another paragraph.", 0.0),
        ];
        assert_eq!(joined(None, &lines), [true, true, true, true, false]);
    }

    #[test]
    fn short_lines_lists_and_headings_stay() {
        let address = [
            ("Ann Smith", 0.0),
            ("1 Long Street", 0.0),
            ("Springfield", 0.0),
            (LONG, 0.0),
            (LONG, 0.0),
            (LONG, 0.0),
        ];
        assert_eq!(joined(None, &address), [false, false, false, true, true]);
        let list = [
            ("1. a line of many words that reaches as far as the", 0.0),
            ("2. a line of many words that reaches as far as the", 0.0),
            ("• a line of many words that reaches as far as the", 0.0),
        ];
        assert_eq!(joined(None, &list), [false, false]);
        let contents = [("Before all .................................. 1", 0.0); 4];
        assert_eq!(joined(None, &contents), [false; 3]);
        let hanging = [(LONG, 0.0), (LONG, 15.0), (LONG, 15.0), (LONG, 15.0)];
        assert_eq!(joined(None, &hanging), [false, true, true]);
        assert_eq!(joined(None, &[(LONG, 0.0), (LONG, 0.0)]), [false], "too few lines");
    }

    #[test]
    fn records_code_and_addresses_keep_their_lines() {
        for records in [
            [
                "2024-05-01T10:00:00Z INFO worker started the job",
                "2024-05-01T10:00:09Z INFO worker finished a task",
            ],
            [
                "01.02.2024 Payment to the bank of the north 1,20",
                "11.2.2024 Payment to the bank of the south 12,10",
            ],
            [
                "Anna: I have always said that it was like this,",
                "Ben: but nobody has ever listened to what I say",
            ],
            [
                "https://example.org/a/long/address/of/a/page/one",
                "https://example.org/a/long/address/of/a/page/two",
            ],
            [
                "for row in the_rows_of_the_table_of_all_people {",
                "    call_a_function_with(row.first, row.second);",
            ],
            [
                "Name of the person        Amount of all payments",
                "Ann of the long street    12 and a little more ok",
            ],
        ] {
            let [one, two] = records;
            let lines = [(one, 0.0), (two, 0.0), (one, 0.0), (two, 0.0)];
            assert_eq!(joined(None, &lines), [false; 3], "{one}");
        }
    }

    #[test]
    fn lines_of_a_fixed_pitch_stay() {
        let mut pieces: Vec<TextPiece> = (0..4).map(|at| piece(at, LONG, 0.0, None)).collect();
        let count = |pieces: &[TextPiece]| {
            LineEdges::of(pieces).joints(pieces).iter().filter(|joint| joint.is_some()).count()
        };
        assert_eq!(count(&pieces), 3);
        for piece in &mut pieces {
            piece.is_fixed_pitch = true;
        }
        assert_eq!(count(&pieces), 0);
    }

    #[test]
    fn tags_say_what_is_a_paragraph() {
        assert_eq!(joined(Some(1), &[(LONG, 0.0), ("end.", 0.0)]), [true]);
        let verse = [("Roses are red", 0.0), ("Violets are blue", 0.0), (LONG, 0.0)];
        assert_eq!(joined(Some(1), &verse), [false, false]);
    }

    #[test]
    fn hyphens_and_ideographs_need_no_space() {
        assert_eq!(between("infor-", "mation"), None);
        assert_eq!(between("中文", "中文"), Some(""));
        assert_eq!(between("one", "two"), Some(" "));
    }
}
