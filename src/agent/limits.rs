//! Limits per turn, per day and per person.

use chrono::{DateTime, Days, NaiveTime, TimeDelta, Utc};
use std::{collections::BTreeMap, time::Duration};
use thiserror::Error;

use super::{
    catalog::{Rate, ToolSpec},
    policy::GuardContext,
};
use crate::{
    journal::{
        event::{Call, JobBudget, Usage},
        session::{CallState, Item, RepliedCall, Session},
    },
    texts::{self, Messages, UsedUp},
};

/// How often the same call may give the same result in one turn. After that it is no longer run,
/// and if the model repeats it, the turn ends.
pub const SAME: usize = 3;

/// The number of replies with unparsable arguments after which the turn ends.
pub const UNREADABLE: usize = 3;

/// The error for a call whose tool has reached its usage limit in this conversation.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}", texts::used_often_enough(.tool, *.limit))]
pub struct UsageLimitExceeded {
    pub tool: String,
    pub limit: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// Requests to the model.
    pub steps: u32,
    /// Input and output together, as reported by the provider.
    pub tokens: u64,
    /// From the message to the end of the turn, excluding the time that people take to decide.
    pub time: TimeDelta,
    /// The maximum length of an answer.
    pub output_tokens: u32,
    /// The prompt is summarised when its estimated length exceeds this.
    pub context_tokens: u64,
}

impl Default for Budget {
    fn default() -> Self {
        Self {
            steps: 24,
            tokens: 1_000_000,
            time: TimeDelta::minutes(15),
            output_tokens: 8_192,
            context_tokens: 100_000,
        }
    }
}

impl Budget {
    /// The budget of a background job of this agent.
    fn of_job(self, job: JobBudget) -> Self {
        let time = i64::try_from(job.time_ms).ok().and_then(TimeDelta::try_milliseconds);
        let time = time.unwrap_or(self.time);
        Self { steps: job.steps, tokens: job.tokens, time, ..self }
    }
}

/// Why this turn has to end, as text for the person, or for the agent that a sub-agent works for.
pub fn exhausted(session: &Session, budget: &Budget, context: &GuardContext) -> Option<String> {
    let reason = exhausted_budget(session, budget, context)?;
    let hint = if context.depth == 0 { context.language.words().say_continue } else { "" };
    Some(format!("{reason}{hint}"))
}

fn exhausted_budget(session: &Session, budget: &Budget, context: &GuardContext) -> Option<String> {
    let (turn, words) = (&session.turn, context.language.words());
    let budget = &of_turn(session, budget);
    if turn.steps >= budget.steps {
        return Some((words.out_of_steps)(budget.steps));
    }
    if turn.tokens >= budget.tokens {
        return Some((words.out_of_tokens)(budget.tokens));
    }
    let ends_at = out_of_time_at(session, budget)?;
    (context.now >= ends_at).then(|| words.out_of_time(budget.time))
}

/// The budget of this turn, which may be one of a background job.
fn of_turn(session: &Session, budget: &Budget) -> Budget {
    session.job.map_or(*budget, |job| budget.of_job(job))
}

/// When the time of this turn is used up, unless it waits for people until then.
pub fn out_of_time_at(session: &Session, budget: &Budget) -> Option<DateTime<Utc>> {
    let counted_from = session.turn.started_at?.checked_add_signed(session.turn.waited)?;
    counted_from.checked_add_signed(of_turn(session, budget).time)
}

/// How a call relates to earlier calls in its turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repeated {
    No,
    /// It gave the same result repeatedly, which is reported to the model.
    Enough,
    /// The model was told so, and repeats the call.
    Warned,
}

/// Whether the turn is repeating itself with this call.
pub fn repeated(session: &Session, call: &Call) -> Repeated {
    let warning = texts::repeated(&call.tool, SAME);
    let mut last: Option<&str> = None;
    let mut same = 0;
    for result in results_before(session, call) {
        if result == warning {
            return Repeated::Warned;
        }
        if *last.get_or_insert(result) != result {
            break;
        }
        same += 1;
    }
    if same >= SAME { Repeated::Enough } else { Repeated::No }
}

