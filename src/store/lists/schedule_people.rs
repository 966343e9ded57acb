//! The people for whom an operator can schedule something, with their conversations.

use anyhow::Result;
use channels::Place;

use crate::{
    journal::{event::Event, ids::ConversationId},
    store::{
        Tx,
        db::{row::row, sql},
        erasure::redaction::speakers,
    },
};

/// The number of events in which the name of a person is looked for.
const EVENTS: i64 = 200;

row! {
    struct TargetRow {
        id: String,
        channel: String,
        place: String,
        title: String,
        person: String,
    }
}

/// A person in a conversation, for whom something can be scheduled there.
#[derive(Debug, Clone, PartialEq)]
pub struct SchedulePerson {
    pub conversation: ConversationId,
    pub channel: String,
    pub place: Place,
    /// The name of a conversation of the web chat, if it has one.
    pub title: String,
    pub person: String,
}

/// The people in conversations, newest conversation first: in all, or only in `only_in` if it is not
/// empty.
pub async fn list(tx: &mut Tx<'_>, only_in: &str, most: usize) -> Result<Vec<SchedulePerson>> {
    let rows: Vec<TargetRow> = sql!(
        tx,
        fetch_all,
        "
        -- people for whom something can be scheduled
        SELECT c.id, c.channel, c.place, c.title,
            COALESCE(p.person, NULLIF(c.owner, ''), '') AS person
        FROM conversations c
        LEFT JOIN participants p ON p.conversation = c.id
        WHERE ($1 = '' OR c.id = $1)
          AND c.root IS NULL AND c.thread <> 'erased'
          AND (p.person IS NOT NULL OR c.owner <> '')
        ORDER BY c.id DESC, person
        LIMIT $2",
        only_in,
        most as i64
    );
    let person = |row: TargetRow| {
        Ok(SchedulePerson {
            conversation: ConversationId(row.id),
            channel: row.channel,
            place: serde_json::from_str(&row.place)?,
            title: row.title,
            person: row.person,
        })
    };
    rows.into_iter().map(person).collect()
}

/// The name that a person has used in a conversation lately.
pub async fn name(
    tx: &mut Tx<'_>,
    conversation: &ConversationId,
    person: &str,
) -> Result<Option<String>> {
    let rows: Vec<(String,)> = sql!(
        tx,
        fetch_all,
        "
        -- latest events
        SELECT body FROM events
        WHERE conversation = $1
        ORDER BY seq DESC
        LIMIT $2",
        conversation.as_str(),
        EVENTS
    );
    let mut events = rows.iter().filter_map(|(body,)| serde_json::from_str::<Event>(body).ok());
    let names = |event: Event| {
        let own = speakers(&event).into_iter().find(|by| by.id == person && !by.name.is_empty());
        own.map(|by| by.name.clone())
    };
    Ok(events.find_map(names))
}
