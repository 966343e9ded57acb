//! The cells of a table's header, with their formats and links.

use rust_xlsxwriter::{Worksheet, XlsxError};

use super::look::{self, BaseFont, Column};
use super::merged::HeaderRow;
use super::pages::Pages;
use super::runs::Runs;
use super::sheet::{FormattedText, SheetCell};
use super::table::short;
use crate::document::Inline;

/// The runs of the header cell of a column with this name, which may differ from the cell.
pub fn header_runs(cell: &[Inline], name: &str) -> Runs {
    Runs::read(cell).within_bold().named(name)
}

impl Pages<'_> {
    /// Formats the header of a native table. The text of its cells has to stay the names of the
    /// columns, so a link that a cell cannot carry is reported.
    pub fn native_header(
        &mut self,
        sheet: &mut Worksheet,
        top: u32,
        header_row: HeaderRow<'_>,
    ) -> Result<(), XlsxError> {
        let HeaderRow { table, names, columns } = header_row;
        for (at, cell) in table.header.iter().enumerate() {
            let runs = header_runs(cell, &names[at]);
            let style = runs.style().unwrap_or_default();
            let format = look::styled_header(style, columns[at], &self.look);
            let cell = SheetCell { row: top, column: at as u16 };
            if let Some(url) = runs.url()
                && !self.link(sheet, cell, url, &format)?
            {
                self.warn(format!("The column “{}” cannot carry {url}.", short(&names[at])));
            }
            let font = BaseFont::header(&self.look);
            let text = FormattedText { runs: &runs, font, format: &format };
            self.runs(sheet, cell, text)?;
        }
        Ok(())
    }

    /// A cell of a header that is not that of a native table.
    pub fn header_cell(
        &mut self,
        sheet: &mut Worksheet,
        at: SheetCell,
        runs: &Runs,
        column: Column,
    ) -> Result<(), XlsxError> {
        let style = runs.style().unwrap_or_default();
        let format = look::styled_header(style, column, &self.look);
        let font = BaseFont::header(&self.look);
        self.text_in(sheet, at, FormattedText { runs, font, format: &format })
    }
}