/// The results of identical calls in this turn, newest first.
fn results_before<'a>(session: &'a Session, call: &'a Call) -> impl Iterator<Item = &'a str> {
    let calls = replies(session).flat_map(|calls| calls.iter().rev());
    calls
        .filter(|made| made.call.tool == call.tool && made.call.arguments == call.arguments)
        .filter_map(|made| made.result.as_deref())
}

/// The reason not to run a call whose tool has reached its usage limit in this conversation, as
/// text for the model.
pub fn usage_exhausted(session: &Session, spec: &ToolSpec, call: &Call) -> Option<String> {
    if repeated(session, call) != Repeated::No {
        return Some(texts::repeated(&call.tool, SAME));
    }
    check_usage(session, spec, call).err().map(|exceeded| exceeded.to_string())
}

/// Whether the tool may run once more in this conversation, including its sub-agents.
pub fn check_usage(
    session: &Session,
    spec: &ToolSpec,
    call: &Call,
) -> Result<(), UsageLimitExceeded> {
    let Some(limit) = spec.max_usage_count else { return Ok(()) };
    let before = session.calls.iter().take_while(|open| open.call.id != call.id);
    let under_way =
        before.filter(|open| open.call.tool == call.tool && open.state != CallState::Ended);
    let used = session.used.get(&call.tool).copied().unwrap_or_default();
    if used as usize + under_way.count() >= limit as usize {
        return Err(UsageLimitExceeded { tool: call.tool.clone(), limit });
    }
    Ok(())
}

/// The reason to end the turn if the model repeats a call that it was told is useless, or keeps
/// making calls whose arguments cannot be parsed.
pub fn looping(session: &Session, words: &Messages) -> Option<String> {
    if session.open_calls().any(|open| open.state != CallState::New) {
        return None;
    }
    let is_unreadable = |call: &Call| !call.arguments.is_object();
    if session.open_calls().any(|open| is_unreadable(&open.call)) {
        let is_unreadable_reply =
            |calls: &&[RepliedCall]| calls.iter().any(|made| is_unreadable(&made.call));
        let replies = replies(session).filter(is_unreadable_reply);
        if replies.count() >= UNREADABLE {
            return Some(words.unreadable_calls.to_owned());
        }
    }
    session
        .open_calls()
        .find(|open| repeated(session, &open.call) == Repeated::Warned)
        .map(|open| (words.repeated_result)(&open.call.tool))
}

/// The calls of each reply of this turn with their results, the newest reply first.
fn replies(session: &Session) -> impl Iterator<Item = &[RepliedCall]> {
    let turn = session.items.iter().rev().take_while(|item| !matches!(item, Item::Said { .. }));
    turn.filter_map(|item| match item {
        Item::Replied { calls, .. } => Some(calls.as_slice()),
        _ => None,
    })
}

/// How long until both windows have room for one more call. `calls` are sorted instants in
/// milliseconds; those outside both windows are removed.
pub fn room(calls: &mut Vec<i64>, rate: Rate, now: DateTime<Utc>) -> Result<(), Duration> {
    let now = now.timestamp_millis();
    calls.retain(|at| *at > now - HOUR_MS);
    let minute = wait(calls, rate.per_minute, MINUTE_MS, now);
    let hour = wait(calls, rate.per_hour, HOUR_MS, now);
    minute.max(hour).map_or(Ok(()), Err)
}

const MINUTE_MS: i64 = 60_000;
const HOUR_MS: i64 = 60 * MINUTE_MS;

fn wait(calls: &[i64], limit: u32, window: i64, now: i64) -> Option<Duration> {
    let frees = match (limit as usize).checked_sub(1) {
        // The limit is zero, so no call is ever allowed. The length of the window is an arbitrary
        // answer.
        None => now + window,
        Some(others) => *calls.iter().rev().nth(others)? + window,
    };
    // If the clock is set back, the wait is at most the window.
    let wait = (frees - now).min(window);
    u64::try_from(wait).ok().filter(|ms| *ms > 0).map(Duration::from_millis)
}

