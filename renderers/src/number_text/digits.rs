//! Numbers by the placeholders of their digits.

use std::fmt::Write as _;

use super::{Separators, parts::FormatPart};

/// The maximum number of decimals that are written.
pub const DECIMALS: usize = 15;

/// A number in a section with placeholders for digits.
pub fn number(value: f64, parts: &[FormatPart], separators: Separators) -> String {
    let places = Places::of(parts);
    let percents = parts.iter().filter(|part| **part == FormatPart::Percent).count();
    let value = value * 100_f64.powi(percents as i32) / 1_000_f64.powi(places.scale as i32);
    let (number, exponent) = places.rounded(value.abs(), parts);
    let is_zero = number.bytes().all(|b| matches!(b, b'0' | b'.'));
    let (whole, fraction) = number.split_once('.').unwrap_or((&number, ""));
    let whole = Whole { digits: whole.trim_start_matches('0'), places: &places, separators };
    let decimals = decimals(fraction, parts, &places);
    let mut text = if value < 0.0 && !is_zero { "-".to_owned() } else { String::new() };
    let (mut whole_at, mut decimal_at) = (0, 0);
    for (at, part) in parts.iter().enumerate() {
        match part {
            FormatPart::Digit(place) if places.is_whole(at) => {
                whole.write(&mut text, whole_at, *place);
                whole_at += 1;
            }
            FormatPart::Digit(_) => {
                text.push_str(decimals.get(decimal_at).map_or("", String::as_str));
                decimal_at += 1;
            }
            FormatPart::Point if places.point == Some(at) => {
                if places.whole == 0 {
                    text.push_str(whole.digits);
                }
                let has_decimals = decimals.iter().any(|decimal| !decimal.is_empty());
                text.extend(has_decimals.then_some(separators.decimals));
            }
            FormatPart::Exponent { digits, has_plus } => {
                let sign = match exponent {
                    ..0 => "-",
                    _ if *has_plus => "+",
                    _ => "",
                };
                let digits = *digits;
                let _ = write!(text, "E{sign}{:0digits$}", exponent.abs());
            }
            other => push_literal(&mut text, other),
        }
    }
    text
}

/// Writes a part that depends on no number.
pub fn push_literal(text: &mut String, part: &FormatPart) {
    match part {
        FormatPart::Literal(literal) => text.push_str(literal),
        FormatPart::Percent => text.push('%'),
        FormatPart::Over(None) => text.push('/'),
        FormatPart::Over(Some(number)) => {
            let _ = write!(text, "/{number}");
        }
        _ => {}
    }
}

/// Digits in the places of some placeholders, without separators.
pub fn padded(digits: &str, placeholders: &[char]) -> String {
    let missing = placeholders.len().saturating_sub(digits.chars().count());
    let padding = placeholders.iter().take(missing).filter_map(|place| filler(*place));
    padding.chain(digits.chars()).collect()
}

/// What a placeholder without a digit shows.
fn filler(place: char) -> Option<char> {
    match place {
        '0' => Some('0'),
        '?' => Some(' '),
        _ => None,
    }
}

/// The placeholders of a section.
struct Places {
    point: Option<usize>,
    /// The index after the last placeholder that is not one of decimals.
    end_of_whole: usize,
    /// The number of placeholders before the point.
    whole: usize,
    decimals: usize,
    is_grouped: bool,
    /// How often the number is divided by a thousand.
    scale: usize,
}

impl Places {
    fn of(parts: &[FormatPart]) -> Self {
        let is_digit = |part: &FormatPart| matches!(part, FormatPart::Digit(_));
        let exponent = parts.iter().position(|part| matches!(part, FormatPart::Exponent { .. }));
        let mantissa = &parts[..exponent.unwrap_or(parts.len())];
        let point = mantissa.iter().position(|part| *part == FormatPart::Point);
        let last = mantissa.iter().rposition(is_digit).unwrap_or(0);
        let end_of_whole = point.unwrap_or(mantissa.len());
        let whole = &mantissa[..end_of_whole];
        let first = whole.iter().position(is_digit).unwrap_or(0);
        let last_whole = whole.iter().rposition(is_digit).unwrap_or(0);
        let commas = |parts: &[FormatPart]| {
            parts.iter().take_while(|part| **part == FormatPart::Comma).count()
        };
        // Commas after the last digit, before or after the point, divide by a thousand each.
        let after_whole = whole.get(last_whole + 1..).unwrap_or_default();
        let mut scale = commas(after_whole);
        if last > last_whole && point.is_some() {
            scale += commas(&mantissa[last + 1..]);
        }
        Self {
            point,
            end_of_whole,
            whole: whole.iter().filter(|part| is_digit(part)).count(),
            decimals: mantissa[end_of_whole..].iter().filter(|part| is_digit(part)).count(),
            is_grouped: whole[first..last_whole].contains(&FormatPart::Comma),
            scale,
        }
    }

