//! Dates and times by a number format.

use chrono::{Datelike as _, Duration, NaiveDate, NaiveDateTime, Timelike as _};

use super::digits::push_literal;
use super::parts::FormatPart;

/// The date of a serial number: days since 30 December 1899.
pub fn date_time(serial: f64) -> Option<NaiveDateTime> {
    let epoch = NaiveDate::from_ymd_opt(1899, 12, 30)?.and_hms_opt(0, 0, 0)?;
    let millis = (serial * 86_400_000.0).round();
    (millis.abs() < 2.6e14).then_some(())?;
    epoch.checked_add_signed(Duration::milliseconds(millis as i64))
}

/// A date or time in a section for it; `None` if there is no such date.
pub fn moment(serial: f64, parts: &[FormatPart]) -> Option<String> {
    let at = date_time(serial)?;
    let time = ShownTime::of(serial, at, parts);
    let millis = format!("{:03}", time.millis % 1_000);
    let mut fraction = millis.chars();
    let mut text = if time.is_negative { "-".to_owned() } else { String::new() };
    for (index, part) in parts.iter().enumerate() {
        match part {
            FormatPart::Date(run) => {
                let is_minute = matches!(run.as_str(), "m" | "mm") && is_minute(parts, index);
                let is_time = is_minute || run.starts_with(['[', 'h', 's']);
                text.push_str(&if is_time { time.unit(run) } else { piece(run, at) });
            }
            FormatPart::Point => text.push('.'),
            FormatPart::Comma => text.push(','),
            // The fraction of a second.
            FormatPart::Digit(_) => text.push(fraction.next().unwrap_or('0')),
            other => push_literal(&mut text, other),
        }
    }
    Some(text)
}

/// Whether a part counts hours, minutes or seconds beyond a greater unit.
pub fn is_elapsed(part: &FormatPart) -> bool {
    matches!(part, FormatPart::Date(run) if run.starts_with('['))
}

/// The time of a day, or one that has elapsed, which may be longer than a day.
struct ShownTime {
    millis: u64,
    is_negative: bool,
    /// Whether hours are counted to twelve.
    has_half: bool,
}

impl ShownTime {
    /// Elapsed times are rounded to what is shown of their seconds, as spreadsheet programs do.
    fn of(serial: f64, at: NaiveDateTime, parts: &[FormatPart]) -> Self {
        let is_half = |run: &str| matches!(run, "am/pm" | "a/p");
        let has_half =
            parts.iter().any(|part| matches!(part, FormatPart::Date(run) if is_half(run)));
        if !parts.iter().any(is_elapsed) {
            let seconds = u64::from(at.num_seconds_from_midnight());
            let millis = seconds * 1_000 + u64::from(at.and_utc().timestamp_subsec_millis());
            return Self { millis, is_negative: false, has_half };
        }
        let decimals = parts.iter().filter(|part| matches!(part, FormatPart::Digit(_))).count();
        let step = [1_000.0, 100.0, 10.0, 1.0][decimals.min(3)];
        let millis = ((serial.abs() * 86_400_000.0 / step).round() * step) as u64;
        Self { millis, is_negative: serial < 0.0 && millis > 0, has_half }
    }

    /// The hours, minutes or seconds; in brackets, all of them.
    fn unit(&self, run: &str) -> String {
        let letters = run.trim_matches(['[', ']']);
        let (seconds, most) = match letters.as_bytes().first() {
            Some(b'h') => (3_600, 24),
            Some(b'm') => (60, 60),
            _ => (1, 60),
        };
        let count = self.millis / 1_000 / seconds;
        let count = match seconds {
            _ if run.starts_with('[') => count,
            3_600 if self.has_half => (count + 11) % 12 + 1,
            _ => count % most,
        };
        let width = letters.len().min(2);
        format!("{count:0width$}")
    }
}

/// `m` is a minute after hours and before seconds.
fn is_minute(parts: &[FormatPart], at: usize) -> bool {
    let is = |part: Option<&FormatPart>, sign: char| matches!(part, Some(FormatPart::Date(run)) if run.trim_matches(['[', ']']).starts_with(sign));
    let dates = |part: &&FormatPart| matches!(part, FormatPart::Date(_));
    is(parts[..at].iter().rev().find(dates), 'h') || is(parts[at + 1..].iter().find(dates), 's')
}

fn piece(run: &str, at: NaiveDateTime) -> String {
    match run {
        "yy" | "y" => format!("{:02}", at.year() % 100),
        _ if run.starts_with('y') => format!("{:04}", at.year()),
        "m" => at.month().to_string(),
        "mm" => format!("{:02}", at.month()),
        "mmm" => at.format("%b").to_string(),
        "mmmm" => at.format("%B").to_string(),
        "mmmmm" => at.format("%B").to_string().chars().take(1).collect(),
        "d" => at.day().to_string(),
        "dd" => format!("{:02}", at.day()),
        "ddd" => at.format("%a").to_string(),
        "dddd" => at.format("%A").to_string(),
        "a/p" => if at.hour() < 12 { "a" } else { "p" }.to_owned(),
        "am/pm" => if at.hour() < 12 { "AM" } else { "PM" }.to_owned(),
        _ => String::new(),
    }
}
