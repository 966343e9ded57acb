//! Lines of a PDF page that are drawn as texts over each other. Programs draw the letters of each
//! font in one go: if a font for right-to-left letters has no punctuation, all punctuation and spaces
//! of the line come first, and the letters then fill the gaps.

use std::{collections::HashMap, ops::Range};

use super::{bidi, grid::TextPiece};

/// Runs that are closer than this, in line heights, belong to a word.
pub const WORD_GAP: f32 = 0.17;
/// A wider gap, in line heights, separates cells; words are closer together, even in justified
/// lines.
pub const WIDE_GAP: f32 = 0.9;
/// Letters whose boxes overlap by less than this, in line heights, follow each other.
const SLACK: f32 = 0.1;
/// A shadow is closer to its text than this, in line heights.
const SHADOW: f32 = 0.2;

/// The glyph runs of a page.
#[derive(Default)]
pub struct DrawnRuns {
    text: String,
    runs: Vec<DrawnRun>,
}

struct DrawnRun {
    /// The index of its piece.
    piece: usize,
    text: Range<usize>,
    left: f32,
    right: f32,
}

impl DrawnRun {
    /// Whether it is over a run with the same text and not right of it: one is the shadow of the other.
    fn is_over(&self, other: &Self, height: f32) -> bool {
        let shift = self.left - other.left;
        shift < height * SHADOW && shift * 2.0 < other.right - other.left
    }
}

impl DrawnRuns {
    /// Adds a run of the last piece, which has this index.
    pub fn add(&mut self, piece: usize, text: &str, left: f32, right: f32) {
        let from = self.text.len();
        self.text.push_str(text);
        self.runs.push(DrawnRun { piece, text: from..self.text.len(), left, right });
    }

    /// The pieces of the page. Overlapping lines with right-to-left letters are read from the left, as
    /// they are seen.
    pub fn in_lines(&self, pieces: Vec<TextPiece>) -> Vec<TextPiece> {
        if !pieces.iter().any(|piece| bidi::has_rtl(&piece.text)) {
            return pieces;
        }
        let (mut lines, mut at) = (Vec::with_capacity(pieces.len()), 0);
        for line in pieces.chunk_by(continues) {
            let runs = self.runs_of(at..at + line.len());
            at += line.len();
            if overlaps(line) && self.is_all_of(runs, line) {
                lines.extend(self.seen_from_the_left(runs, line));
            } else {
                lines.extend_from_slice(line);
            }
        }
        lines
    }

    fn runs_of(&self, pieces: Range<usize>) -> &[DrawnRun] {
        let from = self.runs.partition_point(|run| run.piece < pieces.start);
        let to = self.runs.partition_point(|run| run.piece < pieces.end);
        &self.runs[from..to]
    }

    fn text_of(&self, run: &DrawnRun) -> &str {
        &self.text[run.text.clone()]
    }

    /// Whether the line has no other text than these runs, such as marks of links.
    fn is_all_of(&self, runs: &[DrawnRun], line: &[TextPiece]) -> bool {
        let runs = runs.iter().flat_map(|run| self.text_of(run).chars());
        let line = line.iter().flat_map(|piece| piece.text.chars());
        runs.filter(|c| !c.is_whitespace()).eq(line.filter(|c| !c.is_whitespace()))
    }

    /// The pieces of a line, whose runs are these. A text with a shadow is read once.
    fn seen_from_the_left(&self, runs: &[DrawnRun], line: &[TextPiece]) -> Vec<TextPiece> {
        let is_written = |run: &&DrawnRun| !self.text_of(run).trim().is_empty();
        let mut runs: Vec<&DrawnRun> = runs.iter().filter(is_written).collect();
        runs.sort_by(|one, other| one.left.total_cmp(&other.left));
        let height = height(line);
        let mut pieces: Vec<TextPiece> = Vec::new();
        let mut last_with: HashMap<&str, &DrawnRun> = HashMap::new();
        for run in runs {
            let text = self.text_of(run);
            if last_with.get(text).is_some_and(|other| run.is_over(other, height)) {
                continue;
            }
            last_with.insert(text, run);
            match pieces.last_mut().filter(|last| run.left <= last.right + height * WIDE_GAP) {
                Some(last) => {
                    let is_apart = run.left > last.right + height * WORD_GAP;
                    if is_apart && !last.text.ends_with(' ') {
                        last.text.push(' ');
                    }
                    last.text.push_str(text);
                    last.right = last.right.max(run.right);
                }
                None => pieces.push(TextPiece {
                    text: text.to_owned(),
                    left: run.left,
                    right: run.right,
                    before: if pieces.is_empty() { line[0].before } else { " " },
                    ..line[0].clone()
                }),
            }
        }
        pieces
    }
}

