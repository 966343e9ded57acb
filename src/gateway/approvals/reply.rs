//! What a person who decided is told.

use super::persons::VoteEligibility;
use crate::{
    agent::approvers::{Approvers, Voter},
    journal::event::ApprovalPurpose,
};

/// The outcome of a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DecisionOutcome {
    /// The decision was recorded, or a vote was added or withdrawn.
    Done,
    /// This person may not decide.
    Refused,
    /// The approval was already settled or has expired.
    Late,
    /// The approval does not offer this choice, a halt is in effect, or there is no vote to withdraw.
    NotNow,
    /// The platform did not report roles that the decision depends on: it can be tried again.
    RolesUnknown,
}

/// The outcome of a decision and the text for the person who made it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecisionReply {
    pub outcome: DecisionOutcome,
    pub text: String,
}

impl DecisionReply {
    pub(super) fn new(outcome: DecisionOutcome, text: impl Into<String>) -> Self {
        Self { outcome, text: text.into() }
    }

    /// The platform did not report roles that the decision depends on.
    pub(super) fn roles_unknown(voter: &Voter) -> Self {
        Self::new(DecisionOutcome::RolesUnknown, voter.words().grant_texts.roles_unknown)
    }

    /// The approval does not offer the choice.
    pub(super) fn not_offered(asks: ApprovalPurpose, voter: &Voter) -> Self {
        let words = voter.words();
        let text = match asks {
            ApprovalPurpose::Answer => words.elicitation.needs_answer,
            ApprovalPurpose::Allow | ApprovalPurpose::Retry => words.grant_texts.not_offered,
        };
        Self::new(DecisionOutcome::NotNow, text)
    }
}

/// Why a vote does not count.
pub(super) fn not_yours(
    approvers: &Approvers,
    eligibility: VoteEligibility,
    voter: &Voter,
) -> &'static str {
    let words = voter.words();
    match eligibility {
        VoteEligibility::NotLinked => words.linking.link_first,
        VoteEligibility::Requester => words.not_your_own,
        // A visitor may be the requester, but visitors cannot be told apart.
        _ if *approvers == Approvers::default() && !voter.speaker.is_visitor() => words.not_yours,
        _ => words.not_for_you,
    }
}
