//! `memory_store`, `memory_edit`, `memory_recall`, `memory_search`, `memory_forget`: notes in
//! Markdown that outlive a conversation.
//!
//! They are stored in the database, which all nodes share. Each private chat and each conversation
//! of a group has a separate memory, so that one person's notes are not shown to others, unless the
//! operator lets all conversations of an agent share one memory. A note that was written while the
//! conversation was tainted taints the conversation that recalls it.

pub mod semantic_search;

use async_trait::async_trait;
use chrono_tz::Tz;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use std::{fmt::Write as _, path::Path, sync::Arc};

use super::{
    Context, Output, Tool, ToolError,
    contract::arguments::{parse, schema},
    files::diff,
};
use crate::{
    agent::{
        catalog::{EffectClass, Subject, Tier, ToolSpec},
        paths::normalise,
    },
    crash,
    store::{
        Store,
        memory::{self, MAX_BYTES, MOST, Memory, Note, Write, Written},
    },
    texts::preview::Preview,
};
use semantic_search::Meaning;

const PATH_CHARS: usize = 200;
const FOUND: usize = 10;
/// The maximum length of an excerpt, around the first match.
const EXCERPT_CHARS: usize = 300;
const LISTED: usize = 200;

#[derive(Clone)]
struct Shelves {
    store: Store,
    /// The time zone of daily notes.
    zone: Tz,
    /// Semantic search, if an embedding model is configured.
    meaning: Option<Meaning>,
}

/// All five tools.
pub fn tools(store: &Store, zone: Tz, meaning: Option<Meaning>) -> Vec<Arc<dyn Tool>> {
    let shelves = Shelves { store: store.clone(), zone, meaning };
    vec![
        Arc::new(MemoryStore(shelves.clone())),
        Arc::new(MemoryEdit(shelves.clone())),
        Arc::new(MemoryRecall(shelves.clone())),
        Arc::new(MemorySearch(shelves.clone())),
        Arc::new(MemoryForget(shelves)),
    ]
}

/// `memory_store`
struct MemoryStore(Shelves);

/// `memory_edit`
struct MemoryEdit(Shelves);

/// `memory_recall`
struct MemoryRecall(Shelves);

/// `memory_search`
struct MemorySearch(Shelves);

