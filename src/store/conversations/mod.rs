//! The state of a conversation besides its events: its language, and what it waits for.

pub mod history;
pub mod intake;
pub mod journal;
pub(super) mod mentions;
mod numbers;
pub mod own;
pub(super) mod participants;
pub mod places;
pub mod record;
pub mod retire;
pub mod snapshots;
pub mod task_answer;
mod task_status;
pub mod tasks;

use anyhow::Result;
use chrono::{DateTime, Utc};

use super::{Tx, at, db::sql};
use crate::{
    journal::{
        event::{Event, Seq, Speaker},
        ids::ConversationId,
    },
    texts::{Language, Messages},
};

/// The language of a conversation, as an IETF tag: that of the client of the last author. Empty
/// until it is known.
pub async fn language(
    tx: &mut Tx<'_>,
    conversation: &ConversationId,
    reported: Option<&str>,
) -> Result<String> {
    if let Some(reported) = reported {
        sql!(
            tx,
            execute,
            "
            -- set language
            UPDATE conversations
            SET language = $1
            WHERE id = $2 AND language <> $1",
            reported,
            conversation.as_str()
        );
        return Ok(reported.to_owned());
    }
    let (language,): (String,) = sql!(
        tx,
        fetch_one,
        "
        -- language
        SELECT language FROM conversations
        WHERE id = $1",
        conversation.as_str()
    );
    Ok(language)
}

/// The texts in the language of the conversation.
pub async fn words(tx: &mut Tx<'_>, conversation: &ConversationId) -> Result<&'static Messages> {
    let tag = language(tx, conversation, None).await?;
    Ok(Language::of(Some(&tag)).words())
}

/// Whether the conversation has something to do, or waits for a person or a sub-agent.
pub async fn is_busy(tx: &mut Tx<'_>, conversation: &ConversationId) -> Result<bool> {
    let found: Option<(i64,)> = sql!(
        tx,
        fetch_optional,
        "
        -- is a turn or approval open
        SELECT c.last_seq FROM conversations c
        WHERE c.id = $1 AND (c.ready_at IS NOT NULL OR EXISTS (
            SELECT 1 FROM approvals a
            WHERE a.conversation = c.id AND a.status = 'pending'
        ) OR EXISTS (
            SELECT 1 FROM tasks t
            WHERE t.parent = c.id AND t.status = 'open'
        ))",
        conversation.as_str()
    );
    Ok(found.is_some())
}

/// The number of recent events that are searched for parts of a split message.
const SPLIT_WITHIN: i64 = 32;

/// Records that the client may have split the message of this event, so that the next message may
/// continue it.
pub async fn note_split(tx: &mut Tx<'_>, conversation: &ConversationId, seq: Seq) -> Result<()> {
    sql!(
        tx,
        execute,
        "
        -- record a split message
        UPDATE conversations
        SET split_seq = $1
        WHERE id = $2",
        seq,
        conversation.as_str()
    );
    Ok(())
}

/// The last messages, newest first, up to `limit`. Empty unless one of them may have been split by
/// the client.
pub async fn recent_messages(
    tx: &mut Tx<'_>,
    conversation: &ConversationId,
    limit: usize,
) -> Result<Vec<(DateTime<Utc>, Speaker, String)>> {
    let rows: Vec<(i64, String)> = sql!(
        tx,
        fetch_all,
        "
        -- recent messages
        SELECT e.at, e.body FROM conversations c
        JOIN events e ON e.conversation = c.id AND e.seq > c.last_seq - $2
        WHERE c.id = $1 AND c.split_seq > c.last_seq - $2 AND c.split_seq > 0
          AND e.body LIKE '{\"kind\":\"said\"%'
        ORDER BY e.seq DESC
        LIMIT $3",
        conversation.as_str(),
        SPLIT_WITHIN,
        limit as i64
    );
    let mut lately = Vec::new();
    for (ms, body) in rows {
        // Events that this release cannot read are not messages.
        if let Ok(Event::Said { by, text, .. }) = serde_json::from_str(&body) {
            lately.push((at(ms), by, text));
        }
    }
    Ok(lately)
}

/// The model that a person chose for this conversation.
pub async fn chosen_model(
    tx: &mut Tx<'_>,
    conversation: &ConversationId,
) -> Result<Option<String>> {
    let found: Option<(String,)> = sql!(
        tx,
        fetch_optional,
        "
        -- chosen model
        SELECT body FROM events
        WHERE conversation = $1 AND body LIKE '{\"kind\":\"model_chosen\"%'
        ORDER BY seq DESC
        LIMIT 1",
        conversation.as_str()
    );
    Ok(match found.map(|(body,)| serde_json::from_str(&body)).transpose()? {
        Some(Event::ModelChosen { model, .. }) => Some(model),
        _ => None,
    })
}

/// Stops sending to the chat, because the bot was removed from it.
pub async fn close(tx: &mut Tx<'_>, conversation: &ConversationId) -> Result<()> {
    sql!(
        tx,
        execute,
        "
        -- reject messages for a chat that was left
        UPDATE outbox
        SET status = 'gone', problem = 'the bot was removed from the chat', lease_until = 0
        WHERE status = 'waiting' AND conversation = $1",
        conversation.as_str()
    );
    Ok(())
}

/// Whether a channel has nothing to do and nothing to send.
pub async fn is_quiet(tx: &mut Tx<'_>, channel: &str) -> Result<bool> {
    let found: Option<(i64,)> = sql!(
        tx,
        fetch_optional,
        "
        -- is quiet
        SELECT c.last_seq FROM conversations c
        WHERE c.channel = $1 AND (c.ready_at IS NOT NULL OR EXISTS (
            SELECT 1 FROM outbox o
            WHERE o.conversation = c.id AND o.status = 'waiting'
        ))
        LIMIT 1",
        channel
    );
    Ok(found.is_none())
}

/// Pauses sending to a chat until the given time; an empty chat means the whole bot.
pub async fn park(
    tx: &mut Tx<'_>,
    channel: &str,
    chat: &str,
    until: DateTime<Utc>,
    now: DateTime<Utc>,
) -> Result<()> {
    sql!(
        tx,
        execute,
        "
        -- delete ended pauses
        DELETE FROM parked
        WHERE until <= $1",
        now.timestamp_millis()
    );
    sql!(
        tx,
        execute,
        "
        -- pause a chat
        INSERT INTO parked (channel, chat, until)
        VALUES ($1, $2, $3)
        ON CONFLICT (channel, chat) DO UPDATE
        SET until = CASE WHEN parked.until > $3 THEN parked.until ELSE $3 END",
        channel,
        chat,
        until.timestamp_millis()
    );
    Ok(())
}
