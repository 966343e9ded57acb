//! The total of a column: whether it has one, and what it leaves out.

use std::sync::Arc;

use super::directives::Total;
use super::formula::{Cell, Expr, Value, ValueKind};
use super::number_format::{Counted, NumberType};
use super::table::short;

/// Texts that mean an empty cell.
const GAPS: [&str; 5] = ["", "-", "–", "—", "−"];

/// A cell with a total, below the rows `first` to `last` of its table.
#[derive(Debug, Clone, Copy)]
pub struct TotalCell {
    pub total: Total,
    /// Whether the author named the column. Others have a total if they are suitable.
    pub is_named: bool,
    pub column: u16,
    pub first: u32,
    pub last: u32,
}

/// A cell of a column, and its number format.
pub struct ColumnCell {
    pub value: Value,
    pub kind: ValueKind,
    pub format: Option<Arc<str>>,
}

/// The total of a column, and what it leaves out.
#[derive(Debug, Clone, Default)]
pub struct ColumnTotal {
    /// The total and its number format.
    pub value: Option<(f64, String)>,
    pub problem: Option<TotalProblem>,
}

/// What a total leaves out, or why a column has none.
#[derive(Debug, Clone)]
pub enum TotalProblem {
    /// Cells that are no numbers, with an example.
    Texts {
        count: usize,
        example: String,
    },
    /// The amounts cannot be added up.
    Currencies(Vec<&'static str>),
    /// Some numbers are percentages.
    SomePercentages,
    Percentages,
    Dates,
    /// Times and other numbers, or dates and times.
    Mixture,
    NoNumbers,
    FewNumbers,
    Error(&'static str),
    /// A formula cannot be computed.
    NoValue,
}

impl TotalProblem {
    /// The warning about a total of this column.
    pub fn sentence(&self, column: &str) -> String {
        let why = match self {
            Self::Texts { count: 1, example } => {
                return format!(
                    "The total of the column “{column}” leaves out 1 cell that is not a number: \
                     “{example}”."
                );
            }
            Self::Texts { count, example } => {
                return format!(
                    "The total of the column “{column}” leaves out {count} cells that are not \
                     numbers, such as “{example}”."
                );
            }
            Self::Currencies(currencies) => {
                format!("its amounts are in different currencies: {}", currencies.join(", "))
            }
            Self::SomePercentages => "only some of its numbers are percentages".to_owned(),
            Self::Percentages => "percentages are not added up: use average, min or max".to_owned(),
            Self::Dates => "dates are not added up: use min or max".to_owned(),
            Self::Mixture => "it mixes dates, times and other numbers".to_owned(),
            Self::NoNumbers => "it has no numbers".to_owned(),
            Self::FewNumbers => "most of its cells are not numbers".to_owned(),
            Self::Error(error) => format!("it has the error {error}"),
            Self::NoValue => "one of its formulas has no value".to_owned(),
        };
        format!("The column “{column}” has no total, because {why}.")
    }
}

impl TotalCell {
    /// The formula in the cell.
    pub fn formula(self) -> Expr {
        let cell =
            |row| Cell { row, column: self.column, row_is_fixed: false, column_is_fixed: false };
        let code = Expr::Number(f64::from(self.total.subtotal()));
        Expr::Call("SUBTOTAL", vec![code, Expr::Range(cell(self.first), cell(self.last))])
    }

    /// Decides whether the column has a total. Like SUBTOTAL it ignores cells that are not numbers, if
    /// they are the minority. `counted` has no numbers.
    pub fn decide(self, cells: &[ColumnCell], counted: Counted) -> ColumnTotal {
        let mut column = ColumnContent { counted, ..ColumnContent::default() };
        for cell in cells {
            column.see(cell);
        }
        if !self.is_named && !self.suits(&column) {
            return ColumnTotal::default();
        }
        match self.value(&column) {
            Ok(value) if self.total == Total::Count => {
                ColumnTotal { value: Some(value), problem: None }
            }
            Ok(value) => ColumnTotal { value: Some(value), problem: column.left_out() },
            Err(problem) => ColumnTotal { value: None, problem: Some(problem) },
        }
    }

    /// Whether a column that is not named has such a total. Times may be those of a clock.
    fn suits(self, column: &ColumnContent) -> bool {
        let counts = matches!(column.moment, None | Some(ValueKind::Duration(_)));
        let is_share = column.counted.number_type() == Some(NumberType::Share);
        column.has_enough_numbers() && counts && !(is_share && self.total == Total::Sum)
    }

    fn value(self, column: &ColumnContent) -> Result<(f64, String), TotalProblem> {
        if self.total == Total::Count {
            return Ok((column.filled as f64, "0".to_owned()));
        }
        if let Some(error) = column.error {
            return Err(TotalProblem::Error(error));
        }
        if !column.has_enough_numbers() {
            let has_texts = !column.texts.is_empty();
            return Err(if has_texts { TotalProblem::FewNumbers } else { TotalProblem::NoNumbers });
        }
        let value = self.total.of(&column.values);
        let is_sum = self.total == Total::Sum;
        let format = match &column.moment {
            None => self.number_format(&column.counted, value)?,
            Some(_) if column.has_numbers => return Err(TotalProblem::Mixture),
            Some(ValueKind::Unknown) => return Err(TotalProblem::Mixture),
            Some(ValueKind::Day(_)) if is_sum => return Err(TotalProblem::Dates),
            Some(kind) if is_sum => kind.clone().summed().format(Some(value)),
            Some(kind) => kind.format(Some(value)),
        };
        if value.is_finite() {
            Ok((value, format.unwrap_or_else(|| "General".to_owned())))
        } else {
            Err(TotalProblem::Error("#NUM!"))
        }
    }

    fn number_format(self, counted: &Counted, value: f64) -> Result<Option<String>, TotalProblem> {
        let is_share = counted.number_type() == Some(NumberType::Share);
        let currencies = counted.currencies();
        if currencies.len() > 1 {
            Err(TotalProblem::Currencies(currencies))
        } else if counted.has_some_percentages() {
            Err(TotalProblem::SomePercentages)
        } else if is_share && self.total == Total::Sum {
            Err(TotalProblem::Percentages)
        } else {
            Ok(counted.clone().format(value))
        }
    }
}

/// What the cells of a column are.
#[derive(Default)]
struct ColumnContent {
    values: Vec<f64>,
    /// The cells that are neither numbers nor gaps.
    texts: Vec<String>,
    /// The number of cells that are not empty.
    filled: usize,
    /// The first error.
    error: Option<&'static str>,
    /// What its dates, times and durations count.
    moment: Option<ValueKind>,
    /// Whether some values are neither dates nor times.
    has_numbers: bool,
    counted: Counted,
}

impl ColumnContent {
    fn see(&mut self, cell: &ColumnCell) {
        self.filled += usize::from(cell.value != Value::Blank);
        match &cell.value {
            Value::Number(number) => {
                self.values.push(*number);
                self.see_number(cell);
            }
            Value::Error(error) => self.error = self.error.or(Some(*error)),
            value => {
                let text = value.text().unwrap_or_default();
                if !GAPS.contains(&text.trim()) {
                    self.texts.push(text);
                }
            }
        }
    }

    fn see_number(&mut self, cell: &ColumnCell) {
        if let ValueKind::Day(_) | ValueKind::Time(_) | ValueKind::Duration(_) = cell.kind {
            let kind = cell.kind.clone();
            self.moment = Some(match self.moment.take() {
                Some(other) => other.either(kind),
                None => kind,
            });
            return;
        }
        self.has_numbers |= cell.kind != ValueKind::Neutral;
        if let Some(format) = &cell.format {
            self.counted.see(format);
        }
    }

    fn has_enough_numbers(&self) -> bool {
        !self.values.is_empty() && self.values.len() >= self.texts.len()
    }

    /// The texts among the numbers. One with digits may be an amount.
    fn left_out(&self) -> Option<TotalProblem> {
        let has_digits = |text: &&String| text.contains(|c: char| c.is_ascii_digit());
        let example = self.texts.iter().find(has_digits).or(self.texts.first())?;
        Some(TotalProblem::Texts { count: self.texts.len(), example: short(example) })
    }
}
