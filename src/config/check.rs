//! Whether the values of a configuration agree with each other.

use anyhow::{Result, bail};
use std::collections::BTreeSet;

use super::{Config, McpEntry, datasources};

impl Config {
    /// Checks that all names that are referred to exist and are unique, and that required keys are
    /// set.
    pub(super) fn check(self) -> Result<Self> {
        unique("models", self.models.iter().map(|m| &m.id))?;
        unique("agents", self.agents.iter().map(|a| &a.id))?;
        unique("channels", self.channels.iter().map(|c| &c.id))?;
        unique("mcp", self.mcp.iter().map(McpEntry::tools_begin_with))?;
        unique("hooks", self.hooks.iter().map(|h| &h.name))?;
        for model in &self.models {
            if let Some(other) = model.fallback.iter().find(|id| !self.has_model(id)) {
                bail!("models.{}.fallback: there is no model `{other}`", model.id);
            }
        }
        for agent in &self.agents {
            if !self.has_model(&agent.model) {
                bail!("agents.{}.model: there is no model `{}`", agent.id, agent.model);
            }
        }
        for channel in &self.channels {
            if !self.agents.iter().any(|a| a.id == channel.agent) {
                bail!("channels.{}.agent: there is no agent `{}`", channel.id, channel.agent);
            }
            channel.check()?;
        }
        self.check_webhooks()?;
        self.admin.proxies()?;
        self.admin.oidc.check()?;
        self.documents.check().map_err(anyhow::Error::msg)?;
        self.mcp.iter().try_for_each(McpEntry::check)?;
        self.http.check()?;
        unique("datasources", self.datasources.iter().map(|d| &d.name))?;
        datasources::check(&self)?;
        Ok(self)
    }

    fn has_model(&self, id: &str) -> bool {
        self.models.iter().any(|model| model.id == id)
    }
}

pub(super) fn unique<T: AsRef<str>>(section: &str, ids: impl Iterator<Item = T>) -> Result<()> {
    let mut seen = BTreeSet::new();
    for id in ids {
        let id = id.as_ref();
        if id.is_empty() || !seen.insert(id.to_owned()) {
            bail!("{section}: the id `{id}` is empty or used twice");
        }
    }
    Ok(())
}
