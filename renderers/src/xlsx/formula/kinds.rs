//! Which formulas give dates, times or durations, derived from the cells that they reference.

use std::ops::RangeInclusive;

use super::evaluate::{CellAt, Grid, RangeArea, corners};
use super::expr::{Cell, Expr, Op};
use super::value::Value;
use super::value_kind::{TIME_OF_DATE, ValueKind};

/// The maximum nesting of formulas and their parts on the way to a date.
const DEPTH: usize = 256;
/// The maximum number of cells that are visited for one formula, blank ones among them.
const VISITS: usize = 2_000;
/// The number of cells of a range that decide what the range has.
const SAMPLED: usize = 32;

const DATE: &str = "yyyy\\-mm\\-dd";

impl Grid {
    /// What the result of a formula of the current table counts.
    pub fn kind(&mut self, formula: &Expr) -> ValueKind {
        let table = self.here;
        let mut search = KindSearch { grid: self, visits: VISITS, depth: 0, is_cut: false };
        search.of(table, formula)
    }

    /// What the value of a cell counts.
    pub(super) fn kind_at(&mut self, at: CellAt) -> ValueKind {
        let mut search = KindSearch { grid: self, visits: VISITS, depth: 0, is_cut: false };
        search.cell(at)
    }
}

/// Follows the references of a formula.
struct KindSearch<'g> {
    grid: &'g mut Grid,
    visits: usize,
    depth: usize,
    /// Whether a limit was reached, so that what was found is not stored.
    is_cut: bool,
}

