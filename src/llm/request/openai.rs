//! Builds requests for chat completions.

use serde::Serialize;
use serde_json::{Value, json};

use super::{Exchange, FunctionTool, arguments, messages, temperature, tool_name};
use crate::{
    agent::prompt::{Picture, Prompt},
    journal::event::Call,
    llm::{
        model_call_id::ModelCallId,
        vendor::{ModelConfig, Provider},
    },
};

/// The maximum length of a tool's description. Servers reject a request with a longer one.
const DESCRIPTION_CHARS: usize = 1024;
/// Name prefixes of models that require the newer name of the output token limit.
const NEWER_MODELS: [&str; 5] = ["gpt-5", "gpt-6", "o1", "o3", "o4"];

/// The tools precede the messages, so that the cached prefix is as long as possible.
#[derive(Serialize)]
pub(super) struct OpenAiBody<'a> {
    model: &'a str,
    stream: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<FunctionTool<'a>>,
    messages: Value,
    stream_options: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
}

pub(super) fn body<'a>(prompt: &'a Prompt, config: &'a ModelConfig) -> OpenAiBody<'a> {
    let is_newer = NEWER_MODELS.iter().any(|begin| config.model.starts_with(begin));
    let limit = config.output_limit(prompt);
    let tool = |schema| FunctionTool::of(schema, cut(&schema.description, DESCRIPTION_CHARS));
    OpenAiBody {
        model: &config.model,
        stream: true,
        tools: prompt.tools.iter().map(|schema| tool(schema)).collect(),
        messages: messages(prompt, message),
        stream_options: json!({ "include_usage": true }),
        temperature: temperature(config),
        max_completion_tokens: is_newer.then_some(limit),
        max_tokens: (!is_newer).then_some(limit),
    }
}

/// Truncates at the end of a word.
fn cut(text: &str, limit: usize) -> &str {
    let Some((end, _)) = text.char_indices().nth(limit) else { return text };
    text[..end].rsplit_once(char::is_whitespace).map_or(&text[..end], |(begin, _)| begin)
}

fn message(exchange: &Exchange<'_>) -> Vec<Value> {
    match exchange {
        Exchange::User(text) => vec![json!({ "role": "user", "content": text })],
        Exchange::Picture(it) => vec![json!({ "role": "user", "content": picture(it) })],
        Exchange::Assistant { text, calls } => {
            let mut message = json!({ "role": "assistant", "content": text });
            if !calls.is_empty() {
                message["tool_calls"] = calls.iter().map(call).collect();
            }
            vec![message]
        }
        Exchange::Results(results) => {
            let result = |result: &super::CallResult<'_>| {
                let id = ModelCallId::of(result.call, Provider::OpenAi).id;
                json!({ "role": "tool", "content": result.text, "tool_call_id": id })
            };
            results.iter().map(result).collect()
        }
    }
}

fn call(call: &Call) -> Value {
    let arguments = arguments(call).to_string();
    json!({
        "type": "function",
        "id": ModelCallId::of(call, Provider::OpenAi).id,
        "function": { "name": tool_name(&call.tool), "arguments": arguments },
    })
}

/// Pictures are sent in a message of their own, because a tool result cannot contain one.
fn picture(picture: &Picture) -> Value {
    let Some(base64) = &picture.base64 else { return picture.line().into() };
    let url = format!("data:{};base64,{base64}", picture.media_type);
    json!([
        { "type": "text", "text": picture.line() },
        { "type": "image_url", "image_url": { "url": url } },
    ])
}
