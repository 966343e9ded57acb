//! Loads WASM tools, at the start and whenever a component, a manifest or the trust changes.

use anyhow::Result;
use std::{collections::BTreeMap, sync::Arc};
use tokio::sync::Mutex;

use super::{App, RESCAN_EVERY, refresh_agents, tools};
use crate::{
    clock::{Clock, stops_within},
    config::Config,
    store::Store,
    tools::{
        wasm::{
            WasmHost,
            modules::{FoundModules, ModuleLoader, ModuleStatus, ModuleStatuses},
        },
        web::{client::WebClient, request::HttpRequest},
    },
    worker::Worker,
};

/// The components of a gateway.
pub struct WasmModules {
    loader: Mutex<ModuleLoader>,
    /// Their state, as last seen.
    pub statuses: Arc<ModuleStatuses>,
}

impl WasmModules {
    pub(super) fn new(loader: ModuleLoader) -> Self {
        Self { loader: Mutex::new(loader), statuses: Arc::default() }
    }
}

pub(super) fn loader(
    config: &Config,
    variables: &BTreeMap<String, String>,
    store: &Store,
    clock: &Arc<dyn Clock>,
) -> Result<ModuleLoader> {
    let access = tools::web(config, variables)?.access;
    let http = HttpRequest { web_client: WebClient::new(config.web.inside())?, access };
    let host = WasmHost::new(http, config.wasm.limits()?);
    let places = config.wasm.places(&config.data_dir);
    Ok(ModuleLoader::new(places, host, store.clone(), clock.clone()))
}

/// The state of all components, for the command line.
pub async fn statuses(
    config: &Config,
    variables: &BTreeMap<String, String>,
    store: &Store,
) -> Result<Vec<ModuleStatus>> {
    let clock: Arc<dyn Clock> = Arc::new(crate::clock::SystemClock);
    let found = loader(config, variables, store, &clock)?.reload().await?;
    Ok(found.unwrap_or_default().statuses)
}

impl App {
    /// Loads the components that are new or have changed, and those whose trust has. A problem with
    /// one of them is only reported.
    pub async fn update_wasm_tools(&self) -> Result<()> {
        update(&self.worker, &self.config, &self.wasm).await
    }
}

async fn update(worker: &Worker, config: &Config, modules: &WasmModules) -> Result<()> {
    if reload(worker, modules).await? {
        refresh_agents(worker, config)?;
    }
    Ok(())
}

/// Updates the agents when something has changed.
pub(super) fn watch(app: &App) {
    let (worker, config, modules) = (app.worker.clone(), app.config.clone(), app.wasm.clone());
    app.gateway.spawn_supervised("watch WASM tools", move || {
        follow(worker.clone(), config.clone(), modules.clone())
    });
}

async fn follow(worker: Arc<Worker>, config: Config, modules: Arc<WasmModules>) {
    while !stops_within(RESCAN_EVERY, &worker.gateway.stop).await {
        if let Err(problem) = update(&worker, &config, &modules).await {
            tracing::error!(problem = format!("{problem:#}"), "could not update the WASM tools");
        }
    }
}

/// Returns whether the tools have changed.
async fn reload(worker: &Worker, modules: &WasmModules) -> Result<bool> {
    let Some(FoundModules { tools, mut statuses }) = modules.loader.lock().await.reload().await?
    else {
        return Ok(false);
    };
    let (unfit, changed) = worker.toolbox.serve_modules(tools);
    for problem in unfit {
        let name = |status: &&mut ModuleStatus| {
            status.tool.as_ref().is_some_and(|tool| problem.is_about(tool))
        };
        for status in statuses.iter_mut().filter(name) {
            status.problem.get_or_insert_with(|| problem.to_string());
        }
    }
    for ModuleStatus { module, file, problem, .. } in &statuses {
        if let Some(problem) = problem {
            tracing::warn!(wasm.module = module, file, problem, "a WASM tool is unavailable");
        }
    }
    modules.statuses.set(statuses);
    Ok(changed)
}
