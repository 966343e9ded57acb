//! Accounts on several channels that belong to one person.
//!
//! Linked accounts belong to the same person, who then counts once. A link gives neither account
//! any rights. Both accounts take part: one requests a code, the other enters it.

use anyhow::Result;
use chrono::{DateTime, Utc};
use std::collections::BTreeSet;

use super::pairing;
use crate::store::{
    Tx,
    approvals::hash_of,
    db::{row::row, sql},
};

/// An account on a channel.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Account {
    pub channel: String,
    pub id: String,
}

impl Account {
    pub fn new(channel: &str, id: &str) -> Self {
        Self { channel: channel.to_owned(), id: id.to_owned() }
    }
}

/// The result of redeeming a code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Linking {
    /// The account is linked to the one that requested the code, whose owner has this name.
    Linked {
        to: Account,
        name: String,
    },
    /// The code was requested by this very account.
    OwnCode,
    Wrong,
    /// Too many wrong codes: this one was not checked.
    Locked,
}

/// All accounts of the person that this account belongs to, including itself.
pub async fn accounts(tx: &mut Tx<'_>, account: &Account) -> Result<BTreeSet<Account>> {
    let rows: Vec<(String, String)> = sql!(
        tx,
        fetch_all,
        "
        -- accounts of a person
        SELECT other.channel, other.account FROM identities own
        JOIN identities other ON other.person = own.person
        WHERE own.channel = $1 AND own.account = $2",
        account.channel.as_str(),
        account.id.as_str()
    );
    let linked = rows.into_iter().map(|(channel, id)| Account { channel, id });
    Ok(linked.chain([account.clone()]).collect())
}

/// An account, and the name of its person on that platform.
#[derive(Debug, Clone, Copy)]
pub struct NamedAccount<'a> {
    pub account: &'a Account,
    pub name: &'a str,
}

/// Creates a code that works once until it expires, and replaces earlier codes of the account.
pub async fn offer_link(
    tx: &mut Tx<'_>,
    NamedAccount { account, name }: NamedAccount<'_>,
    code: &str,
    now: DateTime<Utc>,
    expires_at: DateTime<Utc>,
) -> Result<()> {
    sql!(
        tx,
        execute,
        "
        -- delete expired codes
        DELETE FROM link_codes
        WHERE expires_at <= $1",
        now.timestamp_millis()
    );
    sql!(
        tx,
        execute,
        "
        -- create a link code
        INSERT INTO link_codes (hash, channel, account, name, expires_at)
        VALUES ($1, $2, $3, $4, $5)",
        hash_of(code),
        account.channel.as_str(),
        account.id.as_str(),
        name.replace('\0', ""),
        expires_at.timestamp_millis()
    );
    Ok(())
}

row! {
    struct OfferedLink {
        channel: String,
        account: String,
        name: String,
    }
}

/// Redeems a code. From then on, this account and the one that requested the code belong to one
/// person.
pub async fn redeem_link(
    tx: &mut Tx<'_>,
    own: NamedAccount<'_>,
    code: &str,
    now: DateTime<Utc>,
) -> Result<Linking> {
    let account = own.account;
    if pairing::is_locked(tx, &account.channel, &account.id, now).await? {
        return Ok(Linking::Locked);
    }
    let offered: Option<OfferedLink> = sql!(
        tx,
        fetch_optional,
        "
        -- redeem a link code
        DELETE FROM link_codes
        WHERE hash = $1 AND expires_at > $2
        RETURNING channel, account, name",
        hash_of(code),
        now.timestamp_millis()
    );
    let Some(OfferedLink { channel, account: id, name: other }) = offered else {
        pairing::count_failure(tx, &account.channel, &account.id, now).await?;
        return Ok(Linking::Wrong);
    };
    let to = Account { channel, id };
    if to == *account {
        return Ok(Linking::OwnCode);
    }
    link(tx, NamedAccount { account: &to, name: &other }, own, now).await?;
    Ok(Linking::Linked { to, name: other })
}

/// Merges the people of two accounts, with all accounts that are linked to either.
pub async fn link(
    tx: &mut Tx<'_>,
    one: NamedAccount<'_>,
    other: NamedAccount<'_>,
    now: DateTime<Utc>,
) -> Result<()> {
    let new = uuid::Uuid::now_v7().simple().to_string();
    let person = join(tx, one, &new, now).await?;
    let before = join(tx, other, &person, now).await?;
    sql!(
        tx,
        execute,
        "
        -- merge people
        UPDATE identities
        SET person = $1
        WHERE person = $2",
        person,
        before
    );
    Ok(())
}

/// The person of an account; `person` if it was not linked yet.
async fn join(
    tx: &mut Tx<'_>,
    NamedAccount { account, name }: NamedAccount<'_>,
    person: &str,
    now: DateTime<Utc>,
) -> Result<String> {
    let (person,): (String,) = sql!(
        tx,
        fetch_one,
        "
        -- link an identity
        INSERT INTO identities (channel, account, name, person, linked_at)
        VALUES ($1, $2, $3, $4, $5)
        ON CONFLICT (channel, account) DO UPDATE
        SET name = $3
        RETURNING person",
        account.channel.as_str(),
        account.id.as_str(),
        name.replace('\0', ""),
        person,
        now.timestamp_millis()
    );
    Ok(person)
}

/// Separates an account from its person. Returns whether it was linked.
pub async fn unlink(tx: &mut Tx<'_>, account: &Account) -> Result<bool> {
    let removed = sql!(
        tx,
        execute,
        "
        -- unlink an identity
        DELETE FROM identities
        WHERE channel = $1 AND account = $2",
        account.channel.as_str(),
        account.id.as_str()
    );
    Ok(removed > 0)
}
