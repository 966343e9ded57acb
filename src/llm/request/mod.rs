//! Builds the request for a prompt in the dialect of a provider.
//!
//! The `genai` client cannot be used for this: it builds requests only inside the call that also
//! reads the stream. Schemas and descriptions of tools are sent unchanged.

mod anthropic;
mod gemini;
mod ollama;
mod openai;

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde::Serialize;
use serde_json::{Value, json};

use super::{
    ModelError,
    vendor::{ModelConfig, Provider},
};
use crate::{
    agent::{
        catalog::ToolSchema,
        prompt::{Message, Picture, Prompt},
    },
    journal::event::Call,
};

/// A request to send.
#[derive(Debug)]
pub(super) struct ModelRequest {
    pub url: String,
    pub headers: HeaderMap,
    /// JSON.
    pub body: String,
}

/// A function as OpenAI and Ollama describe it. Borrows the schema, because
/// schemas are large.
#[derive(Serialize)]
struct FunctionTool<'a> {
    r#type: &'static str,
    function: FunctionSchema<'a>,
}

#[derive(Serialize)]
struct FunctionSchema<'a> {
    name: &'a str,
    description: &'a str,
    parameters: &'a Value,
}

impl<'a> FunctionTool<'a> {
    fn of(schema: &'a ToolSchema, description: &'a str) -> Self {
        let ToolSchema { name, parameters, .. } = schema;
        Self { r#type: "function", function: FunctionSchema { name, description, parameters } }
    }
}

/// Builds a request with a streamed answer.
pub(super) fn build(prompt: &Prompt, config: &ModelConfig) -> Result<ModelRequest, ModelError> {
    let path = match config.provider {
        Provider::OpenAi => "chat/completions".to_owned(),
        Provider::Anthropic => "messages".to_owned(),
        Provider::Gemini => format!("models/{}:streamGenerateContent", config.model),
        Provider::Ollama => "api/chat".to_owned(),
    };
    let body = match config.provider {
        Provider::OpenAi => serde_json::to_string(&openai::body(prompt, config)),
        Provider::Anthropic => serde_json::to_string(&anthropic::body(prompt, config)),
        Provider::Gemini => serde_json::to_string(&gemini::body(prompt, config)),
        Provider::Ollama => serde_json::to_string(&ollama::body(prompt, config)),
    };
    let body = body.expect("keys are text");
    Ok(ModelRequest { url: url(&path, config)?, headers: headers(config)?, body })
}

/// The system prompt as the first message, then the dialogue in the dialect of `message`.
fn messages(prompt: &Prompt, message: impl Fn(&Exchange<'_>) -> Vec<Value>) -> Value {
    let system =
        (!prompt.system.is_empty()).then(|| json!({ "role": "system", "content": prompt.system }));
    let dialogue = dialogue(&prompt.messages);
    system.into_iter().chain(dialogue.iter().flat_map(message)).collect()
}

/// The URL of the request. Keeps the query of the base URL, which some gateways need.
fn url(path: &str, config: &ModelConfig) -> Result<String, ModelError> {
    let base = config.base_url()?;
    let (base, query) = base.split_once('?').unwrap_or((&base, ""));
    let base = if base.ends_with('/') { base.to_owned() } else { format!("{base}/") };
    let own = if config.provider == Provider::Gemini { "alt=sse" } else { "" };
    let queries: Vec<&str> = [query, own].into_iter().filter(|part| !part.is_empty()).collect();
    let separator = if queries.is_empty() { "" } else { "?" };
    Ok(format!("{base}{path}{separator}{}", queries.join("&")))
}

fn headers(config: &ModelConfig) -> Result<HeaderMap, ModelError> {
    let key = config.key()?;
    let (name, value) = match config.provider {
        Provider::OpenAi => ("authorization", format!("Bearer {key}")),
        Provider::Anthropic => ("x-api-key", key),
        Provider::Gemini => ("x-goog-api-key", key),
        // A proxy in front of Ollama may require a key.
        Provider::Ollama if config.api_key.is_some() => ("authorization", format!("Bearer {key}")),
        Provider::Ollama => return Ok(HeaderMap::new()),
    };
    let mut value = HeaderValue::from_str(&value).map_err(|_| {
        ModelError::Rejected(format!(
            "the request to {} cannot be built: check the characters of {}",
            config.host(),
            config.key_hint()
        ))
    })?;
    value.set_sensitive(true);
    let mut headers = HeaderMap::from_iter([(HeaderName::from_static(name), value)]);
    if config.provider == Provider::Anthropic {
        headers.insert("anthropic-version", HeaderValue::from_static("2023-06-01"));
    }
    Ok(headers)
}

/// Converted through text, so that 0.2_f32 does not become 0.200000003 in the request.
fn temperature(config: &ModelConfig) -> Option<f64> {
    let temperature = config.temperature?;
    Some(temperature.to_string().parse().unwrap_or(f64::from(temperature)))
}

/// A part of the dialogue.
#[derive(Debug, PartialEq)]
enum Exchange<'a> {
    User(&'a str),
    Assistant {
        text: &'a str,
        calls: &'a [Call],
    },
    Picture(&'a Picture),
    /// The results of consecutive calls.
    Results(Vec<CallResult<'a>>),
}

#[derive(Debug, PartialEq)]
struct CallResult<'a> {
    call: &'a Call,
    text: &'a str,
}

/// The dialogue without empty messages. It begins with the user, as some providers require.
fn dialogue(messages: &[Message]) -> Vec<Exchange<'_>> {
    let mut all = Vec::new();
    if !matches!(messages.first(), Some(Message::User { .. }) | None) {
        all.push(Exchange::User("(The dialogue goes on.)"));
    }
    for message in messages {
        match message {
            Message::Tool { call, text } => {
                let result = CallResult { call, text: not_empty(text) };
                match all.last_mut() {
                    Some(Exchange::Results(results)) => results.push(result),
                    _ => all.push(Exchange::Results(vec![result])),
                }
            }
            Message::User { text } => all.push(Exchange::User(not_empty(text))),
            Message::Assistant { text, calls } if text.trim().is_empty() && calls.is_empty() => {}
            Message::Assistant { text, calls } => all.push(Exchange::Assistant { text, calls }),
            Message::Picture(picture) => all.push(Exchange::Picture(picture)),
        }
    }
    all
}

fn not_empty(text: &str) -> &str {
    if text.trim().is_empty() { "(empty)" } else { text }
}

/// The arguments of a call. Providers accept objects only, so a text is wrapped, which also shows
/// the model its mistake.
fn arguments(call: &Call) -> Value {
    match &call.arguments {
        Value::Object(_) => call.arguments.clone(),
        Value::String(raw) => json!({ "malformed_arguments": raw }),
        other => json!({ "malformed_arguments": other.to_string() }),
    }
}

/// Sanitises a name, because one invalid name would make the provider reject the whole
/// conversation.
fn tool_name(name: &str) -> String {
    let allowed = |c: char| if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '_' };
    let name: String = name.chars().take(64).map(allowed).collect();
    if name.is_empty() { "unknown".to_owned() } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::ids::CallId;

    fn call(arguments: Value) -> Call {
        let (id, model_id) = (CallId::from("01"), "call_123456".to_owned());
        Call { id, model_id, tool: "a".to_owned(), arguments }
    }

    #[test]
    fn a_name_that_the_model_made_up_is_made_fit_for_the_provider() {
        assert_eq!(tool_name("functions.read file"), "functions_read_file");
        assert_eq!(tool_name(""), "unknown");
        assert_eq!(tool_name(&"x".repeat(99)).len(), 64);
    }

    #[test]
    fn consecutive_results_belong_together() {
        let call = call(json!({}));
        let tool = || Message::Tool { call: call.clone(), text: "ok".into() };
        let calls = vec![call.clone(), call.clone()];
        let user = Message::User { text: "go".into() };
        let all = [user, Message::Assistant { text: String::new(), calls }, tool(), tool()];
        let sent = dialogue(&all);
        assert_eq!(sent.len(), 3);
        assert!(matches!(&sent[2], Exchange::Results(results) if results.len() == 2));
    }

    #[test]
    fn the_user_begins_even_if_the_beginning_was_left_out() {
        let answer = Message::Assistant { text: "So.".into(), calls: vec![] };
        let all = [answer];
        let sent = dialogue(&all);
        assert!(matches!(sent[..], [Exchange::User(_), Exchange::Assistant { .. }]));
    }

    #[test]
    fn an_empty_answer_of_the_past_is_left_out() {
        let empty = Message::Assistant { text: " ".into(), calls: vec![] };
        let all = [Message::User { text: "go".into() }, empty];
        assert_eq!(dialogue(&all).len(), 1);
    }

    #[test]
    fn unreadable_arguments_go_back_as_an_object() {
        let sent = arguments(&call(json!("{\"path\": ")));
        assert_eq!(sent, json!({ "malformed_arguments": "{\"path\": " }));
    }
}
