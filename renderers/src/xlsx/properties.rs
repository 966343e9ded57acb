//! The properties of a workbook: author, date and default font.

use chrono::Datelike;
use rust_xlsxwriter::{DocProperties, ExcelDateTime, Format, Workbook, XlsxError};

use super::look::TEXT_POINTS;
use crate::document::Meta;

/// Row height and column width at eleven points, as in Excel's default workbooks.
const ROW_PIXELS: u32 = 20;
const COLUMN_PIXELS: u32 = 64;

/// An empty workbook for the document.
pub fn workbook(meta: &Meta) -> Result<Workbook, XlsxError> {
    let mut workbook = Workbook::new();
    if let Some(face) = meta.brand.as_deref().and_then(|brand| brand.body.as_ref()) {
        let text = Format::new().set_font_name(face).set_font_size(TEXT_POINTS);
        workbook.set_default_format(&text, ROW_PIXELS, COLUMN_PIXELS)?;
    }
    workbook.set_properties(&properties(meta)?);
    Ok(workbook)
}

/// The document's date, or the earliest that a zip file can represent; never the current date.
fn properties(meta: &Meta) -> Result<DocProperties, XlsxError> {
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
