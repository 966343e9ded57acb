//! The state of channels, which the listening node reports, and requests to reconnect.

pub mod inbox;

use anyhow::Result;
use chrono::{DateTime, Utc};
use std::collections::BTreeMap;

use super::{
    Store, Tx, at,
    db::{row::row, sql},
    leases::DutyKind,
    webhooks::subscriptions,
};

/// The state of a channel, as reported by the node that listens to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChannelReport {
    pub channel: String,
    pub is_up: bool,
    /// The reason why it is not connected. The last problem is kept after the channel is connected
    /// again.
    pub problem: Option<String>,
    /// The number of reconnections requested before this attempt.
    pub reconnects: i64,
}

/// Whether a channel is connected to its platform.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ChannelStatus {
    Connected,
    /// A node has begun to listen, but has no result yet.
    Connecting,
    /// The last attempt failed, or no node listens.
    #[default]
    Disconnected,
}

/// The state of a channel, the same on all nodes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChannelState {
    pub status: ChannelStatus,
    /// Since when it is connected or failing; unknown while it is connecting or no node listens.
    pub since: Option<DateTime<Utc>>,
    /// The last problem. It may be resolved.
    pub problem: Option<ChannelProblem>,
    /// The number of requested reconnections that this state includes.
    pub reconnects: i64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChannelProblem {
    pub text: String,
    pub at: DateTime<Utc>,
}

row! {
    #[derive(Debug)]
    struct StateRow {
        channel: String,
        is_up: bool,
        since: i64,
        node: Option<String>,
        reconnects: i64,
        problem: Option<String>,
        problem_at: Option<i64>,
    }
}

row! {
    #[derive(Debug)]
    struct DutyLease {
        name: String,
        node: String,
    }
}

impl Store {
    /// Records the state of a channel, and notifies subscribers of a change.
    pub async fn report_channel(&self, report: ChannelReport, now: DateTime<Utc>) -> Result<()> {
        let node = self.node.to_string();
        self.write("channel state", move |tx| Box::pin(record(tx, report, node, now))).await
    }

    /// The states of the channels for which one node listens at a time.
    pub async fn channel_states(&self) -> Result<BTreeMap<String, ChannelState>> {
        self.read(|tx| Box::pin(states(tx))).await
    }

    /// The number of reconnections requested so far. The listening node watches it.
    pub async fn reconnects(&self, channel: &str) -> Result<i64> {
        let channel = channel.to_owned();
        let read = self.read(move |tx| {
            Box::pin(async move {
                let found: Option<(i64,)> = sql!(
                    tx,
                    fetch_optional,
                    "
                    -- reconnects
                    SELECT times FROM reconnects
                    WHERE channel = $1",
                    channel
                );
                Ok(found.map_or(0, |(times,)| times))
            })
        });
        read.await
    }
}

async fn record(
    tx: &mut Tx<'_>,
    report: ChannelReport,
    node: String,
    now: DateTime<Utc>,
) -> Result<()> {
    subscriptions::channel_is(tx, &report.channel, report.is_up, now).await?;
    let problem_at = report.problem.as_ref().map(|_| now.timestamp_millis());
    sql!(
        tx,
        execute,
        "
        -- channel problem
        UPDATE channel_states
        SET node = $2, reconnects = $3,
            problem = COALESCE($4, problem), problem_at = COALESCE($5, problem_at)
        WHERE channel = $1",
        report.channel.as_str(),
        node,
        report.reconnects,
        report.problem,
        problem_at
    );
    Ok(())
}

async fn states(tx: &mut Tx<'_>) -> Result<BTreeMap<String, ChannelState>> {
    let now = tx.now_ms().await?;
    let held: Vec<DutyLease> = sql!(
        tx,
        fetch_all,
        "
        -- nodes that listen
        SELECT name, node FROM leases
        WHERE until > $1",
        now
    );
    let rows: Vec<StateRow> = sql!(
        tx,
        fetch_all,
        "
        -- channel states
        SELECT channel, is_up, since, node, reconnects, problem, problem_at
        FROM channel_states"
    );
    let listens = |held: DutyLease| match DutyKind::parse(&held.name) {
        Some(DutyKind::Listen(channel)) => Some((channel.to_owned(), held.node)),
        _ => None,
    };
    let listeners: BTreeMap<_, _> = held.into_iter().filter_map(listens).collect();
    let mut found: BTreeMap<String, ChannelState> = listeners
        .keys()
        .map(|channel| {
            let state =
                ChannelState { status: ChannelStatus::Connecting, ..ChannelState::default() };
            (channel.clone(), state)
        })
        .collect();
    for row in rows {
        let state = state(&row, listeners.get(&row.channel));
        found.insert(row.channel, state);
    }
    Ok(found)
}

/// A report counts only while the reporting node holds the duty. Nodes of an older release report
/// without their name.
fn state(row: &StateRow, listener: Option<&String>) -> ChannelState {
    let is_current = row.node.is_none() || row.node.as_ref() == listener;
    let status = match listener {
        Some(_) if !is_current => ChannelStatus::Connecting,
        Some(_) if row.is_up => ChannelStatus::Connected,
        Some(_) | None => ChannelStatus::Disconnected,
    };
    let problem = row.problem.clone().zip(row.problem_at);
    ChannelState {
        status,
        since: (listener.is_some() && is_current).then(|| at(row.since)),
        problem: problem.map(|(text, ms)| ChannelProblem { text, at: at(ms) }),
        reconnects: row.reconnects,
    }
}

/// Requests a reconnection, and returns its number.
pub async fn reconnect(tx: &mut Tx<'_>, channel: &str) -> Result<i64> {
    let (number,): (i64,) = sql!(
        tx,
        fetch_one,
        "
        -- reconnect
        INSERT INTO reconnects (channel, times)
        VALUES ($1, 1)
        ON CONFLICT (channel) DO UPDATE
        SET times = reconnects.times + 1
        RETURNING times",
        channel
    );
    Ok(number)
}
