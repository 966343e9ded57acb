//! Votes on approvals.

use anyhow::Result;
use chrono::{DateTime, Utc};
use std::collections::BTreeSet;

use crate::{
    agent::approvers::Voter,
    journal::{event::Speaker, ids::ApprovalId},
    store::{
        Tx,
        db::{row::row, sql},
        people::identities::{self, Account},
    },
};

/// Adds a person's vote. Returns `false` if they have already voted, with any of their linked
/// accounts.
pub async fn vote(
    tx: &mut Tx<'_>,
    approval: &ApprovalId,
    voter: &Voter,
    now: DateTime<Utc>,
) -> Result<bool> {
    let account = Account::new(&voter.channel, &voter.speaker.id);
    let own = identities::accounts(tx, &account).await?;
    let cast = of(tx, approval).await?;
    let is_own = |channel: &str, speaker: &Speaker| {
        own.iter().any(|own| own.channel == channel && own.id == speaker.id)
    };
    if cast.iter().any(|(channel, speaker)| is_own(channel, speaker)) {
        return Ok(false);
    }
    sql!(
        tx,
        execute,
        "
        -- insert a vote
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

/// Deletes a person's vote, whichever of their linked accounts it was cast with. Returns whether
/// there was one.
pub async fn withdraw(tx: &mut Tx<'_>, approval: &ApprovalId, voter: &Voter) -> Result<bool> {
    let account = Account::new(&voter.channel, &voter.speaker.id);
    let mut withdrawn = 0;
    for own in identities::accounts(tx, &account).await? {
        withdrawn += sql!(
            tx,
            execute,
            "
            -- withdraw a vote
            DELETE FROM votes
            WHERE approval = $1 AND channel = $2 AND person = $3",
            approval.as_str(),
            own.channel,
            own.id
        );
    }
    Ok(withdrawn > 0)
}

/// The people who have voted, in order. Linked accounts count once.
pub async fn names(tx: &mut Tx<'_>, approval: &ApprovalId) -> Result<Vec<String>> {
    let votes: Vec<(String, String)> = sql!(
        tx,
        fetch_all,
        "
        -- votes on an approval
        SELECT v.name, COALESCE(i.person, v.channel || '/' || v.person) FROM votes v
        LEFT JOIN identities i ON i.channel = v.channel AND i.account = v.person
        WHERE v.approval = $1
        ORDER BY v.at, v.person",
        approval.as_str()
    );
    let mut people = BTreeSet::new();
    Ok(votes.into_iter().filter_map(|(name, own)| people.insert(own).then_some(name)).collect())
}

row! {
    struct VoteRow {
        channel: String,
        person: String,
        name: String,
    }
}

/// The voters and their channels.
pub async fn of(tx: &mut Tx<'_>, approval: &ApprovalId) -> Result<Vec<(String, Speaker)>> {
    let rows: Vec<VoteRow> = sql!(
        tx,
        fetch_all,
        "
        -- votes with their voters
        SELECT channel, person, name FROM votes
        WHERE approval = $1
        ORDER BY at, person",
        approval.as_str()
    );
    let vote = |row: VoteRow| (row.channel, Speaker { id: row.person, name: row.name });
    Ok(rows.into_iter().map(vote).collect())
}

/// Deletes the vote of one account. Returns whether there was one.
pub async fn discard(
    tx: &mut Tx<'_>,
    approval: &ApprovalId,
    channel: &str,
    person: &str,
) -> Result<bool> {
    let discarded = sql!(
        tx,
        execute,
        "
        -- discard a vote
        DELETE FROM votes
        WHERE approval = $1 AND channel = $2 AND person = $3",
        approval.as_str(),
        channel,
        person
    );
    Ok(discarded > 0)
}
