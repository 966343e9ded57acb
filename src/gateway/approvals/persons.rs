//! Maps accounts to people, where a policy counts people: several people have to agree, or anyone
//! except the requester may decide.
//!
//! Accounts are linked by their owner with `/link` (`gateway::linking`), or by an owner of the bot.
//! Without a link it is unknown whether an account on another channel is a second account of a
//! person who has already been counted. Where people are counted, an account on another channel
//! than the request's may therefore allow only if it is linked to an account on that channel;
//! denying is always safe. Two accounts on one platform count as two people unless they are linked.

use anyhow::Result;

use super::Choice;
use crate::{
    agent::approvers::Voter,
    store::{
        Tx,
        approvals::request::Approval,
        conversations::places,
        people::identities::{self, Account},
    },
};

/// Whether the voter is the requester, with the same account. The same id on another channel is a
/// different person.
pub(super) async fn is_requester(tx: &mut Tx<'_>, asked: &Approval, voter: &Voter) -> Result<bool> {
    if voter.speaker.id != asked.requester.id {
        return Ok(false);
    }
    let (home, _) = places::place(tx, &asked.conversation).await?;
    Ok(home == voter.channel)
}

/// Whether the policy names this voter.
pub(super) async fn naming(
    tx: &mut Tx<'_>,
    asked: &Approval,
    voter: &Voter,
) -> Result<VoteEligibility> {
    let is_requester = is_requester(tx, asked, voter).await?;
    Ok(if asked.approvers.admit(voter, is_requester) {
        VoteEligibility::Counts
    } else if asked.approvers.except_requester && is_requester {
        VoteEligibility::Requester
    } else {
        VoteEligibility::NotNamed
    })
}

/// Whether a vote counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum VoteEligibility {
    Counts,
    /// The policy does not name this person.
    NotNamed,
    /// The voter is the requester, who may not decide.
    Requester,
    /// It is unknown whether this person was already counted: the account has to be linked first.
    NotLinked,
}

/// Returns whether this voter's choice counts.
pub(super) async fn eligibility(
    tx: &mut Tx<'_>,
    asked: &Approval,
    choice: &Choice,
    voter: &Voter,
) -> Result<VoteEligibility> {
    let naming = naming(tx, asked, voter).await?;
    if naming != VoteEligibility::Counts || matches!(choice, Choice::Deny { .. }) {
        return Ok(naming);
    }
    of_account(tx, asked, &Account::new(&voter.channel, &voter.speaker.id)).await
}

/// Whether a vote of this account counts, as far as its links say.
pub(super) async fn of_account(
    tx: &mut Tx<'_>,
    asked: &Approval,
    account: &Account,
) -> Result<VoteEligibility> {
    if !asked.approvers.counts_people() {
        return Ok(VoteEligibility::Counts);
    }
    let (home, _) = places::place(tx, &asked.conversation).await?;
    let own = identities::accounts(tx, account).await?;
    let requester = Account::new(&home, &asked.requester.id);
    Ok(if asked.approvers.except_requester && own.contains(&requester) {
        VoteEligibility::Requester
    } else if own.iter().any(|account| account.channel == home) {
        VoteEligibility::Counts
    } else {
        VoteEligibility::NotLinked
    })
}