impl KindSearch<'_> {
    fn of(&mut self, table: u32, expr: &Expr) -> ValueKind {
        if self.depth == DEPTH {
            self.is_cut = true;
            return ValueKind::Plain;
        }
        self.depth += 1;
        let kind = self.of_parts(table, expr);
        self.depth -= 1;
        kind
    }

    fn of_parts(&mut self, table: u32, expr: &Expr) -> ValueKind {
        match expr {
            Expr::Number(0.0) | Expr::Text(_) | Expr::Bool(_) | Expr::Missing => ValueKind::Neutral,
            Expr::Number(_) | Expr::Percent(_) => ValueKind::Plain,
            Expr::Cell(cell) => self.cell((table, cell.row, cell.column)),
            Expr::Range(from, to) => {
                let (rows, columns) = corners(*from, *to);
                self.range(table, rows, columns)
            }
            Expr::Columns(from, to) => {
                let (_, columns) = corners(*from, *to);
                self.range(table, 1..=u32::MAX, columns)
            }
            Expr::Elsewhere(sheet, inner) => match self.grid.sheets.get(&sheet.to_lowercase()) {
                Some(table) => self.of(*table, inner),
                None => ValueKind::Unknown,
            },
            Expr::Group(inner) => self.of(table, inner),
            Expr::Negate(inner) => ValueKind::Plain.minus(self.of(table, inner)),
            Expr::Binary(left, op, right) => self.binary(table, left, *op, right),
            Expr::Call(name, arguments) => self.call(table, name, arguments),
        }
    }

    fn cell(&mut self, at: CellAt) -> ValueKind {
        if self.visits == 0 {
            self.is_cut = true;
            return ValueKind::Plain;
        }
        self.visits -= 1;
        // Also a total that its column does not have.
        if self.grid.values.get(&at) == Some(&Value::Blank) {
            return ValueKind::Neutral;
        }
        if let Some(kind) = self.grid.kinds.get(&at) {
            return kind.clone();
        }
        let Some(formula) = self.grid.formulas.get(&at).cloned() else {
            return match self.grid.values.get(&at) {
                Some(Value::Number(_)) => ValueKind::Plain,
                _ => ValueKind::Neutral,
            };
        };
        let kind = self.of(at.0, &formula);
        if !self.is_cut {
            self.grid.kinds.insert(at, kind.clone());
        }
        kind
    }

    fn range(
        &mut self,
        table: u32,
        rows: RangeInclusive<u32>,
        columns: RangeInclusive<u16>,
    ) -> ValueKind {
        let area = RangeArea { table, rows, columns }.within(self.grid.end(table));
        let mut found = ValueKind::Neutral;
        let mut sampled = 0;
        for at in area.cells() {
            let kind = self.cell(at);
            sampled += usize::from(kind != ValueKind::Neutral);
            found = found.either(kind);
            if sampled == SAMPLED || found == ValueKind::Unknown || self.is_cut {
                break;
            }
        }
        found
    }

    fn binary(&mut self, table: u32, left: &Expr, op: Op, right: &Expr) -> ValueKind {
        let (one, other) = (self.of(table, left), self.of(table, right));
        match op {
            Op::Add => one.plus(other),
            Op::Subtract => one.minus(other),
            _ if one.is_plain() && other.is_plain() => ValueKind::Plain,
            Op::Multiply if is_factor(right) && other.is_plain() => one.summed(),
            Op::Multiply if is_factor(left) && one.is_plain() => other.summed(),
            Op::Divide if is_divisor(right) && other.is_plain() => one.summed(),
            Op::Multiply | Op::Divide => one.scaled(&other),
            Op::Power => ValueKind::Unknown,
            _ => ValueKind::Plain,
        }
    }

    /// The kind of one of several values.
    fn any<'e>(&mut self, table: u32, values: impl Iterator<Item = &'e Expr>) -> ValueKind {
        let mut found = ValueKind::Neutral;
        for value in values {
            found = found.either(self.of(table, value));
        }
        found
    }

    fn call(&mut self, table: u32, name: &str, arguments: &[Expr]) -> ValueKind {
        let last = arguments.get(2).or(arguments.first());
        match name {
            "DATE" | "TODAY" => ValueKind::Day(DATE.to_owned()),
            "NOW" => ValueKind::Day(format!("{DATE}{TIME_OF_DATE}")),
            "EDATE" | "EOMONTH" | "WORKDAY" => match self.any(table, arguments.iter().take(1)) {
                day @ ValueKind::Day(_) => day.day(),
                _ => ValueKind::Day(DATE.to_owned()),
            },
            "INT" => match self.any(table, arguments.iter()) {
                day @ ValueKind::Day(_) => day.day(),
                _ => ValueKind::Plain,
            },
            "ABS" | "MOD" | "SUMIFS" => self.any(table, arguments.iter().take(1)).summed(),
            "ROUND" | "ROUNDUP" | "ROUNDDOWN" | "CEILING" | "FLOOR" | "LARGE" | "SMALL"
            | "PERCENTILE" | "PERCENTILE.INC" | "QUARTILE" | "QUARTILE.INC" | "MAXIFS"
            | "MINIFS" | "AVERAGEIFS" => self.any(table, arguments.iter().take(1)),
            "MAX" | "MIN" | "AVERAGE" | "MEDIAN" | "MODE" | "MODE.SNGL" | "IFERROR" | "IFNA" => {
                self.any(table, arguments.iter())
            }
            "SUM" => self.any(table, arguments.iter()).summed(),
            "SUMIF" => self.any(table, last.into_iter()).summed(),
            "AVERAGEIF" => self.any(table, last.into_iter()),
            "SUBTOTAL" => self.subtotal(table, arguments),
            "IF" | "CHOOSE" => self.any(table, arguments.iter().skip(1)),
            "IFS" => self.any(table, arguments.iter().skip(1).step_by(2)),
            "SWITCH" => self.any(table, cases(arguments)),
            "INDEX" | "VLOOKUP" | "HLOOKUP" => self.of(table, &found_in(name, arguments)),
            "XLOOKUP" => self.any(table, arguments.iter().skip(2).take(2)),
            _ => ValueKind::Plain,
        }
    }

    fn subtotal(&mut self, table: u32, arguments: &[Expr]) -> ValueKind {
        let Some(Expr::Number(code)) = arguments.first() else { return ValueKind::Unknown };
        let kind = self.any(table, arguments.iter().skip(1));
        match code % 100.0 {
            9.0 => kind.summed(),
            1.0 | 4.0 | 5.0 => kind,
            _ => ValueKind::Plain,
        }
    }
}

/// The possible results of `SWITCH`.
pub fn cases(arguments: &[Expr]) -> impl Iterator<Item = &Expr> {
    let otherwise = arguments.last().filter(|_| arguments.len().is_multiple_of(2));
    arguments.iter().skip(2).step_by(2).chain(otherwise)
}

