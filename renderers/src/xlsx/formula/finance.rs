//! Financial functions: interest and present values.

use super::evaluate::{Grid, Stop, Value, finite, into_value};
use super::expr::Expr;

/// `PMT`, `PV` and `FV` with the arguments rate, number of periods, amount, value and type.
pub fn annuity(name: &str, values: &[Value]) -> Result<Value, Value> {
    let number = |at: usize| values.get(at).map_or(Ok(0.0), Value::number);
    let (rate, periods) = (number(0)?, number(1)?);
    let (second, third) = (number(2)?, number(3)?);
    let at_begin = if number(4)? == 0.0 { 0.0 } else { 1.0 };
    let growth = (1.0 + rate).powf(periods);
    // The sum of the growths of one unit a period.
    let sum = if rate == 0.0 { periods } else { (growth - 1.0) / rate * (1.0 + rate * at_begin) };
    Ok(match name {
        "PMT" if sum == 0.0 => Value::Error("#NUM!"),
        "PMT" => finite(-(second * growth + third) / sum),
        "FV" => finite(-(second * sum + third * growth)),
        _ if growth == 0.0 => Value::Error("#NUM!"),
        _ => finite(-(second * sum + third) / growth),
    })
}

/// `NPV(rate, values…)`: values at the ends of the periods.
pub fn npv(grid: &mut Grid, arguments: &[Expr]) -> Result<Value, Stop> {
    let rate = grid.value(&arguments[0])?;
    let mut values = Vec::new();
    for argument in &arguments[1..] {
        values.extend(grid.values(argument)?);
    }
    Ok(into_value(rate.number().and_then(|rate| {
        let (mut sum, mut factor) = (0.0, 1.0);
        for value in &values {
            match value {
                Value::Number(number) => {
                    factor *= 1.0 + rate;
                    sum += number / factor;
                }
                Value::Error(error) => return Err(Value::Error(error)),
                _ => {}
            }
        }
        Ok(finite(sum))
    })))
}
