//! Text functions.

use super::criteria::place_of;
use super::evaluate::{Grid, Stop};
use super::expr::Expr;
use super::functions::is_columns;
use super::value::{TEXT_BYTES, Value, finite, fitting_text, into_value};
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
        "VALUE" => match &values[0] {
            Value::Text(text) => parsed(text).map(finite).ok_or(Value::Error("#VALUE!")),
            value => value.number().map(finite),
        },
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

/// `TEXT(number, format)`. Of a text, only the section for texts has an effect.
fn text(values: &[Value]) -> Result<Value, Value> {
    let format = values[1].text()?;
    Ok(Value::Text(match &values[0] {
        _ if format.is_empty() => String::new(),
        Value::Text(text) => number_text::shown_text(text, &format),
        value => number_text::text(value.number()?, &format),
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
    let Some(number) = values.get(3) else { return replaced(&text, &old, &new) };
    let number = number.number()?;
    if number < 1.0 {
        return Err(Value::Error("#VALUE!"));
    }
    let at = text.match_indices(&old).enumerate();
    let mut at = at.filter(|(count, _)| *count + 1 == number.trunc() as usize);
    fitting_text(match at.next() {
        Some((_, (at, _))) => format!("{}{new}{}", &text[..at], &text[at + old.len()..]),
        None => text,
    })
}

/// Replaces all occurrences of a text that is not empty, if the result can fit.
fn replaced(text: &str, old: &str, new: &str) -> Result<Value, Value> {
    let count = text.matches(old).count();
    let size = (text.len() - count * old.len()).saturating_add(count.saturating_mul(new.len()));
    if size > TEXT_BYTES {
        Err(Value::Error("#VALUE!"))
    } else {
        fitting_text(text.replace(old, new))
    }
}

/// `FIND(text, within, [from])`, and `SEARCH`, which has wildcards and ignores the case.
fn find(name: &str, values: &[Value]) -> Result<Value, Value> {
    let (wanted, text) = (values[0].text()?, values[1].text()?);
    let from = values.get(2).map_or(Ok(1.0), Value::number)?;
    let text: Vec<char> = text.chars().collect();
    let skipped = if from >= 1.0 { from as usize - 1 } else { usize::MAX };
    let text = text.get(skipped..).ok_or(Value::Error("#VALUE!"))?;
    let found = if name == "SEARCH" {
        place_of(text, &wanted)
    } else {
        let text: String = text.iter().collect();
        text.find(&wanted).map(|at| text[..at].chars().count())
    };
    found.map(|at| Value::Number((skipped + at + 1) as f64)).ok_or(Value::Error("#VALUE!"))
}

/// The number in a text as people write it: with groups of digits, or as a percentage.
pub fn parsed(text: &str) -> Option<f64> {
    let text = text.trim();
    let (digits, divisor) = text.strip_suffix('%').map_or((text, 1.0), |text| (text, 100.0));
    let mut groups = digits.split('.').next()?.split(',');
    let first = groups.next()?.trim_start_matches(['+', '-']);
    let is_grouped = digits.contains(',');
    let fits = (1..=3).contains(&first.len()) && groups.all(|group| group.len() == 3);
    if is_grouped && !fits {
        return None;
    }
    let number = Value::Text(digits.replace(',', "")).number().ok()?;
    Some(number / divisor)
}

fn repeated(values: &[Value]) -> Result<Value, Value> {
    let (text, count) = (values[0].text()?, values[1].number()?);
    let can_fit = count >= 0.0 && text.len() as f64 * count.trunc() <= TEXT_BYTES as f64;
    if can_fit { fitting_text(text.repeat(count as usize)) } else { Err(Value::Error("#VALUE!")) }
}

/// `CONCAT(text, …)` and `TEXTJOIN(separator, without blanks, text, …)`, whose texts may be ranges.
pub fn joined(grid: &mut Grid, name: &str, arguments: &[Expr]) -> Result<Value, Stop> {
    let (separator, skips_blanks, texts) = match arguments {
        [separator, skips_blanks, texts @ ..] if name == "TEXTJOIN" => {
            let skips_blanks = match skips_blanks {
                Expr::Missing => Ok(true),
                given => grid.value(given)?.truth(),
            };
            (grid.value(separator)?.text(), skips_blanks, texts)
        }
        texts => (Ok(String::new()), Ok(false), texts),
    };
    let (separator, skips_blanks) = match (separator, skips_blanks) {
        (Ok(separator), Ok(skips_blanks)) => (separator, skips_blanks),
        (Err(error), _) | (_, Err(error)) => return Ok(error),
    };
    if name == "TEXTJOIN" && !skips_blanks && texts.iter().any(is_columns) {
        return Err(Stop);
    }
    let mut all: Option<String> = None;
    for text in texts {
        for value in grid.values(text)? {
            let text = match value.text() {
                Ok(text) if text.is_empty() && skips_blanks => continue,
                Ok(text) => text,
                Err(error) => return Ok(error),
            };
            let before = all.take().map_or_else(String::new, |all| all + &separator);
            if before.len() + text.len() > TEXT_BYTES {
                return Ok(Value::Error("#VALUE!"));
            }
            all = Some(before + &text);
        }
    }
    Ok(into_value(fitting_text(all.unwrap_or_default())))
}
