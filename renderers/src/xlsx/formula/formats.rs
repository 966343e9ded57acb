//! The number formats of cells. Those of results are derived from the cells that the formula
//! references, which were computed before it.

use std::sync::Arc;

use super::evaluate::{CellAt, Grid, LOOKS, RangeArea, corners};
use super::expr::{Expr, Op};
use super::kinds::{cases, found_in};
use super::value::Value;
use super::value_kind::ValueKind;
use crate::xlsx::number_format::Counted;

/// Functions whose results are numbers without a unit.
const COUNTS: [&str; 18] = [
    "COUNT",
    "COUNTA",
    "COUNTBLANK",
    "COUNTIF",
    "COUNTIFS",
    "DATEDIF",
    "DAY",
    "DAYS",
    "LEN",
    "MATCH",
    "MONTH",
    "NETWORKDAYS",
    "PI",
    "RANK",
    "RANK.EQ",
    "SIGN",
    "WEEKDAY",
    "YEAR",
];

impl Grid {
    /// Sets a number that has this format.
    pub fn set_number(&mut self, row: u32, column: u16, value: f64, format: &str) {
        self.set(row, column, Value::Number(value));
        self.set_format((self.here, row, column), format);
    }

    /// The number format of a cell of the current table; `None` for the general one. That of a
    /// formula is known when its value is.
    pub fn format(&self, row: u32, column: u16) -> Option<String> {
        self.formats.get(&(self.here, row, column)).map(|format| (**format).to_owned())
    }

    fn set_format(&mut self, at: CellAt, format: &str) {
        let known = self.known_formats.get(format).cloned();
        let format = known.unwrap_or_else(|| {
            let format: Arc<str> = format.into();
            self.known_formats.insert(Arc::clone(&format));
            format
        });
        self.formats.insert(at, format);
    }

    /// Derives the number format of a result.
    pub(super) fn derive_format(&mut self, at: CellAt, formula: &Expr, result: f64) {
        let kind = self.kind_at(at);
        let total = self.column_totals.get(&at).and_then(|total| total.value.clone());
        if let Some((_, format)) = total {
            return self.set_format(at, &format);
        }
        let format = match formula {
            _ if !kind.is_plain() => kind.format(Some(result)),
            Expr::Call("IRR" | "RATE", _) => Some("0.00%".to_owned()),
            Expr::Call("PMT" | "PV" | "FV" | "NPV", _) => Some("#,##0.00".to_owned()),
            _ => {
                let mut search = FormatSearch { grid: self, looks: 0 };
                search.counted(at.0, formula).and_then(|counted| counted.format(result))
            }
        };
        if let Some(format) = format {
            self.set_format(at, &format);
        }
    }
}

/// Collects the formats of the numbers that a formula uses.
struct FormatSearch<'g> {
    grid: &'g Grid,
    /// The number of cells that were visited.
    looks: usize,
}

