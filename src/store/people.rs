//! Who may talk: people, pairing codes, and the tokens of the web. Secrets are kept as hashes.

use anyhow::Result;
use chrono::{DateTime, TimeDelta, Utc};

use super::{Tx, approvals::hash_of, at, db::sql};
use crate::journal::role::Role;

/// After so many wrong codes in a row, a person's codes are refused for `LOCKED_FOR`.
const FAILURES: i64 = 5;

fn locked_for() -> TimeDelta {
    TimeDelta::minutes(15)
}

/// What became of a pairing code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pairing {
    Paired(Role),
    Wrong,
    /// Too many wrong ones: not even looked at.
    Locked,
}

/// What this bot has made of that person, if it knows them.
pub async fn role(tx: &mut Tx<'_>, channel: &str, person: &str) -> Result<Option<Role>> {
    let found: Option<(String,)> = sql!(
        tx,
        fetch_optional,
        "
        -- role
        SELECT role FROM people
        WHERE channel = $1 AND person = $2",
        channel,
        person
    );
    Ok(found.and_then(|(role,)| Role::parse(&role)))
}

/// Makes a code work, once, until it expires. An empty channel means any.
pub async fn offer_pairing(
    tx: &mut Tx<'_>,
    channel: &str,
    code: &str,
    expires_at: DateTime<Utc>,
) -> Result<()> {
    sql!(
        tx,
        execute,
        "
        -- offer pairing
        INSERT INTO pairings (hash, channel, role, expires_at)
        VALUES ($1, $2, 'member', $3)",
        hash_of(code),
        channel,
        expires_at.timestamp_millis()
    );
    Ok(())
}

/// Redeems a code: one conditional update, so that it works once.
pub async fn pair(
    tx: &mut Tx<'_>,
    channel: &str,
    person: (&str, &str),
    code: &str,
    now: DateTime<Utc>,
) -> Result<Pairing> {
    let (id, name) = person;
    if is_locked(tx, channel, id, now).await? {
        return Ok(Pairing::Locked);
    }
    let redeemed = sql!(
        tx,
        execute,
        "
        -- redeem pairing
        UPDATE pairings
        SET used_by = $1
        WHERE hash = $2 AND used_by IS NULL AND expires_at > $3
        AND (channel = '' OR channel = $4)",
        id,
        hash_of(code),
        now.timestamp_millis(),
        channel
    );
    if redeemed == 0 {
        count_failure(tx, channel, id, now).await?;
        return Ok(Pairing::Wrong);
    }
    let role = if any_owner(tx).await? { Role::Member } else { Role::Owner };
    sql!(
        tx,
        execute,
        "
        -- welcome
        INSERT INTO people (channel, person, name, role, since)
        VALUES ($1, $2, $3, $4, $5)
        ON CONFLICT (channel, person) DO NOTHING",
        channel,
        id,
        name.replace('\0', ""),
        role.as_str(),
        now.timestamp_millis()
    );
    Ok(Pairing::Paired(role))
}

/// Whether somebody owns this gateway: until then, who redeems a code does.
async fn any_owner(tx: &mut Tx<'_>) -> Result<bool> {
    let found: Option<(String,)> = sql!(
        tx,
        fetch_optional,
        "
        -- any owner
        SELECT person FROM people
        WHERE role = 'owner'
        LIMIT 1"
    );
    Ok(found.is_some())
}

pub(super) async fn is_locked(
    tx: &mut Tx<'_>,
    channel: &str,
    person: &str,
    now: DateTime<Utc>,
) -> Result<bool> {
    let found: Option<(i64, i64)> = sql!(
        tx,
        fetch_optional,
        "
        -- pairing failures
        SELECT failures, last_at FROM pairing_failures
        WHERE channel = $1 AND person = $2",
        channel,
        person
    );
    Ok(found.is_some_and(|(failures, last)| failures >= FAILURES && at(last) + locked_for() > now))
}

