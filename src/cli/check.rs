//! `countersign check`: opens everything that the gateway opens, and prints a summary.

use anyhow::Result;
use std::collections::BTreeMap;

use super::say;
use crate::{
    app::{App, Overrides},
    config::Config,
};

/// Prints the summary.
pub(super) async fn run(config: &Config, variables: &BTreeMap<String, String>) -> Result<()> {
    let app = App::open(config, variables, Overrides::default()).await?;
    let list = |ids: Vec<&str>| ids.join(", ");
    let specs = app.worker.toolbox.specs();
    let lacks =
        specs.iter().filter_map(|s| Some(format!("; `{}`: {}", s.name, s.unavailable.as_ref()?)));
    let usable = specs.iter().filter(|spec| spec.unavailable.is_none()).count();
    let warnings = app.worker.policy_warnings().await?;
    let warnings = config.renamed.iter().cloned().chain(warnings);
    let warnings = warnings.map(|warning| format!("\n  warning   {warning}"));
    say(&format!(
        "The configuration is valid and the database answers.\n  models    {}\n  agents    {}\n  \
            channels  {}\n  tools     {usable} of {}{}\n  sandbox   {}{}",
        list(config.models.iter().map(|m| m.id.as_str()).collect()),
        list(config.agents.iter().map(|a| a.id.as_str()).collect()),
        list(config.channels.iter().map(|c| c.id.as_str()).collect()),
        specs.len(),
        lacks.collect::<String>(),
        app.sandbox.missing().unwrap_or("works"),
        warnings.collect::<String>(),
    ))
}
