//! Who has said yes, and what the bot has made of people: what decides whose word counts.

use anyhow::Result;
use chrono::{DateTime, Utc};
use std::collections::BTreeSet;

use super::{
    Tx,
    db::sql,
    identities::{self, Account},
};
use crate::{
    agent::approvers::Voter,
    journal::{event::Speaker, ids::ApprovalId, role::Role},
};

/// Who presses again so soon has pressed twice by mistake.
const TWICE_MS: i64 = 2_000;

/// Notes that this person says yes, or takes that back. Whether they say it now. Whoever has several
/// accounts takes back with one what they said with another.
pub async fn vote(
    tx: &mut Tx<'_>,
    approval: &ApprovalId,
    voter: &Voter,
    now: DateTime<Utc>,
) -> Result<bool> {
    let account = Account::new(&voter.channel, &voter.speaker.id);
    let mut taken_back = 0;
    for own in identities::accounts(tx, &account).await? {
        taken_back += sql!(
            tx,
            execute,
            "
            -- take a vote back
            DELETE FROM votes
            WHERE approval = $1 AND channel = $2 AND person = $3 AND at <= $4",
            approval.as_str(),
            own.channel,
            own.id,
            now.timestamp_millis() - TWICE_MS
        );
    }
    if taken_back > 0 {
        return Ok(false);
    }
    sql!(
        tx,
        execute,
        "
        -- vote
        INSERT INTO votes (approval, channel, person, name, at)
        VALUES ($1, $2, $3, $4, $5)
        ON CONFLICT (approval, channel, person) DO NOTHING",
        approval.as_str(),
        voter.channel.as_str(),
        voter.speaker.id.as_str(),
        voter.speaker.name.replace('\0', ""),
        now.timestamp_millis()
    );
    Ok(true)
}

/// The people who say yes, in the order of their saying so: accounts of one person count once.
pub async fn names(tx: &mut Tx<'_>, approval: &ApprovalId) -> Result<Vec<String>> {
    let votes: Vec<(String, String)> = sql!(
        tx,
        fetch_all,
        "
        -- votes
        SELECT v.name, COALESCE(i.person, v.channel || '/' || v.person) FROM votes v
        LEFT JOIN identities i ON i.channel = v.channel AND i.account = v.person
        WHERE v.approval = $1
        ORDER BY v.at, v.person",
        approval.as_str()
    );
    let mut people = BTreeSet::new();
    Ok(votes.into_iter().filter_map(|(name, own)| people.insert(own).then_some(name)).collect())
}

/// Who says yes, and through which door.
pub async fn of(tx: &mut Tx<'_>, approval: &ApprovalId) -> Result<Vec<(String, Speaker)>> {
    let rows: Vec<(String, String, String)> = sql!(
        tx,
        fetch_all,
        "
        -- votes with their voters
        SELECT channel, person, name FROM votes
        WHERE approval = $1
        ORDER BY at, person",
        approval.as_str()
    );
    let votes = rows.into_iter().map(|(channel, id, name)| (channel, Speaker { id, name }));
    Ok(votes.collect())
}

/// Makes it that this person has not said yes.
pub async fn strike(
    tx: &mut Tx<'_>,
    approval: &ApprovalId,
    channel: &str,
    person: &str,
) -> Result<()> {
    sql!(
        tx,
        execute,
        "
        -- strike a vote out
        DELETE FROM votes
        WHERE approval = $1 AND channel = $2 AND person = $3",
        approval.as_str(),
        channel,
        person
    );
    Ok(())
}

/// The people who have that role on a channel or one above it, the longest known of each role first.
pub async fn with_role(
    tx: &mut Tx<'_>,
    channel: &str,
    role: Role,
    most: usize,
) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for role in Role::ALL.into_iter().filter(|one| *one >= role) {
        let people: Vec<(String,)> = sql!(
            tx,
            fetch_all,
            "
            -- with role
            SELECT person FROM people
            WHERE channel = $1 AND role = $2
            ORDER BY since
            LIMIT $3",
            channel,
            role.as_str(),
            most.saturating_sub(found.len()) as i64
        );
        found.extend(people.into_iter().map(|(person,)| person));
    }
    Ok(found)
}

/// Gives somebody a role.
pub async fn make(tx: &mut Tx<'_>, channel: &str, person: &str, role: &str) -> Result<()> {
    sql!(
        tx,
        execute,
        "
        -- make
        INSERT INTO people (channel, person, name, role, since)
        VALUES ($1, $2, '', $3, 0)
        ON CONFLICT (channel, person) DO UPDATE SET role = $3",
        channel,
        person,
        role
    );
    Ok(())
}
