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
    visit: PageContext,
    Params(slice): Params<Slice>,
    Params(filter): Params<WikiFilter>,
) -> Result<Response, Problem> {
    let agents = visit.admin.worker.agent_ids();
    let agent = filter.agent();
    let found = wiki::page(&visit.admin, filter, slice.stretch()?).await?;
    visit.page("wiki.html", json!({ "found": found, "agents": agents, "agent": agent })).await
}

pub async fn show(
    visit: PageContext,
    Path((agent, page)): Path<(String, String)>,
) -> Result<Response, Problem> {
    let found = wiki::find(&visit.admin, &agent, &page).await?;
    let found = found.ok_or_else(|| none("page"))?;
    visit.page("wiki_page.html", json!({ "found": found, "agent": agent })).await
}
