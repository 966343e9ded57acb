//! Requests of OpenAI clients, by which later requests find their conversation.
//!
//! ```text
//! (none) ──► claimed ──► answered ──► continued     kept with the conversation
//!    ▲          │
//!    └──────────┘ the message was refused, or the turn failed
//! ```
//! A dialogue can be continued only from its last answer, and only once: of two requests that
//! continue the same answer, the second finds nothing.

use anyhow::Result;
use channels::Place;
use chrono::{DateTime, Utc};

use crate::{
    journal::{event::Seq, ids::ConversationId},
    store::{
        Tx, at,
        conversations::journal,
        db::{row::row, sql},
    },
};

/// A request that was claimed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimedCompletion {
    pub id: String,
    pub conversation: ConversationId,
    /// The thread of the conversation.
    pub thread: String,
    /// The request that this one continues; empty if it begins a conversation.
    pub previous: String,
    /// The answer consists of what was shown after this event.
    pub after: Seq,
    /// Whether another request continues its answer.
    pub is_continued: bool,
    pub created_at: DateTime<Utc>,
}

/// A request to claim.
#[derive(Debug, Clone)]
pub struct NewCompletion {
    pub id: String,
    pub channel: String,
    /// The place of a conversation that begins with the request.
    pub place: Place,
    /// The digest of the request.
    pub request: String,
    /// The digest of the dialogue that the request continues, if it does.
    pub history: Option<String>,
}

row! {
    struct CompletionRow {
        id: String,
        conversation: String,
        thread: String,
        previous: String,
        next: String,
        after_seq: i64,
        created_at: i64,
    }
}

row! {
    struct ContinuedRow {
        id: String,
        conversation: String,
        thread: String,
        ended_seq: i64,
    }
}

/// Lets one request of a token at a time be claimed, until the end of the transaction.
pub async fn lock_token(tx: &mut Tx<'_>, name: &str) -> Result<()> {
    sql!(
        tx,
        execute,
        "
        -- lock api token
        UPDATE api_tokens
        SET used_at = used_at
        WHERE name = $1 AND revoked_at IS NULL",
        name
    );
    Ok(())
}

/// The same request, if it was claimed before. Conversations that are being deleted do not count.
pub async fn find(
    tx: &mut Tx<'_>,
    person: &str,
    request: &str,
) -> Result<Option<ClaimedCompletion>> {
    let row: Option<CompletionRow> = sql!(
        tx,
        fetch_optional,
        "
        -- find completion
        SELECT o.id, o.conversation, c.thread, o.previous, o.next, o.after_seq, o.created_at
        FROM completions o
        JOIN conversations c ON c.id = o.conversation
        WHERE o.person = $1 AND o.request = $2 AND c.chat = $1",
        person,
        request
    );
    Ok(row.map(|row| ClaimedCompletion {
        id: row.id,
        conversation: ConversationId(row.conversation),
        thread: row.thread,
        previous: row.previous,
        after: row.after_seq,
        is_continued: !row.next.is_empty(),
        created_at: at(row.created_at),
    }))
}

/// Lets the same request be claimed again. The dialogue of the earlier one can still be continued.
pub async fn forget_request(tx: &mut Tx<'_>, person: &str, request: &str) -> Result<()> {
    sql!(
        tx,
        execute,
        "
        -- forget request
        UPDATE completions
        SET request = id
        WHERE person = $1 AND request = $2",
        person,
        request
    );
    Ok(())
}

/// Claims a request. It continues the conversation of its history, or begins a new one.
pub async fn claim(
    tx: &mut Tx<'_>,
    new: &NewCompletion,
    now: DateTime<Utc>,
) -> Result<ClaimedCompletion> {
    let continued = match &new.history {
        Some(history) => continued(tx, new, history).await?,
        None => None,
    };
    let claimed = match continued {
        Some(row) => ClaimedCompletion {
            id: new.id.clone(),
            conversation: ConversationId(row.conversation),
            thread: row.thread,
            previous: row.id,
            after: row.ended_seq,
            is_continued: false,
            created_at: now,
        },
        None => ClaimedCompletion {
            id: new.id.clone(),
            conversation: journal::conversation(tx, &new.channel, &new.place, now).await?,
            thread: new.place.thread.clone().unwrap_or_default(),
            previous: String::new(),
            after: 0,
            is_continued: false,
            created_at: now,
        },
    };
    sql!(
        tx,
        execute,
        "
        -- claim completion
        INSERT INTO completions
            (id, conversation, person, request, history, previous, next, after_seq, ended_seq,
             created_at)
        VALUES ($1, $2, $3, $4, '', $5, '', $6, $6, $7)",
        claimed.id.as_str(),
        claimed.conversation.as_str(),
        new.place.chat.as_str(),
        new.request.as_str(),
        claimed.previous.as_str(),
        claimed.after,
        now.timestamp_millis()
    );
    Ok(claimed)
}

/// Takes the last answer of this dialogue for the request to continue.
async fn continued(
    tx: &mut Tx<'_>,
    new: &NewCompletion,
    history: &str,
) -> Result<Option<ContinuedRow>> {
    let row: Option<ContinuedRow> = sql!(
        tx,
        fetch_optional,
        "
        -- dialogue to continue
        SELECT o.id, o.conversation, c.thread, o.ended_seq
        FROM completions o
        JOIN conversations c ON c.id = o.conversation
        WHERE o.person = $1 AND o.history = $2 AND o.next = '' AND c.chat = $1 AND c.channel = $3
        ORDER BY o.id DESC
        LIMIT 1",
        new.place.chat.as_str(),
        history,
        new.channel.as_str()
    );
    let Some(row) = row else { return Ok(None) };
    let taken = sql!(
        tx,
        execute,
        "
        -- continue dialogue
        UPDATE completions
        SET next = $1
        WHERE id = $2 AND next = ''",
        new.id.as_str(),
        row.id.as_str()
    );
    Ok((taken > 0).then_some(row))
}

/// Records the answer, so that the dialogue can be continued from it: after the event `upto`, or a
/// later one if a request that continued it has failed.
pub async fn answered(tx: &mut Tx<'_>, id: &str, history: &str, upto: Seq) -> Result<()> {
    sql!(
        tx,
        execute,
        "
        -- completion answered
        UPDATE completions
        SET history = $1, ended_seq = CASE WHEN ended_seq < $2 THEN $2 ELSE ended_seq END
        WHERE id = $3",
        history,
        upto,
        id
    );
    Ok(())
}

/// Gives up a claim without an answer. The previous answer can be continued again, from the event
/// `upto` on.
pub async fn release(tx: &mut Tx<'_>, claimed: &ClaimedCompletion, upto: Seq) -> Result<()> {
    sql!(
        tx,
        execute,
        "
        -- release previous completion
        UPDATE completions
        SET next = '', ended_seq = CASE WHEN ended_seq < $3 THEN $3 ELSE ended_seq END
        WHERE id = $1 AND next = $2",
        claimed.previous.as_str(),
        claimed.id.as_str(),
        upto
    );
    sql!(
        tx,
        execute,
        "
        -- release completion
        DELETE FROM completions
        WHERE id = $1",
        claimed.id.as_str()
    );
    Ok(())
}
