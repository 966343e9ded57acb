//! Functions that count days: workdays, and the time between two dates.

use chrono::{Datelike as _, Days, Months, NaiveDate};

use super::calendar::date;
use super::evaluate::{Grid, Stop};
use super::expr::Expr;
use super::value::{Value, into_value};

/// The value of a function of this module; `None` if it is another one.
pub fn call(grid: &mut Grid, name: &str, arguments: &[Expr]) -> Result<Option<Value>, Stop> {
    if !matches!(name, "NETWORKDAYS" | "WORKDAY") {
        return Ok(None);
    }
    let (first, second) = (grid.value(&arguments[0])?, grid.value(&arguments[1])?);
    let holidays = arguments.get(2).map(|days| grid.values(days)).transpose()?.unwrap_or_default();
    Ok(Some(into_value(counted(name, &[first, second], &holidays))))
}

fn counted(name: &str, values: &[Value; 2], holidays: &[Value]) -> Result<Value, Value> {
    let mut days = Vec::new();
    for holiday in holidays.iter().filter(|holiday| **holiday != Value::Blank) {
        days.push(day(holiday.number()?)?);
    }
    days.sort_unstable();
    days.dedup();
    days.retain(|day| weekday(*day) < 5);
    let first = day(values[0].number()?)?;
    if name == "WORKDAY" {
        let last = workday(first, values[1].number()?, &days)?;
        return day(last as f64).map(|day| Value::Number(day as f64));
    }
    let second = day(values[1].number()?)?;
    let (from, to) = (first.min(second), first.max(second));
    let holidays = days.iter().filter(|day| (from..=to).contains(*day)).count() as i64;
    let count = workdays_until(to) - workdays_until(from - 1) - holidays;
    Ok(Value::Number((if second < first { -count } else { count }) as f64))
}

/// The serial number of a day that spreadsheets know.
fn day(serial: f64) -> Result<i64, Value> {
    date(serial).map(|_| serial.floor() as i64)
}

/// Monday is 0. Day 2 was a Monday.
fn weekday(day: i64) -> i64 {
    (day + 5) % 7
}

/// The number of workdays from the Monday before day 0 up to `day`.
fn workdays_until(day: i64) -> i64 {
    let days = day + 6;
    days / 7 * 5 + (days % 7).min(5)
}

/// The day after that many workdays, before it if the number is negative.
fn workday(first: i64, count: f64, holidays: &[i64]) -> Result<i64, Value> {
    if count.abs() > 3_000_000.0 {
        return Err(Value::Error("#NUM!"));
    }
    let count = count.trunc() as i64;
    let mut last = shifted(first, count);
    if count >= 0 {
        for holiday in holidays.iter().filter(|day| **day > first) {
            if *holiday <= last {
                last = shifted(last, 1);
            }
        }
    } else {
        for holiday in holidays.iter().rev().filter(|day| **day < first) {
            if *holiday >= last {
                last = shifted(last, -1);
            }
        }
    }
    Ok(last)
}

/// A day moved by workdays, without holidays.
fn shifted(day: i64, count: i64) -> i64 {
    let weekday = weekday(day);
    let (weeks, rest) = (count / 5, count % 5);
    if count == 0 {
        return day;
    }
    if count > 0 {
        // From a weekend, workdays count from the Friday before it.
        let friday = (weekday - 4).max(0);
        let weekend = if weekday - friday + rest > 4 { 2 } else { 0 };
        return day - friday + weeks * 7 + rest + weekend;
    }
    let monday = if weekday > 4 { 7 - weekday } else { 0 };
    let weekend = if (weekday + monday) % 7 + rest < 0 { 2 } else { 0 };
    day + monday + weeks * 7 + rest - weekend
}

/// `DATEDIF(from, to, unit)`
pub fn between(values: &[Value]) -> Result<Value, Value> {
    let (from, to) = (date(values[0].number()?)?, date(values[1].number()?)?);
    if from > to {
        return Err(Value::Error("#NUM!"));
    }
    let years = i64::from(to.year()) - i64::from(from.year());
    let is_later_day = i64::from(to.day() < from.day());
    let months = years * 12 + i64::from(to.month()) - i64::from(from.month()) - is_later_day;
    let number = match values[2].text()?.to_uppercase().as_str() {
        "D" => (to - from).num_days(),
        "M" => months,
        "Y" => months / 12,
        "YM" => months % 12,
        "MD" => since_day(from, to, to.with_day(1), 1),
        "YD" => {
            let first = from.with_day(1).and_then(|first| first.with_year(to.year()));
            since_day(from, to, first, 12)
        }
        _ => return Err(Value::Error("#NUM!")),
    };
    Ok(Value::Number(number as f64))
}

/// The days since the day of `from` in the month that begins with `first`, or if that day is later than
/// `to`, in the month that is `months` before. A day that the month does not have is in the next one,
/// so that the number may be negative.
fn since_day(from: NaiveDate, to: NaiveDate, first: Option<NaiveDate>, months: u32) -> i64 {
    let day = |first: Option<NaiveDate>| first?.checked_add_days(Days::new(from.day0().into()));
    let earlier = first.and_then(|first| first.checked_sub_months(Months::new(months)));
    let day = day(first).filter(|day| *day <= to).or_else(|| day(earlier));
    day.map_or(0, |day| (to - day).num_days())
}
