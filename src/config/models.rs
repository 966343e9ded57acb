//! The entries of `[[models]]`.

use anyhow::{Result, ensure};
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
    pub vision: Option<bool>,
    pub temperature: Option<f32>,
    #[serde(default)]
    pub fallback: Vec<String>,
    #[serde(default)]
    pub input_price: f64,
    #[serde(default)]
    pub output_price: f64,
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
