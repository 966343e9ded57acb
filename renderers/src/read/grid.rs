//! Detects tables on a PDF page: cells whose gaps are aligned vertically. PDF has only text
//! positions and no tables; text that does not align stays text.

use std::borrow::Cow;
use std::collections::HashSet;

use super::{
    bidi, limits,
    line_starts::escaped_except,
    lines::LineEdges,
    printed_labels::PrintedLabel,
    printed_lists::{PrintedItem, lists},
    tag_cells::TaggedCell,
    tags::TaggedBlock,
};

/// Text on one line, up to the next wide gap.
#[derive(Debug, Clone, PartialEq)]
pub struct TextPiece {
    pub text: String,
    pub left: f32,
    pub right: f32,
    /// The baseline, measured upwards.
    pub y: f32,
    pub height: f32,
    /// The separator from the previous piece.
    pub before: &'static str,
    /// The heading or list item that it belongs to.
    pub block: Option<TaggedBlock>,
    /// The cell of a tagged table that it belongs to.
    pub cell: Option<TaggedCell>,
    /// The number of the tagged paragraph that it belongs to.
    pub paragraph: Option<usize>,
    /// Whether all its letters have the same width, as in code.
    pub is_fixed_pitch: bool,
}

/// The content of a page, in reading order.
#[derive(Debug, PartialEq)]
pub enum PagePart {
    Text(String),
    Item(PrintedItem),
    Table(Vec<Vec<String>>),
}

/// The minimum gap between cells, in line heights. The parts of a line that runs to the left are drawn
/// one by one, without gaps.
const CELL_GAP: f32 = 0.5;
/// The maximum distance between lines of a cell, and between rows of a table, in line heights.
const LINES: f32 = 1.5;
const ROWS: f32 = 3.5;
/// How often a row is tried as a part of a table, on average.
const TRIES: usize = 32;
/// The maximum number of lines to search for the cell beside a multi-line cell.
const CELL_LINES: usize = 24;

struct GridCell {
    text: String,
    left: f32,
    right: f32,
    y: f32,
}

/// Cells side by side.
struct Row {
    cells: Vec<GridCell>,
    top: f32,
    bottom: f32,
    height: f32,
    /// The index of its first piece.
    from: usize,
}

/// The parts of these pieces of a page, whose lines end at these edges.
pub fn parts(pieces: &[TextPiece], edges: &LineEdges) -> Vec<PagePart> {
    let mut readings = readings(pieces);
    let mut parts = Vec::new();
    let (mut text_from, mut at) = (0, 0);
    while at < pieces.len() {
        let Some((table, end)) = readings.iter_mut().find_map(|rows| rows.table_at(at)) else {
            at += 1;
            continue;
        };
        parts.extend(text(&pieces[text_from..at], edges));
        parts.push(PagePart::Table(table));
        at = end.unwrap_or(pieces.len());
        text_from = at;
    }
    parts.extend(text(&pieces[text_from..], edges));
    parts
}

/// The rows of a page in one direction.
struct PageRows {
    rows: Vec<Row>,
    /// Whether the cells follow each other from right to left.
    runs_left: bool,
    /// No table begins before this row.
    from: usize,
    /// The number of rows that turned out to be no table, each counted as often as that happened.
    refused: usize,
}

/// The rows of these pieces: from left to right, and if there is text that runs to the left, also
/// from right to left.
fn readings(pieces: &[TextPiece]) -> Vec<PageRows> {
    let mut readings = vec![PageRows::of(rows(pieces), false)];
    if pieces.iter().any(|piece| bidi::has_rtl(&piece.text)) {
        let mirrored = |piece: &TextPiece| TextPiece {
            left: -piece.right,
            right: -piece.left,
            ..piece.clone()
        };
        let mirrored: Vec<TextPiece> = pieces.iter().map(mirrored).collect();
        readings.push(PageRows::of(rows(&mirrored), true));
    }
    readings
}

impl PageRows {
    fn of(rows: Vec<Row>, runs_left: bool) -> Self {
        Self { rows, runs_left, from: 0, refused: 0 }
    }

