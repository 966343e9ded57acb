//! Builds requests for Ollama's chat API.

use serde::Serialize;
use serde_json::{Value, json};

use super::{Exchange, FunctionTool, arguments, messages, temperature, tool_name};
use crate::{
    agent::prompt::{Picture, Prompt},
    journal::event::Call,
    llm::vendor::ModelConfig,
};

#[derive(Serialize)]
pub(super) struct OllamaBody<'a> {
    model: &'a str,
    stream: bool,
    options: Value,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<FunctionTool<'a>>,
    messages: Value,
}

pub(super) fn body<'a>(prompt: &'a Prompt, config: &'a ModelConfig) -> OllamaBody<'a> {
    let mut options = json!({});
    if let Some(temperature) = temperature(config) {
        options["temperature"] = temperature.into();
    }
    options["num_predict"] = config.output_limit(prompt).into();
    let tools = prompt.tools.iter().map(|schema| FunctionTool::of(schema, &schema.description));
    OllamaBody {
        model: &config.model,
        stream: true,
        options,
        tools: tools.collect(),
        messages: messages(prompt, message),
    }
}

fn message(exchange: &Exchange<'_>) -> Vec<Value> {
    match exchange {
        Exchange::User(text) => vec![json!({ "role": "user", "content": text })],
        Exchange::Picture(it) => vec![picture(it)],
        Exchange::Assistant { text, calls } => {
            let mut message = json!({ "role": "assistant", "content": text });
            if !calls.is_empty() {
                message["tool_calls"] = calls.iter().map(call).collect();
            }
            vec![message]
        }
        Exchange::Results(results) => {
            let result = |result: &super::CallResult<'_>| {
                let name = tool_name(&result.call.tool);
                json!({ "role": "tool", "content": result.text, "tool_name": name })
            };
            results.iter().map(result).collect()
        }
    }
}

fn call(call: &Call) -> Value {
    let (name, arguments) = (tool_name(&call.tool), arguments(call));
    json!({ "function": { "name": name, "arguments": arguments } })
}

fn picture(picture: &Picture) -> Value {
    let mut message = json!({ "role": "user", "content": picture.line() });
    if let Some(base64) = &picture.base64 {
        message["images"] = json!([&**base64]);
    }
    message
}
