//! Long tables: CSV lines are written to the sheet one at a time, so that memory use stays low.
//!
//! Written rows are kept in a temporary file until the workbook is assembled: the only place in
//! this crate that writes a file. If no temporary file can be created, the rows stay in memory.

use std::collections::HashMap;

use rust_xlsxwriter::{Format, Worksheet, XlsxError};

use super::cells::{CELL_CHARS, Typed};
use super::column::Notation;
use super::pages::Pages;
use super::properties::workbook;
use super::signs::Signs;
use super::{column, look, plan};
use crate::Document;
use crate::budgets::TABLE_COLUMNS;
use crate::document::Align;
use crate::markdown::clean;
use crate::package::look::look as theme;
use crate::pdf::fontset::Fonts;
use crate::records::Records;
use crate::rendered::{RenderError, Rendered};

/// Excel's limit.
const ROWS: usize = 1_048_576;
/// The number of lines that are sampled for column widths and number notation.
const MEASURED: usize = 500;
const WIDEST: usize = 60;
const OUTPUT_BYTES: usize = 64 << 20;
/// The warning about cells that are not formulas, after their count.
pub const FORMULAS: &str = "cells that begin with = stay text: rows are data, not formulas";

/// A workbook with one sheet from CSV text, whose first line names the columns. Of `document`, only
/// its metadata is used.
pub fn stream(document: &Document, csv: &str) -> Result<Rendered, RenderError> {
    let (text, removed) = clean::source(csv);
    let mut losses = StreamLosses { removed, ..StreamLosses::default() };
    let mut records = Records::of(&text);
    let above = records.take_title();
    let widths = widths(records.clone())?;
    let written =
        write(document, records.clone(), &widths, &mut losses, true).or_else(|error| match error {
            XlsxError::TempFileError(..) => {
                losses = StreamLosses { removed, ..StreamLosses::default() };
                write(document, records.clone(), &widths, &mut losses, false)
            }
            other => Err(other),
        });
    let bytes = written.map_err(|error| match error {
        XlsxError::RowColumnLimitError => RenderError::TooLarge(format!(
            "The CSV has more than {ROWS} lines, which is Excel's limit. Split it."
        )),
        error => RenderError::Invalid(format!("The workbook could not be written: {error}")),
    })?;
    if bytes.len() > OUTPUT_BYTES {
        return Err(RenderError::TooLarge(format!(
            "The workbook has {} bytes; the limit is {OUTPUT_BYTES}. Split it.",
            bytes.len()
        )));
    }
    let mut warnings = document.warnings.clone();
    warnings.extend(losses.sentences());
    warnings.extend(above.map(|above| {
        format!("The line “{above:.60}” above the header was left out of the workbook.")
    }));
    Ok(Rendered { bytes, pages: 1, warnings })
}

fn widths(records: Records<'_>) -> Result<Vec<usize>, RenderError> {
    let mut widths: Vec<usize> = Vec::new();
    for record in records.take(MEASURED) {
        widths.resize(widths.len().max(record.len()), 8);
        for (width, field) in widths.iter_mut().zip(&record) {
            let longest = field.lines().map(super::runs::width).max().unwrap_or(0);
            *width = (*width).max(longest + 3).min(WIDEST);
        }
    }
    match widths.len() {
        0 => Err(RenderError::Invalid(
            "The CSV is empty; its first line must name the columns.".to_owned(),
        )),
        columns if columns > TABLE_COLUMNS => Err(RenderError::TooLarge(format!(
            "The table has {columns} columns; the limit is {TABLE_COLUMNS}. Split the table."
        ))),
        _ => Ok(widths),
    }
}

#[derive(Default)]
struct StreamLosses {
    removed: usize,
    formulas: usize,
    cut: usize,
    surplus: usize,
    /// A warning about a quotation mark.
    quote: Option<String>,
    /// Warnings about ambiguous dates.
    dates: Vec<String>,
    /// Warnings about headers and footers.
    paper: Vec<String>,
}

impl StreamLosses {
    fn sentences(&self) -> Vec<String> {
        let notes = [
            (self.removed, "control characters were removed"),
            (self.formulas, FORMULAS),
            (self.cut, "cells had more than 32,767 characters and were cut"),
            (self.surplus, "fields beyond the table's columns were dropped"),
        ];
        let notes = notes.iter().filter(|(count, _)| *count > 0);
        let notes = notes.map(|(count, what)| format!("{count} {what}."));
        notes
            .chain(self.quote.clone())
            .chain(self.dates.clone())
            .chain(self.paper.clone())
            .collect()
    }
}

