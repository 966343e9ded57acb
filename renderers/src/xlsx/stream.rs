//! Long tables: CSV lines are written to the sheet one at a time, so that the memory for a workbook
//! is that of its CSV and its file.
//!
//! The lines are read twice: first their number and the formats of their cells are determined, then
//! `streamed_book` writes them.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::io::{self, Write};

use rust_xlsxwriter::XlsxError;

use super::cells::{self, Typed};
use super::column::Notation;
use super::pages::Pages;
use super::properties::workbook;
use super::sheet::SheetCell;
use super::signs::Signs;
use super::streamed_book::{RowXml, with_rows};
use super::{look, plan};
use crate::Document;
use crate::budgets::TABLE_COLUMNS;
use crate::counted::counted;
use crate::document::{Align, Meta};
use crate::markdown::clean;
use crate::package::look::look as theme;
use crate::pdf::fontset::Fonts;
use crate::records::Records;
use crate::rendered::{RenderError, Rendered, Warning};

/// Excel's limit.
const ROWS: u32 = 1_048_576;
/// The number of lines that are sampled for column widths and number notation.
const MEASURED: usize = 500;
/// The number of fields that are sampled at most for it, in tables with many columns.
const MEASURED_FIELDS: usize = 128_000;
const WIDEST: usize = 60;
const OUTPUT_BYTES: usize = 64 << 20;

/// The warning about cells that are not formulas.
pub fn no_formulas(count: usize) -> String {
    let cells =
        counted(count, "cell that begins with = stays text", "cells that begin with = stay text");
    format!("{cells}: rows are data, not formulas.")
}

/// A workbook with one sheet from CSV text, whose first line names the columns. Of `document`, only
/// its metadata is used.
pub fn stream(document: &Document, csv: &str) -> Result<Rendered, RenderError> {
    let (text, removed) = cleaned(csv);
    let mut records = Records::of(&text);
    let above = records.take_title();
    let table = LongTable::of(&document.meta, records)?;
    let survey = table.survey()?;
    let mut losses =
        StreamLosses { removed, dates: table.untyped_dates(), ..StreamLosses::default() };
    let book = table.empty_book(document, &survey, &mut losses.paper).map_err(not_written)?;
    let written = with_rows(book, OUTPUT_BYTES, |samples, sheet| {
        let formats = survey.formats.iter().enumerate();
        let styles = formats.map(|(at, format)| {
            let (row, column) = table.sample(at);
            (format.clone(), samples.style(row, column))
        });
        table.write(&styles.collect(), sheet, &mut losses)
    });
    let bytes = written.map_err(|error| match error.kind() {
        io::ErrorKind::FileTooLarge => RenderError::TooLarge(format!(
            "The workbook has more than {OUTPUT_BYTES} bytes, which is the limit. Split it."
        )),
        _ => not_written(error),
    })?;
    let mut warnings = document.warnings.clone();
    warnings.extend(losses.warnings());
    warnings.extend(above.map(|above| {
        format!("The line “{above:.60}” above the header was left out of the workbook.").into()
    }));
    Ok(Rendered { bytes, pages: 1, warnings })
}

fn not_written(error: impl std::fmt::Display) -> RenderError {
    RenderError::Invalid(format!("The workbook could not be written: {error}"))
}

/// Text without characters that a workbook may not contain, and how many were removed. Most texts
/// have none, and are not copied.
fn cleaned(csv: &str) -> (Cow<'_, str>, usize) {
    let is_harmless = |c: char| {
        matches!(c, '\t' | '\n' | '\r' | ' '..='~' | '\u{a0}'..='\u{2027}')
            || matches!(c, '\u{2030}'..='\u{d7ff}')
    };
    if csv.chars().all(is_harmless) {
        return (Cow::Borrowed(csv), 0);
    }
    let (text, removed) = clean::source(csv);
    (Cow::Owned(text), removed)
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
    /// Warnings about dates that stay text.
    dates: Vec<String>,
    /// Warnings about headers and footers.
    paper: Vec<Warning>,
}

impl StreamLosses {
    fn warnings(&self) -> Vec<Warning> {
        let removed = |count| {
            counted(count, "control character was removed.", "control characters were removed.")
        };
        let cut = |count| {
            let cells = counted(count, "cell", "cells");
            let end = if count == 1 { "was" } else { "were" };
            format!("{cells} had more than 32,767 characters and {end} cut.")
        };
        let dropped = |count| {
            let fields = counted(count, "field", "fields");
            let end = if count == 1 { "was" } else { "were" };
            format!("{fields} beyond the table's columns {end} dropped.")
        };
        let note = |count: usize, say: &dyn Fn(usize) -> String| (count > 0).then(|| say(count));
        let notes = [
            note(self.removed, &removed),
            note(self.formulas, &no_formulas),
            note(self.cut, &cut),
            note(self.surplus, &dropped),
        ];
        let notes = notes.into_iter().flatten();
        notes
            .chain(self.quote.clone())
            .chain(self.dates.clone())
            .map(Warning::from)
            .chain(self.paper.clone())
            .collect()
    }

