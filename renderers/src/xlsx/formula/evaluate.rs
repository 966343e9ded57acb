//! Computes formulas as a spreadsheet would, in two passes.
//!
//! The first, `prepare`, follows the references of a formula without recursion, however long their
//! chain is, and computes each formula before those that refer to it. The second, `cell`, computes the
//! formula itself. It is recursive, but ends at the values that the first pass has stored; for each
//! formula the first pass uses it in the same way.
//!
//! `cell` fails with [`Stop`] for a circular reference, for the time of day, for too many cells, for
//! more than [`RESULT_BYTES`] of text, and for more than [`DEPTH`] formulas within each other. A
//! failure is not stored:
//!
//! - The first pass ignores it. It follows all references, while the formula may not need this one:
//!   `IF` computes one of its branches only.
//! - In the second pass it is final: the cause is still there, and the formula has no value.
//!
//! The depth is no cause of its own. Where all references have a value, nothing is nested; below a
//! reference without a value, all formulas fail anyway, and the limit only ends their recursion.

use std::{
    collections::{HashMap, HashSet},
    ops::RangeInclusive,
    sync::Arc,
};

use super::expr::{Cell, Expr};
use super::lookup;
use super::value::{Value, binary, map};
use super::value_kind::ValueKind;
use crate::xlsx::column_total::{ColumnTotal, TotalCell};

/// The maximum number of cells that a formula may reference, counting whole ranges.
pub(super) const LOOKS: usize = 2_000_000;
/// The maximum size of all texts that formulas compute, in bytes.
pub(super) const RESULT_BYTES: usize = 64 << 20;
/// The maximum number of formulas that are computed within each other.
const DEPTH: usize = 64;

/// The values of all tables, and their formulas, which are computed on demand.
#[derive(Debug, Default)]
pub struct Grid {
    pub(super) values: HashMap<CellAt, Value>,
    pub(super) formulas: HashMap<CellAt, Expr>,
    /// The cells with dates and times, and the formulas about which this is known.
    pub(super) kinds: HashMap<CellAt, ValueKind>,
    /// The number formats of cells and of results that were computed, apart from the general one.
    pub(super) formats: HashMap<CellAt, Arc<str>>,
    /// Each format once.
    pub(super) known_formats: HashSet<Arc<str>>,
    /// The code of the currency that `¥` is in the language of the document.
    pub(super) yen: Option<&'static str>,
    /// The totals below tables, and what became of those that were computed.
    pub(super) totals: HashMap<CellAt, TotalCell>,
    pub(super) column_totals: HashMap<CellAt, ColumnTotal>,
    /// Cells that are being computed; meeting one again is a circular reference.
    open: HashSet<CellAt>,
    /// The number of cells that the current formula has referenced.
    looks: usize,
    /// The size of all texts that formulas have computed.
    text_bytes: usize,
    /// Formulas whose references the first pass has followed. Each is followed once.
    prepared: HashSet<CellAt>,
    /// The end of each table.
    ends: HashMap<u32, TableEnd>,
    /// Tables that share their sheet with others, so that their columns are not those of the sheet.
    pub shared: HashSet<u32>,
    /// The table of the formula that is being read, set or computed. While a reference to another sheet
    /// is computed, it is the table of that sheet.
    pub here: u32,
    /// The first table of each sheet, by the sheet's name in lower case.
    pub sheets: HashMap<String, u32>,
}

/// Table, row, column.
pub(super) type CellAt = (u32, u32, u16);

/// The last row and the last column of a table.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct TableEnd {
    row: u32,
    column: u16,
}

/// A cell range of a table.
pub(super) struct RangeArea {
    pub table: u32,
    pub rows: RangeInclusive<u32>,
    pub columns: RangeInclusive<u16>,
}

impl RangeArea {
    pub fn of(table: u32, from: Cell, to: Cell) -> Self {
        let (rows, columns) = corners(from, to);
        Self { table, rows, columns }
    }

    pub fn size(&self) -> usize {
        self.rows.clone().count() * self.columns.clone().count()
    }

