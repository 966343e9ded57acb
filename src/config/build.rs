//! From plain values to policies and budgets; an error names the key.

use anyhow::{Context as _, Result, bail};
use chrono::TimeDelta;

use super::{AgentEntry, GuardConfig};
use crate::agent::{
    limits::Budget,
    policy::{Origin, Policy},
    rules,
};

pub fn policy(guard: &GuardConfig) -> Result<Policy> {
    let approval_for =
        duration(&guard.approval_timeout).with_context(|| "guard.approval_timeout")?;
    if let Some(name) = guard.off.iter().find(|name| !rules::is_shipped(name)) {
        bail!("guard.off: there is no shipped rule `{name}`; `countersign guard list` names them");
    }
    let mut all = rules::shipped(&guard.off);
    all.extend(rules::compile(&guard.rules, Origin::Configuration).context("guard.rules")?);
    Ok(Policy {
        default: guard.default,
        tainted: guard.tainted,
        rules: all,
        link_hosts: guard.link_hosts.clone(),
        approval_for,
        approvers: guard.approvers.clone(),
    })
}

/// `90s`, `30m`, `12h`, `7d`.
pub fn duration(text: &str) -> Result<TimeDelta> {
    let wrong = || format!("`{text}` is no duration; write 90s, 30m, 12h or 7d");
    let text = text.trim();
    let split = text.find(|c: char| !c.is_ascii_digit()).with_context(wrong)?;
    let (number, unit) = text.split_at(split);
    let number: i64 = number.parse().with_context(wrong)?;
    let delta = match unit {
        "s" => TimeDelta::try_seconds(number),
        "m" => TimeDelta::try_minutes(number),
        "h" => TimeDelta::try_hours(number),
        "d" => TimeDelta::try_days(number),
        _ => bail!(wrong()),
    };
    delta.filter(|d| *d > TimeDelta::zero()).with_context(wrong)
}

pub fn budget(agent: &AgentEntry) -> Budget {
    let usual = Budget::default();
    Budget {
        steps: agent.max_steps.unwrap_or(usual.steps),
        tokens: agent.max_tokens.unwrap_or(usual.tokens),
        time: agent.max_minutes.map_or(usual.time, |m| TimeDelta::minutes(m.into())),
        output_tokens: agent.max_output_tokens.unwrap_or(usual.output_tokens),
        context_tokens: agent.context_tokens.unwrap_or(usual.context_tokens),
    }
}
