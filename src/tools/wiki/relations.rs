//! `wiki_related_pages`, `wiki_explain_relation`: how pages are related.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::{ALL, Wiki, broken, reading, untrusted, untrusted_headings};
use crate::{
    agent::catalog::ToolSpec,
    store::{
        memory,
        wiki::{self, Heading, PageLink, SourceKind, WikiListing, WikiPage},
    },
    tools::{
        Context, Output, Tool, ToolError,
        contract::arguments::{parse, schema},
    },
};

const RELATED: usize = 20;
const ALIKE: usize = 5;
/// The maximum number of steps between two pages.
const STEPS: usize = 4;

/// The relation that a tool determines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RelationQuery {
    Related,
    Explain,
}

impl RelationQuery {
    pub const ALL: [Self; 2] = [Self::Related, Self::Explain];
}

pub(super) struct RelationQueryTool {
    pub wiki: Wiki,
    pub query: RelationQuery,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RelationArguments {
    /// The name of the page.
    page: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct PairArguments {
    /// The name of a page.
    page: String,
    /// The name of the other page.
    other: String,
}

#[async_trait]
impl Tool for RelationQueryTool {
    fn spec(&self) -> ToolSpec {
        match self.query {
            RelationQuery::Related => reading(
                "wiki_related_pages",
                "Lists the pages of the wiki that are related to a page, and why: links, common \
                    sources, similar words.",
                schema::<RelationArguments>(),
            ),
            RelationQuery::Explain => reading(
                "wiki_explain_relation",
                "Explains how two pages of the wiki are related: the passages that link them, \
                    common links and sources, and the shortest way between them.",
                schema::<PairArguments>(),
            ),
        }
    }

    async fn run(&self, arguments: Value, context: &Context) -> Result<Output, ToolError> {
        match self.query {
            RelationQuery::Related => {
                let RelationArguments { page } = parse(arguments)?;
                let page = self.wiki.page(&page, context).await?;
                self.related(&page, context).await
            }
            RelationQuery::Explain => {
                let PairArguments { page, other } = parse(arguments)?;
                let page = self.wiki.page(&page, context).await?;
                let other = self.wiki.page(&other, context).await?;
                let links = self.wiki.links(context).await?;
                let way = way(&page.page, &other.page, &links).unwrap_or_default();
                let text = explained(&page, &other, &links, &way);
                let existing = self.existing(context).await?;
                let between = way.iter().filter_map(|name| existing.get(name));
                let untrusted = [untrusted([&page, &other]), untrusted_headings(between)].concat();
                Ok(Output { untrusted, ..Output::text(text) })
            }
        }
    }
}

impl RelationQueryTool {
    async fn related(&self, page: &WikiPage, context: &Context) -> Result<Output, ToolError> {
        let mut reasons = BTreeMap::<String, Vec<String>>::new();
        for link in self.wiki.links(context).await? {
            if link.page == page.page {
                reasons.entry(link.target).or_default().push("it is linked there".into());
            } else if link.target == page.page {
                reasons.entry(link.page).or_default().push("it links there".into());
            }
        }
        for (name, shared) in self.with_common_sources(page, context).await? {
            reasons.entry(name).or_default().push(format!("common sources: {shared}"));
        }
        let (scope, words) = (wiki::scope(&context.agent), page.title.clone());
        let alike = self.wiki.store.read(move |tx| {
            Box::pin(async move { memory::search(tx, &scope, &words, ALIKE + 1).await })
        });
        for alike in alike.await.map_err(|error| broken(&error))? {
            reasons.entry(alike.path).or_default().push("similar words".into());
        }
        reasons.remove(&page.page);
        let existing = self.existing(context).await?;
        let mut related: Vec<_> = reasons.into_iter().collect();
        related.sort_by_key(|(_, reasons)| std::cmp::Reverse(reasons.len()));
        let line = |(name, reasons): &(String, Vec<String>)| {
            let missing = if existing.contains_key(name) { "" } else { " (not written yet)" };
            format!("- {name}{missing}: {}", reasons.join("; "))
        };
        let lines: Vec<_> = related.iter().take(RELATED).map(line).collect();
        let text = if lines.is_empty() {
            format!("No pages are related to {}.", page.page)
        } else {
            lines.join("\n")
        };
        let shown = related.iter().take(RELATED).filter_map(|(name, _)| existing.get(name));
        let untrusted = [untrusted([page]), untrusted_headings(shown)].concat();
        Ok(Output { untrusted, ..Output::text(text) })
    }

    async fn existing(&self, context: &Context) -> Result<BTreeMap<String, Heading>, ToolError> {
        let agent = context.agent.clone();
        let listing = WikiListing { agent, limit: ALL, ..WikiListing::default() };
        let headings = self.wiki.headings(listing).await?;
        Ok(headings.into_iter().map(|heading| (heading.page.clone(), heading)).collect())
    }

    /// The pages that have sources in common with this one.
    async fn with_common_sources(
        &self,
        page: &WikiPage,
        context: &Context,
    ) -> Result<Vec<(String, String)>, ToolError> {
        let (agent, of) = (context.agent.clone(), page.page.clone());
        let own = named_sources(page);
        let read = self
            .wiki
            .store
            .read(move |tx| Box::pin(async move { wiki::with_sources(tx, &agent, &of).await }));
        let others = read.await.map_err(|error| broken(&error))?;
        let shared = others.into_iter().filter_map(|other| {
            let common: Vec<_> = named_sources(&other).intersection(&own).cloned().collect();
            (!common.is_empty()).then(|| (other.page, common.join(", ")))
        });
        Ok(shared.collect())
    }
}

/// The sources that tell something about a relation: a conversation does not.
fn named_sources(page: &WikiPage) -> BTreeSet<String> {
    let sources = page.sources.iter().filter(|source| source.kind != SourceKind::Conversation);
    sources.map(|source| source.name.clone()).collect()
}

fn explained(page: &WikiPage, other: &WikiPage, links: &[PageLink], way: &[String]) -> String {
    let mut found = Vec::new();
    for (from, to) in [(page, other), (other, page)] {
        for line in passages(from, &to.page) {
            found.push(format!("{} links to {}: {line}", from.page, to.page));
        }
    }
    let of = |name: &str| -> BTreeSet<&str> {
        links.iter().filter(|link| link.page == name).map(|link| link.target.as_str()).collect()
    };
    let (own, others) = (of(&page.page), of(&other.page));
    let common: Vec<_> = own.intersection(&others).copied().collect();
    if !common.is_empty() {
        found.push(format!("Both link to: {}", common.join(", ")));
    }
    let sources: Vec<_> =
        named_sources(page).intersection(&named_sources(other)).cloned().collect();
    if !sources.is_empty() {
        found.push(format!("Both have the sources: {}", sources.join(", ")));
    }
    if way.len() > 2 {
        found.push(format!("The shortest way: {}", way.join(" → ")));
    }
    if found.is_empty() {
        return format!("{} and {} have no links or sources in common.", page.page, other.page);
    }
    found.join("\n")
}

/// The lines of a page that link to another.
fn passages(page: &WikiPage, target: &str) -> Vec<String> {
    let links = |line: &&str| wiki::targets(line).iter().any(|found| found == target);
    page.content.lines().filter(links).take(3).map(|line| line.trim().to_owned()).collect()
}

/// The shortest path along links in either direction.
fn way(from: &str, to: &str, links: &[PageLink]) -> Option<Vec<String>> {
    let mut near = BTreeMap::<&str, BTreeSet<&str>>::new();
    for link in links {
        near.entry(&link.page).or_default().insert(&link.target);
        near.entry(&link.target).or_default().insert(&link.page);
    }
    let mut seen = BTreeSet::from([from]);
    let mut ways = VecDeque::from([vec![from]]);
    while let Some(way) = ways.pop_front() {
        let last = way.last().copied().unwrap_or_default();
        if last == to {
            return Some(way.into_iter().map(str::to_owned).collect());
        }
        if way.len() > STEPS {
            continue;
        }
        for next in near.get(last).into_iter().flatten() {
            if seen.insert(*next) {
                ways.push_back(way.iter().copied().chain([*next]).collect());
            }
        }
    }
    None
}
