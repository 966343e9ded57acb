//! Caches agents, including the tool settings of operators. Changed settings take effect with the
//! next turn on all nodes.

use anyhow::{Context as _, Result};
use parking_lot::RwLock;
use std::{collections::BTreeMap, sync::Arc};

use super::Worker;
use crate::{
    agent::{
        Agent,
        catalog::{ToolSource, ToolSpec},
        naming::sanitise,
    },
    store::{
        leases::Claimed,
        tools::settings::{self, Setting, SettingKind, Settings},
    },
};

/// The agents as last built.
#[derive(Default)]
pub struct AgentCache {
    kept: RwLock<BTreeMap<String, CachedAgent>>,
}

#[derive(Clone)]
struct CachedAgent {
    version: i64,
    /// The agent as configured, without the operators' settings.
    from: Arc<Agent>,
    arranged: Arc<Agent>,
}

/// The operators' setting for a tool or, if it has one, for its server.
pub fn setting_of(settings: &Settings, spec: &ToolSpec) -> Setting {
    let key = match &spec.source {
        ToolSource::Builtin | ToolSource::Wasm { .. } => (SettingKind::Tool, spec.name.clone()),
        ToolSource::Mcp { server, .. } => (SettingKind::Mcp, server.clone()),
    };
    settings.get(&key).copied().unwrap_or_default()
}

impl Worker {
    /// The agent that answers in a conversation, with the current settings: a sub-agent, or the
    /// agent of the channel.
    pub(super) async fn agent_of(&self, claimed: &Claimed) -> Result<Arc<Agent>> {
        let id = match &claimed.sub_agent {
            Some(sub_agent) => &sub_agent.agent,
            None => self.agent_at(&claimed.channel)?,
        };
        // Read with the claim. An agent that was built for newer settings is kept.
        let kept = self.cached(id).filter(|kept| kept.version >= claimed.tools_version);
        let from = self.configured(id);
        match kept.filter(|kept| from.is_some_and(|from| Arc::ptr_eq(&kept.from, &from))) {
            Some(kept) => Ok(kept.arranged),
            None => self.agent(id).await,
        }
    }

    /// The beginnings of the names of tools that no agent has yet, because their servers were added
    /// a short time ago.
    pub(super) fn loading_tools(&self) -> Vec<String> {
        let mut starting = self.mcp_servers.starting();
        if !starting.is_empty() {
            let agents = self.agents.read();
            let is_listed = |server: &str| agents.values().any(|a| a.catalog.has_tools_of(server));
            starting.retain(|server| !is_listed(server));
        }
        starting.iter().map(|server| format!("{}_", sanitise(server))).collect()
    }

    fn cached(&self, id: &str) -> Option<CachedAgent> {
        let kept = self.agent_cache.kept.read();
        kept.get(id).cloned()
    }

    /// The agent with this id, with the current settings.
    pub async fn agent(&self, id: &str) -> Result<Arc<Agent>> {
        let from = self.configured(id).with_context(|| format!("there is no agent `{id}`"))?;
        let store = &self.gateway.store;
        let version = store.read(|tx| Box::pin(async move { settings::version(tx).await })).await?;
        let kept = self.cached(id);
        if let Some(kept) = kept.filter(|k| k.version == version && Arc::ptr_eq(&k.from, &from)) {
            return Ok(kept.arranged);
        }
        let (version, settings) =
            store.read(|tx| Box::pin(async move { settings::all(tx).await })).await?;
        let arranged =
            if settings.is_empty() { from.clone() } else { Arc::new(arrange(&from, &settings)) };
        let kept = CachedAgent { version, from, arranged: arranged.clone() };
        self.agent_cache.kept.write().insert(id.to_owned(), kept);
        Ok(arranged)
    }

    /// Whether the agent has the current tools. Does not query the database: changed settings of
    /// operators apply from the next turn on. An agent that is no longer configured finishes its
    /// turn unchanged.
    pub(super) fn is_current(&self, agent: &Arc<Agent>) -> bool {
        let Some(from) = self.configured(&agent.id) else { return true };
        let kept = self.agent_cache.kept.read();
        kept.get(&agent.id).is_some_and(|kept| {
            Arc::ptr_eq(&kept.from, &from) && Arc::ptr_eq(&kept.arranged, agent)
        })
    }

    /// The agent with this id, without the operators' settings.
    pub(super) fn configured(&self, id: &str) -> Option<Arc<Agent>> {
        self.agents.read().get(id).cloned()
    }
}

fn arrange(agent: &Agent, settings: &Settings) -> Agent {
    let catalog = agent.catalog.arranged(|spec| {
        let setting = setting_of(settings, spec);
        spec.tier = setting.tier.unwrap_or(spec.tier);
        setting.enabled
    });
    Agent { catalog, ..agent.clone() }
}
