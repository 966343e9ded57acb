//! People and their roles, and access tokens of the web chat. Only hashes of secrets are stored.

pub mod identities;
pub mod pairing;
pub mod push_subscriptions;
pub mod web_sessions;

use anyhow::Result;
use chrono::{DateTime, Utc};
use strum::IntoStaticStr;

use super::{
    Tx,
    approvals::hash_of,
    db::{row::row, sql},
};
use crate::journal::{event, role::Role};

/// The stored role of a person, if there is one.
pub async fn role(tx: &mut Tx<'_>, channel: &str, person: &str) -> Result<Option<Role>> {
    let found: Option<(String,)> = sql!(
        tx,
        fetch_optional,
        "
        -- role of a person
        SELECT role FROM people
        WHERE channel = $1 AND person = $2",
        channel,
        person
    );
    Ok(found.and_then(|(role,)| parse_role(person, &role)))
}

/// The role of a person from the column of their row.
pub(super) fn parse_role(person: &str, role: &str) -> Option<Role> {
    Role::parse(role).map(|role| at_most(person, role))
}

/// Limits the role of widget visitors, who are not authenticated.
pub fn at_most(person: &str, role: Role) -> Role {
    if event::is_visitor(person) { role.min(Role::Member) } else { role }
}

/// The kind of an access token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum AccessTokenKind {
    /// Exchanged for a session, once.
    SignIn,
    /// A sign-in with an OpenID provider that is in progress; it completes once. Its name is the hash
    /// of the browser's previous session, if there is one.
    Begun,
    Session,
}

/// A browser session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrowserSession {
    pub person: String,
    /// The display name.
    pub name: String,
    /// The claims of the OpenID provider on which a role depends; `None` if the person signed in
    /// with a link.
    pub claims: Option<Vec<String>>,
}

impl AccessTokenKind {
    fn as_str(self) -> &'static str {
        self.into()
    }
}

/// A new access token, of which only the hash is stored.
#[derive(Clone, Copy)]
pub struct NewAccess<'a> {
    pub kind: AccessTokenKind,
    /// The person; empty if nobody is signed in yet.
    pub name: &'a str,
    pub token: &'a str,
}

pub async fn grant_access(
    tx: &mut Tx<'_>,
    NewAccess { kind, name, token }: NewAccess<'_>,
    now: DateTime<Utc>,
    expires_at: DateTime<Utc>,
) -> Result<()> {
    sql!(
        tx,
        execute,
        "
        -- grant access
        INSERT INTO access_tokens (hash, name, kind, created_at, expires_at)
        VALUES ($1, $2, $3, $4, $5)",
        hash_of(token),
        name,
        kind.as_str(),
        now.timestamp_millis(),
        expires_at.timestamp_millis()
    );
    if kind == AccessTokenKind::Session {
        web_sessions::note_first(tx, now).await?;
    }
    Ok(())
}

/// Creates a session for a person who signed in with an OpenID provider.
pub async fn begin_session(
    tx: &mut Tx<'_>,
    session: &BrowserSession,
    token: &str,
    now: DateTime<Utc>,
    expires_at: DateTime<Utc>,
) -> Result<()> {
    let access = NewAccess { kind: AccessTokenKind::Session, name: &session.person, token };
    grant_access(tx, access, now, expires_at).await?;
    let claims = session.claims.as_ref().map(serde_json::to_string).transpose()?;
    sql!(
        tx,
        execute,
        "
        -- owner of a session
        UPDATE access_tokens
        SET shown = $1, claims = $2
        WHERE hash = $3",
        session.name.as_str(),
        claims,
        hash_of(token)
    );
    Ok(())
}

row! {
    struct SessionRow {
        name: String,
        shown: Option<String>,
        claims: Option<String>,
    }
}

/// The session with this token.
pub async fn session(
    tx: &mut Tx<'_>,
    token: &str,
    now: DateTime<Utc>,
) -> Result<Option<BrowserSession>> {
    let found: Option<SessionRow> = sql!(
        tx,
        fetch_optional,
        "
        -- browser session
        SELECT name, shown, claims FROM access_tokens
        WHERE hash = $1 AND kind = 'session' AND expires_at > $2",
        hash_of(token),
        now.timestamp_millis()
    );
    let Some(SessionRow { name: person, shown, claims }) = found else { return Ok(None) };
    let claims = claims.map(|claims| serde_json::from_str(&claims)).transpose()?;
    Ok(Some(BrowserSession { name: shown.unwrap_or_else(|| person.clone()), person, claims }))
}

/// Whether a sign-in link is valid.
pub async fn is_link(tx: &mut Tx<'_>, token: &str, now: DateTime<Utc>) -> Result<bool> {
    let found: Option<(String,)> = sql!(
        tx,
        fetch_optional,
        "
        -- is a sign-in link
        SELECT name FROM access_tokens
        WHERE hash = $1 AND kind = 'sign_in' AND expires_at > $2",
        hash_of(token),
        now.timestamp_millis()
    );
    Ok(found.is_some())
}

/// Redeems a single-use token, and returns its owner.
pub async fn redeem(
    tx: &mut Tx<'_>,
    kind: AccessTokenKind,
    token: &str,
    now: DateTime<Utc>,
) -> Result<Option<String>> {
    let found: Option<(String,)> = sql!(
        tx,
        fetch_optional,
        "
        -- redeem a token
        DELETE FROM access_tokens
        WHERE hash = $1 AND kind = $2 AND expires_at > $3
        RETURNING name",
        hash_of(token),
        kind.as_str(),
        now.timestamp_millis()
    );
    Ok(found.map(|(name,)| name))
}

/// Deletes expired tokens.
pub async fn sweep_access(tx: &mut Tx<'_>, now: DateTime<Utc>) -> Result<()> {
    sql!(
        tx,
        execute,
        "
        -- delete expired access
        DELETE FROM access_tokens
        WHERE expires_at <= $1",
        now.timestamp_millis()
    );
    Ok(())
}

/// The stored form of a session's token.
pub fn session_hash(token: &str) -> String {
    hash_of(token)
}

/// Ends a session because another one begins in the same browser. Returns whose it was.
pub async fn replace_session(tx: &mut Tx<'_>, hash: &str) -> Result<Option<String>> {
    let ended: Option<(String,)> = sql!(
        tx,
        fetch_optional,
        "
        -- replace session
        DELETE FROM access_tokens
        WHERE hash = $1 AND kind = 'session'
        RETURNING name",
        hash
    );
    Ok(ended.map(|(person,)| person))
}

/// Ends a session.
pub async fn revoke_session(tx: &mut Tx<'_>, token: &str) -> Result<()> {
    sql!(
        tx,
        execute,
        "
        -- revoke session
        DELETE FROM access_tokens
        WHERE hash = $1 AND kind = 'session'",
        hash_of(token)
    );
    Ok(())
}

/// The people who have at least this role on a channel, lowest role first, longest known first.
pub async fn people_with_role(
    tx: &mut Tx<'_>,
    channel: &str,
    role: Role,
    limit: usize,
) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for role in Role::ALL.into_iter().filter(|one| *one >= role) {
        let people: Vec<(String,)> = sql!(
            tx,
            fetch_all,
            "
            -- people with a role
            SELECT person FROM people
            WHERE channel = $1 AND role = $2
            ORDER BY since
            LIMIT $3",
            channel,
            role.as_str(),
            limit.saturating_sub(found.len()) as i64
        );
        found.extend(people.into_iter().map(|(person,)| person));
    }
    Ok(found)
}