/// The budget of a UTC day; `None` is unlimited.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Daily {
    pub messages: Option<u64>,
    pub tokens: Option<u64>,
    pub cost_micros: Option<u64>,
    pub tool_ms: Option<u64>,
}

/// The usage of the day so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct UsageTotals {
    pub messages: u64,
    pub tokens: u64,
    pub cost_micros: u64,
    pub tool_ms: u64,
}

impl Daily {
    pub fn limits_anything(&self) -> bool {
        *self != Self::default()
    }

    /// Which part of the budget is used up. The time for tools counts only if a tool is to run.
    pub fn used_up(&self, spent: &UsageTotals) -> Option<UsedUp> {
        let over = |limit: Option<u64>, used: u64| limit.is_some_and(|limit| used >= limit);
        if over(self.messages, spent.messages) {
            return Some(UsedUp::Messages);
        }
        if over(self.tokens, spent.tokens) {
            return Some(UsedUp::Tokens);
        }
        over(self.cost_micros, spent.cost_micros).then_some(UsedUp::Money)
    }

    pub fn tool_time_used_up(&self, spent: &UsageTotals) -> bool {
        self.tool_ms.is_some_and(|limit| spent.tool_ms >= limit)
    }
}

/// The daily budgets and the prices of models.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DailyLimits {
    pub person: Daily,
    /// How much a person may upload per day. `None` means no limit.
    pub upload_bytes: Option<u64>,
    pub conversation: Daily,
    pub all: Daily,
    pub prices: BTreeMap<String, Price>,
}

/// How long until the next UTC day.
pub fn until_tomorrow(now: DateTime<Utc>) -> TimeDelta {
    let tomorrow = now.date_naive() + Days::new(1);
    tomorrow.and_time(NaiveTime::MIN).and_utc() - now
}

/// The price of a model, in millionths of a currency unit per token. This equals currency units per
/// million tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Price {
    pub input: f64,
    pub output: f64,
    /// Of cached input tokens.
    pub cached: f64,
}

