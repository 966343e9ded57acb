//! A service of a vendor: its address, key, model and price, and what its errors mean.
//!
//! Nothing is repeated here: a request may cost money, and whether it was carried out is unknown if
//! the response is lost.

use bytes::Bytes;
use channels::text;
use reqwest::{
    Method, StatusCode,
    header::{CONTENT_TYPE, HeaderName, HeaderValue},
};
use schemars::JsonSchema;
use secrecy::{ExposeSecret as _, SecretString};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::time::Duration;
use url::Url;

use super::{
    ASK_OPERATOR,
    form::{EncodedForm, Form},
};
use crate::{
    agent::catalog::{ApprovalMode, Variable},
    retry_after::retry_after,
    texts::{PreviewNote, ServiceCost},
    tools::{
        ToolError,
        web::client::{WebClient, WebRequest, WebResponse},
    },
};

/// The maximum length of a vendor's words in an error.
const QUOTED_CHARS: usize = 300;
/// The maximum size of a JSON response without media.
pub(super) const JSON_BYTES: usize = 2 * 1024 * 1024;
/// The codes that OpenAI and compatible servers, and fal, use for a violation of their policy.
const POLICY_CODES: [&str; 3] =
    ["moderation_blocked", "content_policy_violation", "safety_violation"];

/// A vendor, or a server with the same interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum MediaProvider {
    OpenAi,
    Gemini,
    Replicate,
    Fal,
}

impl MediaProvider {
    pub fn usual_url(self) -> Url {
        let url = match self {
            Self::OpenAi => "https://api.openai.com/v1",
            Self::Gemini => "https://generativelanguage.googleapis.com/v1beta",
            Self::Replicate => "https://api.replicate.com/v1",
            Self::Fal => "https://queue.fal.run",
        };
        url.parse().expect("a constant")
    }

    pub fn shown(self) -> &'static str {
        match self {
            Self::OpenAi => "OpenAI",
            Self::Gemini => "Gemini",
            Self::Replicate => "Replicate",
            Self::Fal => "fal",
        }
    }
}

/// A configured service.
#[derive(Debug, Clone)]
pub struct MediaEndpoint {
    pub provider: MediaProvider,
    pub base_url: Url,
    pub key: Option<SecretString>,
    /// The variable that should contain the key, if it is not set. Then the tool is unavailable.
    pub missing: Option<Variable>,
    pub model: String,
    /// In millionths of a currency unit, for the unit in which the kind of service is priced. `None`
    /// if it is unknown: then each call needs an approval.
    pub price_micros: Option<u64>,
    pub web_client: WebClient,
}

impl MediaEndpoint {
    /// Sets the timeout of a request.
    #[must_use]
    pub fn answering_within(self, answer_for: Duration) -> Self {
        Self { web_client: self.web_client.answering_within(answer_for), ..self }
    }

