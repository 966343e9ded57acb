//! Statistical functions: spread, ranks, percentiles, and subtotals.

use super::evaluate::{Grid, Stop};
use super::expr::Expr;
use super::functions::{fold_values, in_cells, is_columns};
use super::value::{Value, finite};

/// The value of a function of this module; `None` if it is another one.
pub fn call(grid: &mut Grid, name: &str, arguments: &[Expr]) -> Result<Option<Value>, Stop> {
    Ok(Some(match name {
        "RANK" | "RANK.EQ" => rank(grid, arguments)?,
        "PERCENTILE" | "PERCENTILE.INC" => percentile(grid, arguments, 1.0)?,
        "QUARTILE" | "QUARTILE.INC" => percentile(grid, arguments, 4.0)?,
        // The rows below the table are blank, too.
        "COUNTBLANK" if is_columns(&arguments[0]) => return Err(Stop),
        "COUNTBLANK" => {
            let values = grid.values(&arguments[0])?;
            let is_blank = |value: &&Value| match value {
                Value::Blank => true,
                Value::Text(text) => text.is_empty(),
                _ => false,
            };
            Value::Number(values.iter().filter(is_blank).count() as f64)
        }
        "SUBTOTAL" => subtotal(grid, arguments)?,
        _ => return Ok(None),
    }))
}

/// The spread or the most frequent of numbers; `None` for another function.
pub fn spread(name: &str, numbers: &[f64]) -> Option<Value> {
    let count = numbers.len() as f64;
    let squares = || {
        let mean = numbers.iter().sum::<f64>() / count;
        numbers.iter().map(|number| (number - mean).powi(2)).sum::<f64>()
    };
    let variance = |divisor: f64| {
        if divisor > 0.0 { Ok(squares() / divisor) } else { Err(Value::Error("#DIV/0!")) }
    };
    let variance = match name {
        "VAR" | "VAR.S" => variance(count - 1.0),
        "VARP" | "VAR.P" => variance(count),
        "STDEV" | "STDEV.S" => variance(count - 1.0).map(f64::sqrt),
        "STDEVP" | "STDEV.P" => variance(count).map(f64::sqrt),
        "MODE" | "MODE.SNGL" => return Some(mode(numbers)),
        _ => return None,
    };
    Some(variance.map_or_else(|error| error, finite))
}

/// The most frequent number: of those that are equally frequent, the one that comes first.
fn mode(numbers: &[f64]) -> Value {
    let mut sorted: Vec<(f64, usize)> =
        numbers.iter().enumerate().map(|(at, number)| (*number, at)).collect();
    sorted.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let runs = sorted.chunk_by(|a, b| a.0.total_cmp(&b.0).is_eq());
    let most = runs.filter(|run| run.len() > 1).max_by(|a, b| {
        let by_position = b[0].1.cmp(&a[0].1);
        a.len().cmp(&b.len()).then(by_position)
    });
    most.map_or(Value::Error("#N/A"), |run| Value::Number(run[0].0))
}

/// The numbers of cells, or their first error.
fn numbers(values: &[Value]) -> Result<Vec<f64>, Value> {
    let mut numbers = Vec::new();
    for value in values {
        match value {
            Value::Number(number) => numbers.push(*number),
            Value::Error(error) => return Err(Value::Error(error)),
            _ => {}
        }
    }
    Ok(numbers)
}

/// `RANK(number, range, [order])`: the largest is first, unless the order is not zero.
fn rank(grid: &mut Grid, arguments: &[Expr]) -> Result<Value, Stop> {
    let number = grid.value(&arguments[0])?.number();
    let numbers = numbers(&grid.values(&arguments[1])?);
    let is_ascending = match arguments.get(2) {
        Some(order) => grid.value(order)?.truth(),
        None => Ok(false),
    };
    let (number, numbers, is_ascending) = match (number, numbers, is_ascending) {
        (Ok(number), Ok(numbers), Ok(is_ascending)) => (number, numbers, is_ascending),
        (Err(error), ..) | (_, Err(error), _) | (.., Err(error)) => return Ok(error),
    };
    if !numbers.iter().any(|other| other.total_cmp(&number).is_eq()) {
        return Ok(Value::Error("#N/A"));
    }
    let is_before = |other: &&f64| if is_ascending { **other < number } else { **other > number };
    Ok(Value::Number(numbers.iter().filter(is_before).count() as f64 + 1.0))
}

/// `PERCENTILE(range, share)` and `QUARTILE(range, quarter)`, between the two nearest numbers.
fn percentile(grid: &mut Grid, arguments: &[Expr], parts: f64) -> Result<Value, Stop> {
    let numbers = numbers(&grid.values(&arguments[0])?);
    let share = grid.value(&arguments[1])?.number();
    let (mut numbers, share) = match (numbers, share) {
        (Ok(numbers), Ok(share)) => (numbers, share),
        (Err(error), _) | (_, Err(error)) => return Ok(error),
    };
    let share = if parts > 1.0 { share.trunc() / parts } else { share };
    if numbers.is_empty() || !(0.0..=1.0).contains(&share) {
        return Ok(Value::Error("#NUM!"));
    }
    numbers.sort_by(f64::total_cmp);
    let position = share * (numbers.len() - 1) as f64;
    let (lower, part) = (position as usize, position.fract());
    let upper = numbers.get(lower + 1).copied().unwrap_or(numbers[lower]);
    Ok(finite(numbers[lower] + (upper - numbers[lower]) * part))
}

/// `SUBTOTAL(function, ranges…)`: other subtotals in the ranges are left out.
fn subtotal(grid: &mut Grid, arguments: &[Expr]) -> Result<Value, Stop> {
    let function = match grid.value(&arguments[0])?.number() {
        Ok(function) => function,
        Err(error) => return Ok(error),
    };
    let names = [
        "AVERAGE", "COUNT", "COUNTA", "MAX", "MIN", "PRODUCT", "STDEV", "STDEVP", "SUM", "VAR",
        "VARP",
    ];
    // From 101 on, the same functions without hidden rows, of which there are none.
    let at = function.trunc() as usize;
    let Some(name) = names.get((if at > 100 { at - 100 } else { at }).wrapping_sub(1)) else {
        return Ok(Value::Error("#VALUE!"));
    };
    if !arguments[1..].iter().all(in_cells) {
        return Ok(Value::Error("#VALUE!"));
    }
    fold_values(grid, name, &arguments[1..], Grid::values_but_subtotals)
}