impl FormatSearch<'_> {
    /// `None` if the result may be of another type than the numbers.
    fn counted(&mut self, table: u32, formula: &Expr) -> Option<Counted> {
        let mut counted = Counted::with_yen(self.grid.yen);
        self.collect(table, formula, &mut counted)?;
        Some(counted)
    }

    fn collect(&mut self, table: u32, formula: &Expr, counted: &mut Counted) -> Option<()> {
        match formula {
            Expr::Number(number) => counted.see_literal(*number),
            Expr::Cell(cell) => self.cells(RangeArea::of(table, *cell, *cell), counted)?,
            Expr::Range(from, to) => self.cells(RangeArea::of(table, *from, *to), counted)?,
            Expr::Columns(from, to) => {
                let (_, columns) = corners(*from, *to);
                self.cells(RangeArea { table, rows: 0..=u32::MAX, columns }, counted)?;
            }
            Expr::Elsewhere(sheet, inner) => {
                let table = *self.grid.sheets.get(&sheet.to_lowercase())?;
                self.collect(table, inner, counted)?;
            }
            // `10%` says nothing about the decimals of what it multiplies.
            Expr::Percent(inner) if matches!(**inner, Expr::Number(_)) => {}
            Expr::Negate(inner) | Expr::Percent(inner) | Expr::Group(inner) => {
                self.collect(table, inner, counted)?;
            }
            Expr::Binary(left, Op::Add | Op::Subtract | Op::Multiply, right) => {
                self.collect(table, left, counted)?;
                self.collect(table, right, counted)?;
            }
            Expr::Binary(left, Op::Divide, right) => {
                let dividend = self.counted(table, left)?;
                counted.see_quotient(dividend, &self.counted(table, right)?);
            }
            Expr::Binary(base, Op::Power, _) => {
                counted.see_power(&self.counted(table, base)?)?;
            }
            Expr::Call(name, arguments) => self.call(table, name, arguments, counted)?,
            Expr::Text(_) | Expr::Bool(_) | Expr::Missing | Expr::Binary(..) => {}
        }
        Some(())
    }

    /// Cells that are not numbers have no influence.
    fn cells(&mut self, area: RangeArea, counted: &mut Counted) -> Option<()> {
        let end = self.grid.end(area.table);
        let area = area.within(end);
        self.looks += area.size();
        if self.looks > LOOKS {
            return None;
        }
        for at in area.cells() {
            let Some(Value::Number(_)) = self.grid.values.get(&at) else { continue };
            match (self.grid.kinds.get(&at), self.grid.formats.get(&at)) {
                (Some(ValueKind::Neutral), None) => {}
                (None | Some(ValueKind::Plain | ValueKind::Neutral), Some(format)) => {
                    counted.see(format);
                }
                _ => counted.see_general(),
            }
        }
        Some(())
    }

    fn call(
        &mut self,
        table: u32,
        name: &str,
        arguments: &[Expr],
        counted: &mut Counted,
    ) -> Option<()> {
        let numbers = match name {
            "SUM" | "AVERAGE" | "MIN" | "MAX" | "MEDIAN" | "MODE" | "MODE.SNGL" | "PRODUCT"
            | "SUMPRODUCT" | "STDEV" | "STDEV.S" | "STDEV.P" | "STDEVP" => arguments,
            "ABS" | "ROUND" | "ROUNDUP" | "ROUNDDOWN" | "CEILING" | "FLOOR" | "LARGE" | "SMALL"
            | "PERCENTILE" | "PERCENTILE.INC" | "QUARTILE" | "QUARTILE.INC" | "SUMIFS"
            | "AVERAGEIFS" | "MAXIFS" | "MINIFS" => arguments.get(..1)?,
            "SUMIF" | "AVERAGEIF" => arguments.get(2..3).or(arguments.get(..1))?,
            "SUBTOTAL" => match arguments {
                [Expr::Number(code), ranges @ ..]
                    if matches!(code % 100.0, 1.0 | 4.0 | 5.0 | 9.0) =>
                {
                    ranges
                }
                _ => return None,
            },
            "IF" | "CHOOSE" => return self.one_of(table, arguments.iter().skip(1), counted),
            "IFERROR" | "IFNA" => return self.one_of(table, arguments.iter(), counted),
            "IFS" => {
                let results = arguments.iter().skip(1).step_by(2);
                return self.one_of(table, results, counted);
            }
            "SWITCH" => return self.one_of(table, cases(arguments), counted),
            "INDEX" | "VLOOKUP" | "HLOOKUP" => {
                counted.merge(self.found(table, &found_in(name, arguments))?);
                return Some(());
            }
            "XLOOKUP" => {
                self.found(table, arguments.get(2)?)?;
                return self.one_of(table, arguments.iter().skip(2).take(2), counted);
            }
            name if COUNTS.contains(&name) => {
                counted.see_general();
                return Some(());
            }
            _ => return None,
        };
        numbers.iter().try_for_each(|number| self.collect(table, number, counted))
    }

    /// The cells among which a function finds its result; `None` if they are of different types.
    fn found(&mut self, table: u32, range: &Expr) -> Option<Counted> {
        let found = self.counted(table, range)?;
        found.is_of_one_type().then_some(found)
    }

    /// One of several results; `None` if they are of different types.
    fn one_of<'e>(
        &mut self,
        table: u32,
        results: impl Iterator<Item = &'e Expr>,
        counted: &mut Counted,
    ) -> Option<()> {
        let mut found = None;
        for result in results {
            let result = self.counted(table, result)?;
            let of_result = result.number_type();
            if found.is_some() && of_result.is_some() && found != of_result {
                return None;
            }
            found = found.or(of_result);
            counted.merge(result);
        }
        Some(())
    }
}
