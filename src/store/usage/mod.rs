//! Usage: how often a person's tools have run, how fast they write, what a day has cost.

pub mod charge;
pub mod spent;

use anyhow::{Context, Result};
use chrono::{DateTime, Utc};
use serde::Serialize;
use std::time::Duration;
use strum::{EnumString, IntoStaticStr};
use utoipa::ToSchema;

use super::{
    Store, Tx,
    db::{row::row, sql},
};
use crate::{
    agent::{
        catalog::Rate,
        limits::{self, UsageTotals},
    },
    journal::{event::Usage, ids::ConversationId},
};

/// A use of a model or a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct UsageRecord {
    pub agent: String,
    pub person: String,
    pub what: UsageSource,
    pub took_ms: u64,
}

#[derive(Debug, Clone, PartialEq)]
pub enum UsageSource {
    /// `messages`: the number of messages that the reply answers.
    Model { id: String, messages: u64, usage: Usage, cost_micros: u64 },
    /// `counted`: the call was counted by the rate limit before it ran.
    Tool { name: String, counted: bool, cost_micros: u64 },
}

/// What a line of the account counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema, IntoStaticStr, EnumString)]
#[strum(serialize_all = "snake_case")]
#[serde(rename_all = "lowercase")]
pub enum UsageKind {
    Model,
    Tool,
}

impl UsageKind {
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    fn stored(text: &str) -> Result<Self> {
        text.parse::<Self>().with_context(|| format!("unknown kind of usage `{text}`"))
    }
}

/// One line of the daily account.
#[derive(Debug, Clone, PartialEq)]
pub struct AccountLine {
    pub day: String,
    /// Empty for usage before the agent was recorded.
    pub agent: String,
    pub person: String,
    pub kind: UsageKind,
    /// The name of the model or the tool.
    pub name: String,
    pub times: i64,
    pub usage: Usage,
    pub cost_micros: i64,
    pub took_ms: i64,
}

/// Whether a message is accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    Accepted,
    /// Too fast, for the first time: the person is told how long to wait.
    Rejected(Duration),
    /// Still too fast.
    RejectedSilently,
}

/// A call of a tool with a rate limit.
#[derive(Debug, Clone)]
pub struct RatedCall {
    pub tool: String,
    pub rate: Rate,
}

impl Store {
    /// Counts the calls of one person that the limit admits. Returns how long the others have to
    /// wait.
    pub async fn admit(
        &self,
        person: &str,
        calls: Vec<RatedCall>,
        now: DateTime<Utc>,
    ) -> Result<Vec<Result<(), Duration>>> {
        let person = person.to_owned();
        self.write("admit", move |tx| {
            Box::pin(async move {
                let mut admitted = Vec::new();
                for RatedCall { tool, rate } in calls {
                    admitted.push(check_and_increment(tx, &person, &tool, rate, now).await?);
                }
                Ok(admitted)
            })
        })
        .await
    }
}

/// Counts the call, or returns how long to wait, in which case it is not counted. Concurrent calls
/// wait for the row.
pub async fn check_and_increment(
    tx: &mut Tx<'_>,
    person: &str,
    tool: &str,
    rate: Rate,
    now: DateTime<Utc>,
) -> Result<Result<(), Duration>> {
    let mut calls = locked(tx, person, tool).await?;
    if let Err(wait) = limits::room(&mut calls, rate, now) {
        return Ok(Err(wait));
    }
    count(tx, person, tool, calls, now).await?;
    Ok(Ok(()))
}

/// Reads the row and locks it.
async fn locked(tx: &mut Tx<'_>, person: &str, tool: &str) -> Result<Vec<i64>> {
    let (calls,): (String,) = sql!(
        tx,
        fetch_one,
        "
        -- calls of person and tool
        INSERT INTO rates (person, tool, calls, last_at)
        VALUES ($1, $2, '', 0)
        ON CONFLICT (person, tool) DO UPDATE
        SET calls = rates.calls
        RETURNING calls",
        person,
        tool
    );
    Ok(instants(&calls))
}

async fn count(
    tx: &mut Tx<'_>,
    person: &str,
    tool: &str,
    mut calls: Vec<i64>,
    now: DateTime<Utc>,
) -> Result<()> {
    let now = now.timestamp_millis();
    calls.push(now);
    let calls: Vec<_> = calls.iter().map(i64::to_string).collect();
    sql!(
        tx,
        execute,
        "
        -- count call
        UPDATE rates
        SET calls = $3, last_at = $4
        WHERE person = $1 AND tool = $2",
        person,
        tool,
        calls.join(","),
        now
    );
    Ok(())
}

fn instants(calls: &str) -> Vec<i64> {
    calls.split(',').filter_map(|at| at.parse().ok()).collect()
}

/// Accepts a message if its author is within the limit per minute, all of which may arrive at once;
/// 0 means no limit.
pub async fn flood(
    tx: &mut Tx<'_>,
    person: &str,
    per_minute: u32,
    now: DateTime<Utc>,
) -> Result<Admission> {
    if per_minute == 0 {
        return Ok(Admission::Accepted);
    }
    let now = now.timestamp_millis();
    let each = 60_000 / i64::from(per_minute);
    let ahead = 60_000 - each;
    let taken = sql!(
        tx,
        execute,
        "
        -- take message
        INSERT INTO floods (person, even_at, refused)
        VALUES ($1, $2 + $3, 0)
        ON CONFLICT (person) DO UPDATE
        SET even_at = CASE WHEN floods.even_at > $2 THEN floods.even_at ELSE $2 END + $3,
            refused = 0
        WHERE floods.even_at <= $2 + $4",
        person,
        now,
        each,
        ahead
    );
    if taken > 0 {
        return Ok(Admission::Accepted);
    }
    let (even_at, refused): (i64, i64) = sql!(
        tx,
        fetch_one,
        "
        -- refuse message
        UPDATE floods
        SET refused = refused + 1
        WHERE person = $1
        RETURNING even_at, refused",
        person
    );
    let wait = (even_at - now - ahead).clamp(1, 60_000) as u64;
    Ok(if refused == 1 {
        Admission::Rejected(Duration::from_millis(wait))
    } else {
        Admission::RejectedSilently
    })
}