    /// The table that begins with this piece, and the piece after it if there is one.
    fn table_at(&mut self, piece: usize) -> Option<(Vec<Vec<String>>, Option<usize>)> {
        let row = self.rows.binary_search_by_key(&piece, |row| row.from).ok()?;
        if row < self.from {
            return None;
        }
        let run = RowRun::of(&self.rows[row..]);
        let count = run.rows.len();
        if !run.is_table() {
            self.refused += count;
            // A part of a list is one, too. A part of other rows might be a table, but there is a
            // limit to the search.
            if run.is_list() || self.refused > self.rows.len() * TRIES {
                self.from = row + count;
            }
            return None;
        }
        let mut table = run.cells();
        // Some programs draw the cells of right-to-left tables from the left.
        let letters: String = table.iter().flatten().map(String::as_str).collect();
        if !self.runs_left && bidi::is_mostly_rtl(&letters) {
            for row in &mut table {
                row.reverse();
            }
        }
        Some((table, self.rows.get(row + count).map(|row| row.from)))
    }
}

/// The lists in pieces that are no table, and the text around them.
fn text(pieces: &[TextPiece], edges: &LineEdges) -> Vec<PagePart> {
    let (mut parts, mut at) = (Vec::new(), 0);
    for list in lists(pieces, edges) {
        parts.extend(lines(&pieces[at..list.pieces.start], edges));
        parts.extend(list.items.into_iter().map(PagePart::Item));
        at = list.pieces.end;
    }
    parts.extend(lines(&pieces[at..], edges));
    parts
}

fn lines(pieces: &[TextPiece], edges: &LineEdges) -> Option<PagePart> {
    let (mut text, mut line, mut code) = (String::new(), 0, HashSet::new());
    // The lines keep their places in the order of reading.
    for (piece, joint) in in_order(pieces).iter().zip(edges.joints(pieces)) {
        let before = if text.is_empty() { "" } else { joint.unwrap_or(piece.before) };
        line += before.matches('\n').count();
        let begins_code = piece.is_fixed_pitch && (text.is_empty() || before.contains('\n'));
        code.extend(begins_code.then_some(line));
        if joint == Some("") {
            text.truncate(text.trim_end().len());
        } else if before != " " || !text.ends_with([' ', '\n']) {
            text.push_str(before);
        }
        text.push_str(&piece.text);
    }
    let text = escaped_except(text.trim_end(), |line| code.contains(&line));
    Some(text.trim()).filter(|text| !text.is_empty()).map(|text| PagePart::Text(text.to_owned()))
}

/// The pieces in the order of reading: those of a right-to-left line begin at the right.
pub fn in_order(pieces: &[TextPiece]) -> Vec<Cow<'_, TextPiece>> {
    let mut ordered = Vec::with_capacity(pieces.len());
    let mut rest = pieces;
    while let Some(first) = rest.first() {
        let line = 1 + rest[1..].iter().take_while(|piece| piece.before == " ").count();
        let (line, after) = rest.split_at(line);
        rest = after;
        let runs_right = line.windows(2).all(|pair| pair[0].left < pair[1].left);
        let letters: String = line.iter().map(|piece| piece.text.as_str()).collect();
        if line.len() == 1 || !runs_right || !bidi::is_mostly_rtl(&letters) {
            ordered.extend(line.iter().map(Cow::Borrowed));
            continue;
        }
        let before = |at: usize| if at == 0 { first.before } else { " " };
        let turned = line.iter().rev().enumerate();
        ordered.extend(
            turned.map(|(at, piece)| Cow::Owned(TextPiece { before: before(at), ..piece.clone() })),
        );
    }
    ordered
}

