//! OpenAI's chat completions: what the server writes.

use serde_json::{Value, json};

use super::{Turn, pieces};

pub(super) fn error(kind: &str, message: &str) -> Value {
    json!({ "error": { "message": message, "type": kind, "param": null, "code": kind } })
}

pub(super) fn event(value: &Value) -> String {
    format!("data: {value}\n\n")
}

fn stop(turn: &Turn) -> &'static str {
    let usual = if turn.calls.is_empty() { "stop" } else { "tool_calls" };
    turn.stop.unwrap_or(usual)
}

fn usage(turn: &Turn) -> Value {
    let (input, output, cached) = turn.usage;
    json!({
        "prompt_tokens": input,
        "completion_tokens": output,
        "total_tokens": input + output,
        "prompt_tokens_details": { "cached_tokens": cached },
    })
}

pub(super) fn whole(turn: &Turn) -> Value {
    let calls: Vec<Value> = turn
        .calls
        .iter()
        .map(|call| {
            let function = json!({ "name": call.name, "arguments": call.arguments });
            json!({ "id": call.id, "type": "function", "function": function })
        })
        .collect();
    let mut message = json!({ "role": "assistant", "content": turn.text });
    if !calls.is_empty() {
        message["tool_calls"] = calls.into();
    }
    json!({
        "id": "chatcmpl-fake",
        "object": "chat.completion",
        "created": 0,
        "model": "fake",
        "choices": [{ "index": 0, "message": message, "finish_reason": stop(turn) }],
        "usage": usage(turn),
    })
}

fn chunk(delta: Value, finish: Option<&str>) -> String {
    event(&json!({
        "id": "chatcmpl-fake",
        "object": "chat.completion.chunk",
        "created": 0,
        "model": "fake",
        "choices": [{ "index": 0, "delta": delta, "finish_reason": finish }],
    }))
}

pub(super) fn events(turn: &Turn) -> Vec<String> {
    let mut events = vec![chunk(json!({ "role": "assistant", "content": "" }), None)];
    for piece in pieces(&turn.text) {
        events.push(chunk(json!({ "content": piece }), None));
    }
    for (index, call) in turn.calls.iter().enumerate() {
        let function = json!({ "name": call.name, "arguments": "" });
        let begun =
            json!({ "index": index, "id": call.id, "type": "function", "function": function });
        events.push(chunk(json!({ "tool_calls": [begun] }), None));
        for piece in pieces(&call.arguments) {
            let more = json!({ "index": index, "function": { "arguments": piece } });
            events.push(chunk(json!({ "tool_calls": [more] }), None));
        }
    }
    events.push(chunk(json!({}), Some(stop(turn))));
    events.push(event(&json!({
        "id": "chatcmpl-fake",
        "object": "chat.completion.chunk",
        "created": 0,
        "model": "fake",
        "choices": [],
        "usage": usage(turn),
    })));
    events.push("data: [DONE]\n\n".to_owned());
    events
}
