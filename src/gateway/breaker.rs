//! A circuit breaker per channel. While a platform cannot be reached or rejects the token, nothing
//! is sent to it, so that it uses up neither permits nor attempts.
//!
//! ```text
//!            FAILURES in a row             the wait is over, and the
//! closed ─────────────────────────► open ────── platform answers ─────► half-open ──┐
//!   ▲                                ▲ └─ no answer: doubles the wait ─┘ │          │
//!   │                                └──────────── the probe fails ──────┘          │
//!   └────────────────────────── the platform answers a send ────────────────────────┘
//! ```
//! The first request is [`channels::Channel::check`], which shows nothing. Then a single row is
//! sent as a probe. If the platform rejects one message, that is an answer: it shows that the
//! platform works.

use channels::{Receipt, SendError};
use chrono::{DateTime, TimeDelta, Utc};
use parking_lot::{Mutex, MutexGuard};
use std::collections::BTreeMap;

use crate::journal::ids::OutboxId;

/// The metric that is 1 while a channel is suspended, that is, only probes are sent.
pub const SUSPENDED: &str = "countersign_channel_suspended";

/// Consecutive failures that open the breaker.
const FAILURES: u32 = 3;
const FIRST_WAIT: TimeDelta = TimeDelta::seconds(1);
const LONGEST_WAIT: TimeDelta = TimeDelta::minutes(1);

/// The breakers of all channels on this node.
#[derive(Debug, Default)]
pub struct Breakers(Mutex<BTreeMap<String, Breaker>>);

#[derive(Debug)]
struct Breaker {
    state: BreakerState,
    /// When the platform last answered.
    worked_at: Option<DateTime<Utc>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum BreakerState {
    Closed { failures: u32 },
    Open { until: DateTime<Utc>, wait: TimeDelta, is_checking: bool },
    HalfOpen { wait: TimeDelta, probe: Option<OutboxId> },
}

/// What a channel may do now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BreakerPermission {
    Sends,
    /// One row, whose outcome decides whether the breaker closes.
    Probe,
    /// A request that checks whether the platform answers.
    Check,
    Nothing,
}

impl Breakers {
    pub fn admits(&self, channel: &str, now: DateTime<Utc>) -> BreakerPermission {
        match self.all().get(channel).map(|breaker| &breaker.state) {
            None | Some(BreakerState::Closed { .. }) => BreakerPermission::Sends,
            Some(BreakerState::Open { until, is_checking: false, .. }) if *until <= now => {
                BreakerPermission::Check
            }
            Some(BreakerState::HalfOpen { probe: None, .. }) => BreakerPermission::Probe,
            Some(BreakerState::Open { .. } | BreakerState::HalfOpen { .. }) => {
                BreakerPermission::Nothing
            }
        }
    }

    /// Whether rows are sent as usual.
    pub fn is_closed(&self, channel: &str) -> bool {
        let all = self.all();
        matches!(all.get(channel).map(|b| &b.state), None | Some(BreakerState::Closed { .. }))
    }

    /// Whether the platform has answered since `time`.
    pub fn worked_since(&self, channel: &str, time: DateTime<Utc>) -> bool {
        let all = self.all();
        all.get(channel).and_then(|breaker| breaker.worked_at).is_some_and(|at| at >= time)
    }

    /// Records that a check is under way.
    pub fn begin_check(&self, channel: &str) {
        self.change(channel, |breaker| {
            if let BreakerState::Open { is_checking, .. } = &mut breaker.state {
                *is_checking = true;
            }
        });
    }

    /// Records the result of a check.
    pub fn checked(&self, channel: &str, problem: Option<String>, now: DateTime<Utc>) {
        self.change(channel, |breaker| {
            let BreakerState::Open { wait, .. } = breaker.state else { return };
            match problem {
                None => {
                    breaker.worked_at = Some(now);
                    breaker.state = BreakerState::HalfOpen { wait, probe: None };
                    tracing::info!(
                        channel.id = channel,
                        "the platform is reachable again, sending a probe"
                    );
                }
                Some(problem) => breaker.open(channel, wait * 2, &problem, now),
            }
        });
    }

    /// Records that this row is the probe.
    pub fn begin_probe(&self, channel: &str, id: &OutboxId) {
        self.change(channel, |breaker| {
            if let BreakerState::HalfOpen { probe: probe @ None, .. } = &mut breaker.state {
                *probe = Some(id.clone());
            }
        });
    }

    /// Records that this row is no longer being sent. If it was the probe and never reached the
    /// platform, another row may become the probe.
    pub fn end_probe(&self, channel: &str, id: &OutboxId) {
        self.change(channel, |breaker| {
            if let BreakerState::HalfOpen { probe, .. } = &mut breaker.state
                && probe.as_ref() == Some(id)
            {
                *probe = None;
            }
        });
    }

    /// Records the outcome of a send.
    pub fn observe(
        &self,
        channel: &str,
        id: &OutboxId,
        sent: &Result<Receipt, SendError>,
        now: DateTime<Utc>,
    ) {
        let Err(SendError::Retry { after: None, reason: problem } | SendError::Unknown(problem)) =
            sent
        else {
            return self.change(channel, |breaker| breaker.answered(channel, now));
        };
        self.change(channel, |breaker| match &mut breaker.state {
            BreakerState::Closed { failures } => {
                *failures += 1;
                if *failures >= FAILURES {
                    breaker.open(channel, FIRST_WAIT, problem, now);
                }
            }
            BreakerState::HalfOpen { wait, probe } if probe.as_ref() == Some(id) => {
                let wait = *wait * 2;
                breaker.open(channel, wait, problem, now);
            }
            // The send began before the breaker opened.
            BreakerState::Open { .. } | BreakerState::HalfOpen { .. } => {}
        });
    }

