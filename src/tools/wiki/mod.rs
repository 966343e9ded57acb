//! The wiki of an agent: Markdown pages that all its conversations share, with their sources, links
//! and history.
//!
//! - `read`: reads, lists and searches pages
//! - `relations`: related pages, and how two pages are related
//! - `write`: compiles, creates and enriches pages
//! - `archive`: archives and deletes pages
//!
//! A page that was written while tainted taints the conversation that reads it.

mod archive;
mod read;
mod relations;
mod write;

use std::sync::Arc;

use super::{Context, Tool, ToolError, memory::semantic_search::Meaning};
use crate::{
    agent::catalog::{ApprovalMode, EffectClass, Subject, Tier, ToolSpec},
    store::{
        Store,
        memory::MAX_NOTES,
        wiki::{self, Heading, PageLink, WikiListing, WikiPage},
    },
};

/// The maximum number of pages in a list.
const LISTED: usize = 200;
/// The maximum number of pages that are read for relations, which is that of a wiki.
const ALL: usize = 1_000;

#[derive(Clone)]
struct Wiki {
    store: Store,
    /// Semantic search, if an embedding model is configured.
    meaning: Option<Meaning>,
}

/// All fourteen tools.
pub fn tools(store: &Store, meaning: Option<Meaning>) -> Vec<Arc<dyn Tool>> {
    let wiki = Wiki { store: store.clone(), meaning };
    let mut tools: Vec<Arc<dyn Tool>> = Vec::new();
    for query in read::PageQuery::ALL {
        tools.push(Arc::new(read::PageQueryTool { wiki: wiki.clone(), query }));
    }
    for query in relations::RelationQuery::ALL {
        tools.push(Arc::new(relations::RelationQueryTool { wiki: wiki.clone(), query }));
    }
    for writing in write::Writing::ALL {
        tools.push(Arc::new(write::WritingTool { wiki: wiki.clone(), writing }));
    }
    for action in archive::PageAction::ALL {
        tools.push(Arc::new(archive::PageActionTool { wiki: wiki.clone(), action }));
    }
    tools
}

fn reading(name: &str, description: &str, parameters: serde_json::Value) -> ToolSpec {
    ToolSpec {
        tier: Tier::Extension,
        subject: Some(Subject::Text("page")),
        ..ToolSpec::read_only(name, description, parameters)
    }
}

/// The wiki reaches beyond its conversation, so a change needs an approval.
fn changing(name: &str, description: &str, parameters: serde_json::Value) -> ToolSpec {
    ToolSpec {
        effect: EffectClass::Idempotent,
        approval: ApprovalMode::UnlessAllowed,
        outward: true,
        ..reading(name, description, parameters)
    }
}

impl Wiki {
    async fn find(&self, page: &str, context: &Context) -> Result<Option<WikiPage>, ToolError> {
        let (agent, page) = (context.agent.clone(), named(page)?);
        let find =
            self.store.read(move |tx| Box::pin(async move { wiki::find(tx, &agent, &page).await }));
        find.await.map_err(|error| broken(&error))
    }

    async fn page(&self, page: &str, context: &Context) -> Result<WikiPage, ToolError> {
        self.find(page, context).await?.ok_or_else(|| missing(page))
    }

    async fn versions(&self, page: &str, context: &Context) -> Result<Vec<WikiPage>, ToolError> {
        let (agent, name) = (context.agent.clone(), named(page)?);
        let read = self
            .store
            .read(move |tx| Box::pin(async move { wiki::versions(tx, &agent, &name).await }));
        let versions = read.await.map_err(|error| broken(&error))?;
        if versions.is_empty() { Err(missing(page)) } else { Ok(versions) }
    }

    async fn headings(&self, listing: WikiListing) -> Result<Vec<Heading>, ToolError> {
        let list =
            self.store.read(move |tx| Box::pin(async move { wiki::list(tx, &listing).await }));
        list.await.map_err(|error| broken(&error))
    }

    async fn links(&self, context: &Context) -> Result<Vec<PageLink>, ToolError> {
        let agent = context.agent.clone();
        let links =
            self.store.read(move |tx| Box::pin(async move { wiki::links(tx, &agent).await }));
        links.await.map_err(|error| broken(&error))
    }
}

fn named(page: &str) -> Result<String, ToolError> {
    wiki::name(page).ok_or_else(|| {
        ToolError::InvalidParameters(format!(
            "{page:?} is not a page name: use letters, digits, hyphens and slashes"
        ))
    })
}

fn missing(page: &str) -> ToolError {
    ToolError::ExecutionFailed(format!(
        "Not found: {page} is not in the wiki; wiki_list_pages lists all pages"
    ))
}

fn changed(page: &str) -> ToolError {
    ToolError::ExecutionFailed(format!(
        "{page} has changed since this call was approved: read it, and make a new call if it is \
            still right"
    ))
}

fn full() -> ToolError {
    ToolError::ExecutionFailed(format!(
        "The maximum of {MAX_NOTES} pages is reached, including archived ones: delete some first"
    ))
}

/// The sources of untrusted content in these pages.
fn untrusted<'a>(pages: impl IntoIterator<Item = &'a WikiPage>) -> Vec<String> {
    let tainted = pages.into_iter().filter(|page| !page.taint.is_empty());
    tainted.map(|page| format!("wiki {}", page.page)).collect()
}

/// The same for pages in a list, whose names and titles were written like their text.
fn untrusted_headings<'a>(headings: impl IntoIterator<Item = &'a Heading>) -> Vec<String> {
    let tainted = headings.into_iter().filter(|heading| !heading.taint.is_empty());
    tainted.map(|heading| format!("wiki {}", heading.page)).collect()
}

fn broken(error: &anyhow::Error) -> ToolError {
    tracing::error!(problem = format!("{error:#}"), "the wiki is unavailable");
    ToolError::ExecutionFailed("The wiki is unavailable: try again later".into())
}
