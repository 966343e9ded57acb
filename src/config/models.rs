//! The entries of `[[models]]`.

use anyhow::{Result, ensure};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::secret::Secret;

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModelEntry {
    /// The id that agents use.
    pub id: String,
    /// The provider: `openai`, `anthropic`, `gemini`, `ollama` or `demo`.
    pub provider: ProviderName,
    /// The base URL, for compatible servers.
    #[schemars(extend("x-default" = "the provider's"))]
    pub base_url: Option<url::Url>,
    /// The API key, as a secret: `"…"`, `{ env = "NAME" }` or `{ file = "path" }`.
    pub api_key: Option<Secret>,
    /// The provider's name for the model.
    #[serde(default)]
    pub model: String,
    /// How it calls tools: `native`, or `prompted` for models without native tool calls.
    #[serde(default)]
    pub tools: ToolCallStyle,
    /// Whether it is shown pictures.
    #[schemars(extend("x-default" = "the provider's"))]
    pub vision: Option<bool>,
    /// Sampling temperature.
    #[schemars(extend("x-default" = "the provider's"))]
    pub temperature: Option<f32>,
    /// Ids of the models to use, in order, if this one does not answer.
    #[serde(default)]
    pub fallback: Vec<String>,
    /// Price per million input tokens, in your currency.
    #[serde(default)]
    pub input_price: f64,
    /// Price per million output tokens.
    #[serde(default)]
    pub output_price: f64,
    /// Price per million cached input tokens.
    #[schemars(extend("x-default" = "input_price"))]
    pub cached_price: Option<f64>,
}

impl ModelEntry {
    /// Whether pictures are sent to it. Support is unknown for a model with its own base URL, so
    /// the default is no.
    pub fn sees(&self) -> bool {
        let usually = match self.provider {
            ProviderName::Openai | ProviderName::Anthropic | ProviderName::Gemini => {
                self.base_url.is_none()
            }
            ProviderName::Ollama | ProviderName::Demo => false,
        };
        self.vision.unwrap_or(usually)
    }

    pub(super) fn check(&self) -> Result<()> {
        let is_named = self.provider == ProviderName::Demo || !self.model.trim().is_empty();
        ensure!(is_named, "models.{}.model: name a model of the provider", self.id);
        Ok(())
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_of_the_providers_have_vision_and_others_if_configured() {
        let sees = |entry: &str| {
            let entry: ModelEntry = toml::from_str(&format!("id = 'm'\n{entry}")).unwrap();
            entry.sees()
        };
        for vendor in ["openai", "anthropic", "gemini"] {
            assert!(sees(&format!("provider = '{vendor}'")));
            assert!(!sees(&format!("provider = '{vendor}'\nvision = false")));
            assert!(!sees(&format!("provider = '{vendor}'\nbase_url = 'http://localhost/v1'")));
        }
        assert!(!sees("provider = 'ollama'"));
        assert!(sees("provider = 'ollama'\nvision = true"));
    }
}
