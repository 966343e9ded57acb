//! Who made a workbook, and when.

use chrono::Datelike;
use rust_xlsxwriter::{DocProperties, ExcelDateTime, XlsxError};

use crate::document::Meta;

/// The day of the document, or the first that a zip file can name: never the day of the writing.
pub fn properties(meta: &Meta) -> Result<DocProperties, XlsxError> {
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
