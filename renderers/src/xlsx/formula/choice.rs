//! Functions that choose one of their arguments; the others are not computed.

use super::evaluate::{Grid, Stop};
use super::expr::{Expr, Op};
use super::value::{Value, compare};

/// The value of a function of this module; `None` if it is another one.
pub fn call(grid: &mut Grid, name: &str, arguments: &[Expr]) -> Result<Option<Value>, Stop> {
    Ok(Some(match name {
        "IF" => when(grid, arguments)?,
        "IFERROR" | "IFNA" => unless_error(grid, name, arguments)?,
        "IFS" => first_true(grid, arguments)?,
        "SWITCH" => equal_case(grid, arguments)?,
        "CHOOSE" => numbered(grid, arguments)?,
        _ => return Ok(None),
    }))
}

fn when(grid: &mut Grid, arguments: &[Expr]) -> Result<Value, Stop> {
    match (grid.value(&arguments[0])?.truth(), arguments.get(2)) {
        (Err(error), _) => Ok(error),
        (Ok(true), _) => grid.value(&arguments[1]),
        (Ok(false), Some(otherwise)) => grid.value(otherwise),
        (Ok(false), None) => Ok(Value::Bool(false)),
    }
}

fn unless_error(grid: &mut Grid, name: &str, arguments: &[Expr]) -> Result<Value, Stop> {
    let first = grid.value(&arguments[0])?;
    let is_error = match first {
        Value::Error(error) => name == "IFERROR" || error == "#N/A",
        _ => false,
    };
    if is_error { grid.value(&arguments[1]) } else { Ok(first) }
}

/// `IFS(condition, value, …)`
fn first_true(grid: &mut Grid, arguments: &[Expr]) -> Result<Value, Stop> {
    for pair in arguments.chunks(2) {
        let [condition, value] = pair else { return Ok(Value::Error("#N/A")) };
        match grid.value(condition)?.truth() {
            Ok(true) => return grid.value(value),
            Ok(false) => {}
            Err(error) => return Ok(error),
        }
    }
    Ok(Value::Error("#N/A"))
}

/// `SWITCH(value, case, result, …, [otherwise])`
fn equal_case(grid: &mut Grid, arguments: &[Expr]) -> Result<Value, Stop> {
    let value = grid.value(&arguments[0])?;
    if let Value::Error(_) = value {
        return Ok(value);
    }
    for pair in arguments[1..].chunks(2) {
        let [case, result] = pair else { return grid.value(&pair[0]) };
        match compare(&value, Op::Equal, &grid.value(case)?) {
            Ok(Value::Bool(true)) => return grid.value(result),
            Ok(_) => {}
            Err(error) => return Ok(error),
        }
    }
    Ok(Value::Error("#N/A"))
}

/// `CHOOSE(number, first, second, …)`
fn numbered(grid: &mut Grid, arguments: &[Expr]) -> Result<Value, Stop> {
    let number = match grid.value(&arguments[0])?.number() {
        Ok(number) => number,
        Err(error) => return Ok(error),
    };
    let chosen = if number >= 1.0 { arguments.get(number as usize) } else { None };
    chosen.map_or(Ok(Value::Error("#VALUE!")), |chosen| grid.value(chosen))
}
