//! Reads JSON, and marks every place where the parsed value is not exactly what was written.
//!
//! A mark is a string that begins with the noncharacter U+FDD0, which no valid text contains. It
//! replaces invalid UTF-8, half of a surrogate pair, a number that cannot be represented, and the
//! values of duplicate keys. Text shows a mark as U+FFFD; arguments that contain one are
//! unreadable.

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use std::{borrow::Cow, fmt, ops::Range};

pub(super) const MARK: char = '\u{fdd0}';
/// The rest of the mark that replaces invalid UTF-8.
pub(super) const INVALID: &str = "fffd";

/// Parses one JSON value; `None` if it is not valid.
pub(in crate::llm) fn read(bytes: &[u8]) -> Option<Value> {
    let text = decoded(bytes);
    let marked = marked(&text);
    let mut reader = serde_json::Deserializer::from_str(&marked);
    let value = Exact.deserialize(&mut reader).ok()?;
    reader.end().ok()?;
    Some(value)
}

/// Whether the value contains no mark.
pub(in crate::llm) fn is_exact(value: &Value) -> bool {
    match value {
        Value::String(text) => !text.contains(MARK),
        Value::Array(all) => all.iter().all(is_exact),
        Value::Object(all) => all.iter().all(|(key, one)| !key.contains(MARK) && is_exact(one)),
        _ => true,
    }
}

/// The text for display, with U+FFFD in place of marks.
pub(in crate::llm) fn without_marks(text: &str) -> String {
    text.replace(&format!("{MARK}{INVALID}"), "\u{fffd}").replace(MARK, "\u{fffd}")
}

/// Replaces invalid UTF-8 with a mark.
fn decoded(bytes: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return Cow::Borrowed(text);
    }
    let mut text = String::with_capacity(bytes.len() + INVALID.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        if !chunk.invalid().is_empty() {
            text.push(MARK);
            text.push_str(INVALID);
        }
    }
    Cow::Owned(text)
}

/// Replaces halves of surrogate pairs, and numbers that would lose digits, with marks.
fn marked(text: &str) -> Cow<'_, str> {
    let mut result = String::new();
    let mut copied = 0;
    let mut at = 0;
    let mut in_string = false;
    let bytes = text.as_bytes();
    while at < bytes.len() {
        let (end, mark) = match bytes[at] {
            b'"' => {
                in_string = !in_string;
                (at + 1, None)
            }
            b'\\' if in_string => escape(text, at),
            b'-' | b'0'..=b'9' if !in_string => number(text, at),
            _ => (at + 1, None),
        };
        if let Some(mark) = mark {
            result.push_str(&text[copied..at]);
            result.push_str(&mark);
            copied = end;
        }
        at = end;
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    result.push_str(&text[copied..]);
    Cow::Owned(result)
}

/// The end of the escape at this position, and its mark if it is half of a surrogate pair.
fn escape(text: &str, at: usize) -> (usize, Option<String>) {
    match unit(text, at) {
        Some(0xd800..=0xdbff) if matches!(unit(text, at + 6), Some(0xdc00..=0xdfff)) => {
            (at + 12, None)
        }
        Some(half @ 0xd800..=0xdfff) => (at + 6, Some(format!("{MARK}{half:04x}"))),
        Some(_) => (at + 6, None),
        // The next byte is ASCII in valid JSON; otherwise the parser reports the error.
        None => (at + if text.is_char_boundary(at + 2) { 2 } else { 1 }, None),
    }
}

/// The UTF-16 unit of the escape `\uXXXX` at this position.
fn unit(text: &str, at: usize) -> Option<u16> {
    let digits = text.get(at..at + 6)?.strip_prefix("\\u")?;
    let is_hex = digits.bytes().all(|b| b.is_ascii_hexdigit());
    is_hex.then(|| u16::from_str_radix(digits, 16).ok()).flatten()
}

