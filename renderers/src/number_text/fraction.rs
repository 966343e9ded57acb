//! Numbers as fractions: `2.5` as `2 1/2`.

use super::digits::{padded, push_literal};
use super::parts::FormatPart;

/// The largest number that is shown as a fraction.
const MAX_NUMBER: f64 = 1e15;
/// The maximum number of digits of a denominator.
const MAX_DIGITS: u32 = 5;

/// The parts of a section with a fraction.
struct FractionPlaces {
    /// The line of the fraction.
    line: usize,
    /// The first placeholder of the numerator.
    numerator: usize,
    /// The index after the denominator.
    end: usize,
    has_whole: bool,
}

impl FractionPlaces {
    fn of(parts: &[FormatPart]) -> Option<Self> {
        let is_digit = |part: &FormatPart| matches!(part, FormatPart::Digit(_));
        let line = parts.iter().position(|part| matches!(part, FormatPart::Over(_)))?;
        let above = parts[..line].iter().rev().take_while(|part| is_digit(part)).count();
        let below = parts[line + 1..].iter().take_while(|part| is_digit(part)).count();
        let is_fraction = above > 0 && (below > 0 || parts[line] != FormatPart::Over(None));
        let numerator = line - above;
        let has_whole = parts[..numerator].iter().any(is_digit);
        is_fraction.then_some(Self { line, numerator, end: line + 1 + below, has_whole })
    }
}

/// The placeholders among some parts.
fn placeholders(parts: &[FormatPart]) -> Vec<char> {
    let place = |part: &FormatPart| match part {
        FormatPart::Digit(place) => Some(*place),
        _ => None,
    };
    parts.iter().filter_map(place).collect()
}

/// The number in a section with a fraction; `None` if it has none, or the number is too large.
pub fn fraction(value: f64, parts: &[FormatPart]) -> Option<String> {
    let places = FractionPlaces::of(parts)?;
    let size = value.abs();
    (size < MAX_NUMBER).then_some(())?;
    let mut whole = if places.has_whole { size.trunc() } else { 0.0 };
    let rest = size - whole;
    let (mut above, below) = match parts[places.line] {
        FormatPart::Over(Some(denominator)) => {
            let below = f64::from(denominator);
            ((rest * below).round(), below)
        }
        _ => nearest(rest, (places.end - places.line - 1) as u32),
    };
    if places.has_whole && above >= below {
        (whole, above) = (whole + 1.0, 0.0);
    }
    let whole_marks = placeholders(&parts[..places.numerator]);
    let above_marks = placeholders(&parts[places.numerator..places.line]);
    let below_marks = placeholders(&parts[places.line + 1..places.end]);
    // The first placeholder shows the whole number.
    let number = if whole == 0.0 && above > 0.0 { String::new() } else { format!("{whole:.0}") };
    let mut number = Some(padded(&number, &whole_marks));
    let fraction = format!(
        "{}/{}",
        padded(&format!("{above:.0}"), &above_marks),
        denominator(below, &below_marks)
    );
    let is_hidden = places.has_whole && above == 0.0 && !above_marks.contains(&'0');
    let is_zero = whole == 0.0 && above == 0.0;
    let mut text = if value < 0.0 && !is_zero { "-".to_owned() } else { String::new() };
    for (at, part) in parts.iter().enumerate() {
        match part {
            _ if at == places.numerator && is_hidden => {
                text.extend(std::iter::repeat_n(' ', fraction.chars().count()));
            }
            _ if at == places.numerator => text.push_str(&fraction),
            _ if (places.numerator..places.end).contains(&at) => {}
            FormatPart::Digit(_) => text.push_str(&number.take().unwrap_or_default()),
            other => push_literal(&mut text, other),
        }
    }
    Some(text)
}

/// The denominator, whose spaces follow it.
fn denominator(below: f64, marks: &[char]) -> String {
    let digits = format!("{below:.0}");
    if marks.first() == Some(&'?') {
        let missing = marks.len().saturating_sub(digits.len());
        digits + &" ".repeat(missing)
    } else {
        padded(&digits, marks)
    }
}

/// The fraction nearest to a number whose denominator has at most this many digits, by its
/// continued fraction.
fn nearest(number: f64, digits: u32) -> (f64, f64) {
    let max = 10_f64.powi(digits.min(MAX_DIGITS) as i32) - 1.0;
    let (mut above, mut above_before) = (1.0, 0.0);
    let (mut below, mut below_before) = (0.0, 1.0);
    let mut rest = number;
    loop {
        let step = rest.floor();
        let next = step * below + below_before;
        if next > max {
            break;
        }
        (above, above_before) = (step * above + above_before, above);
        (below, below_before) = (next, below);
        let left = rest - step;
        // What is left of a binary fraction is no part of the number.
        if left < 1e-9 {
            return (above, below);
        }
        rest = 1.0 / left;
    }
    // The last step may be shorter.
    let step = ((max - below_before) / below).floor();
    let (semi_above, semi_below) = (step * above + above_before, step * below + below_before);
    let distance = |above: f64, below: f64| (number - above / below).abs();
    if distance(semi_above, semi_below) < distance(above, below) {
        (semi_above, semi_below)
    } else {
        (above, below)
    }
}
