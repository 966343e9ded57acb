//! What is served, where, and to whom.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;

use super::{
    oidc::OidcSection,
    print::{Key, key},
    secret::Secret,
};

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AdminConfig {
    pub listen: SocketAddr,
    /// The address in sign-in links, where it is not `listen`.
    pub public_url: Option<url::Url>,
    pub metrics_token: Option<Secret>,
    pub otlp_url: Option<url::Url>,
    pub oidc: OidcSection,
}

impl Default for AdminConfig {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 8642)),
            public_url: None,
            metrics_token: None,
            otlp_url: None,
            oidc: OidcSection::default(),
        }
    }
}

pub(super) const KEYS: &[Key] = &[
    key("admin.listen", "127.0.0.1:8642", "Where the web chat, health and webhooks are served"),
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
];
