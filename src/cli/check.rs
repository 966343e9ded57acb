//! `countersign check`: opens everything that the gateway would open, and prints a summary.

use anyhow::Result;
use serde::Serialize;
use std::{collections::BTreeMap, fmt::Write as _};

use super::{output::OutputFormat, say, web_access};
use crate::{
    app::{App, Overrides, tools::ALL_SERVERS_WITHIN},
    config::Config,
    tools::wasm::modules::{ModuleState, ModuleStatus},
};

/// What the gateway would run.
#[derive(Serialize)]
struct Summary<'c> {
    models: Vec<&'c str>,
    agents: Vec<&'c str>,
    channels: Vec<&'c str>,
    tools: usize,
    unavailable_tools: Vec<Unavailable>,
    /// Why the sandbox is unavailable.
    sandbox_problem: Option<&'c str>,
    warnings: Vec<String>,
}

#[derive(Serialize)]
struct Unavailable {
    tool: String,
    reason: String,
}

/// Prints the summary.
pub(super) async fn run(
    config: &Config,
    variables: &BTreeMap<String, String>,
    output: OutputFormat,
) -> Result<()> {
    let servers_within = Some(ALL_SERVERS_WITHIN);
    let given = Overrides { servers_within, ..Overrides::default() };
    let app = App::open(config, variables, given).await?;
    let specs = app.worker.toolbox.specs();
    let tools = specs.len();
    let unavailable = specs
        .into_iter()
        .filter_map(|spec| Some(Unavailable { reason: spec.unavailable?, tool: spec.name }));
    let warnings = app.worker.policy_warnings().await?;
    let strangers = web_access::warnings(config, &app.gateway.store).await?;
    let modules = app.wasm.statuses.all();
    let invalid = modules.iter().filter(|status| status.state == ModuleState::Invalid);
    let invalid = invalid.filter_map(ModuleStatus::warning);
    let warnings = config.renamed.iter().cloned().chain(warnings).chain(strangers).chain(invalid);
    let summary = Summary {
        models: config.models.iter().map(|model| model.id.as_str()).collect(),
        agents: config.agents.iter().map(|agent| agent.id.as_str()).collect(),
        channels: config.channels.iter().map(|channel| channel.id.as_str()).collect(),
        tools,
        unavailable_tools: unavailable.collect(),
        sandbox_problem: app.sandbox.missing(),
        warnings: warnings.collect(),
    };
    say(&output.of(&summary, || summary.text())?)
}

impl Summary<'_> {
    fn text(&self) -> String {
        let usable = self.tools - self.unavailable_tools.len();
        let mut text = format!(
            "The configuration is valid and the database answers.\n  models    {}\n  agents    {}\n  \
                channels  {}\n  tools     {usable} of {}",
            self.models.join(", "),
            self.agents.join(", "),
            self.channels.join(", "),
            self.tools,
        );
        // Writing to a string cannot fail.
        for Unavailable { tool, reason } in &self.unavailable_tools {
            let _ = write!(text, "; `{tool}`: {reason}");
        }
        let _ = write!(text, "\n  sandbox   {}", self.sandbox_problem.unwrap_or("works"));
        for warning in &self.warnings {
            let _ = write!(text, "\n  warning   {warning}");
        }
        text
    }
}
