//! Converts configuration values to budgets, limits and hooks. Errors name the key.

use anyhow::{Context as _, Result, bail};
use chrono::TimeDelta;
use globset::{Glob, GlobSet};
use regex::Regex;

use super::{
    AgentEntry, Config,
    hooks::{HOOK_BYTES, HOOK_TIMEOUT, HookAction, HookEntry},
    limits::{DailyEntry, LimitsConfig, ToolLimitEntry},
};
use crate::{
    agent::{
        catalog::{Coworker, Rate, ToolSource, ToolSpec},
        hooks::{Check, Hook, HookBehaviour, OnFailure, Program},
        limits::{Budget, Daily, DailyLimits, Price},
        schedule_rule::parse_duration,
    },
    journal::event::HookPoint,
};

pub fn duration(text: &str) -> Result<TimeDelta> {
    let wrong = || format!("`{text}` is not a duration; use 90s, 30m, 12h or 7d");
    parse_duration(text).with_context(wrong)
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

/// The agents that work can be delegated to: all of them, if there are several.
pub fn coworkers(agents: &[AgentEntry]) -> Vec<Coworker> {
    let coworker =
        |a: &AgentEntry| Coworker { id: a.id.clone(), description: a.description.clone() };
    if agents.len() > 1 { agents.iter().map(coworker).collect() } else { Vec::new() }
}

pub fn limits(config: &Config) -> DailyLimits {
    let price = |cost: f64| cost.max(0.0);
    let prices = config.models.iter().map(|model| {
        let input = price(model.input_price);
        let cached = model.cached_price.map_or(input, price);
        (model.id.clone(), Price { input, output: price(model.output_price), cached })
    });
    let embeddings = config.memory.embeddings.iter().map(|name| {
        let input = price(config.memory.embeddings_price);
        (name.clone(), Price { input, cached: input, output: 0.0 })
    });
    DailyLimits {
        person: daily(&config.limits.person.daily()),
        upload_bytes: Some(u64::from(config.limits.person.upload_mb) * 1_000_000),
        conversation: daily(&config.limits.conversation),
        all: daily(&config.limits.all),
        prices: prices.chain(embeddings).collect(),
    }
}

/// Converts money to millionths, so that sums are exact.
pub fn micros(money: f64) -> u64 {
    (money.max(0.0) * 1e6).round() as u64
}

fn daily(entry: &DailyEntry) -> Daily {
    Daily {
        messages: entry.messages,
        tokens: entry.tokens,
        cost_micros: entry.cost.map(micros),
        tool_ms: entry.tool_minutes.map(|minutes| minutes.saturating_mul(60_000)),
    }
}

/// Applies the configured limits to the tools; the last matching entry applies.
pub fn limited(limits: &LimitsConfig, mut specs: Vec<ToolSpec>) -> Result<Vec<ToolSpec>> {
    for entry in &limits.tools {
        let tool = Glob::new(&entry.tool).context("limits.tools.tool")?.compile_matcher();
        for spec in specs.iter_mut().filter(|spec| tool.is_match(&spec.name)) {
            spec.rate = rate(entry, spec.rate);
            spec.max_usage_count = entry.max_usage_count.or(spec.max_usage_count);
        }
    }
    Ok(specs)
}

/// The rate limit that an entry sets. Keys that are not set keep the tool's own limit or the
/// default.
fn rate(entry: &ToolLimitEntry, own: Option<Rate>) -> Option<Rate> {
    if entry.unlimited {
        return None;
    }
    let changes = entry.per_minute.is_some() || entry.per_hour.is_some();
    let base = own.or(changes.then(Rate::default))?;
    Some(Rate {
        per_minute: entry.per_minute.unwrap_or(base.per_minute),
        per_hour: entry.per_hour.unwrap_or(base.per_hour),
    })
}

/// The tools that the agent may use. Naming built-in tools does not exclude tools of servers, and
/// vice versa.
pub fn bound(agent: &AgentEntry, mut specs: Vec<ToolSpec>) -> Result<Vec<ToolSpec>> {
    let own = patterns(&agent.tools).context("tools")?;
    let served = patterns(&agent.mcp).context("mcp")?;
    specs.retain(|spec| match &spec.source {
        ToolSource::Builtin | ToolSource::Wasm { .. } => own.is_empty() || own.is_match(&spec.name),
        ToolSource::Mcp { server, .. } => {
            served.is_empty() || served.is_match(server) || served.is_match(&spec.name)
        }
    });
    Ok(specs)
}

/// Whether the agent has all of a server, and not only single tools.
pub fn has_server(agent: &AgentEntry, server: &str) -> Result<bool> {
    let served = patterns(&agent.mcp).context("mcp")?;
    Ok(served.is_empty() || served.is_match(server))
}

fn patterns(names: &[String]) -> Result<GlobSet> {
    let mut set = GlobSet::builder();
    for name in names {
        set.add(Glob::new(name)?);
    }
    Ok(set.build()?)
}

pub fn hooks(entries: &[HookEntry]) -> Result<Vec<Hook>> {
    entries.iter().map(|e| hook(e).with_context(|| format!("hooks.{}", e.name))).collect()
}

fn hook(entry: &HookEntry) -> Result<Hook> {
    let of_a_call = matches!(entry.on, HookPoint::BeforeTool | HookPoint::AfterTool);
    if entry.tool.is_some() && !of_a_call {
        bail!("tool: is only valid for before_tool and after_tool");
    }
    if entry.argument.is_some() && entry.on != HookPoint::BeforeTool {
        bail!("argument: is only valid for before_tool");
    }
    let tool = entry.tool.as_deref().map(Glob::new).transpose().context("tool")?;
    let usual =
        if entry.on == HookPoint::BeforeTool { OnFailure::Stop } else { OnFailure::Continue };
    Ok(Hook {
        name: entry.name.clone(),
        on: entry.on,
        tool: tool.map(|glob| glob.compile_matcher()),
        act: act(entry)?,
        on_failure: entry.on_failure.unwrap_or(usual),
    })
}

fn act(entry: &HookEntry) -> Result<HookBehaviour> {
    let text = || entry.text.clone().context("text: is missing");
    let pattern = entry.pattern.as_deref().map(Regex::new).transpose().context("pattern")?;
    let check = |pattern| -> Result<Check> {
        Ok(Check { pattern, argument: entry.argument.clone(), text: text()? })
    };
    Ok(match entry.action {
        HookAction::Redact => {
            let text = entry.text.clone().unwrap_or_else(|| "…".into());
            HookBehaviour::Redact { pattern, text }
        }
        HookAction::Inject => match (entry.on, &entry.argument) {
            (HookPoint::BeforeLlm, _) | (HookPoint::BeforeTool, Some(_)) => {
                HookBehaviour::Inject { argument: entry.argument.clone(), text: text()? }
            }
            _ => {
                bail!(
                    "action: inject adds text for the model (before_llm), or sets an argument \
                    (before_tool)"
                )
            }
        },
        HookAction::Annotate if entry.on == HookPoint::BeforeLlm => {
            bail!("action: use inject here")
        }
        HookAction::Annotate => HookBehaviour::Annotate { text: text()? },
        HookAction::Validate => {
            HookBehaviour::Validate(check(Some(pattern.context("pattern: is missing")?))?)
        }
        HookAction::Filter => HookBehaviour::Filter(check(pattern)?),
        HookAction::Run => HookBehaviour::Run(program(entry)?),
    })
}

fn program(entry: &HookEntry) -> Result<Program> {
    let command = entry.command.clone().filter(|words| !words.is_empty());
    let timeout = duration(entry.timeout.as_deref().unwrap_or(HOOK_TIMEOUT)).context("timeout")?;
    if timeout > TimeDelta::minutes(1) {
        bail!("timeout: must be at most one minute");
    }
    Ok(Program {
        command: command.context("command: is missing")?,
        sandbox: entry.sandbox,
        timeout: timeout.to_std().context("timeout")?,
        max_bytes: entry.max_bytes.unwrap_or(HOOK_BYTES),
    })
}
