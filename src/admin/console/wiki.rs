//! The pages of the agents' wikis.

use axum::{extract::Path, response::Response};
use serde_json::json;

use super::page::PageContext;
use crate::admin::{
    api::{
        parts::{Params, Slice, none},
        wiki::{self, WikiFilter},
    },
    problem::Problem,
};

pub async fn index(
    context: PageContext,
    Params(slice): Params<Slice>,
    Params(filter): Params<WikiFilter>,
) -> Result<Response, Problem> {
    let agents = context.admin.worker.agent_ids();
    let agent = filter.agent();
    let found = wiki::page(&context.admin, filter, slice.page_request()?).await?;
    context.page("wiki.html", json!({ "found": found, "agents": agents, "agent": agent })).await
}

pub async fn show(
    context: PageContext,
    Path((agent, page)): Path<(String, String)>,
) -> Result<Response, Problem> {
    let found = wiki::find(&context.admin, &agent, &page).await?;
    let found = found.ok_or_else(|| none(|page| page.problems.missing.page))?;
    context.page("wiki_page.html", json!({ "found": found, "agent": agent })).await
}
