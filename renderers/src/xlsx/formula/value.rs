//! The values of cells, and the operations on them.

use std::cmp::Ordering;

use chrono::NaiveDate;

use super::calendar::serial;
use super::expr::Op;
use crate::xlsx::cells::{self, CELL_CHARS};

/// Numbers whose difference is a smaller part of them are equal.
const CLOSE: f64 = 1.0 / (1_u64 << 48) as f64;

/// The maximum size of a text of as many characters as fit a cell, in bytes.
pub const TEXT_BYTES: usize = 3 * CELL_CHARS;

#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    Blank,
    Number(f64),
    Text(String),
    Bool(bool),
    Error(&'static str),
}

impl Value {
    /// Converts the value to a number as arithmetic does.
    pub fn number(&self) -> Result<f64, Value> {
        match self {
            Value::Number(number) => Ok(*number),
            Value::Blank => Ok(0.0),
            Value::Bool(truth) => Ok(f64::from(u8::from(*truth))),
            Value::Text(text) => text_number(text).ok_or(Value::Error("#VALUE!")),
            Value::Error(error) => Err(Value::Error(error)),
        }
    }

    pub fn truth(&self) -> Result<bool, Value> {
        match self {
            Value::Text(_) => Err(Value::Error("#VALUE!")),
            value => Ok(value.number()? != 0.0),
        }
    }

    pub fn text(&self) -> Result<String, Value> {
        match self {
            Value::Blank => Ok(String::new()),
            Value::Number(number) => Ok(number_text(*number)),
            Value::Text(text) => Ok(text.clone()),
            Value::Bool(truth) => Ok(if *truth { "TRUE" } else { "FALSE" }.to_owned()),
            Value::Error(error) => Err(Value::Error(error)),
        }
    }
}

/// The number in a text, which may be a date such as `2026-03-05`.
fn text_number(text: &str) -> Option<f64> {
    let text = text.trim();
    let is_number = |c: char| c.is_ascii_digit() || matches!(c, '.' | '-' | '+' | 'e' | 'E');
    if !text.chars().all(is_number) {
        return None;
    }
    text.parse().ok().or_else(|| {
        let date = NaiveDate::parse_from_str(text, "%Y-%m-%d").ok();
        date.filter(|_| text.len() == "2026-03-05".len()).map(serial)
    })
}

/// The number as a part of a text: fifteen digits, with an exponent if it is very large or small.
fn number_text(number: f64) -> String {
    let number = shown_digits(number);
    if number == 0.0 || (1e-9..1e20).contains(&number.abs()) {
        return number.to_string();
    }
    let text = format!("{number:E}");
    if text.contains("E-") { text } else { text.replace('E', "E+") }
}

/// The number with fifteen digits, which are all that a spreadsheet shows of it.
pub fn shown_digits(number: f64) -> f64 {
    format!("{number:.14e}").parse().unwrap_or(number)
}

/// Whether two numbers differ at most in the last bits of their binary fractions.
fn is_close(one: f64, other: f64) -> bool {
    let apart = (one - other).abs();
    let is_fraction = one.fract() != 0.0 || other.fract() != 0.0;
    apart == 0.0 || (is_fraction && apart < one.abs() * CLOSE)
}

pub fn into_value(value: Result<Value, Value>) -> Value {
    value.unwrap_or_else(|error| error)
}

pub fn finite(number: f64) -> Value {
    // There is no negative zero in a spreadsheet.
    if number.is_finite() { Value::Number(number + 0.0) } else { Value::Error("#NUM!") }
}

/// A computed text, which has to fit a cell.
pub fn fitting_text(text: String) -> Result<Value, Value> {
    let fits = cells::fitting(&text).len() == text.len();
    if fits { Ok(Value::Text(text)) } else { Err(Value::Error("#VALUE!")) }
}

pub fn map(value: &Value, change: impl FnOnce(f64) -> f64) -> Value {
    into_value(value.number().map(|number| finite(change(number))))
}

pub fn binary(left: &Value, op: Op, right: &Value) -> Value {
    into_value(match op {
        Op::Join => join(left, right),
        Op::Add | Op::Subtract | Op::Multiply | Op::Divide | Op::Power => {
            arithmetic(left, op, right)
        }
        _ => compare(left, op, right),
    })
}

fn join(left: &Value, right: &Value) -> Result<Value, Value> {
    fitting_text(left.text()? + &right.text()?)
}

fn arithmetic(left: &Value, op: Op, right: &Value) -> Result<Value, Value> {
    let (left, right) = (left.number()?, right.number()?);
    Ok(match op {
        // What is left of 0.1 + 0.2 - 0.3 is nothing.
        Op::Add if is_close(left, -right) => finite(0.0),
        Op::Subtract if is_close(left, right) => finite(0.0),
        Op::Add => finite(left + right),
        Op::Subtract => finite(left - right),
        Op::Multiply => finite(left * right),
        Op::Divide if right == 0.0 => Value::Error("#DIV/0!"),
        Op::Divide => finite(left / right),
        _ => finite(left.powf(right)),
    })
}

/// Numbers sort before text, text before booleans; text is compared case-insensitively.
pub fn compare(left: &Value, op: Op, right: &Value) -> Result<Value, Value> {
    let rank = |value: &Value| match value {
        Value::Text(_) => 1,
        Value::Bool(_) => 2,
        _ => 0,
    };
    let order = match (left, right) {
        (Value::Error(error), _) | (_, Value::Error(error)) => return Err(Value::Error(error)),
        (Value::Text(a), Value::Text(b)) => a.to_lowercase().cmp(&b.to_lowercase()),
        (Value::Text(a), Value::Blank) => a.as_str().cmp(""),
        (Value::Blank, Value::Text(b)) => "".cmp(b.as_str()),
        (a, b) if rank(a) == rank(b) => {
            let (a, b) = (a.number()?, b.number()?);
            if is_close(a, b) { Ordering::Equal } else { a.total_cmp(&b) }
        }
        (a, b) => rank(a).cmp(&rank(b)),
    };
    Ok(Value::Bool(match op {
        Op::Equal => order.is_eq(),
        Op::NotEqual => order.is_ne(),
        Op::Less => order.is_lt(),
        Op::LessOrEqual => order.is_le(),
        Op::Greater => order.is_gt(),
        _ => order.is_ge(),
    }))
}