    fn change(&self, channel: &str, change: impl FnOnce(&mut Breaker)) {
        let mut all = self.all();
        if !all.contains_key(channel) {
            all.insert(channel.to_owned(), Breaker::new());
        }
        if let Some(breaker) = all.get_mut(channel) {
            change(breaker);
        }
    }

    fn all(&self) -> MutexGuard<'_, BTreeMap<String, Breaker>> {
        self.0.lock()
    }
}

impl Breaker {
    fn new() -> Self {
        Self { state: BreakerState::Closed { failures: 0 }, worked_at: None }
    }

    fn open(&mut self, channel: &str, wait: TimeDelta, problem: &str, now: DateTime<Utc>) {
        let wait = wait.min(LONGEST_WAIT);
        self.state = BreakerState::Open { until: now + wait, wait, is_checking: false };
        let seconds = wait.num_seconds();
        tracing::warn!(channel.id = channel, seconds, problem, "channel suspended");
        metrics::gauge!(SUSPENDED, "channel" => channel.to_owned()).set(1.0);
    }

    fn answered(&mut self, channel: &str, now: DateTime<Utc>) {
        self.worked_at = Some(now);
        if !matches!(self.state, BreakerState::Closed { .. }) {
            tracing::info!(channel.id = channel, "channel resumed");
            metrics::gauge!(SUSPENDED, "channel" => channel.to_owned()).set(0.0);
        }
        self.state = BreakerState::Closed { failures: 0 };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(seconds, 0).unwrap()
    }

    fn down() -> Result<Receipt, SendError> {
        Err(SendError::Retry { after: None, reason: "connection refused".into() })
    }

    fn row(id: &str) -> OutboxId {
        OutboxId(id.into())
    }

    /// Consecutive failures open the breaker, each failed check doubles the wait, one answered
    /// probe closes it, and other channels are unaffected.
    /// Proves M6.
    #[test]
    fn failures_open_it_and_an_answered_probe_closes_it() {
        let breakers = Breakers::default();
        for _ in 0..3 {
            assert_eq!(breakers.admits("tg", at(0)), BreakerPermission::Sends);
            breakers.observe("tg", &row("a"), &down(), at(0));
        }
        assert_eq!(breakers.admits("tg", at(0)), BreakerPermission::Nothing);
        assert_eq!(breakers.admits("web", at(0)), BreakerPermission::Sends);
        let mut now = 0;
        for wait in [1, 2, 4, 8, 16, 32, 60, 60] {
            now += wait;
            assert_eq!(breakers.admits("tg", at(now - 1)), BreakerPermission::Nothing);
            assert_eq!(breakers.admits("tg", at(now)), BreakerPermission::Check);
            breakers.begin_check("tg");
            assert_eq!(breakers.admits("tg", at(now)), BreakerPermission::Nothing, "one asks");
            breakers.checked("tg", Some("no route".into()), at(now));
        }
        now += 60;
        breakers.begin_check("tg");
        breakers.checked("tg", None, at(now));
        assert_eq!(breakers.admits("tg", at(now)), BreakerPermission::Probe);
        breakers.begin_probe("tg", &row("b"));
        assert_eq!(breakers.admits("tg", at(now)), BreakerPermission::Nothing, "a single probe");
        breakers.observe("tg", &row("b"), &Ok(Receipt::nowhere()), at(now));
        assert_eq!(breakers.admits("tg", at(now)), BreakerPermission::Sends);
    }

    /// A failed probe reopens the breaker, a probe that was never sent makes room for another, and
    /// failures of sends that began before it opened are ignored.
    #[test]
    fn only_the_probe_decides() {
        let breakers = Breakers::default();
        (0..3).for_each(|_| breakers.observe("tg", &row("a"), &down(), at(0)));
        breakers.begin_check("tg");
        breakers.checked("tg", None, at(1));
        breakers.observe("tg", &row("late"), &down(), at(1));
        assert_eq!(breakers.admits("tg", at(1)), BreakerPermission::Probe);
        breakers.begin_probe("tg", &row("b"));
        breakers.end_probe("tg", &row("b"));
        assert_eq!(breakers.admits("tg", at(1)), BreakerPermission::Probe);
        breakers.begin_probe("tg", &row("c"));
        breakers.observe("tg", &row("c"), &down(), at(1));
        breakers.end_probe("tg", &row("c"));
        assert_eq!(
            breakers.admits("tg", at(2)),
            BreakerPermission::Nothing,
            "two seconds from now on"
        );
        assert_eq!(breakers.admits("tg", at(3)), BreakerPermission::Check);
    }

    /// A platform that rejects a message or asks to retry later works.
    /// Proves M4, M10.
    #[test]
    fn refusals_of_one_message_or_chat_do_not_open_it() {
        let breakers = Breakers::default();
        let after = Some(std::time::Duration::from_secs(9));
        for _ in 0..9 {
            breakers.observe("tg", &row("a"), &down(), at(0));
            breakers.observe("tg", &row("a"), &down(), at(0));
            for answer in [
                SendError::Gone("blocked".into()),
                SendError::Rejected("too long".into()),
                SendError::Retry { after, reason: "429".into() },
            ] {
                breakers.observe("tg", &row("a"), &Err(answer), at(0));
            }
            assert_eq!(breakers.admits("tg", at(0)), BreakerPermission::Sends);
        }
        assert!(breakers.worked_since("tg", at(0)) && !breakers.worked_since("tg", at(1)));
    }
}
