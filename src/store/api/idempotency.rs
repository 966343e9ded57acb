//! Stored responses for repeated API requests with the same idempotency key.
//!
//! ```text
//! (none) ──► under way ──► answered      kept for a day
//!    ▲        │   └──────► (none)        it failed and may be executed again
//!    └────────┴──────────► cut off       no response was stored for a minute
//! ```
//! A process that dies between the action and the response leaves the request under way. After a
//! minute, the request may be sent again. It is executed again if its repetition has the same
//! effect. Otherwise it is unknown whether it was executed, so it is rejected with an error that
//! says so.

use anyhow::Result;
use chrono::{DateTime, TimeDelta, Utc};

use crate::store::{
    Tx,
    db::{row::row, sql},
};

/// A stored response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredResponse {
    pub status: u16,
    pub media_type: String,
    pub body: String,
}

/// The state of an idempotency key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyState {
    /// The key is new: the request has to be executed and its response stored.
    Nothing,
    UnderWay,
    /// A process died while it executed the request.
    CutOff,
    Answered(StoredResponse),
    /// The key was used for a different request.
    Other,
}

/// The effect of executing a request twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repetition {
    /// The same as executing it once.
    Same,
    More,
}

/// A request with an idempotency key.
#[derive(Debug, Clone, Copy)]
pub struct KeyedRequest<'a> {
    pub caller: &'a str,
    pub key: &'a str,
    /// A digest of all relevant parts of the request.
    pub request: &'a str,
    pub twice: Repetition,
}

fn kept_for() -> TimeDelta {
    TimeDelta::days(1)
}

fn under_way_for() -> TimeDelta {
    TimeDelta::minutes(1)
}

row! {
    struct AnswerRow {
        request: String,
        status: Option<i64>,
        media_type: String,
        body: String,
        at: i64,
    }
}

/// Claims the key for this request, if it is free.
pub async fn begin(
    tx: &mut Tx<'_>,
    attempt: KeyedRequest<'_>,
    now: DateTime<Utc>,
) -> Result<KeyState> {
    let KeyedRequest { caller, key, request, twice } = attempt;
    let cut_off = (now - under_way_for()).timestamp_millis();
    sql!(
        tx,
        execute,
        "
        -- delete old answers, and attempts of retryable requests
        DELETE FROM answers
        WHERE at <= $1
        OR (caller = $2 AND name = $3 AND request = $5 AND status IS NULL AND at <= $4)",
        (now - kept_for()).timestamp_millis(),
        caller,
        key,
        if twice == Repetition::Same { cut_off } else { i64::MIN },
        request
    );
    let begun = sql!(
        tx,
        execute,
        "
        -- start a keyed request
        INSERT INTO answers (caller, name, request, media_type, body, at)
        VALUES ($1, $2, $3, '', '', $4)
        ON CONFLICT (caller, name) DO NOTHING",
        caller,
        key,
        request,
        now.timestamp_millis()
    );
    if begun > 0 {
        return Ok(KeyState::Nothing);
    }
    let AnswerRow { request: own, status, media_type, body, at: begun_at }: AnswerRow = sql!(
        tx,
        fetch_one,
        "
        -- stored response
        SELECT request, status, media_type, body, at FROM answers
        WHERE caller = $1 AND name = $2",
        caller,
        key
    );
    Ok(match status {
        _ if own != request => KeyState::Other,
        None if begun_at <= cut_off => KeyState::CutOff,
        None => KeyState::UnderWay,
        Some(status) => {
            KeyState::Answered(StoredResponse { status: status as u16, media_type, body })
        }
    })
}

/// Stores the response; `None` frees the key for another attempt.
pub async fn end(
    tx: &mut Tx<'_>,
    caller: &str,
    key: &str,
    answer: Option<StoredResponse>,
) -> Result<()> {
    if let Some(StoredResponse { status, media_type, body }) = answer {
        sql!(
            tx,
            execute,
            "
            -- store a response
            UPDATE answers
            SET status = $1, media_type = $2, body = $3
            WHERE caller = $4 AND name = $5",
            i64::from(status),
            media_type,
            body,
            caller,
            key
        );
    } else {
        sql!(
            tx,
            execute,
            "
            -- delete a keyed request
            DELETE FROM answers
            WHERE caller = $1 AND name = $2",
            caller,
            key
        );
    }
    Ok(())
}
