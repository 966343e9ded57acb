//! The rows of a list for a mail merge: CSV, JSON or the first sheet of a workbook.

use calamine::{Data, Reader as _, Xlsx, open_workbook_from_rs};
use serde_json::{Map, Value};
use std::io::Cursor;

use super::{EditError, invalid, parts::PackageParts, tree};
use crate::{
    number_text::general,
    read::{
        Kind,
        archive::Archive,
        charset, kind, limits, sheets,
        workbook::{Rows, Workbook},
    },
    records::Records,
    xlsx::Notation,
};

/// Reads the rows as objects, whose keys are the columns. Numbers of a workbook are as it shows them, in
/// the notation of the template's language.
pub fn rows(name: &str, bytes: &[u8], template: &[u8]) -> Result<Vec<Value>, EditError> {
    limits::input(bytes)?;
    match kind::of(name, bytes)? {
        Kind::Xlsx => workbook(bytes, Notation::of_language(language(template)?.as_deref())),
        Kind::Json => json(&charset::decode(bytes)),
        Kind::Csv | Kind::Text => {
            let text = charset::decode(bytes);
            let records =
                Records::of(&text).map(|row| row.into_iter().map(Value::String).collect());
            Ok(objects(records.collect()))
        }
        _ => invalid("The list must be a .csv, .xlsx or .json file."),
    }
}

fn json(text: &str) -> Result<Vec<Value>, EditError> {
    let rows = serde_json::from_str(text)
        .map_err(|error| EditError::Invalid(format!("The list is not valid JSON: {error}.")))?;
    match rows {
        Value::Array(rows) if rows.iter().all(Value::is_object) => Ok(rows),
        _ => invalid("The list must be a JSON array of objects."),
    }
}

/// The language of a template, such as `de-DE`, if it has one.
fn language(template: &[u8]) -> Result<Option<String>, EditError> {
    let mut parts = PackageParts::open(template)?;
    let mut names = parts.names();
    names.retain(|name| name == "word/styles.xml" || name.starts_with("ppt/slides/slide"));
    names.sort();
    let Some(name) = names.first() else { return Ok(None) };
    let mut nodes = parts.tree(name)?;
    let mut language = None;
    tree::root(name, &mut nodes)?.each(&mut |element| {
        if language.is_none() {
            language = match element.local() {
                // The defaults of Word come first.
                "lang" => element.attribute("w:val"),
                "rPr" => element.attribute("lang"),
                _ => None,
            };
        }
    });
    Ok(language)
}

fn workbook(bytes: &[u8], notation: Notation) -> Result<Vec<Value>, EditError> {
    PackageParts::open(bytes)?;
    let damaged = |error: calamine::XlsxError| {
        EditError::Invalid(format!("The list could not be read: {error}."))
    };
    let mut book: Xlsx<_> = open_workbook_from_rs(Cursor::new(bytes)).map_err(damaged)?;
    let Some(range) = book.worksheet_range_at(0) else { return invalid("The list has no sheet.") };
    let range = range.map_err(damaged)?;
    let cells = range.get_size().0 as u64 * range.get_size().1 as u64;
    limits::within(cells, limits::CELLS as u64, "cells in the list")?;
    let shown = shown_cells(bytes, &book.sheet_names().into_iter().next().unwrap_or_default())?;
    let (top, left) = range.start().unwrap_or_default();
    let rows = range.rows().zip(top..).map(|(cells, row)| {
        let shown = |column: u32| shown.get(&row)?.get(&column).map(String::as_str);
        let cells = cells.iter().zip(left..);
        cells.map(|(cell, column)| value(cell, shown(column), notation)).collect()
    });
    Ok(objects(rows.collect()))
}

/// The cells of a sheet as the workbook shows them in English.
fn shown_cells(bytes: &[u8], sheet: &str) -> Result<Rows, EditError> {
    let mut archive = Archive::open(bytes)?;
    let book = Workbook::open(&mut archive)?;
    let sheet = limits::name(sheet);
    let Some(sheet) = book.sheets.iter().find(|part| part.name == sheet) else {
        return Ok(Rows::new());
    };
    Ok(book.cells_without_links(&mut archive, sheet, limits::CELLS)?.rows)
}

