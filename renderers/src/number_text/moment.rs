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
    let is_half = |run: &str| matches!(run, "am/pm" | "a/p");
    let has_half = parts.iter().any(|part| matches!(part, FormatPart::Date(run) if is_half(run)));
    let millis = format!("{:03}", at.and_utc().timestamp_subsec_millis());
    let mut fraction = millis.chars();
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
            FormatPart::Point => text.push('.'),
            FormatPart::Comma => text.push(','),
            // The fraction of a second.
            FormatPart::Digit(_) => text.push(fraction.next().unwrap_or('0')),
            other => push_literal(&mut text, other),
        }
    }
    Some(text)
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
        "mmmmm" => at.format("%B").to_string().chars().take(1).collect(),
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
        "a/p" => if at.hour() < 12 { "a" } else { "p" }.to_owned(),
        "am/pm" => if at.hour() < 12 { "AM" } else { "PM" }.to_owned(),
        _ => String::new(),
    }
}
