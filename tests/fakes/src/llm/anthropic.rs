//! Anthropic's messages: what the server writes.

use serde_json::{Value, json};

use super::{Turn, pieces};

pub(super) fn error(kind: &str, message: &str) -> Value {
    json!({ "type": "error", "error": { "type": kind, "message": message } })
}

pub(super) fn event(name: &str, value: &Value) -> String {
    format!("event: {name}\ndata: {value}\n\n")
}

fn stop(turn: &Turn) -> &'static str {
    let usual = if turn.calls.is_empty() { "end_turn" } else { "tool_use" };
    turn.stop.unwrap_or(usual)
}

/// Anthropic counts cached tokens apart from the others.
fn usage(turn: &Turn, output: u64) -> Value {
    let (input, _, cached) = turn.usage;
    json!({
        "input_tokens": input.saturating_sub(cached),
        "output_tokens": output,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": cached,
    })
}

pub(super) fn whole(turn: &Turn) -> Value {
    let mut content = Vec::new();
    if !turn.text.is_empty() {
        content.push(json!({ "type": "text", "text": turn.text }));
    }
    for call in &turn.calls {
        let input: Value = serde_json::from_str(&call.arguments).unwrap_or_else(|_| json!({}));
        content
            .push(json!({ "type": "tool_use", "id": call.id, "name": call.name, "input": input }));
    }
    json!({
        "id": "msg_fake",
        "type": "message",
        "role": "assistant",
        "model": "fake",
        "content": content,
        "stop_reason": stop(turn),
        "stop_sequence": null,
        "usage": usage(turn, turn.usage.1),
    })
}

pub(super) fn events(turn: &Turn) -> Vec<String> {
    let message = json!({
        "id": "msg_fake",
        "type": "message",
        "role": "assistant",
        "model": "fake",
        "content": [],
        "stop_reason": null,
        "stop_sequence": null,
        "usage": usage(turn, 1),
    });
    let mut events = vec![
        event("message_start", &json!({ "type": "message_start", "message": message })),
        event("ping", &json!({ "type": "ping" })),
    ];
    let mut index = 0;
    if !turn.text.is_empty() {
        let deltas =
            pieces(&turn.text).into_iter().map(|p| json!({ "type": "text_delta", "text": p }));
        events.extend(block(index, json!({ "type": "text", "text": "" }), deltas));
        index += 1;
    }
    for call in &turn.calls {
        let begun = json!({ "type": "tool_use", "id": call.id, "name": call.name, "input": {} });
        let delta = |p| json!({ "type": "input_json_delta", "partial_json": p });
        events.extend(block(index, begun, pieces(&call.arguments).into_iter().map(delta)));
        index += 1;
    }
    let delta = json!({ "stop_reason": stop(turn), "stop_sequence": null });
    let usage = json!({ "output_tokens": turn.usage.1 });
    let end = json!({ "type": "message_delta", "delta": delta, "usage": usage });
    events.push(event("message_delta", &end));
    events.push(event("message_stop", &json!({ "type": "message_stop" })));
    events
}

fn block(index: usize, begun: Value, deltas: impl Iterator<Item = Value>) -> Vec<String> {
    let start = json!({ "type": "content_block_start", "index": index, "content_block": begun });
    let mut events = vec![event("content_block_start", &start)];
    for delta in deltas {
        let more = json!({ "type": "content_block_delta", "index": index, "delta": delta });
        events.push(event("content_block_delta", &more));
    }
    let stop = json!({ "type": "content_block_stop", "index": index });
    events.push(event("content_block_stop", &stop));
    events
}
