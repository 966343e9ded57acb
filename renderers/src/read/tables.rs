//! Tables that are being read.
//!
//! Markdown has no merged cells. The text of one is in its first cell; the others have a mark that
//! leads to it. The text is not repeated, because an amount would be counted twice.

use std::collections::BTreeSet;

use super::{limits, reading::ReadError, words::Words};

/// The mark of a cell that is merged with the one to its left.
pub const MERGED_LEFT: &str = "←";
/// The mark of a cell that is merged with the one above.
pub const MERGED_UP: &str = "↑";
/// The maximum number of columns of a merged cell that are marked in a sheet. A title that is merged
/// over the whole width of a sheet does not make a table of that width.
pub const MERGED_COLUMNS: u32 = 32;
/// What the marks mean.
pub const MERGED: &str =
    "Merged cells are marked: ← belongs to the cell to its left, ↑ to the cell above.";
/// What is left out of a table with too many columns.
pub const WIDE: &str = "Columns of tables after the 256th were skipped.";

/// Nested tables: the outermost becomes a table, those in its cells become lines.
#[derive(Debug, Default)]
pub struct Tables {
    open: Vec<OpenTable>,
    /// The number of bytes added by repetition.
    repeated: usize,
    /// Warnings about the tables so far.
    pub warnings: BTreeSet<&'static str>,
}

#[derive(Debug, Default)]
struct OpenTable {
    rows: Vec<Vec<String>>,
    cell: Option<OpenCell>,
    /// How often the open row is in the table; 0 is the same as 1.
    row_count: usize,
    limit: Option<CellLimit>,
    /// Whether a text was left out because it is beyond the last column.
    is_wide: bool,
}

/// An open cell. Each open table has its own, because a cell stays open while tables in it are read.
#[derive(Debug)]
struct OpenCell {
    text: String,
    /// The number of columns that it covers.
    columns: usize,
    /// The mark of a cell that is a part of a merged cell.
    mark: Option<&'static str>,
}

impl OpenCell {
    fn is_empty(&self) -> bool {
        self.text.trim().is_empty()
    }
}

/// The maximum number of cells of a table, and its size.
#[derive(Debug)]
struct CellLimit {
    max_cells: usize,
    /// The number of rows, including those that are left out.
    height: usize,
    /// The number of columns of the rows that are kept.
    width: usize,
    /// Whether a row with a value was left out.
    is_cut: bool,
}

/// A table with a limited number of cells.
pub struct LimitedTable {
    pub height: usize,
    pub width: usize,
    /// The number of rows that were kept.
    pub shown: usize,
    pub is_cut: bool,
    /// Whether values beyond the last column were left out.
    pub is_wide: bool,
}

impl CellLimit {
    /// Counts `count` equal rows of `columns` columns, which follow `kept` rows. Returns how many of
    /// them are kept. All rows take the width of the widest.
    ///
    /// For example, 12 cells are allowed, and 3 rows of 3 columns are kept. If 2 rows of 3 columns
    /// follow, 1 is kept, because 12 / 3 = 4 rows fit: the height is 5, and the table is cut. From then
    /// on nothing is kept, so that the rows that are shown are the first ones. If a row of 4 columns
    /// follows instead, it is left out, because only 12 / 4 = 3 rows of that width fit.
    fn keep(&mut self, kept: usize, columns: usize, count: usize) -> usize {
        self.height = self.height.saturating_add(count);
        let width = self.width.max(columns);
        let room = (self.max_cells / width.max(1)).saturating_sub(kept);
        let fitting = if self.is_cut { 0 } else { count.min(room) };
        // Empty rows at the end of a sheet are no loss.
        self.is_cut |= fitting < count && columns > 0;
        if fitting > 0 {
            self.width = width;
        }
        fitting
    }
}

impl Tables {
    pub fn open(&mut self) {
        self.open.push(OpenTable::default());
    }

    /// Opens a table of at most `max_cells` cells.
    pub fn open_limited(&mut self, max_cells: usize) {
        let limit = CellLimit { max_cells, height: 0, width: 0, is_cut: false };
        self.open.push(OpenTable { limit: Some(limit), ..OpenTable::default() });
    }