impl Price {
    /// The cost in millionths of a currency unit.
    pub fn of(&self, usage: &Usage) -> u64 {
        let cached = usage.cached_tokens.min(usage.input_tokens);
        let fresh = usage.input_tokens - cached;
        let cost = fresh as f64 * self.input
            + cached as f64 * self.cached
            + usage.output_tokens as f64 * self.output;
        cost.round() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::event::{Entry, Event, Outcome, Speaker, ToolResult};
    use serde_json::{Value, json};

    fn at(seconds: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(1_800_000_000 + seconds, 0).unwrap()
    }

    fn take(calls: &mut Vec<i64>, rate: Rate, seconds: i64) -> Result<(), Duration> {
        room(calls, rate, at(seconds))?;
        calls.push(at(seconds).timestamp_millis());
        Ok(())
    }

    /// Proves IC-33, IC-30, IC-31.
    #[test]
    fn the_call_after_the_sixtieth_in_a_minute_waits() {
        let usual = Rate::default();
        assert_eq!((usual.per_minute, usual.per_hour), (60, 1_000));
        let mut calls = Vec::new();
        for second in 0..60 {
            take(&mut calls, usual, second / 2).unwrap();
        }
        assert_eq!(take(&mut calls, usual, 40), Err(Duration::from_secs(20)));
        assert_eq!(take(&mut calls, usual, 60), Ok(()));
    }

    /// Proves IC-34.
    #[test]
    fn the_hourly_limit_applies_and_refused_calls_do_not_count() {
        let rate = Rate { per_minute: 2, per_hour: 3 };
        let mut calls = Vec::new();
        for minute in 0..3 {
            take(&mut calls, rate, minute * 120).unwrap();
        }
        for _ in 0..5 {
            assert_eq!(take(&mut calls, rate, 600), Err(Duration::from_mins(50)));
        }
        assert_eq!(take(&mut calls, rate, 3600), Ok(()));
        assert!(take(&mut calls, rate, 3601).is_err());
    }

    #[test]
    fn a_clock_that_went_back_does_not_lock_out_for_longer_than_the_window() {
        let once = Rate { per_minute: 1, per_hour: 10 };
        let mut calls = vec![at(100_000).timestamp_millis()];
        assert_eq!(take(&mut calls, once, 0), Err(Duration::from_mins(1)));
        let never = Rate { per_minute: 0, per_hour: 0 };
        assert_eq!(take(&mut vec![], never, 0), Err(Duration::from_hours(1)));
    }

    fn call(id: &str, arguments: Value) -> Call {
        Call { id: id.into(), model_id: id.into(), tool: "look".into(), arguments }
    }

    /// A turn in which the model calls a tool and reads these results.
    fn turn(results: &[&str]) -> Session {
        let by = Speaker { id: "1".into(), name: "Ann".into() };
        let mut events = vec![Event::Said { by, text: "go".into(), message: "m".into() }];
        for (number, text) in results.iter().enumerate() {
            let call = call(&number.to_string(), json!({ "at": 1 }));
            let id = call.id.clone();
            events.push(Event::Replied {
                text: String::new(),
                calls: vec![call],
                upto: 1,
                usage: Usage::default(),
            });
            let result = ToolResult::text(Outcome::Done, (*text).into());
            events.push(Event::ToolFinished { call: id, result });
        }
        let entries: Vec<_> = events
            .into_iter()
            .zip(1..)
            .map(|(event, seq)| Entry { seq, at: at(seq), event })
            .collect();
        Session::fold(&entries)
    }

    /// The loop detector.
    /// Proves S13.
    #[test]
    fn the_same_call_with_the_same_result_is_noticed() {
        let again = call("x", json!({ "at": 1 }));
        let warning = texts::repeated("look", SAME);
        for (results, expected) in [
            (vec!["a", "a"], Repeated::No),
            (vec!["a", "a", "a"], Repeated::Enough),
            (vec!["a", "a", "b"], Repeated::No),
            (vec!["b", "a", "a", "a"], Repeated::Enough),
            (vec!["a", "a", "a", &warning], Repeated::Warned),
        ] {
            let session = turn(&results);
            assert_eq!(repeated(&session, &again), expected, "{results:?}");
            assert_eq!(repeated(&session, &call("y", json!({ "at": 2 }))), Repeated::No);
        }
    }

    #[test]
    fn the_time_of_a_turn_excludes_the_wait_for_people() {
        let (mut session, budget) = (turn(&[]), Budget::default());
        let minutes = |count: i64| session.turn.started_at.unwrap() + TimeDelta::minutes(count);
        let (quarter, half) = (minutes(15), minutes(30));
        assert_eq!(out_of_time_at(&session, &budget), Some(quarter));
        let at = |now| GuardContext { now, ..GuardContext::default() };
        let second = TimeDelta::seconds(1);
        assert_eq!(exhausted(&session, &budget, &at(quarter - second)), None);
        let reason = exhausted(&session, &budget, &at(quarter)).unwrap();
        assert!(reason.contains("longer than 15 minutes"), "{reason}");
        session.turn.waited = TimeDelta::minutes(15);
        assert_eq!(exhausted(&session, &budget, &at(half - second)), None);
        assert!(exhausted(&session, &budget, &at(half)).is_some());
    }

    #[test]
    fn a_day_is_used_up_by_what_it_limits() {
        let daily = Daily { tokens: Some(10), cost_micros: Some(0), ..Daily::default() };
        let spent = UsageTotals { messages: 1_000, tokens: 9, ..UsageTotals::default() };
        assert_eq!(daily.used_up(&spent), Some(UsedUp::Money));
        assert_eq!(daily.used_up(&UsageTotals { tokens: 10, ..spent }), Some(UsedUp::Tokens));
        assert!(!Daily::default().limits_anything() && daily.limits_anything());
        assert_eq!(until_tomorrow("2026-05-04T22:30:00Z".parse().unwrap()), TimeDelta::minutes(90));
    }

    #[test]
    fn a_price_is_that_of_a_million() {
        let price = Price { input: 3.0, output: 15.0, cached: 0.3 };
        let usage = Usage { input_tokens: 1_000, output_tokens: 100, cached_tokens: 400 };
        assert_eq!(price.of(&usage), 600 * 3 + 120 + 1_500);
    }
}