/// The column or row in which a function finds its result; all of its range if that is not known.
pub fn found_in(name: &str, arguments: &[Expr]) -> Expr {
    let given = &arguments[usize::from(name != "INDEX")];
    let range = match given {
        Expr::Elsewhere(_, range) => &**range,
        range => range,
    };
    let (rows, columns, first) = match range {
        Expr::Range(from, to) => {
            let (rows, columns) = corners(*from, *to);
            (rows, columns, *from)
        }
        Expr::Columns(from, to) => (0..=u32::MAX, corners(*from, *to).1, *from),
        _ => return given.clone(),
    };
    let number = |at: usize| match arguments.get(at) {
        Some(Expr::Number(number)) if (1.0..1e6).contains(number) => Some(*number as u32 - 1),
        _ => None,
    };
    let is_single_row = rows.start() == rows.end();
    let (rows, columns) = match (name, number(2), number(1)) {
        ("HLOOKUP", Some(row), _) => {
            let row = rows.start().saturating_add(row);
            (row..=row, columns)
        }
        ("INDEX", None, Some(column)) if is_single_row && arguments.len() == 2 => {
            (rows, nth(&columns, column))
        }
        ("INDEX" | "VLOOKUP", Some(column), _) => (rows, nth(&columns, column)),
        _ => return given.clone(),
    };
    let cell = |row: &u32, column: &u16| Cell { row: *row, column: *column, ..first };
    let (from, to) = (cell(rows.start(), columns.start()), cell(rows.end(), columns.end()));
    let found =
        if *rows.end() == u32::MAX { Expr::Columns(from, to) } else { Expr::Range(from, to) };
    match given {
        Expr::Elsewhere(sheet, _) => Expr::Elsewhere(sheet.clone(), Box::new(found)),
        _ => found,
    }
}

fn nth(columns: &RangeInclusive<u16>, at: u32) -> RangeInclusive<u16> {
    let column = columns.start().saturating_add(u16::try_from(at).unwrap_or(u16::MAX));
    column..=column
}

/// Whether a duration times this number is a duration: 24, 60 and the like convert it to hours or
/// minutes.
fn is_factor(expr: &Expr) -> bool {
    matches!(expr, Expr::Number(number) if number % 12.0 != 0.0)
}

/// Whether a duration divided by this is a duration: `1/24` converts it to hours.
fn is_divisor(expr: &Expr) -> bool {
    match expr {
        Expr::Number(number) => *number >= 1.0,
        Expr::Cell(_) | Expr::Call(..) => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Tops, parse::parse};
    use super::*;

    #[test]
    fn lookups_find_their_results_in_a_row_or_column_of_their_range() {
        for (formula, wanted) in [
            ("=HLOOKUP(1,B:C,2)", "B2:C2"),
            ("=HLOOKUP(1,Other!B:C,1)", "'Other'!B1:C1"),
            ("=HLOOKUP(1,B3:C9,2)", "B4:C4"),
            ("=VLOOKUP(1,B:C,2)", "C:C"),
            ("=INDEX(B3:C9,1,2)", "C3:C9"),
            ("=INDEX(B3:C3,2)", "C3:C3"),
        ] {
            let Expr::Call(name, arguments) = parse(formula).unwrap() else { panic!("{formula}") };
            assert_eq!(found_in(name, &arguments).write(&Tops::default()), wanted, "{formula}");
        }
    }

    #[test]
    fn long_formulas_in_long_chains_are_not_followed_to_their_end() {
        let mut grid = Grid::default();
        for row in 0..500 {
            let formula = format!("={}A{}", "1+".repeat(200), row + 2);
            grid.set_formula(row, 0, parse(&formula).unwrap());
        }
        grid.set_moment(500, 0, 46_086.0, DATE);
        assert!(grid.kind(&parse("=A1").unwrap()).is_plain());
        assert_eq!(grid.kind(&parse("=A500").unwrap()), ValueKind::Day(DATE.to_owned()));
    }

    #[test]
    fn blank_cells_count_as_visits_and_those_beyond_the_table_are_not_visited() {
        let mut grid = Grid::default();
        grid.set_moment(1, 1, 46_086.0, DATE);
        let mut left = |from_visits: usize| {
            let formula = parse("=MAX(B2:XFD1048576)").unwrap();
            let mut search =
                KindSearch { grid: &mut grid, visits: from_visits, depth: 0, is_cut: false };
            (search.of(0, &formula), search.visits, search.is_cut)
        };
        assert_eq!(left(VISITS), (ValueKind::Day(DATE.to_owned()), VISITS - 1, false));
        assert_eq!(left(0), (ValueKind::Plain, 0, true));
        grid.set(VISITS as u32 * 2, 100, Value::Number(1.0));
        let formula = parse("=MAX(C2:XFD1048576)").unwrap();
        let mut search = KindSearch { grid: &mut grid, visits: VISITS, depth: 0, is_cut: false };
        search.of(0, &formula);
        assert_eq!((search.visits, search.is_cut), (0, true));
    }
}
