//! Where conversations stand.

use anyhow::Result;
use channels::{Place, PlaceKind};

use super::{Tx, db::sql};
use crate::journal::{event::Event, ids::ConversationId};

/// A place, and whose conversation it is there, where each person has one of their own.
#[derive(Debug, Clone, Copy)]
pub struct Seat<'a> {
    pub place: &'a Place,
    /// Nobody's, where all share one.
    pub person: &'a str,
}

impl<'a> From<&'a Place> for Seat<'a> {
    fn from(place: &'a Place) -> Self {
        Self { place, person: "" }
    }
}

/// Every conversation of a chat, with its topics.
pub async fn of_chat(tx: &mut Tx<'_>, channel: &str, chat: &str) -> Result<Vec<ConversationId>> {
    let rows: Vec<(String,)> = sql!(
        tx,
        fetch_all,
        "
        -- conversations of a chat
        SELECT id FROM conversations
        WHERE channel = $1 AND chat = $2
        ORDER BY id",
        channel,
        chat
    );
    Ok(rows.into_iter().map(|(id,)| ConversationId(id)).collect())
}

/// The chat goes on under another id; its conversations go with it.
pub async fn move_chat(tx: &mut Tx<'_>, channel: &str, from: &str, to: &str) -> Result<()> {
    let rows: Vec<(String, String)> = sql!(
        tx,
        fetch_all,
        "
        -- conversations of a chat
        SELECT id, place FROM conversations
        WHERE channel = $1 AND chat = $2",
        channel,
        from
    );
    for (id, place) in rows {
        let mut place: Place = serde_json::from_str(&place)?;
        to.clone_into(&mut place.chat);
        sql!(
            tx,
            execute,
            "
            -- move conversation; where one has begun there already, only what it shows moves
            UPDATE conversations
            SET place = $2,
                chat = CASE WHEN EXISTS (
                    SELECT 1 FROM conversations c
                    WHERE c.channel = $4 AND c.chat = $1 AND c.thread = conversations.thread
                    AND c.person = conversations.person
                ) THEN chat ELSE $1 END
            WHERE id = $3",
            to,
            serde_json::to_string(&place)?,
            id,
            channel
        );
    }
    Ok(())
}

/// The channel and the place of a conversation.
pub async fn place(tx: &mut Tx<'_>, conversation: &ConversationId) -> Result<(String, Place)> {
    let (channel, place): (String, String) = sql!(
        tx,
        fetch_one,
        "
        -- place of a conversation
        SELECT channel, place FROM conversations
        WHERE id = $1",
        conversation.as_str()
    );
    Ok((channel, serde_json::from_str(&place)?))
}

/// Whose conversation it is; nobody's, where all share one.
pub async fn person(tx: &mut Tx<'_>, conversation: &ConversationId) -> Result<String> {
    let (person,): (String,) = sql!(
        tx,
        fetch_one,
        "
        -- whose conversation
        SELECT person FROM conversations
        WHERE id = $1",
        conversation.as_str()
    );
    Ok(person)
}

/// Whether a conversation stands there, whosever it is.
pub async fn stands_at(
    tx: &mut Tx<'_>,
    conversation: &ConversationId,
    channel: &str,
    there: &Place,
) -> Result<bool> {
    let (own, place) = place(tx, conversation).await?;
    Ok(own == channel && place.chat == there.chat && place.thread == there.thread)
}

/// Where the bot talks with one person alone.
pub async fn private_with(
    tx: &mut Tx<'_>,
    channel: &str,
    person: &str,
) -> Result<Option<ConversationId>> {
    let all = private(tx, channel).await?.into_iter();
    let theirs = |known: &Private| known.person == person && known.thread.is_empty();
    Ok(all.filter(theirs).map(|known| known.id).next())
}

/// All of them, with their topics, and those that the person has to themselves in groups.
pub async fn all_private_with(
    tx: &mut Tx<'_>,
    channel: &str,
    person: &str,
) -> Result<Vec<ConversationId>> {
    let in_groups: Vec<(String,)> = sql!(
        tx,
        fetch_all,
        "
        -- conversations of a person
        SELECT id FROM conversations
        WHERE channel = $1 AND person = $2
        ORDER BY id",
        channel,
        person
    );
    let private = private(tx, channel).await?.into_iter();
    let private = private.filter(|known| known.person == person).map(|known| known.id);
    Ok(private.chain(in_groups.into_iter().map(|(id,)| ConversationId(id))).collect())
}

/// A conversation with one person alone, or a topic of it.
pub struct Private {
    id: ConversationId,
    thread: String,
    pub person: String,
}

/// All of them: a chat bears the person's id, as some platforms have it, or is one that they began.
pub async fn private(tx: &mut Tx<'_>, channel: &str) -> Result<Vec<Private>> {
    let rows: Vec<(String, String, String, String, Option<String>)> = sql!(
        tx,
        fetch_all,
        "
        -- private conversations, with the first that happened in each
        SELECT c.id, c.chat, c.thread, c.place, e.body FROM conversations c
        LEFT JOIN events e ON e.conversation = c.id AND e.seq = 1
        WHERE c.channel = $1
        ORDER BY c.id",
        channel
    );
    let mut found = Vec::new();
    for (id, chat, thread, place, first) in rows {
        if serde_json::from_str::<Place>(&place)?.kind != PlaceKind::Private {
            continue;
        }
        let id = ConversationId(id);
        let first = first.map(|body| serde_json::from_str::<Event>(&body)).transpose()?;
        if let Some(Event::Said { by, .. } | Event::Stopped { by } | Event::Restarted { by }) =
            first
            && by.id != chat
        {
            found.push(Private { id: id.clone(), thread: thread.clone(), person: by.id });
        }
        found.push(Private { id, thread, person: chat });
    }
    Ok(found)
}

/// The chats of a channel in which one person talks to the bot.
pub async fn private_chats(tx: &mut Tx<'_>, channel: &str) -> Result<Vec<String>> {
    let rows: Vec<(String, String)> = sql!(
        tx,
        fetch_all,
        "
        -- chats of a channel
        SELECT chat, place FROM conversations
        WHERE channel = $1",
        channel
    );
    let private = rows.into_iter().filter(|(_, place)| {
        serde_json::from_str::<Place>(place).is_ok_and(|place| place.kind == PlaceKind::Private)
    });
    Ok(private.map(|(chat, _)| chat).collect())
}
