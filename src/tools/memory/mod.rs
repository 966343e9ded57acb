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
    store::{
        Store,
        memory::{self, MAX_BYTES, MAX_NOTES, Memory, MemoryWrite, Note, Write},
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
struct MemoryTools {
    store: Store,
    /// The time zone of daily notes.
    zone: Tz,
    /// Semantic search, if an embedding model is configured.
    meaning: Option<Meaning>,
}

/// All five tools.
pub fn tools(store: &Store, zone: Tz, meaning: Option<Meaning>) -> Vec<Arc<dyn Tool>> {
    let shared = MemoryTools { store: store.clone(), zone, meaning };
    vec![
        Arc::new(MemoryStore(shared.clone())),
        Arc::new(MemoryEdit(shared.clone())),
        Arc::new(MemoryRecall(shared.clone())),
        Arc::new(MemorySearch(shared.clone())),
        Arc::new(MemoryForget(shared)),
    ]
}

/// `memory_store`
struct MemoryStore(MemoryTools);

/// `memory_edit`
struct MemoryEdit(MemoryTools);

/// `memory_recall`
struct MemoryRecall(MemoryTools);

/// `memory_search`
struct MemorySearch(MemoryTools);

/// `memory_forget`
struct MemoryForget(MemoryTools);

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct StoreArguments {
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
struct EditArguments {
    /// Path of the note.
    path: String,
    /// The text to replace; it must occur in the note exactly once.
    old_string: String,
    /// The replacement.
    new_string: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RecallArguments {
    /// Path of the note; all are listed if omitted.
    #[serde(default)]
    path: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SearchArguments {
    /// Words, any of which a note may contain.
    query: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ForgetArguments {
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
            schema::<StoreArguments>(),
        )
    }

    async fn preview(&self, arguments: &Value, context: &Context) -> Option<Preview> {
        let StoreArguments { path, content, append } = parse(arguments.clone()).ok()?;
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
        let StoreArguments { path, content, append } = parse(arguments)?;
        let what =
            if append || is_daily(&path) { Write::More(content) } else { Write::Whole(content) };
        self.0.write(&path, what, context).await
    }
}

#[async_trait]
impl Tool for MemoryEdit {
    fn spec(&self) -> ToolSpec {
        let says = "Replaces a text in a note of your memory.";
        ToolSpec {
            tier: Tier::Extension,
            ..changing("memory_edit", says, schema::<EditArguments>())
        }
    }

    async fn preview(&self, arguments: &Value, context: &Context) -> Option<Preview> {
        let EditArguments { path, old_string, new_string } = parse(arguments.clone()).ok()?;
        let old = self.0.old(&path, context).await.ok()??.content;
        if old_string.is_empty() || !old.contains(&old_string) {
            return Some(Preview::failure(format!("old_string not found in {path}")));
        }
        let preview = diff::changed(&path, &old, &old.replacen(&old_string, &new_string, 1));
        Some(preview.covering(&["old_string", "new_string"]))
    }

    async fn run(&self, arguments: Value, context: &Context) -> Result<Output, ToolError> {
        let EditArguments { path, old_string: old, new_string: new } = parse(arguments)?;
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
            schema::<RecallArguments>(),
        )
    }

    async fn run(&self, arguments: Value, context: &Context) -> Result<Output, ToolError> {
        let RecallArguments { path } = parse(arguments)?;
        let Some(path) = path else { return self.0.list(context).await };
        let found = self.0.old(&path, context).await?;
        let found = found.ok_or_else(|| missing(&path))?;
        let text = format!("{}\n{}", source(&found), found.content);
        Ok(Output { untrusted: untrusted(&[found]), ..Output::text(text) })
    }
}

#[async_trait]
impl Tool for MemorySearch {
    fn spec(&self) -> ToolSpec {
        ToolSpec::read_only(
            "memory_search",
            "Searches your memory: the best matching notes, with an excerpt of each.",
            schema::<SearchArguments>(),
        )
    }

    async fn run(&self, arguments: Value, context: &Context) -> Result<Output, ToolError> {
        let SearchArguments { query } = parse(arguments)?;
        let MemoryTools { store, meaning, .. } = &self.0;
        let found =
            semantic_search::search(store, meaning.as_ref(), &context.memory_scope, &query, FOUND)
                .await;
        let (found, asked) = found.map_err(|error| broken(&error))?;
        let mut text = String::new();
        for memory in &found {
            let _ = write!(text, "{}\n{}\n\n", source(memory), excerpt(&memory.content, &query));
        }
        if found.is_empty() {
            text.push_str("No note in your memory matches.");
        }
        let asked = asked.into_iter().collect();
        Ok(Output { untrusted: untrusted(&found), asked, ..Output::text(text.trim_end()) })
    }
}

#[async_trait]
impl Tool for MemoryForget {
    fn spec(&self) -> ToolSpec {
        let says = "Deletes a note of your memory permanently.";
        ToolSpec {
            tier: Tier::Extension,
            ..changing("memory_forget", says, schema::<ForgetArguments>())
        }
    }

    async fn preview(&self, arguments: &Value, context: &Context) -> Option<Preview> {
        let ForgetArguments { path } = parse(arguments.clone()).ok()?;
        let old = self.0.old(&path, context).await.ok()??;
        Some(diff::changed(&path, &old.content, ""))
    }

    async fn run(&self, arguments: Value, context: &Context) -> Result<Output, ToolError> {
        let ForgetArguments { path } = parse(arguments)?;
        let (path, memory_scope) = (self.0.path(&path, context)?, context.memory_scope.clone());
        let gone = path.clone();
        let forget = self.0.store.write("delete memory", move |tx| {
            Box::pin(async move { memory::forget(tx, &memory_scope, &gone).await })
        });
        let was_there = forget.await.map_err(|error| broken(&error))?;
        if was_there {
            Ok(Output::text(format!("{path} was deleted.")))
        } else {
            Err(missing(&path))
        }
    }
}

impl MemoryTools {
    async fn old(&self, path: &str, context: &Context) -> Result<Option<Memory>, ToolError> {
        let (path, memory_scope) = (self.path(path, context)?, context.memory_scope.clone());
        let recall = self.store.read(move |tx| {
            Box::pin(async move { memory::recall(tx, &memory_scope, &path).await })
        });
        recall.await.map_err(|error| broken(&error))
    }

    async fn list(&self, context: &Context) -> Result<Output, ToolError> {
        let memory_scope = context.memory_scope.clone();
        let list = self
            .store
            .read(move |tx| Box::pin(async move { memory::list(tx, &memory_scope).await }));
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
        Ok(Output { untrusted: untrusted(&all), ..Output::text(text) })
    }

    async fn write(&self, path: &str, what: Write, context: &Context) -> Result<Output, ToolError> {
        let path = self.path(path, context)?;
        let (memory_scope, now) = (context.memory_scope.clone(), context.now);
        let note = Note {
            path: path.clone(),
            what,
            call: context.call.clone(),
            by: context.person.clone(),
            taint: context.taint.clone(),
        };
        let write = self.store.write("write memory", move |tx| {
            Box::pin(async move { memory::write(tx, &memory_scope, &note, now).await })
        });
        let failed = |text: String| Err(ToolError::ExecutionFailed(text));
        match write.await.map_err(|error| broken(&error))? {
            MemoryWrite::Done { size_bytes } => {
                Ok(Output::text(format!("{path} was stored ({size_bytes} of {MAX_BYTES} bytes).")))
            }
            MemoryWrite::Missing => Err(missing(&path)),
            MemoryWrite::Found(0) => {
                failed(format!("old_string not found in {path}: recall the note"))
            }
            MemoryWrite::Found(n) => {
                failed(format!("old_string occurs {n} times in {path}: add more context"))
            }
            MemoryWrite::TooLong => failed(format!(
                "{path} would be longer than {MAX_BYTES} bytes: shorten it, or begin another note"
            )),
            MemoryWrite::Full => {
                failed(format!("The maximum of {MAX_NOTES} notes is reached: delete some first"))
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

fn untrusted(memories: &[Memory]) -> Vec<String> {
    let tainted = memories.iter().filter(|memory| !memory.taint.is_empty());
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