pub(super) async fn count_failure(
    tx: &mut Tx<'_>,
    channel: &str,
    person: &str,
    now: DateTime<Utc>,
) -> Result<()> {
    sql!(
        tx,
        execute,
        "
        -- count failure; after the lock it starts again
        INSERT INTO pairing_failures (channel, person, failures, last_at)
        VALUES ($1, $2, 1, $3)
        ON CONFLICT (channel, person) DO UPDATE
        SET failures = CASE
                WHEN pairing_failures.last_at <= $4 THEN 1
                ELSE pairing_failures.failures + 1
            END,
            last_at = $3",
        channel,
        person,
        now.timestamp_millis(),
        (now - locked_for()).timestamp_millis()
    );
    Ok(())
}

/// What an access token is good for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Exchanged for a session, once.
    SignIn,
    /// A sign-in at the issuer that has begun; it ends once.
    Begun,
    Session,
}

/// Whose session it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    pub person: String,
    /// What they are called.
    pub name: String,
    /// What their issuer has said of them, as far as a role hung on it; `None`: they came by a link.
    pub claims: Option<Vec<String>>,
}

impl Access {
    fn as_str(self) -> &'static str {
        match self {
            Self::SignIn => "sign_in",
            Self::Begun => "begun",
            Self::Session => "session",
        }
    }
}

pub async fn grant_access(
    tx: &mut Tx<'_>,
    kind: Access,
    (name, token): (&str, &str),
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
    Ok(())
}

/// Begins a session of somebody whom the issuer knows.
pub async fn begin_session(
    tx: &mut Tx<'_>,
    session: &Session,
    token: &str,
    now: DateTime<Utc>,
    expires_at: DateTime<Utc>,
) -> Result<()> {
    grant_access(tx, Access::Session, (&session.person, token), now, expires_at).await?;
    let claims = session.claims.as_ref().map(serde_json::to_string).transpose()?;
    sql!(
        tx,
        execute,
        "
        -- say whose session
        UPDATE access_tokens
        SET shown = $1, claims = $2
        WHERE hash = $3",
        session.name.as_str(),
        claims,
        hash_of(token)
    );
    Ok(())
}

/// Whose session this is.
pub async fn session(tx: &mut Tx<'_>, token: &str, now: DateTime<Utc>) -> Result<Option<Session>> {
    let found: Option<(String, Option<String>, Option<String>)> = sql!(
        tx,
        fetch_optional,
        "
        -- session
        SELECT name, shown, claims FROM access_tokens
        WHERE hash = $1 AND kind = 'session' AND expires_at > $2",
        hash_of(token),
        now.timestamp_millis()
    );
    let Some((person, shown, claims)) = found else { return Ok(None) };
    let claims = claims.map(|claims| serde_json::from_str(&claims)).transpose()?;
    Ok(Some(Session { name: shown.unwrap_or_else(|| person.clone()), person, claims }))
}

/// Uses a token up that works once; whose it was.
pub async fn redeem(
    tx: &mut Tx<'_>,
    kind: Access,
    token: &str,
    now: DateTime<Utc>,
) -> Result<Option<String>> {
    let found: Option<(String,)> = sql!(
        tx,
        fetch_optional,
        "
        -- redeem
        DELETE FROM access_tokens
        WHERE hash = $1 AND kind = $2 AND expires_at > $3
        RETURNING name",
        hash_of(token),
        kind.as_str(),
        now.timestamp_millis()
    );
    Ok(found.map(|(name,)| name))
}

/// Forgets what has lapsed.
pub async fn sweep_access(tx: &mut Tx<'_>, now: DateTime<Utc>) -> Result<()> {
    sql!(
        tx,
        execute,
        "
        -- sweep access
        DELETE FROM access_tokens
        WHERE expires_at <= $1",
        now.timestamp_millis()
    );
    Ok(())
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
