//! Formulas: those that a model may write, and moving those of the file to other rows.

use std::fmt::Write as _;

use super::{
    EditError,
    cells::{LAST_ROW, letters},
};
use crate::xlsx::formula::{Tops, parse};

/// Checks a formula against the supported functions, and that its sheets exist.
pub fn checked(source: &str, sheets: &[String]) -> Result<String, EditError> {
    let failed =
        |why: &str| EditError::Invalid(format!("The formula {source:.100} is not allowed: {why}."));
    let formula = parse(source).map_err(|why| failed(&why))?.write(&Tops::default());
    let known = |name: &str| sheets.iter().any(|sheet| sheet.to_lowercase() == name.to_lowercase());
    for name in sheets_in(&formula) {
        if !known(&name) {
            return Err(failed(&format!("there is no sheet “{name}”")));
        }
    }
    Ok(formula)
}

/// The names in `'Name'!A1`.
fn sheets_in(formula: &str) -> Vec<String> {
    let mut names = Vec::new();
    for token in tokens(formula) {
        if let FormulaToken::Other(text) = token
            && let Some(name) = text.strip_prefix('\'').and_then(|text| text.strip_suffix('\''))
        {
            names.push(name.replace("''", "'"));
        }
    }
    names
}

/// Moves the relative references of a formula.
pub fn shifted(formula: &str, rows: i64, columns: i64) -> String {
    let mut moved = String::new();
    for token in tokens(formula) {
        match token {
            FormulaToken::Other(text) => moved.push_str(text),
            FormulaToken::Cell { column, column_is_fixed, row, row_is_fixed } => {
                let by = |value: u32, by: i64| i64::from(value) + by;
                let row = if row_is_fixed { i64::from(row) } else { by(row, rows) };
                let column = if column_is_fixed { i64::from(column) } else { by(column, columns) };
                let is_there =
                    (1..=i64::from(LAST_ROW)).contains(&row) && (1..=16_384).contains(&column);
                if !is_there {
                    moved.push_str("#REF!");
                    continue;
                }
                let dollar = |fixed: bool| if fixed { "$" } else { "" };
                let (column, fixed) = (letters(column as u32), dollar(column_is_fixed));
                let _ = write!(moved, "{fixed}{column}{}{row}", dollar(row_is_fixed));
            }
        }
    }
    moved
}

enum FormulaToken<'f> {
    Cell { column: u32, column_is_fixed: bool, row: u32, row_is_fixed: bool },
    Other(&'f str),
}

/// Splits a formula into cells and everything else: texts, sheet names, functions, signs.
fn tokens(formula: &str) -> Vec<FormulaToken<'_>> {
    let mut tokens = Vec::new();
    let mut rest = formula;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '"' | '\'' => quoted(rest, first),
            '[' => bracketed(rest),
            c if is_word(c) => rest.find(|c| !is_word(c)).unwrap_or(rest.len()),
            c => c.len_utf8(),
        };
        let (word, after) = rest.split_at(length);
        rest = after;
        let is_name = rest.starts_with(['(', '!', '[']);
        let cell = if is_word(first) && !is_name { cell(word) } else { None };
        tokens.push(cell.unwrap_or(FormulaToken::Other(word)));
    }
    tokens
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '.' | '$' | '\\' | '?')
}

/// The length of a quoted text, in which quotes are doubled.
fn quoted(text: &str, quote: char) -> usize {
    let mut at = 1;
    while let Some(end) = text[at..].find(quote) {
        at += end + 1;
        if !text[at..].starts_with(quote) {
            return at;
        }
        at += 1;
    }
    text.len()
}

/// The length of a structured reference such as `[[#This Row],[Price]]`.
fn bracketed(text: &str) -> usize {
    let mut depth = 0_usize;
    for (at, c) in text.char_indices() {
        match c {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return at + 1;
        }
    }
    text.len()
}

fn cell(word: &str) -> Option<FormulaToken<'static>> {
    let (column_is_fixed, rest) = (word.starts_with('$'), word.strip_prefix('$').unwrap_or(word));
    let split = rest.find(|c: char| !c.is_ascii_alphabetic())?;
    let (name, rest) = rest.split_at(split);
    let (row_is_fixed, digits) = (rest.starts_with('$'), rest.strip_prefix('$').unwrap_or(rest));
    let address = super::cells::Address::parse(&format!("{name}{digits}"))?;
    let (row, column) = (address.row, address.column);
    Some(FormulaToken::Cell { column, column_is_fixed, row, row_is_fixed })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_relative_references_move() {
        for (formula, expected) in [
            ("A1+B$2*$C3", "A2+B$2*$C4"),
            ("SUM(A1:A9)", "SUM(A2:A10)"),
            ("'A1 B2'!A1&\"A1 \"\"B2\"", "'A1 B2'!A2&\"A1 \"\"B2\""),
            ("Sheet1!A1+LOG10(A1)", "Sheet1!A2+LOG10(A2)"),
            ("Table1[[#This Row],[A1]]*2", "Table1[[#This Row],[A1]]*2"),
            ("A1048576", "#REF!"),
            ("TAX2026_A1", "TAX2026_A1"),
        ] {
            assert_eq!(shifted(formula, 1, 0), expected);
        }
        assert_eq!(shifted("A1", 0, 2), "C1");
    }

    #[test]
    fn formulas_of_models_are_checked() {
        let sheets = ["Data".to_owned(), "O'Neil".to_owned()];
        assert_eq!(checked("=SUM(A1:A2)", &sheets).unwrap(), "SUM(A1:A2)");
        assert_eq!(checked("=data!A1+'O''Neil'!B2", &sheets).unwrap(), "'data'!A1+'O''Neil'!B2");
        for bad in ["=WEBSERVICE(\"x\")", "=Other!A1", "=HYPERLINK(\"x\")", "=cmd|' /C x'!A0"] {
            let error = checked(bad, &sheets).unwrap_err().to_string();
            assert!(error.contains("is not allowed"), "{error}");
        }
    }
}