    /// The text of a cell.
    fn text(&mut self, field: &str) -> String {
        self.formulas += usize::from(field.starts_with('='));
        let text = clean::text(field);
        let fitting = cells::fitting(&text).len();
        if fitting == text.len() {
            return text;
        }
        self.cut += 1;
        text[..fitting].to_owned()
    }
}

/// A table whose rows are read more than once.
struct LongTable<'t> {
    names: Vec<String>,
    /// The rows below the header.
    records: Records<'t>,
    /// The width of each column, in characters.
    widths: Vec<usize>,
    notations: Vec<Notation>,
}

/// What has to be known of a table before it is written.
struct Survey {
    /// The number of rows below the header.
    rows: u32,
    /// The number formats of its cells, each once.
    formats: Vec<String>,
}

impl<'t> LongTable<'t> {
    fn of(meta: &Meta, mut records: Records<'t>) -> Result<Self, RenderError> {
        let widths = widths(records.clone())?;
        let names = records.next().unwrap_or_default();
        let language = meta.language.as_deref();
        let usual = Signs::of(language, records.may_have_commas());
        let notations = notations(usual, language, records.clone(), widths.len());
        Ok(Self { names, records, widths, notations })
    }

    fn untyped_dates(&self) -> Vec<String> {
        let columns = self.names.iter().zip(&self.notations);
        columns.filter_map(|(name, notation)| notation.report(name)).collect()
    }

    fn survey(&self) -> Result<Survey, RenderError> {
        let mut survey = Survey { rows: 0, formats: Vec::new() };
        let mut known = HashSet::new();
        for record in self.records.clone() {
            survey.rows += 1;
            if survey.rows == ROWS {
                return Err(RenderError::TooLarge(format!(
                    "The CSV has more than {ROWS} lines, which is Excel's limit. Split it."
                )));
            }
            for (field, notation) in record.iter().zip(&self.notations) {
                let format = match notation.read(field) {
                    Typed::Number { format, .. } => format,
                    Typed::Moment { format, .. } => format.to_owned(),
                    Typed::Bool(_) | Typed::Text => continue,
                };
                if !known.contains(&format) {
                    survey.formats.push(format.clone());
                    known.insert(format);
                }
            }
        }
        Ok(survey)
    }

    /// Where the sample of a format is: below the header, and within the table, because every
    /// format is that of a cell.
    fn sample(&self, format: usize) -> (u32, u16) {
        let columns = self.widths.len();
        ((format / columns) as u32 + 1, (format % columns) as u16)
    }

    /// A workbook with the header, whose other cells are samples of the formats.
    fn empty_book(
        &self,
        document: &Document,
        survey: &Survey,
        warnings: &mut Vec<Warning>,
    ) -> Result<Vec<u8>, XlsxError> {
        let meta = &document.meta;
        let last_column = self.widths.len() as u16 - 1;
        let mut book = workbook(meta)?;
        let sheet = book.add_worksheet();
        sheet.set_name(plan::clean_name(meta.title.as_deref().unwrap_or("Rows")))?;
        for (column, width) in self.widths.iter().enumerate() {
            sheet.set_column_width(column as u16, *width as f64)?;
        }
        let fonts = Fonts::default();
        let mut pages = Pages::new(document, &fonts, warnings);
        pages.paper(sheet, &self.widths)?;
        sheet.set_freeze_panes(1, 0)?.set_repeat_rows(0, 0)?;
        let theme = theme(meta);
        let (head, text) = (look::header(Align::Start.into(), &theme), look::text(&theme));
        for (column, field) in (0..).zip(&self.names) {
            pages.string(sheet, SheetCell { row: 0, column }, &clean::line(field), &head)?;
        }
        pages.finish();
        if survey.rows > 0 {
            // The sheet states its dimensions, which are those of the written cells.
            sheet.write_blank(survey.rows, last_column, &head)?;
        }
        for (at, format) in survey.formats.iter().enumerate() {
            let (row, column) = self.sample(at);
            sheet.write_blank(row, column, &text.clone().set_num_format(format))?;
        }
        sheet.autofilter(0, 0, survey.rows, last_column)?;
        book.save_to_buffer()
    }

