//! The wikis of agents: pages in Markdown with their versions, sources and links.
//!
//! The current text of a page that is not archived is also a memory of its agent, in a scope of its
//! own, so that pages are found by words and by meaning like memories.

mod archive;
mod change;
mod page_text;

use anyhow::Result;
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::json;
use sha2::{Digest as _, Sha256};
use strum::IntoStaticStr;

pub use archive::{PageTarget, TargetOutcome, delete, set_archived};
pub use change::{PageChange, PageEdit, Saved, enriched, save};
pub use page_text::{has_long_part, name, targets};

use super::{
    Tx, at,
    db::{row::row, sql},
    memory::{self, scope::MemoryScope},
};
use crate::journal::event::Speaker;

/// The scope of the memories that are pages.
const SCOPE: &str = ":wiki";
/// The number of versions of a page that are kept.
pub const VERSIONS: i64 = 50;
/// The maximum number of sources of a page.
pub const MAX_SOURCES: usize = 100;
/// The maximum number of pages that a page names.
pub const MAX_LINKS: usize = 200;
/// The maximum number of links that are read at once.
const LINKS_READ: i64 = 50_000;

/// The scope in which pages of this agent are found.
pub fn scope(agent: &str) -> MemoryScope {
    MemoryScope { agent: agent.to_owned(), scope: SCOPE.to_owned() }
}

/// What a page was compiled from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WikiSource {
    pub kind: SourceKind,
    /// A path in the workspace, a URL, the name of a page, the id of a conversation, or a text.
    pub name: String,
    /// The SHA-256 of a file as it was read, or the version of a page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// The passage that was used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quote: Option<String>,
    /// The version in which it was added.
    pub since: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
#[serde(rename_all = "snake_case")]
pub enum SourceKind {
    File,
    #[strum(serialize = "URL")]
    Url,
    Page,
    Conversation,
    Text,
}

impl SourceKind {
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// A version of a page.
#[derive(Debug, Clone, PartialEq)]
pub struct WikiPage {
    pub page: String,
    pub title: String,
    pub content: String,
    pub version: i64,
    pub sources: Vec<WikiSource>,
    /// The person on whose behalf it was written.
    pub by: Speaker,
    /// The sources of untrusted content that had been read when it was written.
    pub taint: Vec<String>,
    pub is_archived: bool,
    pub written_at: DateTime<Utc>,
}

/// The state of a page that an approval is bound to: the SHA-256 of its title, content and whether it
/// is archived; empty if there is no such page. A version number would not do, because a page that
/// is deleted and created again begins with version 1.
pub fn state_of(page: Option<&WikiPage>) -> String {
    let Some(page) = page else { return String::new() };
    let state = json!([page.title, page.content, page.is_archived]).to_string();
    hex::encode(Sha256::digest(state))
}

/// A page in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heading {
    pub agent: String,
    pub page: String,
    pub title: String,
    pub version: i64,
    /// As in [`WikiPage`].
    pub taint: Vec<String>,
    pub is_archived: bool,
    pub changed_at: DateTime<Utc>,
}

/// A page that names another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageLink {
    pub page: String,
    pub target: String,
}

row! {
    struct PageRow {
        page: String,
        title: String,
        content: String,
        version: i64,
        sources: String,
        by_whom: String,
        taint: String,
        archived_at: Option<i64>,
        created_at: i64,
    }
}

impl TryFrom<PageRow> for WikiPage {
    type Error = anyhow::Error;

    fn try_from(row: PageRow) -> Result<Self> {
        Ok(Self {
            page: row.page,
            title: row.title,
            content: row.content,
            version: row.version,
            sources: serde_json::from_str(&row.sources)?,
            by: serde_json::from_str(&row.by_whom)?,
            taint: serde_json::from_str(&row.taint)?,
            is_archived: row.archived_at.is_some(),
            written_at: at(row.created_at),
        })
    }
}

row! {
    struct HeadingRow {
        agent: String,
        page: String,
        title: String,
        version: i64,
        taint: String,
        archived_at: Option<i64>,
        changed_at: i64,
    }
}

impl TryFrom<HeadingRow> for Heading {
    type Error = anyhow::Error;

    fn try_from(row: HeadingRow) -> Result<Self> {
        Ok(Self {
            agent: row.agent,
            page: row.page,
            // Titles of earlier releases may have several lines.
            title: row.title.split_whitespace().collect::<Vec<_>>().join(" "),
            version: row.version,
            taint: serde_json::from_str(&row.taint)?,
            is_archived: row.archived_at.is_some(),
            changed_at: at(row.changed_at),
        })
    }
}

row! {
    struct LinkRow {
        page: String,
        target: String,
    }
}