    /// The innermost table, if the number of its cells is limited.
    pub fn limited(&self) -> Option<LimitedTable> {
        let OpenTable { rows, limit, is_wide, .. } = self.open.last()?;
        let CellLimit { height, width, is_cut, .. } = *limit.as_ref()?;
        Some(LimitedTable { height, width, shown: rows.len(), is_cut, is_wide: *is_wide })
    }

    pub fn row(&mut self) {
        if let Some(table) = self.open.last_mut() {
            table.rows.push(Vec::new());
        }
    }

    pub fn cell(&mut self) {
        if let Some(table) = self.open.last_mut() {
            table.cell = Some(OpenCell { text: String::new(), columns: 1, mark: None });
        }
    }

    fn open_cell(&mut self) -> Option<&mut OpenCell> {
        self.open.last_mut()?.cell.as_mut()
    }

    /// Sets the number of columns that the open cell covers.
    pub fn span(&mut self, columns: usize) {
        if let Some(cell) = self.open_cell() {
            cell.columns = columns.max(1);
        }
    }

    /// Makes the open cell a part of a merged cell, with this mark.
    pub fn merge(&mut self, mark: Option<&'static str>) {
        if let Some(cell) = self.open_cell() {
            cell.mark = mark;
        }
    }

    /// Ends the open cell and adds it to its row. A part of a merged cell that has a text of its own
    /// keeps it.
    pub fn end_cell(&mut self) {
        let Some(cell) = self.open.last_mut().and_then(|table| table.cell.take()) else { return };
        if let Some(mark) = cell.mark.filter(|_| cell.is_empty()) {
            return self.add_merged(mark, cell.columns);
        }
        self.add_cell(cell.text);
        self.add_merged(MERGED_LEFT, cell.columns - 1);
    }

    /// Ends the open cell without adding it to its row.
    pub fn drop_cell(&mut self) {
        if let Some(table) = self.open.last_mut() {
            let cell = table.cell.take();
            table.is_wide |= cell.is_some_and(|cell| !cell.is_empty());
        }
    }

    fn add_cell(&mut self, text: String) {
        let Some(table) = self.open.last_mut() else { return };
        match table.rows.last_mut() {
            Some(row) if row.len() < limits::COLUMNS => row.push(text),
            Some(_) => table.is_wide |= !text.trim().is_empty(),
            None => {}
        }
    }

    /// Adds parts of a merged cell.
    pub fn add_merged(&mut self, mark: &str, count: usize) {
        if count > 0 {
            self.warnings.insert(MERGED);
            self.add_cells(mark, count);
        }
    }

    /// Adds copies of the last cell of the open row, so that it is there `count` times, up to the last
    /// column.
    pub fn repeat_cell(&mut self, count: usize) -> Result<(), ReadError> {
        let Some(table) = self.open.last_mut() else { return Ok(()) };
        let Some(row) = table.rows.last_mut() else { return Ok(()) };
        let wanted = count.saturating_sub(1);
        let more = wanted.min(limits::COLUMNS.saturating_sub(row.len()));
        table.is_wide |= more < wanted;
        let Some(cell) = row.last().filter(|_| more > 0).cloned() else { return Ok(()) };
        within(&mut self.repeated, std::slice::from_ref(&cell), more)?;
        row.extend(vec![cell; more]);
        Ok(())
    }

    /// Repeats the open row `count` times, once it is complete.
    pub fn repeat_row(&mut self, count: usize) {
        if let Some(table) = self.open.last_mut() {
            table.row_count = count;
        }
    }

    /// Ends the open row, and adds its copies. An empty row is written only once, however often it is
    /// repeated. Repeated rows of a column that is one merged cell are empty.
    pub fn end_row(&mut self) -> Result<(), ReadError> {
        let Some(table) = self.open.last_mut() else { return Ok(()) };
        let Some(mut row) = table.rows.pop() else { return Ok(()) };
        let mut count = std::mem::take(&mut table.row_count).max(1);
        if count > 1 && row.iter().all(|cell| is_mark(cell)) {
            row.clear();
        }
        if row.is_empty() {
            count = 1;
        }
        if let Some(limit) = &mut table.limit {
            count = limit.keep(table.rows.len(), row.len(), count);
        }
        within(&mut self.repeated, &row, count.saturating_sub(1))?;
        table.rows.extend(std::iter::repeat_n(row, count));
        Ok(())
    }

