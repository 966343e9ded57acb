//! Checks that the values of a configuration are consistent and usable.

use anyhow::{Context as _, Result, anyhow, ensure};
use channels::limits::RateLimits;
use std::{collections::BTreeSet, slice};

use super::{
    Config, GuardConfig, McpEntry, ModelEntry, build, datasources, guard, pace, references::exists,
    retention,
};
use crate::agent::{policy::Origin, rules};

/// The problems, each as `key: what is wrong`.
pub(super) fn check(config: &Config) -> Vec<String> {
    let checks = [names(config), references(config), sections(config), entries(config)];
    let problems = checks.into_iter().flatten().filter_map(Result::err);
    problems.map(|problem| format!("{problem:#}")).collect()
}

type Checks = Vec<Result<()>>;

/// Names must be unique.
fn names(config: &Config) -> Checks {
    vec![
        unique("models", config.models.iter().map(|m| &m.id)),
        unique("agents", config.agents.iter().map(|a| &a.id)),
        unique("channels", config.channels.iter().map(|c| &c.id)),
        unique("mcp", config.mcp.iter().map(McpEntry::tools_begin_with)),
        unique("hooks", config.hooks.iter().map(|h| &h.name)),
        unique("datasources", config.datasources.iter().map(|d| &d.name)),
        unique("webhooks_in", config.webhooks_in.iter().map(|hook| &hook.name)),
        unique("webhooks_out", config.webhooks_out.iter().map(|hook| &hook.name)),
    ]
}

/// Referenced entries must exist.
fn references(config: &Config) -> Checks {
    let mut checks = Checks::new();
    let models: Vec<_> = config.models.iter().map(|model| model.id.as_str()).collect();
    for model in &config.models {
        let key = || format!("models.{}.fallback", model.id);
        let each = model.fallback.iter();
        checks.extend(each.map(|other| exists("model", other, &models).with_context(key)));
    }
    for agent in &config.agents {
        let model = exists("model", &agent.model, &models);
        checks.push(model.with_context(|| format!("agents.{}.model", agent.id)));
    }
    let agents = config.agent_ids();
    for channel in &config.channels {
        let agent = exists("agent", &channel.agent, &agents);
        checks.push(agent.with_context(|| format!("channels.{}.agent", channel.id)));
    }
    let channels = config.channel_ids();
    for hook in &config.webhooks_in {
        let channel = exists("channel", &hook.channel, &channels);
        checks.push(channel.with_context(|| format!("webhooks_in.{}.channel", hook.name)));
    }
    checks
}

/// Sections must be complete.
fn sections(config: &Config) -> Checks {
    let section = GuardConfig { rules: Vec::new(), ..config.guard.clone() };
    let lease = build::duration(&config.store.lease_duration).context("store.lease_duration");
    vec![
        lease.map(drop),
        config.store.check(),
        config.admin.proxies().map(drop),
        config.admin.oidc.check(),
        config.documents.check().map_err(anyhow::Error::msg),
        config.http.check(),
        config.schedules.build().map(drop),
        config.jobs.build(Vec::new()).map(drop),
        config.extensions.check(),
        config.extraction.check(),
        config.wiki.check(),
        config.browser.check(),
        config.media.check(),
        config.wasm.limits().map(drop),
        config.builder.check(config),
        retention::retention(config).map(drop),
        guard::configured_policy(&section).map(drop),
        build::limited(&config.limits, Vec::new()).map(drop),
    ]
}

/// Entries of lists must be complete.
fn entries(config: &Config) -> Checks {
    let mut checks: Checks = config.models.iter().map(ModelEntry::check).collect();
    for channel in &config.channels {
        checks.push(channel.check());
        let debounce = build::duration(&channel.debounce).map(drop);
        checks.push(debounce.with_context(|| format!("channels.{}.debounce", channel.id)));
        let pace = pace::rate_limits(&channel.pace, RateLimits::default()).map(drop);
        checks.push(pace.with_context(|| format!("channels.{}.pace", channel.id)));
    }
    for agent in &config.agents {
        let bound = build::bound(agent, Vec::new()).map(drop);
        checks.push(bound.with_context(|| format!("agents.{}", agent.id)));
    }
    checks.extend(config.mcp.iter().map(McpEntry::check));
    checks.extend(config.hooks.iter().map(|hook| build::hooks(slice::from_ref(hook)).map(drop)));
    checks.extend(config.datasources.iter().map(|entry| datasources::check(entry, config)));
    for (place, rule) in config.guard.rules.iter().enumerate() {
        let name = rule.name.clone().unwrap_or_else(|| place.to_string());
        let compiled = rules::compile(slice::from_ref(rule), Origin::Configuration);
        let wrong = |problem: rules::Unusable| {
            anyhow!("guard.rules.{name}.{}: {}", problem.key, problem.problem)
        };
        checks.push(compiled.map(drop).map_err(wrong));
    }
    checks
}

fn unique<T: AsRef<str>>(section: &str, ids: impl Iterator<Item = T>) -> Result<()> {
    let mut seen = BTreeSet::new();
    for id in ids {
        let id = id.as_ref();
        ensure!(!id.is_empty(), "{section}: an id is empty");
        ensure!(seen.insert(id.to_owned()), "{section}: the id `{id}` is used twice");
    }
    Ok(())
}
