//! What is kept of a conversation besides its events: its language, what it waits for.

use anyhow::Result;
use chrono::{DateTime, TimeDelta, Utc};

use super::{Tx, at, db::sql};
use crate::{
    journal::{
        event::{Event, Seq, Speaker},
        ids::ConversationId,
    },
    texts::{Language, Messages},
};

/// What the people of a conversation are spoken to in: what the client of who wrote last told, as
/// an IETF tag; empty as long as none has.
pub async fn language(
    tx: &mut Tx<'_>,
    conversation: &ConversationId,
    told: Option<&str>,
) -> Result<String> {
    if let Some(told) = told {
        sql!(
            tx,
            execute,
            "
            -- speak
            UPDATE conversations
            SET language = $1
            WHERE id = $2 AND language <> $1",
            told,
            conversation.as_str()
        );
        return Ok(told.to_owned());
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

/// What to say to the people of a conversation.
pub async fn words(tx: &mut Tx<'_>, conversation: &ConversationId) -> Result<&'static Messages> {
    let tag = language(tx, conversation, None).await?;
    Ok(Language::of(Some(&tag)).words())
}

/// Nobody begins to read before that time is over: more may belong to what was said.
pub async fn read_after(
    tx: &mut Tx<'_>,
    conversation: &ConversationId,
    wait: TimeDelta,
    now: DateTime<Utc>,
) -> Result<()> {
    let settles_in = wait.to_std().ok().filter(|wait| !wait.is_zero());
    tx.rung.settles_in = tx.rung.settles_in.max(settles_in);
    sql!(
        tx,
        execute,
        "
        -- read after
        UPDATE conversations
        SET not_before = $1
        WHERE id = $2 AND not_before <> $1",
        (now + wait).timestamp_millis(),
        conversation.as_str()
    );
    Ok(())
}

/// Whether there is something to do, or to wait for a person or a sub-agent.
pub async fn is_busy(tx: &mut Tx<'_>, conversation: &ConversationId) -> Result<bool> {
    let found: Option<(i64,)> = sql!(
        tx,
        fetch_optional,
        "
        -- is busy
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

/// The events among which the parts of one split message are looked for.
const SPLIT_WITHIN: i64 = 32;

/// Notes that the client may have split the message of that event: the next one may go on with it.
pub async fn note_split(tx: &mut Tx<'_>, conversation: &ConversationId, seq: Seq) -> Result<()> {
    sql!(
        tx,
        execute,
        "
        -- note a split message
        UPDATE conversations
        SET split_seq = $1
        WHERE id = $2",
        seq,
        conversation.as_str()
    );
    Ok(())
}

/// The last messages, the newest first, if one of them may have been split by the client; otherwise
/// none is read. `most` bounds their number.
pub async fn said_lately(
    tx: &mut Tx<'_>,
    conversation: &ConversationId,
    most: usize,
) -> Result<Vec<(DateTime<Utc>, Speaker, String)>> {
    let rows: Vec<(i64, String)> = sql!(
        tx,
        fetch_all,
        "
        -- said lately
        SELECT e.at, e.body FROM conversations c
        JOIN events e ON e.conversation = c.id AND e.seq > c.last_seq - $2
        WHERE c.id = $1 AND c.split_seq > c.last_seq - $2 AND c.split_seq > 0
          AND e.body LIKE '{\"kind\":\"said\"%'
        ORDER BY e.seq DESC
        LIMIT $3",
        conversation.as_str(),
        SPLIT_WITHIN,
        most as i64
    );
    let mut lately = Vec::new();
    for (ms, body) in rows {
        // An event of another release is none of this dialogue's recent messages.
        if let Ok(Event::Said { by, text, .. }) = serde_json::from_str(&body) {
            lately.push((at(ms), by, text));
        }
    }
    Ok(lately)
}

/// The model that somebody has chosen for this conversation.
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

/// Nothing more is sent to that chat: the bot was shown out.
pub async fn close(tx: &mut Tx<'_>, conversation: &ConversationId) -> Result<()> {
    sql!(
        tx,
        execute,
        "
        -- close
        UPDATE outbox
        SET status = 'gone', problem = 'the bot was shown out', lease_until = 0
        WHERE status = 'waiting' AND conversation = $1",
        conversation.as_str()
    );
    Ok(())
}

/// Whether nothing is to be done or shown on a channel.
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

/// Nothing is sent to that chat until then; an empty chat is the whole bot.
pub async fn park(
    tx: &mut Tx<'_>,
    (channel, chat): (&str, &str),
    until: DateTime<Utc>,
    now: DateTime<Utc>,
) -> Result<()> {
    sql!(
        tx,
        execute,
        "
        -- forget what is over
        DELETE FROM parked
        WHERE until <= $1",
        now.timestamp_millis()
    );
    sql!(
        tx,
        execute,
        "
        -- park
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
