//! Lists of a PDF page without tags: lines that begin with labels that count on, or with bullets.
//!
//! Labels of one list have one left edge, and those of a list in it are further right. The other lines
//! of an item are further right than its label, and continue the line before them. Everything else
//! stays text.

use super::{
    bidi,
    grid::TextPiece,
    lines::{LineEdges, TextLine, between, lines},
    printed_labels::PrintedLabel,
    words::ItemMark,
};

/// Labels with left edges within this distance are those of one list, in points.
const SAME_LEFT: f32 = 2.0;
/// The maximum distance between an item and the next, in line heights.
const ITEMS: f32 = 3.0;
/// How much further right the other lines of an item and the labels of an inner list are, in line
/// heights.
const INDENTATION: std::ops::Range<f32> = 0.5..6.0;
/// The maximum depth of lists.
const DEPTH: usize = 9;

/// A list, and the pieces that it consists of.
pub struct PrintedList {
    pub items: Vec<PrintedItem>,
    pub pieces: std::ops::Range<usize>,
}

/// An item of a list; `depth` starts at 0.
#[derive(Debug, Clone, PartialEq)]
pub struct PrintedItem {
    pub depth: usize,
    pub mark: ItemMark,
    pub text: String,
}

/// The lists in these pieces of a page, whose lines end at these edges.
pub fn lists(pieces: &[TextPiece], edges: &LineEdges) -> Vec<PrintedList> {
    let lines: Vec<TextLine> = lines(pieces).collect();
    let mut lists = Vec::new();
    let (mut line, mut piece) = (0, 0);
    while line < lines.len() {
        let list = OpenList::read(&lines[line..], edges);
        let count = list.as_ref().map_or(1, |list| list.lines);
        let read = lines[line..line + count].iter().map(|line| line.pieces.len()).sum::<usize>();
        let pieces = piece..piece + read;
        (line, piece) = (line + count, pieces.end);
        lists.extend(list.map(|list| PrintedList { items: list.items, pieces }));
    }
    lists
}

/// A line that begins with a label.
struct LabelledLine {
    label: PrintedLabel,
    left: f32,
    text: String,
}

impl LabelledLine {
    fn of(line: &TextLine) -> Option<Self> {
        let is_tagged = line.pieces.iter().any(|piece| piece.paragraph.is_some());
        if is_tagged || line.is_fixed_pitch() || line.has_leaders() {
            return None;
        }
        let text = words(line);
        let (word, rest) = text.split_once(' ')?;
        let label = PrintedLabel::of(word).filter(|label| !label.is_word())?;
        // Other gaps are those between cells.
        let is_label = line.pieces[0].text.trim() == word;
        let is_line = line.pieces.len() == 1 || (line.pieces.len() == 2 && is_label);
        let is_item = is_line && !bidi::has_rtl(&text);
        is_item.then(|| Self { label, left: line.left, text: rest.to_owned() })
    }

    fn item(self, depth: usize) -> PrintedItem {
        PrintedItem { depth, mark: self.label.mark(), text: self.text }
    }
}

/// The label of the last item of a list that is open.
struct LastLabel {
    label: PrintedLabel,
    left: f32,
}

/// A list that is being read, with the lists in it.
struct OpenList {
    open: Vec<LastLabel>,
    items: Vec<PrintedItem>,
    /// The number of lines.
    lines: usize,
}

impl OpenList {
    /// The list with which these lines begin.
    fn read(lines: &[TextLine], edges: &LineEdges) -> Option<Self> {
        let first = LabelledLine::of(&lines[0])?;
        let is_certain = first.label.is_certain();
        let mut list = Self { open: Vec::new(), items: Vec::new(), lines: 1 };
        list.add(0, first);
        for pair in lines.windows(2) {
            let (last, line) = (&pair[0], &pair[1]);
            if !list.add_item(last, line) && !list.go_on(last, line, edges) {
                break;
            }
            list.lines += 1;
        }
        // A single label may be an initial or the number of a heading.
        let count = list.items.iter().filter(|item| item.depth == 0).count();
        (is_certain || count > 1).then_some(list)
    }

    fn add(&mut self, depth: usize, line: LabelledLine) {
        self.open.truncate(depth);
        self.open.push(LastLabel { label: line.label.clone(), left: line.left });
        self.items.push(line.item(depth));
    }

