//! CSV text, and JSON as programs give it, to rows of texts.

use std::iter::Peekable;
use std::str::Chars;

use serde_json::Value;

use crate::budgets::TABLE_COLUMNS;
use crate::rendered::RenderError;

pub fn records(text: &str) -> Vec<Vec<String>> {
    Records::of(text).collect()
}

/// The records of a CSV text, one after the other, without the empty ones. A quotation mark that is
/// never closed takes the rest of the text.
#[derive(Clone)]
pub struct Records<'t> {
    chars: Peekable<Chars<'t>>,
    separator: char,
}

impl<'t> Records<'t> {
    pub fn of(text: &'t str) -> Self {
        Records { chars: text.chars().peekable(), separator: separator(text) }
    }

    /// Where semicolons part the fields, commas may part the decimals of their numbers.
    pub fn may_have_commas(&self) -> bool {
        self.separator == ';'
    }

    fn record(&mut self) -> Vec<String> {
        let mut record: Vec<String> = Vec::new();
        let mut field = String::new();
        let mut is_quoted = false;
        while let Some(c) = self.chars.next() {
            match c {
                '"' if is_quoted && self.chars.peek() == Some(&'"') => {
                    field.push('"');
                    self.chars.next();
                }
                '"' if is_quoted => is_quoted = false,
                '"' if field.is_empty() => is_quoted = true,
                c if is_quoted => field.push(c),
                '\r' if self.chars.peek() == Some(&'\n') => {}
                '\n' => break,
                c if c == self.separator => record.push(std::mem::take(&mut field)),
                c => field.push(c),
            }
        }
        record.push(field);
        record
    }
}

impl Iterator for Records<'_> {
    type Item = Vec<String>;

    fn next(&mut self) -> Option<Vec<String>> {
        while self.chars.peek().is_some() {
            let record = self.record();
            if record.iter().any(|field| !field.is_empty()) {
                return Some(record);
            }
        }
        None
    }
}

fn separator(text: &str) -> char {
    let first = text.lines().next().unwrap_or_default();
    let count = |separator: &char| first.matches(*separator).count();
    // The last of equals wins, and the comma is last.
    [';', '\t', ','].into_iter().max_by_key(count).unwrap_or(',')
}

/// A name, a header, and the rows beneath it.
pub type Sheet = (String, Vec<String>, Vec<Vec<String>>);

pub fn sheets(title: &str, value: &Value) -> Result<Vec<Sheet>, RenderError> {
    match value {
        Value::Object(sheets) => sheets.iter().map(|(name, rows)| sheet(name, rows)).collect(),
        rows => Ok(vec![sheet(title, rows)?]),
    }
}

fn sheet(name: &str, rows: &Value) -> Result<Sheet, RenderError> {
    let odd = || {
        RenderError::Invalid(format!(
            "“{name}” must be a list of objects, or a list of lists whose first names the columns."
        ))
    };
    let rows = rows.as_array().filter(|rows| !rows.is_empty()).ok_or_else(odd)?;
    if let Value::Array(first) = &rows[0] {
        let header = first.iter().map(text).collect();
        let rows = rows[1..].iter().map(|row| Some(row.as_array()?.iter().map(text).collect()));
        return Ok((name.to_owned(), header, rows.collect::<Option<_>>().ok_or_else(odd)?));
    }
    let mut header: Vec<String> = Vec::new();
    for row in rows {
        for key in row.as_object().ok_or_else(odd)?.keys() {
            if !header.contains(key) {
                header.push(key.clone());
            }
            if header.len() > TABLE_COLUMNS {
                return Err(too_wide(header.len()));
            }
        }
    }
    let cell = |row: &Value, key: &String| row.get(key).map(text).unwrap_or_default();
    let rows = rows.iter().map(|row| header.iter().map(|key| cell(row, key)).collect()).collect();
    Ok((name.to_owned(), header, rows))
}

/// What a cell shows: nothing for null, JSON for what has an inside.
fn text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

pub fn too_wide(columns: usize) -> RenderError {
    RenderError::TooLarge(format!(
        "A table has {columns} columns; the limit is {TABLE_COLUMNS}. Split the table."
    ))
}
