//! The pages of the agents' wikis.

use anyhow::Result;
use axum::{Json, extract::State};
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::{router::OpenApiRouter, routes};

use super::parts::{Page, Params, PathNames, PersonView, Slice, none};
use crate::{
    admin::{Admin, problem::Problem},
    store::{
        lists::PageRequest,
        wiki::{self, Heading, WikiListing, WikiSource},
    },
};

pub fn routes() -> OpenApiRouter<Arc<Admin>> {
    OpenApiRouter::new().routes(routes!(index)).routes(routes!(show))
}

/// A page of a wiki in a list.
#[derive(Debug, Serialize, ToSchema)]
pub struct WikiHeadingView {
    pub agent: String,
    pub page: String,
    pub title: String,
    pub version: i64,
    pub archived: bool,
    pub changed_at: DateTime<Utc>,
}

/// A version of a page of a wiki.
#[derive(Debug, Serialize, ToSchema)]
pub struct WikiPageView {
    pub page: String,
    pub title: String,
    /// Markdown, without secrets
    pub content: String,
    pub version: i64,
    /// The current version and the earlier ones that are kept, newest first
    pub versions: Vec<WikiVersionView>,
    pub sources: Vec<WikiSourceView>,
    /// The sources of untrusted content that had been read when it was written
    pub taint: Vec<String>,
    pub archived: bool,
}

/// When a version of a page was written, and for whom.
#[derive(Debug, Serialize, ToSchema)]
pub struct WikiVersionView {
    pub version: i64,
    pub title: String,
    pub by: PersonView,
    pub written_at: DateTime<Utc>,
}

/// What a page was compiled from.
#[derive(Debug, Serialize, ToSchema)]
pub struct WikiSourceView {
    /// file, URL, page, conversation or text
    pub kind: String,
    pub name: String,
    /// The SHA-256 of a file as it was read, or the version of a page
    #[schema(required)]
    pub state: Option<String>,
    /// The passage that was used
    #[schema(required)]
    pub quote: Option<String>,
    /// The version in which it was added
    pub since: i64,
}

#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct WikiFilter {
    /// The agent whose wiki it is; default if empty
    #[serde(default)]
    pub agent: String,
    /// Only pages whose names begin so
    #[serde(default)]
    pub prefix: String,
}

impl WikiFilter {
    /// The agent whose wiki is meant.
    pub fn agent(&self) -> String {
        if self.agent.is_empty() { "default".into() } else { self.agent.clone() }
    }
}

impl From<Heading> for WikiHeadingView {
    fn from(heading: Heading) -> Self {
        let Heading { agent, page, title, version, is_archived, changed_at, .. } = heading;
        Self { agent, page, title, version, archived: is_archived, changed_at }
    }
}

/// Lists the pages of a wiki by name.
pub async fn page(
    admin: &Admin,
    filter: WikiFilter,
    page_request: PageRequest,
) -> Result<Page<WikiHeadingView>> {
    let listing = WikiListing {
        agent: filter.agent(),
        prefix: filter.prefix,
        after: page_request.after.clone(),
        limit: page_request.limit,
    };
    let read =
        admin.gateway.store.read(move |tx| Box::pin(async move { wiki::list(tx, &listing).await }));
    let view = |mut heading: Heading| {
        heading.title = admin.redactor().text(&heading.title).into_owned();
        heading.into()
    };
    Ok(Page::of(read.await?, &page_request, |row| row.page.clone(), view))
}

/// A page with its history; `None` if there is none.
pub async fn find(admin: &Admin, agent: &str, page: &str) -> Result<Option<WikiPageView>> {
    let (agent, page) = (agent.to_owned(), page.to_owned());
    let read = admin
        .gateway
        .store
        .read(move |tx| Box::pin(async move { wiki::versions(tx, &agent, &page).await }));
    let all = read.await?;
    let shown = |text: &str| admin.redactor().text(text).into_owned();
    let versions = all.iter().map(|version| WikiVersionView {
        version: version.version,
        title: shown(&version.title),
        by: version.by.clone().into(),
        written_at: version.written_at,
    });
    let versions = versions.collect();
    let source = |source: WikiSource| WikiSourceView {
        kind: source.kind.as_str().to_owned(),
        name: shown(&source.name),
        state: source.state,
        quote: source.quote.map(|quote| shown(&quote)),
        since: source.since,
    };
    Ok(all.into_iter().next().map(|current| WikiPageView {
        page: current.page,
        title: shown(&current.title),
        content: shown(&current.content),
        version: current.version,
        versions,
        sources: current.sources.into_iter().map(source).collect(),
        taint: current.taint,
        archived: current.is_archived,
    }))
}

/// List the pages of a wiki
#[utoipa::path(get, path = "/wiki", tag = "wiki", params(Slice, WikiFilter),
    responses((status = 200, body = Page<WikiHeadingView>)),
    extensions(("x-role" = json!("operator"))))]
async fn index(
    State(admin): State<Arc<Admin>>,
    Params(slice): Params<Slice>,
    Params(filter): Params<WikiFilter>,
) -> Result<Json<Page<WikiHeadingView>>, Problem> {
    Ok(Json(page(&admin, filter, slice.page_request()?).await?))
}

/// Show a page of a wiki, with its sources and history
#[utoipa::path(get, path = "/wiki/{agent}/{page}", tag = "wiki",
    params(("agent" = String, Path), ("page" = String, Path)),
    responses((status = 200, body = WikiPageView)),
    extensions(("x-role" = json!("operator"))))]
async fn show(
    State(admin): State<Arc<Admin>>,
    PathNames((agent, page)): PathNames<(String, String)>,
) -> Result<Json<WikiPageView>, Problem> {
    find(&admin, &agent, &page)
        .await?
        .map(Json)
        .ok_or_else(|| none(|page| page.problems.missing.page))
}
