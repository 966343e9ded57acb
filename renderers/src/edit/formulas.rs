//! Formulas: those that a model may write, and moving those of the file to other rows.

use super::{
    EditError,
    cells::{Address, LAST_COLUMN, LAST_ROW, letters},
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

/// Moves the relative references of a formula. An area that ends at the edge of the sheet still does.
pub fn shifted(formula: &str, rows: i64, columns: i64) -> String {
    let mut moved = String::new();
    for token in tokens(formula) {
        let ends_area = moved.ends_with(':');
        let reference = match token {
            FormulaToken::Other(text) => {
                moved.push_str(text);
                continue;
            }
            FormulaToken::Cell { column, row } => {
                let column = column.moved(columns, LAST_COLUMN, ends_area);
                column.zip(row.moved(rows, LAST_ROW, ends_area)).map(|(column, row)| {
                    let (dollar, letters) = (column.dollar(), letters(column.at));
                    format!("{dollar}{letters}{}{}", row.dollar(), row.at)
                })
            }
            FormulaToken::Columns(column) => column
                .moved(columns, LAST_COLUMN, ends_area)
                .map(|column| format!("{}{}", column.dollar(), letters(column.at))),
            FormulaToken::Rows(row) => row
                .moved(rows, LAST_ROW, ends_area)
                .map(|row| format!("{}{}", row.dollar(), row.at)),
        };
        moved.push_str(reference.as_deref().unwrap_or("#REF!"));
    }
    moved
}

enum FormulaToken<'f> {
    Cell {
        column: Coordinate,
        row: Coordinate,
    },
    /// The first or the last column of `A:C`.
    Columns(Coordinate),
    /// The first or the last row of `1:3`.
    Rows(Coordinate),
    Other(&'f str),
}

/// A row or column of a reference, counted from 1.
#[derive(Clone, Copy)]
struct Coordinate {
    at: u32,
    is_fixed: bool,
}

impl Coordinate {
    /// The coordinate at another place, unless it is beyond the sheet.
    fn moved(self, by: i64, last: u32, ends_area: bool) -> Option<Self> {
        if self.is_fixed || ends_area && self.at == last {
            return Some(self);
        }
        let at = u32::try_from(i64::from(self.at) + by).ok()?;
        (1..=last).contains(&at).then_some(Self { at, ..self })
    }

    fn dollar(self) -> &'static str {
        if self.is_fixed { "$" } else { "" }
    }
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
        if let Some(end) = rest.strip_prefix(':').filter(|_| is_word(first)) {
            let (end, after) = end.split_at(end.find(|c| !is_word(c)).unwrap_or(end.len()));
            if !is_named(after)
                && let Some((from, to)) = lines(word, end)
            {
                tokens.extend([from, FormulaToken::Other(":"), to]);
                rest = after;
                continue;
            }
        }
        let cell = if is_word(first) && !is_named(rest) { cell(word) } else { None };
        tokens.push(cell.unwrap_or(FormulaToken::Other(word)));
    }
    tokens
}

/// Whether the word before this is a name: of a function, a sheet or a table.
fn is_named(after: &str) -> bool {
    after.starts_with(['(', '!', '['])
}

/// Whole columns or rows.
fn lines(from: &str, to: &str) -> Option<(FormulaToken<'static>, FormulaToken<'static>)> {
    match (line(from)?, line(to)?) {
        (from @ FormulaToken::Columns(_), to @ FormulaToken::Columns(_))
        | (from @ FormulaToken::Rows(_), to @ FormulaToken::Rows(_)) => Some((from, to)),
        _ => None,
    }
}

/// A column or a row, which is read as half of an address.
fn line(word: &str) -> Option<FormulaToken<'static>> {
    let plain = word.strip_prefix('$').unwrap_or(word);
    let is_fixed = plain.len() < word.len();
    if plain.chars().all(|c| c.is_ascii_alphabetic()) {
        let Address { column: at, .. } = Address::parse(&format!("{plain}1"))?;
        return Some(FormulaToken::Columns(Coordinate { at, is_fixed }));
    }
    let is_row = plain.chars().all(|c| c.is_ascii_digit());
    let Address { row: at, .. } = Address::parse(&format!("A{plain}")).filter(|_| is_row)?;
    Some(FormulaToken::Rows(Coordinate { at, is_fixed }))
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
    let mut signs = text.char_indices();
    while let Some((at, c)) = signs.next() {
        match c {
            // The sign after it is a part of a name.
            '\'' => {
                signs.next();
            }
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
    let Address { row, column } = Address::parse(&format!("{name}{digits}"))?;
    let column = Coordinate { at: column, is_fixed: column_is_fixed };
    Some(FormulaToken::Cell { column, row: Coordinate { at: row, is_fixed: row_is_fixed } })
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
            ("SUM(A2:A1048576)", "SUM(A3:A1048576)"),
            ("SUM(1:3)+SUM(Data!$1:4)", "SUM(2:4)+SUM(Data!$1:5)"),
            ("SUM(A:C)+SUM(A:B!C1)", "SUM(A:C)+SUM(A:B!C2)"),
            ("SUM(T[a'[])+A1", "SUM(T[a'[])+A2"),
            ("TAX2026_A1", "TAX2026_A1"),
        ] {
            assert_eq!(shifted(formula, 1, 0), expected);
        }
        assert_eq!(shifted("A1", 0, 2), "C1");
        assert_eq!(shifted("SUM(A:$C)/SUM(1:2)", 0, 2), "SUM(C:$C)/SUM(1:2)");
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
