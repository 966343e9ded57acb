//! Enforces hourly and daily budgets per person, per conversation and overall.

use anyhow::Result;
use chrono::{DateTime, Utc};
use serde_json::json;
use std::{collections::BTreeMap, time::Duration};

use super::{in_flight::Running, turn::Turn};
use crate::{
    agent::{
        catalog::{Rate, ResolvedTool},
        compact,
        guard::Cleared,
        limits::{self, Daily, UsageTotals},
    },
    journal::{
        event::{Call, Event, Outcome, Seq, ToolResult, Usage},
        ids::CallId,
        session::Item,
    },
    llm::Reply,
    store::{
        channels::inbox,
        usage::{
            RatedCall, UsageRecord, UsageSource,
            spent::{Request, UsageScope},
        },
        webhooks::subscriptions::{self, Topic},
    },
    texts::{self, BudgetScope, UsedUp},
    tools::ToolError,
};

/// The budgets that limit this turn.
fn scopes(turn: &Turn<'_>) -> Vec<(Daily, UsageScope)> {
    let person = person(turn, turn.session.seq);
    UsageScope::limited(&turn.worker.limits, person, turn.claimed.lease.home())
}

/// The person's key in usage and rate limits. It includes the channel, because ids of two platforms
/// may be equal.
pub(super) fn person(turn: &Turn<'_>, upto: Seq) -> String {
    let id = turn.session.speaks_for(upto).map(|by| by.id).unwrap_or_default();
    format!("{}/{id}", turn.claimed.channel)
}

/// The text for the person if a daily budget is used up.
pub(super) async fn daily_limit_reached(turn: &Turn<'_>) -> Result<Option<String>> {
    let gateway = &turn.worker.gateway;
    let now = gateway.clock.now();
    for (daily, scope) in scopes(turn) {
        let spent = match &scope {
            UsageScope::Person(person) => {
                gateway.store.reserve(request(turn, person, daily), now).await?
            }
            _ => gateway.store.spent(scope.clone(), now).await?,
        };
        if let Some(what) = daily.used_up(&spent) {
            reached(turn, &scope, what, now).await?;
            let wait = limits::until_tomorrow(now);
            return Ok(Some(turn.claimed.words().daily_limit_reached(whose(&scope), what, wait)));
        }
    }
    Ok(None)
}

/// The expected usage of the next model request, as far as it is known.
fn request(turn: &Turn<'_>, person: &str, daily: Daily) -> Request {
    let tokens = compact::estimated_tokens(&turn.session);
    let model = turn.model().map_or_else(|| turn.agent.model.clone(), |model| model.id().into());
    let price = turn.worker.limits.prices.get(&model).copied().unwrap_or_default();
    let usage = Usage { input_tokens: tokens, ..Usage::default() };
    let messages = new_messages(turn, turn.session.seq);
    let expected = UsageTotals { messages, tokens, cost_micros: price.of(&usage), tool_ms: 0 };
    // Its own conversation: sub-agents and jobs make requests at the same time.
    let conversation = turn.claimed.lease.conversation().clone();
    Request { person: person.to_owned(), conversation, expected, daily }
}

/// The number of new messages that a reply answers if it has read everything up to `upto`.
fn new_messages(turn: &Turn<'_>, upto: Seq) -> u64 {
    let answered = turn.session.answered_upto;
    let is_new =
        |item: &&Item| matches!(item, Item::Said { seq, .. } if *seq > answered && *seq <= upto);
    // The task of a sub-agent is not a message of a person.
    if turn.claimed.sub_agent.is_some() {
        return 0;
    }
    turn.session.items.iter().filter(is_new).count() as u64
}

/// Notifies webhook subscribers of an exceeded budget, once a day.
async fn reached(
    turn: &Turn<'_>,
    scope: &UsageScope,
    what: UsedUp,
    now: DateTime<Utc>,
) -> Result<()> {
    let gateway = &turn.worker.gateway;
    let (whose, what) = (whose(scope).as_str(), what.as_str());
    // Stored: a change of this key would notify subscribers again.
    let which = [&now.date_naive().to_string(), whose, what, scope.id()].join(" ");
    let body = json!({ "whose": whose, "what": what, "channel": turn.claimed.channel });
    let write = gateway.store.write("budget reached", move |tx| {
        Box::pin(async move {
            if inbox::first_seen(tx, "budgets", &which, now).await? {
                subscriptions::note(tx, Topic::BudgetReached, body, now).await?;
            }
            Ok(())
        })
    });
    write.await
}

