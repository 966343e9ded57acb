//! Ollama's chat: what the server writes, a line of JSON for each event.

use serde_json::{Value, json};

use super::{Turn, pieces};

pub(super) fn error(message: &str) -> Value {
    json!({ "error": message })
}

pub(super) fn event(value: &Value) -> String {
    format!("{value}\n")
}

fn line(message: Value) -> Value {
    let message = {
        let mut whole = json!({ "role": "assistant", "content": "" });
        for (key, value) in message.as_object().into_iter().flatten() {
            whole[key] = value.clone();
        }
        whole
    };
    json!({ "model": "fake", "created_at": "2026-01-01T00:00:00Z", "message": message, "done": false })
}

fn done(turn: &Turn, mut line: Value) -> Value {
    let (input, output, cached) = turn.usage;
    line["done"] = true.into();
    line["done_reason"] = turn.stop.unwrap_or("stop").into();
    line["prompt_eval_count"] = input.into();
    line["prompt_eval_cached_count"] = cached.into();
    line["eval_count"] = output.into();
    line
}

/// Without ids: Ollama gives its calls none.
fn calls(turn: &Turn) -> Vec<Value> {
    let call = |call: &super::ToolCall| {
        let arguments: Value = serde_json::from_str(&call.arguments).unwrap_or_else(|_| json!({}));
        json!({ "function": { "name": call.name, "arguments": arguments } })
    };
    turn.calls.iter().map(call).collect()
}

pub(super) fn whole(turn: &Turn) -> Value {
    done(turn, line(json!({ "content": turn.text, "tool_calls": calls(turn) })))
}

pub(super) fn events(turn: &Turn) -> Vec<String> {
    let text = pieces(&turn.text).into_iter().map(|piece| line(json!({ "content": piece })));
    let mut events: Vec<Value> = text.collect();
    if !turn.calls.is_empty() {
        events.push(line(json!({ "tool_calls": calls(turn) })));
    }
    events.push(done(turn, line(json!({}))));
    events.iter().map(event).collect()
}