/// The end of the number at this position, and its mark if it cannot be represented.
fn number(text: &str, at: usize) -> (usize, Option<String>) {
    let is_part = |b: &u8| b.is_ascii_digit() || matches!(b, b'+' | b'-' | b'.' | b'e' | b'E');
    let length = text.as_bytes()[at..].iter().take_while(|b| is_part(b)).count();
    let range: Range<usize> = at..at + length;
    let written = &text[range.clone()];
    let mark = (!is_represented(written)).then(|| format!("\"{MARK}{written}\""));
    (range.end, mark)
}

/// Whether a number keeps its value when parsed. The parser reports a number that is not valid
/// JSON.
fn is_represented(written: &str) -> bool {
    if written.parse::<i64>().is_ok() || written.parse::<u64>().is_ok() {
        return true;
    }
    let Ok(number) = written.parse::<f64>() else { return true };
    match (Decimal::of(written), Decimal::of(&number.to_string())) {
        (Some(one), Some(other)) => one == other,
        _ => false,
    }
}

/// A decimal number without leading and trailing zeros.
#[derive(Debug, PartialEq, Eq)]
struct Decimal {
    is_negative: bool,
    digits: String,
    exponent: i64,
}

impl Decimal {
    fn of(written: &str) -> Option<Self> {
        let (mantissa, power) = written.split_once(['e', 'E']).unwrap_or((written, "0"));
        let unsigned = mantissa.strip_prefix('-').unwrap_or(mantissa);
        let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
        let digits = format!("{whole}{fraction}");
        let trimmed = digits.trim_end_matches('0');
        let dropped = (digits.len() - trimmed.len()) as i64;
        let trimmed = trimmed.trim_start_matches('0');
        let exponent = power.parse::<i64>().ok()?.checked_add(dropped - fraction.len() as i64)?;
        let is_zero = trimmed.is_empty();
        Some(Self {
            is_negative: mantissa.starts_with('-') && !is_zero,
            digits: trimmed.to_owned(),
            exponent: if is_zero { 0 } else { exponent },
        })
    }
}

/// Builds a value, and marks the values of duplicate keys.
struct Exact;

impl<'de> DeserializeSeed<'de> for Exact {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Value, D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Exact {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom("not a number"))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E: Error>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut all = Vec::new();
        while let Some(one) = items.next_element_seed(Self)? {
            all.push(one);
        }
        Ok(Value::Array(all))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut all = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            let value = entries.next_value_seed(Self)?;
            if all.contains_key(&key) {
                all.insert(key, format!("{MARK}twice").into());
            } else {
                all.insert(key, value);
            }
        }
        Ok(Value::Object(all))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn parsed(text: &str) -> Value {
        read(text.as_bytes()).expect("valid JSON")
    }

    #[test]
    fn representable_json_is_kept() {
        for text in [
            r#"{"a":[1,-2,0.1,1e3,2.50,-0,1e-7,18446744073709551615,true,null],"é":"\u00e9 😀"}"#,
            r#""\ud83d\ude00 \\ud83d \" \/""#,
            "-12.0e+2",
        ] {
            let value = parsed(text);
            assert!(is_exact(&value), "{value}");
            assert_eq!(value, serde_json::from_str::<Value>(text).expect("valid JSON"));
        }
    }

    #[test]
    fn lossy_json_is_marked() {
        for text in [
            r#"{"n":123456789012345678901}"#,
            r#"{"n":0.1000000000000000055511151231257827}"#,
            r#"{"a":1,"b":{"a":2,"a":2}}"#,
            r#"["\ud83d"]"#,
            r#"["\ude00\ud83d"]"#,
        ] {
            assert!(!is_exact(&parsed(text)), "{text}");
        }
        assert!(!is_exact(&read(b"{\"a\":\"\xff\"}").expect("valid JSON")));
        assert_eq!(parsed(r#""a\ud83d""#), json!(format!("a{MARK}d83d")));
    }

    #[test]
    fn invalid_json_is_rejected() {
        for text in ["", "{", "{\"a\":}", "nul", "1 2", "{\"a\":1}x", "\"\\", "\"\\é\"", "--1"] {
            assert_eq!(read(text.as_bytes()), None, "{text}");
        }
    }
}
