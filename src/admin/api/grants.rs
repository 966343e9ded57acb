//! Grants: listing and revoking them.

use anyhow::Result;
use axum::{Json, extract::State, http::StatusCode};
use chrono::{DateTime, Utc};
use serde::Serialize;
use serde_json::Value;
use std::sync::Arc;
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    caller::Caller,
    parts::{Page, Params, PathNames, PersonView, Slice, none},
};
use crate::{
    admin::{Admin, problem::Problem},
    gateway::approvals::grant_management,
    journal::grant::Grant,
    store::{approvals::grants, lists::PageRequest},
};

pub fn routes() -> OpenApiRouter<Arc<Admin>> {
    OpenApiRouter::new().routes(routes!(index)).routes(routes!(revoke))
}

/// A permission for later calls.
#[derive(Debug, Serialize, ToSchema)]
pub struct GrantView {
    pub id: String,
    pub tool: String,
    /// The calls it covers: `"everything"`, or by subject
    #[schema(value_type = Value)]
    pub covers: Value,
    /// person, conversation or bot
    pub scope: String,
    /// The person (channel/id) or the conversation; empty for everybody
    pub owner: String,
    pub given_by: PersonView,
    pub expires_at: DateTime<Utc>,
    /// Absent: unlimited
    pub uses_left: Option<i64>,
}

/// Lists valid grants, in order of creation.
pub async fn page(admin: &Admin, page_request: PageRequest) -> Result<Page<GrantView>> {
    let now = admin.gateway.clock.now();
    let (rows, page_request) = admin
        .gateway
        .store
        .read(move |tx| {
            Box::pin(async move { Ok((grants::list(tx, &page_request, now).await?, page_request)) })
        })
        .await?;
    Ok(Page::of(rows, &page_request, |row| row.id.to_string(), view))
}

/// Revokes a grant immediately, on all nodes; `None` if it is not valid.
pub async fn end(admin: &Admin, caller: &Caller, id: &str) -> Result<Option<()>> {
    let (voter, id, now) = (caller.voter(), id.to_owned(), admin.gateway.clock.now());
    admin
        .gateway
        .store
        .write("revoke", move |tx| {
            Box::pin(async move {
                let Some(grant) = grants::by_id(tx, &id, now).await? else { return Ok(None) };
                grant_management::revoke(tx, &grant, &voter, now).await.map(|_| Some(()))
            })
        })
        .await
}

fn view(grant: Grant) -> GrantView {
    GrantView {
        id: grant.id.0,
        tool: grant.tool,
        covers: serde_json::to_value(grant.covers).unwrap_or_default(),
        scope: grant.scope.as_str().to_owned(),
        owner: grant.owner,
        given_by: grant.given_by.into(),
        expires_at: grant.expires_at,
        uses_left: grant.uses_left,
    }
}

/// List valid grants
#[utoipa::path(get, path = "/grants", tag = "grants", params(Slice),
    responses((status = 200, body = Page<GrantView>)), extensions(("x-role" = json!("approver"))))]
async fn index(
    State(admin): State<Arc<Admin>>,
    Params(slice): Params<Slice>,
) -> Result<Json<Page<GrantView>>, Problem> {
    Ok(Json(page(&admin, slice.page_request()?).await?))
}

/// Revoke a grant immediately
#[utoipa::path(delete, path = "/grants/{id}", tag = "grants", params(("id" = String, Path)),
    responses((status = 204)), extensions(("x-role" = json!("operator"))))]
async fn revoke(
    State(admin): State<Arc<Admin>>,
    caller: Caller,
    PathNames(id): PathNames<String>,
) -> Result<StatusCode, Problem> {
    end(&admin, &caller, &id).await?.ok_or_else(|| none(|page| page.problems.missing.grant))?;
    Ok(StatusCode::NO_CONTENT)
}
