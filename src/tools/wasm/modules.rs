//! Loads the components that were found, and compares them with those that an operator trusts.

use anyhow::Result;
use chrono::{DateTime, Utc};
use parking_lot::RwLock;
use serde::Serialize;
use serde_json::json;
use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    sync::Arc,
};
use utoipa::ToSchema;

use super::{
    WasmHost, WasmTool,
    folder::{self, FolderStamp, ModulePlaces},
    manifest::{Grants, Manifest},
    runtime::{LoadedModule, WasmRuntime},
};
use crate::{
    agent::{
        canonical_json::canonical,
        catalog::{ApprovalMode, Domain, EffectClass, ModuleDigest, Tier, ToolSource, ToolSpec},
    },
    clock::Clock,
    store::{
        Store,
        tools::{
            pins::{self, MODULES, OfferedTool, Pin, PinState},
            settings,
        },
    },
    tools::{Tool, contract::entry},
};

/// The maximum length of a tool's description.
const DESCRIPTION_CHARS: usize = 1500;
/// Tools with a larger definition are invalid, because they would fill the prompt.
const DEFINITION_BYTES: usize = 64 * 1024;

/// The state of a component.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ModuleState {
    /// An operator trusts it with its manifest.
    Trusted,
    /// It is new.
    Untrusted,
    /// It or its manifest has changed since it was trusted or first seen.
    Changed,
    /// It cannot be loaded.
    Invalid,
}

/// A component that was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ModuleStatus {
    /// The name of the file without its extension
    pub module: String,
    pub file: String,
    pub state: ModuleState,
    /// The name of its tool, if it could be loaded
    pub tool: Option<String>,
    /// What is wrong, and what to do about it
    pub problem: Option<String>,
}

impl ModuleStatus {
    /// What is wrong with it, in a sentence of its own.
    pub fn warning(&self) -> Option<String> {
        let what = if self.state == ModuleState::Invalid { "is invalid" } else { "is unavailable" };
        let problem = self.problem.as_ref()?;
        Some(format!("the WASM tool `{}` {what}: {problem}", self.module))
    }
}

/// The state of all components, as last seen.
#[derive(Default)]
pub struct ModuleStatuses(RwLock<Vec<ModuleStatus>>);

impl ModuleStatuses {
    pub fn all(&self) -> Vec<ModuleStatus> {
        self.0.read().clone()
    }

    pub fn set(&self, statuses: Vec<ModuleStatus>) {
        *self.0.write() = statuses;
    }
}

/// The tools of all components, and the state of each.
#[derive(Default)]
pub struct FoundModules {
    pub tools: Vec<Arc<dyn Tool>>,
    pub statuses: Vec<ModuleStatus>,
}

/// Loads components whenever something has changed.
pub struct ModuleLoader {
    places: ModulePlaces,
    host: Arc<WasmHost>,
    store: Store,
    clock: Arc<dyn Clock>,
    /// Created when there is a component.
    runtime: Option<WasmRuntime>,
    /// The compiled components that were found last, by digest.
    compiled: BTreeMap<String, Arc<LoadedModule>>,
    seen: Option<SeenModules>,
}

#[derive(PartialEq)]
struct SeenModules {
    stamp: FolderStamp,
    version: i64,
    at: DateTime<Utc>,
}

/// A component that could be loaded.
struct ReadyModule {
    module: String,
    path: PathBuf,
    sha256: String,
    grants: Arc<Grants>,
    loaded: Arc<LoadedModule>,
    /// What is pinned.
    definition: String,
}

impl ModuleLoader {
    pub fn new(places: ModulePlaces, host: WasmHost, store: Store, clock: Arc<dyn Clock>) -> Self {
        let (host, compiled) = (Arc::new(host), BTreeMap::new());
        Self { places, host, store, clock, runtime: None, compiled, seen: None }
    }

    /// Loads all components. Returns `None` if neither a file nor the trust has changed.
    pub async fn reload(&mut self) -> Result<Option<FoundModules>> {
        let (stamp, now) = (self.places.stamp(), self.clock.now());
        let version = self.store.read(|tx| Box::pin(settings::version(tx))).await?;
        let is_same = |seen: &SeenModules| {
            seen.stamp == stamp && seen.version == version && now - seen.at < pins::SEEN_EVERY
        };
        if self.seen.as_ref().is_some_and(is_same) {
            return Ok(None);
        }
        let (mut ready, mut statuses) = (Vec::new(), Vec::new());
        let mut names = BTreeSet::new();
        for path in self.places.paths() {
            let module = folder::name_of(&path);
            let loaded = if names.insert(module.clone()) {
                self.load(&path, &module).await
            } else {
                Err("another component has the same file name".to_owned())
            };
            match loaded {
                Ok(module) => ready.push(module),
                Err(problem) => statuses.push(invalid(module, &path, problem)),
            }
        }
        self.compiled = ready.iter().map(|one| (one.sha256.clone(), one.loaded.clone())).collect();
        let pins = self.compare(&ready).await?;
        let mut tools = Vec::new();
        for one in ready {
            let state = pins.get(&one.module).map_or(PinState::Changed, Pin::state);
            statuses.push(one.status(state));
            tools.push((state, Arc::new(one.into_tool(state, &self.host)) as Arc<dyn Tool>));
        }
        statuses.sort_by(|a, b| a.module.cmp(&b.module));
        // Of two tools with the same name, the trusted one keeps it.
        tools.sort_by_key(|(state, _)| *state != PinState::Trusted);
        self.seen = Some(SeenModules { stamp, version, at: now });
        Ok(Some(FoundModules {
            tools: tools.into_iter().map(|(_, tool)| tool).collect(),
            statuses,
        }))
    }

