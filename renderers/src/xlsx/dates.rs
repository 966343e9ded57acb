//! Dates and times as people write them. What a number means is decided for a whole column.

use chrono::{NaiveDate, NaiveDateTime, NaiveTime};

use super::cells::{self, Typed};
use super::signs::Signs;

/// The order of day and month in a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DayOrder {
    /// Dates with slashes or hyphens are ambiguous.
    #[default]
    Unknown,
    DayFirst,
    MonthFirst,
}

/// Regions where the month comes first.
const MONTH_FIRST: [&str; 2] = ["US", "PH"];

/// The first year of two digits is 1970, the last one 2069.
const CENTURY: u32 = 70;

/// The number formats of a day, a day with hours and minutes, and one with seconds.
type DayFormats = [&'static str; 3];

const POINTS: DayFormats =
    ["dd\\.mm\\.yyyy", "dd\\.mm\\.yyyy\\ hh:mm", "dd\\.mm\\.yyyy\\ hh:mm:ss"];
const HYPHENS: DayFormats =
    ["dd\\-mm\\-yyyy", "dd\\-mm\\-yyyy\\ hh:mm", "dd\\-mm\\-yyyy\\ hh:mm:ss"];
const SLASHES: DayFormats =
    ["dd\\/mm\\/yyyy", "dd\\/mm\\/yyyy\\ hh:mm", "dd\\/mm\\/yyyy\\ hh:mm:ss"];
const MONTH_HYPHENS: DayFormats =
    ["mm\\-dd\\-yyyy", "mm\\-dd\\-yyyy\\ hh:mm", "mm\\-dd\\-yyyy\\ hh:mm:ss"];
const MONTH_SLASHES: DayFormats =
    ["mm\\/dd\\/yyyy", "mm\\/dd\\/yyyy\\ hh:mm", "mm\\/dd\\/yyyy\\ hh:mm:ss"];

/// The number formats of minutes and seconds, by the number of decimals, and those with hours.
const LAPS: [&str; 4] = ["[m]:ss", "[m]:ss.0", "[m]:ss.00", "[m]:ss.000"];
const LONG_LAPS: [&str; 4] = ["[h]:mm:ss", "[h]:mm:ss.0", "[h]:mm:ss.00", "[h]:mm:ss.000"];

/// How the dates of a column are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DateRules {
    order: DayOrder,
    /// Whether all cells with digits are dates, so that years may have two digits.
    are_all_dates: bool,
    /// Whether `05.03.26` is a date, which the language or another cell shows.
    has_short_years: bool,
    /// Why some dates stay text.
    pub untyped: Option<UntypedDates>,
}

/// Why dates stay text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UntypedDates {
    /// The day, the month and the year cannot be told apart.
    Order,
    /// They have an offset from UTC, which a cell cannot keep.
    Offset,
}

/// A date with the year at the end.
struct Written {
    first: u32,
    second: u32,
    year: u32,
    mark: char,
    is_short: bool,
}

impl Written {
    /// The date of a cell, which a time may follow.
    fn of(text: &str) -> Option<Self> {
        let day = text.trim().split(' ').next().unwrap_or_default();
        Self::read(day.trim_end_matches(','))
    }

    fn read(day: &str) -> Option<Self> {
        let mark = day.chars().find(|c| !c.is_ascii_digit())?;
        let parts: Vec<&str> = day.split(mark).collect();
        let [first, second, year] = parts.as_slice() else { return None };
        let is_number = |text: &str, lengths: std::ops::RangeInclusive<usize>| {
            lengths.contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit())
        };
        // `12-11-10` is rather a code.
        let is_short = is_number(year, 2..=2) && mark != '-';
        let fits = matches!(mark, '.' | '/' | '-')
            && is_number(first, 1..=2)
            && is_number(second, 1..=2)
            && (is_short || is_number(year, 4..=4));
        let number = |text: &str| text.parse().ok();
        let (first, second, year) = (number(first)?, number(second)?, number(year)?);
        let year = if is_short { full_year(year) } else { year };
        fits.then_some(Self { first, second, year, mark, is_short })
    }

    fn date(&self, rules: DateRules) -> Option<NaiveDate> {
        let has_points = self.mark == '.';
        let may_be_short = rules.are_all_dates && (rules.has_short_years || !has_points);
        if self.is_short && !may_be_short {
            return None;
        }
        // Only languages with the day first use points.
        let order = if has_points { DayOrder::DayFirst } else { rules.order };
        self.in_order(order)
    }

    fn in_order(&self, order: DayOrder) -> Option<NaiveDate> {
        let year = i32::try_from(self.year).ok()?;
        match order {
            DayOrder::DayFirst => NaiveDate::from_ymd_opt(year, self.second, self.first),
            DayOrder::MonthFirst => NaiveDate::from_ymd_opt(year, self.first, self.second),
            DayOrder::Unknown => None,
        }
    }

    fn is_possible(&self) -> bool {
        let is_month_first = self.mark != '.' && self.in_order(DayOrder::MonthFirst).is_some();
        is_month_first || self.in_order(DayOrder::DayFirst).is_some()
    }
}

