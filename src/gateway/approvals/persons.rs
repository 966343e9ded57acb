//! Which person an account belongs to, where a policy counts people: several have to agree, or anyone
//! but the requester may decide.
//!
//! Accounts are linked by their owner with `/link` (`gateway::linking`), or by an owner of the bot. Until
//! then nobody knows whether an account on another channel is a second account of somebody who counts
//! already. So, where people are counted, an account of another channel than the one where the
//! request was made may only allow if it is linked to an account there; to deny is always safe. Two
//! accounts of one platform are two people as long as nobody links them.

use anyhow::Result;

use super::Choice;
use crate::{
    agent::approvers::Voter,
    store::{
        Tx,
        approval_request::Approval,
        identities::{self, Account},
        places,
    },
};

/// Whether that voter's word counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    Counts,
    /// The policy does not name them.
    NotNamed,
    /// They are the requester, by another account.
    Requester,
    /// Nobody knows whether they count already: the account has to be linked first.
    NotLinked,
}

/// Whether that voter's word counts for that choice.
pub(super) async fn standing(
    tx: &mut Tx<'_>,
    asked: &Approval,
    choice: &Choice,
    voter: &Voter,
) -> Result<Standing> {
    if !asked.approvers.admit(voter, &asked.requester.id) {
        return Ok(Standing::NotNamed);
    }
    if !asked.approvers.counts_people() || matches!(choice, Choice::Deny { .. }) {
        return Ok(Standing::Counts);
    }
    let (home, _) = places::place(tx, &asked.conversation).await?;
    // An id that is that of another person on the home channel has the channel in front of it.
    let id = voter.speaker.id.strip_prefix(&format!("{}/", voter.channel));
    let account = Account::new(&voter.channel, id.unwrap_or(&voter.speaker.id));
    let own = identities::accounts(tx, &account).await?;
    let requester = Account::new(&home, &asked.requester.id);
    Ok(if asked.approvers.but_requester && own.contains(&requester) {
        Standing::Requester
    } else if own.iter().any(|account| account.channel == home) {
        Standing::Counts
    } else {
        Standing::NotLinked
    })
}
