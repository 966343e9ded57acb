//! What the intake of a message must know of its conversation, loaded in one statement.

use anyhow::Result;
use chrono::{DateTime, Utc};

use super::{SPLIT_WITHIN, journal, places::ConversationKey};
use crate::{
    journal::ids::ConversationId,
    store::{
        Tx,
        db::{row::row, sql},
    },
};

/// A conversation, and what may have to be looked at before a message is appended to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IntakeState {
    pub conversation: ConversationId,
    /// As an IETF tag; empty until it is known.
    pub language: String,
    /// Whether an approval or elicitation is open that is shown here.
    pub has_open_approvals: bool,
    /// Whether one of the last messages may continue in the next one.
    pub has_split_message: bool,
}

row! {
    struct IntakeRow {
        id: String,
        language: String,
        open: i64,
        split: i64,
    }
}

/// The conversation with this key. It is created if it does not exist.
pub async fn intake_state(
    tx: &mut Tx<'_>,
    channel: &str,
    key: ConversationKey<'_>,
    now: DateTime<Utc>,
) -> Result<IntakeState> {
    let ConversationKey { place, person } = key;
    let found: Option<IntakeRow> = sql!(
        tx,
        fetch_optional,
        "
        -- conversation of a message
        SELECT c.id, c.language,
               CAST(CASE WHEN EXISTS (
                   SELECT 1 FROM approvals a
                   WHERE a.shown_in = c.id AND a.status = 'pending'
               ) THEN 1 ELSE 0 END AS BIGINT) AS open,
               CAST(CASE WHEN c.split_seq > c.last_seq - $5 AND c.split_seq > 0
                   THEN 1 ELSE 0 END AS BIGINT) AS split
        FROM conversations c
        WHERE c.channel = $1 AND c.chat = $2 AND c.thread = $3 AND c.person = $4",
        channel,
        place.chat.as_str(),
        place.thread.as_deref().unwrap_or_default(),
        person,
        SPLIT_WITHIN
    );
    Ok(match found {
        Some(row) => IntakeState {
            conversation: ConversationId(row.id),
            language: row.language,
            has_open_approvals: row.open > 0,
            has_split_message: row.split > 0,
        },
        None => IntakeState {
            conversation: journal::conversation(tx, channel, key, now).await?,
            language: String::new(),
            has_open_approvals: false,
            has_split_message: false,
        },
    })
}
