//! The agents' memories by scope, and full-text search.
//!
//! Words are split here and not by SQLite's FTS5 or PostgreSQL's `tsvector`, so that both databases
//! find the same. Each letter of a script without spaces is a word, and several of them form a
//! phrase.

pub mod embeddings;
mod rewrite;
pub mod scope;
mod words;

use anyhow::{Context as _, Result};
use chrono::{DateTime, Utc};

use super::{
    Tx, at,
    db::{row::row, sql},
};
use crate::journal::{event::Speaker, ids::CallId};
pub(super) use rewrite::rewrite;
use scope::MemoryScope;
use words::words;

pub const MAX_BYTES: usize = 64 * 1024;
/// The maximum number of memories per scope.
pub const MAX_NOTES: usize = 1_000;
const TERMS: usize = 16;

#[derive(Debug, Clone, PartialEq)]
pub struct Memory {
    pub path: String,
    pub content: String,
    /// The person on whose behalf it was last written.
    pub by: Speaker,
    /// The sources of untrusted content that had been read when it was written.
    pub taint: Vec<String>,
    pub changed_at: DateTime<Utc>,
}

/// What to write, and the call that writes it. Repeating the call has no further effect.
#[derive(Debug, Clone)]
pub struct Note {
    pub path: String,
    pub what: Write,
    pub call: CallId,
    pub by: Speaker,
    pub taint: Vec<String>,
}