/// A cell. `shown` is how the workbook shows it in English. Dates are in ISO 8601.
fn value(cell: &Data, shown: Option<&str>, notation: Notation) -> Value {
    match cell {
        Data::Empty | Data::Error(_) => Value::String(String::new()),
        Data::Int(number) => (*number).into(),
        Data::Float(number) => number_value(*number, shown, notation),
        Data::Bool(is) => (*is).into(),
        other => Value::String(sheets::shown(other)),
    }
}

/// A number, or the text that the workbook shows if it differs. Whole numbers have no point, and numbers
/// without a format keep their digits.
fn number_value(number: f64, shown: Option<&str>, notation: Notation) -> Value {
    // Spreadsheet programs show at most fifteen digits, so that 0.1 + 0.2 is 0.3.
    let rounded = format!("{number:.14E}").parse().unwrap_or(number);
    let plain: Value = if rounded.fract() == 0.0 && rounded.abs() < 1e15 {
        (rounded as i64).into()
    } else {
        rounded.into()
    };
    let digits = plain.to_string();
    let english = shown.filter(|shown| *shown != general(number)).unwrap_or(&digits);
    let text = separated(english, notation);
    if text == digits { plain } else { Value::String(text) }
}

/// A number in English notation with other separators. Points and commas that are not within a number,
/// as in `12 pcs.`, stay.
fn separated(english: &str, notation: Notation) -> String {
    let (mut text, mut before) = (String::new(), None::<char>);
    let mut signs = english.chars().peekable();
    while let Some(sign) = signs.next() {
        let is_within = matches!(sign, '.' | ',')
            && before.is_none_or(|before| !before.is_alphabetic())
            && signs.peek().is_some_and(char::is_ascii_digit);
        if is_within {
            text.push_str(&notation.written(&sign.to_string()));
        } else {
            text.push(sign);
        }
        before = Some(sign);
    }
    text
}

/// The first row names the columns; empty rows are left out.
fn objects(rows: Vec<Vec<Value>>) -> Vec<Value> {
    let mut rows = rows.into_iter();
    let header: Vec<String> = rows.next().into_iter().flatten().map(|name| plain(&name)).collect();
    let is_empty = |row: &Vec<Value>| row.iter().all(|cell| plain(cell).trim().is_empty());
    let rows = rows.filter(|row| !is_empty(row));
    rows.map(|row| {
        let cells = header.iter().zip(row).filter(|(name, _)| !name.is_empty());
        Value::Object(cells.map(|(name, cell)| (name.clone(), cell)).collect::<Map<_, _>>())
    })
    .collect()
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), |text| text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_have_the_digits_that_a_spreadsheet_shows() {
        let values = [0.1 + 0.2, 0.1 * 3.0 * 10.0, 4.0, -1234.56, 1e20, 0.0].map(Data::Float);
        let wanted = [json!(0.3), json!(3), json!(4), json!(-1234.56), json!(1e20), json!(0)];
        let english = Notation::of_language(None);
        assert_eq!(values.each_ref().map(|cell| value(cell, None, english)), wanted);
    }

    #[test]
    fn numbers_have_the_format_of_their_cell_and_the_separators_of_the_language() {
        for (language, number, shown, wanted) in [
            ("en-US", 1234.5, "$1,234.50", json!("$1,234.50")),
            ("de-DE", 1234.5, "1,234.50 €", json!("1.234,50 €")),
            ("fr", 1234.5, "1,234.50 €", json!("1\u{a0}234,50 €")),
            ("de", 12.0, "12 pcs.", json!("12 pcs.")),
            ("de", 0.5, "No. .5", json!("No. ,5")),
            ("de", 7.0, "00007", json!("00007")),
            ("de", 0.5, "0.5", json!("0,5")),
            ("de", 12.0, "12", json!(12)),
            ("de", 1_234_567_890.123, "1234567890", json!("1234567890,123")),
        ] {
            let notation = Notation::of_language(Some(language));
            let cell = Data::Float(number);
            assert_eq!(value(&cell, Some(shown), notation), wanted, "{shown}");
        }
    }
}
