//! Tables that are being read.
//!
//! Markdown has no merged cells. The text of one is in its first cell; the others have a mark that
//! leads to it. The text is not repeated, because an amount would be counted twice.

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

/// Nested tables: the outermost becomes a table, those in its cells become lines.
#[derive(Debug, Default)]
pub struct Tables {
    open: Vec<OpenTable>,
    /// The number of bytes added by repetition.
    repeated: usize,
    /// Whether a cell was marked as a part of a merged cell.
    pub has_merged: bool,
}

#[derive(Debug, Default)]
struct OpenTable {
    rows: Vec<Vec<String>>,
    cell: Option<String>,
    /// How often the open row is repeated.
    row_count: usize,
    /// The maximum number of cells; further rows are only counted.
    max_cells: Option<usize>,
    /// The number of rows and columns with values, if the number of cells is limited.
    height: usize,
    width: usize,
    is_cut: bool,
}

/// A table with a limited number of cells.
pub struct LimitedTable {
    pub height: usize,
    pub width: usize,
    /// The number of rows that were kept.
    pub shown: usize,
    pub is_cut: bool,
}

impl OpenTable {
    /// Removes the last row, which is repeated `more` times, if it is over the limit. Returns how
    /// often it may be repeated.
    fn limit(&mut self, max_cells: usize, more: usize) -> usize {
        let columns = self.rows.last().map_or(0, Vec::len);
        let count = if columns > 0 { more.saturating_add(1) } else { 1 };
        self.height = self.height.saturating_add(count);
        let wide = self.width.max(columns);
        let room = max_cells / wide.max(1);
        if self.is_cut || self.rows.len() > room {
            self.rows.pop();
            // Empty rows at the end of a sheet are no loss.
            self.is_cut |= columns > 0;
            return 0;
        }
        self.width = wide;
        self.is_cut |= count > room - self.rows.len() + 1;
        more.min(room - self.rows.len())
    }
}

impl Tables {
    pub fn open(&mut self) {
        self.open.push(OpenTable::default());
    }

    /// Opens a table of at most `cells` cells.
    pub fn open_limited(&mut self, cells: usize) {
        self.open.push(OpenTable { max_cells: Some(cells), ..OpenTable::default() });
    }

    /// The innermost table, if the number of its cells is limited.
    pub fn limited(&self) -> Option<LimitedTable> {
        let OpenTable { rows, height, width, is_cut, .. } = self.open.last()?;
        self.open.last()?.max_cells?;
        let (height, width) = (*height, *width);
        Some(LimitedTable { height, width, shown: rows.len(), is_cut: *is_cut })
    }

    pub fn row(&mut self) {
        if let Some(table) = self.open.last_mut() {
            table.rows.push(Vec::new());
        }
    }

    pub fn cell(&mut self) {
        if let Some(table) = self.open.last_mut() {
            table.cell = Some(String::new());
        }
    }

    /// Ends the cell, which is `wide` columns wide.
    pub fn end_cell(&mut self, wide: usize) {
        if let Some(table) = self.open.last_mut()
            && let (Some(text), Some(row)) = (table.cell.take(), table.rows.last_mut())
        {
            row.push(text);
            self.add_merged(MERGED_LEFT, wide.saturating_sub(1));
        }
    }

    /// Ends a cell that is a part of a merged cell. One that has a text of its own keeps it.
    pub fn end_merged_cell(&mut self, mark: &'static str, wide: usize) {
        let cell = self.open.last_mut().and_then(|table| table.cell.as_mut());
        if cell.is_some_and(|text| !text.trim().is_empty()) {
            return self.end_cell(wide);
        }
        if self.open.last_mut().is_some_and(|table| table.cell.take().is_some()) {
            self.add_merged(mark, wide);
        }
    }

    /// Adds parts of a merged cell.
    pub fn add_merged(&mut self, mark: &str, count: usize) {
        self.has_merged |= count > 0;
        self.add_cells(mark, count);
    }

    /// Repeats the last cell `count` times.
    pub fn repeat_cell(&mut self, count: usize) -> Result<(), ReadError> {
        let Some(row) = self.open.last_mut().and_then(|table| table.rows.last_mut()) else {
            return Ok(());
        };
        let more = count.saturating_sub(1).min(limits::COLUMNS.saturating_sub(row.len()));
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

    /// An empty row is written only once, however often it is repeated. Repeated rows of a column
    /// that is one merged cell are empty.
    pub fn end_row(&mut self) -> Result<(), ReadError> {
        let Some(table) = self.open.last_mut() else { return Ok(()) };
        let mut more = std::mem::take(&mut table.row_count).saturating_sub(1);
        if let Some(row) =
            table.rows.last_mut().filter(|row| more > 0 && row.iter().all(|cell| is_mark(cell)))
        {
            row.clear();
        }
        if let Some(max_cells) = table.max_cells {
            more = table.limit(max_cells, more);
        }
        let filled = table.rows.last().filter(|row| more > 0 && !row.is_empty());
        let Some(row) = filled.cloned() else { return Ok(()) };
        within(&mut self.repeated, &row, more)?;
        table.rows.extend(vec![row; more]);
        Ok(())
    }

    /// Adds empty cells.
    pub fn pad(&mut self, count: usize) {
        self.add_cells("", count);
    }

    fn add_cells(&mut self, text: &str, count: usize) {
        if let Some(row) = self.open.last_mut().and_then(|table| table.rows.last_mut()) {
            let room = limits::COLUMNS.saturating_sub(row.len());
            row.extend(vec![text.to_owned(); count.min(room)]);
        }
    }

    /// Whether no table is open.
    pub fn is_closed(&self) -> bool {
        self.open.is_empty()
    }

    pub fn is_in_cell(&self) -> bool {
        self.open.last().is_some_and(|table| table.cell.is_some())
    }

    /// Adds the text to an open cell; `false` if there is none.
    pub fn take(&mut self, text: &str) -> bool {
        let cell = self.open.last_mut().and_then(|table| table.cell.as_mut());
        let Some(cell) = cell else { return false };
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
        if self.open.is_empty() {
            return words.table(&table.rows);
        }
        let lines: Vec<String> = table.rows.iter().map(|row| row.join(" ; ")).collect();
        self.take(&lines.join("\n"));
        Ok(())
    }
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
