//! The section `web`.

use anyhow::{Context as _, Result};
use schemars::JsonSchema;
use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

use super::{build::micros, secret::Secret};
use crate::{
    agent::spec::Variable,
    tools::web::{
        WebConfig,
        providers::{SearchEngine, SearchProvider},
    },
};

/// The default allows hosts on the public internet only, and searches without a key.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WebSection {
    /// Private hosts that the agent may reach although they are not on the public internet (SSRF
    /// allowlist); `host:port` for a single port.
    pub allowed_private_hosts: Vec<String>,
    /// Search engines, in the order in which they are used; by default DuckDuckGo.
    pub search: Vec<SearchEntry>,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SearchEntry {
    /// The search engine: `serper`, `tavily`, `brave`, `searxng` or `duckduckgo`, or the model of a
    /// vendor: `openai`, `anthropic` or `gemini`; the next one is used if one fails.
    pub provider: SearchEngine,
    /// Its API key, as a secret.
    pub key: Option<Secret>,
    /// The URL of your SearXNG, with `/search`.
    #[schemars(extend("x-default" = "the service's"))]
    pub url: Option<url::Url>,
    /// The model that searches, for `openai`, `anthropic` and `gemini`.
    pub model: Option<String>,
    /// The price of one search.
    #[serde(default)]
    pub price: f64,
}

impl Default for WebSection {
    fn default() -> Self {
        let keyless = SearchEntry {
            provider: SearchEngine::Duckduckgo,
            key: None,
            url: None,
            model: None,
            price: 0.0,
        };
        Self { allowed_private_hosts: Vec::new(), search: vec![keyless] }
    }
}

impl WebSection {
    pub fn build(&self, variables: &BTreeMap<String, String>) -> Result<WebConfig> {
        let (mut search, mut missing) = (Vec::new(), Vec::new());
        for (place, entry) in self.search.iter().enumerate() {
            match entry.missing(variables) {
                Some(variable) => {
                    let provider = entry.provider;
                    tracing::warn!(?provider, variable, "search provider skipped: no API key");
                    missing.push(Variable::required(variable));
                }
                None => search
                    .push(entry.build(variables).with_context(|| format!("web.search.{place}"))?),
            }
        }
        Ok(WebConfig { inside: self.inside(), search, missing, ..WebConfig::default() })
    }

    /// Private hosts that may be reached.
    pub fn inside(&self) -> BTreeSet<String> {
        self.allowed_private_hosts.iter().map(|host| host.to_lowercase()).collect()
    }

    /// The keys, for redaction.
    pub fn secrets(&self) -> impl Iterator<Item = &Secret> {
        self.search.iter().filter_map(|entry| entry.key.as_ref())
    }
}

impl SearchEntry {
    /// The name of the variable for the key, if the key is not set.
    fn missing(&self, variables: &BTreeMap<String, String>) -> Option<&str> {
        let Some(Secret::Env { env }) = &self.key else { return None };
        Variable::required(env).value(variables).is_none().then_some(env)
    }

    fn build(&self, variables: &BTreeMap<String, String>) -> Result<SearchProvider> {
        let usual = self.provider.usual_url();
        let url = self.url.clone().or(usual).context("url: set the URL of your SearXNG")?;
        let key = self.key.as_ref().map(|key| key.reveal(variables).context("key")).transpose()?;
        let key: Option<SecretString> = key;
        anyhow::ensure!(key.is_some() || !self.provider.needs_key(), "key: is missing");
        let price_micros = micros(self.price);
        let model = self.model.clone().unwrap_or_default();
        anyhow::ensure!(
            self.provider.needs_model() != model.is_empty(),
            "model: required for openai, anthropic and gemini, and only for these"
        );
        Ok(SearchProvider { kind: self.provider, url, key, model, price_micros })
    }
}
