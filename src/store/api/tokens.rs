//! API tokens: each has a name, a role and optionally an expiry. Only the hash is stored.

use anyhow::{Context as _, Result};
use chrono::{DateTime, Utc};

use crate::{
    journal::role::Role,
    store::{
        Tx,
        approvals::hash_of,
        at,
        db::{row::row, sql},
        lists::PageRequest,
    },
};

/// A token, without its secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiToken {
    pub id: String,
    pub name: String,
    pub role: Role,
    pub created_by: String,
    pub created_at: DateTime<Utc>,
    pub expires_at: Option<DateTime<Utc>>,
    pub used_at: Option<DateTime<Utc>>,
    pub revoked_at: Option<DateTime<Utc>>,
}

row! {
    struct TokenRow {
        id: String,
        name: String,
        role: String,
        created_by: String,
        created_at: i64,
        expires_at: Option<i64>,
        used_at: Option<i64>,
        revoked_at: Option<i64>,
    }
}

macro_rules! select {
    ($rest:literal) => {
        concat!(
            "
            -- api tokens
            SELECT id, name, role, created_by, created_at, expires_at, used_at, revoked_at
            FROM api_tokens ",
            $rest
        )
    };
}

fn token(row: TokenRow) -> Result<ApiToken> {
    Ok(ApiToken {
        role: Role::parse(&row.role)
            .with_context(|| format!("the role of the token {}", row.id))?,
        id: row.id,
        name: row.name,
        created_by: row.created_by,
        created_at: at(row.created_at),
        expires_at: row.expires_at.map(at),
        used_at: row.used_at.map(at),
        revoked_at: row.revoked_at.map(at),
    })
}

/// Stores a token, unless an active token has the same name.
pub async fn create(tx: &mut Tx<'_>, token: &ApiToken, secret: &str) -> Result<bool> {
    let created = sql!(
        tx,
        execute,
        "
        -- create api token
        INSERT INTO api_tokens (id, hash, name, role, created_by, created_at, expires_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7)
        ON CONFLICT DO NOTHING",
        token.id.as_str(),
        hash_of(secret),
        token.name.as_str(),
        token.role.as_str(),
        token.created_by.as_str(),
        token.created_at.timestamp_millis(),
        token.expires_at.map(|at| at.timestamp_millis())
    );
    Ok(created > 0)
}

/// The active token with this secret.
pub async fn by_secret(
    tx: &mut Tx<'_>,
    secret: &str,
    now: DateTime<Utc>,
) -> Result<Option<ApiToken>> {
    let row: Option<TokenRow> = sql!(
        tx,
        fetch_optional,
        select!(
            "WHERE hash = $1 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $2)"
        ),
        hash_of(secret),
        now.timestamp_millis()
    );
    row.map(token).transpose()
}

/// Records when it was last used.
pub async fn used(tx: &mut Tx<'_>, id: &str, now: DateTime<Utc>) -> Result<()> {
    sql!(
        tx,
        execute,
        "
        -- api token was used
        UPDATE api_tokens
        SET used_at = $1
        WHERE id = $2",
        now.timestamp_millis(),
        id
    );
    Ok(())
}

/// All tokens, including revoked ones, newest first.
pub async fn list(tx: &mut Tx<'_>, page: &PageRequest) -> Result<Vec<ApiToken>> {
    let rows: Vec<TokenRow> = sql!(
        tx,
        fetch_all,
        select!(
            "WHERE $1 = '' OR id < $1
            ORDER BY id DESC
            LIMIT $2"
        ),
        page.after.as_str(),
        page.limit as i64
    );
    rows.into_iter().map(token).collect()
}

/// The id of the active token with this name.
pub async fn id_of(tx: &mut Tx<'_>, name: &str) -> Result<Option<String>> {
    let found: Option<(String,)> = sql!(
        tx,
        fetch_optional,
        "
        -- id of api token
        SELECT id FROM api_tokens
        WHERE name = $1 AND revoked_at IS NULL",
        name
    );
    Ok(found.map(|(id,)| id))
}

/// The role of the active token with this name.
pub async fn role_of(tx: &mut Tx<'_>, name: &str, now: DateTime<Utc>) -> Result<Option<Role>> {
    let found: Option<(String,)> = sql!(
        tx,
        fetch_optional,
        "
        -- role of api token
        SELECT role FROM api_tokens
        WHERE name = $1 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $2)",
        name,
        now.timestamp_millis()
    );
    Ok(found.and_then(|(role,)| Role::parse(&role)))
}

/// Revokes a token; returns its name if it was active.
pub async fn revoke(
    tx: &mut Tx<'_>,
    id: &str,
    by: &str,
    now: DateTime<Utc>,
) -> Result<Option<String>> {
    let revoked: Option<(String,)> = sql!(
        tx,
        fetch_optional,
        "
        -- revoke api token
        UPDATE api_tokens
        SET revoked_at = $1, revoked_by = $2
        WHERE id = $3 AND revoked_at IS NULL
        RETURNING name",
        now.timestamp_millis(),
        by,
        id
    );
    Ok(revoked.map(|(name,)| name))
}
