//! Numbers and dates as text, by the number formats of spreadsheets (ECMA-376 part 1, 18.8.31).

use std::{fmt::Write as _, ops::RangeInclusive};

use chrono::{Datelike as _, Duration, NaiveDate, NaiveDateTime, Timelike as _};

/// The maximum number of decimals that are written.
const DECIMALS: usize = 15;

/// The number as a cell of this format shows it.
pub fn shown(value: f64, format: &str) -> String {
    let sections = sections(format);
    let (at, value) = match (sections.len(), value) {
        (2.., value) if value < 0.0 => (1, -value),
        (3.., 0.0) => (2, value),
        _ => (0, value),
    };
    let section = sections.get(at).map_or("", String::as_str);
    let plain = section.trim();
    if plain.is_empty() || plain.eq_ignore_ascii_case("general") || plain == "@" {
        return general(value);
    }
    let parts = parts(section);
    if parts.iter().any(|part| matches!(part, FormatPart::Date(_))) {
        return moment(value, &parts).unwrap_or_else(|| general(value));
    }
    number(value, &parts)
}

/// Whether a format shows dates or times.
pub fn is_date(format: &str) -> bool {
    sections(format)
        .first()
        .is_some_and(|first| parts(first).iter().any(|part| matches!(part, FormatPart::Date(_))))
}

