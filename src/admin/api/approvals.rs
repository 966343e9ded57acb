//! Approvals: listing, showing and deciding them.

use anyhow::Result;
use axum::{Json, extract::State, http::StatusCode};
use channels::{Button, Outgoing};
use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::sync::Arc;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    caller::Caller,
    parts::{Body, Page, Params, PathNames, PersonView, Slice, none},
};
use crate::{
    admin::{
        Admin,
        problem::{Problem, REASON_TOO_LONG},
    },
    agent::approvers::Voter,
    gateway::approvals::{Choice, DecisionOutcome, GrantBounds, by_id, grant_management},
    journal::{
        event::{Attachment, Status},
        grant::Scope,
    },
    store::{
        approvals::{self as approval_store, attachments, display, request::Offers, votes},
        lists::{
            PageRequest,
            approvals::{ListedApproval, WantedApprovals, list},
        },
    },
};

pub fn routes() -> OpenApiRouter<Arc<Admin>> {
    OpenApiRouter::new().routes(routes!(index)).routes(routes!(show)).routes(routes!(decide))
}

/// An approval, open or settled.
#[derive(Debug, Serialize, ToSchema)]
pub struct ApprovalView {
    pub id: String,
    pub conversation: String,
    pub channel: String,
    /// `allow`: whether a call may run; `retry`: whether to run a call again whose outcome is
    /// unknown; `answer`: an elicitation
    #[schema(value_type = Object)]
    pub asks: Value,
    pub tool: String,
    /// The arguments that would run, until the approval is settled; then without secrets of the
    /// configuration
    #[schema(value_type = Value)]
    pub arguments: Value,
    pub title: String,
    pub requester: PersonView,
    /// Who can decide, as in the configuration
    #[schema(value_type = Value)]
    pub approvers: Value,
    /// The decisions that it accepts
    pub offers: Vec<DecisionName>,
    pub status: Status,
    pub created_at: DateTime<Utc>,
    pub expires_at: DateTime<Utc>,
    pub decided_at: Option<DateTime<Utc>>,
    pub decided_by: Option<String>,
}

/// One approval, with the text that people see.
#[derive(Debug, Serialize, ToSchema)]
pub struct WholeApproval {
    #[serde(flatten)]
    pub approval: ApprovalView,
    /// The text of the approval, in Markdown
    #[serde(rename = "question")]
    pub text: String,
    /// All details, if the text omits any; until the approval is settled
    pub everything: Option<String>,
    /// The people who have agreed so far, if several have to
    pub votes: Vec<String>,
    /// What `allow_always` would allow on the default terms, in Markdown
    pub proposal: Option<String>,
    /// The sources of untrusted content in the conversation
    pub taint: Vec<String>,
}

/// The state of the approvals to list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalState {
    Pending,
    Settled,
}

#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ApprovalFilter {
    /// Only open ones, or only settled ones
    #[param(inline)]
    pub status: Option<ApprovalState>,
    /// Only those of one conversation
    #[serde(default)]
    pub conversation: Option<String>,
}

/// Lists approvals, newest first.
pub async fn page(
    admin: &Admin,
    filter: ApprovalFilter,
    page_request: PageRequest,
) -> Result<Page<ApprovalView>> {
    let wanted = WantedApprovals {
        open: filter.status.map(|status| status == ApprovalState::Pending),
        conversation: filter.conversation.unwrap_or_default(),
        ..WantedApprovals::default()
    };
    let (rows, page_request) = admin
        .gateway
        .store
        .read(move |tx| {
            Box::pin(async move { Ok((list(tx, &wanted, &page_request).await?, page_request)) })
        })
        .await?;
    Ok(Page::of(rows, &page_request, |row| row.id.to_string(), |row| view(admin, row)))
}

