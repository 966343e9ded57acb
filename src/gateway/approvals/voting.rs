//! Votes, where several people have to agree: counted, shown with the approval, and withdrawn.

use anyhow::Result;
use channels::Outgoing;
use chrono::{DateTime, Utc};

use super::{
    DecisionOutcome, DecisionReply,
    persons::{self, VoteEligibility},
};
use crate::{
    agent::approvers::{VoteDoubt, Voter},
    store::{
        Tx,
        approvals::{
            display,
            request::Approval,
            votes::{self, CastVote},
        },
        audit::{self, AuditKind, Fact},
        conversations,
        people::identities::{self, Account},
    },
};

/// The result of a vote.
pub(super) enum VoteResult {
    /// These people have agreed, as many as are needed.
    Enough(Vec<String>),
    /// What the voter is told.
    Waits(DecisionReply),
}

/// Adds a vote and counts all of them. Earlier votes that would not be accepted now are discarded;
/// those whose voters have unknown roles stay and do not count. A second vote of the same person
/// changes nothing.
pub(super) async fn vote(
    tx: &mut Tx<'_>,
    approval: &Approval,
    voter: &Voter,
    now: DateTime<Utc>,
) -> Result<VoteResult> {
    let mut all = discard_lost(tx, approval, voter, now).await?;
    let account = Account::new(&voter.channel, &voter.speaker.id);
    let own = identities::accounts(tx, &account).await?;
    let is_new = !all.iter().any(|vote| own.contains(&vote.account()));
    if is_new {
        let vote = votes::vote(tx, &approval.id, voter, now).await?;
        votes::insert(&mut all, vote);
        let fact = Fact::about(AuditKind::Voted, approval, &voter.speaker.id)
            .with("channel", voter.channel.as_str());
        audit::append(tx, approval.conversation.as_str(), vec![fact], now).await?;
    }
    let is_known = |vote: &&CastVote| {
        let doubt = voter.doubt(&approval.id, &vote.channel, &vote.person);
        doubt.is_none() || own.contains(&vote.account())
    };
    let (known, needed) = (votes::names(all.iter().filter(is_known)), approval.approvers.needed);
    if known.len() >= needed {
        return Ok(VoteResult::Enough(known));
    }
    let names = votes::names(&all);
    let votes = show_votes(tx, approval, &names, now).await?;
    if names.len() >= needed {
        return Ok(VoteResult::Waits(DecisionReply::roles_unknown(voter)));
    }
    let text = if is_new { votes.as_str() } else { voter.words().grant_texts.already_voted };
    Ok(VoteResult::Waits(DecisionReply::new(DecisionOutcome::Done, text)))
}

/// Discards the votes of people who may no longer decide, or whose account is not linked to one that
/// counts any more. Returns the others.
async fn discard_lost(
    tx: &mut Tx<'_>,
    approval: &Approval,
    voter: &Voter,
    now: DateTime<Utc>,
) -> Result<Vec<CastVote>> {
    let (mut kept, mut facts) = (Vec::new(), Vec::new());
    for vote in votes::of(tx, &approval.id).await? {
        let (channel, person) = (vote.channel.as_str(), vote.person.as_str());
        let has_lost = voter.doubt(&approval.id, channel, person) == Some(VoteDoubt::Lost);
        let linked = persons::of_account(tx, approval, &vote.account()).await?;
        if !has_lost && linked == VoteEligibility::Counts {
            kept.push(vote);
            continue;
        }
        votes::discard(tx, &approval.id, &vote.account()).await?;
        tracing::warn!(
            approval.id = %approval.id, person.id = person,
            "vote discarded: the voter may no longer decide"
        );
        let fact = Fact::about(AuditKind::VoteDiscarded, approval, person);
        facts.push(fact.with("channel", channel));
    }
    audit::append(tx, approval.conversation.as_str(), facts, now).await?;
    Ok(kept)
}

/// Withdraws a vote.
pub(super) async fn withdraw(
    tx: &mut Tx<'_>,
    approval: &Approval,
    voter: &Voter,
    now: DateTime<Utc>,
) -> Result<DecisionReply> {
    if !votes::withdraw(tx, &approval.id, voter).await? {
        let text = voter.words().grant_texts.no_vote;
        return Ok(DecisionReply::new(DecisionOutcome::NotNow, text));
    }
    let fact = Fact::about(AuditKind::VoteWithdrawn, approval, &voter.speaker.id)
        .with("channel", voter.channel.as_str());
    audit::append(tx, approval.conversation.as_str(), vec![fact], now).await?;
    let names = votes::names(&votes::of(tx, &approval.id).await?);
    let votes = show_votes(tx, approval, &names, now).await?;
    Ok(DecisionReply::new(DecisionOutcome::Done, votes))
}

/// Shows the votes so far, with a button to withdraw one. Returns them.
async fn show_votes(
    tx: &mut Tx<'_>,
    approval: &Approval,
    names: &[String],
    now: DateTime<Utc>,
) -> Result<String> {
    let words = conversations::words(tx, &approval.shown_in).await?;
    let votes = words.votes(names, approval.approvers.needed);
    let mut what = display::what(tx, &approval.message).await?;
    if let Outgoing::Approval { markdown, .. } | Outgoing::Text { markdown, .. } = &mut what {
        *markdown = format!("{markdown}\n\n{votes}");
    }
    if let Outgoing::Approval { choices, .. } = &mut what
        && !names.is_empty()
    {
        choices.push(words.withdrawing());
    }
    display::redraw(tx, approval, what, now).await?;
    Ok(votes)
}
