//! In which language people are spoken to.

use anyhow::Result;
use channels::{Incoming, Person};

use super::intake_context::IntakeContext;
use crate::{
    journal::ids::ConversationId,
    store::{Tx, conversations, journal},
    texts::Language,
};

/// What to say to them: in the language of who wrote last, if it is known.
pub(super) async fn spoken(
    tx: &mut Tx<'_>,
    conversation: &ConversationId,
    person: &Person,
) -> Result<Language> {
    let tag = conversations::language(tx, conversation, person.language.as_deref()).await?;
    Ok(Language::of(Some(&tag)))
}

/// Who presses need not be who wrote last: their language does not become that of the conversation.
pub(super) async fn of_presser(
    tx: &mut Tx<'_>,
    desk: &IntakeContext,
    incoming: &Incoming,
    person: &Person,
) -> Result<Language> {
    if let Some(tag) = &person.language {
        return Ok(Language::of(Some(tag)));
    }
    let seat = desk.seat(&incoming.place, person);
    Ok(match journal::find_conversation(tx, &desk.channel, seat).await? {
        Some(here) => Language::of(Some(&conversations::language(tx, &here, None).await?)),
        None => Language::default(),
    })
}