/// Records usage in the daily account and the windows of the rate limit, for the conversation in
/// which people see it.
pub(super) async fn enter(
    tx: &mut Tx<'_>,
    conversation: &ConversationId,
    used: UsageRecord,
    now: DateTime<Utc>,
) -> Result<()> {
    let (kind, name, messages, usage, cost) = match used.what {
        UsageSource::Model { id, messages, usage, cost_micros } => {
            (UsageKind::Model, id, messages, usage, cost_micros)
        }
        UsageSource::Tool { name, counted, cost_micros } => {
            if !counted {
                let mut calls = locked(tx, &used.person, &name).await?;
                calls.retain(|at| *at > now.timestamp_millis() - 3_600_000);
                count(tx, &used.person, &name, calls, now).await?;
            }
            (UsageKind::Tool, name, 0, Usage::default(), cost_micros)
        }
    };
    sql!(
        tx,
        execute,
        "
        -- insert usage
        INSERT INTO usage
            (day, conversation, person, kind, name, times, messages, input_tokens, output_tokens,
             cached_tokens, cost_micros, took_ms, agent)
        VALUES ($1, $2, $3, $4, $5, 1, $6, $7, $8, $9, $10, $11, $12)
        ON CONFLICT (day, conversation, agent, person, kind, name) DO UPDATE
        SET times = usage.times + 1,
            messages = usage.messages + $6,
            input_tokens = usage.input_tokens + $7,
            output_tokens = usage.output_tokens + $8,
            cached_tokens = usage.cached_tokens + $9,
            cost_micros = usage.cost_micros + $10,
            took_ms = usage.took_ms + $11",
        day(now),
        conversation.as_str(),
        used.person.as_str(),
        kind.as_str(),
        name,
        messages as i64,
        usage.input_tokens as i64,
        usage.output_tokens as i64,
        usage.cached_tokens as i64,
        cost as i64,
        used.took_ms as i64,
        used.agent.as_str()
    );
    let more = UsageTotals {
        messages,
        tokens: usage.input_tokens + usage.output_tokens,
        cost_micros: cost,
        tool_ms: if kind == UsageKind::Tool { used.took_ms } else { 0 },
    };
    spent::add(tx, conversation, &used.person, more, now).await
}

pub(super) fn day(now: DateTime<Utc>) -> String {
    now.date_naive().to_string()
}

row! {
    struct AccountRow {
        day: String,
        agent: String,
        person: String,
        kind: String,
        name: String,
        times: i64,
        input_tokens: i64,
        output_tokens: i64,
        cached_tokens: i64,
        cost_micros: i64,
        took_ms: i64,
    }
}

/// The account from the given day on, by day, agent, person and kind of usage.
pub async fn account(tx: &mut Tx<'_>, since: DateTime<Utc>) -> Result<Vec<AccountLine>> {
    let rows: Vec<AccountRow> = sql!(
        tx,
        fetch_all,
        "
        -- usage account
        SELECT day, agent, person, kind, name,
               CAST(SUM(times) AS BIGINT) AS times,
               CAST(SUM(input_tokens) AS BIGINT) AS input_tokens,
               CAST(SUM(output_tokens) AS BIGINT) AS output_tokens,
               CAST(SUM(cached_tokens) AS BIGINT) AS cached_tokens,
               CAST(SUM(cost_micros) AS BIGINT) AS cost_micros,
               CAST(SUM(took_ms) AS BIGINT) AS took_ms
        FROM usage
        WHERE day >= $1
        GROUP BY day, agent, person, kind, name
        ORDER BY day, agent, person, kind, name",
        day(since)
    );
    let lines = rows.into_iter().map(|row| {
        let usage = Usage {
            input_tokens: row.input_tokens as u64,
            output_tokens: row.output_tokens as u64,
            cached_tokens: row.cached_tokens as u64,
        };
        let kind = UsageKind::stored(&row.kind)?;
        let AccountRow { day, agent, person, name, times, cost_micros, took_ms, .. } = row;
        Ok(AccountLine { day, agent, person, kind, name, times, usage, cost_micros, took_ms })
    });
    lines.collect()
}

/// Deletes some rows of the account before the given day. Returns how many.
pub(super) async fn forget_days(tx: &mut Tx<'_>, before: DateTime<Utc>, limit: i64) -> Result<u64> {
    Ok(sql!(
        tx,
        execute,
        "
        -- delete old usage
        DELETE FROM usage
        WHERE (day, conversation, agent, person, kind, name) IN (
            SELECT day, conversation, agent, person, kind, name FROM usage
            WHERE day < $1
            LIMIT $2
        )",
        day(before),
        limit
    ))
}

/// Deletes some totals before the given day. Returns how many.
pub(super) async fn forget_totals(
    tx: &mut Tx<'_>,
    before: DateTime<Utc>,
    limit: i64,
) -> Result<u64> {
    Ok(sql!(
        tx,
        execute,
        "
        -- delete totals
        DELETE FROM spent
        WHERE (day, scope, owner) IN (
            SELECT day, scope, owner FROM spent
            WHERE day < $1
            LIMIT $2
        )",
        day(before),
        limit
    ))
}
