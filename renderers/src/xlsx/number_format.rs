//! The number format of a formula's result, derived from the cells it references.

use std::ops::RangeInclusive;

use super::cells::{self, Typed};
use super::formula::{Expr, Grid, Op, Value, corners};
use super::pages::{Meaning, Read};

/// The maximum number of decimals of a result that has more than its inputs; money has two.
const DECIMALS: usize = 4;
const MONEY_DECIMALS: usize = 2;

/// The number format of a result; `None` if it may be of another type than the cells.
pub fn of(formula: &Expr, read: &Read, result: Option<&Value>, grid: &mut Grid) -> Option<String> {
    let Some(Value::Number(result)) = result else { return None };
    let kind = grid.kind(formula);
    if !kind.is_plain() {
        return kind.format(Some(*result));
    }
    match formula {
        Expr::Call("IRR" | "RATE", _) => return Some("0.00%".to_owned()),
        Expr::Call("PMT" | "PV" | "FV" | "NPV", _) => return Some("#,##0.00".to_owned()),
        _ => {}
    }
    let mut counted = Counted::default();
    collect(formula, read, &mut counted)?;
    counted.format(*result)
}

/// The formats of the referenced numbers: for each type the one with the most decimals.
#[derive(Default)]
pub struct Counted {
    money: Option<String>,
    plain: Option<String>,
    share: Option<String>,
    /// The currencies of the amounts.
    pub currencies: Vec<&'static str>,
    /// The decimals of numbers written in the formula itself.
    written: usize,
    is_scientific: bool,
}

impl Counted {
    pub fn see(&mut self, format: &str) {
        let kept = match format {
            format if format.contains("E+") => return self.is_scientific = true,
            format if format.contains('%') => &mut self.share,
            format if format.contains('"') => &mut self.money,
            _ => &mut self.plain,
        };
        if let Some(currency) = cells::currency_of(format)
            && !self.currencies.contains(&currency)
        {
            self.currencies.push(currency);
        }
        if kept.as_deref().is_none_or(|kept| decimals(kept) < decimals(format)) {
            *kept = Some(format.to_owned());
        }
    }

    /// Whether some of the numbers are percentages and others are not.
    pub fn has_some_percentages(&self) -> bool {
        self.share.is_some() && (self.plain.is_some() || self.money.is_some())
    }

    /// Money takes precedence, unless it is in several currencies; a percentage needs only
    /// percentages.
    pub fn format(self, result: f64) -> Option<String> {
        if self.is_scientific || self.currencies.len() > 1 {
            return None;
        }
        Some(match (self.money, self.plain, self.share) {
            (Some(money), ..) if needed(result) <= decimals(&money) => money,
            (Some(money), ..) => raised(&money, MONEY_DECIMALS),
            (None, Some(plain), _) => raised(&plain, self.written.max(needed(result))),
            (None, None, share) => raised(&share?, needed(result * 100.0)),
        })
    }
}

fn collect(formula: &Expr, read: &Read, counted: &mut Counted) -> Option<()> {
    match formula {
        Expr::Number(number) => {
            counted.written = counted.written.max(needed(*number));
            Some(())
        }
        Expr::Cell(cell) => {
            let row = (cell.row as usize).checked_sub(1)?;
            read.get(row)?.get(usize::from(cell.column))?;
            see(read, row..=row, cell.column..=cell.column, counted)
        }
        Expr::Range(from, to) => {
            let (rows, columns) = corners(*from, *to);
            let first = (*rows.start() as usize).checked_sub(1)?;
            see(read, first..=*rows.end() as usize - 1, columns, counted)
        }
        Expr::Negate(inner) | Expr::Group(inner) => collect(inner, read, counted),
        Expr::Binary(left, Op::Add | Op::Subtract | Op::Multiply, right) => {
            collect(left, read, counted)?;
            collect(right, read, counted)
        }
        Expr::Call(
            "SUM" | "AVERAGE" | "MIN" | "MAX" | "MEDIAN" | "ROUND" | "STDEV" | "STDEV.S"
            | "STDEV.P",
            arguments,
        ) => arguments.iter().try_for_each(|argument| collect(argument, read, counted)),
        _ => None,
    }
}

/// Collects the numbers of a range; `None` if it has anything other than numbers and text.
fn see(
    read: &Read,
    rows: RangeInclusive<usize>,
    columns: RangeInclusive<u16>,
    counted: &mut Counted,
) -> Option<()> {
    let (first, width) = (usize::from(*columns.start()), columns.count());
    let lines = read.iter().take(rows.end() + 1).skip(*rows.start());
    for (_, meaning) in lines.flat_map(|line| line.iter().skip(first).take(width)) {
        match meaning {
            Some(Meaning::Typed(Typed::Number { format, .. })) => counted.see(format),
            None => {}
            _ => return None,
        }
    }
    Some(())
}

/// The number of decimals of a format's first section; all sections have the same.
fn decimals(format: &str) -> usize {
    let (_, decimals) = format.split_once('.').unwrap_or_default();
    decimals.chars().take_while(|c| *c == '0').count()
}

/// The number of decimals of a number, up to the maximum shown.
fn needed(number: f64) -> usize {
    let text = format!("{number:.DECIMALS$}");
    let (_, decimals) = text.split_once('.').unwrap_or_default();
    decimals.trim_end_matches('0').len()
}

/// The format with at least `wanted` decimals.
fn raised(format: &str, wanted: usize) -> String {
    let zeros = |decimals: usize| match decimals {
        0 => "0".to_owned(),
        decimals => format!("0.{}", "0".repeat(decimals)),
    };
    let shown = decimals(format);
    if wanted <= shown { format.to_owned() } else { format.replace(&zeros(shown), &zeros(wanted)) }
}
