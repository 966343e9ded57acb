//! Votes, where several people have to agree: shown with the approval, and withdrawn.

use anyhow::Result;
use channels::Outgoing;
use chrono::{DateTime, Utc};

use super::{DecisionOutcome, DecisionReply};
use crate::{
    agent::approvers::Voter,
    store::{
        Tx,
        approvals::{display, request::Approval, votes},
        audit::{self, AuditKind, Fact},
        conversations,
    },
};

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
    let names = votes::names(tx, &approval.id).await?;
    let votes = show_votes(tx, approval, &names, now).await?;
    Ok(DecisionReply::new(DecisionOutcome::Done, votes))
}

/// Shows the votes so far, with a button to withdraw one. Returns them.
pub(super) async fn show_votes(
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
