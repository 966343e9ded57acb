//! Totals below tables: formulas that have a value only if their column has a total.

use super::evaluate::{CellAt, Grid, Stop};
use super::expr::Expr;
use super::value::Value;
use crate::xlsx::column_total::{ColumnCell, ColumnTotal, TotalCell, TotalProblem};
use crate::xlsx::number_format::Counted;

impl Grid {
    /// Sets a total in a row of the current table.
    pub fn set_total(&mut self, row: u32, total: TotalCell) {
        if total.first <= total.last {
            self.set_formula(row, total.column, total.formula());
            self.totals.insert((self.here, row, total.column), total);
        }
    }

    /// The total in a cell of the current table.
    pub fn column_total(&mut self, row: u32, column: u16) -> ColumnTotal {
        let at = (self.here, row, column);
        let Some(total) = self.totals.get(&at).copied() else { return ColumnTotal::default() };
        if self.compute(row, column).is_none() {
            let problem = total.is_named.then_some(TotalProblem::NoValue);
            return ColumnTotal { value: None, problem };
        }
        self.column_totals.get(&at).cloned().unwrap_or_default()
    }

    /// Computes a total, which is blank if the column has none. Like SUBTOTAL it ignores the subtotals
    /// within the column.
    pub(super) fn total(&mut self, at: CellAt, total: TotalCell) -> Result<Value, Stop> {
        let mut cells = Vec::new();
        for row in total.first..=total.last {
            let at = (at.0, row, total.column);
            let value = self.cell(row, total.column)?;
            if !self.formulas.get(&at).is_some_and(Expr::has_subtotal) {
                let (kind, format) = (self.kind_at(at), self.formats.get(&at).cloned());
                cells.push(ColumnCell { value, kind, format });
            }
        }
        let found = total.decide(&cells, Counted::with_yen(self.yen));
        let value = found.value.as_ref().map_or(Value::Blank, |(value, _)| Value::Number(*value));
        self.column_totals.insert(at, found);
        Ok(value)
    }
}
