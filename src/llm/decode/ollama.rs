//! Decodes responses of Ollama's chat API: one object per line, the last of which has `done`.

use serde_json::Value;

use super::{CallDraft, Decoder, Draft, Stop, error, number, text};
use crate::journal::event::Usage;

#[derive(Debug)]
pub(super) struct Ollama;

impl Decoder for Ollama {
    fn decode(&mut self, object: &Value, draft: &mut Draft) {
        draft.error = error(object);
        let message = &object["message"];
        draft.say_content(&message["content"]);
        for call in message["tool_calls"].as_array().into_iter().flatten() {
            let function = &call["function"];
            let id = text(call, "id").unwrap_or_default();
            let mut made = CallDraft::new(id, text(function, "name").unwrap_or_default());
            made.append(&function["arguments"]);
            made.is_closed = true;
            draft.calls.push(made);
        }
        if object["done"] == true {
            draft.stop = Some(stop(text(object, "done_reason").unwrap_or_default()));
            draft.usage = Usage {
                input_tokens: number(object, "prompt_eval_count"),
                output_tokens: number(object, "eval_count"),
                cached_tokens: number(object, "prompt_eval_cached_count"),
            };
            draft.is_ended = true;
        }
    }
}

fn stop(reason: &str) -> Stop {
    match reason {
        "length" => Stop::Length,
        "content_filter" => Stop::Filtered(reason.to_owned()),
        "error" => Stop::Failed,
        _ => Stop::Complete,
    }
}