/// Returns one approval with all details.
pub async fn whole(admin: &Admin, id: &str) -> Result<Option<WholeApproval>> {
    let wanted = WantedApprovals { id: id.to_owned(), ..WantedApprovals::default() };
    let now = admin.gateway.clock.now();
    let found = admin
        .gateway
        .store
        .read(move |tx| {
            Box::pin(async move {
                let only = PageRequest { limit: 1, ..PageRequest::default() };
                let Some(row) = list(tx, &wanted, &only).await?.pop() else { return Ok(None) };
                let votes = votes::names(&votes::of(tx, &row.id).await?);
                let parts = display::parts(tx, &row.id).await?;
                let approval = approval_store::by_id(tx, row.id.as_str()).await?;
                let proposal = match approval {
                    Some(approval) => {
                        grant_management::describe_proposal(tx, &approval, now).await?
                    }
                    None => None,
                };
                let file = attachments::file(tx, &row.id).await?;
                Ok(Some((row, parts, votes, proposal, file)))
            })
        })
        .await?;
    let Some((row, parts, votes, proposal, file)) = found else { return Ok(None) };
    let file = file.filter(|_| row.status == Status::Pending);
    let everything = match file {
        Some(file) => Some(text_of(admin, &file).await?),
        None => None,
    };
    let taint = admin.gateway.store.current_session(&row.conversation).await?.taint;
    Ok(Some({
        let texts = parts.iter().filter_map(|part| match part {
            Outgoing::Text { markdown, .. } | Outgoing::Approval { markdown, .. } => {
                Some(&markdown[..])
            }
            _ => None,
        });
        let text = texts.collect::<Vec<_>>().join("\n\n");
        let text = match row.status {
            Status::Pending => admin.redactor().marked(&text),
            _ => admin.redactor().text(&text).into_owned(),
        };
        WholeApproval { approval: view(admin, row), text, everything, votes, proposal, taint }
    }))
}

async fn text_of(admin: &Admin, file: &Attachment) -> Result<String> {
    let bytes = admin.gateway.artifacts.read(&file.digest).await?;
    Ok(admin.redactor().marked(&String::from_utf8_lossy(&bytes)))
}

fn view(admin: &Admin, listed: ListedApproval) -> ApprovalView {
    // A person who decides sees what runs; a settled approval is a record.
    let arguments = match listed.status {
        Status::Pending => admin.redactor().marked_value(&listed.arguments),
        _ => admin.redactor().value(&listed.arguments),
    };
    ApprovalView {
        id: listed.id.0,
        conversation: listed.conversation.0,
        channel: listed.channel,
        asks: serde_json::to_value(listed.asks).unwrap_or_default(),
        tool: listed.tool,
        arguments,
        title: admin.redactor().text(&listed.title).into_owned(),
        requester: listed.requester.into(),
        approvers: serde_json::to_value(listed.approvers).unwrap_or_default(),
        offers: offered(&listed.offers),
        status: listed.status,
        created_at: listed.created_at,
        expires_at: listed.expires_at,
        decided_at: listed.decided_at,
        decided_by: listed.decided_by,
    }
}

/// The decisions that the buttons make.
fn offered(offers: &Offers) -> Vec<DecisionName> {
    let names = offers.buttons.iter().filter_map(|button| match button {
        Button::Allow | Button::RunAgain => Some(DecisionName::Allow),
        Button::AllowConversation => Some(DecisionName::AllowForConversation),
        Button::ProposeGrant => Some(DecisionName::AllowAlways),
        Button::Deny | Button::Skip => Some(DecisionName::Deny),
        _ => None,
    });
    names.collect()
}

/// List approvals
#[utoipa::path(get, path = "/approvals", tag = "approvals", params(Slice, ApprovalFilter),
    responses((status = 200, body = Page<ApprovalView>)), extensions(("x-role" = json!("approver"))))]
async fn index(
    State(admin): State<Arc<Admin>>,
    Params(slice): Params<Slice>,
    Params(filter): Params<ApprovalFilter>,
) -> Result<Json<Page<ApprovalView>>, Problem> {
    Ok(Json(page(&admin, filter, slice.page_request()?).await?))
}

/// Show an approval, its text and the votes so far
#[utoipa::path(get, path = "/approvals/{id}", tag = "approvals", params(("id" = String, Path)),
    responses((status = 200, body = WholeApproval)), extensions(("x-role" = json!("approver"))))]
