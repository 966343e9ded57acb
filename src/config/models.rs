//! The models that agents think with.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::secret::Secret;

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModelEntry {
    pub id: String,
    pub provider: ProviderName,
    pub base_url: Option<url::Url>,
    pub api_key: Option<Secret>,
    #[serde(default)]
    pub model: String,
    #[serde(default)]
    pub tools: ToolCallStyle,
    pub temperature: Option<f32>,
    #[serde(default)]
    pub fallback: Vec<String>,
    #[serde(default)]
    pub input_price: f64,
    #[serde(default)]
    pub output_price: f64,
    pub cached_price: Option<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProviderName {
    Openai,
    Anthropic,
    Gemini,
    Ollama,
    Demo,
}

/// How a model is told about its tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ToolCallStyle {
    #[default]
    Native,
    Prompted,
}
