//! Pairing codes: each gives one person a role, once.

use anyhow::Result;
use chrono::{DateTime, TimeDelta, Utc};

use super::at_most;
use crate::{
    journal::role::Role,
    store::{Tx, approvals::hash_of, at, db::sql},
};

/// After this many consecutive wrong codes, a person's codes are rejected for `LOCKED_FOR`.
const FAILURES: i64 = 5;

fn locked_for() -> TimeDelta {
    TimeDelta::minutes(15)
}

/// The result of redeeming a pairing code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pairing {
    Paired(Role),
    Wrong,
    /// Too many wrong codes: this one was not checked.
    Locked,
}

/// The role that a pairing code gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PairingRole {
    /// This role, unless the person is a visitor of a widget.
    Role(Role),
    /// Owner if the gateway has none at that time, otherwise member.
    FirstOwner,
}

impl PairingRole {
    /// The value of the column `role` for [`PairingRole::FirstOwner`].
    const FIRST: &str = "first";

    /// The default for a new code: owner only as long as there is none.
    pub async fn by_default(tx: &mut Tx<'_>, owned: OwnerSource) -> Result<Self> {
        let is_owned = owned == OwnerSource::ByConfiguration || any_owner(tx).await?;
        Ok(if is_owned { Self::Role(Role::Member) } else { Self::FirstOwner })
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Role(role) => role.as_str(),
            Self::FirstOwner => Self::FIRST,
        }
    }

    fn parse(text: &str) -> Self {
        match text {
            Self::FIRST => Self::FirstOwner,
            text => Self::Role(Role::parse(text).unwrap_or(Role::Member)),
        }
    }

    /// The role that a person would get by redeeming the code now.
    pub fn role(self) -> Role {
        match self {
            Self::Role(role) => role,
            Self::FirstOwner => Role::Owner,
        }
    }
}

/// Whether the configuration names an owner on any channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OwnerSource {
    ByConfiguration,
    NotByConfiguration,
}

impl OwnerSource {
    pub fn by<'r>(roles: impl IntoIterator<Item = &'r Role>) -> Self {
        let is_owned = roles.into_iter().any(|role| *role == Role::Owner);
        if is_owned { Self::ByConfiguration } else { Self::NotByConfiguration }
    }
}

/// A new code.
#[derive(Debug, Clone)]
pub struct PairingOffer {
    /// Empty for any channel.
    pub channel: String,
    pub code: String,
    pub makes: PairingRole,
    pub expires_at: DateTime<Utc>,
}

/// Creates a code that works once, until it expires.
pub async fn offer_pairing(tx: &mut Tx<'_>, offer: &PairingOffer) -> Result<()> {
    sql!(
        tx,
        execute,
        "
        -- create a pairing code
        INSERT INTO pairings (hash, channel, role, expires_at)
        VALUES ($1, $2, $3, $4)",
        hash_of(&offer.code),
        offer.channel.as_str(),
        offer.makes.as_str(),
        offer.expires_at.timestamp_millis()
    );
    Ok(())
}

/// A person who redeems a code.
#[derive(Debug, Clone, Copy)]
pub struct Bearer<'a> {
    pub channel: &'a str,
    pub id: &'a str,
    pub name: &'a str,
    pub code: &'a str,
    pub owned: OwnerSource,
}

/// Redeems a code with one conditional update, so that it works once.
pub async fn pair(tx: &mut Tx<'_>, bearer: Bearer<'_>, now: DateTime<Utc>) -> Result<Pairing> {
    let Bearer { channel, id, name, code, owned } = bearer;
    if is_locked(tx, channel, id, now).await? {
        return Ok(Pairing::Locked);
    }
    let redeemed: Option<(String,)> = sql!(
        tx,
        fetch_optional,
        "
        -- redeem a pairing code
        UPDATE pairings
        SET used_by = $1
        WHERE hash = $2 AND used_by IS NULL AND expires_at > $3
        AND (channel = '' OR channel = $4)
        RETURNING role",
        id,
        hash_of(code),
        now.timestamp_millis(),
        channel
    );
    let Some((makes,)) = redeemed else {
        count_failure(tx, channel, id, now).await?;
        return Ok(Pairing::Wrong);
    };
    let makes = match PairingRole::parse(&makes) {
        PairingRole::FirstOwner => PairingRole::by_default(tx, owned).await?,
        role @ PairingRole::Role(_) => role,
    };
    let role = at_most(id, makes.role());
    sql!(
        tx,
        execute,
        "
        -- add a paired person
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

/// Whether a code or an operator has made anybody the owner of this gateway.
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

pub(in crate::store) async fn is_locked(
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

pub(in crate::store) async fn count_failure(
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