    /// The address of a method: the segments below the base URL.
    pub(super) fn address(&self, segments: &[&str]) -> Url {
        let mut url = self.base_url.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().extend(segments);
        }
        url
    }

    /// Whether a call needs an approval: not if it costs nothing.
    pub(super) fn approval(&self) -> ApprovalMode {
        match self.price_micros {
            Some(0) => ApprovalMode::Never,
            _ => ApprovalMode::UnlessAllowed,
        }
    }

    /// The price of this number of units.
    pub(super) fn cost(&self, units: u64) -> Option<u64> {
        self.price_micros.map(|price| price.saturating_mul(units)).filter(|cost| *cost > 0)
    }

    /// The line of an approval: who is asked, and what it costs.
    pub(super) fn terms(&self, units: u64) -> PreviewNote {
        self.terms_at(self.cost(units))
    }

    pub(super) fn terms_at(&self, cost_micros: Option<u64>) -> PreviewNote {
        let cost = match (cost_micros, self.price_micros) {
            (Some(micros), _) => ServiceCost::Estimated(money(micros)),
            (None, Some(_)) => ServiceCost::Nothing,
            (None, None) => ServiceCost::Unknown,
        };
        PreviewNote::PaidService { name: format!("{}, {}", self.shown(), self.model), cost }
    }

    /// Downloads a file whose address a service has sent. Private addresses are rejected, and the
    /// key is not sent.
    pub(super) async fn fetched(&self, url: &str, max_bytes: usize) -> Result<Vec<u8>, ToolError> {
        let url: Url = url.parse().map_err(|_| self.failed("sent an invalid address"))?;
        let answer = self.web_client.send(WebRequest::get(url, max_bytes)).await?;
        if !answer.status.is_success() {
            return Err(self.failed(&format!("its file cannot be fetched ({})", answer.status)));
        }
        if answer.is_cut {
            return Err(self.failed("sent a file that is larger than allowed"));
        }
        Ok(answer.body)
    }

    /// The variables that the tool requires.
    pub(super) fn variables(&self) -> Vec<Variable> {
        self.missing.iter().cloned().collect()
    }

    /// How the service is called in texts.
    pub(super) fn shown(&self) -> String {
        if self.base_url == self.provider.usual_url() {
            return self.provider.shown().to_owned();
        }
        self.base_url.host_str().unwrap_or_default().to_owned()
    }

    pub(super) async fn post(
        &self,
        url: Url,
        body: &Value,
        max_bytes: usize,
    ) -> Result<WebResponse, ToolError> {
        self.send(self.json_request(Method::POST, url, body, max_bytes)?).await
    }

    pub(super) async fn get(&self, url: Url, max_bytes: usize) -> Result<WebResponse, ToolError> {
        self.send(self.request(Method::GET, url, max_bytes)?).await
    }

    pub(super) fn json_request(
        &self,
        method: Method,
        url: Url,
        body: &Value,
        max_bytes: usize,
    ) -> Result<WebRequest, ToolError> {
        let mut ask = self.request(method, url, max_bytes)?;
        ask.headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        ask.body = Some(Bytes::from(body.to_string()));
        Ok(ask)
    }

    pub(super) async fn post_form(
        &self,
        url: Url,
        form: Form,
        max_bytes: usize,
    ) -> Result<WebResponse, ToolError> {
        let EncodedForm { content_type, body } = form.encode();
        let mut ask = self.request(Method::POST, url, max_bytes)?;
        let content_type = HeaderValue::from_str(&content_type).expect("letters and digits");
        ask.headers.insert(CONTENT_TYPE, content_type);
        ask.body = Some(body);
        self.send(ask).await
    }

    fn request(&self, method: Method, url: Url, max_bytes: usize) -> Result<WebRequest, ToolError> {
        let mut ask = WebRequest { method, ..WebRequest::get(url, max_bytes) };
        if let Some(key) = &self.key {
            let key = key.expose_secret();
            let (name, value) = match self.provider {
                MediaProvider::Gemini => ("x-goog-api-key", key.to_owned()),
                MediaProvider::Fal => ("authorization", format!("Key {key}")),
                MediaProvider::OpenAi | MediaProvider::Replicate => {
                    ("authorization", format!("Bearer {key}"))
                }
            };
            let invalid =
                |_| self.failed(&format!("its key is not a valid header; {ASK_OPERATOR}"));
            let mut value = HeaderValue::from_str(&value).map_err(invalid)?;
            value.set_sensitive(true);
            ask.headers.insert(HeaderName::from_static(name), value);
        }
        Ok(ask)
    }

    pub(super) async fn send(&self, ask: WebRequest) -> Result<WebResponse, ToolError> {
        let answer = self.web_client.send(ask).await?;
        if !answer.status.is_success() {
            return Err(self.refusal(&answer));
        }
        if answer.is_cut {
            return Err(self.failed("the response is larger than allowed"));
        }
        Ok(answer)
    }

    /// What an error response means for the person who asked.
    fn refusal(&self, answer: &WebResponse) -> ToolError {
        let body: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
        let said = said(&body);
        if answer.status == StatusCode::TOO_MANY_REQUESTS && code(&body) != "insufficient_quota" {
            return ToolError::RateLimited(retry_after(&answer.headers, None));
        }
        if POLICY_CODES.contains(&code(&body).as_str()) {
            return self.against_policy(&said);
        }
        match answer.status.as_u16() {
            401 => self.failed(&format!("its key was rejected; {ASK_OPERATOR}")),
            402 | 429 => self.failed(&format!("there is no credit left; {ASK_OPERATOR}")),
            500.. => ToolError::ExternalService(format!("{} {}", self.shown(), answer.status)),
            _ => self.failed(&format!("rejected the request ({}): {said}", answer.status)),
        }
    }

    /// The vendor does not want to do this. The person has to know why.
    pub(super) fn against_policy(&self, said: &str) -> ToolError {
        ToolError::ExecutionFailed(format!(
            "{} refused this because of its content policy. Tell the person so, with its reason: \
                {said}",
            self.shown()
        ))
    }

    pub(super) fn failed(&self, why: &str) -> ToolError {
        ToolError::ExecutionFailed(format!("{}: {why}", self.shown()))
    }

    /// The body of a response that should be JSON.
    pub(super) fn json(&self, answer: &WebResponse) -> Result<Value, ToolError> {
        serde_json::from_slice(&answer.body).map_err(|_| self.failed("sent invalid JSON"))
    }

    /// The parts of Gemini's first candidate.
    pub(super) fn gemini_parts<'b>(&self, body: &'b Value) -> Result<&'b Vec<Value>, ToolError> {
        let feedback = &body["promptFeedback"];
        if let Some(reason) = feedback["blockReason"].as_str() {
            return Err(self.against_policy(&quoted(reason)));
        }
        let candidate = &body["candidates"][0];
        let reason = candidate["finishReason"].as_str().unwrap_or("STOP");
        let has_parts = |parts: &&Vec<Value>| !parts.is_empty();
        match candidate["content"]["parts"].as_array().filter(has_parts) {
            Some(parts) if matches!(reason, "STOP" | "MAX_TOKENS") => Ok(parts),
            _ if reason == "STOP" => Err(self.failed("sent an empty response")),
            _ => {
                Err(self
                    .against_policy(&quoted(candidate["finishMessage"].as_str().unwrap_or(reason))))
            }
        }
    }
}

/// `0.012`
fn money(micros: u64) -> String {
    let text = format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000);
    let short = text.trim_end_matches('0');
    let decimals = short.rsplit('.').next().map_or(0, str::len).max(2);
    text[..text.len() - 6 + decimals].to_owned()
}

/// The vendor's words about an error, in quotation marks.
fn said(body: &Value) -> String {
    let candidates = [
        &body["error"]["message"],
        &body["detail"],
        &body["detail"][0]["msg"],
        &body["error"],
        &body["message"],
        &body["title"],
    ];
    quoted(candidates.into_iter().find_map(Value::as_str).unwrap_or("no reason given"))
}

fn code(body: &Value) -> String {
    let candidates =
        [&body["error"]["code"], &body["error"]["type"], &body["detail"][0]["type"], &body["code"]];
    candidates.into_iter().find_map(Value::as_str).unwrap_or_default().to_owned()
}

/// Words of a vendor on one line.
pub(super) fn quoted(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let line: String = text::neutralise(&line).chars().take(QUOTED_CHARS).collect();
    format!("“{line}”")
}
