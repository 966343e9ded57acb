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

/// The people in conversations, newest conversation first.
pub async fn list(tx: &mut Tx<'_>, limit: usize) -> Result<Vec<SchedulePerson>> {
    let rows: Vec<TargetRow> = sql!(
        tx,
        fetch_all,
        "
        -- people for whom something can be scheduled
        SELECT c.id, c.channel, c.place, c.title,
            COALESCE(p.person, NULLIF(c.owner, ''), '') AS person
        FROM conversations c
        LEFT JOIN participants p ON p.conversation = c.id
        WHERE c.root IS NULL AND c.thread <> 'erased'
          AND (p.person IS NOT NULL OR c.owner <> '')
        ORDER BY c.id DESC, person
        LIMIT $1",
        limit as i64
    );
    rows.into_iter().map(listed).collect()
}

/// The people in a conversation; only one of them if `person` is not empty.
pub async fn of_conversation(
    tx: &mut Tx<'_>,
    conversation: &str,
    person: &str,
    limit: usize,
) -> Result<Vec<SchedulePerson>> {
    let rows: Vec<TargetRow> = sql!(
        tx,
        fetch_all,
        "
        -- people of a conversation for whom something can be scheduled
        SELECT c.id, c.channel, c.place, c.title,
            COALESCE(p.person, NULLIF(c.owner, ''), '') AS person
        FROM conversations c
        LEFT JOIN participants p ON p.conversation = c.id
        WHERE c.id = $1
          AND c.root IS NULL AND c.thread <> 'erased'
          AND (p.person IS NOT NULL OR c.owner <> '')
          AND ($2 = '' OR COALESCE(p.person, c.owner) = $2)
        ORDER BY person
        LIMIT $3",
        conversation,
        person,
        limit as i64
    );
    rows.into_iter().map(listed).collect()
}

fn listed(row: TargetRow) -> Result<SchedulePerson> {
    Ok(SchedulePerson {
        conversation: ConversationId(row.id),
        channel: row.channel,
        place: serde_json::from_str(&row.place)?,
        title: row.title,
        person: row.person,
    })
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
