//! The section on extensions: the indexes from which agents may install skills and MCP servers.

use anyhow::{Result, ensure};
use schemars::JsonSchema;
use secrecy::{ExposeSecret as _, SecretString};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use url::Url;

use super::{Config, McpEntry, secret::Secret};
use crate::tools::{
    extensions::{
        Extensions,
        installed::{InstalledServer, ServerFolder},
        server_json::{LaunchTarget, PackageKind},
    },
    skills::Folders,
    web::client::WebClient,
};

#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ExtensionsSection {
    /// MCP registries that agents may search and, with approval, install servers from, such as
    /// `https://registry.modelcontextprotocol.io`.
    pub mcp_registries: Vec<Url>,
    /// Indexes of skills that agents may search and install from: a website with
    /// `/.well-known/agent-skills/index.json`, or the URL of an index that ends with `.json`.
    pub skill_indexes: Vec<Url>,
    /// Kinds of packages that may be installed as local servers, which run their code in the
    /// sandbox: `npm` (needs npx), `pypi` (needs uvx).
    pub packages: BTreeSet<PackageKind>,
    /// Hosts that installed local servers may reach, by TLS, besides the registry of their package:
    /// `extensions.hosts.SERVER = ["api.example.org"]`; `*` matches.
    pub hosts: BTreeMap<String, Vec<String>>,
    /// Environment variables and headers of installed servers: `extensions.secrets.SERVER.NAME = {
    /// env = "…" }`.
    pub secrets: BTreeMap<String, BTreeMap<String, Secret>>,
}

/// The connection of an installed server.
pub struct ServerConnection {
    pub command: Option<Vec<String>>,
    pub url: Option<Url>,
    pub env: BTreeMap<String, SecretString>,
    pub headers: BTreeMap<String, SecretString>,
    pub bearer: Option<SecretString>,
}

impl ExtensionsSection {
    pub(super) fn check(&self) -> Result<()> {
        for (key, urls) in
            [("mcp_registries", &self.mcp_registries), ("skill_indexes", &self.skill_indexes)]
        {
            for url in urls {
                ensure!(
                    matches!(url.scheme(), "http" | "https") && url.has_host(),
                    "extensions.{key}: {url} is not an http or https URL"
                );
            }
        }
        Ok(())
    }

    /// The hosts that an installed local server may reach.
    pub fn hosts(&self, name: &str, command: &[String]) -> Vec<String> {
        let own = self.hosts.get(name).cloned().unwrap_or_default();
        let kind = PackageKind::of_command(command);
        let registry = kind.map_or(&[][..], PackageKind::hosts);
        registry.iter().map(|host| (*host).to_owned()).chain(own).collect()
    }

    pub fn secrets(&self) -> impl Iterator<Item = &Secret> {
        self.secrets.values().flat_map(BTreeMap::values)
    }

    /// How to connect to an installed server. Fails if a secret is missing.
    pub fn connection(
        &self,
        name: &str,
        server: &InstalledServer,
        variables: &BTreeMap<String, String>,
    ) -> Result<ServerConnection> {
        let launch = &server.launch;
        let plain = launch.values.iter();
        let mut values: BTreeMap<String, SecretString> =
            plain.map(|(key, value)| (key.clone(), value.clone().into())).collect();
        let secrets = self.secrets.get(name);
        let key = |secret: &str| format!("extensions.secrets.{name}.{secret}");
        for wanted in launch.required_secrets.iter().chain(&launch.optional_secrets) {
            match secrets.and_then(|secrets| secrets.get(wanted)) {
                Some(secret) => {
                    let value = secret.reveal(variables);
                    values.insert(
                        wanted.clone(),
                        anyhow::Context::with_context(value, || key(wanted))?,
                    );
                }
                None => {
                    ensure!(
                        !launch.required_secrets.contains(wanted),
                        "{} is not set",
                        key(wanted)
                    );
                }
            }
        }
        let none = BTreeMap::new();
        Ok(match &launch.target {
            LaunchTarget::Command(command) => ServerConnection {
                command: Some(command.clone()),
                url: None,
                env: values,
                headers: none,
                bearer: None,
            },
            LaunchTarget::Url(url) => ServerConnection {
                command: None,
                url: Some(url.clone()),
                env: none,
                bearer: token(&mut values),
                headers: values,
            },
        })
    }
}

/// Takes the token out of the header `Authorization`.
fn token(headers: &mut BTreeMap<String, SecretString>) -> Option<SecretString> {
    let name = headers.keys().find(|name| name.eq_ignore_ascii_case("authorization"))?.clone();
    let value = headers.remove(&name)?;
    let value = value.expose_secret();
    let is_bearer = value.get(..7).is_some_and(|start| start.eq_ignore_ascii_case("bearer "));
    Some(if is_bearer { value[7..].trim() } else { value }.into())
}

impl Config {
    /// Where agents find extensions, and where those are put.
    pub fn extensions(&self, skill_folders: Folders) -> Result<Extensions> {
        let section = &self.extensions;
        let names = |secrets: &BTreeMap<String, Secret>| secrets.keys().cloned().collect();
        let secrets = section.secrets.iter();
        Ok(Extensions {
            registries: section.mcp_registries.clone(),
            skill_indexes: section.skill_indexes.clone(),
            packages: section.packages.clone(),
            web_client: WebClient::new(self.web.inside())?,
            skill_folders,
            servers: ServerFolder::of(&self.data_dir),
            configured: self.mcp.iter().map(McpEntry::tools_begin_with).collect(),
            secrets: secrets.map(|(server, set)| (server.clone(), names(set))).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn server(launch: serde_json::Value) -> InstalledServer {
        serde_json::from_value(json!({
            "registry": "https://registry.example", "server": "io.example/weather",
            "version": "1.0.2", "state": "enabled", "launch": launch,
        }))
        .unwrap()
    }

    fn section(secrets: serde_json::Value) -> ExtensionsSection {
        serde_json::from_value(json!({ "secrets": secrets })).unwrap()
    }

    #[test]
    fn a_connection_has_the_secrets_of_its_server() {
        let section = section(json!({
            "weather": { "Authorization": { "env": "KEY" }, "X-Trace": "t" },
            "other": { "X-Other": "never" },
        }));
        let server = server(json!({
            "url": "https://weather.example/mcp", "values": { "X-Unit": "metric" },
            "required_secrets": ["Authorization"], "optional_secrets": ["X-Trace", "X-Other"],
        }));
        let missing = section.connection("weather", &server, &BTreeMap::new()).err().unwrap();
        assert_eq!(
            format!("{missing:#}"),
            "extensions.secrets.weather.Authorization: the environment variable KEY is not set"
        );
        let variables = BTreeMap::from([("KEY".to_owned(), "Bearer abc".to_owned())]);
        let found = section.connection("weather", &server, &variables).unwrap();
        assert_eq!(found.bearer.unwrap().expose_secret(), "abc");
        assert_eq!(found.headers.keys().collect::<Vec<_>>(), ["X-Trace", "X-Unit"]);
    }

    #[test]
    fn a_missing_secret_is_named() {
        let server = server(json!({ "command": ["npx"], "required_secrets": ["KEY"] }));
        let missing =
            section(json!({})).connection("weather", &server, &BTreeMap::new()).err().unwrap();
        assert_eq!(missing.to_string(), "extensions.secrets.weather.KEY is not set");
    }
}
