//! The open tables of an OpenDocument file. Spreadsheets end with thousands of repeated empty cells, so
//! empty cells are only written if a cell with a value follows.

use super::{
    reading::ReadError,
    tables::{MERGED_COLUMNS, MERGED_LEFT, MERGED_UP, Tables},
    words::Line,
    xml::XmlElement,
};

/// An open paragraph.
pub struct OdfLine {
    pub line: Line,
    /// The level of a heading.
    pub level: Option<usize>,
    pub is_hidden: bool,
}

impl OdfLine {
    /// The text, with a mark if it is hidden.
    pub fn finish(self) -> String {
        let text = self.line.finish();
        if self.is_hidden && !text.is_empty() { format!("{{hidden: {text}}}") } else { text }
    }
}

/// An open table with its open row. A table in a cell has its own, because the row around it
/// continues after it.
#[derive(Default)]
pub struct OdfTable {
    /// The paragraphs that the table is in, which continue after it.
    pub outer_lines: Vec<OdfLine>,
    cell: OdfCell,
    /// The cells without a value after the last one that was written.
    pending: Vec<PendingCells>,
    /// The number of columns of the pending cells.
    pending_columns: usize,
    /// The number of cells that follow in the open row and belong to the last merged cell.
    merged_left: usize,
}

#[derive(Default)]
struct OdfCell {
    /// How often it is repeated in its row.
    count: usize,
    /// Whether a merged cell covers it.
    is_covered: bool,
    /// The marks of its comments.
    comments: String,
}

/// Cells without a value, with the mark of a merged cell if they are parts of one.
struct PendingCells {
    mark: &'static str,
    count: usize,
}

impl OdfTable {
    /// A table inside these paragraphs.
    pub fn inside(outer_lines: Vec<OdfLine>) -> Self {
        Self { outer_lines, ..Self::default() }
    }

    pub fn begin_row(&mut self) {
        self.pending.clear();
        (self.pending_columns, self.merged_left) = (0, 0);
    }

    pub fn begin_cell(&mut self, element: &XmlElement) {
        let count = element.number("number-columns-repeated").unwrap_or(1);
        let is_covered = element.name == "covered-table-cell";
        if !is_covered {
            let spanned = element.number("number-columns-spanned").unwrap_or(1);
            self.merged_left = spanned.saturating_sub(1);
        }
        self.cell = OdfCell { count, is_covered, comments: String::new() };
    }

    /// Adds the mark of a comment, which follows the text of the open cell.
    pub fn add_comment(&mut self, mark: &str) {
        self.cell.comments.push_str(mark);
    }

    /// Ends the text of the open cell with the marks of its comments. Returns the number of columns
    /// of the cell and its copies.
    pub fn end_text(&mut self, tables: &mut Tables) -> usize {
        let comments = std::mem::take(&mut self.cell.comments);
        if !comments.is_empty() {
            tables.take(&comments);
        }
        self.cell.count
    }

    /// Ends the open cell.
    pub fn end_cell(&mut self, tables: &mut Tables) -> Result<(), ReadError> {
        let OdfCell { count, is_covered, .. } = std::mem::take(&mut self.cell);
        let left = if is_covered { count.min(self.merged_left) } else { 0 };
        self.merged_left -= left;
        let room = tables.room();
        let is_empty = tables.is_cell_empty();
        // The cells before one that is beyond the last column are not written for it.
        if !is_empty && self.pending_columns < room {
            self.write_pending(tables, self.pending.len());
            tables.end_cell();
            return tables.repeat_cell(count);
        }
        tables.drop_cell();
        let marks = if is_covered && is_empty { [MERGED_LEFT, MERGED_UP] } else { [""; 2] };
        for (mark, count) in marks.into_iter().zip([left, count - left]) {
            if count > 0 && self.pending_columns < room {
                self.pending.push(PendingCells { mark, count });
                self.pending_columns = self.pending_columns.saturating_add(count);
            }
        }
        Ok(())
    }

    /// Ends a row with the parts of merged cells at its end.
    pub fn end_row(&mut self, tables: &mut Tables) -> Result<(), ReadError> {
        let is_part =
            |cells: &PendingCells| !cells.mark.is_empty() && cells.count < MERGED_COLUMNS as usize;
        let last = self.pending.iter().rposition(is_part);
        self.write_pending(tables, last.map_or(0, |last| last + 1));
        tables.end_row()
    }

    /// Writes the first of the cells that are pending, and drops the others.
    fn write_pending(&mut self, tables: &mut Tables, first: usize) {
        self.pending_columns = 0;
        for PendingCells { mark, count } in self.pending.drain(..).take(first) {
            match mark {
                "" => tables.pad(count),
                mark => tables.add_merged(mark, count),
            }
        }
    }
}
