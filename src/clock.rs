//! The clock, which is passed in: no other code reads the machine's time.
//!
//! The clock of a process is monotonic. If several nodes share a database, it follows the
//! database's clock ([`follow`]), so that deadlines mean the same on every node; otherwise it
//! follows the machine's clock. If it is behind, it jumps ahead immediately. If it is ahead, it
//! runs at half speed until it is correct.

use async_trait::async_trait;
use chrono::{DateTime, TimeDelta, Utc};
use parking_lot::{Mutex, MutexGuard};
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

#[async_trait]
pub trait Clock: Send + Sync {
    fn now(&self) -> DateTime<Utc>;

    /// Returns once `now` has reached `instant`.
    async fn sleep_until(&self, instant: DateTime<Utc>);
}

/// Waits in real time: before another attempt, where nothing signals that it can succeed.
pub async fn pause(duration: Duration) {
    #[expect(clippy::disallowed_methods, reason = "nothing signals the end of the wait")]
    tokio::time::sleep(duration).await;
}

/// Waits in real time until `stop` is cancelled, at most for `limit`. Returns whether it is
/// cancelled.
pub async fn stops_within(limit: Duration, stop: &CancellationToken) -> bool {
    tokio::time::timeout(limit, stop.cancelled()).await.is_ok()
}

/// The clock of this process.
#[derive(Debug, Default)]
pub struct SystemClock;

impl SystemClock {
    /// The machine's clock, which may step back.
    pub fn wall() -> DateTime<Utc> {
        #[expect(clippy::disallowed_methods, reason = "the only place that reads the time")]
        Utc::now()
    }
}

/// The maximum round trip for reading the shared clock. The error is at most half of it.
const PRECISE_WITHIN: Duration = Duration::from_millis(500);
/// How often a long wait checks the clock, because it may jump ahead.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// Synchronises this process with the shared clock, which returned `time` between the two instants.
pub fn follow(time: DateTime<Utc>, asked_at: Instant, answered_at: Instant) {
    let took = answered_at.saturating_duration_since(asked_at);
    let reading = Reading { at: asked_at + took / 2, time };
    let mut progress = progress();
    if took <= PRECISE_WITHIN || progress.shared.is_none() {
        progress.shared = Some(reading);
    }
}

/// A time, and the corresponding instant of the monotonic clock.
#[derive(Debug, Clone, Copy)]
struct Reading {
    at: Instant,
    time: DateTime<Utc>,
}

impl Reading {
    fn at(&self, at: Instant) -> DateTime<Utc> {
        self.time + elapsed(self.at, at)
    }
}

#[derive(Debug)]
struct Progress {
    /// The last time that was returned.
    last: Option<Reading>,
    /// The last reading of the shared clock.
    shared: Option<Reading>,
}

impl Progress {
    fn now(&mut self, at: Instant, wall: DateTime<Utc>) -> DateTime<Utc> {
        let target = self.shared.map_or(wall, |shared| shared.at(at));
        let time = match self.last {
            Some(last) if target < last.time => last.time + elapsed(last.at, at) / 2,
            _ => target,
        };
        self.last = Some(Reading { at, time });
        time
    }
}

fn elapsed(since: Instant, at: Instant) -> TimeDelta {
    TimeDelta::from_std(at.saturating_duration_since(since)).unwrap_or_default()
}

static PROGRESS: Mutex<Progress> = Mutex::new(Progress { last: None, shared: None });

fn progress() -> MutexGuard<'static, Progress> {
    PROGRESS.lock()
}

#[async_trait]
impl Clock for SystemClock {
    fn now(&self) -> DateTime<Utc> {
        progress().now(Instant::now(), Self::wall())
    }

    async fn sleep_until(&self, instant: DateTime<Utc>) {
        while let Ok(left) = (instant - self.now()).to_std()
            && !left.is_zero()
        {
            #[expect(clippy::disallowed_methods, reason = "the only place that waits for a time")]
            tokio::time::sleep(left.min(POLL_INTERVAL)).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> DateTime<Utc> {
        DateTime::UNIX_EPOCH + TimeDelta::seconds(seconds)
    }

    fn after(start: Instant, seconds: u64) -> Instant {
        start + Duration::from_secs(seconds)
    }

    #[test]
    fn a_machine_whose_clock_steps_back_does_not_stop_or_step_back() {
        let (mut clock, start) = (Progress { last: None, shared: None }, Instant::now());
        assert_eq!(clock.now(start, at(1_000)), at(1_000));
        assert_eq!(clock.now(after(start, 10), at(1_010)), at(1_010));
        // The machine's clock steps back by 100 seconds: a lease of 15 seconds still ends, after
        // 30.
        assert_eq!(clock.now(after(start, 20), at(920)), at(1_015));
        assert_eq!(clock.now(after(start, 40), at(940)), at(1_025));
        // After twice the time it agrees with the machine's clock, and follows it from there on.
        assert_eq!(clock.now(after(start, 210), at(1_110)), at(1_110));
        assert_eq!(clock.now(after(start, 211), at(1_111)), at(1_111));
        assert_eq!(clock.now(after(start, 212), at(5_000)), at(5_000), "it jumps ahead");
    }

    #[test]
    fn the_shared_clock_counts_and_the_machines_does_not() {
        let (mut clock, start) = (Progress { last: None, shared: None }, Instant::now());
        clock.shared = Some(Reading { at: start, time: at(1_000) });
        assert_eq!(clock.now(after(start, 5), at(1_065)), at(1_005));
        assert_eq!(clock.now(after(start, 6), at(0)), at(1_006), "the machine's clock was set");
        clock.shared = Some(Reading { at: after(start, 6), time: at(1_002) });
        assert_eq!(clock.now(after(start, 8), at(0)), at(1_007), "ahead, and slower");
        assert_eq!(clock.now(after(start, 10), at(0)), at(1_008));
        assert_eq!(clock.now(after(start, 12), at(0)), at(1_008), "together again");
        assert_eq!(clock.now(after(start, 13), at(0)), at(1_009));
    }
}
