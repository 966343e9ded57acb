//! Total rows below tables, computed from the visible rows.

use rust_xlsxwriter::{Format, FormatBorder, Formula, Worksheet, XlsxError};

use super::cells::Typed;
use super::directives::Total;
use super::formula::Value;
use super::number_format::{self, Counted};
use super::pages::{Meaning, Pages, Read};

impl Pages<'_> {
    /// Writes the total row of a table from row `top` to `bottom`.
    pub fn total(
        &mut self,
        sheet: &mut Worksheet,
        (top, bottom, row): (u32, u32, u32),
        read: &Read,
        total: Total,
    ) -> Result<(), XlsxError> {
        let columns = read.iter().map(Vec::len).max().unwrap_or(0);
        let (name, code) = total.name();
        let (mut is_named, mut is_given) = (false, false);
        for column in 0..columns {
            // The first column is the row label, even if it is numeric.
            let is_name = column == 0 && columns > 1;
            let numbers = if is_name { None } else { self.numbers(read, column, total) };
            let format = Format::new().set_bold().set_border_top(FormatBorder::Thin);
            let at = column as u16;
            // Percentages are not summed.
            let adds_up = |shown: &str| total != Total::Sum || !shown.contains('%');
            if let Some((value, shown)) = numbers.filter(|(_, shown)| adds_up(shown)) {
                is_given = true;
                let format = format.set_num_format(shown);
                let from = rust_xlsxwriter::utility::row_col_to_cell(top + 1, at);
                let to = rust_xlsxwriter::utility::row_col_to_cell(bottom, at);
                let formula = Formula::new(format!("=SUBTOTAL({code},{from}:{to})"));
                let formula = formula.set_result(value.to_string());
                sheet.write_formula_with_format(row, at, formula, &format)?;
            } else if is_named {
                sheet.write_blank(row, at, &format)?;
            } else {
                is_named = true;
                sheet.write_string_with_format(row, at, name, &format)?;
            }
        }
        if !is_given {
            self.warn(format!("There is no numeric column for the total “{name}”."));
        }
        Ok(())
    }

    /// The total of a numeric column and its format. Like SUBTOTAL it ignores cells that are not
    /// numbers, if they are the minority.
    fn numbers(&mut self, read: &Read, column: usize, total: Total) -> Option<(f64, String)> {
        let (mut values, mut others, mut counted) = (Vec::new(), 0, Counted::default());
        for (at, row) in read.iter().enumerate() {
            let Some((runs, meaning)) = row.get(column) else { continue };
            match meaning {
                Some(Meaning::Typed(Typed::Number { value, format })) => {
                    counted.see(format);
                    values.push(*value);
                }
                Some(Meaning::Formula(formula)) => {
                    let value = self.grid.compute(at as u32 + 1, column as u16);
                    if let Some(format) = number_format::of(formula, read, value.as_ref()) {
                        counted.see(&format);
                    }
                    match value? {
                        Value::Number(value) => values.push(value),
                        Value::Error(_) => return None,
                        Value::Text(_) | Value::Bool(_) | Value::Blank => others += 1,
                    }
                }
                Some(Meaning::Typed(Typed::Moment { .. })) => return None,
                None if runs.pieces.is_empty() => {}
                _ => others += 1,
            }
        }
        if values.is_empty() || values.len() < others {
            return None;
        }
        if total == Total::Count {
            // Counts the cells that are not empty.
            return Some(((values.len() + others) as f64, "0".to_owned()));
        }
        let value = total.of(&values);
        Some((value, counted.format(value).unwrap_or_else(|| "General".to_owned())))
    }
}
