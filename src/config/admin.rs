//! What is served, where, and to whom.

use anyhow::{Context as _, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;

use super::{
    key::{Key, key},
    oidc::OidcSection,
    secret::Secret,
};
use crate::admin::{hosts::Hosts, rate_limit::Proxies};

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AdminConfig {
    pub listen: SocketAddr,
    /// The address in sign-in links, where it is not `listen`.
    pub public_url: Option<url::Url>,
    pub metrics_token: Option<Secret>,
    pub otlp_url: Option<url::Url>,
    pub trusted_proxies: Vec<String>,
    pub hosts: Vec<String>,
    pub oidc: OidcSection,
}

impl Default for AdminConfig {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 8642)),
            public_url: None,
            metrics_token: None,
            otlp_url: None,
            trusted_proxies: Vec::new(),
            hosts: Vec::new(),
            oidc: OidcSection::default(),
        }
    }
}

pub(super) const KEYS: &[Key] = &[
    key(
        "admin.listen",
        "127.0.0.1:8642",
        "Where the web chat, health and webhooks are served; with port 0 the system chooses one, which is printed at the start",
    ),
    key("admin.public_url", "", "The address in sign-in links, if it is not `listen`"),
    key(
        "admin.metrics_token",
        "",
        "What opens /metrics, as a secret; without it only this machine may read there",
    ),
    key(
        "admin.otlp_url",
        "",
        "Where traces go by OTLP, as http://127.0.0.1:4318/v1/traces; in builds with `--features otel`",
    ),
    key(
        "admin.trusted_proxies",
        "[]",
        "Addresses and networks of proxies, as 127.0.0.1 or 10.0.0.0/8, whose X-Forwarded-For says \
         who asks, where rates are counted by address; of nobody else it is believed",
    ),
    key(
        "admin.hosts",
        "[]",
        "Names under which requests may come, besides this machine's, `listen` and `public_url`; \
         others are refused",
    ),
];

impl AdminConfig {
    /// The names that requests may be for.
    pub fn hosts(&self) -> Hosts {
        Hosts::new(self.listen, self.public_url.as_ref(), &self.hosts)
    }

    pub fn proxies(&self) -> Result<Proxies> {
        Proxies::from_list(&self.trusted_proxies).context("admin.trusted_proxies")
    }
}
