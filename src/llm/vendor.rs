//! Providers and their URLs.

use genai::adapter::AdapterKind;
use reqwest::Url;
use secrecy::{ExposeSecret, SecretString};
use std::time::Duration;

use super::ModelError;
use crate::agent::prompt::Prompt;

/// One configured model.
#[derive(Debug, Clone)]
pub struct ModelConfig {
    pub id: String,
    pub provider: Provider,
    /// The base URL of the API, without the last path segment (`…/v1`). If it has no path, the
    /// provider's default is added.
    pub base_url: Option<Url>,
    pub api_key: Option<SecretString>,
    /// The provider's name of the model.
    pub model: String,
    pub tools: ToolCalls,
    /// Whether pictures are sent to it.
    pub vision: bool,
    pub temperature: Option<f32>,
    /// The maximum number of output tokens to request.
    pub max_output_tokens: Option<u32>,
    pub timeouts: Timeouts,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Provider {
    /// OpenAI, or any server that supports chat completions.
    OpenAi,
    Anthropic,
    Gemini,
    Ollama,
}

/// How tools are described to the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolCalls {
    /// Natively, by the provider's API.
    Native,
    /// As text, for models without native tool calls.
    Prompted,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    pub connect: Duration,
    /// From the request to the first byte of the answer. A local model may have to load first.
    pub headers: Duration,
    /// Between two pieces of the answer. A model may be reasoning.
    pub read: Duration,
    /// For the whole answer.
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

    /// The provider's own URL, and the path that is added to a URL without one.
    pub(super) fn address(self) -> (&'static str, &'static str) {
        match self {
            Self::OpenAi => ("https://api.openai.com/v1/", "/v1/"),
            Self::Anthropic => ("https://api.anthropic.com/v1/", "/v1/"),
            Self::Gemini => ("https://generativelanguage.googleapis.com/v1beta/", "/v1beta/"),
            Self::Ollama => ("http://localhost:11434/", "/"),
        }
    }

    /// The variable that usually contains the key.
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
    /// The name in messages for people.
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

    /// The base URL. Ends with a slash, as the client expects.
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

    /// The key. A self-hosted server may not require one; the providers do.
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
