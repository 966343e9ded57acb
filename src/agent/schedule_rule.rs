//! Computes when a schedule is due: once, at intervals, or by a calendar in a time zone.
//!
//! When clocks change, a wall-clock time may be missing or occur twice. A one-time schedule at a
//! missing time is rejected with the reason; if the time occurs twice, the earlier one is used. A
//! calendar with a missing time is due right after the change, and one with a time that occurs
//! twice is due at the earlier one only. A calendar for *every* minute or hour continues through
//! both. Occurrences that were missed while no node was running are caught up once, whatever their
//! number.

use chrono::{DateTime, LocalResult, NaiveDateTime, TimeDelta, TimeZone as _, Utc};
use chrono_tz::Tz;
use croner::{
    Cron,
    parser::{CronParser, Seconds, Year},
};
use serde::{Deserialize, Serialize};

use crate::texts::{Language, ScheduleError};

/// How it continues after the first time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Recurrence {
    Once,
    Every { seconds: i64 },
    Cron { pattern: String, zone: String },
}

/// The time in the arguments of a call. Exactly one field is set.
#[derive(Debug, Clone, Default)]
pub struct RequestedTime {
    /// A wall-clock time, or an instant with its offset.
    pub at: Option<String>,
    /// After this duration.
    pub after: Option<String>,
    pub every: Option<String>,
    pub cron: Option<String>,
}

/// How many occurrences of a calendar are examined to find its shortest interval.
const LOOKED_AT: usize = 100;

/// A later time is treated as a mistake.
const FARTHEST: TimeDelta = TimeDelta::days(10 * 366);

/// The rule and the first due time.
pub fn plan(
    requested: &RequestedTime,
    zone: Tz,
    shortest: TimeDelta,
    now: DateTime<Utc>,
) -> Result<(Recurrence, DateTime<Utc>), ScheduleError> {
    let (rule, due) = match requested {
        RequestedTime { at: Some(at), after: None, every: None, cron: None } => {
            (Recurrence::Once, instant(at, zone)?)
        }
        RequestedTime { at: None, after: Some(after), every: None, cron: None } => {
            (Recurrence::Once, now + duration(after)?)
        }
        RequestedTime { at, after: None, every: Some(every), cron: None } => {
            let every = duration(every)?;
            long_enough(every, shortest)?;
            let first = at.as_ref().map_or(Ok(now + every), |at| instant(at, zone))?;
            (Recurrence::Every { seconds: every.num_seconds() }, first)
        }
        RequestedTime { at: None, after: None, every: None, cron: Some(cron) } => {
            by_calendar(cron, zone, shortest, now)?
        }
        _ => return Err(ScheduleError::NotOneTime),
    };
    if due <= now {
        return Err(ScheduleError::Past { due, now, zone });
    }
    if due - now > FARTHEST {
        return Err(ScheduleError::TooFar);
    }
    Ok((rule, due))
}

impl Recurrence {
    /// The first occurrence after both `due` and `now`.
    pub fn next(&self, due: DateTime<Utc>, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
        match self {
            Self::Once => None,
            Self::Every { seconds } => {
                let every = TimeDelta::seconds((*seconds).max(1));
                let missed = (now - due).num_seconds().max(0) / every.num_seconds();
                Some(due + every * i32::try_from(missed + 1).ok()?)
            }
            Self::Cron { pattern, zone } => {
                let zone: Tz = zone.parse().ok()?;
                let after = due.max(now).with_timezone(&zone);
                let next = parsed(pattern).ok()?.find_next_occurrence(&after, false).ok()?;
                Some(next.with_timezone(&Utc))
            }
        }
    }

    /// A description for the model and for programs.
    pub fn description(&self) -> String {
        self.description_in(Language::English)
    }

    /// A description for people.
    pub fn description_in(&self, language: Language) -> String {
        let texts = &language.words().page.problems.schedules;
        match self {
            Self::Once => texts.once(),
            Self::Every { seconds } => {
                let every = std::time::Duration::from_secs((*seconds).max(1) as u64);
                texts.every(&humantime::format_duration(every).to_string())
            }
            Self::Cron { pattern, zone } => texts.by_cron(pattern, zone),
        }
    }
}

fn parsed(pattern: &str) -> Result<Cron, ScheduleError> {
    let parser = CronParser::builder().seconds(Seconds::Disallowed).year(Year::Disallowed).build();
    parser.parse(pattern).map_err(|why| ScheduleError::NotACronPattern {
        pattern: pattern.to_owned(),
        why: why.to_string(),
    })
}

fn by_calendar(
    pattern: &str,
    zone: Tz,
    shortest: TimeDelta,
    now: DateTime<Utc>,
) -> Result<(Recurrence, DateTime<Utc>), ScheduleError> {
    let pattern = pattern.trim().to_owned();
    let times = parsed(&pattern)?;
    let due = times.find_next_occurrence(&now.with_timezone(&zone), false);
    let due = due.map_err(|_| ScheduleError::NeverOccurs(pattern.clone()))?.with_timezone(&Utc);
    // In UTC, because a day on which clocks go forward has 23 hours elsewhere.
    let mut last = None;
    let mut after = now;
    for _ in 0..LOOKED_AT {
        let Ok(next) = times.find_next_occurrence(&after, false) else { break };
        if let Some(last) = last.replace(next) {
            long_enough(next - last, shortest)?;
        }
        after = next;
    }
    Ok((Recurrence::Cron { pattern, zone: zone.name().to_owned() }, due))
}

