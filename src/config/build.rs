//! From plain values to policies and budgets; an error names the key.

use anyhow::{Context as _, Result, bail};
use chrono::TimeDelta;
use globset::Glob;
use regex::Regex;

use super::{AgentEntry, GuardConfig, RuleEntry};
use crate::agent::{
    limits::Budget,
    policy::{Policy, Rule},
};

pub fn policy(guard: &GuardConfig) -> Result<Policy> {
    let approval_for =
        duration(&guard.approval_timeout).with_context(|| "guard.approval_timeout")?;
    let rules = guard
        .rules
        .iter()
        .enumerate()
        .map(|(i, entry)| rule(i, entry).with_context(|| format!("guard.rules.{i}")))
        .collect::<Result<_>>()?;
    let approvers = guard.approvers.clone();
    Ok(Policy { default: guard.default, rules, approval_for, approvers })
}

fn rule(index: usize, entry: &RuleEntry) -> Result<Rule> {
    let tool = Glob::new(&entry.tool).context("tool")?.compile_matcher();
    let argument = entry.arg_pattern.as_deref().map(Regex::new).transpose();
    Ok(Rule {
        name: entry.name.clone().unwrap_or_else(|| format!("rule {}", index + 1)),
        tool,
        argument: argument.context("arg_pattern")?,
        action: entry.action,
        approvers: entry.approvers.clone(),
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
