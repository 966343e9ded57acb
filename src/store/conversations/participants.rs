//! The people who take part in conversations that are not private. An erasure then need not search
//! the journal.

use anyhow::Result;
use std::collections::BTreeSet;

use crate::{
    journal::{event::Event, ids::ConversationId},
    store::{
        Tx,
        db::sql,
        erasure::redaction::{NOBODY, speakers},
    },
};

/// The ids of the people in an event.
pub(in crate::store) fn people_in(event: &Event) -> BTreeSet<&str> {
    let ids = speakers(event).into_iter().map(|by| by.id.as_str());
    ids.filter(|id| !id.is_empty() && *id != NOBODY).collect()
}

/// Records the people of an event.
pub(in crate::store) async fn note(
    tx: &mut Tx<'_>,
    conversation: &ConversationId,
    event: &Event,
) -> Result<()> {
    for person in people_in(event) {
        insert(tx, conversation.as_str(), person).await?;
    }
    Ok(())
}

/// Records a participant. Private chats are skipped: they are found by their owner.
pub(in crate::store) async fn insert(
    tx: &mut Tx<'_>,
    conversation: &str,
    person: &str,
) -> Result<()> {
    sql!(
        tx,
        execute,
        "
        -- insert a participant
        INSERT INTO participants (channel, person, conversation)
        SELECT channel, CAST($2 AS TEXT), id FROM conversations
        WHERE id = $1 AND COALESCE(owner, '') = ''
        ON CONFLICT (channel, person, conversation) DO NOTHING",
        conversation,
        person
    );
    Ok(())
}

/// The shared conversations in which this person takes part.
pub(in crate::store) async fn conversations_of(
    tx: &mut Tx<'_>,
    channel: &str,
    person: &str,
) -> Result<Vec<ConversationId>> {
    let rows: Vec<(String,)> = sql!(
        tx,
        fetch_all,
        "
        -- conversations of a participant
        SELECT conversation FROM participants
        WHERE channel = $1 AND person = $2
        ORDER BY conversation",
        channel,
        person
    );
    Ok(rows.into_iter().map(|(id,)| ConversationId(id)).collect())
}
