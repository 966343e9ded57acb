//! The time, as a value that is passed in: nothing else asks the machine.

use async_trait::async_trait;
use chrono::{DateTime, TimeDelta, Utc};
use std::{sync::Mutex, time::Duration};
use tokio::sync::watch;

#[async_trait]
pub trait Clock: Send + Sync {
    fn now(&self) -> DateTime<Utc>;

    /// Returns when `now` has reached that instant.
    async fn sleep_until(&self, instant: DateTime<Utc>);
}

/// The machine's clock.
#[derive(Debug, Default)]
pub struct SystemClock;

#[async_trait]
impl Clock for SystemClock {
    fn now(&self) -> DateTime<Utc> {
        #[expect(clippy::disallowed_methods, reason = "the one place that reads the time")]
        Utc::now()
    }

    async fn sleep_until(&self, instant: DateTime<Utc>) {
        let left = (instant - self.now()).to_std().unwrap_or(Duration::ZERO);
        #[expect(clippy::disallowed_methods, reason = "the one place that waits for a time")]
        tokio::time::sleep(left).await;
    }
}

/// A clock that stands still until it is moved. For tests.
#[derive(Debug)]
pub struct HandClock {
    now: watch::Sender<DateTime<Utc>>,
    moving: Mutex<()>,
}

impl HandClock {
    pub fn new(now: DateTime<Utc>) -> Self {
        Self { now: watch::Sender::new(now), moving: Mutex::new(()) }
    }

    pub fn advance(&self, by: TimeDelta) {
        let _one_at_a_time = self.moving.lock();
        self.now.send_modify(|now| *now += by);
    }
}

#[async_trait]
impl Clock for HandClock {
    fn now(&self) -> DateTime<Utc> {
        *self.now.borrow()
    }

    async fn sleep_until(&self, instant: DateTime<Utc>) {
        let mut now = self.now.subscribe();
        // The sender lives as long as `self`, so waiting cannot fail.
        let _ = now.wait_for(|now| *now >= instant).await;
    }
}