fn rows(pieces: &[TextPiece]) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    for (at, piece) in pieces.iter().enumerate() {
        if piece.text.trim().is_empty() {
            continue;
        }
        let row = rows.last_mut();
        match row.map(|row| (row.place(&pieces[at..]), row)) {
            Some((PiecePlace::Beside, row)) => row.cells.push(GridCell::of(piece)),
            Some((PiecePlace::Within | PiecePlace::Below, row)) => row.go_on(piece),
            _ => rows.push(Row {
                cells: vec![GridCell::of(piece)],
                top: piece.y,
                bottom: piece.y,
                height: piece.height.max(1.0),
                from: at,
            }),
        }
    }
    rows
}

impl GridCell {
    fn of(piece: &TextPiece) -> Self {
        let text = piece.text.trim().to_owned();
        Self { text, left: piece.left, right: piece.right, y: piece.y }
    }
}

/// The position of a piece in a row.
enum PiecePlace {
    Beside,
    /// The next part of the line of the last cell.
    Within,
    /// The next line of the last cell.
    Below,
    Elsewhere,
}

impl Row {
    fn place(&self, pieces: &[TextPiece]) -> PiecePlace {
        let (piece, height) = (&pieces[0], self.height.max(pieces[0].height));
        let last = self.cells.last().expect("a row begins with a cell");
        if self.is_beside(piece) && piece.left > last.right - height * CELL_GAP {
            let is_apart = piece.left > last.right + height * CELL_GAP;
            return if is_apart { PiecePlace::Beside } else { PiecePlace::Within };
        }
        let is_next_line = follows(last.y, piece.y, height);
        if !is_next_line || piece.left > last.right || piece.right < last.left {
            return PiecePlace::Elsewhere;
        }
        match self.cells.iter().rev().nth(1) {
            Some(before) if piece.left > before.right => PiecePlace::Below,
            Some(_) => PiecePlace::Elsewhere,
            // The first cell may only have several lines if the next cell is beside it.
            None => {
                let mut y = last.y;
                let beside = pieces.iter().take(CELL_LINES).find(|piece| {
                    let is_next_line = follows(y, piece.y, height);
                    y = piece.y;
                    !is_next_line
                });
                let is_cell = beside.is_some_and(|beside| {
                    let right = last.right.max(piece.right);
                    beside.left > right && self.is_beside(beside)
                });
                if is_cell { PiecePlace::Below } else { PiecePlace::Elsewhere }
            }
        }
    }

    fn is_beside(&self, piece: &TextPiece) -> bool {
        let slack = self.height * 0.6;
        (self.bottom - slack..=self.top + slack).contains(&piece.y)
    }

    fn go_on(&mut self, piece: &TextPiece) {
        let cell = self.cells.last_mut().expect("a row begins with a cell");
        cell.text.extend([" ", piece.text.trim()]);
        cell.left = cell.left.min(piece.left);
        cell.right = cell.right.max(piece.right);
        cell.y = piece.y;
        self.bottom = self.bottom.min(piece.y);
    }
}

/// Whether a line at `y` directly follows one at `last`.
fn follows(last: f32, y: f32, height: f32) -> bool {
    (height * 0.5..=height * LINES).contains(&(last - y))
}

/// Rows that follow each other closely, whose cells are in common columns.
struct RowRun<'r> {
    rows: &'r [Row],
    columns: Vec<Extent>,
}

impl<'r> RowRun<'r> {
    /// The run that starts with the first of these rows. It may be empty.
    fn of(rows: &'r [Row]) -> Self {
        let mut columns: Vec<Extent> = Vec::new();
        let mut count = 0;
        for (at, row) in rows.iter().enumerate() {
            let is_far = at > 0 && {
                let down = rows[at - 1].bottom - row.top;
                !(0.0..=row.height * ROWS).contains(&down)
            };
            let is_row = !is_far && (2..=limits::COLUMNS).contains(&row.cells.len());
            let wider = if is_row { within(&columns, row) } else { None };
            let Some(wider) = wider.filter(|wider| wider.len() <= limits::COLUMNS) else { break };
            columns = wider;
            count += 1;
        }
        Self { rows: &rows[..count], columns }
    }

    fn is_list(&self) -> bool {
        self.rows.iter().all(is_item)
    }

