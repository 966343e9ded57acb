//! Directives in comments before a table: `<!-- total: sum -->`, `<!-- total: sum of Column -->`,
//! `<!-- format: Column bars -->`, `<!-- format: Column scale -->`, `<!-- format: Column < 0 red -->`.

use rust_xlsxwriter::{
    Color, ConditionalFormat2ColorScale, ConditionalFormatCell, ConditionalFormatCellRule,
    ConditionalFormatDataBar, Format, Worksheet, XlsxError,
};

#[derive(Debug, Clone, PartialEq)]
pub enum Directive {
    /// A total row below the table, for these columns or for all that are numeric.
    Total(Total, Vec<String>),
    Format {
        column: String,
        rule: Rule,
    },
}

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
        _ => None,
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
    let number: f64 = limit.trim_end_matches('%').parse().map_err(|_| how())?;
    let limit = if is_share { number / 100.0 } else { number };
    Ok(named(column, Rule::Cell { sign, limit, color }))
}

impl Total {
    /// The name, and the SUBTOTAL function number that excludes hidden rows.
    pub fn name(self) -> (&'static str, u32) {
        match self {
            Self::Sum => ("Total", 109),
            Self::Average => ("Average", 101),
            Self::Min => ("Minimum", 105),
            Self::Max => ("Maximum", 104),
            Self::Count => ("Count", 103),
        }
    }

    /// The function that computes it.
    pub fn function(self) -> &'static str {
        match self {
            Self::Sum => "SUM",
            Self::Average => "AVERAGE",
            Self::Min => "MIN",
            Self::Max => "MAX",
            Self::Count => "COUNTA",
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
        (first, last): (u32, u32),
        column: u16,
        accent: Color,
    ) -> Result<(), XlsxError> {
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
        for wrong in ["total: mean", "format: A", "format: A < x red", "format: A < 1 pink"] {
            assert!(read(wrong).unwrap().is_err(), "{wrong}");
        }
    }
}
