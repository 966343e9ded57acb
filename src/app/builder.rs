//! Builds the tools of the software builder.

use anyhow::Result;
use sandbox::Sandbox;
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use super::tools;
use crate::{
    agent::{hooks::Hook, redact::Redactor},
    config::{AgentEntry, Config, build},
    gateway::Gateway,
    llm::Model,
    tools::{
        Tool,
        builder::{
            self, BuilderConfig, BuilderTools, charged_model::UsageAccount,
            redacted_model::RedactedModel, toolchain::Toolchains,
        },
    },
};

/// The folder of all builds.
pub(super) fn folder(config: &Config) -> PathBuf {
    config.data_dir.join("builds")
}

/// The model that writes software for each agent. What the operator keeps from the agents' models is
/// kept from these as well.
pub(super) fn writers(
    config: &Config,
    models: &BTreeMap<String, Arc<dyn Model>>,
    redactor: &Redactor,
) -> Result<BTreeMap<String, Arc<dyn Model>>> {
    let hooks: Arc<[Hook]> = build::hooks(&config.hooks)?.into();
    let writer = |agent: &AgentEntry| {
        let name = config.builder.model.as_ref().unwrap_or(&agent.model);
        let (model, hooks) = (models.get(name)?.clone(), hooks.clone());
        let writer = RedactedModel { model, hooks, redactor: redactor.clone() };
        Some((agent.id.clone(), Arc::new(writer) as Arc<dyn Model>))
    };
    Ok(config.agents.iter().filter_map(writer).collect())
}

/// The tools, if the builder is enabled.
pub(super) async fn tools(
    config: &Config,
    models: BTreeMap<String, Arc<dyn Model>>,
    sandbox: &Arc<Sandbox>,
    gateway: &Gateway,
) -> Result<Vec<Arc<dyn Tool>>> {
    if !config.builder.enabled {
        return Ok(Vec::new());
    }
    Ok(builder::tools(&BuilderTools {
        models,
        config: BuilderConfig {
            sandbox: sandbox.clone(),
            toolchains: Arc::new(toolchains(config, sandbox).await),
            folder: folder(config),
            limits: config.builder.limits()?,
        },
        account: UsageAccount {
            store: gateway.store.clone(),
            clock: gateway.clock.clone(),
            limits: build::limits(config),
        },
        skills: tools::folders(config),
        at_once: config.builder.at_once,
    }))
}

/// The languages of this machine.
pub async fn toolchains(config: &Config, sandbox: &Sandbox) -> Toolchains {
    let home = std::env::home_dir();
    let rust = config.builder.rust_toolchain(home.as_deref());
    Toolchains::find(sandbox, rust.as_deref().map(Path::new)).await
}
