//! How often a person may have a tool run: two sliding windows, in memory.

use chrono::{DateTime, Duration as Span, Utc};
use std::{
    collections::{HashMap, VecDeque},
    sync::{Mutex, PoisonError},
    time::Duration,
};

use crate::agent::catalog::Rate;

/// Above so many pairs of person and tool, those that are idle are forgotten.
const MANY: usize = 10_000;

/// Person and tool.
type Key = (String, String);

/// The calls of the last hour, by person and tool.
#[derive(Debug, Default)]
pub struct Limiter {
    calls: Mutex<HashMap<Key, VecDeque<DateTime<Utc>>>>,
}

impl Limiter {
    /// Counts the call, or says after how long there is room for it; then it is not counted.
    pub fn check_and_increment(
        &self,
        person: &str,
        tool: &str,
        rate: Rate,
        now: DateTime<Utc>,
    ) -> Result<(), Duration> {
        let mut all = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() > MANY {
            all.retain(|_, calls| calls.back().is_some_and(|at| *at > now - Span::hours(1)));
        }
        let calls = all.entry((person.to_owned(), tool.to_owned())).or_default();
        while calls.front().is_some_and(|at| *at <= now - Span::hours(1)) {
            calls.pop_front();
        }
        let minute = wait(calls, rate.per_minute, Span::minutes(1), now);
        let hour = wait(calls, rate.per_hour, Span::hours(1), now);
        if let Some(wait) = minute.max(hour) {
            return Err(wait);
        }
        calls.push_back(now);
        Ok(())
    }
}

/// How long until one more call is within `limit` calls per `window`; `None` when it is now.
fn wait(
    calls: &VecDeque<DateTime<Utc>>,
    limit: u32,
    window: Span,
    now: DateTime<Utc>,
) -> Option<Duration> {
    let frees = match (limit as usize).checked_sub(1) {
        // Nothing is ever allowed; the window is as good an answer as any.
        None => now + window,
        Some(others) => *calls.iter().rev().nth(others)? + window,
    };
    // Whoever moves the clock back waits no longer than the window.
    (frees > now).then(|| (frees - now).min(window).to_std().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(1_800_000_000 + seconds, 0).unwrap()
    }

    #[test]
    fn ic_33_the_call_after_the_sixtieth_in_a_minute_waits() {
        let limiter = Limiter::default();
        for second in 0..60 {
            limiter.check_and_increment("ann", "x", Rate::default(), at(second / 2)).unwrap();
        }
        let wait = limiter.check_and_increment("ann", "x", Rate::default(), at(40)).unwrap_err();
        assert_eq!(wait, Duration::from_secs(20));
        assert!(limiter.check_and_increment("ann", "x", Rate::default(), at(60)).is_ok());
    }

    #[test]
    fn ic_32_others_and_other_tools_are_unaffected() {
        let limiter = Limiter::default();
        let once = Rate { per_minute: 1, per_hour: 10 };
        assert!(limiter.check_and_increment("ann", "x", once, at(0)).is_ok());
        assert!(limiter.check_and_increment("ann", "x", once, at(1)).is_err());
        assert!(limiter.check_and_increment("bob", "x", once, at(1)).is_ok());
        assert!(limiter.check_and_increment("ann", "y", once, at(1)).is_ok());
    }

    #[test]
    fn ic_34_the_hour_holds_though_the_minute_is_free_and_a_refusal_costs_nothing() {
        let limiter = Limiter::default();
        let rate = Rate { per_minute: 2, per_hour: 3 };
        for minute in 0..3 {
            limiter.check_and_increment("ann", "x", rate, at(minute * 120)).unwrap();
        }
        for _ in 0..5 {
            let wait = limiter.check_and_increment("ann", "x", rate, at(600)).unwrap_err();
            assert_eq!(wait, Duration::from_mins(50));
        }
        assert!(limiter.check_and_increment("ann", "x", rate, at(3600)).is_ok());
        assert!(limiter.check_and_increment("ann", "x", rate, at(3601)).is_err());
    }

    #[test]
    fn a_clock_that_went_back_does_not_lock_out_for_longer_than_the_window() {
        let limiter = Limiter::default();
        let once = Rate { per_minute: 1, per_hour: 10 };
        limiter.check_and_increment("ann", "x", once, at(100_000)).unwrap();
        let wait = limiter.check_and_increment("ann", "x", once, at(0)).unwrap_err();
        assert_eq!(wait, Duration::from_mins(1));
    }

    #[test]
    fn nothing_is_allowed_at_rate_zero() {
        let never = Rate { per_minute: 0, per_hour: 0 };
        let wait = Limiter::default().check_and_increment("ann", "x", never, at(0)).unwrap_err();
        assert_eq!(wait, Duration::from_hours(1));
    }
}
