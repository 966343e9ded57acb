//! Directives in comments before a table: `<!-- total: sum -->`, `<!-- total: sum of Column -->`,
//! `<!-- format: Column bars -->`, `<!-- format: Column scale -->`, `<!-- format: Column < 0 red -->`,
//! `<!-- choices: Column = Open, Done -->`, `<!-- note: Column = text -->`.

use std::ops::RangeInclusive;

use rust_xlsxwriter::{
    Color, ConditionalFormat2ColorScale, ConditionalFormatCell, ConditionalFormatCellRule,
    ConditionalFormatDataBar, DataValidation, Format, Note, Worksheet, XlsxError,
};

use crate::package::words;

#[derive(Debug, Clone, PartialEq)]
pub enum Directive {
    /// A total row below the table, for these columns or for all that are numeric.
    Total(Total, Vec<String>),
    Format {
        column: String,
        rule: Rule,
    },
    /// The values that the cells of a column may have, as a list to choose from.
    Choices {
        column: String,
        values: Vec<String>,
    },
    /// A note at the header of a column.
    Note {
        column: String,
        text: String,
    },
}

/// The maximum number of characters of all choices together, with the commas between them.
const CHOICES: usize = 255;
/// The maximum number of characters of a note.
const NOTE: usize = 2_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Total {
    Sum,
    Average,
    Min,
    Max,
    Count,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Rule {
    Bars,
    Scale,
    Cell { sign: &'static str, limit: f64, color: Shade },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shade {
    Red,
    Yellow,
    Green,
}

/// Parses the directive of a comment; `None` if the comment is not a directive. An error is the end
/// of a sentence.
pub fn read(comment: &str) -> Option<Result<Directive, String>> {
    let (key, value) = comment.trim().split_once(':')?;
    match key.trim().to_lowercase().as_str() {
        "total" | "totals" => Some(total(value.trim())),
        "format" => Some(format(value.trim())),
        "choices" => Some(choices(value)),
        "note" => note(value),
        _ => None,
    }
}

/// `Status = Open, In progress, Done`
fn choices(value: &str) -> Result<Directive, String> {
    let how = || "use “Column = first, second, third”".to_owned();
    let (column, values) = value.split_once('=').ok_or_else(how)?;
    let values: Vec<String> = values.split(',').map(|value| value.trim().to_owned()).collect();
    if values.iter().any(String::is_empty) {
        return Err(how());
    }
    // Quotation marks are doubled in the list.
    let list = values.join(",").replace('"', "\"\"");
    if list.encode_utf16().count() > CHOICES {
        return Err(format!("the choices may have {CHOICES} characters together"));
    }
    Ok(Directive::Choices { column: column.trim().to_owned(), values })
}

/// `Status = Set by the editors`. Other comments that begin with “note:” are not for workbooks.
fn note(value: &str) -> Option<Result<Directive, String>> {
    let (column, text) = value.split_once('=')?;
    let (column, text) = (column.trim().to_owned(), text.trim().to_owned());
    if text.is_empty() {
        return None;
    }
    if text.encode_utf16().count() > NOTE {
        return Some(Err(format!("a note may have {NOTE} characters")));
    }
    Some(Ok(Directive::Note { column, text }))
}

impl Directive {
    /// The column that it applies to, apart from totals.
    pub fn column(&self) -> Option<&str> {
        match self {
            Self::Total(..) => None,
            Self::Format { column, .. }
            | Self::Choices { column, .. }
            | Self::Note { column, .. } => Some(column),
        }
    }
}

/// Lets the reader choose the cells of a column in these rows from a list.
pub fn choose(
    sheet: &mut Worksheet,
    rows: &RangeInclusive<u32>,
    column: u16,
    values: &[String],
) -> Result<(), XlsxError> {
    let list = DataValidation::new().allow_list_strings(values)?;
    sheet.add_data_validation(*rows.start(), column, *rows.end(), column, &list)?;
    Ok(())
}

/// Adds a note to a cell, in place of the one that it has, and returns whether it is short enough.
pub fn add_note(
    sheet: &mut Worksheet,
    row: u32,
    column: u16,
    text: &str,
) -> Result<bool, XlsxError> {
    match sheet.insert_note(row, column, &Note::new(text).add_author_prefix(false)) {
        Ok(_) => Ok(true),
        Err(XlsxError::MaxStringLengthExceeded) => Ok(false),
        Err(error) => Err(error),
    }
}

/// `sum`, or `sum of Amount, Quantity`
fn total(value: &str) -> Result<Directive, String> {
    let (kind, columns) = value.split_once(" of ").unwrap_or((value, ""));
    let names = columns.split(',').map(|name| name.trim().to_owned());
    let names = names.filter(|name| !name.is_empty()).collect();
    let total = match kind.trim().to_lowercase().as_str() {
        "sum" => Total::Sum,
        "average" => Total::Average,
        "min" => Total::Min,
        "max" => Total::Max,
        "count" => Total::Count,
        _ => return Err(format!("“{kind}” is not sum, average, min, max or count")),
    };
    Ok(Directive::Total(total, names))
}

fn format(value: &str) -> Result<Directive, String> {
    let how = || "use “Column bars”, “Column scale” or “Column < 0 red”".to_owned();
    let (rest, last) = value.rsplit_once(char::is_whitespace).ok_or_else(how)?;
    let named = |column: &str, rule| Directive::Format { column: column.trim().to_owned(), rule };
    let color = match last.to_lowercase().as_str() {
        "bars" => return Ok(named(rest, Rule::Bars)),
        "scale" => return Ok(named(rest, Rule::Scale)),
        "red" => Shade::Red,
        "yellow" => Shade::Yellow,
        "green" => Shade::Green,
        _ => return Err(how()),
    };
    let signs = ["<=", ">=", "<", ">", "="];
    let sign = signs.into_iter().find(|sign| rest.contains(sign)).ok_or_else(how)?;
    let (column, limit) = rest.rsplit_once(sign).ok_or_else(how)?;
    let limit = limit.trim();
    let is_share = limit.ends_with('%');
    let number = limit.trim_end_matches('%').parse().ok().filter(|number: &f64| number.is_finite());
    let number = number.ok_or_else(how)?;
    let limit = if is_share { number / 100.0 } else { number };
    Ok(named(column, Rule::Cell { sign, limit, color }))
}

impl Total {
    /// The name of the row in the language of the document.
    pub fn name(self, language: Option<&str>) -> &'static str {
        let [sum, average, min, max, count] = words::totals(language);
        match self {
            Self::Sum => sum,
            Self::Average => average,
            Self::Min => min,
            Self::Max => max,
            Self::Count => count,
        }
    }

    /// The function number of SUBTOTAL that excludes hidden rows.
    pub fn subtotal(self) -> u8 {
        match self {
            Self::Sum => 109,
            Self::Average => 101,
            Self::Min => 105,
            Self::Max => 104,
            Self::Count => 103,
        }
    }

    pub fn of(self, values: &[f64]) -> f64 {
        let count = values.len().max(1) as f64;
        match self {
            Self::Sum => values.iter().sum(),
            Self::Average => values.iter().sum::<f64>() / count,
            Self::Min => values.iter().copied().reduce(f64::min).unwrap_or(0.0),
            Self::Max => values.iter().copied().reduce(f64::max).unwrap_or(0.0),
            Self::Count => values.len() as f64,
        }
    }
}

impl Rule {
    /// Applies the format to the rows of one column.
    pub fn apply(
        &self,
        sheet: &mut Worksheet,
        rows: &RangeInclusive<u32>,
        column: u16,
        accent: Color,
    ) -> Result<(), XlsxError> {
        let (first, last) = (*rows.start(), *rows.end());
        match self {
            Self::Bars => {
                let bars = ConditionalFormatDataBar::new().set_fill_color(accent);
                sheet.add_conditional_format(first, column, last, column, &bars)?;
            }
            Self::Scale => {
                let scale = ConditionalFormat2ColorScale::new();
                let scale = scale.set_minimum_color(Color::White).set_maximum_color(accent);
                sheet.add_conditional_format(first, column, last, column, &scale)?;
            }
            Self::Cell { sign, limit, color } => {
                let limit = *limit;
                let rule = match *sign {
                    "<" => ConditionalFormatCellRule::LessThan(limit),
                    "<=" => ConditionalFormatCellRule::LessThanOrEqualTo(limit),
                    ">" => ConditionalFormatCellRule::GreaterThan(limit),
                    ">=" => ConditionalFormatCellRule::GreaterThanOrEqualTo(limit),
                    _ => ConditionalFormatCellRule::EqualTo(limit),
                };
                let rule = ConditionalFormatCell::new().set_rule(rule).set_format(color.format());
                sheet.add_conditional_format(first, column, last, column, &rule)?;
            }
        }
        Ok(())
    }
}

impl Shade {
    /// Excel's own pairs of text and background colours.
    fn format(self) -> Format {
        let (letters, ground) = match self {
            Self::Red => (0x9C_0006, 0xFF_C7CE),
            Self::Yellow => (0x9C_5700, 0xFF_EB9C),
            Self::Green => (0x00_6100, 0xC6_EFCE),
        };
        Format::new().set_font_color(Color::RGB(letters)).set_background_color(Color::RGB(ground))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_that_ask_for_something_are_read() {
        assert_eq!(read(" total: Sum "), Some(Ok(Directive::Total(Total::Sum, vec![]))));
        let named = Directive::Total(Total::Average, vec!["Unit price".into(), "Qty".into()]);
        assert_eq!(read("total: average of Unit price, Qty"), Some(Ok(named)));
        let rule = Rule::Cell { sign: "<=", limit: -0.05, color: Shade::Red };
        let column = "Net margin".to_owned();
        let directive = Directive::Format { column, rule };
        assert_eq!(read("format: Net margin <= -5% red"), Some(Ok(directive)));
        let bars = Directive::Format { column: "A b".to_owned(), rule: Rule::Bars };
        assert_eq!(read("format: A b bars"), Some(Ok(bars)));
        assert_eq!(read("say this loudly"), None);
        assert_eq!(read("note: this"), None);
        let note = Directive::Note { column: "A".to_owned(), text: "b = c".to_owned() };
        assert_eq!(read("note: A = b = c"), Some(Ok(note)));
        let values = vec!["Open".to_owned(), "In progress".to_owned()];
        let choices = Directive::Choices { column: "State".to_owned(), values };
        assert_eq!(read("choices: State = Open, In progress"), Some(Ok(choices)));
        for values in ["x".repeat(256), "\"".repeat(128)] {
            assert!(read(&format!("choices: A = {values}")).unwrap().is_err(), "{values}");
        }
        for wrong in [
            "total: mean",
            "choices: A",
            "choices: A = ,",
            "format: A",
            "format: A < x red",
            "format: A < 1 pink",
            "format: A < inf red",
            "format: A > nan red",
        ] {
            assert!(read(wrong).unwrap().is_err(), "{wrong}");
        }
    }
}
