//! The section `admin`: what is served, where, and to whom.

use anyhow::{Context as _, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::net::{IpAddr, SocketAddr};

use super::{completions::CompletionsSection, listen, oidc::OidcSection, secret::Secret};
use crate::admin::auth::{hosts::Hosts, rate_limit::Proxies};

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AdminConfig {
    /// The address of the web chat, API and webhooks: an address or host name with a port, or a
    /// port of 127.0.0.1; with port 0 the system chooses a port, which is printed at startup.
    #[serde(deserialize_with = "listen::address")]
    #[schemars(schema_with = "listen::schema")]
    pub listen: SocketAddr,
    /// The public URL, for sign-in links, if it differs from `listen`.
    pub public_url: Option<url::Url>,
    /// Private hosts of push services, which notifications of the web chat may be sent to, as
    /// `host` or `host:port`.
    pub private_push_hosts: Vec<String>,
    /// A token for `/metrics`, as a secret; without it, only this machine can read the metrics.
    pub metrics_token: Option<Secret>,
    /// The OTLP endpoint for traces, for example `http://127.0.0.1:4318/v1/traces`; requires a
    /// build with `--features otel`.
    pub otlp_url: Option<url::Url>,
    /// Addresses and networks of trusted proxies, for example `127.0.0.1` or `10.0.0.0/8`, whose
    /// `X-Forwarded-For` is used for rate limits by client address; it is ignored from others.
    pub trusted_proxies: Vec<String>,
    /// Additional host names for which requests are accepted, besides this machine's, `listen` and
    /// `public_url`; others are rejected.
    pub hosts: Vec<String>,
    /// Signing in with an OpenID provider.
    pub oidc: OidcSection,
    /// The endpoint for OpenAI clients.
    pub completions: CompletionsSection,
}

impl Default for AdminConfig {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 8642)),
            public_url: None,
            private_push_hosts: Vec::new(),
            metrics_token: None,
            otlp_url: None,
            trusted_proxies: Vec::new(),
            hosts: Vec::new(),
            oidc: OidcSection::default(),
            completions: CompletionsSection::default(),
        }
    }
}

impl AdminConfig {
    /// The accepted host names.
    pub fn hosts(&self) -> Hosts {
        Hosts::new(self.listen, self.public_url.as_ref(), &self.hosts)
    }

    /// If `listen` is a host name, accepts requests for that name.
    pub(super) fn accept_own_name(&mut self, table: &toml::Table) {
        let written = table.get("admin").and_then(|admin| admin.get("listen")?.as_str());
        let name = written.and_then(|text| text.trim().rsplit_once(':')).map(|(name, _)| name);
        let is_name = |name: &&str| name.trim_matches(['[', ']']).parse::<IpAddr>().is_err();
        if let Some(name) = name.filter(is_name)
            && !self.hosts.iter().any(|known| known == name)
        {
            self.hosts.push(name.to_owned());
        }
    }

    pub fn proxies(&self) -> Result<Proxies> {
        Proxies::from_list(&self.trusted_proxies).context("admin.trusted_proxies")
    }
}
