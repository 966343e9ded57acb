//! Channels, usage, audit, files, and the halt.

use axum::{
    extract::Path,
    http::StatusCode,
    response::{IntoResponse as _, Redirect, Response},
};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::BTreeMap;

use super::page::{PageContext, Sent, back};
use crate::admin::{
    api::{
        artifacts, audit as facts,
        channels::{checked, reconnect_and_report},
        halt::{halt_all, lift},
        inventory::{
            StatusView, UsageView, account, all_agents, all_channels, all_hooks, all_models,
            all_skills,
        },
        parts::{Params, Slice},
        people,
    },
    problem::Problem,
};

pub async fn channels(context: PageContext) -> Result<Response, Problem> {
    shown(&context, None).await
}

/// The channels, with the result of a check that failed.
async fn shown(context: &PageContext, fault: Option<String>) -> Result<Response, Problem> {
    let admin = &context.admin;
    let values = json!({
        "channels": all_channels(admin, context.caller.role).await?,
        "agents": all_agents(admin).await?,
        "models": all_models(admin)?,
        "skills": all_skills(admin).await?,
        "hooks": all_hooks(admin)?,
        "fault": fault,
    });
    context.page("channels.html", values).await
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ChannelCommand {
    Reconnect,
    Check,
}

#[derive(Deserialize)]
pub struct ChannelForm {
    then: ChannelCommand,
}

pub async fn channel(
    context: PageContext,
    Path(id): Path<String>,
    Sent(form): Sent<ChannelForm>,
) -> Result<Response, Problem> {
    let fault = if form.then == ChannelCommand::Reconnect {
        let found = reconnect_and_report(&context.admin, &context.caller, &id).await?;
        match (found.state, found.problem) {
            (StatusView::Connected, _) => {
                return Ok(back("channels", "reconnected").into_response());
            }
            (StatusView::Disconnected, Some(problem)) => problem,
            _ => return Ok(back("channels", "reconnecting").into_response()),
        }
    } else {
        let found = checked(&context.admin, &context.caller, &id).await?;
        let Some(problem) = found.problem else {
            return Ok(back("channels", "known").into_response());
        };
        problem
    };
    let shown = shown(&context, Some(format!("{id}: {fault}"))).await?;
    Ok((StatusCode::CONFLICT, shown).into_response())
}

#[derive(Deserialize)]
pub struct Days {
    #[serde(default = "month")]
    days: i64,
}

fn month() -> i64 {
    30
}

/// Totals of some lines of the account.
#[derive(Debug, Default, Serialize)]
struct Sum {
    times: i64,
    input_tokens: u64,
    output_tokens: u64,
    cost_micros: i64,
    took_ms: i64,
}

fn sums(lines: &[UsageView], by: impl Fn(&UsageView) -> String) -> BTreeMap<String, Sum> {
    let mut sums: BTreeMap<String, Sum> = BTreeMap::new();
    for line in lines {
        let sum = sums.entry(by(line)).or_default();
        sum.times += line.times;
        sum.input_tokens += line.input_tokens;
        sum.output_tokens += line.output_tokens;
        sum.cost_micros += line.cost_micros;
        sum.took_ms += line.took_ms;
    }
    sums
}

/// The largest number of tokens among them.
fn highest(sums: &BTreeMap<String, Sum>) -> u64 {
    sums.values().map(|sum| sum.input_tokens + sum.output_tokens).max().unwrap_or(0).max(1)
}

/// An older version did not record the agent.
fn named(agent: &str) -> &str {
    if agent.is_empty() { "unknown" } else { agent }
}

/// The name of a person, with their id.
fn named_person(names: &BTreeMap<String, String>, person: &str) -> String {
    names.get(person).map_or_else(|| person.to_owned(), |name| format!("{name} ({person})"))
}

pub async fn usage(
    context: PageContext,
    Params(Days { days }): Params<Days>,
) -> Result<Response, Problem> {
    let days = days.clamp(1, 366);
    let lines = account(&context.admin, days).await?;
    let names = people::names(&context.admin).await?;
    let by_day = sums(&lines, |line| line.day.clone());
    let by_agent = sums(&lines, |line| named(&line.agent).to_owned());
    let total = sums(&lines, |_| String::new()).remove("").unwrap_or_default();
    let values = json!({
        "days": days,
        "total": total,
        "most": highest(&by_day),
        "max_by_agent": highest(&by_agent),
        "by_day": by_day,
        "by_agent": by_agent,
        "by_person": sums(&lines, |line| named_person(&names, &line.person)),
        "by_name": sums(&lines, |line| format!("{} {}", line.kind.as_str(), line.name)),
    });
    context.page("usage.html", values).await
}

/// A search, from the query string; empty fields match everything.
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub struct AuditSearchForm {
    conversation: String,
    person: String,
    tool: String,
    kind: String,
    /// Verify the whole audit
    verify: bool,
}

pub async fn audit(
    context: PageContext,
    Params(slice): Params<Slice>,
    Params(sought): Params<AuditSearchForm>,
) -> Result<Response, Problem> {
    let filter = facts::AuditFilter {
        conversation: sought.conversation.clone(),
        person: sought.person.clone(),
        tool: sought.tool.clone(),
        kind: sought.kind.clone(),
        ..facts::AuditFilter::default()
    };
    let found = facts::page(&context.admin, filter, slice.page_request()?).await?;
    let verified = if sought.verify { Some(facts::verified(&context.admin).await?) } else { None };
    let values = json!({ "found": found, "sought": sought, "verified": verified });
    context.page("audit.html", values).await
}

pub async fn artifacts(
    context: PageContext,
    Params(slice): Params<Slice>,
) -> Result<Response, Problem> {
    let found = artifacts::page(&context.admin, slice.page_request()?).await?;
    context.page("artifacts.html", json!({ "found": found })).await
}

pub async fn download(context: PageContext, Path(id): Path<String>) -> Result<Response, Problem> {
    artifacts::attached(&context.admin, &id).await
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum HaltSwitch {
    On,
    Off,
}

#[derive(Deserialize)]
pub struct HaltForm {
    halt: HaltSwitch,
}

pub async fn panic(
    context: PageContext,
    Sent(halted): Sent<HaltForm>,
) -> Result<Redirect, Problem> {
    if halted.halt == HaltSwitch::On {
        halt_all(&context.admin, &context.caller).await?;
        return Ok(back("approvals", "halted"));
    }
    lift(&context.admin, &context.caller).await?;
    Ok(back("approvals", "lifted"))
}
