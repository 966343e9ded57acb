//! Turns the draft of an answer into a reply, or into an error.

use std::collections::BTreeSet;

use super::{
    ModelError, Reply,
    decode::{
        Draft, Stop,
        calls::{CallDraft, IsCut},
    },
    model_call_id::ModelCallId,
};
use crate::journal::{event::Call, ids::CallId};

/// `limit` is the maximum number of output tokens that the request set.
pub(super) fn reply(draft: Draft, limit: u32) -> Result<Reply, ModelError> {
    let Draft { mut text, calls: mut drafts, usage, stop, .. } = draft;
    forget_repeated_ids(&mut drafts);
    let stop = stop.unwrap_or(Stop::Complete);
    let is_cut = match stop {
        Stop::Length | Stop::ContextFull => IsCut::Yes,
        _ => IsCut::No,
    };
    let mut calls: Vec<Call> = drafts.into_iter().map(|draft| call(draft, is_cut)).collect();
    let says_nothing = text.trim().is_empty();
    match stop {
        Stop::Failed => {
            return Err(ModelError::Failed("the provider aborted the answer".to_owned()));
        }
        Stop::MalformedCall => {
            return Err(ModelError::MalformedCall(
                "the provider could not parse the model's tool call".to_owned(),
            ));
        }
        Stop::Filtered(reason) if says_nothing => {
            return Err(ModelError::Filtered(format!(
                "the provider's content filter blocked the answer ({reason})"
            )));
        }
        Stop::Filtered(_) => {
            calls.clear();
            text.push_str("\n\n[cut here: the provider's content filter stopped the answer]");
        }
        Stop::ContextFull if says_nothing && calls.is_empty() => {
            return Err(ModelError::TooLong("the context window is full".to_owned()));
        }
        Stop::Length if says_nothing && calls.is_empty() => {
            return Err(ModelError::Rejected(format!(
                "all {limit} output tokens were used before the answer began: increase \
                    `max_output_tokens` of the model"
            )));
        }
        Stop::Length | Stop::ContextFull if calls.is_empty() => {
            text.push_str("\n\n[cut here: the answer reached its limit of output tokens]");
        }
        Stop::Complete | Stop::Length | Stop::ContextFull => {}
    }
    Ok(Reply { text, calls, usage, by: None })
}

/// Providers reject two calls with the same id, so all but the first get one of ours.
fn forget_repeated_ids(drafts: &mut [CallDraft]) {
    let mut known = BTreeSet::new();
    for draft in drafts {
        if !known.insert(draft.id.clone()) {
            draft.id.clear();
        }
    }
}

fn call(mut draft: CallDraft, is_cut: IsCut) -> Call {
    let id = CallId::new();
    let theirs = std::mem::take(&mut draft.id);
    let tool = std::mem::take(&mut draft.name);
    let model_id = ModelCallId::new(&id, theirs, draft.signature.take()).stored();
    Call { id, model_id, tool, arguments: draft.arguments(is_cut) }
}
