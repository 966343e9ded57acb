//! The supported functions: those that can be computed here, without access to anything outside the
//! workbook.

use super::criteria::Condition;
use super::evaluate::{Grid, Stop, corners};
use super::expr::{Cell, Expr};
use super::value::{Value, finite, fitting_text, into_value};
use super::{calendar, choice, finance, lookup, rounding, statistics, words, workdays};
use crate::counted::counted;

/// Names with the minimum and maximum number of arguments.
const KNOWN: [(&str, usize, usize); 107] = [
    ("ABS", 1, 1),
    ("AND", 1, 255),
    ("AVERAGE", 1, 255),
    ("AVERAGEIF", 2, 3),
    ("CONCATENATE", 1, 255),
    ("COUNT", 1, 255),
    ("COUNTA", 1, 255),
    ("COUNTIF", 2, 2),
    ("EXP", 1, 1),
    ("IF", 2, 3),
    ("IFERROR", 2, 2),
    ("INT", 1, 1),
    ("LEFT", 1, 2),
    ("LEN", 1, 1),
    ("LN", 1, 1),
    ("LOWER", 1, 1),
    ("MAX", 1, 255),
    ("MEDIAN", 1, 255),
    ("MID", 3, 3),
    ("MIN", 1, 255),
    ("MOD", 2, 2),
    ("NOT", 1, 1),
    ("OR", 1, 255),
    ("POWER", 2, 2),
    ("PRODUCT", 1, 255),
    ("RIGHT", 1, 2),
    ("ROUND", 2, 2),
    ("ROUNDDOWN", 2, 2),
    ("ROUNDUP", 2, 2),
    ("SQRT", 1, 1),
    ("SUM", 1, 255),
    ("SUMIF", 2, 3),
    ("UPPER", 1, 1),
    ("AVERAGEIFS", 3, 255),
    ("CEILING", 2, 2),
    ("COUNTIFS", 2, 255),
    ("DATE", 3, 3),
    ("DAY", 1, 1),
    ("DAYS", 2, 2),
    ("EDATE", 2, 2),
    ("EOMONTH", 2, 2),
    ("FIND", 2, 3),
    ("FLOOR", 2, 2),
    ("FV", 3, 5),
    ("HLOOKUP", 3, 4),
    ("IFNA", 2, 2),
    ("INDEX", 2, 3),
    ("ISBLANK", 1, 1),
    ("ISERROR", 1, 1),
    ("ISNUMBER", 1, 1),
    ("ISTEXT", 1, 1),
    ("LARGE", 2, 2),
    ("LOG10", 1, 1),
    ("MATCH", 2, 3),
    ("MAXIFS", 3, 255),
    ("MINIFS", 3, 255),
    ("MONTH", 1, 1),
    ("NOW", 0, 0),
    ("NPV", 2, 255),
    ("PI", 0, 0),
    ("PMT", 3, 5),
    ("PROPER", 1, 1),
    ("PV", 3, 5),
    ("REPT", 2, 2),
    ("SEARCH", 2, 3),
    ("SIGN", 1, 1),
    ("SMALL", 2, 2),
    ("SUBSTITUTE", 3, 4),
    ("SUMIFS", 3, 255),
    ("SUMPRODUCT", 1, 255),
    ("TEXT", 2, 2),
    ("TODAY", 0, 0),
    ("TRIM", 1, 1),
    ("VALUE", 1, 1),
    ("VLOOKUP", 3, 4),
    ("WEEKDAY", 1, 2),
    ("XLOOKUP", 3, 6),
    ("YEAR", 1, 1),
    ("CHOOSE", 2, 255),
    ("CONCAT", 1, 255),
    ("COUNTBLANK", 1, 1),
    ("DATEDIF", 3, 3),
    ("IFS", 2, 254),
    ("IRR", 1, 2),
    ("MODE", 1, 255),
    ("MODE.SNGL", 1, 255),
    ("NETWORKDAYS", 2, 3),
    ("NPER", 3, 5),
    ("PERCENTILE", 2, 2),
    ("PERCENTILE.INC", 2, 2),
    ("QUARTILE", 2, 2),
    ("QUARTILE.INC", 2, 2),
    ("RANK", 2, 3),
    ("RANK.EQ", 2, 3),
    ("RATE", 3, 6),
    ("STDEV", 1, 255),
    ("STDEV.P", 1, 255),
    ("STDEV.S", 1, 255),
    ("STDEVP", 1, 255),
    ("SUBTOTAL", 2, 255),
    ("SWITCH", 3, 255),
    ("TEXTJOIN", 3, 255),
    ("VAR", 1, 255),
    ("VAR.P", 1, 255),
    ("VAR.S", 1, 255),
    ("VARP", 1, 255),
    ("WORKDAY", 2, 3),
];

/// Whether the formula depends on the time at which it is computed, so that it has no value here.
pub fn is_volatile(formula: &Expr) -> bool {
    formula.calls(&["TODAY", "NOW"])
}