    /// Adds a line that is the next item of an open list, or the first of a list in it.
    fn add_item(&mut self, last: &TextLine, line: &TextLine) -> bool {
        let height = last.height.max(line.height);
        let Some(labelled) = LabelledLine::of(line) else { return false };
        if !(0.0..=height * ITEMS).contains(&(last.y() - line.y())) {
            return false;
        }
        let is_next = |open: &LastLabel| {
            (open.left - labelled.left).abs() <= SAME_LEFT && labelled.label.follows(&open.label)
        };
        if let Some(depth) = self.open.iter().rposition(is_next) {
            self.add(depth, labelled);
            return true;
        }
        let is_inner = self.indents(line, height) && labelled.label.is_first();
        if is_inner && self.open.len() < DEPTH {
            self.add(self.open.len(), labelled);
            return true;
        }
        false
    }

    /// Adds a line that continues the last item.
    fn go_on(&mut self, last: &TextLine, line: &TextLine, edges: &LineEdges) -> bool {
        let height = last.height.max(line.height);
        let is_alike = (last.height - line.height).abs() < height * 0.1;
        let is_next = line.pieces[0].before == "\n" && last.y() > line.y() && is_alike;
        if !is_next || !self.indents(line, height) || !edges.is_broken(last, line) {
            return false;
        }
        let Some(item) = self.items.last_mut() else { return false };
        let more = words(line);
        // A word that is broken with a hyphen stays as it is printed.
        let joint = between(&item.text, &more).unwrap_or("\n");
        item.text.extend([joint, &more]);
        true
    }

    /// Whether a line is further right than the last label.
    fn indents(&self, line: &TextLine, height: f32) -> bool {
        self.open
            .last()
            .is_some_and(|open| INDENTATION.contains(&((line.left - open.left) / height)))
    }
}

/// The words of a line, with one space between them.
fn words(line: &TextLine) -> String {
    let words = line.pieces.iter().flat_map(|piece| piece.text.split_whitespace());
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines with their left edges, one below the other; 5 points per letter.
    fn read(lines: &[(&str, f32)]) -> Vec<String> {
        let piece = |(at, line): (usize, &(&str, f32))| TextPiece {
            text: line.0.into(),
            left: line.1,
            right: line.1 + 5.0 * line.0.chars().count() as f32,
            y: 700.0 - 12.0 * at as f32,
            height: 10.0,
            before: "\n",
            block: None,
            cell: None,
            paragraph: None,
            is_fixed_pitch: false,
        };
        let pieces: Vec<TextPiece> = lines.iter().enumerate().map(piece).collect();
        let found = lists(&pieces, &LineEdges::of(&pieces));
        let item = |item: &PrintedItem| {
            format!("{}{} {}", "  ".repeat(item.depth), item.mark.written(), item.text)
        };
        let list = |list: &PrintedList| {
            let items: Vec<String> = list.items.iter().map(item).collect();
            format!("{:?}: {}", list.pieces, items.join(" / "))
        };
        found.iter().map(list).collect()
    }

    #[test]
    fn labels_that_count_on_are_lists() {
        let lines = [
            ("Before.", 0.0),
            ("a. one", 20.0),
            ("b. an item that is long enough to need", 20.0),
            ("another line", 38.0),
            ("i. inner", 38.0),
            ("ii. inner", 38.0),
            ("c. three", 20.0),
            ("Between.", 0.0),
            ("• a bullet", 20.0),
            ("After.", 0.0),
        ];
        let wanted = [
            "1..7: a. one / b. an item that is long enough to need another line / \
             \u{20} i. inner /   ii. inner / c. three",
            "8..9: - a bullet",
        ];
        assert_eq!(read(&lines), wanted);
    }

    #[test]
    fn other_lines_with_labels_stay_text() {
        for lines in [
            [("A. Smith was here.", 0.0), ("So was B. Jones.", 0.0)],
            [("1. Introduction", 0.0), ("It begins with words.", 0.0)],
            [("1. one", 0.0), ("3. three", 0.0)],
            [("a. one", 0.0), ("b. two", 200.0)],
            [("– one", 0.0), ("words", 0.0)],
            [("A. Smith said:", 0.0), ("– one", 20.0)],
            [("1. Words ..... 2", 0.0), ("2. More ..... 3", 0.0)],
        ] {
            assert_eq!(read(&lines), Vec::<String>::new(), "{lines:?}");
        }
    }

    #[test]
    fn a_paragraph_that_is_indented_ends_a_list() {
        let long = "A paragraph whose first line is indented, as in a book.";
        let lines = [("1. one", 0.0), ("2. two", 0.0), (long, 15.0), ("its end", 0.0)];
        assert_eq!(read(&lines), ["0..2: 1. one / 2. two"]);
    }
}
