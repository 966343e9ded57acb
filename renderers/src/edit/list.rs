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
        Data::Float(number) if number.fract() == 0.0 && number.abs() < 1e15 => {
            (*number as i64).into()
        }
        Data::Float(number) => (*number).into(),
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
