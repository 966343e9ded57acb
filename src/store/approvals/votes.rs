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

/// A vote on an approval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CastVote {
    pub channel: String,
    /// The account's id on that channel.
    pub person: String,
    pub name: String,
    /// The same for all linked accounts.
    owner: String,
    at_ms: i64,
}

impl CastVote {
    pub fn account(&self) -> Account {
        Account::new(&self.channel, &self.person)
    }

    pub fn speaker(&self) -> Speaker {
        Speaker { id: self.person.clone(), name: self.name.clone() }
    }
}

/// Adds the vote of a person, none of whose accounts has voted on this approval. Returns it.
pub async fn vote(
    tx: &mut Tx<'_>,
    approval: &ApprovalId,
    voter: &Voter,
    now: DateTime<Utc>,
) -> Result<CastVote> {
    let (channel, person) = (voter.channel.clone(), voter.speaker.id.clone());
    let name = voter.speaker.name.replace('\0', "");
    let at_ms = now.timestamp_millis();
    sql!(
        tx,
        execute,
        "
        -- insert a vote
        INSERT INTO votes (approval, channel, person, name, at)
        VALUES ($1, $2, $3, $4, $5)
        ON CONFLICT (approval, channel, person) DO NOTHING",
        approval.as_str(),
        channel.as_str(),
        person.as_str(),
        name.as_str(),
        at_ms
    );
    // There is no vote of a linked account, which would need the same owner.
    let owner = format!("{channel}/{person}");
    Ok(CastVote { channel, person, name, owner, at_ms })
}

/// Adds a vote to those that were read, in their order.
pub fn insert(votes: &mut Vec<CastVote>, vote: CastVote) {
    let is_earlier = |other: &CastVote| (other.at_ms, &other.person) <= (vote.at_ms, &vote.person);
    let index = votes.partition_point(is_earlier);
    votes.insert(index, vote);
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

/// The names of the people who cast these votes, in order. Linked accounts count once.
pub fn names<'a>(votes: impl IntoIterator<Item = &'a CastVote>) -> Vec<String> {
    let mut people = BTreeSet::new();
    let is_first = |vote: &&'a CastVote| people.insert(vote.owner.as_str());
    votes.into_iter().filter(is_first).map(|vote| vote.name.clone()).collect()
}

row! {
    struct VoteRow {
        channel: String,
        person: String,
        name: String,
        owner: String,
        at_ms: i64,
    }
}

/// The votes on an approval, in order.
pub async fn of(tx: &mut Tx<'_>, approval: &ApprovalId) -> Result<Vec<CastVote>> {
    let rows: Vec<VoteRow> = sql!(
        tx,
        fetch_all,
        "
        -- votes on an approval
        SELECT v.channel, v.person, v.name,
            COALESCE(i.person, v.channel || '/' || v.person) AS owner, v.at AS at_ms
        FROM votes v
        LEFT JOIN identities i ON i.channel = v.channel AND i.account = v.person
        WHERE v.approval = $1
        ORDER BY v.at, v.person",
        approval.as_str()
    );
    let vote = |row: VoteRow| {
        let VoteRow { channel, person, name, owner, at_ms } = row;
        CastVote { channel, person, name, owner, at_ms }
    };
    Ok(rows.into_iter().map(vote).collect())
}

/// Deletes the vote of one account.
pub async fn discard(tx: &mut Tx<'_>, approval: &ApprovalId, account: &Account) -> Result<()> {
    sql!(
        tx,
        execute,
        "
        -- discard a vote
        DELETE FROM votes
        WHERE approval = $1 AND channel = $2 AND person = $3",
        approval.as_str(),
        account.channel.as_str(),
        account.id.as_str()
    );
    Ok(())
}
