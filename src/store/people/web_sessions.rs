//! Browser sessions and unused sign-in links, as listed and ended by operators. Only hashes are
//! stored.

use anyhow::Result;
use chrono::{DateTime, Utc};
use strum::IntoStaticStr;

use crate::store::{
    Tx, at,
    db::{row::row, sql},
    lists::PageRequest,
};

/// A session, or a sign-in link that was not used yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenAccess {
    pub id: AccessId,
    pub kind: AccessKind,
    /// The person who is, or would be, signed in.
    pub person: String,
    /// The display name.
    pub name: String,
    /// Whether they signed in with an OpenID provider rather than with a link.
    pub by_issuer: bool,
    pub created_at: DateTime<Utc>,
    pub expires_at: DateTime<Utc>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum AccessKind {
    Session,
    Link,
}

impl AccessKind {
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// The creation time and the beginning of the hash, which cannot be used to sign in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccessId {
    created_ms: i64,
    hash_start: String,
}

const HASH_CHARS: usize = 16;

impl AccessId {
    pub fn parse(text: &str) -> Option<Self> {
        let (created_ms, hash_start) = text.split_once('-')?;
        let is_hash =
            hash_start.len() == HASH_CHARS && hash_start.bytes().all(|b| b.is_ascii_hexdigit());
        let created_ms = created_ms.parse().ok()?;
        is_hash.then(|| Self { created_ms, hash_start: hash_start.to_owned() })
    }
}

impl std::fmt::Display for AccessId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}-{}", self.created_ms, self.hash_start)
    }
}

row! {
    struct AccessRow {
        hash: String,
        name: String,
        kind: String,
        created_at: i64,
        expires_at: i64,
        shown: Option<String>,
        claims: Option<String>,
    }
}

fn open_access(row: AccessRow) -> OpenAccess {
    let hash_start = row.hash.chars().take(HASH_CHARS).collect();
    OpenAccess {
        id: AccessId { created_ms: row.created_at, hash_start },
        kind: if row.kind == "session" { AccessKind::Session } else { AccessKind::Link },
        name: row.shown.unwrap_or_else(|| row.name.clone()),
        person: row.name,
        by_issuer: row.claims.is_some(),
        created_at: at(row.created_at),
        expires_at: at(row.expires_at),
    }
}

/// The valid sessions and links, newest first.
pub async fn list(
    tx: &mut Tx<'_>,
    page_request: &PageRequest,
    now: DateTime<Utc>,
) -> Result<Vec<OpenAccess>> {
    let after = AccessId::parse(&page_request.after);
    let (before_ms, before_hash) =
        after.map_or((i64::MAX, String::new()), |id| (id.created_ms, id.hash_start));
    let rows: Vec<AccessRow> = sql!(
        tx,
        fetch_all,
        "
        -- open access
        SELECT hash, name, kind, created_at, expires_at, shown, claims
        FROM access_tokens
        WHERE kind IN ('session', 'sign_in') AND expires_at > $1
        AND (created_at < $2 OR (created_at = $2 AND hash < $3))
        ORDER BY created_at DESC, hash DESC
        LIMIT $4",
        now.timestamp_millis(),
        before_ms,
        before_hash,
        page_request.limit as i64
    );
    Ok(rows.into_iter().map(open_access).collect())
}

/// Whether the person has a valid session.
pub async fn is_signed_in(tx: &mut Tx<'_>, person: &str, now: DateTime<Utc>) -> Result<bool> {
    let found: Option<(i64,)> = sql!(
        tx,
        fetch_optional,
        "
        -- session of a person
        SELECT created_at FROM access_tokens
        WHERE name = $1 AND kind = 'session' AND expires_at > $2
        LIMIT 1",
        person,
        now.timestamp_millis()
    );
    Ok(found.is_some())
}

/// Ends one immediately; returns its owner.
pub async fn end(tx: &mut Tx<'_>, id: &AccessId) -> Result<Option<String>> {
    let ended: Option<(String,)> = sql!(
        tx,
        fetch_optional,
        "
        -- end access
        DELETE FROM access_tokens
        WHERE created_at = $1 AND substr(hash, 1, 16) = $2 AND kind IN ('session', 'sign_in')
        RETURNING name",
        id.created_ms,
        id.hash_start.as_str()
    );
    Ok(ended.map(|(person,)| person))
}

/// Ends all sessions and links of a person. Returns how many there were.
pub async fn end_all(tx: &mut Tx<'_>, person: &str) -> Result<u64> {
    Ok(sql!(
        tx,
        execute,
        "
        -- end all access
        DELETE FROM access_tokens
        WHERE name = $1 AND kind IN ('session', 'sign_in')",
        person
    ))
}

/// Records that somebody has signed in.
pub(in crate::store) async fn note_first(tx: &mut Tx<'_>, now: DateTime<Utc>) -> Result<()> {
    sql!(
        tx,
        execute,
        "
        -- record the first sign-in
        INSERT INTO first_sign_in (id, at)
        VALUES (1, $1)
        ON CONFLICT DO NOTHING",
        now.timestamp_millis()
    );
    Ok(())
}

/// Whether anybody has ever signed in.
pub async fn has_any_sign_in(tx: &mut Tx<'_>) -> Result<bool> {
    let (count,): (i64,) = sql!(
        tx,
        fetch_one,
        "
        -- first sign-in
        SELECT COUNT(*)
        FROM first_sign_in"
    );
    Ok(count > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_read_again_and_nothing_else_is_one() {
        let id = AccessId { created_ms: 1_700_000_000_000, hash_start: "0123456789abcdef".into() };
        assert_eq!(AccessId::parse(&id.to_string()), Some(id));
        for odd in ["", "1", "1-", "x-0123456789abcdef", "1-0123456789abcdeg", "1-0123456789abcde"]
        {
            assert_eq!(AccessId::parse(odd), None, "{odd}");
        }
    }
}