/// Whether a piece is on the line of the one before it, and in the same block.
fn continues(one: &TextPiece, next: &TextPiece) -> bool {
    next.before == " "
        && (one.block, one.cell, one.paragraph) == (next.block, next.cell, next.paragraph)
}

fn height(line: &[TextPiece]) -> f32 {
    line.iter().map(|piece| piece.height).fold(1.0, f32::max)
}

/// Whether pieces of a line with right-to-left letters overlap. A text may be drawn twice, as its own
/// shadow.
fn overlaps(line: &[TextPiece]) -> bool {
    if !line.iter().any(|piece| bidi::has_rtl(&piece.text)) {
        return false;
    }
    let mut pieces: Vec<&TextPiece> =
        line.iter().filter(|piece| !piece.text.trim().is_empty()).collect();
    pieces.sort_by(|one, other| one.left.total_cmp(&other.left));
    let slack = height(line) * SLACK;
    let mut widest = None;
    for piece in pieces {
        if widest.is_some_and(|last: &TextPiece| {
            piece.left < last.right - slack && piece.text.trim() != last.text.trim()
        }) {
            return true;
        }
        if widest.is_none_or(|last| piece.right > last.right) {
            widest = Some(piece);
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A page on which these texts are drawn on one line, each with its left edge; 5 points per letter.
    /// A text that starts with `+` continues the piece before it.
    fn drawn(texts: &[(&str, f32)]) -> Vec<String> {
        let (mut runs, mut pieces) = (DrawnRuns::default(), Vec::<TextPiece>::new());
        for &(text, left) in texts {
            let right = |text: &str| left + 5.0 * text.chars().count() as f32;
            match (text.strip_prefix('+'), pieces.last_mut()) {
                (Some(text), Some(piece)) => {
                    piece.text.extend([" ", text]);
                    piece.right = right(text);
                }
                _ => pieces.push(TextPiece {
                    text: text.into(),
                    left,
                    right: right(text),
                    y: 700.0,
                    height: 10.0,
                    before: if pieces.is_empty() { "\n" } else { " " },
                    block: None,
                    cell: None,
                    paragraph: None,
                    is_fixed_pitch: false,
                }),
            }
            let text = text.trim_start_matches('+');
            runs.add(pieces.len() - 1, text, left, right(text));
        }
        let lines = runs.in_lines(pieces);
        assert!(lines.iter().skip(1).all(|piece| piece.before == " "));
        assert_eq!(lines[0].before, "\n");
        lines.into_iter().map(|piece| piece.text).collect()
    }

    #[test]
    fn punctuation_that_is_drawn_first_stands_between_the_letters() {
        let [one, two, three] = ["\u{5d0}\u{5d1}", "\u{5d2}\u{5d3}", "\u{5d4}\u{5d5}"];
        let all = drawn(&[(".", 95.0), (" ", 110.0), (":", 128.0), (one, 100.0)]);
        assert_eq!(all, [".", " ", ":", one], "nothing overlaps");
        let texts = [(".", 95.0), (" ", 110.0), (":", 128.0)];
        let letters = [(one, 100.0), ("+\u{5d2}\u{5d3}", 114.0), ("+\u{5d4}\u{5d5}", 133.0)];
        let all = drawn(&[&texts[..], &letters].concat());
        assert_eq!(all, [format!(".{one} {two} :{three}")]);
        let all = drawn(&[&texts[..], &letters, &[("A-16", 40.0), ("cell", 300.0)]].concat());
        assert_eq!(all, ["A-16".into(), format!(".{one} {two} :{three}"), "cell".into()]);
    }

    #[test]
    fn letters_and_punctuation_with_a_shadow_are_read_once() {
        let [one, two, three] = ["\u{5d0}\u{5d1}", "\u{5d0}", "\u{5d0}"];
        let line = |x: f32| {
            let punctuation = [(".", x), (".", x + 5.0), (":", x + 29.0)];
            let letters = [(one, x + 10.0), ("+\u{5d0}", x + 24.0), ("+\u{5d0}", x + 34.0)];
            [punctuation, letters].concat()
        };
        let wanted = format!("..{one} {two}:{three}");
        for shift in [0.0, 1.0, -1.0] {
            assert_eq!(drawn(&[line(100.0), line(100.0 + shift)].concat()), [wanted.as_str()]);
        }
    }

    #[test]
    fn other_lines_keep_the_order_in_which_they_are_drawn() {
        let latin = [("b", 20.0), ("abc", 15.0)];
        assert_eq!(drawn(&latin), ["b", "abc"]);
        let hebrew = "\u{5d0}\u{5d1}";
        assert_eq!(drawn(&[(hebrew, 50.0), (hebrew, 51.0)]), [hebrew, hebrew], "a shadow");
        assert_eq!(drawn(&[(hebrew, 50.0), ("12", 20.0)]), [hebrew, "12"]);
    }
}
