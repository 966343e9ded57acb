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

/// Whether a vote counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum VoteEligibility {
    Counts,
    /// The policy does not name this person.
    NotNamed,
    /// The voter is the requester, using another account.
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
    if !asked.approvers.admit(voter, &asked.requester.id) {
        return Ok(VoteEligibility::NotNamed);
    }
    if !asked.approvers.counts_people() || matches!(choice, Choice::Deny { .. }) {
        return Ok(VoteEligibility::Counts);
    }
    let (home, _) = places::place(tx, &asked.conversation).await?;
    // An id of another person on the home channel is prefixed with the channel.
    let id = voter.speaker.id.strip_prefix(&format!("{}/", voter.channel));
    let account = Account::new(&voter.channel, id.unwrap_or(&voter.speaker.id));
    let own = identities::accounts(tx, &account).await?;
    let requester = Account::new(&home, &asked.requester.id);
    Ok(if asked.approvers.except_requester && own.contains(&requester) {
        VoteEligibility::Requester
    } else if own.iter().any(|account| account.channel == home) {
        VoteEligibility::Counts
    } else {
        VoteEligibility::NotLinked
    })
}
