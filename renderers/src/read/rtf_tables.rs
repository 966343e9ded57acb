//! Tables of an RTF file: the outermost becomes a table, those in its cells become lines.

/// The maximum depth of nested tables; deeper ones are read as if they had this depth.
const DEPTH: usize = 32;

/// The table that is being read.
#[derive(Default)]
pub struct RtfTables {
    /// The open rows, from that of the outermost table.
    open: Vec<RtfRow>,
    rows: Vec<Vec<String>>,
}

#[derive(Default)]
struct RtfRow {
    cell: CellText,
    cells: Vec<String>,
}

impl RtfRow {
    /// The cells, with the last one if its end is missing.
    fn finish(mut self) -> Vec<String> {
        self.cells.extend((!self.cell.text.is_empty()).then_some(self.cell.text));
        self.cells
    }
}

/// The text of an open cell: its paragraphs on one line, and the rows of tables in it on lines of
/// their own.
#[derive(Default)]
struct CellText {
    text: String,
    /// Whether the last part was a row.
    is_after_row: bool,
}

impl CellText {
    fn add(&mut self, text: &str, is_row: bool) {
        if text.is_empty() {
            return;
        }
        if !self.text.is_empty() {
            self.text.push(if is_row || self.is_after_row { '\n' } else { ' ' });
        }
        self.text.push_str(text);
        self.is_after_row = is_row;
    }
}

impl RtfTables {
    /// Adds a paragraph to the open cell. `depth` is 1 for the outermost table.
    pub fn add(&mut self, depth: usize, text: &str) {
        if !text.is_empty() {
            self.end_inner(depth);
        }
        self.row(depth).cell.add(text, false);
    }

    pub fn end_cell(&mut self, depth: usize) {
        self.end_inner(depth);
        let row = self.row(depth);
        row.cells.push(std::mem::take(&mut row.cell).text.trim().to_owned());
    }

    /// Ends a row of the outermost table.
    pub fn end_row(&mut self) {
        self.end_inner(1);
        let cells = self.open.pop().map(RtfRow::finish).unwrap_or_default();
        if !cells.is_empty() {
            self.rows.push(cells);
        }
    }

    /// Ends a row of the innermost table, which is a line of the cell around it.
    pub fn end_nested_row(&mut self) {
        if self.open.len() < 2 {
            return self.end_row();
        }
        let cells = self.open.pop().map(RtfRow::finish).unwrap_or_default();
        if let Some(outer) = self.open.last_mut() {
            outer.cell.add(&cells.join(" ; "), true);
        }
    }

    /// The rows of the table, which ends.
    pub fn finish(&mut self) -> Vec<Vec<String>> {
        std::mem::take(&mut self.rows)
    }

    /// Ends the rows of tables inside the cell at this depth, which a damaged file leaves open.
    fn end_inner(&mut self, depth: usize) {
        while self.open.len() > depth.clamp(1, DEPTH) {
            self.end_nested_row();
        }
    }

    fn row(&mut self, depth: usize) -> &mut RtfRow {
        let depth = depth.clamp(1, DEPTH);
        if self.open.len() < depth {
            self.open.resize_with(depth, RtfRow::default);
        }
        &mut self.open[depth - 1]
    }
}