/// The current version of a page.
pub async fn find(tx: &mut Tx<'_>, agent: &str, page: &str) -> Result<Option<WikiPage>> {
    let row: Option<PageRow> = sql!(
        tx,
        fetch_optional,
        "
        -- wiki page
        SELECT p.page, v.title, v.content, v.version, v.sources, v.by_whom, v.taint, p.archived_at,
               v.created_at
        FROM wiki_pages p
        JOIN wiki_versions v ON v.agent = p.agent AND v.page = p.page AND v.version = p.version
        WHERE p.agent = $1 AND p.page = $2",
        agent,
        page
    );
    row.map(WikiPage::try_from).transpose()
}

/// The other pages of an agent, without their text.
pub async fn with_sources(tx: &mut Tx<'_>, agent: &str, page: &str) -> Result<Vec<WikiPage>> {
    let rows: Vec<PageRow> = sql!(
        tx,
        fetch_all,
        "
        -- sources of wiki pages
        SELECT p.page, v.title, '' AS content, v.version, v.sources, v.by_whom, v.taint,
               p.archived_at, v.created_at
        FROM wiki_pages p
        JOIN wiki_versions v ON v.agent = p.agent AND v.page = p.page AND v.version = p.version
        WHERE p.agent = $1 AND p.page <> $2
        ORDER BY p.page
        LIMIT $3",
        agent,
        page,
        memory::MAX_NOTES as i64
    );
    rows.into_iter().map(WikiPage::try_from).collect()
}

/// The versions of a page that are kept, newest first.
pub async fn versions(tx: &mut Tx<'_>, agent: &str, page: &str) -> Result<Vec<WikiPage>> {
    let rows: Vec<PageRow> = sql!(
        tx,
        fetch_all,
        "
        -- versions of a wiki page
        SELECT v.page, v.title, v.content, v.version, v.sources, v.by_whom, v.taint, p.archived_at,
               v.created_at
        FROM wiki_versions v
        JOIN wiki_pages p ON p.agent = v.agent AND p.page = v.page
        WHERE v.agent = $1 AND v.page = $2
        ORDER BY v.version DESC",
        agent,
        page
    );
    rows.into_iter().map(WikiPage::try_from).collect()
}

/// Which pages to list.
#[derive(Debug, Clone, Default)]
pub struct WikiListing {
    /// Of this agent.
    pub agent: String,
    /// Whose name begins so.
    pub prefix: String,
    /// After this page.
    pub after: String,
    pub limit: usize,
}

/// Pages in the order of their names.
pub async fn list(tx: &mut Tx<'_>, listing: &WikiListing) -> Result<Vec<Heading>> {
    let rows: Vec<HeadingRow> = sql!(
        tx,
        fetch_all,
        "
        -- wiki pages
        SELECT p.agent, p.page, p.title, p.version, v.taint, p.archived_at, p.changed_at
        FROM wiki_pages p
        JOIN wiki_versions v ON v.agent = p.agent AND v.page = p.page AND v.version = p.version
        WHERE p.agent = $1 AND p.page > $2 AND SUBSTR(p.page, 1, LENGTH($3)) = $3
        ORDER BY p.page
        LIMIT $4",
        listing.agent.as_str(),
        listing.after.as_str(),
        listing.prefix.as_str(),
        listing.limit as i64
    );
    rows.into_iter().map(Heading::try_from).collect()
}

/// The links between the pages of an agent.
pub async fn links(tx: &mut Tx<'_>, agent: &str) -> Result<Vec<PageLink>> {
    let rows: Vec<LinkRow> = sql!(
        tx,
        fetch_all,
        "
        -- wiki links
        SELECT page, target FROM wiki_links
        WHERE agent = $1
        ORDER BY page, target
        LIMIT $2",
        agent,
        LINKS_READ
    );
    Ok(rows.into_iter().map(|row| PageLink { page: row.page, target: row.target }).collect())
}

/// Removes the name of a person from the versions that were written on their behalf. The pages
/// themselves are kept.
pub(super) async fn forget_author(tx: &mut Tx<'_>, mention: &str, nobody: &str) -> Result<()> {
    sql!(
        tx,
        execute,
        "
        -- delete an author
        UPDATE wiki_versions
        SET by_whom = $1
        WHERE by_whom LIKE $2 ESCAPE '!'",
        nobody,
        mention
    );
    sql!(
        tx,
        execute,
        "
        -- delete an author of memories
        UPDATE memories
        SET by_whom = $1
        WHERE shelf = $2 AND by_whom LIKE $3 ESCAPE '!'",
        nobody,
        SCOPE,
        mention
    );
    Ok(())
}
