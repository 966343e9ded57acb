//! Grants, and the halt of all tools.

use anyhow::{Context as _, Result};
use chrono::{DateTime, Utc};

use crate::{
    journal::{
        event::Speaker,
        grant::{Grant, Permissions, Scope},
        ids::{ApprovalId, ConversationId, GrantId},
    },
    store::{
        Store, Tx, at,
        db::{
            row::row,
            sql,
            unreadable::{JsonTable, readable_rows},
        },
        lists::PageRequest,
    },
};

/// A grant that was valid when the call was judged has been revoked, has expired or is used up.
/// Nothing was recorded.
#[derive(Debug, thiserror::Error)]
#[error("a grant was revoked, has expired or is used up")]
pub struct GrantNotUsable;

/// The name of the only halt.
const TOOLS: &str = "tools";

/// The advisory lock that orders starts of calls and the halt on PostgreSQL.
const HALT_LOCK: i64 = 0x6861_6c74;
/// SQLite has one writer and needs no lock.
const NO_LOCK: &str = "SELECT $1";

/// The key of a person as the owner of a grant.
pub fn person(channel: &str, id: &str) -> String {
    format!("{channel}/{id}")
}

impl Store {
    /// The grants and halt that apply to a conversation and its requester.
    pub async fn permissions(
        &self,
        conversation: &ConversationId,
        person: String,
        now: DateTime<Utc>,
    ) -> Result<Permissions> {
        let conversation = conversation.clone();
        self.read(move |tx| {
            Box::pin(async move {
                let grants = in_force(tx, &person, &conversation, now).await?;
                Ok(Permissions { halted: is_halted(tx).await?, grants })
            })
        })
        .await
    }
}

row! {
    struct GrantRow {
        id: String,
        tool: String,
        covers: String,
        scope: String,
        owner: String,
        given_by: String,
        expires_at: i64,
        uses_left: Option<i64>,
    }
}

/// Selects valid grants; `$1` is the time.
macro_rules! select {
    ($rest:literal) => {
        concat!(
            "
            -- grants
            SELECT id, tool, covers, scope, owner, given_by, expires_at, uses_left FROM grants
            WHERE revoked_at IS NULL AND expires_at > $1 AND (uses_left IS NULL OR uses_left > 0) ",
            $rest
        )
    };
}

/// The grants for a person and a conversation, in order of creation.
pub async fn in_force(
    tx: &mut Tx<'_>,
    person: &str,
    conversation: &ConversationId,
    now: DateTime<Utc>,
) -> Result<Vec<Grant>> {
    let rows: Vec<GrantRow> = sql!(
        tx,
        fetch_all,
        select!(
            "AND ((scope = 'person' AND owner = $2)
                OR (scope = 'conversation' AND owner = $3)
                OR scope = 'bot')
            ORDER BY id"
        ),
        now.timestamp_millis(),
        person,
        conversation.as_str()
    );
    Ok(readable(rows))
}

/// All valid grants, for owners of the bot.
pub async fn all(tx: &mut Tx<'_>, now: DateTime<Utc>) -> Result<Vec<Grant>> {
    let rows: Vec<GrantRow> = sql!(tx, fetch_all, select!("ORDER BY id"), now.timestamp_millis());
    Ok(readable(rows))
}

/// One page of the valid grants, in order of creation.
pub async fn list(
    tx: &mut Tx<'_>,
    page_request: &PageRequest,
    now: DateTime<Utc>,
) -> Result<Vec<Grant>> {
    let rows: Vec<GrantRow> = sql!(
        tx,
        fetch_all,
        select!(
            "AND id > $2
            ORDER BY id
            LIMIT $3"
        ),
        now.timestamp_millis(),
        page_request.after.as_str(),
        page_request.limit as i64
    );
    rows.into_iter().map(grant).collect()
}

/// The grant with this id, if it is valid.
pub async fn by_id(tx: &mut Tx<'_>, id: &str, now: DateTime<Utc>) -> Result<Option<Grant>> {
    let row: Option<GrantRow> =
        sql!(tx, fetch_optional, select!("AND id = $2"), now.timestamp_millis(), id);
    row.map(grant).transpose()
}

/// The grant that was given with this approval, if it is still valid.
pub async fn of_approval(
    tx: &mut Tx<'_>,
    approval: &ApprovalId,
    now: DateTime<Utc>,
) -> Result<Option<Grant>> {
    let row: Option<GrantRow> = sql!(
        tx,
        fetch_optional,
        select!("AND approval = $2"),
        now.timestamp_millis(),
        approval.as_str()
    );
    row.map(grant).transpose()
}

/// The grants that can be read. An unreadable grant allows nothing.
fn readable(rows: Vec<GrantRow>) -> Vec<Grant> {
    readable_rows(JsonTable::Grants, rows, |row| &row.id, grant)
}

