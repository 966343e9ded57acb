//! Rounding, multiples and remainders.

use super::value::{Value, finite};

/// The value of a function whose number of arguments was checked; `None` if it is another one.
pub fn call(name: &str, values: &[Value]) -> Option<Result<Value, Value>> {
    let two = || Ok((values[0].number()?, values[1].number()?));
    let of = |compute: fn(f64, f64) -> Value| Some(two().map(|(one, other)| compute(one, other)));
    match name {
        "INT" => Some(values[0].number().map(|number| finite(number.floor()))),
        "ROUND" => of(|number, places| round(number, places, f64::round)),
        "ROUNDDOWN" => of(|number, places| round(number, places, f64::trunc)),
        "ROUNDUP" => of(|number, places| round(number, places, |n| n.signum() * n.abs().ceil())),
        "MOD" => of(remainder),
        "CEILING" => of(|number, step| multiple(number, step, f64::ceil)),
        "FLOOR" => of(|number, step| multiple(number, step, f64::floor)),
        _ => None,
    }
}

/// Rounds half away from zero on the decimal representation that users see.
fn round(number: f64, places: f64, how: fn(f64) -> f64) -> Value {
    let factor = 10_f64.powi(places.clamp(-300.0, 300.0) as i32);
    let scaled = number * factor;
    let seen: f64 = format!("{scaled:.9}").parse().unwrap_or(scaled);
    finite(how(seen) / factor)
}

fn remainder(number: f64, divisor: f64) -> Value {
    if divisor == 0.0 {
        return Value::Error("#DIV/0!");
    }
    finite(number - divisor * (number / divisor).floor())
}

fn multiple(number: f64, step: f64, how: fn(f64) -> f64) -> Value {
    if step == 0.0 { Value::Number(0.0) } else { finite(how(number / step) * step) }
}
