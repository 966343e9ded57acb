//! Long texts that a client has split into several messages.

use anyhow::Result;

use super::intake_context::IntakeContext;
use crate::{
    journal::event::Speaker,
    store::{
        Tx,
        conversations::{self, intake::IntakeState},
    },
};

/// The number of parts of one paste that count as one message; further parts count again.
const PARTS: usize = 8;

/// Whether this message follows so quickly after a part that the same person's client split off
/// that it is the next part of the same paste.
pub(super) async fn continues_paste(
    tx: &mut Tx<'_>,
    context: &IntakeContext,
    state: &IntakeState,
    by: &Speaker,
) -> Result<bool> {
    if !state.has_split_message {
        return Ok(false);
    }
    let mut next_at = context.now;
    let lately = conversations::recent_messages(tx, &state.conversation, PARTS).await?;
    let parts = lately.into_iter().take_while(|(at, own, text)| {
        let follows = own.id == by.id && is_cut(text) && next_at - *at <= context.settings.debounce;
        next_at = *at;
        follows
    });
    Ok((1..PARTS).contains(&parts.count()))
}

/// Clients split pasted text at the platform's longest message.
const CUT_AT: usize = 4_000;

/// Whether the client may have split the text here.
pub(super) fn is_cut(text: &str) -> bool {
    text.encode_utf16().count() >= CUT_AT
}