    fn is_table(&self) -> bool {
        let cells: usize = self.rows.iter().map(|row| row.cells.len()).sum();
        let places = self.columns.len() * self.rows.len();
        self.rows.len() >= 2 && cells * 5 >= places * 3 && !self.is_list()
    }

    fn cells(&self) -> Vec<Vec<String>> {
        let line = |row: &Row| {
            let cell = |column: &Extent| {
                let cell = row.cells.iter().find(|cell| column.meets(cell));
                cell.map(|cell| cell.text.clone()).unwrap_or_default()
            };
            self.columns.iter().map(cell).collect()
        };
        self.rows.iter().map(line).collect()
    }
}

/// The horizontal extent of a column.
#[derive(Clone, Copy)]
struct Extent {
    left: f32,
    right: f32,
}

impl Extent {
    fn meets(self, cell: &GridCell) -> bool {
        self.left <= cell.right && self.right >= cell.left
    }
}

/// The columns extended by this row's cells, from the left. Each cell is in a separate column,
/// existing or new.
fn within(columns: &[Extent], row: &Row) -> Option<Vec<Extent>> {
    let mut columns = columns.to_vec();
    for cell in &row.cells {
        if columns.iter().filter(|column| column.meets(cell)).count() > 1 {
            return None;
        }
        match columns.iter_mut().find(|column| column.meets(cell)) {
            Some(column) => {
                column.left = column.left.min(cell.left);
                column.right = column.right.max(cell.right);
            }
            None => columns.push(Extent { left: cell.left, right: cell.right }),
        }
    }
    let column_of = |cell: &GridCell| {
        columns.iter().position(|column| column.left <= cell.left && column.right >= cell.right)
    };
    let mut taken: Vec<_> = row.cells.iter().filter_map(column_of).collect();
    taken.dedup();
    columns.sort_by(|one, two| one.left.total_cmp(&two.left));
    let apart = columns.windows(2).all(|pair| pair[0].right < pair[1].left);
    (apart && taken.len() == row.cells.len()).then_some(columns)
}

