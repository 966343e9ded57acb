//! Renders documents as workbooks: tables as native tables with typed cells, the rest as rows of
//! text.
//!
//! - [`plan`]: the sheets and their content
//! - [`pages`]: state shared by all sheets
//! - [`sheet`], [`table`], [`headers`], [`merged`], [`totals`], [`charts`], [`pictures`]: writing the
//!   sheets
//! - [`directives`]: totals and conditional formats, requested in comments; [`column_total`]: which
//!   columns have a total
//! - [`mod@stream`]: long tables, written without building a document; `streamed_book`: a workbook
//!   whose rows are written one at a time
//! - [`cells`]: typing of cell text, [`signs`]: decimal and thousands separators, [`dates`],
//!   [`month_names`]: dates and times, [`column`]: what all cells of a column have in common
//! - `computed`: values of formulas and totals, for the formats that do not compute
//! - [`formula`]: supported formulas, [`number_format`]: the format of their results,
//!   [`text_results`]: results that are texts
//! - [`runs`], [`look`], [`strings`]: styled text; [`widths`]: of columns
//! - `properties`: author, date and default font

mod cells;
mod charts;
mod column;
mod column_total;
mod computed;
mod dates;
mod directives;
pub(crate) mod formula;
mod headers;
mod look;
mod merged;
mod month_names;
mod number_format;
mod pages;
mod pictures;
mod plan;
mod properties;
mod runs;
mod sheet;
mod signs;
mod stream;
mod streamed_book;
mod strings;
mod table;
mod text_results;
mod totals;
mod widths;

pub(crate) use cells::is_bare;
pub(crate) use column::Notation;
pub(crate) use computed::computed;
pub(crate) use stream::no_formulas;
pub use stream::stream;

use crate::Document;
use crate::pdf::fontset::Fonts;
use crate::rendered::{RenderError, Rendered, Warning};

use pages::Pages;

/// The maximum number of sheets.
pub const SHEETS: usize = 255;

/// Renders a workbook; `pages` is the number of its sheets.
pub fn render(document: &Document, fonts: &Fonts) -> Result<Rendered, RenderError> {
    let mut plan = plan::plan(document);
    if plan.sheets.len() > SHEETS {
        return Err(RenderError::TooLarge(format!(
            "The document has {} headings of the first two levels, each of which is a sheet; the \
             limit is {SHEETS}. Use deeper headings.",
            plan.sheets.len()
        )));
    }
    // Columns are as wide as the values that people see.
    let computed = computed(document);
    let shown = computed.as_ref().map(plan::plan);
    let mut warnings = document.warnings.clone();
    warnings.extend(std::mem::take(&mut plan.warnings).into_iter().map(Warning::from));
    let written = properties::workbook(&document.meta).and_then(|mut workbook| {
        let mut pages = Pages::new(document, fonts, &mut warnings);
        pages.survey(&plan.sheets);
        for (at, sheet) in plan.sheets.iter().enumerate() {
            let worksheet = workbook.add_worksheet();
            // Not 0, which readers would take for the value.
            worksheet.set_formula_result_default("");
            let shown = shown.as_ref().and_then(|shown| shown.sheets.get(at)).unwrap_or(sheet);
            let widths = widths::widths(&shown.parts, &|cell| pages.cell_width(cell));
            pages.write(worksheet, sheet, &widths)?;
        }
        let has_marks = pages.has_marked_results;
        pages.finish();
        let book = workbook.save_to_buffer()?;
        Ok(if has_marks { text_results::without_marks(book)? } else { book })
    });
    let bytes = written.map_err(|error| {
        RenderError::Invalid(format!("The workbook could not be written: {error}"))
    })?;
    Ok(Rendered { bytes, pages: plan.sheets.len(), warnings })
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod text_tests;
