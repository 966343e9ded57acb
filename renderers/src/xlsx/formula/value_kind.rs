//! What a number counts: a day, a time, a duration, or something else.

use std::ops::RangeInclusive;

/// What follows the number format of a day that has a time.
pub const TIME_OF_DATE: &str = "\\ hh:mm";
/// The serial numbers of dates: those before are one day off in Excel.
const DATES: RangeInclusive<f64> = 61.0..=2_958_465.999_99;
const MINUTES: f64 = 24.0 * 60.0;

/// What the result of a formula counts.
#[derive(Debug, Clone, PartialEq)]
pub enum ValueKind {
    /// A number, a text or a truth value.
    Plain,
    /// Something that has no influence on the others: a text, zero or a blank cell.
    Neutral,
    /// A day, with or without a time, in this number format.
    Day(String),
    Time(TimeDetail),
    Duration(TimeDetail),
    /// A mixture.
    Unknown,
}

/// The smallest unit that a time shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TimeDetail {
    Minutes,
    Seconds,
    /// Seconds with this number of decimals, and hours only if there are any.
    Laps(usize),
}

impl ValueKind {
    /// The kind of a cell with a number format of a date or time.
    pub fn of_format(format: &str) -> Self {
        let detail = match format.split_once("ss") {
            Some((_, decimals)) if format.starts_with("[m]") || !decimals.is_empty() => {
                TimeDetail::Laps(decimals.trim_start_matches('.').len())
            }
            Some(_) => TimeDetail::Seconds,
            None => TimeDetail::Minutes,
        };
        if format.contains('y') {
            Self::Day(format.to_owned())
        } else if format.starts_with('[') {
            Self::Duration(detail)
        } else {
            Self::Time(detail)
        }
    }

    /// Whether it is a number or text, and not a date, a time or a mixture.
    pub fn is_plain(&self) -> bool {
        matches!(self, Self::Plain | Self::Neutral)
    }

    fn detail(&self) -> Option<TimeDetail> {
        match self {
            Self::Time(detail) | Self::Duration(detail) => Some(*detail),
            _ => None,
        }
    }

    /// The number format of a result; `None` if it is none of a date or time, such as a negative
    /// duration. Without a result, that of a usual one.
    pub fn format(&self, result: Option<f64>) -> Option<String> {
        let (detail, is_duration) = match self {
            Self::Day(format) => {
                return result.is_none_or(|day| DATES.contains(&day)).then(|| format.clone());
            }
            Self::Time(detail) => (*detail, result.is_some_and(|time| time >= 1.0)),
            Self::Duration(detail) => (*detail, true),
            _ => return None,
        };
        let result = result.unwrap_or(0.0);
        if result < 0.0 {
            return None;
        }
        if let TimeDetail::Laps(decimals) = detail {
            let minutes = if result < 1.0 / 24.0 { "[m]" } else { "[h]:mm" };
            let point = if decimals > 0 { "." } else { "" };
            return Some(format!("{minutes}:ss{point}{}", "0".repeat(decimals)));
        }
        let minutes = result * MINUTES;
        let has_seconds = (minutes - minutes.round()).abs() > 0.5 / 60.0;
        let format = match (is_duration, has_seconds || detail == TimeDetail::Seconds) {
            (false, false) => "hh:mm",
            (false, true) => "hh:mm:ss",
            (true, false) => "[h]:mm",
            (true, true) => "[h]:mm:ss",
        };
        Some(format.to_owned())
    }

    /// The kind of one of two values.
    pub fn either(self, other: Self) -> Self {
        match (self, other) {
            (Self::Neutral, kind) | (kind, Self::Neutral) => kind,
            (Self::Plain, Self::Plain) => Self::Plain,
            (Self::Day(one), Self::Day(other)) => {
                Self::Day(if other.contains('h') && !one.contains('h') { other } else { one })
            }
            (Self::Time(one), Self::Time(other)) => Self::Time(one.max(other)),
            (one, other) => match (one.detail(), other.detail()) {
                (Some(one), Some(other)) => Self::Duration(one.max(other)),
                _ => Self::Unknown,
            },
        }
    }

    /// The kind of a sum of such values.
    pub fn summed(self) -> Self {
        match self {
            Self::Day(_) => Self::Unknown,
            Self::Time(detail) => Self::Duration(detail),
            other => other,
        }
    }

    /// The day without its time.
    pub fn day(self) -> Self {
        match self {
            Self::Day(format) => {
                Self::Day(format.split("\\ hh").next().unwrap_or_default().to_owned())
            }
            other => other,
        }
    }

    pub fn plus(self, other: Self) -> Self {
        match (self, other) {
            (day @ Self::Day(_), other) | (other, day @ Self::Day(_)) => day.moved_by(&other),
            (one, other) => one.shifted(other),
        }
    }

    pub fn minus(self, other: Self) -> Self {
        match (self, other) {
            (Self::Day(one), Self::Day(other)) => {
                let has_time = one.contains('h') || other.contains('h');
                if has_time { Self::Duration(TimeDetail::Minutes) } else { Self::Plain }
            }
            (_, Self::Day(_)) => Self::Unknown,
            (day @ Self::Day(_), other) => day.moved_by(&other),
            (one, other) if one.is_plain() => other.summed(),
            (one, other) => one.shifted(other),
        }
    }

    /// A product or a quotient. Of durations it is a number, such as their hours, or the share of one
    /// in another.
    pub fn scaled(&self, other: &Self) -> Self {
        let has_unit = |kind: &Self| matches!(kind, Self::Day(_) | Self::Unknown);
        if has_unit(self) || has_unit(other) { Self::Unknown } else { Self::Plain }
    }

    /// A day before or after another.
    fn moved_by(self, other: &Self) -> Self {
        match self {
            Self::Day(format) if other.detail().is_some() && !format.contains('h') => {
                Self::Day(format + TIME_OF_DATE)
            }
            day if other.is_plain() || other.detail().is_some() => day,
            _ => Self::Unknown,
        }
    }

    /// Two times or numbers that are added or subtracted.
    fn shifted(self, other: Self) -> Self {
        match (self.detail(), other.detail()) {
            (Some(one), Some(other)) => Self::Duration(one.max(other)),
            (Some(_), None) if other.is_plain() => self,
            (None, Some(_)) if self.is_plain() => other,
            (None, None) if self.is_plain() && other.is_plain() => Self::Plain,
            _ => Self::Unknown,
        }
    }
}
