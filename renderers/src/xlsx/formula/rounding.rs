//! Rounding, multiples and remainders. As in spreadsheets, a number is what its first fifteen digits
//! show: 0.3 is three times 0.1, although their quotient is less than three as a binary fraction.

use super::value::{Value, finite, shown_digits};

/// The value of a function whose number of arguments was checked; `None` if it is another one.
pub fn call(name: &str, values: &[Value]) -> Option<Result<Value, Value>> {
    let two = || -> Result<(f64, f64), Value> { Ok((values[0].number()?, values[1].number()?)) };
    let of = |compute: fn(f64, f64) -> Value| Some(two().map(|(one, other)| compute(one, other)));
    match name {
        "INT" => Some(values[0].number().map(|number| finite(shown_digits(number).floor()))),
        "ROUND" => of(|number, places| round(number, places, f64::round)),
        "ROUNDDOWN" => of(|number, places| round(number, places, f64::trunc)),
        "ROUNDUP" => of(|number, places| round(number, places, |n| n.signum() * n.abs().ceil())),
        "MOD" => of(remainder),
        "CEILING" => of(ceiling),
        "FLOOR" => of(floor),
        _ => None,
    }
}

/// Rounds half away from zero.
fn round(number: f64, places: f64, how: fn(f64) -> f64) -> Value {
    let factor = 10_f64.powi(places.clamp(-300.0, 300.0) as i32);
    finite(how(shown_digits(number * factor)) / factor)
}

fn remainder(number: f64, divisor: f64) -> Value {
    if divisor == 0.0 {
        return Value::Error("#DIV/0!");
    }
    let times = shown_digits(number / divisor);
    finite(if times.fract() == 0.0 { 0.0 } else { number - divisor * times.floor() })
}

/// The multiple of `step` that is not less than the number.
fn ceiling(number: f64, step: f64) -> Value {
    if step == 0.0 { Value::Number(0.0) } else { multiple(number, step, f64::ceil) }
}

/// The multiple of `step` that is not greater than the number.
fn floor(number: f64, step: f64) -> Value {
    match (number, step) {
        (0.0, _) => Value::Number(0.0),
        (_, 0.0) => Value::Error("#DIV/0!"),
        _ => multiple(number, step, f64::floor),
    }
}

/// A multiple of `step`, which may be negative only if the number is.
fn multiple(number: f64, step: f64, how: fn(f64) -> f64) -> Value {
    if number > 0.0 && step < 0.0 {
        return Value::Error("#NUM!");
    }
    finite(shown_digits(how(shown_digits(number / step)) * step))
}