fn write(
    document: &Document,
    mut records: Records<'_>,
    widths: &[usize],
    losses: &mut StreamLosses,
    in_constant_memory: bool,
) -> Result<Vec<u8>, XlsxError> {
    let meta = &document.meta;
    let mut book = workbook(meta)?;
    let sheet = if in_constant_memory {
        book.add_worksheet_with_constant_memory()?
    } else {
        book.add_worksheet()
    };
    sheet.set_name(plan::clean_name(meta.title.as_deref().unwrap_or("Rows")))?;
    for (column, width) in widths.iter().enumerate() {
        sheet.set_column_width(column as u16, *width as f64)?;
    }
    Pages::new(document, &Fonts::default(), &mut losses.paper).paper(sheet, widths.iter().sum())?;
    sheet.set_freeze_panes(1, 0)?.set_repeat_rows(0, 0)?;
    let head = look::header(Align::Start.into(), &theme(meta));
    let names = records.next().unwrap_or_default();
    for (column, field) in names.iter().enumerate() {
        sheet.write_string_with_format(0, column as u16, clean::line(field), &head)?;
    }
    let usual = Signs::of(meta.language.as_deref(), records.may_have_commas());
    let notations = notations(usual, meta.language.as_deref(), records.clone(), widths.len());
    let ambiguous = names.iter().zip(&notations).filter(|(_, notation)| notation.is_ambiguous);
    losses.dates = ambiguous.map(|(name, _)| column::ambiguous(name)).collect();
    let mut formats = HashMap::new();
    let mut row = 0;
    for record in records.by_ref() {
        row += 1;
        losses.surplus += record.len().saturating_sub(widths.len());
        for (column, (field, notation)) in record.iter().zip(&notations).enumerate() {
            let (column, notation) = (column as u16, *notation);
            let streamed = StreamedCell { row, column, field, notation };
            cell(sheet, streamed, &mut formats, losses)?;
        }
    }
    losses.quote = records.warning();
    sheet.autofilter(0, 0, row, widths.len() as u16 - 1)?;
    book.save_to_buffer()
}

/// The notation of each column.
fn notations(
    usual: Signs,
    language: Option<&str>,
    records: Records<'_>,
    columns: usize,
) -> Vec<Notation> {
    let first: Vec<Vec<String>> = records.take(MEASURED).collect();
    let of_column = |at: usize| {
        let fields = first.iter().filter_map(|record| record.get(at));
        Notation::of(usual, language, fields.map(String::as_str))
    };
    (0..columns).map(of_column).collect()
}

/// A field, where it is written, and how its column is read.
struct StreamedCell<'a> {
    row: u32,
    column: u16,
    field: &'a str,
    notation: Notation,
}

fn cell(
    sheet: &mut Worksheet,
    StreamedCell { row, column, field, notation }: StreamedCell<'_>,
    formats: &mut HashMap<String, Format>,
    losses: &mut StreamLosses,
) -> Result<(), XlsxError> {
    let mut format = |shown: &str| {
        let known = formats.entry(shown.to_owned());
        known.or_insert_with(|| Format::new().set_num_format(shown)).clone()
    };
    match notation.read(field) {
        Typed::Bool(truth) => {
            sheet.write_boolean(row, column, truth)?;
        }
        Typed::Number { value, format: shown } => {
            sheet.write_number_with_format(row, column, value, &format(&shown))?;
        }
        Typed::Moment { serial, format: shown } => {
            sheet.write_number_with_format(row, column, serial, &format(shown))?;
        }
        Typed::Text if field.is_empty() => {}
        Typed::Text => {
            losses.formulas += usize::from(field.starts_with('='));
            let mut text = clean::text(field);
            if text.encode_utf16().count() > CELL_CHARS {
                losses.cut += 1;
                text = text.chars().take(CELL_CHARS / 2).collect();
            }
            sheet.write_string(row, column, text)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::{Cursor, Read};

    use super::*;
    use crate::document::Meta;

    fn titled(title: &str) -> Document {
        let meta = Meta { title: Some(title.to_owned()), ..Meta::default() };
        Document { meta, ..Document::default() }
    }

    #[test]
    fn lines_are_typed_and_safe() {
        let mut csv = "id,name,amount,day\n".to_owned();
        csv.extend((0..3_000).map(|n| format!("00{n},\"name, {}\",$1.50,2026-03-31\n", n % 7)));
        csv.push_str("=cmd,x,y,z,beyond\n");
        let rendered = stream(&titled("Sales/2026"), &csv).unwrap();
        assert_eq!(rendered, stream(&titled("Sales/2026"), &csv).unwrap());
        assert_eq!(rendered.warnings.len(), 2, "{:?}", rendered.warnings);
        let mut package = zip::ZipArchive::new(Cursor::new(&rendered.bytes)).unwrap();
        let mut sheet = String::new();
        package.by_name("xl/worksheets/sheet1.xml").unwrap().read_to_string(&mut sheet).unwrap();
        assert!(!sheet.contains("<f>") && sheet.contains("<autoFilter ref=\"A1:D3002\""));
        assert!(sheet.contains("<v>1.5</v>") && sheet.contains("<v>46112</v>"));
        assert_eq!(sheet.matches("<row ").count(), 3_002);
    }

    #[test]
    fn input_that_is_not_a_table_is_rejected() {
        assert!(matches!(stream(&titled("x"), " \n"), Err(RenderError::Invalid(_)) | Ok(_)));
        assert!(matches!(stream(&titled("x"), ""), Err(RenderError::Invalid(_))));
        let wide = "x,".repeat(TABLE_COLUMNS + 1);
        assert!(matches!(stream(&titled("x"), &wide), Err(RenderError::TooLarge(_))));
    }
}
