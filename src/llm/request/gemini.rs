//! Builds requests for Gemini's `generateContent`.

use serde::Serialize;
use serde_json::{Value, json};

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

/// What Gemini 3 accepts in place of the signature if another model made the call
/// (<https://ai.google.dev/gemini-api/docs/thought-signatures>).
const NO_SIGNATURE: &str = "skip_thought_signature_validator";

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct GeminiBody<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    system_instruction: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<[Declarations<'a>; 1]>,
    contents: Value,
    generation_config: Value,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Declarations<'a> {
    function_declarations: Vec<Declaration<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Declaration<'a> {
    name: &'a str,
    description: &'a str,
    parameters_json_schema: &'a Value,
}

pub(super) fn body<'a>(prompt: &'a Prompt, config: &ModelConfig) -> GeminiBody<'a> {
    let function_declarations: Vec<_> =
        prompt.tools.iter().map(|schema| declaration(schema)).collect();
    let mut generation_config = json!({});
    if let Some(temperature) = temperature(config) {
        generation_config["temperature"] = temperature.into();
    }
    generation_config["maxOutputTokens"] = config.output_limit(prompt).into();
    let is_third = config.model.contains("gemini-3");
    let content = |exchange: &Exchange<'_>| content(exchange, is_third.then_some(NO_SIGNATURE));
    GeminiBody {
        system_instruction: (!prompt.system.is_empty())
            .then(|| json!({ "parts": [{ "text": prompt.system }] })),
        tools: (!function_declarations.is_empty())
            .then_some([Declarations { function_declarations }]),
        contents: dialogue(&prompt.messages).iter().map(content).collect(),
        generation_config,
    }
}

fn declaration(schema: &ToolSchema) -> Declaration<'_> {
    let ToolSchema { name, description, parameters } = schema;
    Declaration { name, description, parameters_json_schema: parameters }
}

/// `unsigned` is sent with the first call if its signature is missing.
fn content(exchange: &Exchange<'_>, unsigned: Option<&str>) -> Value {
    let (role, parts) = match exchange {
        Exchange::User(text) => ("user", vec![json!({ "text": text })]),
        Exchange::Picture(it) => ("user", picture(it)),
        Exchange::Assistant { text, calls } => {
            let said = (!text.trim().is_empty()).then(|| json!({ "text": text }));
            let part = |(at, made): (usize, &Call)| call(made, unsigned.filter(|_| at == 0));
            ("model", said.into_iter().chain(calls.iter().enumerate().map(part)).collect())
        }
        Exchange::Results(results) => ("user", results.iter().map(result).collect()),
    };
    json!({ "role": role, "parts": parts })
}

fn call(call: &Call, unsigned: Option<&str>) -> Value {
    let ModelCallId { id, signatures } = ModelCallId::of(call, Provider::Gemini);
    let function = json!({ "name": tool_name(&call.tool), "args": arguments(call) });
    let mut part = json!({ "functionCall": with_id(function, &id, call) });
    let signature = signatures.and_then(|all| all.into_iter().next());
    if let Some(signature) = signature.or(unsigned.map(str::to_owned)) {
        part["thoughtSignature"] = signature.into();
    }
    part
}

fn result(result: &super::CallResult<'_>) -> Value {
    let name = tool_name(&result.call.tool);
    let response = json!({ "name": name, "content": result.text });
    let function = json!({ "name": name, "response": response });
    let id = ModelCallId::of(result.call, Provider::Gemini).id;
    json!({ "functionResponse": with_id(function, &id, result.call) })
}

/// A call that had no id is sent back without one. Earlier releases gave such calls ids with `#`.
fn with_id(mut function: Value, id: &str, call: &Call) -> Value {
    if !id.is_empty() && !id.starts_with("call#") && id != call.id.as_str() {
        function["id"] = id.into();
    }
    function
}

fn picture(picture: &Picture) -> Vec<Value> {
    let line = json!({ "text": picture.line() });
    let image = picture.base64.as_ref().map(
        |base64| json!({ "inline_data": { "mime_type": picture.media_type, "data": &**base64 } }),
    );
    [line].into_iter().chain(image).collect()
}
