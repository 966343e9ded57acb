//! What the operator says of the web.

use anyhow::{Context as _, Result};
use schemars::JsonSchema;
use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

use super::secret::Secret;
use crate::tools::web::{
    WebConfig,
    search::{Kind, Provider},
};

/// Where nothing is said: hosts on the public internet only, searched without a key.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WebSection {
    pub inside: Vec<String>,
    pub search: Vec<SearchEntry>,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SearchEntry {
    pub provider: Kind,
    pub key: Option<Secret>,
    pub url: Option<url::Url>,
}

impl Default for WebSection {
    fn default() -> Self {
        let keyless = SearchEntry { provider: Kind::Duckduckgo, key: None, url: None };
        Self { inside: Vec::new(), search: vec![keyless] }
    }
}

impl WebSection {
    pub fn build(&self, variables: &BTreeMap<String, String>) -> Result<WebConfig> {
        let search = self.search.iter().enumerate().map(|(place, entry)| {
            entry.build(variables).with_context(|| format!("web.search.{place}"))
        });
        Ok(WebConfig {
            inside: self.inside.iter().map(|host| host.to_lowercase()).collect(),
            search: search.collect::<Result<_>>()?,
        })
    }

    /// The keys, for whoever hides secrets.
    pub fn secrets(&self) -> impl Iterator<Item = &Secret> {
        self.search.iter().filter_map(|entry| entry.key.as_ref())
    }
}

impl SearchEntry {
    fn build(&self, variables: &BTreeMap<String, String>) -> Result<Provider> {
        let usual = self.provider.usual_url();
        let url = self.url.clone().or(usual).context("url: where is your SearXNG?")?;
        let key = self.key.as_ref().map(|key| key.reveal(variables).context("key")).transpose()?;
        let key: Option<SecretString> = key;
        anyhow::ensure!(key.is_some() || !self.provider.needs_key(), "key: is missing");
        Ok(Provider { kind: self.provider, url, key })
    }
}
