//! The document as a workbook: tables as native tables with typed cells, the rest as rows of text.
//!
//! - [`plan`]: which sheets there are and what stands on each
//! - [`pages`]: what all sheets share
//! - [`sheet`], [`table`], [`totals`], [`charts`]: writing them
//! - [`directives`]: totals and conditional formats, asked for by comments
//! - [`mod@stream`]: long tables, without a document in between
//! - [`cells`]: what a cell's text means, [`signs`]: its points and commas
//! - [`formula`]: which formulas may stay formulas, [`number_format`]: how their results look
//! - [`runs`], [`look`]: styled text

mod cells;
mod charts;
mod directives;
mod formula;
mod look;
mod number_format;
mod pages;
mod plan;
mod properties;
mod runs;
mod sheet;
mod signs;
mod stream;
mod table;
mod totals;

pub(crate) use cells::is_bare;
pub(crate) use stream::FORMULAS;
pub use stream::stream;

use crate::Document;
use crate::pdf::fontset::Fonts;
use crate::rendered::{RenderError, Rendered};

use pages::Pages;

/// The most sheets of a workbook.
pub const SHEETS: usize = 255;

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
    let written = properties::workbook(&document.meta).and_then(|mut workbook| {
        let mut pages = Pages::new(document, fonts, &mut warnings);
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

#[cfg(test)]
mod tests;
