//! Whose model it is, and how it is reached.

use genai::adapter::AdapterKind;
use reqwest::Url;
use secrecy::{ExposeSecret, SecretString};
use std::time::Duration;

use super::ModelError;
use crate::agent::prompt::Prompt;

/// Everything about one configured model.
#[derive(Debug, Clone)]
pub struct ModelConfig {
    pub id: String,
    pub provider: Provider,
    /// Where the API is, without its last part (`…/v1`). Without a path, the vendor's is added.
    pub base_url: Option<Url>,
    pub api_key: Option<SecretString>,
    /// The vendor's name of the model.
    pub model: String,
    pub tools: ToolCalls,
    /// Whether it can be shown pictures.
    pub vision: bool,
    pub temperature: Option<f32>,
    /// An upper bound to what the prompt asks for.
    pub max_output_tokens: Option<u32>,
    pub timeouts: Timeouts,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Provider {
    /// OpenAI, or any server that speaks its chat completions.
    OpenAi,
    Anthropic,
    Gemini,
    Ollama,
}

/// How the model is told of its tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolCalls {
    /// By the vendor's API.
    Native,
    /// In words, for models that have no calls of their own.
    Prompted,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    pub connect: Duration,
    /// From the request to the first byte of the answer: a local model may be loading.
    pub headers: Duration,
    /// Between two pieces of the answer: a model may be reasoning in silence.
    pub read: Duration,
    /// The whole answer.
    pub total: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(15),
            headers: Duration::from_mins(2),
            read: Duration::from_mins(3),
            total: Duration::from_mins(15),
        }
    }
}

impl Provider {
    pub(super) fn adapter(self) -> AdapterKind {
        match self {
            Self::OpenAi => AdapterKind::OpenAI,
            Self::Anthropic => AdapterKind::Anthropic,
            Self::Gemini => AdapterKind::Gemini,
            Self::Ollama => AdapterKind::Ollama,
        }
    }

    /// The vendor's own address, and the path that an address without one gets.
    pub(super) fn address(self) -> (&'static str, &'static str) {
        match self {
            Self::OpenAi => ("https://api.openai.com/v1/", "/v1/"),
            Self::Anthropic => ("https://api.anthropic.com/v1/", "/v1/"),
            Self::Gemini => ("https://generativelanguage.googleapis.com/v1beta/", "/v1beta/"),
            Self::Ollama => ("http://localhost:11434/", "/"),
        }
    }

    /// The variable that usually holds the key.
    pub fn key_variable(self) -> Option<&'static str> {
        match self {
            Self::OpenAi => Some("OPENAI_API_KEY"),
            Self::Anthropic => Some("ANTHROPIC_API_KEY"),
            Self::Gemini => Some("GEMINI_API_KEY"),
            Self::Ollama => None,
        }
    }
}

impl ModelConfig {
    /// As it is called in sentences for people.
    pub(super) fn name(&self) -> String {
        format!("model `{}` ({})", self.id, self.model)
    }

    pub(super) fn key_hint(&self) -> String {
        let variable = self.provider.key_variable().map_or(String::new(), |v| format!("{v}, or "));
        format!("{variable}`api_key` of the model `{}`", self.id)
    }

    pub(super) fn host(&self) -> String {
        self.base_url().map_or_else(
            |_| String::from("its address"),
            |url| Url::parse(&url).map_or(url, |u| u.host_str().unwrap_or_default().to_owned()),
        )
    }

    pub(super) fn output_limit(&self, prompt: &Prompt) -> u32 {
        self.max_output_tokens.map_or(prompt.max_output_tokens, |m| m.min(prompt.max_output_tokens))
    }

    /// Ends with a slash, as the client expects it.
    pub(super) fn base_url(&self) -> Result<String, ModelError> {
        let (own, path) = self.provider.address();
        let Some(url) = &self.base_url else { return Ok(own.to_owned()) };
        if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
            let id = &self.id;
            return Err(ModelError::Rejected(format!(
                "`base_url` of the model `{id}` must begin with http:// or https://"
            )));
        }
        let mut url = url.clone();
        if url.path() == "/" {
            url.set_path(path);
        } else if !url.path().ends_with('/') {
            url.set_path(&format!("{}/", url.path()));
        }
        Ok(url.into())
    }

    /// A server of one's own may want no key; the vendors do.
    pub(super) fn key(&self) -> Result<String, ModelError> {
        match &self.api_key {
            Some(key) if !key.expose_secret().trim().is_empty() => {
                Ok(key.expose_secret().trim().to_owned())
            }
            _ if self.provider == Provider::Ollama || self.base_url.is_some() => {
                Ok("none".to_owned())
            }
            _ => Err(ModelError::Rejected(format!(
                "model `{}` needs a key: set {}",
                self.id,
                self.key_hint()
            ))),
        }
    }
}
