//! The rows of a list for a mail merge: CSV, JSON or the first sheet of a workbook.

use calamine::{Data, Reader as _, Xlsx, open_workbook_from_rs};
use serde_json::{Map, Value};
use std::io::Cursor;

use super::{EditError, invalid, parts::PackageParts};
use crate::{
    read::{Kind, charset, kind, limits, sheets},
    records::Records,
};

/// Reads the rows as objects, whose keys are the columns.
pub fn rows(name: &str, bytes: &[u8]) -> Result<Vec<Value>, EditError> {
    limits::input(bytes)?;
    match kind::of(name, bytes)? {
        Kind::Xlsx => workbook(bytes),
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

fn workbook(bytes: &[u8]) -> Result<Vec<Value>, EditError> {
    PackageParts::open(bytes)?;
    let damaged = |error: calamine::XlsxError| {
        EditError::Invalid(format!("The list could not be read: {error}."))
    };
    let mut book: Xlsx<_> = open_workbook_from_rs(Cursor::new(bytes)).map_err(damaged)?;
    let Some(range) = book.worksheet_range_at(0) else { return invalid("The list has no sheet.") };
    let range = range.map_err(damaged)?;
    let cells = range.get_size().0 as u64 * range.get_size().1 as u64;
    limits::within(cells, limits::CELLS as u64, "cells in the list")?;
    let rows = range.rows().map(|row| row.iter().map(value).collect());
    Ok(objects(rows.collect()))
}

/// A cell as it is written: whole numbers without a point, dates in ISO 8601.
fn value(cell: &Data) -> Value {
    match cell {
        Data::Empty | Data::Error(_) => Value::String(String::new()),
        Data::Int(number) => (*number).into(),
        Data::Float(number) => {
            // Spreadsheet programs show at most fifteen digits, so that 0.1 + 0.2 is 0.3.
            let shown = format!("{number:.14E}").parse().unwrap_or(*number);
            if shown.fract() == 0.0 && shown.abs() < 1e15 {
                (shown as i64).into()
            } else {
                shown.into()
            }
        }
        Data::Bool(is) => (*is).into(),
        other => Value::String(sheets::shown(other)),
    }
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
        assert_eq!(values.each_ref().map(value), wanted);
    }
}
