//! Gemini's generateContent: what the server writes.

use serde_json::{Value, json};

use super::{Turn, pieces};

pub(super) fn error(kind: &str, message: &str) -> Value {
    json!({ "error": { "code": 400, "message": message, "status": kind } })
}

pub(super) fn event(value: &Value) -> String {
    format!("data: {value}\r\n\r\n")
}

fn chunk(turn: &Turn, parts: Vec<Value>, finish: Option<&str>) -> Value {
    let (input, output, cached) = turn.usage;
    let mut candidate = json!({ "content": { "role": "model", "parts": parts }, "index": 0 });
    if let Some(finish) = finish {
        candidate["finishReason"] = finish.into();
    }
    json!({
        "candidates": [candidate],
        "usageMetadata": {
            "promptTokenCount": input,
            "candidatesTokenCount": output,
            "totalTokenCount": input + output,
            "cachedContentTokenCount": cached,
        },
        "modelVersion": "fake",
    })
}

/// Arguments come whole, and as an object: broken ones do not exist here. The first call of an
/// answer carries the signature of the thoughts that led to it.
fn calls(turn: &Turn) -> Vec<Value> {
    let call = |(index, call): (usize, &super::ToolCall)| {
        let args: Value = serde_json::from_str(&call.arguments).unwrap_or_else(|_| json!({}));
        let mut part = json!({ "functionCall": { "name": call.name, "args": args } });
        if index == 0 {
            part["thoughtSignature"] = format!("signature of {}", call.name).into();
        }
        part
    };
    turn.calls.iter().enumerate().map(call).collect()
}

pub(super) fn whole(turn: &Turn) -> Value {
    let mut parts = vec![json!({ "text": turn.text })];
    parts.extend(calls(turn));
    chunk(turn, parts, Some(turn.stop.unwrap_or("STOP")))
}

pub(super) fn events(turn: &Turn) -> Vec<String> {
    let text = pieces(&turn.text).into_iter().map(|piece| vec![json!({ "text": piece })]);
    let mut events: Vec<Value> = text.map(|parts| chunk(turn, parts, None)).collect();
    if !turn.calls.is_empty() {
        events.push(chunk(turn, calls(turn), None));
    }
    events.push(chunk(turn, vec![json!({ "text": "" })], Some(turn.stop.unwrap_or("STOP"))));
    events.iter().map(event).collect()
}