fn whose(scope: &UsageScope) -> BudgetScope {
    match scope {
        UsageScope::Person(_) => BudgetScope::Person,
        UsageScope::Conversation(_) => BudgetScope::Conversation,
        UsageScope::All => BudgetScope::All,
    }
}

/// Returns the calls that may run now, and the results of those that exceed a limit. Every call is
/// counted in the database before it runs, so that concurrent calls of one person share a limit
/// across conversations, sub-agents and nodes.
pub(super) async fn admit(
    turn: &Turn<'_>,
    cleared: Vec<Cleared>,
    running: &mut Running,
) -> Result<(Vec<Cleared>, Vec<Event>)> {
    if let Some(text) = tool_time_used_up(turn).await? {
        let ends = cleared.iter().map(|c| refused(&c.call().id, text.clone())).collect();
        return Ok((vec![], ends));
    }
    let (cleared, mut ends) = within_budget(turn, cleared).await?;
    let gateway = &turn.worker.gateway;
    let (person, now) = (person(turn, turn.session.answered_upto), gateway.clock.now());
    // A call with invalid arguments is rejected by the tool and costs nothing.
    let toolbox = &turn.worker.toolbox;
    let unfit = cleared.iter().map(Cleared::call);
    let unfit = unfit.filter(|c| {
        toolbox.find(&c.tool).is_some() && toolbox.prepare(&c.tool, c.arguments.clone()).is_err()
    });
    running.counted.extend(unfit.map(|call| call.id.clone()));
    let limited = |cleared: &Cleared| {
        let Call { id, tool, .. } = cleared.call();
        let rate = rate_of(turn, tool).filter(|_| !running.counted.contains(id))?;
        Some((id.clone(), RatedCall { tool: tool.clone(), rate }))
    };
    let mut limited: Vec<_> = cleared.iter().filter_map(limited).collect();
    if limited.is_empty() {
        return Ok((cleared, ends));
    }
    // Sorted by row, so that two nodes cannot deadlock.
    limited.sort_by(|(_, one), (_, other)| one.tool.cmp(&other.tool));
    let (ids, asked): (Vec<_>, Vec<_>) = limited.into_iter().unzip();
    let answers = gateway.store.admit(&person, asked, now).await?;
    let mut refused = BTreeMap::new();
    for (id, answer) in ids.into_iter().zip(answers) {
        match answer {
            Ok(()) => drop(running.counted.insert(id)),
            Err(wait) => drop(refused.insert(id, wait)),
        }
    }
    ends.extend(refused.iter().map(|(id, wait)| rate_limited(id, *wait)));
    let free = cleared.into_iter().filter(|c| !refused.contains_key(&c.call().id)).collect();
    Ok((free, ends))
}

/// The calls that fit today's budget, and the results of the others.
async fn within_budget(
    turn: &Turn<'_>,
    cleared: Vec<Cleared>,
) -> Result<(Vec<Cleared>, Vec<Event>)> {
    let toolbox = &turn.worker.toolbox;
    let costs: Vec<_> = cleared.iter().map(|c| toolbox.estimated_cost(c.call())).collect();
    if costs.iter().all(Option::is_none) {
        return Ok((cleared, vec![]));
    }
    let (mut left, now) = (money_left(turn).await?, turn.worker.gateway.clock.now());
    let (mut free, mut ends) = (Vec::new(), Vec::new());
    for (cleared, cost) in cleared.into_iter().zip(costs) {
        match left.checked_sub(cost.unwrap_or_default()) {
            Some(rest) => {
                left = rest;
                free.push(cleared);
            }
            None => ends.push(refused(
                &cleared.call().id,
                texts::money_used_up(limits::until_tomorrow(now)),
            )),
        }
    }
    Ok((free, ends))
}

/// What may still be spent today, in millionths of a currency unit.
async fn money_left(turn: &Turn<'_>) -> Result<u64> {
    let mut left = u64::MAX;
    let (store, now) = (&turn.worker.gateway.store, turn.worker.gateway.clock.now());
    for (daily, scope) in scopes(turn) {
        if let Some(limit) = daily.cost_micros {
            left = left.min(limit.saturating_sub(store.spent(scope, now).await?.cost_micros));
        }
    }
    Ok(left)
}

/// Whether today's budget suffices for this cost.
pub(super) async fn affords(turn: &Turn<'_>, cost_micros: u64) -> Result<bool> {
    Ok(cost_micros == 0 || cost_micros <= money_left(turn).await?)
}