pub fn known(name: &str) -> Option<&'static str> {
    KNOWN.iter().find(|(known, ..)| *known == name).map(|(known, ..)| *known)
}

pub fn check(name: &str, count: usize) -> Result<(), String> {
    let fits =
        KNOWN.iter().any(|(known, min, max)| *known == name && (*min..=*max).contains(&count));
    let has_pairs = match name {
        "IFS" | "COUNTIFS" => count.is_multiple_of(2),
        "SUMIFS" | "AVERAGEIFS" | "MAXIFS" | "MINIFS" => !count.is_multiple_of(2),
        _ => true,
    };
    match count {
        _ if fits && has_pairs => Ok(()),
        0 => Err(format!("{name} needs arguments")),
        count => Err(format!("{name} cannot have {}", counted(count, "argument", "arguments"))),
    }
}

impl Grid {
    /// The value of a call whose name and number of arguments were checked.
    pub(super) fn call(&mut self, name: &str, arguments: &[Expr]) -> Result<Value, Stop> {
        for call in [lookup::call, choice::call, statistics::call, workdays::call] {
            if let Some(value) = call(self, name, arguments)? {
                return Ok(value);
            }
        }
        match name {
            "TODAY" | "NOW" => Err(Stop),
            "NPV" => finance::npv(self, arguments),
            "IRR" => finance::irr(self, arguments),
            "CONCAT" | "TEXTJOIN" => words::joined(self, name, arguments),
            "SUMIF" | "COUNTIF" | "AVERAGEIF" => conditional(self, name, arguments),
            "SUM" | "AVERAGE" | "MIN" | "MAX" | "COUNT" | "COUNTA" | "PRODUCT" | "MEDIAN"
            | "AND" | "OR" | "STDEV" | "STDEV.S" | "STDEV.P" | "STDEVP" | "VAR" | "VAR.S"
            | "VAR.P" | "VARP" | "MODE" | "MODE.SNGL" => {
                fold_values(self, name, arguments, Grid::values)
            }
            _ => {
                let values: Vec<Value> =
                    arguments.iter().map(|a| self.value(a)).collect::<Result<_, _>>()?;
                Ok(into_value(plain(name, &values)))
            }
        }
    }
}

/// The numbers of ranges; text and booleans count as direct arguments, but not in a range.
pub fn fold_values(
    grid: &mut Grid,
    name: &str,
    arguments: &[Expr],
    values: fn(&mut Grid, &Expr) -> Result<Vec<Value>, Stop>,
) -> Result<Value, Stop> {
    let mut numbers = Vec::new();
    let mut filled = 0;
    for argument in arguments {
        let in_cells = self::in_cells(argument);
        for mut value in values(grid, argument)? {
            if *argument == Expr::Missing {
                value = Value::Number(0.0);
            }
            filled += usize::from(value != Value::Blank);
            let counts = match &value {
                Value::Number(_) => true,
                Value::Bool(_) => !in_cells || matches!(name, "AND" | "OR"),
                Value::Text(_) if name == "COUNT" => !in_cells && value.number().is_ok(),
                Value::Text(_) => !in_cells && name != "COUNTA",
                Value::Blank => false,
                Value::Error(_) if matches!(name, "COUNT" | "COUNTA") => false,
                Value::Error(_) => return Ok(value),
            };
            if counts {
                match value.number() {
                    Ok(number) => numbers.push(number),
                    Err(error) => return Ok(error),
                }
            }
        }
    }
    Ok(fold(name, &mut numbers, filled))
}

/// Whether an argument is whole columns, which have far more cells than the table.
pub fn is_columns(argument: &Expr) -> bool {
    match argument {
        Expr::Columns(..) => true,
        Expr::Elsewhere(_, inner) => is_columns(inner),
        _ => false,
    }
}

pub fn in_cells(argument: &Expr) -> bool {
    match argument {
        Expr::Range(..) | Expr::Columns(..) | Expr::Cell(_) | Expr::Call("INDEX", _) => true,
        Expr::Elsewhere(_, inner) => in_cells(inner),
        _ => false,
    }
}

pub fn fold(name: &str, numbers: &mut [f64], filled: usize) -> Value {
    let count = numbers.len() as f64;
    if let Some(value) = statistics::spread(name, numbers) {
        return value;
    }
    match name {
        "SUM" => finite(numbers.iter().sum()),
        "COUNT" => Value::Number(count),
        "COUNTA" => Value::Number(filled as f64),
        "AND" | "OR" if numbers.is_empty() => Value::Error("#VALUE!"),
        "AND" => Value::Bool(numbers.iter().all(|n| *n != 0.0)),
        "OR" => Value::Bool(numbers.iter().any(|n| *n != 0.0)),
        "AVERAGE" if numbers.is_empty() => Value::Error("#DIV/0!"),
        "MEDIAN" if numbers.is_empty() => Value::Error("#NUM!"),
        _ if numbers.is_empty() => Value::Number(0.0),
        "AVERAGE" => finite(numbers.iter().sum::<f64>() / count),
        "MIN" => finite(numbers.iter().copied().fold(f64::INFINITY, f64::min)),
        "MAX" => finite(numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max)),
        "PRODUCT" => finite(numbers.iter().product()),
        _ => {
            numbers.sort_by(f64::total_cmp);
            let middle = numbers.len() / 2;
            let upper = numbers[middle];
            let is_odd = numbers.len() % 2 == 1;
            finite(if is_odd { upper } else { f64::midpoint(numbers[middle - 1], upper) })
        }
    }
}

