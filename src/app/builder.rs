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
    config::{Config, build},
    gateway::Gateway,
    llm::Model,
    tools::{
        Tool,
        builder::{
            self, BuilderConfig, BuilderTools, charged_model::UsageAccount, toolchain::Toolchains,
        },
    },
};

/// The folder of all builds.
pub(super) fn folder(config: &Config) -> PathBuf {
    config.data_dir.join("builds")
}

/// The tools, if the builder is enabled.
pub(super) async fn tools(
    config: &Config,
    models: &BTreeMap<String, Arc<dyn Model>>,
    sandbox: &Arc<Sandbox>,
    gateway: &Gateway,
) -> Result<Vec<Arc<dyn Tool>>> {
    if !config.builder.enabled {
        return Ok(Vec::new());
    }
    let writers = config.agents.iter().filter_map(|agent| {
        let model = config.builder.model.as_ref().unwrap_or(&agent.model);
        Some((agent.id.clone(), models.get(model)?.clone()))
    });
    Ok(builder::tools(&BuilderTools {
        models: writers.collect(),
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