    /// Writes the rows. `styles` has the number of the style of each format.
    fn write(
        &self,
        styles: &HashMap<String, u32>,
        sheet: &mut dyn Write,
        losses: &mut StreamLosses,
    ) -> io::Result<()> {
        let style = |format: &str| styles.get(format).copied().unwrap_or(0);
        let mut records = self.records.clone();
        let mut row = RowXml::new(self.widths.len());
        for (at, record) in records.by_ref().enumerate() {
            row.begin(at as u32 + 1);
            losses.surplus += record.len().saturating_sub(self.widths.len());
            for (column, (field, notation)) in record.iter().zip(&self.notations).enumerate() {
                match notation.read(field) {
                    Typed::Bool(truth) => row.boolean(column, truth),
                    Typed::Number { value, format } => row.number(column, value, style(&format)),
                    Typed::Moment { serial, format } => row.number(column, serial, style(format)),
                    Typed::Text if field.is_empty() => {}
                    Typed::Text => row.text(column, &losses.text(field)),
                }
            }
            sheet.write_all(row.end())?;
        }
        losses.quote = records.warning();
        Ok(())
    }
}

/// The notation of each column.
fn notations(
    usual: Signs,
    language: Option<&str>,
    records: Records<'_>,
    columns: usize,
) -> Vec<Notation> {
    let lines = (MEASURED_FIELDS / columns.max(1)).min(MEASURED);
    let first: Vec<Vec<String>> = records.take(lines).collect();
    let of_column = |at: usize| {
        let fields = first.iter().filter_map(|record| record.get(at));
        Notation::of(usual, language, fields.map(String::as_str))
    };
    (0..columns).map(of_column).collect()
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
        assert!(sheet.contains("<dimension ref=\"A1:D3002\"/>"), "{sheet:.600}");
    }

    /// Another reader finds the values, and their formats.
    #[test]
    fn every_format_of_a_cell_is_kept() {
        let mut csv = "amount,share,sum,day,text\n".to_owned();
        csv.extend((0..50).map(|n| format!("$1.{n:02},7%,\"1,234\",2026-03-31,_x0041_ {n}\n")));
        let rendered = stream(&titled("Formats"), &csv).unwrap();
        let read = crate::read::to_markdown("a.xlsx", &rendered.bytes).unwrap().markdown;
        assert!(read.contains("1.49 | 7% | 1,234 | 2026-03-31 |"), "{read}");
        let mut package = zip::ZipArchive::new(Cursor::new(&rendered.bytes)).unwrap();
        let mut sheet = String::new();
        package.by_name("xl/worksheets/sheet1.xml").unwrap().read_to_string(&mut sheet).unwrap();
        assert!(sheet.contains("_x005F_x0041_ 49"), "{sheet:.600}");
    }

    #[test]
    fn a_long_text_of_a_cell_is_cut_where_the_cell_ends() {
        let csv = format!("a\n{}\n", "z".repeat(40_000));
        let rendered = stream(&titled("T"), &csv).unwrap();
        let warning = "1 cell had more than 32,767 characters and was cut.";
        assert_eq!(rendered.warnings, [warning]);
        let mut package = zip::ZipArchive::new(Cursor::new(&rendered.bytes)).unwrap();
        let mut sheet = String::new();
        package.by_name("xl/worksheets/sheet1.xml").unwrap().read_to_string(&mut sheet).unwrap();
        assert!(sheet.contains(&format!("<t>{}</t>", "z".repeat(32_767))), "{}", sheet.len());
    }

    #[test]
    fn more_rows_than_a_sheet_has_are_refused_before_they_are_written() {
        let rows = "1\n".repeat(ROWS as usize);
        let refused = stream(&titled("x"), &format!("n\n{rows}")).unwrap_err().to_string();
        assert!(refused.contains("more than 1048576 lines"), "{refused}");
    }

    #[test]
    fn text_is_copied_only_if_something_is_removed() {
        assert!(matches!(cleaned("a,ä\r\n“1”,中\n"), (Cow::Borrowed(_), 0)));
        assert_eq!(cleaned("\u{feff}a\u{1},b\n"), (Cow::Owned("a,b\n".to_owned()), 1));
    }

    #[test]
    fn input_that_is_not_a_table_is_rejected() {
        assert!(matches!(stream(&titled("x"), " \n"), Err(RenderError::Invalid(_)) | Ok(_)));
        assert!(matches!(stream(&titled("x"), ""), Err(RenderError::Invalid(_))));
        let wide = "x,".repeat(TABLE_COLUMNS + 1);
        assert!(matches!(stream(&titled("x"), &wide), Err(RenderError::TooLarge(_))));
    }
}
