//! Addresses and values of cells.

use chrono::{NaiveDate, NaiveDateTime};
use serde_json::Value;

use super::{EditError, invalid, tree::TreeElement};
use crate::package::cell_escapes;

/// The last row and column of a sheet, counted from 1.
pub const LAST_ROW: u32 = 1_048_576;
pub const LAST_COLUMN: u32 = 16_384;

/// The maximum length of a text in a cell, in characters of UTF-16.
const TEXT_CHARS: usize = 32_767;

/// A cell, counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Address {
    pub row: u32,
    pub column: u32,
}

/// A rectangle of cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CellArea {
    pub from: Address,
    pub to: Address,
}

impl Address {
    /// `B2`, also with `$`.
    pub fn parse(text: &str) -> Option<Self> {
        let plain = text.replace('$', "").to_ascii_uppercase();
        let split = plain.find(|c: char| !c.is_ascii_uppercase())?;
        let (letters, digits) = plain.split_at(split);
        if !(1..=3).contains(&letters.len()) || !digits.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        let column = letters.bytes().fold(0, |sum, b| sum * 26 + u32::from(b - b'A') + 1);
        let row = digits.parse().ok()?;
        let is_there = (1..=LAST_ROW).contains(&row) && column <= LAST_COLUMN;
        is_there.then_some(Self { row, column })
    }
}

impl std::fmt::Display for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}{}", letters(self.column), self.row)
    }
}

impl CellArea {
    /// `A1:B2`, or a single cell.
    pub fn parse(text: &str) -> Option<Self> {
        let (from, to) = text.split_once(':').unwrap_or((text, text));
        Some(Self { from: Address::parse(from)?, to: Address::parse(to)? })
    }

    pub fn has(&self, at: Address) -> bool {
        (self.from.row..=self.to.row).contains(&at.row)
            && (self.from.column..=self.to.column).contains(&at.column)
    }

    pub fn is_one_cell(&self) -> bool {
        self.from == self.to
    }
}

impl std::fmt::Display for CellArea {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.from)?;
        if self.is_one_cell() { Ok(()) } else { write!(f, ":{}", self.to) }
    }
}

/// The letters of a column, counted from 1.
pub fn letters(mut column: u32) -> String {
    let mut letters = String::new();
    while column > 0 {
        letters.insert(0, char::from(b'A' + ((column - 1) % 26) as u8));
        column = (column - 1) / 26;
    }
    letters
}

/// The day from which a workbook counts dates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Epoch {
    From1900,
    From1904,
}

/// What is written into a cell.
#[derive(Debug, Clone, PartialEq)]
pub enum CellValue {
    Empty,
    Number(String),
    Bool(bool),
    Text(String),
    /// Without the equals sign.
    Formula(String),
}

impl CellValue {
    /// Reads a JSON value. `formula` checks formulas.
    pub fn of(
        value: &Value,
        formula: impl FnOnce(&str) -> Result<String, EditError>,
    ) -> Result<Self, EditError> {
        match value {
            Value::Null => Ok(Self::Empty),
            Value::Bool(is) => Ok(Self::Bool(*is)),
            Value::Number(number) => Ok(Self::Number(number.to_string())),
            Value::String(text) if text.len() > 1 && text.starts_with('=') => {
                formula(text).map(Self::Formula)
            }
            Value::String(text) if text.encode_utf16().count() > TEXT_CHARS => {
                invalid(format!("A cell takes at most {TEXT_CHARS} characters: shorten the text."))
            }
            Value::String(text) => Ok(Self::Text(text.clone())),
            Value::Array(_) | Value::Object(_) => {
                invalid("A cell takes a number, a text, true, false or null.")
            }
        }
    }

    /// A date as text becomes a date where the cell shows dates.
    #[must_use]
    pub fn dated(self, epoch: Epoch) -> Self {
        match &self {
            Self::Text(text) => serial(text, epoch).map_or(self, Self::Number),
            _ => self,
        }
    }

    pub fn shown(&self) -> String {
        match self {
            Self::Empty => String::new(),
            Self::Bool(is) => is.to_string().to_uppercase(),
            Self::Number(text) | Self::Text(text) => text.clone(),
            Self::Formula(text) => format!("={text}"),
        }
    }

