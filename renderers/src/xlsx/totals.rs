//! Total rows below tables, computed from the visible rows.

use rust_xlsxwriter::{Format, FormatBorder, Formula, Worksheet, XlsxError};

use super::cells::Typed;
use super::computed::is_summable;
use super::directives::{Directive, Total};
use super::formula::{Cell, Expr, Value};
use super::number_format::{self, Counted};
use super::pages::{Meaning, Pages, Read};
use super::runs::Runs;
use crate::document::{Inline, Table};

/// A total row of a table from row `top` to `bottom`.
pub struct TotalRow<'a> {
    pub total: Total,
    pub columns: &'a [usize],
    pub row: u32,
    pub top: u32,
    pub bottom: u32,
}

impl Pages<'_> {
    /// Writes a total row.
    pub fn total(
        &mut self,
        sheet: &mut Worksheet,
        total_row: TotalRow<'_>,
        read: &Read,
    ) -> Result<(), XlsxError> {
        let TotalRow { total, columns: wanted, row, top, bottom } = total_row;
        let columns = read.iter().map(Vec::len).max().unwrap_or(0);
        let name = total.name(self.document.meta.language.as_deref());
        let (mut is_named, mut is_given) = (false, false);
        for column in 0..columns {
            let is_wanted = wanted.contains(&column);
            let numbers = is_wanted.then(|| self.sum(read, column, total)).flatten();
            let format = Format::new().set_bold().set_border_top(FormatBorder::Thin);
            let at = column as u16;
            if let Some((value, shown)) = numbers {
                is_given = true;
                let format = format.set_num_format(shown);
                let from = rust_xlsxwriter::utility::row_col_to_cell(top + 1, at);
                let to = rust_xlsxwriter::utility::row_col_to_cell(bottom, at);
                let formula = Formula::new(format!("=SUBTOTAL({},{from}:{to})", total.subtotal()));
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
            self.warn(no_numbers(name));
        }
        Ok(())
    }

    /// The columns of a total. Unknown names are reported.
    pub fn total_columns(&mut self, table: &Table, names: &[String]) -> Vec<usize> {
        let (columns, unknown) = columns(table, names);
        for sentence in unknown {
            self.warn(sentence);
        }
        columns
    }

    /// Makes the totals below a table known to formulas, before any formula is computed.
    pub fn survey_totals(&mut self, table: &Table, read: &Read, directives: &[Directive]) {
        let totals = directives.iter().filter_map(|directive| match directive {
            Directive::Total(total, names) => Some((*total, names)),
            _ => None,
        });
        for (at, (total, names)) in totals.enumerate() {
            let columns = self.total_columns(table, names);
            let columns = columns.into_iter().filter(|column| is_summable(read, *column, total));
            for column in columns {
                let cell = |row: usize| Cell {
                    row: row as u32,
                    column: column as u16,
                    row_is_fixed: false,
                    column_is_fixed: false,
                };
                let range = Expr::Range(cell(1), cell(table.rows.len()));
                let code = Expr::Number(f64::from(total.subtotal()));
                let formula = Expr::Call("SUBTOTAL", vec![code, range]);
                let row = (table.rows.len() + 1 + at) as u32;
                self.grid.set_formula(row, column as u16, formula);
            }
        }
    }

    /// The total of a column and its format. Percentages are not summed.
    pub fn sum(&mut self, read: &Read, column: usize, total: Total) -> Option<(f64, String)> {
        let adds_up = |shown: &str| total != Total::Sum || !shown.contains('%');
        self.numbers(read, column, total).filter(|(_, shown)| adds_up(shown))
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
                    let kind = self.grid.kind(formula);
                    let format = number_format::of(formula, read, value.as_ref(), &mut self.grid);
                    format.iter().for_each(|format| counted.see(format));
                    match value? {
                        Value::Number(_) if !kind.is_plain() => return None,
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

/// The columns of a total: those that are named, or all after the first, which is the label of the
/// row even if it is numeric. Also returns a sentence for each unknown name.
pub fn columns(table: &Table, names: &[String]) -> (Vec<usize>, Vec<String>) {
    let count = table.header.len();
    if names.is_empty() {
        return ((usize::from(count > 1)..count).collect(), Vec::new());
    }
    let (mut columns, mut unknown) = (Vec::new(), Vec::new());
    for name in names {
        let is_named = |cell: &Vec<Inline>| Runs::read(cell).text().eq_ignore_ascii_case(name);
        match table.header.iter().position(is_named) {
            Some(column) => columns.push(column),
            None => unknown.push(format!("There is no column “{name}” for a total.")),
        }
    }
    (columns, unknown)
}

/// The sentence about a total that adds nothing up.
pub fn no_numbers(name: &str) -> String {
    format!("There is no numeric column for the total “{name}”.")
}