    async fn load(&mut self, path: &Path, module: &str) -> Result<ReadyModule, String> {
        let place = path.to_owned();
        let file = tokio::task::spawn_blocking(move || folder::read(&place)).await;
        let file = file.map_err(|_| "it could not be read".to_owned())??;
        let grants = Arc::new(file.manifest.grants()?);
        let loaded = match self.compiled.get(&file.sha256) {
            Some(loaded) => loaded.clone(),
            None => Arc::new(self.runtime()?.load(file.bytes, &self.host).await?),
        };
        let definition = definition(&loaded, &file.sha256, &file.manifest)?;
        let (module, path, sha256) = (module.to_owned(), path.to_owned(), file.sha256);
        Ok(ReadyModule { module, path, sha256, grants, loaded, definition })
    }

    fn runtime(&mut self) -> Result<WasmRuntime, String> {
        match &self.runtime {
            Some(runtime) => Ok(runtime.clone()),
            None => Ok(self.runtime.insert(WasmRuntime::new()?).clone()),
        }
    }

    /// Compares the definitions with the pinned ones.
    async fn compare(&self, ready: &[ReadyModule]) -> Result<BTreeMap<String, Pin>> {
        if ready.is_empty() {
            return Ok(BTreeMap::new());
        }
        let listed = ready.iter().map(|one| OfferedTool {
            name: one.module.clone(),
            definition: one.definition.clone(),
        });
        let listed: Vec<_> = listed.collect();
        let now = self.clock.now();
        let see = self.store.write("update WASM tools", move |tx| {
            let listed = listed.clone();
            Box::pin(async move { pins::see(tx, MODULES, &listed, now).await })
        });
        see.await
    }
}

/// The pinned definition: the component, its manifest, and what it says about its tool.
fn definition(loaded: &LoadedModule, sha256: &str, manifest: &Manifest) -> Result<String, String> {
    let said = loaded.description();
    entry::compiled(&said.name, &said.parameters).map_err(|problem| problem.to_string())?;
    let definition = canonical(&json!({
        "sha256": sha256,
        "manifest": manifest,
        "name": said.name,
        "description": said.description,
        "parameters": said.parameters,
        "effect": said.effect,
    }));
    if definition.len() > DEFINITION_BYTES {
        return Err(format!("its definition is longer than {DEFINITION_BYTES} bytes"));
    }
    Ok(definition)
}

fn invalid(module: String, path: &Path, problem: String) -> ModuleStatus {
    let file = path.display().to_string();
    ModuleStatus { module, file, state: ModuleState::Invalid, tool: None, problem: Some(problem) }
}

impl ReadyModule {
    fn status(&self, state: PinState) -> ModuleStatus {
        ModuleStatus {
            module: self.module.clone(),
            file: self.path.display().to_string(),
            state: match state {
                PinState::Trusted => ModuleState::Trusted,
                PinState::Seen => ModuleState::Untrusted,
                PinState::Changed => ModuleState::Changed,
            },
            tool: Some(self.loaded.description().name.clone()),
            problem: untrusted(&self.module, state),
        }
    }

    fn into_tool(self, state: PinState, host: &Arc<WasmHost>) -> WasmTool {
        let said = self.loaded.description();
        let effect = match said.effect {
            // Whatever it says, its manifest lets it change something.
            EffectClass::ReadOnly if self.grants.changes_something() => EffectClass::AtMostOnce,
            effect => effect,
        };
        let is_free =
            effect == EffectClass::ReadOnly && self.grants.needs_no_approval(&host.http.access);
        let shown = channels::text::neutralise(&said.description);
        let shown: String = shown.chars().take(DESCRIPTION_CHARS).collect();
        let spec = ToolSpec {
            effect,
            tier: Tier::Extension,
            source: ToolSource::Wasm { module: self.module.clone() },
            approval: if is_free { ApprovalMode::Never } else { ApprovalMode::UnlessAllowed },
            timeout: host.limits.time,
            untrusted: true,
            outward: !self.grants.hosts.is_empty(),
            domain: Domain::Wasm(ModuleDigest::new(self.sha256)),
            unavailable: untrusted(&self.module, state),
            ..ToolSpec::read_only(&said.name, &shown, said.parameters.clone())
        };
        WasmTool { spec, module: self.loaded, grants: self.grants, host: host.clone() }
    }
}

/// Why a tool is not available, and what an operator can do.
fn untrusted(module: &str, state: PinState) -> Option<String> {
    let why = match state {
        PinState::Trusted => return None,
        PinState::Seen => "no operator has trusted it yet",
        PinState::Changed => "it or its manifest has changed since an operator saw it",
    };
    Some(format!("{why}; review and trust it with `countersign wasm trust {module}`"))
}
