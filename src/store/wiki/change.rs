//! Changes of pages: each is a new version, with the sources that it was written from.

use anyhow::Result;
use chrono::{DateTime, Utc};

use super::{
    MAX_SOURCES, VERSIONS, WikiPage, WikiSource, find,
    page_text::{has_long_part, targets},
    scope, state_of,
};
use crate::{
    journal::{event::Speaker, ids::CallId},
    store::{
        Tx,
        db::sql,
        memory::{self, MemoryWrite, Note, Write},
    },
};

/// A change of a page, and the call that makes it. Repeating the call has no further effect.
#[derive(Debug, Clone)]
pub struct PageEdit {
    pub agent: String,
    pub page: String,
    /// The title; that of the current version, if there is none.
    pub title: Option<String>,
    pub change: PageChange,
    pub sources: Vec<WikiSource>,
    pub call: CallId,
    pub by: Speaker,
    pub taint: Vec<String>,
    /// The state ([`state_of`]) that a person has approved the change of, if one was asked.
    pub expects: Option<String>,
}

#[derive(Debug, Clone)]
pub enum PageChange {
    /// A page that does not exist yet.
    Create(String),
    /// The whole text of a page, which may be new.
    Compile(String),
    /// Adds a text to an existing page, below a heading if one is given.
    Enrich { heading: Option<String>, text: String },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Saved {
    Done {
        version: i64,
    },
    Exists,
    Missing,
    /// The page is no longer as it was approved.
    Changed,
    Archived,
    NameTooLong,
    TooLong,
    TooManySources,
    /// The wiki has the maximum number of pages, including archived ones.
    Full,
}

/// Writes the next version of a page.
pub async fn save(tx: &mut Tx<'_>, edit: &PageEdit, now: DateTime<Utc>) -> Result<Saved> {
    let is_new = match edit.change {
        PageChange::Enrich { .. } => false,
        PageChange::Create(_) | PageChange::Compile(_) => ensure(tx, edit, now).await?,
    };
    if !lock(tx, &edit.agent, &edit.page).await? {
        return Ok(Saved::Missing);
    }
    if let Some(version) = written_by(tx, edit).await? {
        return Ok(Saved::Done { version });
    }
    let old = find(tx, &edit.agent, &edit.page).await?;
    let is_approved = edit.expects.as_ref().is_none_or(|state| *state == state_of(old.as_ref()));
    let saved = match (&old, &edit.change) {
        (Some(_), PageChange::Create(_)) => Saved::Exists,
        _ if !is_approved => Saved::Changed,
        (None, _) if has_long_part(&edit.page) => Saved::NameTooLong,
        (None, _) if count(tx, &edit.agent).await? > memory::MAX_NOTES as i64 => Saved::Full,
        (Some(old), _) if old.is_archived => Saved::Archived,
        (None, PageChange::Enrich { .. }) => Saved::Missing,
        (old, _) => write(tx, edit, old.as_ref(), now).await?,
    };
    if is_new && !matches!(saved, Saved::Done { .. }) {
        remove(tx, &edit.agent, &edit.page).await?;
    }
    Ok(saved)
}

async fn write(
    tx: &mut Tx<'_>,
    edit: &PageEdit,
    old: Option<&WikiPage>,
    now: DateTime<Utc>,
) -> Result<Saved> {
    let next = next_version(edit, old);
    if next.sources.len() > MAX_SOURCES {
        return Ok(Saved::TooManySources);
    }
    match index(tx, edit, &next, now).await? {
        MemoryWrite::Done { .. } => {}
        MemoryWrite::Full => return Ok(Saved::Full),
        MemoryWrite::TooLong | MemoryWrite::Missing | MemoryWrite::Found(_) => {
            return Ok(Saved::TooLong);
        }
    }
    insert_version(tx, edit, &next, now).await?;
    relink(tx, edit, &next.content).await?;
    Ok(Saved::Done { version: next.version })
}

struct Next {
    version: i64,
    title: String,
    content: String,
    sources: Vec<WikiSource>,
    taint: Vec<String>,
}

/// A page that is compiled again has the new sources only; one that is enriched has both.
fn next_version(edit: &PageEdit, old: Option<&WikiPage>) -> Next {
    let version = old.map_or(0, |page| page.version) + 1;
    let mut sources: Vec<_> =
        edit.sources.iter().map(|source| WikiSource { since: version, ..source.clone() }).collect();
    let mut taint = edit.taint.clone();
    let content = match (&edit.change, old) {
        (PageChange::Create(text) | PageChange::Compile(text), _) => text.clone(),
        (PageChange::Enrich { heading, text }, old) => {
            if let Some(old) = old {
                let known = |new: &WikiSource| old.sources.iter().any(|s| same(s, new));
                sources.retain(|new| !known(new));
                sources.splice(0..0, old.sources.iter().cloned());
                taint.extend(old.taint.iter().cloned());
            }
            enriched(old.map_or("", |page| &page.content), heading.as_deref(), text)
        }
    };
    if edit.title.is_none()
        && let Some(old) = old
    {
        // The title remains.
        taint.extend(old.taint.iter().cloned());
    }
    taint.sort();
    taint.dedup();
    let title = edit.title.clone().or_else(|| old.map(|page| page.title.clone()));
    let title = title.unwrap_or_else(|| edit.page.clone());
    let title = title.split_whitespace().collect::<Vec<_>>().join(" ");
    let [title, content] = [title, content].map(|text| text.replace('\0', ""));
    Next { version, title, content, sources, taint }
}

fn same(one: &WikiSource, other: &WikiSource) -> bool {
    (one.kind, &one.name, &one.state, &one.quote)
        == (other.kind, &other.name, &other.state, &other.quote)
}

/// The text with an addition at its end, or at the end of the section with that heading.
pub fn enriched(old: &str, heading: Option<&str>, text: &str) -> String {
    let text = text.trim();
    let Some(heading) = heading else { return format!("{}\n\n{text}\n", old.trim_end()) };
    let wanted = heading.trim_start_matches('#').trim();
    let lines: Vec<_> = old.lines().collect();
    let level = |line: &str| line.bytes().take_while(|byte| *byte == b'#').count();
    let at = lines.iter().position(|line| {
        level(line) > 0 && line.trim_start_matches('#').trim().eq_ignore_ascii_case(wanted)
    });
    let Some(at) = at else {
        return format!("{}\n\n## {wanted}\n\n{text}\n", old.trim_end());
    };
    let own = level(lines[at]);
    let ends = |line: &&str| (1..=own).contains(&level(line));
    let end = lines[at + 1..].iter().position(ends).map_or(lines.len(), |next| at + 1 + next);
    let (before, after) = (lines[..end].join("\n"), lines[end..].join("\n"));
    let whole = format!("{}\n\n{text}\n\n{after}", before.trim_end());
    format!("{}\n", whole.trim_end())
}

/// Inserts a page without a version, if there is none.
async fn ensure(tx: &mut Tx<'_>, edit: &PageEdit, now: DateTime<Utc>) -> Result<bool> {
    let inserted = sql!(
        tx,
        execute,
        "
        -- insert wiki page
        INSERT INTO wiki_pages (agent, page, title, version, changed_at)
        VALUES ($1, $2, '', 0, $3)
        ON CONFLICT (agent, page) DO NOTHING",
        edit.agent.as_str(),
        edit.page.as_str(),
        now.timestamp_millis()
    );
    Ok(inserted > 0)
}

/// The number of pages, including archived ones and the one that is being created.
async fn count(tx: &mut Tx<'_>, agent: &str) -> Result<i64> {
    let (count,): (i64,) = sql!(
        tx,
        fetch_one,
        "
        -- count wiki pages
        SELECT COUNT(*) FROM wiki_pages
        WHERE agent = $1",
        agent
    );
    Ok(count)
}

/// Locks the row of a page until the end of the transaction. Returns whether there is one.
pub(super) async fn lock(tx: &mut Tx<'_>, agent: &str, page: &str) -> Result<bool> {
    let locked = sql!(
        tx,
        execute,
        "
        -- lock wiki page
        UPDATE wiki_pages
        SET version = version
        WHERE agent = $1 AND page = $2",
        agent,
        page
    );
    Ok(locked > 0)
}

/// The version that this call has already written.
async fn written_by(tx: &mut Tx<'_>, edit: &PageEdit) -> Result<Option<i64>> {
    let found: Option<(i64,)> = sql!(
        tx,
        fetch_optional,
        "
        -- version by call
        SELECT version FROM wiki_versions
        WHERE agent = $1 AND page = $2 AND call = $3",
        edit.agent.as_str(),
        edit.page.as_str(),
        edit.call.as_str()
    );
    Ok(found.map(|(version,)| version))
}

/// Makes the text of a page searchable.
async fn index(
    tx: &mut Tx<'_>,
    edit: &PageEdit,
    next: &Next,
    now: DateTime<Utc>,
) -> Result<MemoryWrite> {
    let note = Note {
        path: edit.page.clone(),
        what: Write::Whole(format!("# {}\n\n{}", next.title, next.content)),
        call: edit.call.clone(),
        by: edit.by.clone(),
        taint: next.taint.clone(),
    };
    memory::write(tx, &scope(&edit.agent), &note, now).await
}

async fn insert_version(
    tx: &mut Tx<'_>,
    edit: &PageEdit,
    next: &Next,
    now: DateTime<Utc>,
) -> Result<()> {
    sql!(
        tx,
        execute,
        "
        -- insert wiki version
        INSERT INTO wiki_versions
            (agent, page, version, title, content, sources, by_whom, taint, call, created_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
        edit.agent.as_str(),
        edit.page.as_str(),
        next.version,
        next.title.as_str(),
        next.content.as_str(),
        serde_json::to_string(&next.sources)?,
        serde_json::to_string(&edit.by)?,
        serde_json::to_string(&next.taint)?,
        edit.call.as_str(),
        now.timestamp_millis()
    );
    sql!(
        tx,
        execute,
        "
        -- set wiki version
        UPDATE wiki_pages
        SET version = $1, title = $2, changed_at = $3
        WHERE agent = $4 AND page = $5",
        next.version,
        next.title.as_str(),
        now.timestamp_millis(),
        edit.agent.as_str(),
        edit.page.as_str()
    );
    sql!(
        tx,
        execute,
        "
        -- delete old wiki versions
        DELETE FROM wiki_versions
        WHERE agent = $1 AND page = $2 AND version <= $3",
        edit.agent.as_str(),
        edit.page.as_str(),
        next.version - VERSIONS
    );
    Ok(())
}

async fn relink(tx: &mut Tx<'_>, edit: &PageEdit, content: &str) -> Result<()> {
    unlink(tx, &edit.agent, &edit.page).await?;
    for target in targets(content).into_iter().filter(|target| *target != edit.page) {
        sql!(
            tx,
            execute,
            "
            -- insert wiki link
            INSERT INTO wiki_links (agent, page, target)
            VALUES ($1, $2, $3)",
            edit.agent.as_str(),
            edit.page.as_str(),
            target
        );
    }
    Ok(())
}

pub(super) async fn unlink(tx: &mut Tx<'_>, agent: &str, page: &str) -> Result<()> {
    sql!(
        tx,
        execute,
        "
        -- delete wiki links
        DELETE FROM wiki_links
        WHERE agent = $1 AND page = $2",
        agent,
        page
    );
    Ok(())
}

/// Deletes the row of a page. Returns whether there was one.
pub(super) async fn remove(tx: &mut Tx<'_>, agent: &str, page: &str) -> Result<bool> {
    let removed = sql!(
        tx,
        execute,
        "
        -- delete wiki page
        DELETE FROM wiki_pages
        WHERE agent = $1 AND page = $2",
        agent,
        page
    );
    Ok(removed > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_addition_goes_to_the_end_of_its_section() {
        let old = "Intro\n\n## Food\n\nHoney.\n\n### Winter\n\nSugar.\n\n## Enemies\n\nMites.\n";
        for (heading, expected) in [
            (
                None,
                "Intro\n\n## Food\n\nHoney.\n\n### Winter\n\nSugar.\n\n## Enemies\n\nMites.\n\nNew.\n",
            ),
            (
                Some("food"),
                "Intro\n\n## Food\n\nHoney.\n\n### Winter\n\nSugar.\n\nNew.\n\n## Enemies\n\nMites.\n",
            ),
            (
                Some("## Enemies"),
                "Intro\n\n## Food\n\nHoney.\n\n### Winter\n\nSugar.\n\n## Enemies\n\nMites.\n\nNew.\n",
            ),
            (
                Some("Law"),
                "Intro\n\n## Food\n\nHoney.\n\n### Winter\n\nSugar.\n\n## Enemies\n\nMites.\n\n## Law\n\nNew.\n",
            ),
        ] {
            assert_eq!(enriched(old, heading, "New.\n"), expected, "{heading:?}");
        }
    }
}