    fn is_whole(&self, at: usize) -> bool {
        at < self.end_of_whole
    }

    /// The digits of a positive number, and its exponent.
    fn rounded(&self, value: f64, parts: &[FormatPart]) -> (String, i32) {
        let decimals = self.decimals.min(DECIMALS);
        let has_exponent = parts.iter().any(|part| matches!(part, FormatPart::Exponent { .. }));
        if !has_exponent || value == 0.0 || !value.is_finite() {
            return (rounded(value, decimals), 0);
        }
        // The exponent is a multiple of the number of placeholders before the point.
        let step = self.whole.max(1) as i32;
        let mut exponent = (value.log10().floor() as i32).div_euclid(step) * step;
        let digits = |exponent: i32| {
            // In two steps, since a power of ten may be too large.
            let half = exponent / 2;
            rounded(value / 10_f64.powi(half) / 10_f64.powi(exponent - half), decimals)
        };
        let mut number = digits(exponent);
        if number.split('.').next().map_or(0, str::len) > step as usize {
            exponent += step;
            number = digits(exponent);
        }
        (number, exponent)
    }
}

/// The digits before the decimal point, without leading zeros.
struct Whole<'d> {
    digits: &'d str,
    places: &'d Places,
    separators: Separators,
}

impl Whole<'_> {
    /// Writes what a placeholder shows: the first one all digits for which there is no other.
    fn write(&self, text: &mut String, at: usize, place: char) {
        let count = self.places.whole;
        let after = count - 1 - at;
        let known = self.digits.len();
        let digits = if at == 0 && known > count {
            &self.digits[..known - after]
        } else if known > after {
            &self.digits[known - after - 1..known - after]
        } else {
            ""
        };
        for (index, digit) in digits.char_indices() {
            text.push(digit);
            self.separate(text, digits.len() - 1 - index + after, self.separators.thousands);
        }
        if let Some(filler) = filler(place).filter(|_| digits.is_empty()) {
            text.push(filler);
            let separator = if filler == '0' { self.separators.thousands } else { ' ' };
            self.separate(text, after, separator);
        }
    }

    /// Writes the separator of thousands after a digit, which `after` others follow.
    fn separate(&self, text: &mut String, after: usize, separator: char) {
        if self.places.is_grouped && after > 0 && after.is_multiple_of(3) {
            text.push(separator);
        }
    }
}

/// What each placeholder of the decimals shows.
fn decimals(fraction: &str, parts: &[FormatPart], places: &Places) -> Vec<String> {
    let is_decimal = |(at, part): (usize, &FormatPart)| match part {
        FormatPart::Digit(place) if !places.is_whole(at) => Some(*place),
        _ => None,
    };
    let marks: Vec<char> = parts.iter().enumerate().filter_map(is_decimal).take(DECIMALS).collect();
    let last_zero = marks.iter().rposition(|place| *place == '0').map_or(0, |at| at + 1);
    let kept = fraction.trim_end_matches('0').len().max(last_zero);
    let shown = |(at, place): (usize, &char)| match fraction.get(at..=at) {
        Some(digit) if at < kept => digit.to_owned(),
        _ if *place == '?' => " ".to_owned(),
        _ => String::new(),
    };
    marks.iter().enumerate().map(shown).collect()
}

/// Rounds half away from zero on the digits that people see.
fn rounded(value: f64, decimals: usize) -> String {
    let factor = 10_f64.powi(decimals as i32);
    let scaled = value * factor;
    if scaled < 1e15 {
        let seen: f64 = format!("{scaled:.6}").parse().unwrap_or(scaled);
        return format!("{:.decimals$}", seen.round() / factor);
    }
    format!("{value:.decimals$}")
}
