//! Tables with merged cells.

use rust_xlsxwriter::{Worksheet, XlsxError};

use super::look::{self, Column};
use super::pages::Pages;
use super::runs::Style;
use crate::document::{CellSpan, Table};

/// The header of a table that is not a native one.
pub struct PlainHeader<'a> {
    pub table: &'a Table,
    pub names: &'a [String],
    pub columns: &'a [Column],
}

impl Pages<'_> {
    /// The header of a table that cannot be a native one: Excel allows no merged cells there.
    pub fn plain_header(
        &mut self,
        sheet: &mut Worksheet,
        top: u32,
        PlainHeader { table, names, columns }: PlainHeader<'_>,
    ) -> Result<(), XlsxError> {
        let spans = table.spans();
        let header = |column: usize| look::header(columns[column], &self.look);
        for merge in &table.merges {
            let (row, column) = (top + merge.row as u32, merge.column as u16);
            let (last_row, last) = (merge.rows as u32 - 1, merge.columns as u16 - 1);
            let format = if merge.row < table.header_rows() {
                header(merge.column)
            } else {
                look::cell(Style::default(), columns[merge.column].chosen, true)
            };
            sheet.merge_range(row, column, row + last_row, column + last, "", &format)?;
        }
        for (column, name) in names.iter().enumerate() {
            let is_blank = table.header[column].is_empty() && !table.merges.is_empty();
            if !is_blank && matches!(spans.at(0, column), CellSpan::Single | CellSpan::First(_)) {
                sheet.write_string_with_format(top, column as u16, name, &header(column))?;
            }
        }
        Ok(())
    }
}
