//! Date functions: serial numbers count days since 30 December 1899.

use chrono::{Datelike as _, Months, NaiveDate};

use super::value::{Value, finite};
use crate::number_text::date_time;

/// The value of a date function whose name and number of arguments were checked.
pub fn call(name: &str, values: &[Value]) -> Result<Value, Value> {
    let number = |at: usize| values[at].number();
    let day = |at: usize| number(at).and_then(date);
    Ok(match name {
        "DATE" => {
            let (year, month, day) = (number(0)?.trunc(), number(1)?, number(2)?);
            let year = if (0.0..1_900.0).contains(&year) { year + 1_900.0 } else { year };
            let months = (year * 12.0 + month.trunc()) - 1.0;
            let first = (1_900.0 * 12.0..10_000.0 * 12.0).contains(&months).then(|| {
                let (year, month) = ((months / 12.0).floor(), months % 12.0);
                NaiveDate::from_ymd_opt(year as i32, month as u32 + 1, 1)
            });
            let first = first.flatten().ok_or(Value::Error("#NUM!"))?;
            finite(serial(first) + day.trunc() - 1.0)
        }
        "YEAR" => Value::Number(f64::from(day(0)?.year())),
        "MONTH" => Value::Number(f64::from(day(0)?.month())),
        "DAY" => Value::Number(f64::from(day(0)?.day())),
        "DAYS" => finite(number(0)?.floor() - number(1)?.floor()),
        "WEEKDAY" => {
            let sunday = f64::from(day(0)?.weekday().num_days_from_sunday());
            let kind = values.get(1).map_or(Ok(1.0), Value::number)?.trunc();
            match kind {
                1.0 => Value::Number(sunday + 1.0),
                2.0 => Value::Number((sunday + 6.0) % 7.0 + 1.0),
                3.0 => Value::Number((sunday + 6.0) % 7.0),
                // From 11 on, the first day of the week is Monday, Tuesday and so on.
                11.0..=17.0 => Value::Number((sunday + 17.0 - kind) % 7.0 + 1.0),
                _ => Value::Error("#NUM!"),
            }
        }
        // EDATE and EOMONTH
        name => {
            let shifted = shifted(day(0)?, number(1)?.trunc()).ok_or(Value::Error("#NUM!"))?;
            if name == "EDATE" {
                return Ok(finite(serial(shifted)));
            }
            let next = shifted.with_day(1).and_then(|first| shifted_by(first, 1));
            let last = next.and_then(|first| first.pred_opt()).ok_or(Value::Error("#NUM!"))?;
            finite(serial(last))
        }
    })
}

pub fn date(serial: f64) -> Result<NaiveDate, Value> {
    let is_date = (1.0..2_958_466.0).contains(&serial);
    let moment = is_date.then(|| date_time(serial.floor())).flatten();
    moment.map(|moment| moment.date()).ok_or(Value::Error("#NUM!"))
}

/// The serial number of a date.
pub fn serial(date: NaiveDate) -> f64 {
    let epoch = NaiveDate::from_ymd_opt(1899, 12, 30).unwrap_or_default();
    (date - epoch).num_days() as f64
}

fn shifted(date: NaiveDate, months: f64) -> Option<NaiveDate> {
    (months.abs() < 120_000.0).then(|| shifted_by(date, months as i32)).flatten()
}

fn shifted_by(date: NaiveDate, months: i32) -> Option<NaiveDate> {
    let count = Months::new(months.unsigned_abs());
    if months < 0 { date.checked_sub_months(count) } else { date.checked_add_months(count) }
}