fn long_enough(interval: TimeDelta, shortest: TimeDelta) -> Result<(), ScheduleError> {
    if interval >= shortest {
        return Ok(());
    }
    let shortest = humantime::format_duration(shortest.to_std().unwrap_or_default()).to_string();
    Err(ScheduleError::TooOften { shortest })
}

/// Parses `90s`, `30m`, `12h`, `7d`, `1h 30m` and the other forms that humantime accepts, of at
/// least a millisecond. `30M` is 30 minutes, not months.
pub fn parse_duration(text: &str) -> Option<TimeDelta> {
    let found = humantime::parse_duration(text.trim().to_lowercase().as_str()).ok()?;
    let found = TimeDelta::from_std(found).ok()?;
    (found >= TimeDelta::milliseconds(1)).then_some(found)
}

fn duration(text: &str) -> Result<TimeDelta, ScheduleError> {
    let wrong = || ScheduleError::NotADuration(text.to_owned());
    let text = text.trim().to_lowercase();
    let found = parse_duration(text.trim_start_matches("in ")).ok_or_else(wrong)?;
    if found < TimeDelta::seconds(1) || found > FARTHEST {
        return Err(wrong());
    }
    Ok(found)
}

/// An instant with its offset, or a wall-clock time of the zone.
fn instant(text: &str, zone: Tz) -> Result<DateTime<Utc>, ScheduleError> {
    let text = text.trim();
    if let Ok(instant) = DateTime::parse_from_rfc3339(text) {
        return Ok(instant.with_timezone(&Utc));
    }
    let forms = ["%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M"];
    let local = forms.iter().find_map(|form| NaiveDateTime::parse_from_str(text, form).ok());
    let local = local.ok_or_else(|| ScheduleError::NotATime(text.to_owned()))?;
    match zone.from_local_datetime(&local) {
        LocalResult::Single(instant) | LocalResult::Ambiguous(instant, _) => {
            Ok(instant.with_timezone(&Utc))
        }
        LocalResult::None => Err(ScheduleError::Skipped { time: local, zone }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn utc(text: &str) -> DateTime<Utc> {
        text.parse().unwrap()
    }

    fn planned(
        requested: RequestedTime,
        now: &str,
    ) -> Result<(Recurrence, DateTime<Utc>), ScheduleError> {
        plan(&requested, Tz::Europe__Berlin, TimeDelta::minutes(1), utc(now))
    }

    fn cron(pattern: &str) -> RequestedTime {
        RequestedTime { cron: Some(pattern.into()), ..RequestedTime::default() }
    }

    fn at(time: &str) -> RequestedTime {
        RequestedTime { at: Some(time.into()), ..RequestedTime::default() }
    }

    /// The next times of a calendar, as wall-clock times of Berlin.
    fn times(pattern: &str, now: &str, count: usize) -> Vec<String> {
        let (rule, first) = planned(cron(pattern), now).unwrap();
        let mut times = vec![first];
        while times.len() < count {
            let last = times[times.len() - 1];
            times.push(rule.next(last, last).unwrap());
        }
        let local = |time: &DateTime<Utc>| {
            time.with_timezone(&Tz::Europe__Berlin).format("%d %H:%M %Z").to_string()
        };
        times.iter().map(local).collect()
    }

    const MAY: &str = "2026-05-04T10:00:00Z";

    /// Proves MC-39.
    #[test]
    fn durations_have_units_of_any_case() {
        let seconds = |text: &str| parse_duration(text).map(|found| found.num_seconds());
        assert_eq!(seconds("90s"), Some(90));
        assert_eq!(seconds(" 1h 30m "), Some(5400));
        assert_eq!(seconds("30M"), Some(1800));
        for wrong in ["", "30", "0s", "1us", "-1s", "soon", "9999999999999y"] {
            assert_eq!(parse_duration(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn times_are_read_in_the_zone() {
        for (requested, due) in [
            (at("2026-05-04T18:00"), "2026-05-04T16:00:00Z"),
            (at("2026-05-04 18:00:30"), "2026-05-04T16:00:30Z"),
            (at("2026-05-04T18:00:00+09:00"), ""),
            (at("2026-12-24T18:00"), "2026-12-24T17:00:00Z"),
            (
                RequestedTime { after: Some("in 20 minutes".into()), ..RequestedTime::default() },
                "2026-05-04T10:20:00Z",
            ),
            (
                RequestedTime { after: Some("1h30m".into()), ..RequestedTime::default() },
                "2026-05-04T11:30:00Z",
            ),
            (cron("0 9 * * MON-FRI"), "2026-05-05T07:00:00Z"),
            (cron("0 9 L * *"), "2026-05-31T07:00:00Z"),
        ] {
            let found = planned(requested.clone(), MAY);
            match due {
                "" => assert!(
                    matches!(found, Err(ScheduleError::Past { .. })),
                    "{requested:?}: {found:?}"
                ),
                due => assert_eq!(found.unwrap().1, utc(due), "{requested:?}"),
            }
        }
    }

    /// Proves MC-39.
    #[test]
    fn invalid_schedule_times_are_rejected_with_a_reason() {
        let every =
            |text: &str| RequestedTime { every: Some(text.into()), ..RequestedTime::default() };
        for (requested, words) in [
            (RequestedTime::default(), "give one of"),
            (RequestedTime { every: Some("1h".into()), ..cron("0 9 * * *") }, "give one of"),
            (at("tomorrow"), "is not a time"),
            (at("2026-05-04T11:00"), "is in the past"),
            (at("2126-05-04T11:00"), "ten years"),
            (
                RequestedTime { after: Some("soon".into()), ..RequestedTime::default() },
                "is not a duration",
            ),
            (every("30s"), "too often: the shortest interval is 1m"),
            (cron("* * * * * *"), "is not a cron pattern"),
            (cron("61 * * * *"), "is not a cron pattern"),
            (cron("0 0 30 2 *"), "never occurs"),
        ] {
            let problem = planned(requested.clone(), MAY).unwrap_err().to_string();
            assert!(problem.contains(words), "{requested:?}: {problem}");
        }
        let hourly = |requested| plan(&requested, Tz::UTC, TimeDelta::hours(1), utc(MAY));
        let too_often = hourly(cron("0,30 9 * * *")).unwrap_err();
        assert_eq!(too_often, ScheduleError::TooOften { shortest: "1h".into() });
        assert!(hourly(cron("0 * * * *")).is_ok());
    }

    /// A daily time is not more frequent than once a day, although one day has 23 hours.
    #[test]
    fn the_change_of_clocks_does_not_count_as_a_shorter_interval() {
        let (zone, now) = (Tz::Europe__Berlin, utc("2026-03-20T12:00:00Z"));
        let daily = |pattern| plan(&cron(pattern), zone, TimeDelta::days(1), now);
        for pattern in ["0 9 * * *", "30 2 * * *", "0 0 * * *"] {
            assert!(daily(pattern).is_ok(), "{pattern}");
        }
        let (_, due) = daily("0 9 * * *").unwrap();
        assert_eq!(due, utc("2026-03-21T08:00:00Z"));
        let too_often = daily("0 9,10 * * *").unwrap_err();
        assert_eq!(too_often, ScheduleError::TooOften { shortest: "1day".into() });
    }

    /// The clocks go forward: 02:00 … 02:59 is missing on 29 March 2026.
    /// Proves MC-39.
    #[test]
    fn a_time_that_summer_time_skips_is_refused_or_moved() {
        let before = "2026-03-28T20:00:00Z";
        let problem = planned(at("2026-03-29T02:30"), before).unwrap_err().to_string();
        assert!(problem.contains("does not exist in Europe/Berlin"), "{problem}");
        assert_eq!(
            times("30 2 * * *", before, 2),
            ["29 03:00 CEST", "30 02:30 CEST"],
            "when the clocks have just been changed"
        );
        assert_eq!(
            times("*/30 * * * *", "2026-03-29T00:10:00Z", 3),
            ["29 01:30 CET", "29 03:00 CEST", "29 03:30 CEST"]
        );
    }

    /// The clocks go back: 02:00 … 02:59 occurs twice on 25 October 2026.
    /// Proves MC-39.
    #[test]
    fn a_time_that_comes_twice_is_due_the_first_time() {
        let before = "2026-10-24T20:00:00Z";
        let (_, due) = planned(at("2026-10-25T02:30"), before).unwrap();
        assert_eq!(due, utc("2026-10-25T00:30:00Z"), "the earlier one");
        assert_eq!(times("30 2 * * *", before, 2), ["25 02:30 CEST", "26 02:30 CET"]);
        assert_eq!(
            times("30 * * * *", "2026-10-25T00:10:00Z", 3),
            ["25 02:30 CEST", "25 02:30 CET", "25 03:30 CET"],
            "every hour is every hour"
        );
    }

    /// Proves MC-39.
    #[test]
    fn missed_runs_are_caught_up_once() {
        let (due, now) = (utc(MAY), utc("2026-05-04T13:20:00Z"));
        assert_eq!(Recurrence::Once.next(due, now), None);
        let hourly = Recurrence::Every { seconds: 3600 };
        assert_eq!(hourly.next(due, now), Some(utc("2026-05-04T14:00:00Z")));
        assert_eq!(hourly.next(due, due), Some(utc("2026-05-04T11:00:00Z")));
        let daily = Recurrence::Cron { pattern: "0 9 * * *".into(), zone: "UTC".into() };
        assert_eq!(daily.next(due, utc("2026-06-01T12:00:00Z")), Some(utc("2026-06-02T09:00:00Z")));
    }
}