    /// The part up to the end of its table. All cells outside of a table are blank.
    pub fn within(self, end: TableEnd) -> Self {
        let Self { table, rows, columns } = self;
        let rows = *rows.start()..=end.row.min(*rows.end());
        let columns = *columns.start()..=end.column.min(*columns.end());
        Self { table, rows, columns }
    }

    /// Row by row.
    pub fn cells(self) -> impl Iterator<Item = CellAt> {
        let Self { table, rows, columns } = self;
        rows.flat_map(move |row| columns.clone().map(move |column| (table, row, column)))
    }
}

impl Grid {
    pub fn with_yen(yen: Option<&'static str>) -> Self {
        Self { yen, ..Self::default() }
    }

    pub fn set(&mut self, row: u32, column: u16, value: Value) {
        self.see(row, column);
        self.values.insert((self.here, row, column), value);
    }

    /// Sets a date or a time, which has this number format.
    pub fn set_moment(&mut self, row: u32, column: u16, serial: f64, format: &str) {
        self.set(row, column, Value::Number(serial));
        self.kinds.insert((self.here, row, column), ValueKind::of_format(format));
    }

    fn see(&mut self, row: u32, column: u16) {
        let end = self.ends.entry(self.here).or_default();
        *end = TableEnd { row: row.max(end.row), column: column.max(end.column) };
    }

    pub fn set_formula(&mut self, row: u32, column: u16, formula: Expr) {
        self.see(row, column);
        self.formulas.insert((self.here, row, column), formula);
    }

    pub(super) fn end(&self, table: u32) -> TableEnd {
        self.ends.get(&table).copied().unwrap_or_default()
    }

    /// The cells of whole columns, if they are those of one table, with one row below it.
    fn columns(&self, from: Cell, to: Cell) -> Option<RangeArea> {
        let last = self.end(self.here).row;
        let (_, columns) = corners(from, to);
        let area = RangeArea { table: self.here, rows: 0..=last + 1, columns };
        (!self.shared.contains(&self.here)).then_some(area)
    }

    /// The number of columns of a range; `None` for an expression with a single value.
    pub(super) fn width(expr: &Expr) -> Option<usize> {
        match expr {
            Expr::Range(from, to) | Expr::Columns(from, to) => {
                let (_, columns) = corners(*from, *to);
                Some(columns.count())
            }
            Expr::Elsewhere(_, inner) => Self::width(inner),
            _ => None,
        }
    }

    /// The value of a cell; `None` for a circular reference or if a limit is exceeded.
    pub fn compute(&mut self, row: u32, column: u16) -> Option<Value> {
        self.prepare((self.here, row, column));
        self.looks = 0;
        self.cell(row, column).ok()
    }

    /// The first pass: computes the formulas to which a cell refers, and those to which they refer,
    /// from the last to the first. A circular reference leads back to a cell that is prepared, where
    /// this ends; `cell` detects it.
    fn prepare(&mut self, at: CellAt) {
        let mut waiting = Vec::new();
        let mut next = Some(at);
        loop {
            if let Some(at) = next.take() {
                let wanted = self.formulas.get(&at).filter(|_| self.prepared.insert(at));
                let below = wanted.map(|formula| self.below(at.0, formula)).unwrap_or_default();
                waiting.push((at, below.into_iter().flat_map(RangeArea::cells)));
            }
            let Some((at, below)) = waiting.last_mut() else { return };
            next = below.find(|at| self.formulas.contains_key(at) && !self.prepared.contains(at));
            if next.is_none() {
                let (table, row, column) = *at;
                let here = std::mem::replace(&mut self.here, table);
                self.looks = 0;
                // A failure matters only if the formula of the second pass needs this cell.
                let _ = self.cell(row, column);
                self.here = here;
                waiting.pop();
            }
        }
    }

