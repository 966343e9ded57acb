//! Listens on channels, on one node at a time where the platform requires it, and records the state
//! of each connection for operators.

use anyhow::{Context as _, Result};
use channels::{ConnectionState, Intake, ListenError};
use chrono::{DateTime, TimeDelta, Utc};
use std::sync::Arc;
use tokio::sync::watch;

use super::Gateway;
use crate::{
    clock::stops_within,
    store::{
        channels::{ChannelReport, inbox},
        leases::DutyKind,
    },
};

/// The metric that is 1 while this node listens on a channel.
pub const CHANNEL_UP: &str = "countersign_channel_up";

/// How long the same problem is not recorded again at first, and at most in the log and the store.
const QUIET_FIRST: TimeDelta = TimeDelta::minutes(1);
const LOGGED_AGAIN: TimeDelta = TimeDelta::hours(1);
const STORED_AGAIN: TimeDelta = QUIET_FIRST;

/// Listens while this node holds the duty, and again whenever it gets it back.
pub(super) async fn listen(gateway: Arc<Gateway>, id: String, intake: Intake) {
    let connected = &gateway.channels[&id];
    let duty = DutyKind::Listen(&id);
    let mut reporter = Reporter::new(&gateway, &id);
    while !gateway.stop.is_cancelled() {
        let held = !connected.alone || matches!(gateway.store.hold_duty(duty).await, Ok(Some(_)));
        let ended = if held {
            listen_once(&mut reporter, duty, &intake).await
        } else {
            Ok(ListenEnd::Lost)
        };
        metrics::gauge!(CHANNEL_UP, "channel" => id.clone()).set(0.0);
        match ended {
            Ok(ListenEnd::Reconnect) => continue,
            Ok(ListenEnd::Lost) => {}
            Err(problem) => {
                reporter.failed(&format!("{problem:#}")).await;
            }
        }
        pause(&gateway).await;
    }
}

/// Why listening ended without a problem.
enum ListenEnd {
    /// A reconnection was requested.
    Reconnect,
    /// The gateway is stopping, or another node has the duty.
    Lost,
}

async fn listen_once(
    reporter: &mut Reporter<'_>,
    duty: DutyKind<'_>,
    intake: &Intake,
) -> Result<ListenEnd> {
    let (gateway, id) = (reporter.gateway, reporter.id);
    let connected = &gateway.channels[id];
    reporter.reconnects = gateway.store.reconnects(id).await.context("reading the requests")?;
    let channel_id = id.to_owned();
    let from = gateway
        .store
        .read(move |tx| Box::pin(async move { inbox::position(tx, &channel_id).await }))
        .await
        .context("reading the position")?;
    let stop = gateway.stop.child_token();
    intake.report(ConnectionState::Connecting);
    let before = reporter.reconnects;
    let listening = connected.channel.listen(intake.clone(), from, stop.clone());
    tokio::select! {
        ended = listening => match ended {
            Err(ListenError::Closed) | Ok(()) => Ok(ListenEnd::Lost),
            Err(problem) => Err(problem.into()),
        },
        never = reporter.follow(intake.connection()) => never,
        ended = until_listening_must_end(gateway, id, duty, before), if connected.alone => {
            stop.cancel();
            Ok(ended)
        }
    }
}

/// Returns when the duty was lost, or a reconnection was requested.
async fn until_listening_must_end(
    gateway: &Gateway,
    id: &str,
    duty: DutyKind<'_>,
    before: i64,
) -> ListenEnd {
    while !gateway.stop.is_cancelled() {
        pause(gateway).await;
        if !matches!(gateway.store.hold_duty(duty).await, Ok(Some(_))) {
            tracing::warn!(channel.id = id, "stopped listening: this node lost the duty");
            return ListenEnd::Lost;
        }
        if matches!(gateway.store.reconnects(id).await, Ok(count) if count > before) {
            tracing::info!(channel.id = id, "reconnecting, as an operator requested");
            return ListenEnd::Reconnect;
        }
    }
    std::future::pending().await
}

async fn pause(gateway: &Gateway) {
    // In real time, because leases are compared by the database's clock.
    stops_within(gateway.store.heartbeat_every(), &gateway.stop).await;
}

/// Logs and stores the state of one channel.
struct Reporter<'a> {
    gateway: &'a Gateway,
    id: &'a str,
    /// The number of reconnections that were requested before the current attempt.
    reconnects: i64,
    logged: RepeatedProblem,
    stored: RepeatedProblem,
    /// Why the state could not be stored.
    unstored: RepeatedProblem,
}

impl<'a> Reporter<'a> {
    fn new(gateway: &'a Gateway, id: &'a str) -> Self {
        let logged = RepeatedProblem::quiet_for(LOGGED_AGAIN);
        let stored = RepeatedProblem::quiet_for(STORED_AGAIN);
        let unstored = RepeatedProblem::quiet_for(LOGGED_AGAIN);
        Self { gateway, id, reconnects: 0, logged, stored, unstored }
    }