/// The year of two digits.
pub fn full_year(short: u32) -> u32 {
    if short < CENTURY { 2000 + short } else { 1900 + short }
}

impl DateRules {
    /// The rules for a column with these cells.
    pub fn of<'t>(language: Option<&str>, texts: impl Iterator<Item = &'t str> + Clone) -> Self {
        let mut with_digits =
            texts.clone().filter(|text| text.contains(|c: char| c.is_ascii_digit()));
        let is_date = |text: &str| Written::of(text).is_some_and(|date| date.is_possible());
        let are_all_dates = with_digits.all(is_date);
        let dates = texts.clone().filter_map(Written::of);
        let dates = dates.filter(|date| are_all_dates || !date.is_short);
        let usual = DayOrder::by_language(language);
        let (order, is_unclear) = DayOrder::among(usual, dates.clone().filter(|d| d.mark != '.'));
        let mut short = dates.filter(|date| date.is_short && date.mark == '.').peekable();
        let has_short = short.peek().is_some();
        let has_short_years = usual == DayOrder::DayFirst || short.any(|date| date.first > 12);
        let untyped = if is_unclear || has_short && !has_short_years {
            Some(UntypedDates::Order)
        } else {
            texts.clone().any(has_offset).then_some(UntypedDates::Offset)
        };
        Self { order, are_all_dates, has_short_years, untyped }
    }
}

impl DayOrder {
    /// The order of dates without points, and whether they stay ambiguous.
    fn among(usual: Self, dates: impl Iterator<Item = Written>) -> (Self, bool) {
        let (mut day_first, mut month_first, mut has_dates) = (false, false, false);
        for written in dates {
            has_dates = true;
            day_first |= written.first > 12;
            month_first |= written.second > 12;
        }
        let order = match (day_first, month_first) {
            (true, false) => Self::DayFirst,
            (false, true) => Self::MonthFirst,
            (true, true) => Self::Unknown,
            (false, false) => usual,
        };
        (order, has_dates && order == Self::Unknown)
    }

    fn by_language(language: Option<&str>) -> Self {
        let Some(language) = language else { return Self::Unknown };
        let mut parts = language.trim().split(['-', '_']);
        let first = parts.next().unwrap_or_default();
        let region = parts.next_back().unwrap_or_default();
        let is_month_first = MONTH_FIRST.iter().any(|known| region.eq_ignore_ascii_case(known));
        match first.to_ascii_lowercase().as_str() {
            _ if is_month_first => Self::MonthFirst,
            "en" if region.is_empty() => Self::Unknown,
            "en" | "de" | "fr" | "es" | "it" | "pt" | "nl" | "pl" | "ru" | "uk" | "tr" | "cs"
            | "da" | "nb" | "fi" | "el" | "ro" | "id" | "vi" | "ar" | "he" => Self::DayFirst,
            _ => Self::Unknown,
        }
    }
}

/// A date in the order of its column, with an optional time.
pub fn date(text: &str, rules: DateRules) -> Option<Typed> {
    let (day, time) = match text.split_once(' ') {
        Some((day, time)) => (day.trim_end_matches(','), Some(time.trim())),
        None => (text, None),
    };
    let written = Written::read(day)?;
    let date = written.date(rules)?;
    let time = match time {
        None => None,
        Some(time) => Some(clock(time)?),
    };
    let moment = date.and_time(time.unwrap_or_default());
    let [day, minutes, seconds] = match (written.mark, rules.order) {
        ('.', _) => POINTS,
        ('-', DayOrder::MonthFirst) => MONTH_HYPHENS,
        ('-', _) => HYPHENS,
        (_, DayOrder::MonthFirst) => MONTH_SLASHES,
        _ => SLASHES,
    };
    let format = match text.matches(':').count() {
        0 => day,
        1 => minutes,
        _ => seconds,
    };
    cells::serial(moment, format)
}

fn clock(text: &str) -> Option<NaiveTime> {
    let form = if text.matches(':').count() == 1 { "%H:%M" } else { "%H:%M:%S" };
    NaiveTime::parse_from_str(text, form).ok()
}

