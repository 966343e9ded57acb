//! Strings of cells, as `rust_xlsxwriter` has to be given them.

use rust_xlsxwriter::{Format, Worksheet, XlsxError};

use super::look;
use super::sheet::{FormattedText, SheetCell};
use super::streamed_book::without_escapes;

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
    let texts: Vec<String> = runs.pieces.iter().map(|run| without_escapes(&run.text)).collect();
    let pieces: Vec<(&Format, &str)> =
        styles.iter().zip(texts.iter().map(String::as_str)).collect();
    match sheet.write_rich_string_with_format(at.row, at.column, &pieces, format) {
        Ok(_) => Ok(true),
        Err(XlsxError::MaxStringLengthExceeded) => Ok(false),
        Err(error) => Err(error),
    }
}