fn conditional(grid: &mut Grid, name: &str, arguments: &[Expr]) -> Result<Value, Stop> {
    let tested = grid.values(&arguments[0])?;
    let condition = Condition::of(&grid.value(&arguments[1])?);
    if name == "COUNTIF" && is_columns(&arguments[0]) && condition.is_met(&Value::Blank) {
        return Err(Stop);
    }
    let summed = match arguments.get(2) {
        Some(range) => {
            let shaped = shaped_like(range, &arguments[0]);
            grid.values(shaped.as_ref().unwrap_or(range))?
        }
        None => tested.clone(),
    };
    let mut numbers = Vec::new();
    let mut hits = 0;
    for (value, summed) in tested.iter().zip(&summed) {
        if condition.is_met(value) {
            hits += 1;
            if let Value::Number(number) = summed {
                numbers.push(*number);
            }
        }
    }
    Ok(match name {
        "COUNTIF" => Value::Number(f64::from(hits)),
        "SUMIF" => fold("SUM", &mut numbers, 0),
        _ => fold("AVERAGE", &mut numbers, 0),
    })
}

/// The range that begins at the first cell of `summed` and has the size of `tested`.
fn shaped_like(summed: &Expr, tested: &Expr) -> Option<Expr> {
    let first = match summed {
        Expr::Elsewhere(sheet, inner) => {
            return Some(Expr::Elsewhere(sheet.clone(), Box::new(shaped_like(inner, tested)?)));
        }
        Expr::Cell(cell) => *cell,
        Expr::Range(from, to) => {
            let (rows, columns) = corners(*from, *to);
            Cell { row: *rows.start(), column: *columns.start(), ..*from }
        }
        _ => return None,
    };
    let (from, to) = match tested {
        Expr::Elsewhere(_, inner) => return shaped_like(summed, inner),
        Expr::Cell(cell) => (*cell, *cell),
        Expr::Range(from, to) => (*from, *to),
        _ => return None,
    };
    let row = first.row.checked_add(from.row.abs_diff(to.row))?;
    let column = first.column.checked_add(from.column.abs_diff(to.column))?;
    Some(Expr::Range(first, Cell { row, column, ..first }))
}

fn plain(name: &str, values: &[Value]) -> Result<Value, Value> {
    if let Some(value) = words::call(name, values).or_else(|| rounding::call(name, values)) {
        return value;
    }
    let number = |at: usize| values[at].number();
    let text = |at: usize| values[at].text();
    let count = |at: usize| values.get(at).map_or(Ok(1.0), Value::number).and_then(whole);
    Ok(match name {
        "ABS" => finite(number(0)?.abs()),
        "EXP" => finite(number(0)?.exp()),
        "LN" => finite(number(0)?.ln()),
        "SQRT" => finite(number(0)?.sqrt()),
        "POWER" => finite(number(0)?.powf(number(1)?)),
        "SIGN" => Value::Number(if number(0)? == 0.0 { 0.0 } else { number(0)?.signum() }),
        "LOG10" => finite(number(0)?.log10()),
        "PI" => Value::Number(std::f64::consts::PI),
        "PMT" | "PV" | "FV" | "NPER" | "RATE" => finance::annuity(name, values)?,
        "DATE" | "YEAR" | "MONTH" | "DAY" | "DAYS" | "WEEKDAY" | "EDATE" | "EOMONTH" => {
            calendar::call(name, values)?
        }
        "DATEDIF" => workdays::between(values)?,
        "NOT" => Value::Bool(!values[0].truth()?),
        "LEN" => Value::Number(text(0)?.encode_utf16().count() as f64),
        "LOWER" => Value::Text(text(0)?.to_lowercase()),
        "UPPER" => Value::Text(text(0)?.to_uppercase()),
        "LEFT" => Value::Text(text(0)?.chars().take(count(1)?).collect()),
        "RIGHT" => {
            let text = text(0)?;
            let skipped = text.chars().count().saturating_sub(count(1)?);
            Value::Text(text.chars().skip(skipped).collect())
        }
        "MID" => {
            let from = count(1)?.checked_sub(1).ok_or(Value::Error("#VALUE!"))?;
            Value::Text(text(0)?.chars().skip(from).take(count(2)?).collect())
        }
        _ => fitting_text(values.iter().map(Value::text).collect::<Result<String, _>>()?)?,
    })
}

fn whole(number: f64) -> Result<usize, Value> {
    if (0.0..=32_767.0).contains(&number) {
        Ok(number as usize)
    } else {
        Err(Value::Error("#VALUE!"))
    }
}
