//! The section `admin.completions`: the endpoint for OpenAI clients.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::admin::completions::Completions;

#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CompletionsSection {
    /// Whether programs with an API token can use agents through OpenAI's API, at `/v1` below
    /// `listen`.
    pub enabled: bool,
}

impl CompletionsSection {
    /// The endpoint. Links in answers begin with `base`.
    pub fn build(&self, base: String) -> Completions {
        if self.enabled { Completions::enabled(base) } else { Completions::default() }
    }
}