    /// Records each state that the channel reports. Never returns.
    async fn follow<T>(&mut self, mut reported: watch::Receiver<ConnectionState>) -> T {
        let mut was_up = false;
        loop {
            let known = reported.borrow_and_update().clone();
            let is_stored = match known {
                ConnectionState::Connecting => true,
                ConnectionState::Connected => {
                    was_up = true;
                    self.connected().await
                }
                ConnectionState::Disconnected { problem } => {
                    if was_up && self.recovers(&mut reported).await {
                        continue;
                    }
                    was_up = false;
                    metrics::gauge!(CHANNEL_UP, "channel" => self.id.to_owned()).set(0.0);
                    self.failed(&problem).await
                }
            };
            if is_stored {
                let _ = reported.changed().await;
            } else {
                let again = self.gateway.store.heartbeat_every();
                let _ = tokio::time::timeout(again, reported.changed()).await;
            }
        }
    }

    /// Whether an interruption ends within a moment, so that it need not be reported.
    async fn recovers(&self, reported: &mut watch::Receiver<ConnectionState>) -> bool {
        let is_up = |known: &ConnectionState| *known == ConnectionState::Connected;
        let back = reported.wait_for(is_up);
        tokio::time::timeout(self.gateway.store.heartbeat_every(), back).await.is_ok()
    }

    /// Returns whether it is stored.
    async fn connected(&mut self) -> bool {
        metrics::gauge!(CHANNEL_UP, "channel" => self.id.to_owned()).set(1.0);
        if self.logged.ends() {
            tracing::info!(channel.id = self.id, "listening again");
        }
        self.stored.ends();
        self.store(None).await
    }

    /// Logs a problem when it is new, then at growing intervals. Returns whether it is stored.
    async fn failed(&mut self, problem: &str) -> bool {
        let now = self.gateway.clock.now();
        if self.logged.is_due(problem, now) {
            tracing::error!(channel.id = self.id, problem, "could not listen");
        }
        let key = format!("{} {problem}", self.reconnects);
        let is_stored =
            !self.stored.is_due(&key, now) || self.store(Some(problem.to_owned())).await;
        if !is_stored {
            self.stored.ends();
        }
        is_stored
    }

    /// Returns whether it was stored.
    async fn store(&mut self, problem: Option<String>) -> bool {
        let report = ChannelReport {
            channel: self.id.to_owned(),
            is_up: problem.is_none(),
            problem,
            reconnects: self.reconnects,
        };
        let now = self.gateway.clock.now();
        let Err(problem) = self.gateway.store.report_channel(report, now).await else {
            self.unstored.ends();
            return true;
        };
        let problem = format!("{problem:#}");
        if self.unstored.is_due(&problem, now) {
            tracing::warn!(channel.id = self.id, problem, "could not store the state of a channel");
        }
        false
    }
}

/// A problem that may occur again and again.
#[derive(Debug)]
struct RepeatedProblem {
    last: Option<LastProblem>,
    longest: TimeDelta,
}

#[derive(Debug)]
struct LastProblem {
    problem: String,
    again_at: DateTime<Utc>,
    wait: TimeDelta,
}

impl RepeatedProblem {
    fn quiet_for(longest: TimeDelta) -> Self {
        Self { last: None, longest }
    }

    /// Whether it is new, or enough time has passed. The interval doubles each time.
    fn is_due(&mut self, problem: &str, now: DateTime<Utc>) -> bool {
        let wait = match &self.last {
            Some(last) if last.problem == problem && now < last.again_at => return false,
            Some(last) if last.problem == problem => (last.wait * 2).min(self.longest),
            _ => QUIET_FIRST,
        };
        self.last = Some(LastProblem { problem: problem.to_owned(), again_at: now + wait, wait });
        true
    }

    /// Returns whether there was a problem.
    fn ends(&mut self) -> bool {
        self.last.take().is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repeated_problem_is_logged_at_growing_intervals() {
        let (mut repeated, start) =
            (RepeatedProblem::quiet_for(LOGGED_AGAIN), DateTime::UNIX_EPOCH);
        let after = |seconds: i64| start + TimeDelta::seconds(seconds);
        let logged: Vec<_> = (0..1_000)
            .filter(|n| repeated.is_due("wrong token", after(n * 5)))
            .map(|n| n * 5)
            .collect();
        assert_eq!(logged, [0, 60, 180, 420, 900, 1_860, 3_780]);
        assert!(repeated.is_due("no network", after(5_001)), "another problem");
        assert!(!repeated.is_due("no network", after(5_002)));
        assert!(repeated.ends() && !repeated.ends());
        assert!(repeated.is_due("no network", after(5_003)), "it is back");
    }
}
