//! Strings of cells, as `rust_xlsxwriter` has to be given them.

use rust_xlsxwriter::{Format, Worksheet, XlsxError};

use super::look;
use super::sheet::{FormattedText, SheetCell};
use crate::package::cell_escapes;

/// Writes a string that fits a cell, and returns whether it has been written. What begins and ends
/// like a run would be taken for the markup of runs, so it becomes the text of one, which may be too
/// long with its escapes.
pub fn write(
    sheet: &mut Worksheet,
    at: SheetCell,
    text: &str,
    format: &Format,
) -> Result<bool, XlsxError> {
    if !(text.starts_with("<r>") && text.ends_with("</r>")) {
        sheet.write_string_with_format(at.row, at.column, text, format)?;
        return Ok(true);
    }
    // A run without a format has that of the cell.
    let (plain, text) = (Format::new(), cell_escapes::stored(text));
    fits(sheet.write_rich_string_with_format(at.row, at.column, &[(&plain, text.as_str())], format))
}

/// Writes formatted text, and returns whether it has been written: the limit of a string includes
/// the formats of its runs.
pub fn write_runs(
    sheet: &mut Worksheet,
    at: SheetCell,
    text: FormattedText<'_>,
) -> Result<bool, XlsxError> {
    let FormattedText { runs, font, format } = text;
    let styles: Vec<Format> = runs.pieces.iter().map(|run| look::styled(run.style, font)).collect();
    // `_x0041_` is escaped only in plain strings.
    let texts: Vec<String> =
        runs.pieces.iter().map(|run| cell_escapes::stored(&run.text)).collect();
    let pieces: Vec<(&Format, &str)> =
        styles.iter().zip(texts.iter().map(String::as_str)).collect();
    fits(sheet.write_rich_string_with_format(at.row, at.column, &pieces, format))
}

/// Whether a text is within the limit.
fn fits(written: Result<&mut Worksheet, XlsxError>) -> Result<bool, XlsxError> {
    match written {
        Ok(_) => Ok(true),
        Err(XlsxError::MaxStringLengthExceeded) => Ok(false),
        Err(error) => Err(error),
    }
}
