//! Classifies errors of a provider by what the caller does next: retry, shorten the prompt, or give
//! up.
//!
//! The messages are composed here, because they may be logged and shown to people: the HTTP
//! client's own texts can contain the whole request, and a provider's can contain the key.

use reqwest::{StatusCode, header::HeaderMap};
use secrecy::ExposeSecret;
use serde_json::Value;
use std::time::Duration;

use super::{ModelError, decode::Broken, vendor::ModelConfig};
use crate::retry_after::retry_after;

const QUOTED_CHARS: usize = 240;

/// An error of a request for embeddings.
pub(super) fn classify(error: &genai::Error, config: &ModelConfig) -> ModelError {
    use genai::Error as E;
    match error {
        E::HttpError { status, body, headers, .. } => {
            refused(&FailedResponse { status: *status, body, headers }, config)
        }
        E::WebModelCall { webc_error, .. } | E::WebAdapterCall { webc_error, .. } => {
            unsent(webc_error, config)
        }
        E::ChatResponse { body, .. } => in_the_stream(body, config),
        E::StreamParse { .. } | E::JsonValueExt(_) | E::SerdeJson(_) => invalid(config),
        E::RequiresApiKey { .. } | E::NoAuthData { .. } | E::NoAuthResolver { .. } => {
            rejected(format!("{} needs a key: set {}", config.name(), config.key_hint()))
        }
        _ => rejected(format!(
            "{} does not support this kind of authentication: check `provider`",
            config.name()
        )),
    }
}

/// A response that is not a success.
pub(super) struct FailedResponse<'a> {
    pub status: StatusCode,
    pub body: &'a str,
    pub headers: &'a HeaderMap,
}

pub(super) fn refused(answer: &FailedResponse<'_>, config: &ModelConfig) -> ModelError {
    let (status, name) = (answer.status.as_u16(), config.name());
    let said = quote(answer.body, config);
    // A rate limit may count tokens too: "Too many tokens, please wait before trying again."
    if status != 429 && too_long(answer.body) {
        return ModelError::TooLong(said);
    }
    match status {
        413 => ModelError::TooLarge(said),
        400 | 403 | 422 if filtered(answer.body) => ModelError::Filtered(format!(
            "{name}: the provider's content filter rejects it: {said}"
        )),
        429 if out_of_credit(answer.body) => rejected(format!(
            "{name}: the account has no credit left: check the plan behind {}",
            config.key_hint()
        )),
        408 | 409 | 425 | 429 | 500..=599 => ModelError::Retry {
            after: retry_after(answer.headers, None).or_else(|| retry_delay(answer.body)),
            reason: format!("{name} is overloaded or down ({status})"),
        },
        401 | 403 => no_key(status, config),
        // Gemini's error for an invalid key.
        400 if answer.body.contains("API_KEY_INVALID") || answer.body.contains("API key") => {
            no_key(status, config)
        }
        404 => rejected(format!(
            "{} does not know `{}` (404): check `model` and `base_url` of the model `{}`",
            config.host(),
            config.model,
            config.id
        )),
        300..=399 => rejected(format!(
            "{} redirects ({status}): check `base_url` of the model `{}`",
            config.host(),
            config.id
        )),
        _ => rejected(format!(
            "{name} rejects the request ({status}): check `model` and its options. It says: {said}"
        )),
    }
}

/// The delay that Gemini requests in the body, such as `34.5s`. It sends no `Retry-After`.
fn retry_delay(body: &str) -> Option<Duration> {
    let body: Value = serde_json::from_str(body).ok()?;
    // Its interface that is compatible with OpenAI's sends a list.
    let details = ["/error/details", "/0/error/details"].iter().find_map(|p| body.pointer(p))?;
    let mut details = details.as_array()?.iter();
    let delay = details.find_map(|detail| detail.get("retryDelay")?.as_str())?;
    Duration::try_from_secs_f64(delay.strip_suffix('s')?.parse().ok()?).ok()
}

fn no_key(status: u16, config: &ModelConfig) -> ModelError {
    rejected(format!(
        "{} rejects the key ({status}): check {}, and that it has access to {}",
        config.host(),
        config.key_hint(),
        config.model
    ))
}

fn unsent(error: &genai::webc::Error, config: &ModelConfig) -> ModelError {
    match error {
        genai::webc::Error::ResponseFailedStatus { status, body, headers } => {
            refused(&FailedResponse { status: *status, body, headers }, config)
        }
        genai::webc::Error::Reqwest(error) => unreached(error, config),
        _ => again(format!("the response of {} is not valid", config.name())),
    }
}

/// An error in a response that began with a success status but has no complete answer.
pub(super) fn broken(broken: Broken, config: &ModelConfig) -> ModelError {
    let name = config.name();
    match broken {
        Broken::Cut => again(format!("{name} stopped in the middle of its answer")),
        Broken::Invalid => invalid(config),
        Broken::TooLarge => rejected(format!("the response of {name} is too large")),
        Broken::Error(body) => in_the_stream(&body, config),
    }
}

