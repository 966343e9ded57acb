//! The section `admin.completions`: the endpoint for OpenAI clients.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::key::{ConfigKey, key};
use crate::admin::completions::Completions;

#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CompletionsSection {
    pub enabled: bool,
}

impl CompletionsSection {
    /// The endpoint. Links in answers begin with `base`.
    pub fn build(&self, base: String) -> Completions {
        if self.enabled { Completions::enabled(base) } else { Completions::default() }
    }
}

pub(super) const KEYS: &[ConfigKey] = &[key(
    "admin.completions.enabled",
    "false",
    "Whether programs with an API token can use agents through OpenAI's API, at /v1 below `listen`",
)];
