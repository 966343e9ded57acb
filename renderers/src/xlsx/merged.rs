//! Tables with merged cells.

use rust_xlsxwriter::{Worksheet, XlsxError};

use super::headers::header_runs;
use super::look::{self, Column};
use super::pages::Pages;
use super::runs::{RunStyle, Runs};
use super::sheet::SheetCell;
use crate::document::{Align, CellSpan, Table};
use crate::rendered::Warning;

/// The first row of a table's header.
#[derive(Clone, Copy)]
pub struct HeaderRow<'a> {
    pub table: &'a Table,
    pub names: &'a [String],
    pub columns: &'a [Column],
}

/// Whether the header can be that of a native table: one row, without merged cells.
pub fn is_native(table: &Table) -> bool {
    table.merges.is_empty() && table.header_rows() == 1
}

/// The look of a header over several columns, which is centred.
fn over(column: Column, span: CellSpan) -> Column {
    if span.columns() > 1 { Column::from(Align::Center) } else { column }
}

impl Pages<'_> {
    /// The header of a table that cannot be a native one: Excel allows no merged cells and
    /// no further rows there.
    pub fn plain_header(
        &mut self,
        sheet: &mut Worksheet,
        top: u32,
        header_row: HeaderRow<'_>,
    ) -> Result<(), XlsxError> {
        let HeaderRow { table, names, columns } = header_row;
        let spans = table.spans();
        let header =
            |row: usize, at: usize| look::header(over(columns[at], spans.at(row, at)), &self.look);
        for merge in &table.merges {
            let (row, column) = (top + merge.row as u32, merge.column as u16);
            let (last_row, last) = (merge.rows as u32 - 1, merge.columns as u16 - 1);
            let format = if merge.row < table.header_rows() {
                header(merge.row, merge.column)
            } else {
                look::cell(RunStyle::default(), &self.look, columns[merge.column].chosen, true)
            };
            sheet.merge_range(row, column, row + last_row, column + last, "", &format)?;
        }
        for (column, name) in names.iter().enumerate() {
            let is_blank = table.header[column].is_empty() && !is_native(table);
            if !is_blank && matches!(spans.at(0, column), CellSpan::Single | CellSpan::First(_)) {
                let runs = header_runs(&table.header[column], name);
                let at = SheetCell { row: top, column: column as u16 };
                self.header_cell(sheet, at, &runs, over(columns[column], spans.at(0, column)))?;
            }
        }
        Ok(())
    }

    /// The rows of the header below its first one.
    pub fn more_header_rows(
        &mut self,
        sheet: &mut Worksheet,
        top: u32,
        table: &Table,
        columns: &[Column],
    ) -> Result<(), XlsxError> {
        let spans = table.spans();
        for (at, cells) in table.rows.iter().enumerate().take(table.header_rows() - 1) {
            let row = top + at as u32 + 1;
            for (column, cell) in cells.iter().enumerate().take(columns.len()) {
                let span = spans.at(at + 1, column);
                if matches!(span, CellSpan::Single | CellSpan::First(_)) {
                    let runs = Runs::read(cell).within_bold();
                    for (url, _) in &runs.images {
                        self.warn(Warning::PictureInHeader { name: url.clone() });
                    }
                    let at = SheetCell { row, column: column as u16 };
                    self.header_cell(sheet, at, &runs, over(columns[column], span))?;
                }
            }
        }
        Ok(())
    }
}
