//! Financial functions: interest and present values.

use super::evaluate::{Grid, Stop};
use super::expr::Expr;
use super::value::{Value, finite, into_value};

/// `PMT`, `PV` and `FV` with the arguments rate, number of periods, amount, value and type; `RATE`
/// and `NPER` with one of these instead of the first or the second.
pub fn annuity(name: &str, values: &[Value]) -> Result<Value, Value> {
    let number = |at: usize| values.get(at).map_or(Ok(0.0), Value::number);
    let (rate, periods) = (number(0)?, number(1)?);
    let (second, third) = (number(2)?, number(3)?);
    let at_begin = if number(4)? == 0.0 { 0.0 } else { 1.0 };
    let (growth, sum) = growth_of(rate, periods, at_begin);
    Ok(match name {
        "RATE" => {
            let (count, payment) = (rate, periods);
            let guess = values.get(5).map_or(Ok(0.1), Value::number)?;
            rate_at_zero(guess, |rate| {
                let (growth, sum) = growth_of(rate, count, at_begin);
                second * growth + payment * sum + third
            })
        }
        "NPER" if rate == 0.0 && periods == 0.0 => Value::Error("#NUM!"),
        "NPER" if rate == 0.0 => finite(-(second + third) / periods),
        "NPER" => {
            let payment = periods * (1.0 + rate * at_begin) / rate;
            finite(((payment - third) / (payment + second)).ln() / (1.0 + rate).ln())
        }
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

/// The growth of one unit over all periods, and the sum of the growths of one unit a period.
fn growth_of(rate: f64, periods: f64, at_begin: f64) -> (f64, f64) {
    let growth = (1.0 + rate).powf(periods);
    let sum = if rate == 0.0 { periods } else { (growth - 1.0) / rate * (1.0 + rate * at_begin) };
    (growth, sum)
}

/// `IRR(values, [guess])`: the rate at which the values at the ends of the periods are worth
/// nothing together.
pub fn irr(grid: &mut Grid, arguments: &[Expr]) -> Result<Value, Stop> {
    let values = grid.values(&arguments[0])?;
    let guess = match Expr::given(arguments, 1) {
        Some(guess) => grid.value(guess)?.number(),
        None => Ok(0.1),
    };
    let mut flows = Vec::new();
    for value in values {
        match value {
            Value::Number(number) => flows.push(number),
            Value::Error(_) => return Ok(value),
            _ => {}
        }
    }
    if !flows.iter().any(|flow| *flow > 0.0) || !flows.iter().any(|flow| *flow < 0.0) {
        return Ok(Value::Error("#NUM!"));
    }
    Ok(into_value(guess.map(|guess| {
        rate_at_zero(guess, |rate| {
            flows.iter().rev().fold(0.0, |sum, flow| sum / (1.0 + rate) + flow)
        })
    })))
}

/// The maximum number of steps towards a rate.
const STEPS: usize = 100;

/// The rate at which a function is zero: by Newton's method from the guess, otherwise within the
/// first interval of usual rates in which its sign changes.
fn rate_at_zero(guess: f64, function: impl Fn(f64) -> f64) -> Value {
    let mut rate = guess;
    for _ in 0..STEPS {
        let step = 1e-6;
        let value = function(rate);
        let slope = (function(rate + step) - function(rate - step)) / (2.0 * step);
        let next = rate - value / slope;
        if !next.is_finite() || next <= -1.0 {
            break;
        }
        if (next - rate).abs() < 1e-12 {
            return Value::Number(next);
        }
        rate = next;
    }
    let rates = [-0.99, -0.5, -0.1, -0.01, 0.0, 0.01, 0.05, 0.1, 0.2, 0.5, 1.0, 10.0, 100.0];
    let signs_differ = |pair: &&[f64]| function(pair[0]) * function(pair[1]) <= 0.0;
    let Some(&[mut low, mut high]) = rates.windows(2).find(signs_differ) else {
        return Value::Error("#NUM!");
    };
    for _ in 0..STEPS {
        let middle = f64::midpoint(low, high);
        if function(low) * function(middle) <= 0.0 {
            high = middle;
        } else {
            low = middle;
        }
    }
    Value::Number(high)
}
