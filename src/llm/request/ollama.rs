//! Builds requests for Ollama's chat API.

use serde_json::{Value, json};

use super::{Exchange, arguments, messages, temperature, tool_name};
use crate::{
    agent::{
        catalog::ToolSchema,
        prompt::{Picture, Prompt},
    },
    journal::event::Call,
    llm::vendor::ModelConfig,
};

pub(super) fn body(prompt: &Prompt, config: &ModelConfig) -> Value {
    let mut options = json!({});
    if let Some(temperature) = temperature(config) {
        options["temperature"] = temperature.into();
    }
    options["num_predict"] = config.output_limit(prompt).into();
    let mut body = json!({ "model": config.model, "stream": true, "options": options });
    if !prompt.tools.is_empty() {
        body["tools"] = prompt.tools.iter().map(|schema| tool(schema)).collect();
    }
    body["messages"] = messages(prompt, message);
    body
}

fn tool(schema: &ToolSchema) -> Value {
    let ToolSchema { name, description, parameters } = schema;
    json!({
        "type": "function",
        "function": { "name": name, "description": description, "parameters": parameters },
    })
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