/// A number without a format: at most eleven characters, as in a spreadsheet.
pub fn general(value: f64) -> String {
    let size = value.abs();
    if size != 0.0 && !(1e-9..1e15).contains(&size) {
        return format!("{value:E}");
    }
    // Fifteen digits hide the error of binary fractions.
    let whole = size.log10().floor().max(0.0) as usize + 1;
    let text = format!("{value:.*}", DECIMALS.saturating_sub(whole));
    let text =
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

/// The sections for positive and negative numbers, zero and text; colours and conditions in
/// brackets are removed.
fn sections(format: &str) -> Vec<String> {
    let mut sections = vec![String::new()];
    let mut chars = format.chars();
    while let Some(c) = chars.next() {
        let section = sections.last_mut().expect("there is always a section");
        match c {
            ';' => sections.push(String::new()),
            '"' => {
                section.push('"');
                section.extend(chars.by_ref().take_while(|c| *c != '"'));
                section.push('"');
            }
            '\\' => section.extend([Some('\\'), chars.next()].into_iter().flatten()),
            '[' => {
                let inside: String = chars.by_ref().take_while(|c| *c != ']').collect();
                let is_time = !inside.is_empty()
                    && inside.chars().all(|c| matches!(c.to_ascii_lowercase(), 'h' | 'm' | 's'));
                if let Some(currency) = inside.strip_prefix('$') {
                    let sign = currency.split('-').next().unwrap_or_default();
                    section.extend(["\"", sign, "\""]);
                } else if is_time {
                    section.extend(["[", &inside, "]"]);
                }
            }
            c => section.push(c),
        }
    }
    sections
}

#[derive(Debug, PartialEq)]
enum FormatPart {
    Literal(String),
    /// `0`, `#` or `?`
    Digit(char),
    Point,
    Comma,
    Percent,
    /// The exponent and its number of digits.
    Exponent(usize),
    /// A run of `y`, `m`, `d`, `h` or `s`, `[h]`, `AM/PM` or fractions of seconds.
    Date(String),
}

fn parts(section: &str) -> Vec<FormatPart> {
    let mut parts = Vec::new();
    let mut chars = section.chars().peekable();
    while let Some(c) = chars.next() {
        let lower = c.to_ascii_lowercase();
        parts.push(match c {
            '"' => FormatPart::Literal(chars.by_ref().take_while(|c| *c != '"').collect()),
            '\\' => FormatPart::Literal(chars.next().into_iter().collect()),
            '_' => {
                chars.next();
                FormatPart::Literal(" ".to_owned())
            }
            '*' => {
                chars.next();
                continue;
            }
            '0' | '#' | '?' => FormatPart::Digit(c),
            '.' => FormatPart::Point,
            ',' => FormatPart::Comma,
            '%' => FormatPart::Percent,
            'E' | 'e' if matches!(chars.peek(), Some('+' | '-')) => {
                chars.next();
                let mut digits = 0;
                while chars.next_if_eq(&'0').is_some() {
                    digits += 1;
                }
                FormatPart::Exponent(digits)
            }
            '[' => {
                let inside: String = chars.by_ref().take_while(|c| *c != ']').collect();
                FormatPart::Date(format!("[{}]", inside.to_ascii_lowercase()))
            }
            'A' | 'a' if chars.clone().take(4).collect::<String>().eq_ignore_ascii_case("m/pm") => {
                chars.by_ref().take(4).for_each(drop);
                FormatPart::Date("am/pm".to_owned())
            }
            _ if matches!(lower, 'y' | 'm' | 'd' | 'h' | 's') => {
                let mut run = lower.to_string();
                while chars.next_if(|next| next.to_ascii_lowercase() == lower).is_some() {
                    run.push(lower);
                }
                FormatPart::Date(run)
            }
            c => FormatPart::Literal(c.to_string()),
        });
    }
    parts
}

fn number(value: f64, parts: &[FormatPart]) -> String {
    let percents = parts.iter().filter(|part| **part == FormatPart::Percent).count();
    let last_digit = parts.iter().rposition(|part| matches!(part, FormatPart::Digit(_)));
    let point = parts.iter().position(|part| *part == FormatPart::Point);
    let Some(last_digit) = last_digit else { return literals(parts) };
    let first_digit =
        parts.iter().position(|part| matches!(part, FormatPart::Digit(_))).unwrap_or(0);
    let end_of_whole = point.unwrap_or(last_digit + 1);
    // Commas after the last digit divide by a thousand each.
    let scale =
        parts[last_digit + 1..].iter().take_while(|part| **part == FormatPart::Comma).count();
    let inside = parts.get(first_digit..end_of_whole).unwrap_or_default();
    let is_grouped = inside.contains(&FormatPart::Comma);
    let digits = |from: usize, to: usize, is: fn(char) -> bool| {
        let range = parts.get(from..to).unwrap_or_default();
        range.iter().filter(|part| matches!(part, FormatPart::Digit(c) if is(*c))).count()
    };
    let min_whole = digits(first_digit, end_of_whole, |c| c == '0');
    let decimals = point.map_or(0..=0, |point| {
        let max = digits(point, last_digit + 1, |_| true).min(DECIMALS);
        digits(point, last_digit + 1, |c| c == '0').min(max)..=max
    });
    let mut value = value * 100_f64.powi(percents as i32) / 1_000_f64.powi(scale as i32);
    let mut exponent = 0;
    let has_exponent = parts.iter().any(|part| matches!(part, FormatPart::Exponent(_)));
    if has_exponent && value != 0.0 {
        exponent = value.abs().log10().floor() as i32;
        value /= 10_f64.powi(exponent);
    }
    let body = body(value.abs(), WholeDigits { min: min_whole, is_grouped }, decimals);
    let is_zero = body.bytes().all(|b| matches!(b, b'0' | b'.' | b','));
    let mut text = if value < 0.0 && !is_zero { "-".to_owned() } else { String::new() };
    for (at, part) in parts.iter().enumerate() {
        match part {
            _ if at == first_digit => text.push_str(&body),
            FormatPart::Literal(literal) => text.push_str(literal),
            FormatPart::Percent => text.push('%'),
            FormatPart::Exponent(digits) => {
                let (sign, digits) = (if exponent < 0 { '-' } else { '+' }, *digits);
                let _ = write!(text, "E{sign}{:0digits$}", exponent.abs());
            }
            _ => {}
        }
    }
    text.trim().to_owned()
}

fn literals(parts: &[FormatPart]) -> String {
    let text = parts.iter().map(|part| match part {
        FormatPart::Literal(text) => text.as_str(),
        FormatPart::Percent => "%",
        _ => "",
    });
    text.collect::<String>().trim().to_owned()
}

/// The digits before the decimal point.
struct WholeDigits {
    min: usize,
    is_grouped: bool,
}

/// The digits of a positive number.
fn body(value: f64, whole: WholeDigits, decimals: RangeInclusive<usize>) -> String {
    let WholeDigits { min: min_whole, is_grouped } = whole;
    let text = rounded(value, *decimals.end());
    let (digits, fraction) = text.split_once('.').unwrap_or((&text, ""));
    let digits = if digits == "0" && min_whole == 0 { "" } else { digits };
    let digits = format!("{digits:0>min_whole$}");
    let mut grouped = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if is_grouped && at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    let keep = fraction.trim_end_matches('0').len().max(*decimals.start());
    if keep == 0 { grouped } else { format!("{grouped}.{}", &fraction[..keep]) }
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

/// The date of a serial number: days since 30 December 1899.
pub fn date_time(serial: f64) -> Option<NaiveDateTime> {
    let epoch = NaiveDate::from_ymd_opt(1899, 12, 30)?.and_hms_opt(0, 0, 0)?;
    let millis = (serial * 86_400_000.0).round();
    (millis.abs() < 2.6e14).then_some(())?;
    epoch.checked_add_signed(Duration::milliseconds(millis as i64))
}

fn moment(serial: f64, parts: &[FormatPart]) -> Option<String> {
    let at = date_time(serial)?;
    let has_half = parts.iter().any(|part| matches!(part, FormatPart::Date(run) if run == "am/pm"));
    let mut text = String::new();
    for (index, part) in parts.iter().enumerate() {
        match part {
            FormatPart::Date(run) => {
                let is_minute = run.starts_with('m') && is_minute(parts, index);
                let hour = if has_half { (at.hour() + 11) % 12 + 1 } else { at.hour() };
                let shown = match run.as_str() {
                    "m" if is_minute => at.minute().to_string(),
                    "mm" if is_minute => format!("{:02}", at.minute()),
                    "h" => hour.to_string(),
                    "hh" => format!("{hour:02}"),
                    run => piece(run, at, serial),
                };
                text.push_str(&shown);
            }
            FormatPart::Literal(literal) => text.push_str(literal),
            FormatPart::Point => text.push('.'),
            FormatPart::Comma => text.push(','),
            FormatPart::Digit(c) => text.push(*c),
            FormatPart::Percent | FormatPart::Exponent(_) => {}
        }
    }
    Some(text.trim().to_owned())
}

/// `m` is a minute after hours and before seconds.
fn is_minute(parts: &[FormatPart], at: usize) -> bool {
    let is = |part: Option<&FormatPart>, sign: char| matches!(part, Some(FormatPart::Date(run)) if run.trim_matches(['[', ']']).starts_with(sign));
    let dates = |part: &&FormatPart| matches!(part, FormatPart::Date(_));
    is(parts[..at].iter().rev().find(dates), 'h') || is(parts[at + 1..].iter().find(dates), 's')
}

fn piece(run: &str, at: NaiveDateTime, serial: f64) -> String {
    let seconds = (serial * 86_400.0).round();
    match run {
        "yy" | "y" => format!("{:02}", at.year() % 100),
        _ if run.starts_with('y') => format!("{:04}", at.year()),
        "m" => at.month().to_string(),
        "mm" => format!("{:02}", at.month()),
        "mmm" => at.format("%b").to_string(),
        "mmmm" => at.format("%B").to_string(),
        "d" => at.day().to_string(),
        "dd" => format!("{:02}", at.day()),
        "ddd" => at.format("%a").to_string(),
        "dddd" => at.format("%A").to_string(),
        "s" => at.second().to_string(),
        "ss" => format!("{:02}", at.second()),
        "[h]" => format!("{:.0}", (seconds / 3_600.0).floor()),
        "[hh]" => format!("{:02.0}", (seconds / 3_600.0).floor()),
        "[m]" | "[mm]" => format!("{:.0}", (seconds / 60.0).floor()),
        "[s]" | "[ss]" => format!("{seconds:.0}"),
        "am/pm" => if at.hour() < 12 { "AM" } else { "PM" }.to_owned(),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_look_as_in_a_spreadsheet() {
        for (value, format, text) in [
            (0.1, "0%", "10%"),
            (0.5, "0.000000000000000000", "0.500000000000000"),
            (0.125, "0.0%", "12.5%"),
            (1234.5, "#,##0.00\" €\"", "1,234.50 €"),
            (-1234.5, "#,##0.00", "-1,234.50"),
            (-99.0, "\"$\"#,##0.00;(\"$\"#,##0.00)", "($99.00)"),
            (1234.5, "#,##0.00 [$€-407]", "1,234.50 €"),
            (1234.5, "[$$-409]#,##0.00", "$1,234.50"),
            (5.0, "+0;-0;0", "+5"),
            (0.0, "+0;-0;0", "0"),
            (1_234_567.0, "#,##0,", "1,235"),
            (1e-9, "0E+00", "1E-09"),
            (12345.0, "0.00E+00", "1.23E+04"),
            (2.675, "0.00", "2.68"),
            (7.0, "000", "007"),
            (0.5, "#.##", ".5"),
            (3.0, "General", "3"),
            (0.1 + 0.2, "General", "0.3"),
            (1234.0, "_-* #,##0_-", "1,234"),
            (12.0, "0\" pcs\"", "12 pcs"),
            (-0.001, "0.00", "0.00"),
        ] {
            assert_eq!(shown(value, format), text, "{value} {format}");
        }
    }

    #[test]
    fn dates_and_times_look_as_in_a_spreadsheet() {
        for (value, format, text) in [
            (46112.0, "yyyy\\-mm\\-dd", "2026-03-31"),
            (46112.0, "dd.mm.yyyy", "31.03.2026"),
            (46112.0, "m/d/yy", "3/31/26"),
            (46112.5, "yyyy-mm-dd hh:mm", "2026-03-31 12:00"),
            (46112.75, "d mmm yyyy h:mm AM/PM", "31 Mar 2026 6:00 PM"),
            (1.5, "[h]:mm:ss", "36:00:00"),
            (0.5, "hh:mm", "12:00"),
            (0.0625, "mm:ss", "30:00"),
        ] {
            assert_eq!(shown(value, format), text, "{value} {format}");
        }
        assert!(is_date("dd.mm.yyyy") && !is_date("#,##0.00\" days\"") && !is_date("[Red]0"));
        assert!(!shown(1e300, "yyyy-mm-dd").is_empty());
    }
}
