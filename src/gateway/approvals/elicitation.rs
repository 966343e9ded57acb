//! Answers to elicitations of a running call, given by a button or as text.
//!
//! An answer allows nothing: it is passed only to the tool or server that asked.

use anyhow::Result;
use chrono::{DateTime, Utc};

use super::{
    Choice, DecisionOutcome,
    choice::{is_option, options},
    decide,
};
use crate::{
    agent::approvers::Voter,
    gateway::intake_context::{IntakeContext, TypedMessage},
    journal::{
        event::{ApprovalPurpose, Status},
        ids::ConversationId,
    },
    store::{
        Tx,
        approvals::{self as approval_store, request::Approval},
        outbox,
    },
};

/// The answer is the label of the button.
pub(super) async fn pressed(
    tx: &mut Tx<'_>,
    approval: &Approval,
    position: u8,
    voter: &Voter,
    now: DateTime<Utc>,
) -> Result<String> {
    let label = options(approval).nth(position.into()).map(str::to_owned);
    match label.filter(|_| approval.asks == ApprovalPurpose::Answer) {
        Some(label) => Ok(decide(tx, approval, Choice::Answer(label), voter, now).await?.text),
        None => Ok(voter.words().no_such_button.to_owned()),
    }
}

/// Takes a message as the answer to an open elicitation: a reply to it or, in a private chat, the
/// next message. Returns what to tell the person if the message was an answer and counts.
pub(in crate::gateway) async fn typed(
    tx: &mut Tx<'_>,
    context: &IntakeContext,
    conversation: &ConversationId,
    typed: &TypedMessage<'_>,
) -> Result<Option<String>> {
    let text = typed.text.trim();
    let open = approval_store::shown_in(tx, conversation).await?.into_iter();
    let owed = open.filter(|open| {
        open.asks == ApprovalPurpose::Answer
            && open.status == Status::Pending
            && open.requester.id == typed.by.id
            && (open.offers.typed || is_option(open, text))
    });
    for open in owed {
        // A message that was written before the elicitation was shown does not answer it.
        let Some(shown) = outbox::receipt(tx, &open.message).await? else { continue };
        if typed.reply_to == Some(&shown.message) || (!typed.group && typed.reply_to.is_none()) {
            let voter = typed.voter(&context.channel);
            let choice = Choice::Answer(text.to_owned());
            let answer = decide(tx, &open, choice, &voter, context.now).await?;
            return Ok((answer.outcome == DecisionOutcome::Done).then_some(answer.text));
        }
    }
    Ok(None)
}
