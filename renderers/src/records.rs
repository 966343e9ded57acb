//! CSV text, and JSON as programs write it, as rows of text.

use std::iter::Peekable;
use std::str::Chars;

use serde_json::Value;

use crate::budgets::TABLE_COLUMNS;
use crate::json_columns::{JsonColumns, value_at};
use crate::rendered::RenderError;

/// The possible field separators; if several are equally frequent in the first non-empty line, the
/// last one wins.
const SEPARATORS: [char; 4] = ['|', ';', '\t', ','];

/// The number of lines above the header in which no separator is expected.
const TITLE_LINES: usize = 3;

/// The records of a CSV text, without empty ones. A quotation mark that is never closed is an
/// ordinary character.
#[derive(Clone)]
pub struct Records<'t> {
    chars: Peekable<Chars<'t>>,
    separator: char,
    /// The current line.
    line: usize,
    /// The line of a quotation mark that is never closed.
    unclosed: Option<usize>,
}

impl<'t> Records<'t> {
    pub fn of(text: &'t str) -> Self {
        let (separator, text, line) = match named_separator(text) {
            Some((separator, rest)) => (separator, rest, 2),
            None => (separator(text), text, 1),
        };
        Records { chars: text.chars().peekable(), separator, line, unclosed: None }
    }

    /// Skips a title above the header: a line with a single field, before one with several.
    pub fn take_title(&mut self) -> Option<String> {
        let mut ahead = self.clone();
        let first = ahead.next()?;
        let second = ahead.clone().next()?;
        let filled = |record: &[String]| record.iter().filter(|f| !f.trim().is_empty()).count();
        let is_title = filled(&first) == 1 && !first[0].trim().is_empty() && filled(&second) > 1;
        is_title.then(|| {
            *self = ahead;
            first[0].trim().to_owned()
        })
    }

    /// If semicolons separate the fields, the numbers may have decimal commas.
    pub fn may_have_commas(&self) -> bool {
        self.separator == ';'
    }

    /// A warning about irregular input so far.
    pub fn warning(&self) -> Option<String> {
        let line = self.unclosed?;
        Some(format!("The quotation mark in line {line} is never closed; it was kept as it is."))
    }

    fn record(&mut self) -> Vec<String> {
        let mut record = Vec::new();
        loop {
            let (field, is_last) = self.field();
            record.push(field);
            if is_last {
                return record;
            }
        }
    }

    /// The next field, and whether it is the last of its line.
    fn field(&mut self) -> (String, bool) {
        let quoted = self.quoted();
        let mut plain = String::new();
        let is_last = loop {
            match self.chars.next() {
                Some(c @ ('\r' | '\n')) => {
                    self.end_line(c);
                    break true;
                }
                Some(c) if c == self.separator => break false,
                Some(c) => plain.push(c),
                None => break true,
            }
        };
        match quoted {
            Some(quoted) if plain.trim().is_empty() => (quoted, is_last),
            quoted => (quoted.unwrap_or_default() + &plain, is_last),
        }
    }

    /// The content of quotation marks, if the field begins with one and it is closed.
    fn quoted(&mut self) -> Option<String> {
        let before = (self.chars.clone(), self.line);
        while self.chars.next_if_eq(&' ').is_some() {}
        let mut quoted = String::new();
        let is_open = self.chars.next_if_eq(&'"').is_some();
        while is_open && let Some(c) = self.chars.next() {
            match c {
                '"' if self.chars.next_if_eq(&'"').is_some() => quoted.push('"'),
                '"' => return Some(quoted),
                '\r' | '\n' => {
                    self.end_line(c);
                    quoted.push('\n');
                }
                c => quoted.push(c),
            }
        }
        if is_open {
            self.unclosed = self.unclosed.or(Some(before.1));
        }
        (self.chars, self.line) = before;
        None
    }