fn invalid(config: &ModelConfig) -> ModelError {
    again(format!(
        "the response of {} is not valid: if this persists, check `provider` and `base_url`",
        config.name()
    ))
}

pub(super) fn no_headers(config: &ModelConfig) -> ModelError {
    again(format!(
        "{} did not start answering within {} s",
        config.name(),
        config.timeouts.headers.as_secs()
    ))
}

pub(super) fn stalled(config: &ModelConfig) -> ModelError {
    again(format!(
        "{} stopped sending for {} s in the middle of its answer",
        config.name(),
        config.timeouts.read.as_secs()
    ))
}

pub(super) fn unreached(error: &reqwest::Error, config: &ModelConfig) -> ModelError {
    if error.is_builder() {
        return rejected(format!(
            "the request to {} cannot be built: check `base_url` and the characters of {}",
            config.host(),
            config.key_hint()
        ));
    }
    if error.is_connect() {
        return again(format!(
            "{} cannot be reached: check the network and `base_url` of the model `{}`",
            config.host(),
            config.id
        ));
    }
    again(format!("the connection to {} was lost", config.host()))
}

/// An error that arrived as an event after the response had begun with status 200.
fn in_the_stream(body: &Value, config: &ModelConfig) -> ModelError {
    let text = body.to_string();
    let said = quote(&text, config);
    let name = config.name();
    if too_long(&text) && !is_rate_limit(&text) {
        ModelError::TooLong(said)
    } else if text.contains("request_too_large") {
        ModelError::TooLarge(said)
    } else if filtered(&text) {
        ModelError::Filtered(format!("{name}: the provider's content filter rejects it: {said}"))
    } else if out_of_credit(&text) {
        rejected(format!("{name}: the account has no credit left"))
    } else if text.contains("authentication_error") || text.contains("permission_error") {
        rejected(format!("{name} rejects the key: check {}", config.key_hint()))
    } else if text.contains("invalid_request_error") || text.contains("not_found_error") {
        rejected(format!("{name} rejects the request. It says: {said}"))
    } else if is_overloaded(&text) {
        again(format!("{name} is overloaded"))
    } else {
        ModelError::Failed(format!("{name} aborted the answer with an error. It says: {said}"))
    }
}

fn again(reason: String) -> ModelError {
    ModelError::Retry { after: None, reason }
}

fn rejected(reason: String) -> ModelError {
    ModelError::Rejected(reason)
}

/// Recognised by the text, because providers use no common status or code for it.
fn too_long(body: &str) -> bool {
    const SIGNS: [&str; 10] = [
        "context_length_exceeded",
        "context length",
        "context window",
        "context size",
        "exceed_context_size",
        "prompt is too long",
        "input is too long",
        "input token count",
        "too many tokens",
        "string too long",
    ];
    let body = body.to_lowercase();
    SIGNS.iter().any(|sign| body.contains(sign))
}

/// The providers' names of their content filters.
fn filtered(body: &str) -> bool {
    const SIGNS: [&str; 5] = [
        "content_filter",
        "content_policy",
        "ResponsibleAIPolicyViolation",
        "data_inspection_failed",
        "PROHIBITED_CONTENT",
    ];
    SIGNS.iter().any(|sign| body.contains(sign))
}

fn is_overloaded(body: &str) -> bool {
    is_rate_limit(body) || ["overloaded", "UNAVAILABLE", "timeout"].iter().any(|s| body.contains(s))
}

/// Whether waiting helps, as there were too many requests or tokens within some time.
fn is_rate_limit(body: &str) -> bool {
    ["rate_limit", "RESOURCE_EXHAUSTED", "Throttling"].iter().any(|s| body.contains(s))
}

fn out_of_credit(body: &str) -> bool {
    ["insufficient_quota", "billing_error", "credit balance"].iter().any(|s| body.contains(s))
}

/// The provider's message, shortened and without the key.
fn quote(body: &str, config: &ModelConfig) -> String {
    let value: Value = serde_json::from_str(body).unwrap_or_default();
    let places = ["/error/message", "/0/error/message", "/message", "/error"];
    let said = places.iter().find_map(|p| value.pointer(p).and_then(Value::as_str));
    let mut said = said.unwrap_or("(no reason given)").to_owned();
    if let Some(key) = config.api_key.as_ref().map(|k| k.expose_secret().trim())
        && !key.is_empty()
    {
        said = said.replace(key, "[key]");
    }
    let short: String = said.chars().take(QUOTED_CHARS).collect();
    if short.len() < said.len() { format!("{short}…") } else { short }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn context_length_errors_of_the_providers_are_recognised() {
        for body in [
            r#"{"error":{"code":"context_length_exceeded"}}"#,
            "This model's maximum context length is 8192 tokens",
            r#"{"error":{"message":"prompt is too long: 210000 tokens > 200000 maximum"}}"#,
            "The input token count (1200000) exceeds the maximum number of tokens allowed",
            "the request exceeds the available context size",
        ] {
            assert!(too_long(body), "{body}");
        }
        assert!(!too_long(r#"{"error":{"message":"max_tokens is too large"}}"#));
    }
}
