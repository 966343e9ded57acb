//! A model that is accessed over HTTP.

use async_trait::async_trait;
use futures::StreamExt;
use genai::{
    Client, ModelIden, ServiceTarget,
    embed::EmbedRequest,
    resolver::{AuthData, Endpoint},
};
use reqwest::{
    Body, Response,
    header::{CONTENT_TYPE, HeaderValue},
    redirect,
};
use std::time::Duration;

use super::{
    Model, ModelError, OnText, Reply,
    decode::{ResponseReader, VisibleDelta},
    error_class, prompted, reply, request,
    vendor::{ModelConfig, ToolCalls},
};
use crate::{agent::prompt::Prompt, journal::event::Usage};

pub struct RemoteModel {
    vendor: Vendor,
    tools: ToolCalls,
    vision: bool,
}

impl RemoteModel {
    /// Fails with a message for the operator if a key or URL is missing or invalid.
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

    /// Computes the embeddings of texts, and returns the usage. For embedding models only.
    pub async fn embed(&self, texts: Vec<String>) -> Result<(Vec<Vec<f32>>, Usage), ModelError> {
        let Vendor { config, http } = &self.vendor;
        let client = Client::builder()
            .with_reqwest(http.clone())
            .build()
            .map_err(|_| ModelError::Rejected("cannot create the model client".to_owned()))?;
        let target = ServiceTarget {
            endpoint: Endpoint::from_owned(config.base_url()?),
            auth: AuthData::from_single(config.key()?),
            model: ModelIden::new(config.provider.adapter(), config.model.clone()),
        };
        let read = client.exec_embed(target, EmbedRequest::new_batch(texts), None).await;
        let read = read.map_err(|e| error_class::classify(&e, config))?;
        let input = read.usage.prompt_tokens.and_then(|n| u64::try_from(n).ok());
        let usage = Usage { input_tokens: input.unwrap_or(0), ..Usage::default() };
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

    /// If the provider rejects the pictures, repeats the request without them. Otherwise one
    /// rejected picture would end the conversation that contains it.
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

/// How long to wait for the usage and the end of the response after the answer is complete.
const AFTER_STOP: Duration = Duration::from_secs(5);

/// A provider with native tool calls.
struct Vendor {
    config: ModelConfig,
    http: reqwest::Client,
}

impl Vendor {
    /// Validates the configuration, so that a mistake is reported at startup.
    fn new(config: ModelConfig) -> Result<Self, ModelError> {
        // A redirect would send the key to another host.
        let http = crate::tls::client_builder()
            .connect_timeout(config.timeouts.connect)
            .redirect(redirect::Policy::none())
            .build()
            .map_err(|e| ModelError::Rejected(format!("cannot create the HTTP client: {e}")))?;
        config.base_url()?;
        config.key()?;
        Ok(Self { config, http })
    }

    async fn ask(&self, prompt: &Prompt, on_text: &OnText<'_>) -> Result<Reply, ModelError> {
        let response = self.send(prompt).await?;
        let mut reading = ResponseReader::new(self.config.provider, self.config.tools);
        self.read(response, &mut reading, on_text).await?;
        let finished = reading.finish().map_err(|b| error_class::broken(b, &self.config))?;
        show(&finished.delta, on_text);
        reply::reply(finished.draft, self.config.output_limit(prompt))
    }

    /// Returns the response once its headers have arrived and its status is a success.
    async fn send(&self, prompt: &Prompt) -> Result<Response, ModelError> {
        let config = &self.config;
        let sent = {
            let request = request::build(prompt, config)?;
            // reqwest keeps a body of bytes until the response arrives, to send it again if the
            // server closes an HTTP/2 connection. `Retrying` repeats the request then.
            let body = Body::wrap(request.body);
            let json = HeaderValue::from_static("application/json");
            self.http
                .post(&request.url)
                .headers(request.headers)
                .header(CONTENT_TYPE, json)
                .body(body)
                .send()
        };
        let response = tokio::time::timeout(config.timeouts.headers, sent)
            .await
            .map_err(|_| error_class::no_headers(config))?
            .map_err(|e| error_class::unreached(&e, config))?;
        if response.status().is_success() {
            return Ok(response);
        }
        let (status, headers) = (response.status(), response.headers().clone());
        let body = self.error_body(response).await;
        let answer = error_class::FailedResponse { status, body: &body, headers: &headers };
        Err(error_class::refused(&answer, config))
    }

    /// Reads as much of an error's body as arrives.
    async fn error_body(&self, response: Response) -> String {
        const MAX_BYTES: usize = 64 * 1024;
        let mut body = Vec::new();
        let mut stream = response.bytes_stream();
        while body.len() < MAX_BYTES {
            match tokio::time::timeout(self.config.timeouts.read, stream.next()).await {
                Ok(Some(Ok(bytes))) => body.extend_from_slice(&bytes),
                _ => break,
            }
        }
        String::from_utf8_lossy(&body).into_owned()
    }

    /// Reads the response to its end, or until the answer is complete and nothing else follows.
    async fn read(
        &self,
        response: Response,
        reading: &mut ResponseReader,
        on_text: &OnText<'_>,
    ) -> Result<(), ModelError> {
        let config = &self.config;
        let mut stream = response.bytes_stream();
        while !reading.is_ended() {
            let has_stopped = reading.has_stopped();
            let wait = if has_stopped { AFTER_STOP } else { config.timeouts.read };
            match tokio::time::timeout(wait.min(config.timeouts.read), stream.next()).await {
                Ok(Some(Ok(bytes))) => {
                    let delta = reading.push(&bytes);
                    show(&delta.map_err(|b| error_class::broken(b, config))?, on_text);
                }
                Ok(None) => break,
                // The answer is complete, and only its usage is unknown.
                _ if has_stopped => break,
                Ok(Some(Err(problem))) => return Err(error_class::unreached(&problem, config)),
                Err(_) => return Err(error_class::stalled(config)),
            }
        }
        Ok(())
    }
}

fn show(delta: &VisibleDelta, on_text: &OnText<'_>) {
    if delta.starts_again {
        on_text("");
    }
    if !delta.text.is_empty() {
        on_text(&delta.text);
    }
}

#[async_trait]
impl Model for Vendor {
    fn id(&self) -> &str {
        &self.config.id
    }

    async fn reply(&self, prompt: &Prompt, on_text: &OnText<'_>) -> Result<Reply, ModelError> {
        let total = self.config.timeouts.total;
        tokio::time::timeout(total, self.ask(prompt, on_text)).await.map_err(|_| {
            let reason = format!("no complete answer within {} s", total.as_secs());
            ModelError::Retry { after: None, reason }
        })?
    }
}

#[cfg(test)]
#[path = "remote_tests/mod.rs"]
mod tests;