    fn end_line(&mut self, end: char) {
        if end == '\r' {
            self.chars.next_if_eq(&'\n');
        }
        self.line += 1;
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

/// The separator of a first line such as `sep=;`, which spreadsheets support, and the text after
/// that line.
fn named_separator(text: &str) -> Option<(char, &str)> {
    let (line, rest) = text.split_once(['\r', '\n'])?;
    let mut name = line.trim_matches('"').strip_prefix("sep=")?.chars();
    let separator = name.next()?;
    name.next().is_none().then(|| (separator, rest.strip_prefix('\n').unwrap_or(rest)))
}

/// Detected from the first line that has one, ignoring quoted text: a title may precede the header.
fn separator(text: &str) -> char {
    let mut rest = text;
    for _ in 0..TITLE_LINES {
        let (separator, is_certain) = separator_of_line(rest);
        if is_certain {
            return separator;
        }
        match rest.trim_start_matches(['\r', '\n', ' ']).split_once(['\r', '\n']) {
            Some((_, after)) => rest = after,
            None => break,
        }
    }
    ','
}

/// The most frequent separator of the first non-empty line, and whether there is one.
fn separator_of_line(text: &str) -> (char, bool) {
    let mut counts = [0; SEPARATORS.len()];
    let mut is_quoted = false;
    for c in text.trim_start_matches(['\r', '\n', ' ']).chars() {
        match c {
            '"' => is_quoted = !is_quoted,
            _ if is_quoted => {}
            '\r' | '\n' => break,
            c => counts
                .iter_mut()
                .zip(SEPARATORS)
                .filter(|(_, s)| *s == c)
                .for_each(|(n, _)| *n += 1),
        }
    }
    let best = SEPARATORS.into_iter().zip(counts).max_by_key(|(_, count)| *count);
    best.map_or((',', false), |(separator, count)| (separator, count > 0))
}

/// A name, a header, and the rows beneath it.
#[derive(Debug, Default)]
pub struct RecordSheet {
    pub name: String,
    pub header: Vec<String>,
    pub rows: Vec<Vec<String>>,
    /// Row and column of values that are strings in the source.
    pub texts: Vec<(usize, usize)>,
    /// What could not become columns.
    pub warning: Option<String>,
}

/// Whether a number has a larger exponent than a number of a program can have.
fn is_out_of_range(error: &serde_json::Error) -> bool {
    error.to_string().starts_with("number out of range")
}

/// JSON, or JSON Lines: a value on each line.
pub fn json(text: &str) -> Result<Value, RenderError> {
    let out_of_range = |line: usize, column: usize| {
        RenderError::Invalid(format!(
            "A number of the JSON is out of range: line {line}, column {column}."
        ))
    };
    let odd = |place: String, error: &serde_json::Error| {
        RenderError::Invalid(format!("This is neither JSON nor JSON Lines{place}: {error}."))
    };
    let whole = match serde_json::from_str(text) {
        Ok(value) => return Ok(value),
        Err(error) if is_out_of_range(&error) => {
            return Err(out_of_range(error.line(), error.column()));
        }
        Err(error) => error,
    };
    let mut values = Vec::new();
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    for (at, line) in lines {
        match serde_json::from_str::<Value>(line) {
            Ok(value) => values.push(value),
            Err(error) if is_out_of_range(&error) => {
                return Err(out_of_range(at + 1, error.column()));
            }
            Err(_) if values.len() < 2 => return Err(odd(String::new(), &whole)),
            Err(error) => return Err(odd(format!(", because of line {}", at + 1), &error)),
        }
    }
    if values.len() < 2 { Err(odd(String::new(), &whole)) } else { Ok(Value::Array(values)) }
}

pub fn sheets(title: &str, value: &Value) -> Result<Vec<RecordSheet>, RenderError> {
    match value {
        Value::Object(sheets) => sheets.iter().map(|(name, rows)| sheet(name, rows)).collect(),
        rows => Ok(vec![sheet(title, rows)?]),
    }
}

fn sheet(name: &str, rows: &Value) -> Result<RecordSheet, RenderError> {
    let odd = || {
        RenderError::Invalid(format!(
            "“{name}” must be a list of objects, or a list of lists whose first names the columns."
        ))
    };
    let rows = rows.as_array().filter(|rows| !rows.is_empty()).ok_or_else(odd)?;
    let mut sheet = RecordSheet { name: name.to_owned(), ..RecordSheet::default() };
    if let Value::Array(first) = &rows[0] {
        sheet.header = first.iter().map(text).collect();
        for row in &rows[1..] {
            sheet.push(row.as_array().ok_or_else(odd)?.iter());
        }
        return Ok(sheet);
    }
    let objects: Vec<_> =
        rows.iter().map(Value::as_object).collect::<Option<_>>().ok_or_else(odd)?;
    let columns = JsonColumns::of(&objects);
    if columns.paths.len() > TABLE_COLUMNS {
        return Err(too_wide(columns.paths.len()));
    }
    sheet.header = columns.names();
    for row in rows {
        sheet.push(columns.paths.iter().map(|path| value_at(row, path)));
    }
    sheet.warning = columns.warning();
    Ok(sheet)
}

impl RecordSheet {
    fn push<'v>(&mut self, row: impl Iterator<Item = &'v Value>) {
        let at = self.rows.len();
        let mut cells = Vec::new();
        for (column, value) in row.enumerate() {
            if value.is_string() {
                self.texts.push((at, column));
            }
            cells.push(text(value));
        }
        self.rows.push(cells);
    }
}

/// The text of a cell: empty for null, JSON for objects and lists.
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
