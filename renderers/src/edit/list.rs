//! The rows of a list for a mail merge: CSV, JSON or the first sheet of a workbook.

use calamine::{Data, Reader as _, Xlsx, open_workbook_from_rs};
use serde_json::{Map, Number, Value};
use std::{
    collections::{BTreeMap, BTreeSet},
    io::Cursor,
    iter,
};

use super::{EditError, invalid, parts::PackageParts, tree};
use crate::{
    number_text::Separators,
    read::{
        Kind,
        archive::Archive,
        charset, kind, limits, pptx, sheets,
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
        Kind::Xlsx => {
            let notation = Notation::of_language(language(template)?.as_deref());
            workbook(bytes, notation.separators())
        }
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
    let slides = pptx::slides(&mut Archive::open(template)?)?;
    let mut parts = PackageParts::open(template)?;
    for name in iter::once("word/styles.xml".to_owned()).chain(slides) {
        if !parts.has(&name) {
            continue;
        }
        let mut nodes = parts.tree(&name)?;
        let mut language = None;
        tree::root(&name, &mut nodes)?.each(&mut |element| {
            if language.is_none() {
                language = match element.local() {
                    // The defaults of Word come first.
                    "lang" => element.attribute("w:val"),
                    "rPr" => element.attribute("lang"),
                    _ => None,
                };
            }
        });
        if language.is_some() {
            return Ok(language);
        }
    }
    Ok(None)
}

fn workbook(bytes: &[u8], separators: Separators) -> Result<Vec<Value>, EditError> {
    PackageParts::open(bytes)?;
    let damaged = |error: calamine::XlsxError| {
        EditError::Invalid(format!("The list could not be read: {error}."))
    };
    let mut book: Xlsx<_> = open_workbook_from_rs(Cursor::new(bytes)).map_err(damaged)?;
    let Some(range) = book.worksheet_range_at(0) else { return invalid("The list has no sheet.") };
    let range = range.map_err(damaged)?;
    let cells = range.get_size().0 as u64 * range.get_size().1 as u64;
    limits::within(cells, limits::CELLS as u64, "cells in the list")?;
    let name = book.sheet_names().into_iter().next().unwrap_or_default();
    let numbers = numbers(bytes, &name, separators)?;
    let (top, left) = range.start().unwrap_or_default();
    let rows = range.rows().zip(top..).map(|(cells, row)| {
        let number = |column| numbers.get(&row)?.get(&column).map(String::as_str);
        let cells = cells.iter().zip(left..);
        cells.map(|(cell, column)| value(cell, number(column))).collect()
    });
    Ok(objects(rows.collect()))
}

/// The numbers of a sheet as the workbook shows them, with these separators.
fn numbers(bytes: &[u8], sheet: &str, separators: Separators) -> Result<Rows, EditError> {
    let mut archive = Archive::open(bytes)?;
    let book = Workbook::open(&mut archive)?;
    let name = limits::name(sheet);
    let Some(sheet) = book.sheets.iter().find(|part| part.name == name) else {
        return invalid(format!(
            "The sheet {sheet:?} of the list could not be read. Save the list as CSV."
        ));
    };
    let cells = book.fields(&mut archive, sheet, separators, limits::CELLS)?;
    if cells.is_cut {
        let limit = limits::MARKDOWN_BYTES >> 20;
        return invalid(format!(
            "The list has more than {limit} MiB of text. Split it into several files."
        ));
    }
    Ok(cells.rows)
}

/// A cell. `number` is how the workbook shows it if it is a number; `None` if it shows nothing. Dates
/// are in ISO 8601.
fn value(cell: &Data, number: Option<&str>) -> Value {
    match cell {
        Data::Empty | Data::Error(_) => Value::String(String::new()),
        Data::Int(_) | Data::Float(_) => number_value(number.unwrap_or_default()),
        Data::Bool(is) => (*is).into(),
        other => Value::String(sheets::shown(other)),
    }
}

/// A number as JSON writes it is one; with other separators, leading zeros or a unit it is a text.
fn number_value(text: &str) -> Value {
    match serde_json::from_str::<Number>(text) {
        Ok(number) if number.to_string() == text => Value::Number(number),
        _ => Value::String(text.to_owned()),
    }
}

/// The first row names the columns; empty rows are left out.
fn objects(rows: Vec<Vec<Value>>) -> Vec<Value> {
    let mut rows = rows.into_iter();
    let header = distinct(rows.next().into_iter().flatten().map(|name| plain(&name)));
    let is_empty = |row: &Vec<Value>| row.iter().all(|cell| plain(cell).trim().is_empty());
    let rows = rows.filter(|row| !is_empty(row));
    rows.map(|row| {
        let cells = header.iter().zip(row).filter(|(name, _)| !name.is_empty());
        Value::Object(cells.map(|(name, cell)| (name.clone(), cell)).collect::<Map<_, _>>())
    })
    .collect()
}

/// The names of columns. Further columns with the name of an earlier one have a number.
fn distinct(names: impl Iterator<Item = String>) -> Vec<String> {
    let mut known = BTreeSet::new();
    let mut numbers = BTreeMap::new();
    names
        .map(|name| {
            let mut own = name.clone();
            while !name.is_empty() && !known.insert(own.clone()) {
                let number = numbers.entry(name.clone()).or_insert(1_usize);
                *number += 1;
                own = format!("{name} {number}");
            }
            own
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
    fn columns_with_one_name_are_all_there() {
        let row = |cells: [&str; 6]| cells.map(Value::from).to_vec();
        let rows = vec![row(["A", "A", "A 2", "", "A", ""]), row(["1", "2", "3", "4", "5", "6"])];
        assert_eq!(objects(rows), [json!({ "A": "1", "A 2": "2", "A 2 2": "3", "A 3": "5" })]);
    }

    #[test]
    fn numbers_of_the_workbook_are_numbers() {
        for (text, wanted) in [
            ("0.3", json!(0.3)),
            ("-1234.56", json!(-1234.56)),
            ("4", json!(4)),
            ("1e+20", json!(1e20)),
            ("", json!("")),
            ("00007", json!("00007")),
            ("0,5", json!("0,5")),
            ("12.50", json!("12.50")),
        ] {
            assert_eq!(value(&Data::Float(1.0), Some(text)), wanted);
        }
    }
}