/// `2026-03-05T10:20:30.5Z`: the time in UTC, which is the only one with a meaning of its own.
pub fn timestamp(text: &str) -> Option<Typed> {
    let text = ["Z", "z", "+00:00"].into_iter().find_map(|end| text.strip_suffix(end));
    let text = text?;
    let (seconds, fraction) = text.split_once('.').unwrap_or((text, ""));
    let is_moment = text.len() > 10 && fraction.bytes().all(|byte| byte.is_ascii_digit());
    let moment = is_moment.then(|| {
        NaiveDateTime::parse_from_str(&seconds.replace(' ', "T"), "%Y-%m-%dT%H:%M:%S")
            .or_else(|_| {
                NaiveDateTime::parse_from_str(&seconds.replace(' ', "T"), "%Y-%m-%dT%H:%M")
            })
            .ok()
    });
    cells::serial(moment??, "yyyy\\-mm\\-dd\\ hh:mm:ss")
}

/// Whether the text is a time with an offset from UTC, such as `2026-03-05T10:00+02:00`.
fn has_offset(text: &str) -> bool {
    let Some(at) = text.rfind(['+', '-']) else { return false };
    let offset = text[at + 1..].replace(':', "");
    let is_offset = offset.len() == 4 && offset.bytes().all(|byte| byte.is_ascii_digit());
    is_offset && offset != "0000" && timestamp(&format!("{}Z", &text[..at])).is_some()
}

/// What the times of a column count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeForm {
    /// `1:02` is an hour and two minutes.
    Hours,
    /// `1:02` is a minute and two seconds, because there are seconds with decimals, as in `1:02.5`.
    /// This is their separator.
    Laps(char),
}

impl TimeForm {
    /// The form of a column with these cells; `None` if some of them are no times.
    pub fn of<'t>(signs: Signs, texts: impl Iterator<Item = &'t str> + Clone) -> Option<Self> {
        texts.clone().next()?;
        if texts.clone().all(|text| time(text).is_some()) {
            return Some(Self::Hours);
        }
        let are_laps = |sign: &char| {
            texts.clone().any(|text| text.contains(*sign))
                && texts.clone().all(|text| lap(text, *sign).is_some())
        };
        let comma = (signs != Signs::English).then_some(',');
        ['.'].into_iter().chain(comma).find(are_laps).map(Self::Laps)
    }

    pub fn read(self, text: &str) -> Option<Typed> {
        match self {
            Self::Hours => time(text),
            Self::Laps(sign) => lap(text, sign),
        }
    }
}

/// `09:30`, `1:30:00` or, as a duration, `36:00:00`.
fn time(text: &str) -> Option<Typed> {
    let parts: Vec<&str> = text.split(':').collect();
    let seconds = counted_seconds(&parts)?;
    let format = match (seconds < 86_400.0, parts.len()) {
        (true, 2) => "hh:mm",
        (true, _) => "hh:mm:ss",
        (false, 2) => return None,
        (false, _) => "[h]:mm:ss",
    };
    Some(Typed::Moment { serial: seconds / 86_400.0, format })
}

/// `1:02`, `1:02.5` or `1:01:02.5`, with at most three decimals after this sign.
fn lap(text: &str, sign: char) -> Option<Typed> {
    let (whole, decimals) = match text.split_once(sign) {
        Some((_, "")) => return None,
        Some((whole, decimals)) => (whole, decimals),
        None => (text, ""),
    };
    let parts: Vec<&str> = whole.split(':').collect();
    let has_hours = parts.len() > 2;
    let seconds = counted_seconds(&parts)? / if has_hours { 1.0 } else { 60.0 };
    let formats = if has_hours { LONG_LAPS } else { LAPS };
    let format = *formats.get(decimals.len())?;
    let is_fraction = decimals.bytes().all(|byte| byte.is_ascii_digit());
    let fraction = format!("0.{decimals}").parse::<f64>().ok().filter(|_| is_fraction)?;
    Some(Typed::Moment { serial: (seconds + fraction) / 86_400.0, format })
}

/// The seconds of hours and minutes, and of seconds if there are any.
fn counted_seconds(parts: &[&str]) -> Option<f64> {
    let [hours, minutes, rest @ ..] = parts else { return None };
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let is_part = |text: &str| text.len() == 2 && is_number(text) && *text < *"60";
    let fits = (1..=4).contains(&hours.len())
        && is_number(hours)
        && rest.len() <= 1
        && [minutes].into_iter().chain(rest).all(|part| is_part(part));
    let number = |text: &str| text.parse::<f64>().ok();
    let seconds = rest.first().map_or(Some(0.0), |text| number(text))?;
    fits.then_some(number(hours)? * 3_600.0 + number(minutes)? * 60.0 + seconds)
}
