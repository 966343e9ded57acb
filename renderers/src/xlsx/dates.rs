//! Dates and times as people write them. What a number means is decided for a whole column.

use chrono::{NaiveDate, NaiveDateTime, NaiveTime};

use super::cells::{self, Typed};

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

/// A date with the year at the end.
struct Written {
    first: u32,
    second: u32,
    year: i32,
    mark: char,
}

impl Written {
    fn read(day: &str) -> Option<Self> {
        let mark = day.chars().find(|c| !c.is_ascii_digit())?;
        let parts: Vec<&str> = day.split(mark).collect();
        let [first, second, year] = parts.as_slice() else { return None };
        let is_number = |text: &str, lengths: std::ops::RangeInclusive<usize>| {
            lengths.contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit())
        };
        let fits = matches!(mark, '.' | '/' | '-')
            && is_number(first, 1..=2)
            && is_number(second, 1..=2)
            && is_number(year, 4..=4);
        let number = |text: &str| text.parse().ok();
        let (first, second) = (number(first)?, number(second)?);
        fits.then_some(Self { first, second, year: year.parse().ok()?, mark })
    }

    fn date(&self, order: DayOrder) -> Option<NaiveDate> {
        match order {
            // Only languages with the day first use points.
            _ if self.mark == '.' => NaiveDate::from_ymd_opt(self.year, self.second, self.first),
            DayOrder::DayFirst => NaiveDate::from_ymd_opt(self.year, self.second, self.first),
            DayOrder::MonthFirst => NaiveDate::from_ymd_opt(self.year, self.first, self.second),
            DayOrder::Unknown => None,
        }
    }
}

impl DayOrder {
    /// The order in the cells of a column, and whether it has dates that stay ambiguous.
    pub fn among<'t>(language: Option<&str>, texts: impl Iterator<Item = &'t str>) -> (Self, bool) {
        let (mut day_first, mut month_first, mut has_dates) = (false, false, false);
        for text in texts {
            let day = text.trim().split(' ').next().unwrap_or_default();
            let Some(written) = Written::read(day).filter(|written| written.mark != '.') else {
                continue;
            };
            has_dates = true;
            day_first |= written.first > 12;
            month_first |= written.second > 12;
        }
        let order = match (day_first, month_first) {
            (true, false) => Self::DayFirst,
            (false, true) => Self::MonthFirst,
            (true, true) => Self::Unknown,
            (false, false) => Self::by_language(language),
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
pub fn date(text: &str, order: DayOrder) -> Option<Typed> {
    let (day, time) = match text.split_once(' ') {
        Some((day, time)) => (day.trim_end_matches(','), Some(time.trim())),
        None => (text, None),
    };
    let written = Written::read(day)?;
    let date = written.date(order)?;
    let time = match time {
        None => None,
        Some(time) => Some(clock(time)?),
    };
    let moment = date.and_time(time.unwrap_or_default());
    let format = match (written.mark, order, time.is_some()) {
        ('.', _, false) => "dd\\.mm\\.yyyy",
        ('.', _, true) => "dd\\.mm\\.yyyy\\ hh:mm",
        ('-', DayOrder::MonthFirst, _) => "mm\\-dd\\-yyyy",
        ('-', ..) => "dd\\-mm\\-yyyy",
        (_, DayOrder::MonthFirst, false) => "mm\\/dd\\/yyyy",
        (_, DayOrder::MonthFirst, true) => "mm\\/dd\\/yyyy\\ hh:mm",
        (_, _, false) => "dd\\/mm\\/yyyy",
        (_, _, true) => "dd\\/mm\\/yyyy\\ hh:mm",
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

/// `09:30`, `1:30:00` or, as a duration, `36:00:00`.
pub fn time(text: &str) -> Option<Typed> {
    let parts: Vec<&str> = text.split(':').collect();
    let [hours, rest @ ..] = parts.as_slice() else { return None };
    let is_part =
        |text: &&str| text.len() == 2 && text.bytes().all(|b| b.is_ascii_digit()) && **text < *"60";
    let is_time = (1..=4).contains(&hours.len())
        && hours.bytes().all(|byte| byte.is_ascii_digit())
        && (1..=2).contains(&rest.len())
        && rest.iter().all(is_part);
    let number = |text: &str| text.parse::<f64>().ok();
    let hours = number(hours).filter(|_| is_time)?;
    let minutes = number(rest[0])?;
    let seconds = rest.get(1).map_or(Some(0.0), |text| number(text))?;
    let format = match (hours < 24.0, rest.len()) {
        (true, 1) => "hh:mm",
        (true, _) => "hh:mm:ss",
        (false, 1) => return None,
        (false, _) => "[h]:mm:ss",
    };
    let serial = (hours * 3_600.0 + minutes * 60.0 + seconds) / 86_400.0;
    Some(Typed::Moment { serial, format })
}

/// Whether the text can be a time, so that a column of only such texts is one of times.
pub fn is_time(text: &str) -> bool {
    time(text).is_some()
}