    /// The ranges that a formula of that table references, up to the ends of their tables, without
    /// those over the limit.
    fn below(&self, table: u32, formula: &Expr) -> Vec<RangeArea> {
        let mut areas: Vec<RangeArea> = Vec::new();
        let mut open = vec![(table, formula)];
        while let Some((table, formula)) = open.pop() {
            match formula {
                Expr::Cell(cell) => areas.push(RangeArea::of(table, *cell, *cell)),
                Expr::Range(from, to) => areas.push(RangeArea::of(table, *from, *to)),
                Expr::Columns(from, to) => {
                    let (_, columns) = corners(*from, *to);
                    areas.push(RangeArea { table, rows: 0..=self.end(table).row, columns });
                }
                Expr::Elsewhere(sheet, inner) => {
                    let table = self.sheets.get(&sheet.to_lowercase());
                    open.extend(table.map(|table| (*table, &**inner)));
                }
                Expr::Negate(inner) | Expr::Percent(inner) | Expr::Group(inner) => {
                    open.push((table, inner));
                }
                Expr::Binary(left, _, right) => open.extend([(table, &**left), (table, &**right)]),
                Expr::Call(_, arguments) => open.extend(arguments.iter().map(|a| (table, a))),
                Expr::Number(_) | Expr::Text(_) | Expr::Bool(_) | Expr::Missing => {}
            }
        }
        let within = |area: RangeArea| {
            let end = self.end(area.table);
            area.within(end)
        };
        areas.into_iter().filter(|area| area.size() <= LOOKS).map(within).collect()
    }

    /// The second pass: the value of a cell, which is stored if there is one.
    pub(super) fn cell(&mut self, row: u32, column: u16) -> Result<Value, Stop> {
        let at = (self.here, row, column);
        self.looks += 1;
        if self.looks > LOOKS || self.open.len() > DEPTH {
            return Err(Stop);
        }
        if let Some(value) = self.values.get(&at) {
            return Ok(value.clone());
        }
        let Some(formula) = self.formulas.get(&at).cloned() else { return Ok(Value::Blank) };
        if !self.open.insert(at) {
            return Err(Stop);
        }
        let total = self.totals.get(&at).copied();
        let value = match total {
            Some(total) => self.total(at, total),
            None => self.value(&formula),
        };
        self.open.remove(&at);
        let value = match value? {
            Value::Blank if total.is_none() => Value::Number(0.0),
            value => value,
        };
        if let Value::Text(text) = &value {
            let bytes = self.text_bytes.saturating_add(text.len());
            self.text_bytes = if bytes <= RESULT_BYTES { bytes } else { return Err(Stop) };
        }
        self.values.insert(at, value.clone());
        if let Value::Number(result) = value {
            self.derive_format(at, &formula, result);
        }
        Ok(value)
    }

    /// The value of an expression in a single cell.
    pub(super) fn value(&mut self, expr: &Expr) -> Result<Value, Stop> {
        Ok(match expr {
            Expr::Number(number) => Value::Number(*number),
            Expr::Text(text) => Value::Text(text.clone()),
            Expr::Bool(truth) => Value::Bool(*truth),
            Expr::Missing => Value::Blank,
            Expr::Cell(cell) => self.cell(cell.row, cell.column)?,
            Expr::Range(..) | Expr::Columns(..) => Value::Error("#VALUE!"),
            Expr::Elsewhere(sheet, inner) => {
                self.elsewhere(sheet, |grid| grid.value(inner))?.unwrap_or(Value::Error("#REF!"))
            }
            Expr::Group(inner) => self.value(inner)?,
            Expr::Negate(inner) => map(&self.value(inner)?, |n| -n),
            Expr::Percent(inner) => map(&self.value(inner)?, |n| n / 100.0),
            Expr::Binary(left, op, right) => {
                let (left, right) = (self.value(left)?, self.value(right)?);
                binary(&left, *op, &right)
            }
            Expr::Call(name, arguments) => self.call(name, arguments)?,
        })
    }

    /// All values of a range, or the single value of another expression.
    pub(super) fn values(&mut self, expr: &Expr) -> Result<Vec<Value>, Stop> {
        self.values_of(expr, |_, _| true)
    }

    /// The same without the cells whose formula is a subtotal. One that is being computed is a
    /// circular reference nevertheless.
    pub(super) fn values_but_subtotals(&mut self, expr: &Expr) -> Result<Vec<Value>, Stop> {
        self.values_of(expr, |grid, at| {
            let is_subtotal = grid.formulas.get(at).is_some_and(Expr::has_subtotal);
            !is_subtotal || grid.open.contains(at)
        })
    }