    /// Changes the texts of the open row, apart from the marks of merged cells.
    pub fn change_row(&mut self, change: impl Fn(&mut String)) {
        let row = self.open.last_mut().and_then(|table| table.rows.last_mut());
        row.into_iter().flatten().filter(|cell| !is_mark(cell)).for_each(change);
    }

    /// Adds empty cells.
    pub fn pad(&mut self, count: usize) {
        self.add_cells("", count);
    }

    fn add_cells(&mut self, text: &str, count: usize) {
        let room = self.room();
        if let Some(row) = self.open.last_mut().and_then(|table| table.rows.last_mut()) {
            row.extend(vec![text.to_owned(); count.min(room)]);
        }
    }

    /// The number of columns after the cells of the open row.
    pub fn room(&self) -> usize {
        let row = self.open.last().and_then(|table| table.rows.last());
        limits::COLUMNS.saturating_sub(row.map_or(0, Vec::len))
    }

    pub fn is_in_cell(&self) -> bool {
        self.open.last().is_some_and(|table| table.cell.is_some())
    }

    /// Whether no cell is open that has a text.
    pub fn is_cell_empty(&self) -> bool {
        let cell = self.open.last().and_then(|table| table.cell.as_ref());
        cell.is_none_or(OpenCell::is_empty)
    }

    /// Adds the text to an open cell; `false` if there is none.
    pub fn take(&mut self, text: &str) -> bool {
        let Some(OpenCell { text: cell, .. }) = self.open_cell() else { return false };
        if !cell.is_empty() && !text.is_empty() {
            cell.push('\n');
        }
        cell.push_str(text);
        true
    }

    /// The rows of the innermost table.
    pub fn rows(&self) -> &[Vec<String>] {
        self.open.last().map_or(&[], |table| &table.rows)
    }

    /// Closes the innermost table, which is none.
    pub fn discard(&mut self) {
        self.open.pop();
    }

    pub fn close(&mut self, words: &mut Words) -> Result<(), ReadError> {
        let Some(table) = self.open.pop() else { return Ok(()) };
        if table.is_wide && table.limit.is_none() {
            self.warnings.insert(WIDE);
        }
        if self.open.is_empty() {
            return words.table(&table.rows);
        }
        self.take(&lines(&table.rows));
        Ok(())
    }
}

/// The rows of a table in a cell, each on a line.
pub fn lines(rows: &[Vec<String>]) -> String {
    let lines = rows.iter().map(|row| row.join(" ; "));
    lines.filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
}

fn is_mark(cell: &str) -> bool {
    matches!(cell, "" | MERGED_LEFT | MERGED_UP)
}

/// Whether `more` copies of these cells are within the limit; each takes about forty bytes in
/// addition to its text.
fn within(repeated: &mut usize, cells: &[String], more: usize) -> Result<(), ReadError> {
    let bytes = cells.iter().map(|cell| cell.len() + 40).sum::<usize>().saturating_mul(more);
    *repeated = repeated.saturating_add(bytes);
    let limit = limits::MARKDOWN_BYTES as u64;
    limits::within(*repeated as u64, limit, "bytes in repeated cells")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limited_table_keeps_its_first_rows() {
        let limit = || CellLimit { max_cells: 12, height: 3, width: 3, is_cut: false };
        let mut narrow = limit();
        assert_eq!((narrow.keep(3, 3, 2), narrow.height, narrow.is_cut), (1, 5, true));
        assert_eq!((narrow.keep(4, 1, 1), narrow.height, narrow.width), (0, 6, 3));
        let mut wide = limit();
        assert_eq!((wide.keep(3, 4, 1), wide.width, wide.is_cut), (0, 3, true));
        let mut empty = CellLimit { max_cells: 3, ..limit() };
        assert_eq!((empty.keep(3, 0, 1), empty.is_cut), (0, false));
    }
}