/// `memory_forget`
struct MemoryForget(Shelves);

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Stored {
    /// MEMORY.md for what you should always know, context/<topic>.md, or daily to add to today's
    /// note.
    path: String,
    /// Markdown, at most 64 KB.
    content: String,
    /// Whether to append to the existing text.
    #[serde(default)]
    append: bool,
}

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Edited {
    /// Path of the note.
    path: String,
    /// The text to replace; it must occur in the note exactly once.
    old_string: String,
    /// The replacement.
    new_string: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Recalled {
    /// Path of the note; all are listed if omitted.
    #[serde(default)]
    path: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Searched {
    /// Words, any of which a note may contain.
    query: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Forgotten {
    /// Path of the note.
    path: String,
}

/// A change of memory influences later conversations, so it requires approval in a tainted
/// conversation.
fn changing(name: &str, description: &str, parameters: Value) -> ToolSpec {
    ToolSpec {
        effect: EffectClass::Idempotent,
        outward: true,
        subject: Some(Subject::Text("path")),
        ..ToolSpec::read_only(name, description, parameters)
    }
}

#[async_trait]
impl Tool for MemoryStore {
    fn spec(&self) -> ToolSpec {
        changing(
            "memory_store",
            "Remembers something for later conversations, as a note: what people ask you to, and \
                lasting facts; no secrets.",
            schema::<Stored>(),
        )
    }

    async fn preview(&self, arguments: &Value, context: &Context) -> Option<Preview> {
        let Stored { path, content, append } = parse(arguments.clone()).ok()?;
        let preview = match self.0.old(&path, context).await {
            Ok(Some(old)) if append || is_daily(&path) => {
                diff::changed(&path, &old.content, &format!("{}\n{content}", old.content))
            }
            Ok(Some(old)) => diff::changed(&path, &old.content, &content),
            Ok(None) => diff::created(&content),
            Err(error) => return Some(Preview::failure(error)),
        };
        Some(preview.covering(&["content"]))
    }

    async fn run(&self, arguments: Value, context: &Context) -> Result<Output, ToolError> {
        let Stored { path, content, append } = parse(arguments)?;
        let what =
            if append || is_daily(&path) { Write::More(content) } else { Write::Whole(content) };
        self.0.write(&path, what, context).await
    }
}

#[async_trait]
impl Tool for MemoryEdit {
    fn spec(&self) -> ToolSpec {
        let says = "Replaces a text in a note of your memory.";
        ToolSpec { tier: Tier::Extension, ..changing("memory_edit", says, schema::<Edited>()) }
    }

    async fn preview(&self, arguments: &Value, context: &Context) -> Option<Preview> {
        let Edited { path, old_string, new_string } = parse(arguments.clone()).ok()?;
        let old = self.0.old(&path, context).await.ok()??.content;
        if old_string.is_empty() || !old.contains(&old_string) {
            return Some(Preview::failure(format!("old_string not found in {path}")));
        }
        let preview = diff::changed(&path, &old, &old.replacen(&old_string, &new_string, 1));
        Some(preview.covering(&["old_string", "new_string"]))
    }

    async fn run(&self, arguments: Value, context: &Context) -> Result<Output, ToolError> {
        let Edited { path, old_string: old, new_string: new } = parse(arguments)?;
        if old.is_empty() {
            return Err(ToolError::InvalidParameters("old_string is empty".into()));
        }
        self.0.write(&path, Write::Instead { old, new }, context).await
    }
}

#[async_trait]
impl Tool for MemoryRecall {
    fn spec(&self) -> ToolSpec {
        ToolSpec::read_only(
            "memory_recall",
            "Reads a note of your memory, or lists all notes.",
            schema::<Recalled>(),
        )
    }

    async fn run(&self, arguments: Value, context: &Context) -> Result<Output, ToolError> {
        let Recalled { path } = parse(arguments)?;
        let Some(path) = path else { return self.0.list(context).await };
        let found = self.0.old(&path, context).await?;
        let found = found.ok_or_else(|| missing(&path))?;
        let text = format!("{}\n{}", source(&found), found.content);
        Ok(Output { foreign: foreign(&[found]), ..Output::text(text) })
    }
}

#[async_trait]
impl Tool for MemorySearch {
    fn spec(&self) -> ToolSpec {
        ToolSpec::read_only(
            "memory_search",
            "Searches your memory: the best matching notes, with an excerpt of each.",
            schema::<Searched>(),
        )
    }

    async fn run(&self, arguments: Value, context: &Context) -> Result<Output, ToolError> {
        let Searched { query } = parse(arguments)?;
        let Shelves { store, meaning, .. } = &self.0;
        let found =
            semantic_search::search(store, meaning.as_ref(), &context.shelf, &query, FOUND).await;
        let (found, asked) = found.map_err(|error| broken(&error))?;
        let mut text = String::new();
        for memory in &found {
            let _ = write!(text, "{}\n{}\n\n", source(memory), excerpt(&memory.content, &query));
        }
        if found.is_empty() {
            text.push_str("No note in your memory matches.");
        }
        let asked = asked.into_iter().collect();
        Ok(Output { foreign: foreign(&found), asked, ..Output::text(text.trim_end()) })
    }
}

#[async_trait]
impl Tool for MemoryForget {
    fn spec(&self) -> ToolSpec {
        let says = "Deletes a note of your memory permanently.";
        ToolSpec { tier: Tier::Extension, ..changing("memory_forget", says, schema::<Forgotten>()) }
    }

    async fn preview(&self, arguments: &Value, context: &Context) -> Option<Preview> {
        let Forgotten { path } = parse(arguments.clone()).ok()?;
        let old = self.0.old(&path, context).await.ok()??;
        Some(diff::changed(&path, &old.content, ""))
    }

    async fn run(&self, arguments: Value, context: &Context) -> Result<Output, ToolError> {
        let Forgotten { path } = parse(arguments)?;
        let (path, shelf) = (self.0.path(&path, context)?, context.shelf.clone());
        let gone = path.clone();
        let forget = self.0.store.write("forget memory", move |tx| {
            Box::pin(async move { memory::forget(tx, &shelf, &gone).await })
        });
        let was_there = forget.await.map_err(|error| broken(&error))?;
        if was_there {
            Ok(Output::text(format!("{path} was deleted.")))
        } else {
            Err(missing(&path))
        }
    }
}

impl Shelves {
    async fn old(&self, path: &str, context: &Context) -> Result<Option<Memory>, ToolError> {
        let (path, shelf) = (self.path(path, context)?, context.shelf.clone());
        let recall = self
            .store
            .read(move |tx| Box::pin(async move { memory::recall(tx, &shelf, &path).await }));
        recall.await.map_err(|error| broken(&error))
    }

    async fn list(&self, context: &Context) -> Result<Output, ToolError> {
        let shelf = context.shelf.clone();
        let list =
            self.store.read(move |tx| Box::pin(async move { memory::list(tx, &shelf).await }));
        let mut all = list.await.map_err(|error| broken(&error))?;
        if all.is_empty() {
            return Ok(Output::text("Your memory is empty."));
        }
        let count = all.len();
        all.truncate(LISTED);
        let mut text = all.iter().map(source).collect::<Vec<_>>().join("\n");
        if count > LISTED {
            let _ = write!(text, "\n… and {} older ones: memory_search finds them", count - LISTED);
        }
        Ok(Output { foreign: foreign(&all), ..Output::text(text) })
    }

    async fn write(&self, path: &str, what: Write, context: &Context) -> Result<Output, ToolError> {
        let path = self.path(path, context)?;
        let (shelf, now) = (context.shelf.clone(), context.now);
        let note = Note {
            path: path.clone(),
            what,
            call: context.call.clone(),
            by: context.person.clone(),
            taint: context.taint.clone(),
        };
        let write = self.store.write("write memory", move |tx| {
            Box::pin(async move { memory::write(tx, &shelf, &note, now).await })
        });
        let failed = |text: String| Err(ToolError::ExecutionFailed(text));
        match write.await.map_err(|error| broken(&error))? {
            Written::Done { size_bytes } => {
                Ok(Output::text(format!("{path} was stored ({size_bytes} of {MAX_BYTES} bytes).")))
            }
            Written::Missing => Err(missing(&path)),
            Written::Found(0) => failed(format!("old_string not found in {path}: recall the note")),
            Written::Found(n) => {
                failed(format!("old_string occurs {n} times in {path}: add more context"))
            }
            Written::TooLong => failed(format!(
                "{path} would be longer than {MAX_BYTES} bytes: shorten it, or begin another note"
            )),
            Written::Full => {
                failed(format!("The maximum of {MOST} notes is reached: delete some first"))
            }
        }
    }

    /// The path of a note: a Markdown file of the memory's tree, whose extension may be omitted.
    fn path(&self, requested: &str, context: &Context) -> Result<String, ToolError> {
        if is_daily(requested) {
            let today = context.now.with_timezone(&self.zone).format("%F");
            return Ok(format!("daily/{today}.md"));
        }
        let path = normalise(requested)?;
        let name = path.rsplit('/').next().unwrap_or_default();
        let path = if name.contains('.') { path.clone() } else { format!("{path}.md") };
        let is_note = Path::new(&path).extension().is_some_and(|ending| ending == "md");
        if !is_note || path.chars().count() > PATH_CHARS {
            return Err(ToolError::InvalidParameters(format!(
                "{requested:?} is not a note: memory contains .md files only, such as MEMORY.md and \
                    context/bees.md"
            )));
        }
        Ok(path)
    }
}

fn is_daily(path: &str) -> bool {
    path.trim() == "daily"
}

fn missing(path: &str) -> ToolError {
    ToolError::ExecutionFailed(format!(
        "Not found: {path} is not in your memory; memory_recall without a path lists all notes"
    ))
}

/// The origin of a note.
fn source(memory: &Memory) -> String {
    let when = memory.changed_at.format("%F %H:%M UTC");
    let read = match memory.taint.as_slice() {
        [] => String::new(),
        taint => format!(", after reading {}", taint.join(", ")),
    };
    format!("[{}, {when}, for {}{read}]", memory.path, memory.by.name)
}

fn foreign(memories: &[Memory]) -> Vec<String> {
    let heeds = |memory: &&Memory| !memory.taint.is_empty() && !crash::planted("memory");
    let tainted = memories.iter().filter(heeds);
    tainted.map(|memory| format!("memory {}", memory.path)).collect()
}

fn excerpt(content: &str, query: &str) -> String {
    let lower = content.to_lowercase();
    let places = query.split_whitespace().filter_map(|term| lower.find(&term.to_lowercase()));
    let chars = lower[..places.min().unwrap_or(0)].chars().count();
    let from = chars.saturating_sub(EXCERPT_CHARS / 3);
    let text: String = content.chars().skip(from).take(EXCERPT_CHARS).collect();
    let ends = |cut: bool| if cut { "…" } else { "" };
    let cut = content.chars().count() > from + EXCERPT_CHARS;
    format!("{}{}{}", ends(from > 0), text.trim(), ends(cut))
}

fn broken(error: &anyhow::Error) -> ToolError {
    tracing::error!(problem = format!("{error:#}"), "the memory is unavailable");
    ToolError::ExecutionFailed("The memory is unavailable: try again later".into())
}
