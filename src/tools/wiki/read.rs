//! `wiki_read_page`, `wiki_read_many`, `wiki_list_pages`, `wiki_search_pages`,
//! `wiki_semantic_search`, `wiki_trace_source`: reads the wiki.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use std::fmt::Write as _;

use super::{LISTED, Wiki, broken, reading, untrusted, untrusted_headings};
use crate::{
    agent::catalog::{Subject, ToolSpec},
    store::{
        memory::{self, Memory},
        wiki::{self, WikiListing, WikiPage, WikiSource},
    },
    tools::{
        Context, Output, Tool, ToolError,
        contract::arguments::{parse, schema},
    },
};

/// The maximum number of pages that are read at once, and of their bytes.
const READ_AT_ONCE: usize = 10;
const READ_BYTES: usize = 128 * 1024;
const FOUND: usize = 10;
const EXCERPT_CHARS: usize = 300;
/// The number of versions that are listed.
const HISTORY: usize = 20;

/// What a tool reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PageQuery {
    Page,
    Many,
    List,
    Search,
    SemanticSearch,
    Trace,
}

impl PageQuery {
    pub const ALL: [Self; 6] =
        [Self::Page, Self::Many, Self::List, Self::Search, Self::SemanticSearch, Self::Trace];
}

pub(super) struct PageQueryTool {
    pub wiki: Wiki,
    pub query: PageQuery,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct OnePage {
    /// The name of the page, for example garden/bees.
    page: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ManyPages {
    /// The names of up to ten pages.
    pages: Vec<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ListArguments {
    /// Only pages whose names begin so, for example garden/.
    #[serde(default)]
    prefix: Option<String>,
    /// Only pages after this one, to continue a list.
    #[serde(default)]
    after: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SearchArguments {
    /// What to look for.
    query: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Traced {
    /// The name of the page.
    page: String,
    /// A passage of the page: only the sources of the version that brought it.
    #[serde(default)]
    passage: Option<String>,
}

#[async_trait]
impl Tool for PageQueryTool {
    fn spec(&self) -> ToolSpec {
        let query = Some(Subject::Text("query"));
        match self.query {
            PageQuery::Page => reading(
                "wiki_read_page",
                "Reads a page of the wiki, with its sources and links.",
                schema::<OnePage>(),
            ),
            PageQuery::Many => ToolSpec {
                subject: None,
                ..reading(
                    "wiki_read_many",
                    "Reads several pages of the wiki at once.",
                    schema::<ManyPages>(),
                )
            },
            PageQuery::List => ToolSpec {
                subject: None,
                ..reading(
                    "wiki_list_pages",
                    "Lists the pages of the wiki, also the archived ones.",
                    schema::<ListArguments>(),
                )
            },
            PageQuery::Search => ToolSpec {
                subject: query,
                ..reading(
                    "wiki_search_pages",
                    "Searches the wiki for words: the best matching pages, with an excerpt of each.",
                    schema::<SearchArguments>(),
                )
            },
            PageQuery::SemanticSearch => ToolSpec {
                subject: query,
                ..reading(
                    "wiki_semantic_search",
                    "Searches the wiki by meaning, also where other words are used.",
                    schema::<SearchArguments>(),
                )
            },
            PageQuery::Trace => reading(
                "wiki_trace_source",
                "Shows what a page of the wiki was compiled from, and its history.",
                schema::<Traced>(),
            ),
        }
    }

    async fn run(&self, arguments: Value, context: &Context) -> Result<Output, ToolError> {
        match self.query {
            PageQuery::Page => {
                let OnePage { page } = parse(arguments)?;
                let page = self.wiki.page(&page, context).await?;
                Ok(Output { untrusted: untrusted([&page]), ..Output::text(whole(&page)) })
            }
            PageQuery::Many => self.many(parse(arguments)?, context).await,
            PageQuery::List => self.list(parse(arguments)?, context).await,
            PageQuery::Search => {
                let SearchArguments { query } = parse(arguments)?;
                let (scope, wanted) = (wiki::scope(&context.agent), query.clone());
                let search = self.wiki.store.read(move |tx| {
                    Box::pin(async move { memory::search(tx, &scope, &wanted, FOUND).await })
                });
                Ok(found_pages(&search.await.map_err(|error| broken(&error))?, &query))
            }
            PageQuery::SemanticSearch => self.by_meaning(parse(arguments)?, context).await,
            PageQuery::Trace => self.trace(parse(arguments)?, context).await,
        }
    }
}

impl PageQueryTool {
    async fn many(&self, wanted: ManyPages, context: &Context) -> Result<Output, ToolError> {
        let count = wanted.pages.len();
        if count == 0 || count > READ_AT_ONCE {
            return Err(ToolError::InvalidParameters(format!(
                "{count} pages; 1 to {READ_AT_ONCE} are allowed"
            )));
        }
        let (mut text, mut read) = (String::new(), Vec::new());
        for name in wanted.pages {
            let Some(page) = self.wiki.find(&name, context).await? else {
                let _ = writeln!(text, "{name} is not in the wiki.\n");
                continue;
            };
            if text.len() + page.content.len() > READ_BYTES {
                let _ = writeln!(text, "{name} is left out: read it by itself.\n");
                continue;
            }
            let _ = writeln!(text, "{}\n", whole(&page));
            read.push(page);
        }
        Ok(Output { untrusted: untrusted(&read), ..Output::text(text.trim_end()) })
    }

    async fn list(&self, wanted: ListArguments, context: &Context) -> Result<Output, ToolError> {
        let listing = WikiListing {
            agent: context.agent.clone(),
            prefix: wanted.prefix.unwrap_or_default().to_lowercase(),
            after: wanted.after.unwrap_or_default().to_lowercase(),
            limit: LISTED,
        };
        let pages = self.wiki.headings(listing).await?;
        let lines = pages.iter().map(|page| {
            let archived = if page.is_archived { ", archived" } else { "" };
            let changed = page.changed_at.format("%F");
            format!("{}: {} (version {}, {changed}{archived})", page.page, page.title, page.version)
        });
        let mut text = lines.collect::<Vec<_>>().join("\n");
        if let Some(last) = pages.last().filter(|_| pages.len() == LISTED) {
            let _ = write!(text, "\nThere are more, after {}.", last.page);
        }
        if pages.is_empty() {
            return Ok(Output::text("The wiki has no such pages."));
        }
        Ok(Output { untrusted: untrusted_headings(&pages), ..Output::text(text) })
    }

    async fn by_meaning(
        &self,
        wanted: SearchArguments,
        context: &Context,
    ) -> Result<Output, ToolError> {
        let SearchArguments { query } = wanted;
        let Some(meaning) = &self.wiki.meaning else {
            return Err(ToolError::ExecutionFailed(
                "No embedding model is configured (memory.embeddings): use wiki_search_pages"
                    .into(),
            ));
        };
        let scope = wiki::scope(&context.agent);
        let near = meaning.near(&scope, &query, FOUND).await.map_err(|error| {
            tracing::warn!(problem = format!("{error:#}"), "could not search the wiki by meaning");
            ToolError::ExternalService("the embedding model does not answer".into())
        });
        let (paths, usage) = near?;
        let mut found = Vec::new();
        for path in paths {
            let of = scope.clone();
            let recall = self
                .wiki
                .store
                .read(move |tx| Box::pin(async move { memory::recall(tx, &of, &path).await }));
            found.extend(recall.await.map_err(|error| broken(&error))?);
        }
        let asked = [(meaning.name.clone(), usage)].into();
        Ok(Output { asked, ..found_pages(&found, &query) })
    }

    async fn trace(&self, wanted: Traced, context: &Context) -> Result<Output, ToolError> {
        let versions = self.wiki.versions(&wanted.page, context).await?;
        let text = match wanted.passage.as_deref().map(str::trim).filter(|p| !p.is_empty()) {
            None => history(&versions),
            Some(passage) => passage_sources(&versions, passage)?,
        };
        Ok(Output { untrusted: untrusted(&versions), ..Output::text(text) })
    }
}

/// The sources of the current version, and the versions that are kept, newest first.
fn history(versions: &[WikiPage]) -> String {
    let mut text = String::new();
    if let [current, ..] = versions {
        let _ = writeln!(text, "{}, version {}", current.page, current.version);
        let _ = writeln!(text, "Sources:\n{}", sources(&current.sources));
    }
    let _ = writeln!(text, "History:");
    for version in versions.iter().take(HISTORY) {
        let WikiPage { version: number, title, by, written_at, .. } = version;
        let at = written_at.format("%F %H:%M UTC");
        let _ = writeln!(text, "- version {number}, {at}, for {}: {title}", by.name);
    }
    text.trim_end().to_owned()
}

/// The sources of the version that added the passage to the page.
fn passage_sources(versions: &[WikiPage], passage: &str) -> Result<String, ToolError> {
    let has = |page: &&WikiPage| page.content.contains(passage);
    if !versions.first().is_some_and(|current| current.content.contains(passage)) {
        return Err(ToolError::ExecutionFailed(
            "The page does not contain this passage: quote it exactly".into(),
        ));
    }
    // The versions since it was last added.
    let since = versions.iter().take_while(has).last();
    let Some(since) = since else { return Ok(String::new()) };
    let brought: Vec<_> =
        since.sources.iter().filter(|s| s.since == since.version).cloned().collect();
    let at = since.written_at.format("%F %H:%M UTC");
    let (number, by) = (since.version, &since.by.name);
    Ok(format!(
        "The passage came with version {number}, {at}, for {by}. Its sources:\n{}",
        sources(if brought.is_empty() { &since.sources } else { &brought })
    ))
}

/// A page with everything that belongs to it.
fn whole(page: &WikiPage) -> String {
    let at = page.written_at.format("%F %H:%M UTC");
    let archived = if page.is_archived { ", archived" } else { "" };
    let read = match page.taint.as_slice() {
        [] => String::new(),
        taint => format!(", after reading {}", taint.join(", ")),
    };
    let links: Vec<_> = wiki::targets(&page.content).into_iter().collect();
    let links = if links.is_empty() { "none".to_owned() } else { links.join(", ") };
    format!(
        "[{}, version {}, {at}, for {}{archived}{read}]\n# {}\n\n{}\n\nLinks: {links}\nSources:\n{}",
        page.page,
        page.version,
        page.by.name,
        page.title,
        page.content.trim_end(),
        sources(&page.sources)
    )
}

fn sources(sources: &[WikiSource]) -> String {
    let line = |source: &WikiSource| {
        let quote = source.quote.as_ref().map(|quote| format!(": {quote:?}")).unwrap_or_default();
        let state = source.state.as_ref().map(|state| {
            let start: String = state.chars().take(12).collect();
            format!(" ({start})")
        });
        let (kind, state) = (source.kind.as_str(), state.unwrap_or_default());
        format!("- {kind} {}{state}, since version {}{quote}", source.name, source.since)
    };
    if sources.is_empty() {
        return "- none".into();
    }
    sources.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn found_pages(found: &[Memory], query: &str) -> Output {
    if found.is_empty() {
        return Output::text("No page of the wiki matches.");
    }
    let line = |page: &Memory| format!("{}\n{}", page.path, excerpt(&page.content, query));
    let tainted = found.iter().filter(|page| !page.taint.is_empty());
    let untrusted = tainted.map(|page| format!("wiki {}", page.path)).collect();
    let text = found.iter().map(line).collect::<Vec<_>>().join("\n\n");
    Output { untrusted, ..Output::text(text) }
}

/// The text around the first word of the query.
fn excerpt(content: &str, query: &str) -> String {
    let lower = content.to_lowercase();
    let places = query.split_whitespace().filter_map(|term| lower.find(&term.to_lowercase()));
    let chars = lower[..places.min().unwrap_or(0)].chars().count();
    let from = chars.saturating_sub(EXCERPT_CHARS / 3);
    let text: String = content.chars().skip(from).take(EXCERPT_CHARS).collect();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