async fn show(
    State(admin): State<Arc<Admin>>,
    PathNames(id): PathNames<String>,
) -> Result<Json<WholeApproval>, Problem> {
    whole(&admin, &id).await?.map(Json).ok_or_else(|| none(|page| page.problems.missing.approval))
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DecisionBody {
    pub decision: DecisionName,
    /// The reason for denying; the model is told
    #[schema(max_length = 1000)]
    pub reason: Option<String>,
    /// With `allow_always`: the scope, lifetime and number of uses of the grant
    pub grant: Option<GrantTerms>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum DecisionName {
    /// Allow this call; if its outcome is unknown, run it again
    Allow,
    /// Allow this call, and the tool for the rest of the conversation
    AllowForConversation,
    /// Allow this call, and give the proposed grant
    AllowAlways,
    /// Deny this call; if its outcome is unknown, continue without it
    Deny,
    /// Withdraw your own vote, where several people have to agree
    WithdrawVote,
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct GrantTerms {
    /// person, conversation or bot
    #[schema(pattern = "^(person|conversation|bot)$")]
    pub scope: Option<String>,
    #[schema(minimum = 1, maximum = 366)]
    pub days: Option<i64>,
    #[schema(minimum = 1, maximum = 1_000_000)]
    pub uses: Option<i64>,
}

/// The result of a decision.
#[derive(Debug, Serialize, ToSchema)]
pub struct Decided {
    pub id: String,
    /// `pending` if more people have to agree
    pub status: Status,
    pub text: String,
}

/// Decide an approval
///
/// The approval's own policy says who can decide, in addition to the role: a token counts if
/// `approvers` names its role (`role:approver`) or everybody.
#[utoipa::path(post, path = "/approvals/{id}/decision", tag = "approvals",
    params(("id" = String, Path)), request_body = DecisionBody,
    responses((status = 200, body = Decided),
        (status = 503, description = "The platform does not report roles; send the request again")),
    extensions(("x-role" = json!("approver"))))]
async fn decide(
    State(admin): State<Arc<Admin>>,
    caller: Caller,
    PathNames(id): PathNames<String>,
    Body(body): Body<DecisionBody>,
) -> Result<Json<Decided>, Problem> {
    decided(&admin, caller.voter(), id, body).await.map(Json)
}

/// Decides, if the voter may and the approval is open.
pub async fn decided(
    admin: &Admin,
    voter: Voter,
    id: String,
    body: DecisionBody,
) -> Result<Decided, Problem> {
    let choice = choice(body)?;
    let answer = by_id::decide_as(&admin.gateway, &id, choice, voter).await?;
    let answer = answer.ok_or_else(|| none(|page| page.problems.missing.approval))?;
    match answer.outcome {
        DecisionOutcome::Done => {}
        DecisionOutcome::Refused => return Err(Problem::new(StatusCode::FORBIDDEN, answer.text)),
        DecisionOutcome::Late | DecisionOutcome::NotNow => {
            return Err(Problem::conflict(answer.text));
        }
        DecisionOutcome::RolesUnknown => return Err(Problem::try_again(answer.text)),
    }
    let of = id.clone();
    let now = admin
        .gateway
        .store
        .read(move |tx| Box::pin(async move { approval_store::by_id(tx, &of).await }));
    let status = now.await?.ok_or_else(|| none(|page| page.problems.missing.approval))?.status;
    Ok(Decided { id, status, text: answer.text })
}

fn choice(body: DecisionBody) -> Result<Choice, Problem> {
    let always = body.decision == DecisionName::AllowAlways;
    if body.grant.is_some() && !always {
        return Err(Problem::unfit("`grant` is valid only with the decision `allow_always`."));
    }
    if body.reason.as_ref().is_some_and(|reason| reason.chars().count() > 1000) {
        return Err(Problem::unfit(REASON_TOO_LONG));
    }
    Ok(match body.decision {
        DecisionName::Allow => Choice::Once,
        DecisionName::AllowForConversation => Choice::Conversation,
        DecisionName::AllowAlways => Choice::Give(terms(body.grant)?),
        DecisionName::WithdrawVote => Choice::Withdraw,
        DecisionName::Deny => {
            let reason = body.reason.map(|reason| reason.trim().to_owned());
            Choice::Deny { reason: reason.filter(|reason| !reason.is_empty()) }
        }
    })
}

fn terms(wanted: Option<GrantTerms>) -> Result<GrantBounds, Problem> {
    let mut terms = GrantBounds::default();
    let Some(wanted) = wanted else { return Ok(terms) };
    if let Some(scope) = wanted.scope {
        let known = Scope::parse(&scope);
        terms.scope =
            known.ok_or_else(|| Problem::unfit("`scope` must be person, conversation or bot."))?;
    }
    if let Some(days) = wanted.days {
        if !(1..=366).contains(&days) {
            return Err(Problem::unfit("`days` must be a number from 1 to 366."));
        }
        terms.valid_for = TimeDelta::days(days);
    }
    if wanted.uses.is_some_and(|uses| !(1..=1_000_000).contains(&uses)) {
        return Err(Problem::unfit("`uses` must be a number from 1 to 1,000,000."));
    }
    terms.uses = wanted.uses;
    Ok(terms)
}
