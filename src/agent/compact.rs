//! Decides when a dialogue is too long for the model, and where to cut it.

use super::limits::Budget;
use crate::journal::{
    event::Seq,
    session::{Item, RepliedCall, Session},
};

/// How many of the newest items are kept.
const KEPT: usize = 6;

/// The instruction for a summary.
pub const INSTRUCTION: &str = "Summarise the conversation so far for yourself: it will replace \
    what you see above. Keep every fact, decision, name, number, path and open task, and what \
    matters in pictures; leave out pleasantries and superseded drafts. Write plain prose or a list, \
    nothing else.";

/// The event up to which to summarise, if the prompt exceeds its budget.
pub fn due(session: &Session, budget: &Budget) -> Option<Seq> {
    (estimated_tokens(session) > budget.context_tokens).then(|| cut(session)).flatten()
}

/// The last event that a summary can replace. Keeps the newest items, and never separates a reply
/// from the message that it answers.
pub fn cut(session: &Session) -> Option<Seq> {
    let place = session.items.len().checked_sub(KEPT.min(session.items.len() / 2))?;
    let upto = session.items.get(..place)?.last()?.seq();
    (upto > 0).then_some(upto)
}

/// The cut that summarises half of the dialogue up to `upto`, if it can be divided.
pub fn less(session: &Session, upto: Seq) -> Option<Seq> {
    let old: Vec<_> = session.items.iter().map(Item::seq).filter(|seq| *seq <= upto).collect();
    old.get(old.len() / 2).copied().filter(|seq| 0 < *seq && *seq < upto)
}

/// Estimates four characters per token. Sufficient for this decision, never used for billing.
pub fn estimated_tokens(session: &Session) -> u64 {
    let bytes: usize = session.items.iter().map(size).sum();
    let pictures: usize = session.items.iter().map(|item| item.views().count()).sum();
    bytes as u64 / 4 + pictures as u64 * PICTURE_TOKENS
}

/// The tokens that providers count for a picture of the displayed size.
const PICTURE_TOKENS: u64 = 1_600;

fn size(item: &Item) -> usize {
    match item {
        Item::Said { text, .. } | Item::Summary { text } | Item::Note { text, .. } => text.len(),
        Item::Replied { text, calls, .. } => {
            let calls = calls.iter().map(|RepliedCall { call, result }| {
                call.arguments.to_string().len() + result.as_ref().map_or(0, String::len)
            });
            text.len() + calls.sum::<usize>()
        }
        Item::Looked { .. } => 0,
    }
}
