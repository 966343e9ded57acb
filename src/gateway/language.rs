//! Picks the language to reply in.

use anyhow::Result;
use channels::{Incoming, Person};

use super::intake_context::IntakeContext;
use crate::{
    journal::ids::ConversationId,
    store::{
        Tx,
        conversations::{self, intake::IntakeState, journal},
    },
    texts::Language,
};

/// The language of the person who wrote last, if known.
pub(super) async fn spoken_in(
    tx: &mut Tx<'_>,
    state: &IntakeState,
    person: &Person,
) -> Result<Language> {
    if person.language.as_ref().is_none_or(|reported| *reported == state.language) {
        return Ok(Language::of(Some(&state.language)));
    }
    spoken(tx, &state.conversation, person).await
}

/// Like [`spoken_in`].
pub(super) async fn spoken(
    tx: &mut Tx<'_>,
    conversation: &ConversationId,
    person: &Person,
) -> Result<Language> {
    let tag = conversations::language(tx, conversation, person.language.as_deref()).await?;
    Ok(Language::of(Some(&tag)))
}

/// A person who presses a button need not be the last author, so their language does not become the
/// conversation's.
pub(super) async fn of_presser(
    tx: &mut Tx<'_>,
    context: &IntakeContext,
    incoming: &Incoming,
    person: &Person,
) -> Result<Language> {
    if let Some(tag) = &person.language {
        return Ok(Language::of(Some(tag)));
    }
    let key = context.conversation_key(&incoming.place, person);
    Ok(match journal::find_conversation(tx, &context.channel, key).await? {
        Some(here) => Language::of(Some(&conversations::language(tx, &here, None).await?)),
        None => Language::default(),
    })
}
