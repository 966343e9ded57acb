//! Approvals: open ones with all details, and the history.

use axum::{
    extract::Path,
    response::{Redirect, Response},
};
use serde::Deserialize;
use serde_json::json;

use super::page::{PageContext, Sent, back};
use crate::{
    admin::{
        api::{
            approvals::{
                ApprovalFilter, ApprovalState, DecisionBody, DecisionName, decided, page, whole,
            },
            parts::{Params, Slice},
        },
        console::live,
        problem::Problem,
    },
    agent::approvers::Voter,
    journal::event::Status,
};

/// Open approvals, newest first.
pub async fn open(context: PageContext, Params(slice): Params<Slice>) -> Result<Response, Problem> {
    let seen = live::approvals(&context.admin).await?;
    let filter =
        ApprovalFilter { status: Some(ApprovalState::Pending), ..ApprovalFilter::default() };
    let found = page(&context.admin, filter, slice.page_request()?).await?;
    let mut approvals = Vec::new();
    for approval in &found.items {
        approvals.extend(whole(&context.admin, &approval.id).await?);
    }
    let live = format!("/console/events?of=approvals&seen={seen}");
    let values = json!({ "approvals": approvals, "found": found, "live": live });
    context.page("approvals.html", values).await
}

pub async fn history(
    context: PageContext,
    Params(slice): Params<Slice>,
) -> Result<Response, Problem> {
    let filter =
        ApprovalFilter { status: Some(ApprovalState::Settled), ..ApprovalFilter::default() };
    let found = page(&context.admin, filter, slice.page_request()?).await?;
    context.page("history.html", json!({ "found": found })).await
}

#[derive(Deserialize)]
pub struct DecisionForm {
    decision: DecisionName,
    #[serde(default)]
    reason: String,
}

pub async fn decide(
    context: PageContext,
    Path(id): Path<String>,
    Sent(sent): Sent<DecisionForm>,
) -> Result<Redirect, Problem> {
    let reason = Some(sent.reason).filter(|reason| !reason.trim().is_empty());
    let body = DecisionBody { decision: sent.decision, reason, grant: None };
    let voter = Voter { language: context.language, ..context.caller.voter() };
    let decided = decided(&context.admin, voter, id, body).await?;
    let done = match (sent.decision, decided.status) {
        (DecisionName::WithdrawVote, _) => "vote_withdrawn",
        (_, Status::Pending) => "voted",
        _ => "decided",
    };
    Ok(back("approvals", done))
}
