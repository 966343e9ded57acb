//! Where conversations stand.

use anyhow::Result;
use channels::{Place, PlaceKind};

use super::{Tx, db::sql};
use crate::journal::{event::Event, ids::ConversationId};

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

/// Where the bot talks with one person alone: a chat that bears their id, as some platforms have
/// it, or one that they began.
pub async fn private_with(
    tx: &mut Tx<'_>,
    channel: &str,
    person: &str,
) -> Result<Option<ConversationId>> {
    let rows: Vec<(String, String, String, Option<String>)> = sql!(
        tx,
        fetch_all,
        "
        -- private conversations, with the first that happened in each
        SELECT c.id, c.chat, c.place, e.body FROM conversations c
        LEFT JOIN events e ON e.conversation = c.id AND e.seq = 1
        WHERE c.channel = $1 AND c.thread = ''
        ORDER BY c.id",
        channel
    );
    for (id, chat, place, first) in rows {
        if serde_json::from_str::<Place>(&place)?.kind != PlaceKind::Private {
            continue;
        }
        let first = first.map(|body| serde_json::from_str::<Event>(&body)).transpose()?;
        let by = match &first {
            Some(Event::Said { by, .. } | Event::Stopped { by } | Event::Restarted { by }) => {
                Some(by)
            }
            _ => None,
        };
        if chat == person || by.is_some_and(|by| by.id == person) {
            return Ok(Some(ConversationId(id)));
        }
    }
    Ok(None)
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
