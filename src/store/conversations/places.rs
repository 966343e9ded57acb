//! The places of conversations, and the owners of private chats.

use anyhow::Result;
use channels::{Place, PlaceKind};

use crate::{
    journal::ids::ConversationId,
    store::{Store, Tx, db::sql},
};

/// The key of a conversation: its place and, if each person has a separate conversation, the
/// person.
#[derive(Debug, Clone, Copy)]
pub struct ConversationKey<'a> {
    pub place: &'a Place,
    /// Empty if all people share one conversation.
    pub person: &'a str,
}

impl<'a> From<&'a Place> for ConversationKey<'a> {
    fn from(place: &'a Place) -> Self {
        Self { place, person: "" }
    }
}

/// All conversations of a chat, including its topics.
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

/// Moves the conversations of a chat that continues under a new id.
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
            -- move conversation; if one exists at the destination, only its messages move
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

/// The channel and place of a conversation.
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

/// The person of a conversation; empty if it is shared.
pub async fn person(tx: &mut Tx<'_>, conversation: &ConversationId) -> Result<String> {
    let (person,): (String,) = sql!(
        tx,
        fetch_one,
        "
        -- person of a conversation
        SELECT person FROM conversations
        WHERE id = $1",
        conversation.as_str()
    );
    Ok(person)
}

/// Whether a conversation is at this place, regardless of its owner.
pub async fn is_current_place(
    tx: &mut Tx<'_>,
    conversation: &ConversationId,
    channel: &str,
    there: &Place,
) -> Result<bool> {
    let (own, place) = place(tx, conversation).await?;
    Ok(own == channel && place.chat == there.chat && place.thread == there.thread)
}

/// The private chat with a person: one that they own, or one that has their id.
pub async fn private_with(
    tx: &mut Tx<'_>,
    channel: &str,
    person: &str,
) -> Result<Option<ConversationId>> {
    let found: Option<(String,)> = sql!(
        tx,
        fetch_optional,
        "
        -- private chat with a person
        SELECT id FROM (
            SELECT id FROM conversations
            WHERE channel = $1 AND owner = $2 AND owner <> '' AND thread = ''
            UNION
            SELECT id FROM conversations
            WHERE channel = $1 AND chat = $2 AND thread = '' AND person = '' AND owner <> ''
        ) found
        ORDER BY id
        LIMIT 1",
        channel,
        person
    );
    Ok(found.map(|(id,)| ConversationId(id)))
}

/// All private chats with this person, including topics, and their own conversations in groups.
pub async fn all_private_with(
    tx: &mut Tx<'_>,
    channel: &str,
    person: &str,
) -> Result<Vec<ConversationId>> {
    let rows: Vec<(String,)> = sql!(
        tx,
        fetch_all,
        "
        -- conversations of a person
        SELECT id FROM conversations
        WHERE channel = $1 AND owner = $2 AND owner <> ''
        UNION
        SELECT id FROM conversations
        WHERE channel = $1 AND chat = $2 AND owner <> ''
        UNION
        SELECT id FROM conversations
        WHERE channel = $1 AND person = $2 AND person <> ''
        ORDER BY id",
        channel,
        person
    );
    Ok(rows.into_iter().map(|(id,)| ConversationId(id)).collect())
}

/// The people with whom the bot has private chats, in the order in which the chats began.
pub async fn known_people(tx: &mut Tx<'_>, channel: &str, limit: usize) -> Result<Vec<String>> {
    let rows: Vec<(String,)> = sql!(
        tx,
        fetch_all,
        "
        -- people with private chats
        SELECT owner FROM conversations
        WHERE channel = $1 AND owner <> '' AND thread = ''
        ORDER BY created_at
        LIMIT $2",
        channel,
        limit as i64
    );
    Ok(rows.into_iter().map(|(owner,)| owner).collect())
}

/// The private chats of a channel. Expensive: a channel reads them only at startup.
pub async fn private_chats(tx: &mut Tx<'_>, channel: &str) -> Result<Vec<String>> {
    let rows: Vec<(String,)> = sql!(
        tx,
        fetch_all,
        "
        -- private chats of a channel
        SELECT chat FROM conversations
        WHERE channel = $1 AND owner <> ''",
        channel
    );
    Ok(rows.into_iter().map(|(chat,)| chat).collect())
}

/// The owner of a conversation before anybody has written in it: platforms without separate chat
/// ids use the person's id.
pub(in crate::store) fn first_owner(place: &Place) -> &str {
    if place.kind == PlaceKind::Private { &place.chat } else { "" }
}

/// Records who began a private chat, where the chat has its own id.
pub(in crate::store) async fn note_owner(
    tx: &mut Tx<'_>,
    conversation: &ConversationId,
    person: &str,
) -> Result<()> {
    sql!(
        tx,
        execute,
        "
        -- record the owner
        UPDATE conversations
        SET owner = $1
        WHERE id = $2 AND owner <> '' AND owner <> $1",
        person,
        conversation.as_str()
    );
    Ok(())
}

/// `private`: whether it is a private chat; `first`: the id of the first author.
macro_rules! determine {
    ($first:literal) => {
        concat!(
            "
            -- determine owners
            UPDATE conversations
            SET owner = CASE
                WHEN root IS NULL AND place LIKE '%\"kind\":\"private\"%' THEN COALESCE((
                    SELECT ",
            $first,
            " FROM events e
                    WHERE e.conversation = conversations.id AND e.seq = 1
                    AND (e.body LIKE '{\"kind\":\"said\"%' OR e.body LIKE '{\"kind\":\"stopped\"%'
                        OR e.body LIKE '{\"kind\":\"restarted\"%')
                ), chat)
                ELSE ''
            END
            WHERE id IN (
                SELECT id FROM conversations
                WHERE owner IS NULL
                LIMIT $1
            )"
        )
    };
}

impl Store {
    /// Determines the owners of conversations that an earlier release created, a limited number per
    /// transaction.
    pub async fn determine_owners(&self, limit: usize) -> Result<()> {
        loop {
            if !self.read(|tx| Box::pin(any_without_owner(tx))).await? {
                return Ok(());
            }
            self.write("determine owners", move |tx| {
                Box::pin(async move {
                    let determine = tx.either(
                        determine!("json_extract(e.body, '$.by.id')"),
                        determine!("CAST(e.body AS JSON) #>> '{by,id}'"),
                    );
                    Ok(sql!(tx, execute, determine, limit as i64))
                })
            })
            .await?;
        }
    }
}

async fn any_without_owner(tx: &mut Tx<'_>) -> Result<bool> {
    let found: Option<(String,)> = sql!(
        tx,
        fetch_optional,
        "
        -- any without an owner
        SELECT id FROM conversations
        WHERE owner IS NULL
        ORDER BY id
        LIMIT 1"
    );
    Ok(found.is_some())
}
