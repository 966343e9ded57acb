//! Decodes chat completions of OpenAI and of the many compatible servers.

use serde_json::Value;

use super::{CallDraft, Decoder, Draft, Stop, error, number, text};
use crate::journal::event::Usage;

#[derive(Debug, Default)]
pub(super) struct OpenAi {
    /// The index of each call of the draft, if the server sends one.
    indexes: Vec<Option<u64>>,
}

impl Decoder for OpenAi {
    fn decode(&mut self, object: &Value, draft: &mut Draft) {
        draft.error = error(object);
        if object["usage"].is_object() {
            draft.usage = usage(&object["usage"]);
        }
        let Some(choice) = object.pointer("/choices/0") else { return };
        // A server that ignores `stream` sends the whole message at once.
        let is_whole = choice["message"].is_object();
        let delta = if is_whole { &choice["message"] } else { &choice["delta"] };
        draft.say_content(&delta["content"]);
        draft.say_content(&delta["refusal"]);
        match &delta["tool_calls"] {
            Value::Array(pieces) => pieces.iter().for_each(|piece| self.add(piece, draft)),
            piece @ Value::Object(_) => self.add(piece, draft),
            _ => {}
        }
        match text(choice, "finish_reason") {
            Some(reason) => draft.stop = Some(stop(reason)),
            None if is_whole => draft.stop = Some(Stop::Complete),
            None => {}
        }
    }
}

/// A piece of a call.
struct Piece<'a> {
    index: Option<u64>,
    id: Option<&'a str>,
    name: Option<&'a str>,
    arguments: &'a Value,
}

/// What a piece belongs to.
#[derive(Debug, PartialEq, Eq)]
enum PieceTarget {
    To(usize),
    ToNewCall,
    /// The server sends a complete call again.
    Repeats,
}

impl OpenAi {
    fn add(&mut self, piece: &Value, draft: &mut Draft) {
        let function = piece.get("function").unwrap_or(piece);
        let piece = Piece {
            index: piece["index"].as_u64(),
            id: text(piece, "id"),
            name: text(function, "name"),
            arguments: &function["arguments"],
        };
        let at = match self.belongs(&piece, &draft.calls) {
            PieceTarget::Repeats => return,
            PieceTarget::To(at) => at,
            PieceTarget::ToNewCall => {
                draft.calls.push(CallDraft::default());
                self.indexes.push(piece.index);
                draft.calls.len() - 1
            }
        };
        let call = &mut draft.calls[at];
        match piece.name {
            Some(name) if call.name.is_empty() => name.clone_into(&mut call.name),
            Some(name) => call.is_contradictory |= name != call.name,
            None => {}
        }
        if let Some(id) = piece.id.filter(|_| call.id.is_empty()) {
            id.clone_into(&mut call.id);
        }
        call.append(piece.arguments);
    }

    /// Neither the index nor the id alone is reliable: some servers send no index or always 0,
    /// others send no id or a new one with each piece.
    fn belongs(&self, piece: &Piece<'_>, calls: &[CallDraft]) -> PieceTarget {
        let last = calls.len().checked_sub(1);
        let same_index = || {
            let index = piece.index?;
            self.indexes.iter().rposition(|known| *known == Some(index))
        };
        let same_id = |id: &str| {
            let fits = |at: &usize| match (piece.index, self.indexes[*at]) {
                (Some(one), Some(other)) => one == other,
                _ => true,
            };
            (0..calls.len()).rev().find(|at| calls[*at].id == id && fits(at))
        };
        let found = match (piece.id, piece.index, piece.name) {
            (Some(id), _, Some(_)) => {
                same_id(id).or_else(|| same_index().filter(|at| calls[*at].id.is_empty()))
            }
            (Some(id), Some(_), None) => same_id(id).or_else(same_index),
            (Some(id), None, None) => same_id(id).or(last),
            (None, Some(_), _) => same_index(),
            (None, None, Some(name)) => last.filter(|at| is_begun(&calls[*at], name)),
            (None, None, None) => last,
        };
        match found {
            None => PieceTarget::ToNewCall,
            Some(at) => piece.after(&calls[at]).unwrap_or(PieceTarget::To(at)),
        }
    }
}

/// Whether the last call has this name and its arguments are incomplete.
fn is_begun(call: &CallDraft, name: &str) -> bool {
    call.name == name && call.has_arguments() && call.complete().is_none()
}

impl Piece<'_> {
    /// Whether the piece is a new call although its index or id is the same.
    fn after(&self, call: &CallDraft) -> Option<PieceTarget> {
        self.name?;
        let begins = match self.arguments {
            Value::String(text) => text.trim_start().starts_with('{'),
            arguments => arguments.is_object(),
        };
        if !begins || !call.has_arguments() {
            return None;
        }
        let complete = call.complete()?;
        let mut alone = CallDraft::default();
        alone.append(self.arguments);
        let is_same = Some(call.name.as_str()) == self.name && alone.complete() == Some(complete);
        Some(if is_same { PieceTarget::Repeats } else { PieceTarget::ToNewCall })
    }
}

fn stop(reason: &str) -> Stop {
    match reason {
        "length" | "max_tokens" => Stop::Length,
        "model_context_window_exceeded" => Stop::ContextFull,
        "content_filter" | "sensitive" => Stop::Filtered(reason.to_owned()),
        "error" | "network_error" | "abort" => Stop::Failed,
        _ => Stop::Complete,
    }
}

fn usage(usage: &Value) -> Usage {
    Usage {
        input_tokens: number(usage, "prompt_tokens"),
        output_tokens: number(usage, "completion_tokens"),
        cached_tokens: number(&usage["prompt_tokens_details"], "cached_tokens"),
    }
}
