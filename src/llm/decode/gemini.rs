//! Decodes responses of Gemini's `generateContent`: each object of a stream has the form of a whole
//! response.

use serde_json::Value;

use super::{CallDraft, Decoder, Draft, Stop, error, number, text};
use crate::journal::event::Usage;

#[derive(Debug)]
pub(super) struct Gemini;

impl Decoder for Gemini {
    fn decode(&mut self, object: &Value, draft: &mut Draft) {
        draft.error = error(object);
        if object["usageMetadata"].is_object() {
            draft.usage = usage(&object["usageMetadata"]);
        }
        let blocked = text(&object["promptFeedback"], "blockReason");
        if let Some(reason) = blocked.filter(|reason| *reason != "BLOCK_REASON_UNSPECIFIED") {
            draft.stop = Some(Stop::Filtered(reason.to_owned()));
        }
        let Some(candidate) = object.pointer("/candidates/0") else { return };
        for part in candidate["content"]["parts"].as_array().into_iter().flatten() {
            add(part, draft);
        }
        if let Some(reason) = text(candidate, "finishReason") {
            draft.stop = Some(stop(reason));
        }
    }
}

fn add(part: &Value, draft: &mut Draft) {
    let call = &part["functionCall"];
    if !call.is_object() {
        if part["thought"] != true {
            draft.say(text(part, "text").unwrap_or_default());
        }
        return;
    }
    let [id, name] = ["id", "name"].map(|field| text(call, field).unwrap_or_default());
    let mut made = CallDraft::new(id, name);
    made.signature = text(part, "thoughtSignature").map(str::to_owned);
    made.append(&call["args"]);
    // Partial arguments are sent only on request.
    made.is_contradictory |= call.get("partialArgs").is_some() || call["willContinue"] == true;
    made.is_closed = true;
    draft.calls.push(made);
}

fn stop(reason: &str) -> Stop {
    match reason {
        "MAX_TOKENS" => Stop::Length,
        "SAFETY" | "RECITATION" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII" | "LANGUAGE"
        | "IMAGE_SAFETY" => Stop::Filtered(reason.to_owned()),
        "MALFORMED_FUNCTION_CALL" | "UNEXPECTED_TOOL_CALL" | "TOO_MANY_TOOL_CALLS" => {
            Stop::MalformedCall
        }
        "OTHER" | "MALFORMED_RESPONSE" => Stop::Failed,
        _ => Stop::Complete,
    }
}

fn usage(usage: &Value) -> Usage {
    Usage {
        input_tokens: number(usage, "promptTokenCount") + number(usage, "toolUsePromptTokenCount"),
        output_tokens: number(usage, "candidatesTokenCount") + number(usage, "thoughtsTokenCount"),
        cached_tokens: number(usage, "cachedContentTokenCount"),
    }
}
