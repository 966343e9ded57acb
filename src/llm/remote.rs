//! A model of a provider, using the `genai` client.

use async_trait::async_trait;
use futures::StreamExt;
use genai::{
    Client, ModelIden, ServiceTarget,
    chat::{ChatOptions, ChatStreamEvent, ReasoningEffort, StreamEnd},
    embed::EmbedRequest,
    resolver::{AuthData, Endpoint},
};
use reqwest::redirect;
use secrecy::ExposeSecret;

use super::{
    Model, ModelError, OnText, Reply, error_class, genai_mapping, prompted,
    vendor::{ModelConfig, Provider, ToolCalls},
};
use crate::{agent::prompt::Prompt, journal::event::Usage};

pub struct RemoteModel {
    vendor: Vendor,
    tools: ToolCalls,
    vision: bool,
}

impl RemoteModel {
    /// Fails, with a message for the operator, if a key or URL is missing or invalid.
    pub fn new(config: ModelConfig) -> Result<Self, ModelError> {
        let (tools, vision) = (config.tools, config.vision);
        Ok(Self { vendor: Vendor::new(config)?, tools, vision })
    }

    async fn ask(&self, prompt: &Prompt, on_text: &OnText<'_>) -> Result<Reply, ModelError> {
        match self.tools {
            ToolCalls::Native => self.vendor.reply(prompt, on_text).await,
            ToolCalls::Prompted => prompted::reply(&self.vendor, prompt, on_text).await,
        }
    }

    /// Computes embeddings of texts, and returns the usage. For embedding models.
    pub async fn embed(&self, texts: Vec<String>) -> Result<(Vec<Vec<f32>>, Usage), ModelError> {
        let Vendor { config, client, target } = &self.vendor;
        let wanted = EmbedRequest::new_batch(texts);
        let read = client.exec_embed(target.clone(), wanted, None).await;
        let read = read.map_err(|e| error_class::classify(&e, config))?;
        let usage = genai_mapping::counted(&read.usage);
        Ok((read.into_vectors(), usage))
    }
}

#[async_trait]
impl Model for RemoteModel {
    fn id(&self) -> &str {
        self.vendor.id()
    }

    fn sees(&self) -> bool {
        self.vision
    }

    /// A rejected picture must not end the conversation that contains it: the request is repeated
    /// without pictures.
    async fn reply(&self, prompt: &Prompt, on_text: &OnText<'_>) -> Result<Reply, ModelError> {
        if !prompt.shows_pictures() {
            return self.ask(prompt, on_text).await;
        }
        if self.vision {
            match self.ask(prompt, on_text).await {
                Err(problem @ (ModelError::Rejected(_) | ModelError::TooLarge(_))) => {
                    tracing::warn!(model.id = self.id(), %problem, "retrying without pictures");
                    on_text("");
                }
                answer => return answer,
            }
        }
        self.ask(&prompt.clone().without_pictures(), on_text).await
    }
}

/// A provider with native tool calls.
struct Vendor {
    config: ModelConfig,
    client: Client,
    target: ServiceTarget,
}

impl Vendor {
    fn new(config: ModelConfig) -> Result<Self, ModelError> {
        // A redirect would send the key to another host.
        let http = crate::tls::client_builder()
            .connect_timeout(config.timeouts.connect)
            .redirect(redirect::Policy::none())
            .build()
            .map_err(|e| ModelError::Rejected(format!("cannot create the HTTP client: {e}")))?;
        let client = Client::builder()
            .with_reqwest(http)
            .build()
            .map_err(|_| ModelError::Rejected("cannot create the model client".to_owned()))?;
        let target = ServiceTarget {
            endpoint: Endpoint::from_owned(config.base_url()?),
            auth: AuthData::from_single(config.key()?),
            model: ModelIden::new(config.provider.adapter(), config.model.clone()),
        };
        Ok(Self { config, client, target })
    }

    async fn ask(&self, prompt: &Prompt, on_text: &OnText<'_>) -> Result<StreamEnd, ModelError> {
        let options = self.options(prompt);
        let request = genai_mapping::request(prompt, self.config.provider);
        let mut stream = self
            .client
            .exec_chat_stream(self.target.clone(), request, Some(&options))
            .await
            .map_err(|e| error_class::classify(&e, &self.config))?
            .stream;
        while let Some(event) = stream.next().await {
            match event.map_err(|e| error_class::classify(&e, &self.config))? {
                ChatStreamEvent::Chunk(chunk) if !chunk.content.is_empty() => {
                    on_text(&chunk.content);
                }
                ChatStreamEvent::End(end) => return self.whole(end),
                _ => {}
            }
        }
        Err(self.cut())
    }

    /// The client ends a stream of Gemini or Ollama by itself when the connection ends. A complete
    /// answer of Gemini has a stop reason, one of Ollama token counts.
    fn whole(&self, end: StreamEnd) -> Result<StreamEnd, ModelError> {
        let unreasoned = end.captured_stop_reason.is_none();
        let cut = match self.config.provider {
            Provider::Gemini => unreasoned,
            Provider::Ollama => unreasoned && end.captured_usage.is_none(),
            Provider::OpenAi | Provider::Anthropic => false,
        };
        if cut { Err(self.cut()) } else { Ok(end) }
    }

    fn cut(&self) -> ModelError {
        ModelError::Retry {
            after: None,
            reason: format!("{} stopped in the middle of its answer", self.config.name()),
        }
    }

    fn options(&self, prompt: &Prompt) -> ChatOptions {
        let config = &self.config;
        let mut options = ChatOptions::default()
            .with_capture_content(true)
            .with_capture_tool_calls(true)
            .with_capture_usage(true)
            .with_stream_header_timeout(config.timeouts.headers)
            .with_stream_read_timeout(config.timeouts.read)
            .with_max_tokens(config.output_limit(prompt));
        if let Some(temperature) = config.temperature {
            // Through text, so that 0.2_f32 does not become 0.200000003 on the wire.
            options = options.with_temperature(
                temperature.to_string().parse().unwrap_or(f64::from(temperature)),
            );
        }
        if config.provider == Provider::OpenAi {
            // Without this, the client treats `max` in `qwen-max` as an effort and asks for `qwen`.
            // A budget prevents that, and is not sent to these providers.
            options = options.with_reasoning_effort(ReasoningEffort::Budget(0));
        }
        if let (Provider::Ollama, Some(key)) = (config.provider, &config.api_key) {
            // The client sends no key to Ollama, but a proxy in front of it may require one.
            let bearer = format!("Bearer {}", key.expose_secret());
            options = options.with_extra_headers(("authorization".to_owned(), bearer));
        }
        options
    }
}

#[async_trait]
impl Model for Vendor {
    fn id(&self) -> &str {
        &self.config.id
    }

    async fn reply(&self, prompt: &Prompt, on_text: &OnText<'_>) -> Result<Reply, ModelError> {
        let total = self.config.timeouts.total;
        let end =
            tokio::time::timeout(total, self.ask(prompt, on_text)).await.map_err(|_| {
                let reason = format!("no complete answer within {} s", total.as_secs());
                ModelError::Retry { after: None, reason }
            })??;
        genai_mapping::reply(end, self.config.output_limit(prompt))
    }
}

#[cfg(test)]
#[path = "remote_tests/mod.rs"]
mod tests;
