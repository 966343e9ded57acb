//! The entries of `[[mcp]]`: MCP servers.

use anyhow::{Result, bail};
use reqwest::header::HeaderName;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, path::PathBuf};

use super::{secret::Secret, yes};
use crate::{
    agent::{catalog::Tier, naming::sanitise},
    store::tools::pins::MODULES,
    tools::mcp::{ConnectionMode, Protocol},
};

/// Headers that the client sets itself.
const SET_BY_CLIENT: [&str; 6] =
    ["authorization", "accept", "content-type", "host", "mcp-session-id", "mcp-protocol-version"];

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct McpEntry {
    /// The prefix of its tools' names.
    pub name: String,
    /// Program and arguments of a local server.
    pub command: Option<Vec<String>>,
    /// URL of a remote server.
    pub url: Option<url::Url>,
    /// Environment variables of the local server, as secrets.
    #[serde(default)]
    pub env: BTreeMap<String, Secret>,
    /// Token for the remote server, as a secret.
    pub bearer: Option<Secret>,
    /// Further headers of requests to the remote server, as secrets.
    #[serde(default)]
    pub headers: BTreeMap<String, Secret>,
    /// The token endpoint for OAuth client credentials.
    pub token_url: Option<url::Url>,
    /// The client id for `token_url`, or for `mcp login`.
    pub client_id: Option<String>,
    /// The client secret, as a secret.
    pub client_secret: Option<Secret>,
    /// The client's private key in PEM (PKCS #8), as a secret, in place of `client_secret`.
    pub client_key: Option<Secret>,
    /// The id of `client_key` at the authorization server (`kid`).
    pub client_key_id: Option<String>,
    /// URL of a client metadata document, for `mcp login`.
    pub client_metadata_url: Option<url::Url>,
    /// The OAuth scopes; by default those that the server names.
    #[serde(default)]
    pub scopes: Vec<String>,
    /// When its tools are in the prompt: `core` always, `extension` after `enable_tool`.
    #[serde(default = "extension")]
    pub tier: Tier,
    /// The handshake: `initialize`, `discover` (from 2026-07-28 on), or `auto`.
    #[serde(default)]
    pub protocol: Protocol,
    /// `shared` for one connection, `per_call` for a new one for each call.
    #[serde(default)]
    pub connection: ConnectionMode,
    /// Whether the local server is sandboxed: with network access, able to write only to its own
    /// folder.
    #[serde(default = "yes")]
    pub sandbox: bool,
    /// Folders that the sandboxed server may write to.
    #[serde(default)]
    pub folders: Vec<PathBuf>,
}

fn extension() -> Tier {
    Tier::Extension
}

impl McpEntry {
    pub fn secrets(&self) -> impl Iterator<Item = &Secret> {
        let own = [&self.bearer, &self.client_secret, &self.client_key];
        self.env.values().chain(self.headers.values()).chain(own.into_iter().flatten())
    }

    /// The prefix of the tools' names: `github` for `github_create_issue`.
    pub fn tools_begin_with(&self) -> String {
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
        let id = self.client_id.is_some();
        self.check_client()?;
        self.check_headers()?;
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

    fn check_headers(&self) -> Result<()> {
        let name = &self.name;
        if !self.headers.is_empty() && self.url.is_none() {
            bail!("mcp.{name}: headers requires a url");
        }
        for header in self.headers.keys() {
            if HeaderName::from_bytes(header.as_bytes()).is_err() {
                bail!("mcp.{name}: `{header}` is not the name of a header");
            }
            if SET_BY_CLIENT.iter().any(|own| header.eq_ignore_ascii_case(own)) {
                bail!("mcp.{name}: the header `{header}` is set by the gateway (see bearer)");
            }
        }
        Ok(())
    }

    /// The keys of an OAuth client belong together.
    fn check_client(&self) -> Result<()> {
        let name = &self.name;
        let (id, secret) = (self.client_id.is_some(), self.client_secret.is_some());
        let (key, token_url) = (self.client_key.is_some(), self.token_url.is_some());
        let proofs = usize::from(secret) + usize::from(key);
        let is_whole = if token_url { id && proofs == 1 } else { id || proofs == 0 };
        if !is_whole {
            bail!(
                "mcp.{name}: token_url, client_id and either client_secret or client_key must be set \
                    together"
            );
        }
        if key && !token_url {
            bail!("mcp.{name}: client_key requires a token_url; a sign-in uses client_secret");
        }
        if self.client_key_id.is_some() && !key {
            bail!("mcp.{name}: client_key_id requires a client_key");
        }
        Ok(())
    }
}
