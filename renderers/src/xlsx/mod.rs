//! The document as a workbook: tables as native tables with typed cells, the rest as rows of text.
//!
//! - [`plan`]: which sheets there are and what stands on each
//! - [`sheet`], [`table`], [`charts`]: writing them
//! - [`directives`]: totals and conditional formats, asked for by comments
//! - [`mod@stream`]: long tables, without a document in between
//! - [`cells`]: what a cell's text means; [`formula`]: which formulas may stay formulas
//! - [`runs`], [`look`]: styled text

mod cells;
mod charts;
mod directives;
mod formula;
mod look;
mod plan;
mod runs;
mod sheet;
mod stream;
mod table;

pub use stream::stream;

use rust_xlsxwriter::{DocProperties, ExcelDateTime, Format, Workbook, XlsxError};

use crate::Document;
use crate::document::Meta;
use crate::fonts::Fonts;
use crate::rendered::{RenderError, Rendered};

/// The most sheets of a workbook.
pub const SHEETS: usize = 255;
/// The most characters of a cell, which is Excel's limit.
pub const CELL_CHARS: usize = 32_767;

/// A row and a column at eleven points, as in Excel's own workbooks.
const ROW_PIXELS: u32 = 20;
const COLUMN_PIXELS: u32 = 64;

pub fn render(document: &Document, fonts: &Fonts) -> Result<Rendered, RenderError> {
    let mut plan = plan::plan(document);
    if plan.sheets.len() > SHEETS {
        return Err(RenderError::TooLarge(format!(
            "The document has {} headings of the first two levels, each of which is a sheet; the \
             limit is {SHEETS}. Use deeper headings.",
            plan.sheets.len()
        )));
    }
    let mut warnings = document.warnings.clone();
    warnings.append(&mut plan.warnings);
    let mut workbook = Workbook::new();
    let written = properties(&document.meta).and_then(|properties| {
        if let Some(face) = document.meta.brand.as_deref().and_then(|brand| brand.body.as_ref()) {
            let text = Format::new().set_font_name(face).set_font_size(11);
            workbook.set_default_format(&text, ROW_PIXELS, COLUMN_PIXELS)?;
        }
        workbook.set_properties(&properties);
        let mut pages = sheet::Pages::new(document, fonts, &mut warnings);
        pages.survey(&plan.sheets);
        for sheet in &plan.sheets {
            pages.write(workbook.add_worksheet(), sheet)?;
        }
        pages.finish();
        workbook.save_to_buffer()
    });
    let bytes = written.map_err(|error| {
        RenderError::Invalid(format!("The workbook could not be written: {error}"))
    })?;
    Ok(Rendered { bytes, pages: plan.sheets.len(), warnings })
}

/// The day of the document, or the first that a zip file can name: never the day of the writing.
fn properties(meta: &Meta) -> Result<DocProperties, XlsxError> {
    use chrono::Datelike;
    let created = match meta.date.filter(|day| (1900..=9999).contains(&day.year())) {
        Some(day) => {
            ExcelDateTime::from_ymd(day.year() as u16, day.month() as u8, day.day() as u8)?
        }
        None => ExcelDateTime::from_ymd(1980, 1, 1)?,
    };
    Ok(DocProperties::new()
        .set_title(meta.title.clone().unwrap_or_default())
        .set_subject(meta.subtitle.clone().unwrap_or_default())
        .set_author(meta.author.clone().unwrap_or_default())
        .set_keywords(meta.keywords.join(", "))
        .set_creation_datetime(&created))
}

#[cfg(test)]
mod tests;