    /// What kind of value it is, for people.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Empty => "empty",
            Self::Bool(_) => "true or false",
            Self::Number(_) => "number",
            Self::Text(_) => "text",
            Self::Formula(_) => "formula",
        }
    }

    /// Puts the value into a cell, which keeps its format.
    pub fn put(&self, cell: &mut TreeElement) {
        for attribute in ["t", "cm", "vm"] {
            cell.unset(attribute);
        }
        cell.children.clear();
        let leaf =
            |name: &str, text: &str| TreeElement::new(&cell.named(name), &[]).with_text(text);
        let child = match self {
            Self::Empty => return,
            Self::Number(number) => leaf("v", number),
            Self::Bool(is) => leaf("v", if *is { "1" } else { "0" }),
            Self::Formula(formula) => leaf("f", formula),
            Self::Text(text) => {
                let mut t = leaf("t", &cell_escapes::stored(text));
                t.set("xml:space", "preserve");
                TreeElement::new(&cell.named("is"), &[]).with(t)
            }
        };
        match self {
            Self::Text(_) => cell.set("t", "inlineStr"),
            Self::Bool(_) => cell.set("t", "b"),
            _ => {}
        }
        cell.push(child);
    }
}

/// What a cell contains.
pub enum CellContent {
    Value(CellValue),
    /// What has no JSON form, such as an error, as text.
    Other(String),
}

impl CellContent {
    pub fn shown(&self) -> String {
        match self {
            Self::Value(value) => value.shown(),
            Self::Other(text) => text.clone(),
        }
    }

    pub fn kind(&self) -> &'static str {
        match self {
            Self::Value(value) => value.kind(),
            Self::Other(_) => "other",
        }
    }

    /// Whether the cell is the same with this value, also for those who compute with it: the text
    /// `5` is not the number 5. An empty text is the same as none.
    pub fn is(&self, value: &CellValue) -> bool {
        match self {
            Self::Value(CellValue::Empty) if *value == CellValue::Text(String::new()) => true,
            Self::Value(own) => own == value,
            Self::Other(_) => false,
        }
    }
}

/// The number of a date or a date and time in ISO 8601.
fn serial(text: &str, epoch: Epoch) -> Option<String> {
    let day = NaiveDate::parse_from_str(text, "%Y-%m-%d").ok();
    let at = day.map(|day| day.and_time(chrono::NaiveTime::MIN)).or_else(|| {
        let forms = ["%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S"];
        forms.iter().find_map(|form| NaiveDateTime::parse_from_str(text, form).ok())
    })?;
    let first = match epoch {
        Epoch::From1900 => (1899, 12, 30),
        Epoch::From1904 => (1904, 1, 1),
    };
    let first =
        NaiveDate::from_ymd_opt(first.0, first.1, first.2)?.and_time(chrono::NaiveTime::MIN);
    let seconds = (at - first).num_seconds();
    // Excel counts a day in 1900 that there was not; earlier dates are kept as text.
    let is_certain = seconds >= 61 * 86_400;
    is_certain.then(|| (seconds as f64 / 86_400.0).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_and_written() {
        for text in ["A1", "Z9", "AA10", "XFD1048576"] {
            assert_eq!(Address::parse(text).unwrap().to_string(), text);
        }
        for text in ["", "A", "1", "A0", "XFE1", "A1048577", "AAAA1", "A1B"] {
            assert_eq!(Address::parse(text), None, "{text}");
        }
        assert_eq!(CellArea::parse("$A$1:B2").unwrap().to_string(), "A1:B2");
    }

    /// An emoji counts as two characters.
    #[test]
    fn texts_fit_the_cells_of_excel() {
        let text = |length: usize| CellValue::of(&"😀".repeat(length).into(), |_| invalid(""));
        assert!(text(TEXT_CHARS / 2).is_ok() && text(TEXT_CHARS / 2 + 1).is_err());
    }

    #[test]
    fn dates_become_numbers() {
        assert_eq!(serial("2026-01-01", Epoch::From1900).as_deref(), Some("46023"));
        assert_eq!(serial("2026-01-01T12:00", Epoch::From1900).as_deref(), Some("46023.5"));
        assert_eq!(serial("2026-01-01", Epoch::From1904).as_deref(), Some("44561"));
        assert_eq!(serial("next week", Epoch::From1900), None);
    }
}