#[derive(Debug, Clone)]
pub enum Write {
    Whole(String),
    /// Appends to the existing text.
    More(String),
    /// Replaces one occurrence of a text.
    Instead {
        old: String,
        new: String,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemoryWrite {
    /// The resulting length.
    Done {
        size_bytes: usize,
    },
    Missing,
    /// How often the text to replace occurs.
    Found(usize),
    TooLong,
    Full,
}

row! {
    struct MemoryRow {
        path: String,
        content: String,
        by_whom: String,
        taint: String,
        changed_at: i64,
    }
}

fn memory(row: MemoryRow) -> Result<Memory> {
    let (by, taint) = (serde_json::from_str(&row.by_whom)?, serde_json::from_str(&row.taint)?);
    Ok(Memory { path: row.path, content: row.content, by, taint, changed_at: at(row.changed_at) })
}

pub async fn recall(tx: &mut Tx<'_>, scope: &MemoryScope, path: &str) -> Result<Option<Memory>> {
    let row: Option<MemoryRow> = sql!(
        tx,
        fetch_optional,
        "
        -- read a memory
        SELECT path, content, by_whom, taint, changed_at FROM memories
        WHERE agent = $1 AND shelf = $2 AND path = $3",
        scope.agent.as_str(),
        scope.scope.as_str(),
        path
    );
    row.map(memory).transpose()
}

/// All memories of a scope without their content, most recently changed first.
pub async fn list(tx: &mut Tx<'_>, scope: &MemoryScope) -> Result<Vec<Memory>> {
    let rows: Vec<MemoryRow> = sql!(
        tx,
        fetch_all,
        "
        -- list memories
        SELECT path, '' AS content, by_whom, taint, changed_at FROM memories
        WHERE agent = $1 AND shelf = $2
        ORDER BY changed_at DESC, path",
        scope.agent.as_str(),
        scope.scope.as_str()
    );
    rows.into_iter().map(memory).collect()
}

pub async fn write(
    tx: &mut Tx<'_>,
    scope: &MemoryScope,
    note: &Note,
    now: DateTime<Utc>,
) -> Result<MemoryWrite> {
    let is_new = match note.what {
        Write::Instead { .. } => false,
        Write::Whole(_) | Write::More(_) => ensure(tx, scope, note, now).await?,
    };
    if is_new && list(tx, scope).await?.len() > MAX_NOTES {
        forget(tx, scope, &note.path).await?;
        return Ok(MemoryWrite::Full);
    }
    let Some((id, call)) = locked(tx, scope, &note.path).await? else {
        return Ok(MemoryWrite::Missing);
    };
    let old = recall(tx, scope, &note.path).await?.context("the row was just locked")?;
    if call == note.call.as_str() {
        return Ok(MemoryWrite::Done { size_bytes: old.content.len() });
    }
    let content = match written(&old.content, &note.what) {
        Ok(content) => content,
        Err(refused) => {
            if is_new {
                forget(tx, scope, &note.path).await?;
            }
            return Ok(refused);
        }
    };
    let mut taint = note.taint.clone();
    if !matches!(note.what, Write::Whole(_)) {
        taint.extend(old.taint);
        taint.sort();
        taint.dedup();
    }
    let size_bytes = content.len();
    put(tx, id, content, Note { taint, ..note.clone() }, now).await?;
    Ok(MemoryWrite::Done { size_bytes })
}

fn written(old: &str, what: &Write) -> Result<String, MemoryWrite> {
    let content = match what {
        Write::Whole(text) => text.clone(),
        Write::More(text) if old.is_empty() => text.clone(),
        Write::More(text) => format!("{}\n{text}", old.trim_end()),
        Write::Instead { old: from, new } => match old.matches(from.as_str()).count() {
            1 => old.replacen(from.as_str(), new, 1),
            count => return Err(MemoryWrite::Found(count)),
        },
    };
    if content.len() > MAX_BYTES { Err(MemoryWrite::TooLong) } else { Ok(content) }
}

/// Inserts an empty memory, if there is none.
async fn ensure(
    tx: &mut Tx<'_>,
    scope: &MemoryScope,
    note: &Note,
    now: DateTime<Utc>,
) -> Result<bool> {
    let laid = sql!(
        tx,
        execute,
        "
        -- insert memory
        INSERT INTO memories
            (id, agent, shelf, path, content, by_whom, taint, call, changed_at)
        VALUES ($1, $2, $3, $4, '', $5, '[]', '', $6)
        ON CONFLICT (agent, shelf, path) DO NOTHING",
        (uuid::Uuid::new_v4().as_u128() >> 65) as i64,
        scope.agent.as_str(),
        scope.scope.as_str(),
        note.path.as_str(),
        serde_json::to_string(&note.by)?,
        now.timestamp_millis()
    );
    Ok(laid > 0)
}

/// The memory's id and the call that last wrote it. Locks the row.
async fn locked(tx: &mut Tx<'_>, scope: &MemoryScope, path: &str) -> Result<Option<(i64, String)>> {
    let found = sql!(
        tx,
        fetch_optional,
        "
        -- lock memory
        UPDATE memories
        SET changed_at = changed_at
        WHERE agent = $1 AND shelf = $2 AND path = $3
        RETURNING id, call",
        scope.agent.as_str(),
        scope.scope.as_str(),
        path
    );
    Ok(found)
}

async fn put(
    tx: &mut Tx<'_>,
    id: i64,
    content: String,
    note: Note,
    now: DateTime<Utc>,
) -> Result<()> {
    let content = content.replace('\0', "");
    let words = words(&format!("{}\n{content}", note.path));
    sql!(
        tx,
        execute,
        "
        -- write memory
        UPDATE memories
        SET content = $1, by_whom = $2, taint = $3, call = $4, changed_at = $5
        WHERE id = $6",
        content,
        serde_json::to_string(&note.by)?,
        serde_json::to_string(&note.taint)?,
        note.call.as_str(),
        now.timestamp_millis(),
        id
    );
    drop_words(tx, id).await?;
    let index = tx.either(
        "
        -- index memory
        INSERT INTO memory_words (rowid, words)
        VALUES ($1, $2)",
        "
        -- index memory
        INSERT INTO memory_words (rowid, words)
        VALUES ($1, CAST($2 AS TSVECTOR))",
    );
    let places = words.iter().zip(1..).map(|(word, place): (_, u32)| format!("'{word}':{place}"));
    let spelled = tx.either(words.join(" "), places.collect::<Vec<_>>().join(" "));
    sql!(tx, execute, index, id, spelled.as_str());
    Ok(())
}

async fn drop_words(tx: &mut Tx<'_>, id: i64) -> Result<()> {
    embeddings::drop_all(tx, id).await?;
    sql!(
        tx,
        execute,
        "
        -- delete words
        DELETE FROM memory_words
        WHERE rowid = $1",
        id
    );
    Ok(())
}

/// Deletes a memory. Returns whether it existed.
pub async fn forget(tx: &mut Tx<'_>, scope: &MemoryScope, path: &str) -> Result<bool> {
    let gone: Option<(i64,)> = sql!(
        tx,
        fetch_optional,
        "
        -- delete a memory
        DELETE FROM memories
        WHERE agent = $1 AND shelf = $2 AND path = $3
        RETURNING id",
        scope.agent.as_str(),
        scope.scope.as_str(),
        path
    );
    if let Some((id,)) = gone {
        drop_words(tx, id).await?;
    }
    Ok(gone.is_some())
}

/// Deletes the memories of this scope key whose author matches the pattern.
pub(super) async fn clear(tx: &mut Tx<'_>, scope: &str, by: &str) -> Result<()> {
    let gone: Vec<(i64,)> = sql!(
        tx,
        fetch_all,
        "
        -- delete memories
        DELETE FROM memories
        WHERE shelf = $1 AND by_whom LIKE $2 ESCAPE '!'
        RETURNING id",
        scope,
        by
    );
    for (id,) in gone {
        drop_words(tx, id).await?;
    }
    Ok(())
}

macro_rules! search {
    ($matches:literal, $order:literal) => {
        concat!(
            "
            -- search memories
            SELECT m.path, m.content, m.by_whom, m.taint, m.changed_at FROM memory_words
            JOIN memories m ON m.id = memory_words.rowid
            WHERE m.agent = $1 AND m.shelf = $2 AND ",
            $matches,
            "
            ORDER BY ",
            $order,
            ", m.changed_at DESC
            LIMIT $4"
        )
    };
}

/// The memories that contain any of the words, best match first.
pub async fn search(
    tx: &mut Tx<'_>,
    scope: &MemoryScope,
    query: &str,
    limit: usize,
) -> Result<Vec<Memory>> {
    let phrases: Vec<_> =
        query.split_whitespace().take(TERMS).map(words).filter(|words| !words.is_empty()).collect();
    if phrases.is_empty() {
        return Ok(Vec::new());
    }
    let search = tx.either(
        search!("memory_words MATCH $3", "bm25(memory_words)"),
        search!(
            "memory_words.words @@ CAST($3 AS TSQUERY)",
            "ts_rank(memory_words.words, CAST($3 AS TSQUERY)) DESC"
        ),
    );
    let all = |phrase: fn(&[String]) -> String, or| {
        phrases.iter().map(|words| phrase(words)).collect::<Vec<_>>().join(or)
    };
    let wanted = tx.either(all(sqlite_phrase, " OR "), all(postgres_phrase, " | "));
    let rows: Vec<MemoryRow> = sql!(
        tx,
        fetch_all,
        search,
        scope.agent.as_str(),
        scope.scope.as_str(),
        wanted.as_str(),
        limit as i64
    );
    rows.into_iter().map(memory).collect()
}

/// The last word matches as a prefix: `bee` finds `bees`.
fn sqlite_phrase(words: &[String]) -> String {
    format!("\"{}\"{}", words.join(" "), if goes_on(words) { "*" } else { "" })
}

fn postgres_phrase(words: &[String]) -> String {
    let quoted = words.iter().map(|word| format!("'{word}'")).collect::<Vec<_>>();
    format!("({}{})", quoted.join(" <-> "), if goes_on(words) { ":*" } else { "" })
}

fn goes_on(words: &[String]) -> bool {
    words.last().is_some_and(|word| word.len() > 2)
}
