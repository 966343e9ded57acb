//! The values of cells, and the operations on them.

use std::cmp::Ordering;

use super::expr::Op;

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
            Value::Text(text) => text.trim().parse().map_err(|_| Value::Error("#VALUE!")),
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
            Value::Number(number) => Ok(number.to_string()),
            Value::Text(text) => Ok(text.clone()),
            Value::Bool(truth) => Ok(if *truth { "TRUE" } else { "FALSE" }.to_owned()),
            Value::Error(error) => Err(Value::Error(error)),
        }
    }
}

pub fn into_value(value: Result<Value, Value>) -> Value {
    value.unwrap_or_else(|error| error)
}

pub fn finite(number: f64) -> Value {
    if number.is_finite() { Value::Number(number) } else { Value::Error("#NUM!") }
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
    Ok(Value::Text(left.text()? + &right.text()?))
}

fn arithmetic(left: &Value, op: Op, right: &Value) -> Result<Value, Value> {
    let (left, right) = (left.number()?, right.number()?);
    Ok(match op {
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
            a.number()?.partial_cmp(&b.number()?).unwrap_or(Ordering::Equal)
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