/// Whether the first cell is only a bullet or the label of an item.
fn is_item(row: &Row) -> bool {
    let text = row.cells[0].text.as_str();
    let is_number = text.trim_end_matches(['.', ')']).chars().all(|c| c.is_ascii_digit());
    // A number such as 2.1 may be a value.
    let is_value = text.ends_with(|c: char| c.is_ascii_digit());
    let is_label = PrintedLabel::of(text).is_some_and(|label| !label.is_word() && !is_value);
    row.cells.len() == 2 && (is_number || is_label || matches!(text, "☐" | "☑" | "☒"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::words::ItemMark;

    fn set(pieces: &[(&str, f32, f32)]) -> Vec<PagePart> {
        let pieces = laid_out(pieces);
        parts(&pieces, &LineEdges::of(&pieces))
    }

    /// Pieces laid out as on a page: text, left edge, distance from the bottom; 5 points per
    /// character.
    fn laid_out(pieces: &[(&str, f32, f32)]) -> Vec<TextPiece> {
        let mut last_y = f32::INFINITY;
        let pieces = pieces.iter().map(|&(text, left, y)| {
            let before = if y < last_y { "\n" } else { " " };
            last_y = y;
            let right = left + 5.0 * text.len() as f32;
            TextPiece {
                text: text.into(),
                left,
                right,
                y,
                height: 10.0,
                before,
                block: None,
                cell: None,
                paragraph: None,
                is_fixed_pitch: false,
            }
        });
        pieces.collect()
    }

    fn rows(rows: &[&[&str]]) -> PagePart {
        PagePart::Table(
            rows.iter().map(|row| row.iter().map(|&cell| cell.into()).collect()).collect(),
        )
    }

    fn words(text: &str) -> PagePart {
        PagePart::Text(text.into())
    }

    #[test]
    fn cells_above_one_another_are_a_table() {
        let found = set(&[
            ("Before", 0.0, 130.0),
            ("Name", 0.0, 100.0),
            ("Amount", 100.0, 100.0),
            ("Remark", 150.0, 100.0),
            ("North", 0.0, 80.0),
            ("7", 125.0, 80.0),
            ("fine", 150.0, 80.0),
            ("South", 0.0, 60.0),
            ("fine too", 150.0, 60.0),
            ("After all that was said", 0.0, 30.0),
        ]);
        let table = rows(&[
            &["Name", "Amount", "Remark"],
            &["North", "7", "fine"],
            &["South", "", "fine too"],
        ]);
        assert_eq!(found, [words("Before"), table, words("After all that was said")]);
    }

    #[test]
    fn a_cell_may_have_several_lines() {
        let found = set(&[
            ("Name", 0.0, 100.0),
            ("Remark", 100.0, 100.0),
            ("The north", 0.0, 80.0),
            ("of it", 0.0, 68.0),
            ("seen from", 100.0, 80.0),
            ("the south", 100.0, 68.0),
            ("East", 0.0, 48.0),
            ("none", 100.0, 48.0),
        ]);
        let table =
            [&["Name", "Remark"], &["The north of it", "seen from the south"], &["East", "none"]];
        assert_eq!(found, [rows(&table.map(|row| &row[..]))]);
    }

    #[test]
    fn the_cells_of_right_to_left_tables_begin_at_the_right() {
        let (name, amount, north) = ("שם", "סכום", "צפון");
        let table = [rows(&[&[name, amount], &[north, "7"]])];
        let from_right =
            [(name, 100.0, 50.0), (amount, 0.0, 50.0), (north, 100.0, 30.0), ("7", 0.0, 30.0)];
        assert_eq!(set(&from_right), table);
        let from_left =
            [(amount, 0.0, 50.0), (name, 100.0, 50.0), ("7", 0.0, 30.0), (north, 100.0, 30.0)];
        assert_eq!(set(&from_left), table);
        let line = "מילה word מילה 12 מילה";
        let parts = |y: f32| {
            let mut right = 300.0;
            let mut placed = Vec::new();
            for part in line.split(' ') {
                let left = right - 5.0 * part.len() as f32;
                placed.push((part, left, y));
                right = left - 3.0;
            }
            placed
        };
        let lines = [parts(50.0), parts(35.0)].concat();
        assert_eq!(set(&lines), [words(&format!("{line}\n{line}"))]);
    }

    #[test]
    fn the_search_for_tables_is_limited() {
        let places = |text: fn(usize) -> &'static str, left: fn(usize) -> f32| {
            let lines = (0..2_000).map(|at| {
                let y = -12.0 * at as f32;
                [(text(at), 0.0, y), ("x", left(at), y)]
            });
            lines.flatten().collect::<Vec<_>>()
        };
        let list = places(|_| "1.", |_| 60.0);
        let sparse = places(|_| "word", |at| 60.0 + 20.0 * (at % 9) as f32);
        for pieces in [list, sparse] {
            let pieces = laid_out(&pieces);
            let mut rows = PageRows::of(super::rows(&pieces), false);
            assert!((0..pieces.len()).all(|at| rows.table_at(at).is_none()));
            assert_eq!(rows.rows.len(), 2_000);
            assert!(rows.refused <= (TRIES + 1) * 2_000, "{}", rows.refused);
        }
    }

    #[test]
    fn text_lists_and_edges_of_a_page_are_no_tables() {
        let lines = [("A line of words", 0.0, 100.0), ("and another line", 0.0, 88.0)];
        assert_eq!(set(&lines), [words("A line of words\nand another line")]);
        let list = [("-", 0.0, 100.0), ("one", 20.0, 100.0), ("-", 0.0, 85.0), ("two", 20.0, 85.0)];
        let item = |text: &str| {
            PagePart::Item(PrintedItem { depth: 0, mark: ItemMark::Bullet, text: text.into() })
        };
        assert_eq!(set(&list), [item("one"), item("two")]);
        let edge = [("Report", 0.0, 100.0), ("1 / 3", 300.0, 100.0), ("Text", 0.0, 20.0)];
        assert_eq!(set(&edge), [words("Report 1 / 3\nText")]);
    }
}