fn grant(row: GrantRow) -> Result<Grant> {
    Ok(Grant {
        id: GrantId(row.id),
        tool: row.tool,
        covers: serde_json::from_str(&row.covers)?,
        scope: Scope::parse(&row.scope).context("a grant's scope")?,
        owner: row.owner,
        given_by: serde_json::from_str(&row.given_by)?,
        expires_at: at(row.expires_at),
        uses_left: row.uses_left,
    })
}

pub async fn give(
    tx: &mut Tx<'_>,
    grant: &Grant,
    approval: &ApprovalId,
    now: DateTime<Utc>,
) -> Result<()> {
    sql!(
        tx,
        execute,
        "
        -- give a grant
        INSERT INTO grants
            (id, tool, covers, scope, owner, approval, given_by, given_at, expires_at, uses_left)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
        grant.id.as_str(),
        grant.tool.as_str(),
        serde_json::to_string(&grant.covers)?,
        grant.scope.as_str(),
        grant.owner.as_str(),
        approval.as_str(),
        serde_json::to_string(&grant.given_by)?,
        now.timestamp_millis(),
        grant.expires_at.timestamp_millis(),
        grant.uses_left
    );
    Ok(())
}

/// Revokes a grant. Returns the approval that it was given with, if it was still valid.
pub async fn revoke(
    tx: &mut Tx<'_>,
    id: &GrantId,
    by: &str,
    now: DateTime<Utc>,
) -> Result<Option<ApprovalId>> {
    let revoked: Option<(String,)> = sql!(
        tx,
        fetch_optional,
        "
        -- revoke a grant
        UPDATE grants
        SET revoked_at = $1, revoked_by = $2
        WHERE id = $3 AND revoked_at IS NULL
        RETURNING approval",
        now.timestamp_millis(),
        by,
        id.as_str()
    );
    Ok(revoked.map(|(approval,)| ApprovalId(approval)))
}

/// Uses a grant once, in the transaction that records the start of the call. On [`GrantNotUsable`]
/// the start must not be recorded.
pub(in crate::store) async fn spend(
    tx: &mut Tx<'_>,
    id: &GrantId,
    now: DateTime<Utc>,
) -> Result<()> {
    let spent = sql!(
        tx,
        execute,
        "
        -- use a grant
        UPDATE grants
        SET uses_left = uses_left - 1
        WHERE id = $1 AND revoked_at IS NULL AND expires_at > $2
        AND (uses_left IS NULL OR uses_left > 0)",
        id.as_str(),
        now.timestamp_millis()
    );
    anyhow::ensure!(spent > 0, GrantNotUsable);
    Ok(())
}

/// Orders this transaction and a concurrent halt. Without the lock, neither would see the other's
/// uncommitted changes on PostgreSQL.
pub(in crate::store) async fn lock_against_halt(tx: &mut Tx<'_>) -> Result<()> {
    let lock = tx.either(NO_LOCK, "SELECT pg_advisory_xact_lock_shared($1)");
    sql!(tx, execute, lock, HALT_LOCK);
    Ok(())
}

/// Stops all tools on all nodes. Returns whether they were running until now.
pub async fn halt(tx: &mut Tx<'_>, by: &Speaker, now: DateTime<Utc>) -> Result<bool> {
    let lock = tx.either(NO_LOCK, "SELECT pg_advisory_xact_lock($1)");
    sql!(tx, execute, lock, HALT_LOCK);
    let halted = sql!(
        tx,
        execute,
        "
        -- halt tools
        INSERT INTO halts (name, by_whom, since)
        VALUES ($1, $2, $3)
        ON CONFLICT (name) DO NOTHING",
        TOOLS,
        serde_json::to_string(by)?,
        now.timestamp_millis()
    );
    Ok(halted > 0)
}

/// Lifts the halt. Returns whether there was one.
pub async fn lift(tx: &mut Tx<'_>) -> Result<bool> {
    let lifted = sql!(
        tx,
        execute,
        "
        -- end the halt
        DELETE FROM halts
        WHERE name = $1",
        TOOLS
    );
    Ok(lifted > 0)
}

/// Who halted the tools and when, if they are halted.
pub async fn halt_at_hand(tx: &mut Tx<'_>) -> Result<Option<(Speaker, DateTime<Utc>)>> {
    let found: Option<(String, i64)> = sql!(
        tx,
        fetch_optional,
        "
        -- current halt
        SELECT by_whom, since FROM halts
        WHERE name = $1",
        TOOLS
    );
    found.map(|(by, since)| Ok((serde_json::from_str(&by)?, at(since)))).transpose()
}

/// Who halted the tools, if they are halted.
pub async fn halted_by(tx: &mut Tx<'_>) -> Result<Option<Speaker>> {
    Ok(halt_at_hand(tx).await?.map(|(by, _)| by))
}

async fn is_halted(tx: &mut Tx<'_>) -> Result<bool> {
    Ok(halted_by(tx).await?.is_some())
}