    fn values_of(
        &mut self,
        expr: &Expr,
        counts: fn(&Self, &CellAt) -> bool,
    ) -> Result<Vec<Value>, Stop> {
        if let Expr::Elsewhere(sheet, inner) = expr {
            let values = self.elsewhere(sheet, |grid| grid.values_of(inner, counts))?;
            return Ok(values.unwrap_or(vec![Value::Error("#REF!")]));
        }
        if let Expr::Call("INDEX", arguments) = expr
            && let Some(range) = lookup::index_range(self, arguments)?
        {
            return self.values_of(&range, counts);
        }
        let area = match expr {
            Expr::Range(from, to) => RangeArea::of(self.here, *from, *to),
            Expr::Columns(from, to) => self.columns(*from, *to).ok_or(Stop)?,
            Expr::Cell(cell) => RangeArea::of(self.here, *cell, *cell),
            _ => return Ok(vec![self.value(expr)?]),
        };
        if self.looks.saturating_add(area.size()) > LOOKS {
            return Err(Stop);
        }
        let end = self.end(area.table);
        let mut values = Vec::with_capacity(area.size());
        for at in area.cells() {
            if at.1 > end.row || at.2 > end.column {
                self.looks += 1;
                values.push(Value::Blank);
            } else if counts(self, &at) {
                values.push(self.cell(at.1, at.2)?);
            }
        }
        Ok(values)
    }
}

impl Grid {
    /// Reads another sheet's table; `None` if there is no such sheet.
    fn elsewhere<T>(
        &mut self,
        sheet: &str,
        look: impl FnOnce(&mut Self) -> Result<T, Stop>,
    ) -> Result<Option<T>, Stop> {
        let Some(&table) = self.sheets.get(&sheet.to_lowercase()) else { return Ok(None) };
        let here = std::mem::replace(&mut self.here, table);
        let seen = look(self);
        self.here = here;
        seen.map(Some)
    }

    /// The first unknown sheet that a formula references.
    pub fn unknown_sheet<'e>(&self, expr: &'e Expr) -> Option<&'e str> {
        match expr {
            Expr::Elsewhere(sheet, _) => {
                (!self.sheets.contains_key(&sheet.to_lowercase())).then_some(sheet)
            }
            Expr::Negate(inner) | Expr::Percent(inner) | Expr::Group(inner) => {
                self.unknown_sheet(inner)
            }
            Expr::Binary(left, _, right) => {
                self.unknown_sheet(left).or_else(|| self.unknown_sheet(right))
            }
            Expr::Call(_, arguments) => arguments.iter().find_map(|a| self.unknown_sheet(a)),
            _ => None,
        }
    }
}

/// The formula has no value here: a circular reference, the time of day, or an exceeded limit.
#[derive(Debug)]
pub struct Stop;

/// The rows and columns of a range, regardless of the order in which it is written.
pub fn corners(from: Cell, to: Cell) -> (RangeInclusive<u32>, RangeInclusive<u16>) {
    let rows = from.row.min(to.row)..=from.row.max(to.row);
    (rows, from.column.min(to.column)..=from.column.max(to.column))
}

#[cfg(test)]
mod tests {
    use super::super::parse::parse;
    use super::*;

    #[test]
    fn cells_outside_of_a_table_are_blank_and_are_not_visited() {
        let mut grid = Grid::default();
        grid.set(1, 1, Value::Number(2.0));
        let formula = parse("=IF(TRUE,1,MAX(A1:A1048576,D1:F9))").unwrap();
        let visited = grid.below(0, &formula).into_iter().flat_map(RangeArea::cells);
        assert_eq!(visited.collect::<Vec<_>>(), [(0, 0, 0), (0, 1, 0)]);
        grid.set_formula(9, 9, parse("=COUNTBLANK(B1:B1000)+SUM(B1:XA9)").unwrap());
        assert_eq!(grid.compute(9, 9), Some(Value::Number(1_001.0)));
    }
}
