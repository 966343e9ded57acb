//! Tables of an RTF file: the outermost becomes a table, those in its cells become lines.

use std::collections::BTreeSet;

use super::{
    limits::COLUMNS,
    rtf_places::RtfPlace,
    rtf_rows::{RtfMarkedRow, RtfRow, RtfRowDefinition, marked},
    tables::{MERGED, WIDE},
};

/// The maximum depth of nested tables; deeper ones are read as if they had this depth.
const DEPTH: usize = 32;

/// The table that is being read.
#[derive(Default)]
pub struct RtfTables {
    /// The open rows, from that of the outermost table.
    open: Vec<OpenRtfRow>,
    rows: Vec<RtfRow>,
    /// The definition of the rows of the outermost table.
    outer: RtfRowDefinition,
    /// The definition of the row of a table in a cell, which follows that row.
    inner: RtfRowDefinition,
    /// Warnings about the tables so far.
    pub warnings: BTreeSet<&'static str>,
}

#[derive(Default)]
struct OpenRtfRow {
    cell: String,
    cells: Vec<String>,
    /// The rows of the table with which the open cell ends so far.
    inner: Vec<RtfRow>,
}

impl OpenRtfRow {
    /// Adds a paragraph, or a row of a table in it, to the open cell.
    fn add_line(&mut self, text: &str) {
        if !text.is_empty() && !self.cell.is_empty() {
            self.cell.push('\n');
        }
        self.cell.push_str(text);
    }

    /// The cells, with the last one if its end is missing.
    fn finish(mut self) -> Vec<String> {
        self.cells.extend((!self.cell.is_empty()).then_some(self.cell));
        self.cells
    }
}

impl RtfTables {
    /// Reads a control word that may define the cells of a row. The definitions of inner rows are in
    /// groups of their own.
    pub fn define(&mut self, place: RtfPlace, name: &str, number: Option<i32>) {
        match place {
            RtfPlace::Text => self.outer.read(name, number),
            RtfPlace::NestedRow => self.inner.read(name, number),
            _ => {}
        }
    }

    /// Adds a paragraph to the open cell. `depth` is 1 for the outermost table.
    pub fn add(&mut self, depth: usize, text: &str) {
        if !text.is_empty() {
            self.end_inner(depth);
        }
        self.row(depth).add_line(text);
    }

    pub fn end_cell(&mut self, depth: usize) {
        self.end_inner(depth);
        let row = self.row(depth);
        row.cells.push(std::mem::take(&mut row.cell).trim().to_owned());
    }

    /// Ends a row of the outermost table.
    pub fn end_row(&mut self) {
        self.end_inner(1);
        let cells = self.open.pop().map(OpenRtfRow::finish).unwrap_or_default();
        if !cells.is_empty() {
            self.rows.push(RtfRow::of(cells, &self.outer));
        }
    }

    /// Ends a row of the innermost table, which is a line of the cell around it.
    pub fn end_nested_row(&mut self) {
        if self.open.len() < 2 {
            return;
        }
        self.end_inner(self.open.len());
        let cells = self.open.pop().map(OpenRtfRow::finish).unwrap_or_default();
        if let Some(outer) = self.open.last_mut() {
            outer.inner.push(RtfRow::of(cells, &self.inner));
        }
    }

    /// The rows of the table, which ends.
    pub fn finish(&mut self) -> Vec<Vec<String>> {
        let rows = std::mem::take(&mut self.rows);
        let mut rows: Vec<_> = self.marked(rows).into_iter().map(|row| row.cells).collect();
        for row in rows.iter_mut().filter(|row| row.len() > COLUMNS) {
            row.truncate(COLUMNS);
            self.warnings.insert(WIDE);
        }
        rows
    }

    fn marked(&mut self, rows: Vec<RtfRow>) -> Vec<RtfMarkedRow> {
        let rows = marked(rows);
        self.warnings.extend(rows.iter().any(|row| row.has_merged).then_some(MERGED));
        rows
    }

    /// Ends the table inside the cell at this depth, and its rows, which a damaged file leaves open.
    fn end_inner(&mut self, depth: usize) {
        let depth = depth.clamp(1, DEPTH);
        while self.open.len() > depth {
            self.end_nested_row();
        }
        let Some(row) = self.open.get_mut(depth - 1) else { return };
        let rows = std::mem::take(&mut row.inner);
        let rows = self.marked(rows);
        for row in rows {
            self.open[depth - 1].add_line(&row.cells.join(" ; "));
        }
    }

    fn row(&mut self, depth: usize) -> &mut OpenRtfRow {
        let depth = depth.clamp(1, DEPTH);
        if self.open.len() < depth {
            self.open.resize_with(depth, OpenRtfRow::default);
        }
        &mut self.open[depth - 1]
    }
}
