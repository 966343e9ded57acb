//! Text functions.

use super::evaluate::{Grid, Stop};
use super::expr::Expr;
use super::value::{Value, finite, into_value};
use crate::number_text;

/// The value of a text function whose name and number of arguments were checked; `None` if it is
/// another one.
pub fn call(name: &str, values: &[Value]) -> Option<Result<Value, Value>> {
    Some(match name {
        "TEXT" => text(values),
        "TRIM" => one(values, |text| text.split_whitespace().collect::<Vec<_>>().join(" ")),
        "PROPER" => one(values, proper),
        "SUBSTITUTE" => substitute(values),
        "FIND" | "SEARCH" => find(name, values),
        "VALUE" => values[0].number().map(finite),
        "REPT" => repeated(values),
        "ISBLANK" => Ok(Value::Bool(values[0] == Value::Blank)),
        "ISNUMBER" => Ok(Value::Bool(matches!(values[0], Value::Number(_)))),
        "ISTEXT" => Ok(Value::Bool(matches!(values[0], Value::Text(_)))),
        "ISERROR" => Ok(Value::Bool(matches!(values[0], Value::Error(_)))),
        _ => return None,
    })
}

fn one(values: &[Value], change: impl FnOnce(String) -> String) -> Result<Value, Value> {
    values[0].text().map(change).map(Value::Text)
}

/// `TEXT(number, format)`. A text is kept as it is.
fn text(values: &[Value]) -> Result<Value, Value> {
    let format = values[1].text()?;
    Ok(Value::Text(match &values[0] {
        Value::Text(text) => text.clone(),
        value => number_text::shown(value.number()?, &format),
    }))
}

fn proper(text: String) -> String {
    let mut begins = true;
    let cased = text.chars().flat_map(|c| {
        let cased: Vec<char> =
            if begins { c.to_uppercase().collect() } else { c.to_lowercase().collect() };
        begins = !c.is_alphabetic();
        cased
    });
    cased.collect()
}

fn substitute(values: &[Value]) -> Result<Value, Value> {
    let (text, old, new) = (values[0].text()?, values[1].text()?, values[2].text()?);
    if old.is_empty() {
        return Ok(Value::Text(text));
    }
    let Some(number) = values.get(3) else { return checked(text.replace(&old, &new)) };
    let number = number.number()?;
    let at = text.match_indices(&old).enumerate();
    let mut at = at.filter(|(count, _)| *count + 1 == number.trunc() as usize);
    Ok(Value::Text(match at.next() {
        Some((_, (at, _))) => format!("{}{new}{}", &text[..at], &text[at + old.len()..]),
        None => text,
    }))
}

fn find(name: &str, values: &[Value]) -> Result<Value, Value> {
    let (mut wanted, mut text) = (values[0].text()?, values[1].text()?);
    if name == "SEARCH" {
        (wanted, text) = (wanted.to_lowercase(), text.to_lowercase());
    }
    let from = values.get(2).map_or(Ok(1.0), Value::number)?;
    let skipped =
        if from >= 1.0 { from as usize - 1 } else { return Err(Value::Error("#VALUE!")) };
    let begin = text.char_indices().nth(skipped).map_or(text.len(), |(at, _)| at);
    let found = text[begin..].find(&wanted).map(|at| text[..begin + at].chars().count() + 1);
    found.map(|at| Value::Number(at as f64)).ok_or(Value::Error("#VALUE!"))
}

fn repeated(values: &[Value]) -> Result<Value, Value> {
    let (text, count) = (values[0].text()?, values[1].number()?);
    let fits = count >= 0.0 && text.len() as f64 * count <= 32_767.0;
    if fits { checked(text.repeat(count as usize)) } else { Err(Value::Error("#VALUE!")) }
}

/// A cell cannot hold a longer text.
fn checked(text: String) -> Result<Value, Value> {
    if text.len() <= 4 * 32_767 { Ok(Value::Text(text)) } else { Err(Value::Error("#VALUE!")) }
}

/// `CONCAT(text, …)` and `TEXTJOIN(separator, without blanks, text, …)`, whose texts may be ranges.
pub fn joined(grid: &mut Grid, name: &str, arguments: &[Expr]) -> Result<Value, Stop> {
    let (separator, skips_blanks, texts) = match arguments {
        [separator, skips_blanks, texts @ ..] if name == "TEXTJOIN" => {
            (grid.value(separator)?.text(), grid.value(skips_blanks)?.truth(), texts)
        }
        texts => (Ok(String::new()), Ok(false), texts),
    };
    let (separator, skips_blanks) = match (separator, skips_blanks) {
        (Ok(separator), Ok(skips_blanks)) => (separator, skips_blanks),
        (Err(error), _) | (_, Err(error)) => return Ok(error),
    };
    let mut all = Vec::new();
    for text in texts {
        for value in grid.values(text)? {
            match value.text() {
                Ok(text) if text.is_empty() && skips_blanks => {}
                Ok(text) => all.push(text),
                Err(error) => return Ok(error),
            }
        }
    }
    Ok(into_value(checked(all.join(&separator))))
}
