//! A clock that only moves when a test moves it.

use async_trait::async_trait;
use chrono::{DateTime, TimeDelta, Utc};
use parking_lot::Mutex;
use tokio::sync::watch;

use crate::clock::Clock;

/// Moves only when told to.
#[derive(Debug)]
pub struct ManualClock {
    now: watch::Sender<DateTime<Utc>>,
    moving: Mutex<()>,
}

impl ManualClock {
    pub fn new(now: DateTime<Utc>) -> Self {
        Self { now: watch::Sender::new(now), moving: Mutex::new(()) }
    }

    pub fn advance(&self, by: TimeDelta) {
        let _one_at_a_time = self.moving.lock();
        self.now.send_modify(|now| *now += by);
    }
}

#[async_trait]
impl Clock for ManualClock {
    fn now(&self) -> DateTime<Utc> {
        *self.now.borrow()
    }

    async fn sleep_until(&self, instant: DateTime<Utc>) {
        let mut now = self.now.subscribe();
        // The sender lives as long as `self`, so waiting cannot fail.
        let _ = now.wait_for(|now| *now >= instant).await;
    }
}
