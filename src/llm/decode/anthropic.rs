//! Decodes responses of Anthropic's Messages API.

use serde_json::Value;
use std::collections::BTreeMap;

use super::{CallDraft, Decoder, Draft, Stop, error, number, text};

#[derive(Debug, Default)]
pub(super) struct Anthropic {
    /// The blocks so far, by index.
    blocks: BTreeMap<u64, Block>,
}

#[derive(Debug, Clone, Copy)]
enum Block {
    /// The index of the call in the draft.
    Call(usize),
    Other,
}

impl Decoder for Anthropic {
    fn decode(&mut self, object: &Value, draft: &mut Draft) {
        match text(object, "type") {
            Some("message_start") => message(&object["message"], draft),
            Some("content_block_start") => self.begin(object, draft),
            Some("content_block_delta") => self.extend(object, draft),
            Some("content_block_stop") => {
                if let Some(Block::Call(at)) = self.block(object) {
                    draft.calls[at].is_closed = true;
                }
            }
            Some("message_delta") => {
                count(&object["usage"], draft);
                draft.stop = text(&object["delta"], "stop_reason").map(stop).or(draft.stop.take());
            }
            Some("message_stop") => draft.is_ended = true,
            // A server that ignores `stream` sends the whole message at once.
            Some("message") => {
                message(object, draft);
                draft.stop.get_or_insert(Stop::Complete);
            }
            _ => draft.error = error(object),
        }
    }
}

impl Anthropic {
    fn begin(&mut self, object: &Value, draft: &mut Draft) {
        let count = draft.calls.len();
        block_begins(&object["content_block"], draft);
        let index = object["index"].as_u64().unwrap_or(self.blocks.len() as u64);
        let is_call = draft.calls.len() > count;
        self.blocks.insert(index, if is_call { Block::Call(count) } else { Block::Other });
    }

    fn extend(&mut self, object: &Value, draft: &mut Draft) {
        let delta = &object["delta"];
        match text(delta, "type") {
            Some("text_delta") => draft.say(text(delta, "text").unwrap_or_default()),
            Some("input_json_delta") => match self.block(object) {
                Some(Block::Call(at)) => draft.calls[at].append(&delta["partial_json"]),
                // Input of a tool that the provider itself runs.
                Some(Block::Other) => {}
                None => draft.is_invalid = true,
            },
            _ => {}
        }
    }

    /// The block that an event names, or the last one if it names none.
    fn block(&self, object: &Value) -> Option<Block> {
        match object["index"].as_u64() {
            Some(index) => self.blocks.get(&index).copied(),
            None => self.blocks.values().last().copied(),
        }
    }
}

fn message(message: &Value, draft: &mut Draft) {
    count(&message["usage"], draft);
    for block in message["content"].as_array().into_iter().flatten() {
        block_begins(block, draft);
        if let Some(call) = draft.calls.last_mut() {
            call.is_closed = true;
        }
    }
    draft.stop = text(message, "stop_reason").map(stop).or(draft.stop.take());
}

/// The beginning of a block may already contain text or arguments.
fn block_begins(block: &Value, draft: &mut Draft) {
    match text(block, "type") {
        Some("text") => draft.say(text(block, "text").unwrap_or_default()),
        Some("tool_use") => {
            let [id, name] = ["id", "name"].map(|field| text(block, field).unwrap_or_default());
            let mut call = CallDraft::new(id, name);
            let input = &block["input"];
            if input.as_object().is_none_or(|input| !input.is_empty()) {
                call.append(input);
            }
            draft.calls.push(call);
        }
        _ => {}
    }
}

fn stop(reason: &str) -> Stop {
    match reason {
        "max_tokens" => Stop::Length,
        "model_context_window_exceeded" => Stop::ContextFull,
        "refusal" => Stop::Filtered(reason.to_owned()),
        "error" => Stop::Failed,
        _ => Stop::Complete,
    }
}

/// The input tokens exclude cached tokens. The last event counts only the output.
fn count(usage: &Value, draft: &mut Draft) {
    let cached = number(usage, "cache_read_input_tokens");
    let input = number(usage, "input_tokens") + number(usage, "cache_creation_input_tokens");
    if input + cached > 0 {
        draft.usage.input_tokens = input + cached;
        draft.usage.cached_tokens = cached;
    }
    draft.usage.output_tokens = draft.usage.output_tokens.max(number(usage, "output_tokens"));
}
