//! The entries of `[[mcp]]`: MCP servers.

use anyhow::{Result, bail};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, path::PathBuf};

use super::{secret::Secret, yes};
use crate::{
    agent::{catalog::Tier, naming::sanitise},
    store::tools::pins::MODULES,
    tools::mcp::Protocol,
};

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct McpEntry {
    pub name: String,
    pub command: Option<Vec<String>>,
    pub url: Option<url::Url>,
    #[serde(default)]
    pub env: BTreeMap<String, Secret>,
    pub bearer: Option<Secret>,
    pub token_url: Option<url::Url>,
    pub client_id: Option<String>,
    pub client_secret: Option<Secret>,
    pub client_metadata_url: Option<url::Url>,
    #[serde(default)]
    pub scopes: Vec<String>,
    #[serde(default = "extension")]
    pub tier: Tier,
    #[serde(default)]
    pub protocol: Protocol,
    #[serde(default = "yes")]
    pub sandbox: bool,
    #[serde(default)]
    pub folders: Vec<PathBuf>,
}

fn extension() -> Tier {
    Tier::Extension
}

impl McpEntry {
    pub fn secrets(&self) -> impl Iterator<Item = &Secret> {
        self.env.values().chain(&self.bearer).chain(&self.client_secret)
    }

    /// The prefix of the tools' names: `github` for `github_create_issue`.
    pub(super) fn tools_begin_with(&self) -> String {
        sanitise(&self.name)
    }

    pub(super) fn check(&self) -> Result<()> {
        if self.name == MODULES {
            bail!("mcp.{MODULES}: this name is reserved for WASM tools");
        }
        if self.tools_begin_with().is_empty() {
            bail!(
                "mcp.{}: the tools are prefixed with the name, so it needs a letter from a to z, \
                    or a digit",
                self.name
            );
        }
        if self.command.is_some() == self.url.is_some() {
            bail!("mcp.{}: set either command or url", self.name);
        }
        let (id, secret) = (self.client_id.is_some(), self.client_secret.is_some());
        let whole = if self.token_url.is_some() { id && secret } else { id || !secret };
        if !whole {
            bail!("mcp.{}: token_url, client_id and client_secret must be set together", self.name);
        }
        if id && (self.url.is_none() || self.bearer.is_some()) {
            bail!("mcp.{}: client_id requires a url and no bearer", self.name);
        }
        if self.token_url.is_some() && (self.url.is_none() || self.bearer.is_some()) {
            bail!("mcp.{}: token_url requires a url and no bearer", self.name);
        }
        if let Some(metadata) = &self.client_metadata_url {
            if self.url.is_none() || self.bearer.is_some() || id {
                let name = &self.name;
                bail!("mcp.{name}: client_metadata_url requires a url, no bearer and no client_id");
            }
            if metadata.scheme() != "https" || metadata.path() == "/" {
                bail!("mcp.{}: client_metadata_url must be https with a path", self.name);
            }
        }
        Ok(())
    }
}
