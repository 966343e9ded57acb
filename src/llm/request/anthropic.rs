//! Builds requests for Anthropic's Messages API. Only Anthropic needs explicit cache markers. They
//! are at the end of the tools, of the system prompt and of the dialogue.

use serde::Serialize;
use serde_json::{Value, json};
use std::{borrow::Cow, collections::BTreeSet};

use super::{Exchange, arguments, dialogue, temperature, tool_name};
use crate::{
    agent::{
        catalog::ToolSchema,
        prompt::{Picture, Prompt},
    },
    journal::event::Call,
    llm::{
        model_call_id::ModelCallId,
        vendor::{ModelConfig, Provider},
    },
};

#[derive(Serialize)]
pub(super) struct AnthropicBody<'a> {
    model: &'a str,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    system: Option<Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<AnthropicTool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<Value>,
    messages: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    max_tokens: u32,
}

#[derive(Serialize)]
struct AnthropicTool<'a> {
    name: Cow<'a, str>,
    input_schema: Cow<'a, Value>,
    description: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<Value>,
}

pub(super) fn body<'a>(prompt: &'a Prompt, config: &'a ModelConfig) -> AnthropicBody<'a> {
    let dialogue = dialogue(&prompt.messages);
    let mut tools: Vec<_> = prompt.tools.iter().map(|schema| tool(schema)).collect();
    let mut tool_choice = None;
    if tools.is_empty() {
        tools = used_tools(&dialogue);
        tool_choice = (!tools.is_empty()).then(|| json!({ "type": "none" }));
    }
    if let Some(last) = tools.last_mut() {
        last.cache_control = Some(cache_control());
    }
    let system = (!prompt.system.is_empty())
        .then(|| json!([cached(json!({ "type": "text", "text": prompt.system }))]));
    let mut messages: Vec<Value> = dialogue.iter().map(message).collect();
    if let Some(last) = messages.last_mut().and_then(|message| message["content"].as_array_mut())
        && let Some(block) = last.pop()
    {
        last.push(cached(block));
    }
    AnthropicBody {
        model: &config.model,
        stream: true,
        system,
        tools,
        tool_choice,
        messages: messages.into_iter().map(plain).collect(),
        temperature: temperature(config),
        max_tokens: config.output_limit(prompt),
    }
}

fn cached(mut block: Value) -> Value {
    block["cache_control"] = cache_control();
    block
}

fn cache_control() -> Value {
    json!({ "type": "ephemeral" })
}

fn tool(schema: &ToolSchema) -> AnthropicTool<'_> {
    let ToolSchema { name, description, parameters } = schema;
    let (name, input_schema) = (Cow::Borrowed(name.as_str()), Cow::Borrowed(parameters));
    AnthropicTool { name, input_schema, description, cache_control: None }
}

/// The tools of the calls in the dialogue, for a request without tools, such as that for a summary.
/// The API rejects calls and results in a request that defines no tools.
fn used_tools(dialogue: &[Exchange<'_>]) -> Vec<AnthropicTool<'static>> {
    let mut names = BTreeSet::new();
    for exchange in dialogue {
        if let Exchange::Assistant { calls, .. } = exchange {
            names.extend(calls.iter().map(|call| tool_name(&call.tool)));
        }
    }
    let tool = |name| AnthropicTool {
        name: Cow::Owned(name),
        input_schema: Cow::Owned(json!({ "type": "object" })),
        description: "Not available now.",
        cache_control: None,
    };
    names.into_iter().map(tool).collect()
}

/// Replaces content that is a single unmarked text by a string.
fn plain(mut message: Value) -> Value {
    if let Some([only]) = message["content"].as_array().map(Vec::as_slice)
        && only["type"] == "text"
        && only.get("cache_control").is_none()
    {
        message["content"] = only["text"].clone();
    }
    message
}

fn message(exchange: &Exchange<'_>) -> Value {
    let (role, blocks) = match exchange {
        Exchange::User(text) => ("user", vec![block(text)]),
        Exchange::Picture(it) => ("user", picture(it)),
        Exchange::Assistant { text, calls } => {
            let said = (!text.trim().is_empty()).then(|| block(text));
            ("assistant", said.into_iter().chain(calls.iter().map(call)).collect())
        }
        Exchange::Results(results) => {
            let result = |result: &super::CallResult<'_>| {
                let id = ModelCallId::of(result.call, Provider::Anthropic).id;
                json!({ "type": "tool_result", "content": result.text, "tool_use_id": id })
            };
            ("user", results.iter().map(result).collect())
        }
    };
    json!({ "role": role, "content": blocks })
}

fn block(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

fn call(call: &Call) -> Value {
    let id = ModelCallId::of(call, Provider::Anthropic).id;
    let (name, input) = (tool_name(&call.tool), arguments(call));
    json!({ "type": "tool_use", "id": id, "name": name, "input": input })
}

fn picture(picture: &Picture) -> Vec<Value> {
    let line = block(&picture.line());
    let image = picture.base64.as_ref().map(|base64| {
        let source =
            json!({ "type": "base64", "media_type": picture.media_type, "data": &**base64 });
        json!({ "type": "image", "source": source })
    });
    [line].into_iter().chain(image).collect()
}
