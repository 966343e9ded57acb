//! Conditions such as `">5"` of `COUNTIF` and similar functions, and texts with `*` and `?`.

use super::expr::Op;
use super::parse::COMPARISONS;
use super::value::{Value, compare};
use super::words;

/// A longer text has no wildcards.
const PATTERN_CHARS: usize = 255;

/// What cells have to satisfy.
pub struct Condition {
    op: Op,
    wanted: Value,
    /// Whether it is written with a sign such as `=`.
    has_sign: bool,
}

impl Condition {
    /// `">5"` is a comparison with 5, anything else an equality test.
    pub fn of(wanted: &Value) -> Self {
        let Value::Text(text) = wanted else {
            return Self { op: Op::Equal, wanted: wanted.clone(), has_sign: false };
        };
        let signed = COMPARISONS
            .iter()
            .find_map(|(sign, op)| text.strip_prefix(sign).map(|rest| (*op, rest)));
        let (op, rest) = signed.unwrap_or((Op::Equal, text.as_str()));
        let wanted = match rest.to_uppercase().as_str() {
            "TRUE" => Value::Bool(true),
            "FALSE" => Value::Bool(false),
            _ => words::parsed(rest).map_or_else(|| Value::Text(rest.to_owned()), Value::Number),
        };
        Self { op, wanted, has_sign: signed.is_some() }
    }

    /// Whether a cell satisfies the condition. A blank cell is equal to nothing but an empty text.
    pub fn is_met(&self, value: &Value) -> bool {
        let is_text = |value: &Value| matches!(value, Value::Text(_));
        match (self.op, &self.wanted, value) {
            (Op::Equal, wanted, value) => self.is_equal(wanted, value),
            (Op::NotEqual, wanted, value) => !self.is_equal(wanted, value),
            (_, _, Value::Blank) => false,
            (op, wanted, value) => {
                is_text(value) == is_text(wanted)
                    && compare(value, op, wanted) == Ok(Value::Bool(true))
            }
        }
    }

    fn is_equal(&self, wanted: &Value, value: &Value) -> bool {
        match (wanted, value) {
            (Value::Text(wanted), Value::Blank) => wanted.is_empty(),
            (Value::Text(wanted), Value::Text(_)) if wanted.is_empty() && self.has_sign => false,
            (Value::Text(wanted), Value::Text(text)) => is_like(text, wanted),
            (Value::Text(_), _) | (_, Value::Text(_) | Value::Blank) => false,
            (wanted, value) => compare(value, Op::Equal, wanted) == Ok(Value::Bool(true)),
        }
    }
}

/// A letter of a pattern.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PatternPart {
    Letter(char),
    /// `?`
    One,
    /// `*`
    Any,
}

/// The parts of a pattern in lower case. `~` makes the next sign a letter.
fn parts(pattern: &str) -> Vec<PatternPart> {
    let has_wildcards = pattern.chars().count() <= PATTERN_CHARS;
    let pattern = pattern.to_lowercase();
    let mut parts = Vec::new();
    let mut letters = pattern.chars().peekable();
    while let Some(letter) = letters.next() {
        parts.push(match letter {
            '?' if has_wildcards => PatternPart::One,
            '*' if has_wildcards => PatternPart::Any,
            '~' if has_wildcards => {
                let escaped = letters.next_if(|next| matches!(next, '?' | '*' | '~'));
                PatternPart::Letter(escaped.unwrap_or('~'))
            }
            letter => PatternPart::Letter(letter),
        });
    }
    parts
}

/// Whether a text is like a pattern with `*` and `?`, regardless of the case.
pub fn is_like(text: &str, pattern: &str) -> bool {
    if !pattern.contains(['*', '?', '~']) {
        return text.to_lowercase() == pattern.to_lowercase();
    }
    let text: Vec<char> = text.to_lowercase().chars().collect();
    ends_like(&text, &parts(pattern))
}

/// Whether the letters up to the end are like the parts. Of several `*`, only the last one is tried
/// at other places, as the others have matched as early as possible.
fn ends_like(text: &[char], parts: &[PatternPart]) -> bool {
    let (mut at, mut part) = (0, 0);
    let mut retry = None;
    while at < text.len() {
        match parts.get(part) {
            Some(PatternPart::Any) => {
                part += 1;
                retry = Some((part, at));
            }
            Some(PatternPart::One) => (at, part) = (at + 1, part + 1),
            Some(PatternPart::Letter(letter)) if *letter == text[at] => {
                (at, part) = (at + 1, part + 1);
            }
            _ => {
                let Some((after_any, from)) = retry else { return false };
                (at, part) = (from + 1, after_any);
                retry = Some((after_any, at));
            }
        }
    }
    parts[part..].iter().all(|part| *part == PatternPart::Any)
}

/// The number of letters before the first place in a text that is like a pattern.
pub fn place_of(text: &[char], pattern: &str) -> Option<usize> {
    let lower = |letter: &char| letter.to_lowercase().next().unwrap_or(*letter);
    let text: Vec<char> = text.iter().map(lower).collect();
    let parts = parts(pattern);
    let any = parts.iter().position(|part| *part == PatternPart::Any).unwrap_or(parts.len());
    let (begin, rest) = parts.split_at(any);
    let begins = |from: &usize| {
        let letters = text[*from..].iter().zip(begin);
        letters.clone().count() == begin.len()
            && letters.into_iter().all(|(letter, part)| match part {
                PatternPart::Letter(wanted) => wanted == letter,
                _ => true,
            })
    };
    let from = (0..=text.len()).find(begins)?;
    // If the rest is not after the first place, it is not after a later one either.
    let rest = [rest, &[PatternPart::Any]].concat();
    ends_like(&text[from + begin.len()..], &rest).then_some(from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_have_wildcards() {
        for (text, pattern) in [
            ("", ""),
            ("", "*"),
            ("North", "n*"),
            ("North", "*TH"),
            ("North", "?or??"),
            ("North", "*o*t*"),
            ("aXbXc", "*x*x*"),
            ("50*", "50~*"),
            ("a~b", "a~b"),
        ] {
            assert!(is_like(text, pattern), "{text} {pattern}");
        }
        for (text, pattern) in
            [("", "?"), ("North", "n"), ("North", "?or?"), ("50 %", "50~*"), ("ab", "*a")]
        {
            assert!(!is_like(text, pattern), "{text} {pattern}");
        }
        let text: Vec<char> = "ab?b".chars().collect();
        assert_eq!(
            ["b", "~?", "?b", "a*", "x"].map(|part| place_of(&text, part)),
            [Some(1), Some(2), Some(0), Some(0), None]
        );
    }

    #[test]
    fn blank_cells_are_equal_to_an_empty_text() {
        let text = |text: &str| Value::Text(text.to_owned());
        let met = |condition: &str| {
            let cells = [Value::Blank, text(""), text("a"), Value::Number(1.0)];
            cells.map(|cell| Condition::of(&text(condition)).is_met(&cell))
        };
        assert_eq!(met(""), [true, true, false, false]);
        assert_eq!(met("="), [true, false, false, false]);
        assert_eq!(met("<>"), [false, true, true, true]);
        assert_eq!(met("<>1"), [true, true, true, false]);
        assert_eq!(met("<>a"), [true, true, false, true]);
        assert_eq!(met("<5"), [false, false, false, true]);
    }
}