/// The usage of a transcription that no call has requested. It counts like one of the tool.
pub(super) fn transcribed(turn: &Turn<'_>, cost_micros: u64) -> UsageRecord {
    let what = UsageSource::Tool { name: "speech_to_text".to_owned(), counted: true, cost_micros };
    let person = person(turn, turn.session.seq);
    UsageRecord { agent: turn.agent.id.clone(), person, what, took_ms: 0 }
}

/// The rate limit of the tool, if it has one.
fn rate_of(turn: &Turn<'_>, tool: &str) -> Option<Rate> {
    match turn.agent.catalog.find(tool) {
        ResolvedTool::Tool(spec) => spec.rate,
        _ => None,
    }
}

async fn tool_time_used_up(turn: &Turn<'_>) -> Result<Option<String>> {
    let gateway = &turn.worker.gateway;
    let now = gateway.clock.now();
    for (daily, scope) in scopes(turn) {
        if daily.tool_ms.is_none() {
            continue;
        }
        let spent = gateway.store.spent(scope, now).await?;
        if daily.tool_time_used_up(&spent) {
            return Ok(Some(texts::tool_time_used_up(limits::until_tomorrow(now))));
        }
    }
    Ok(None)
}

fn rate_limited(call: &CallId, wait: Duration) -> Event {
    refused(call, ToolError::RateLimited(Some(wait)).to_string())
}

pub(super) fn refused(call: &CallId, text: String) -> Event {
    let result = ToolResult::text(Outcome::Denied, text);
    Event::ToolFinished { call: call.clone(), result }
}

/// The usage of a model reply. `upto` is the last event that the model had read.
pub(super) fn reply_usage(turn: &Turn<'_>, upto: Seq, reply: &Reply) -> UsageRecord {
    model_used(turn, upto, new_messages(turn, upto), reply)
}

/// The usage of a summary.
pub(super) fn summarised(turn: &Turn<'_>, reply: &Reply) -> UsageRecord {
    model_used(turn, turn.session.seq, 0, reply)
}

/// Usage is priced by the model that answered, which may have been chosen by a person or be a
/// fallback.
fn model_used(turn: &Turn<'_>, upto: Seq, messages: u64, reply: &Reply) -> UsageRecord {
    let usage = reply.usage;
    let asked = || turn.model().map_or_else(|| turn.agent.model.clone(), |m| m.id().into());
    let id = reply.by.clone().unwrap_or_else(asked);
    let price = turn.worker.limits.prices.get(&id).copied().unwrap_or_default();
    let what = UsageSource::Model { id, messages, usage, cost_micros: price.of(&usage) };
    UsageRecord { agent: turn.agent.id.clone(), person: person(turn, upto), what, took_ms: 0 }
}

/// The run of a tool with a limit, as counted for the whole delegation.
pub(super) fn limited_run(
    turn: &Turn<'_>,
    call: &Call,
    result: &ToolResult,
) -> BTreeMap<String, u32> {
    let counts = result.has_run() && turn.is_limited(&call.tool);
    counts.then(|| (call.tool.clone(), 1)).into_iter().collect()
}

/// The usage of a delegation, charged to its tool.
pub(super) fn delegated(turn: &Turn<'_>, call: &Call, counted: bool) -> UsageRecord {
    let counted = counted || rate_of(turn, &call.tool).is_none();
    let what = UsageSource::Tool { name: call.tool.clone(), counted, cost_micros: 0 };
    let person = person(turn, turn.session.answered_upto);
    UsageRecord { agent: turn.agent.id.clone(), person, what, took_ms: 0 }
}

/// The usage of a tool run, including that of the models that the tool requested.
pub(super) fn result_usage(
    turn: &Turn<'_>,
    call: &Call,
    result: &ToolResult,
    counted: bool,
) -> Vec<UsageRecord> {
    let (agent, person) = (&turn.agent.id, person(turn, turn.session.answered_upto));
    let used =
        |what, took_ms| UsageRecord { agent: agent.clone(), person: person.clone(), what, took_ms };
    let cost_micros = result.cost_micros.unwrap_or_default();
    // A tool without a limit has no windows to check.
    let counted = counted || rate_of(turn, &call.tool).is_none();
    let tool = UsageSource::Tool { name: call.tool.clone(), counted, cost_micros };
    let asked = result.asked.iter().map(|(id, usage)| {
        let price = turn.worker.limits.prices.get(id).copied().unwrap_or_default();
        let (id, usage, cost_micros) = (id.clone(), *usage, price.of(usage));
        used(UsageSource::Model { id, messages: 0, usage, cost_micros }, 0)
    });
    std::iter::once(used(tool, result.took_ms)).chain(asked).collect()
}
