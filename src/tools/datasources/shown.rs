//! Results as a Markdown table for the model, and as CSV for files.

use crate::store::datasources::ResultTable;

/// The number of rows that the model sees.
pub const ROWS: usize = 50;
/// The maximum length of the table, in characters.
const CHARS: usize = 8_000;
/// Longer values are truncated to this many characters.
const CELL_CHARS: usize = 300;

pub struct ShownResult {
    pub text: String,
    /// Whether rows or values were left out.
    pub is_part: bool,
}

/// The first rows as a Markdown table. Values are escaped, so that none can break out of its cell.
pub fn markdown(table: &ResultTable, rows: usize) -> ShownResult {
    let names: Vec<_> = table.columns.iter().map(|name| cell(name).text).collect();
    let mut text = line(&names);
    text.push('\n');
    text.push_str(&line(&vec!["---".to_owned(); names.len()]));
    let mut is_part = table.rows.len() > rows;
    for row in table.rows.iter().take(rows) {
        let cells: Vec<_> =
            row.iter().map(|value| value.as_deref().map_or_else(null, cell)).collect();
        is_part |= cells.iter().any(|cell| cell.is_part);
        let cells: Vec<_> = cells.into_iter().map(|cell| cell.text).collect();
        let line = line(&cells);
        if text.len() + line.len() > CHARS {
            is_part = true;
            break;
        }
        text.push('\n');
        text.push_str(&line);
    }
    ShownResult { text, is_part }
}

fn line(cells: &[String]) -> String {
    format!("| {} |", cells.join(" | "))
}

fn null() -> ShownResult {
    ShownResult { text: "NULL".into(), is_part: false }
}

fn cell(value: &str) -> ShownResult {
    let (value, is_part) = match value.char_indices().nth(CELL_CHARS) {
        Some((at, _)) => (&value[..at], true),
        None => (value, false),
    };
    let mut text = String::with_capacity(value.len());
    for c in value.chars() {
        match c {
            '|' | '\\' => text.extend(['\\', c]),
            '\n' | '\r' | '\t' => text.push(' '),
            c if c.is_control() => {}
            c => text.push(c),
        }
    }
    if is_part {
        text.push('…');
    }
    ShownResult { text, is_part }
}

/// CSV as defined in RFC 4180, with a header. NULL is an empty field, an empty string is `""`.
pub fn csv(table: &ResultTable) -> String {
    let mut text = String::new();
    let names: Vec<_> = table.columns.iter().map(|name| field(name)).collect();
    text.push_str(&names.join(","));
    text.push_str("\r\n");
    for row in &table.rows {
        let fields: Vec<_> =
            row.iter().map(|value| value.as_deref().map_or_else(String::new, field)).collect();
        text.push_str(&fields.join(","));
        text.push_str("\r\n");
    }
    text
}

fn field(value: &str) -> String {
    let plain =
        !value.is_empty() && !value.contains(['"', ',', '\n', '\r']) && value.trim() == value;
    if plain { value.to_owned() } else { format!("\"{}\"", value.replace('"', "\"\"")) }
}
