//! Semantic search of memories, with a model for embeddings.
//!
//! New memories are embedded during a search, so that storing a memory does not wait for a model.
//! If the model is unavailable, the search uses words only.

use anyhow::{Context as _, Result};
use std::{sync::Arc, time::Duration};
use tokio::time::{Instant, timeout_at};

use crate::{
    journal::event::Usage,
    llm::{ModelError, remote::RemoteModel},
    store::{
        Store,
        memory::{
            self, Memory,
            embeddings::{self, EmbeddedMemory, UnembeddedMemory},
            scope::MemoryScope,
        },
    },
};

/// The maximum number of memories that are embedded per search, and per request; the next search
/// continues.
const READ_AT_ONCE: usize = 64;
const IN_A_REQUEST: usize = 16;
/// The maximum length of a memory that is embedded, in characters. In any script, it is within the
/// 8,192 tokens of OpenAI's models.
const READ_CHARS: usize = 4_000;
/// If the model rejects even this length, the text is not embedded.
const LEAST_CHARS: usize = 250;
/// How long a search waits for the model.
const EMBEDDING_TIMEOUT: Duration = Duration::from_secs(10);
/// Memories with a lower cosine similarity are unrelated.
const ALIKE: f32 = 0.3;

/// An embedding model.
#[derive(Clone)]
pub struct Meaning {
    pub store: Store,
    pub model: Arc<RemoteModel>,
    /// The name under which its vectors are stored.
    pub name: String,
}

/// The id of the model that was requested, and its usage.
pub type AskedModel = (String, Usage);

/// Searches by words and, if the model answers, semantically.
pub async fn search(
    store: &Store,
    meaning: Option<&Meaning>,
    memory_scope: &MemoryScope,
    query: &str,
    limit: usize,
) -> Result<(Vec<Memory>, Option<AskedModel>)> {
    let (of, wanted) = (memory_scope.clone(), query.to_owned());
    let search = store
        .read(move |tx| Box::pin(async move { memory::search(tx, &of, &wanted, limit).await }));
    let mut found = search.await?;
    let Some(meaning) = meaning else { return Ok((found, None)) };
    let (near, usage) = match meaning.near(memory_scope, query, limit).await {
        Ok(near) => near,
        Err(problem) => {
            let problem = format!("{problem:#}");
            tracing::warn!(problem, "semantic search failed, falling back to full-text search");
            return Ok((found, None));
        }
    };
    let paths: Vec<_> = found.iter().map(|memory| memory.path.clone()).collect();
    let mut fitting = Vec::new();
    for path in fused(&paths, &near, limit) {
        fitting.extend(match found.iter().position(|memory| memory.path == path) {
            Some(place) => Some(found.swap_remove(place)),
            None => recalled(store, memory_scope, path).await?,
        });
    }
    Ok((fitting, Some((meaning.name.clone(), usage))))
}

async fn recalled(
    store: &Store,
    memory_scope: &MemoryScope,
    path: String,
) -> Result<Option<Memory>> {
    let memory_scope = memory_scope.clone();
    let recall = store
        .read(move |tx| Box::pin(async move { memory::recall(tx, &memory_scope, &path).await }));
    recall.await
}

impl Meaning {
    /// The memories with the most similar meaning by path, closest first, and the usage of the
    /// search.
    pub async fn near(
        &self,
        memory_scope: &MemoryScope,
        query: &str,
        limit: usize,
    ) -> Result<(Vec<String>, Usage)> {
        let by = Instant::now() + EMBEDDING_TIMEOUT;
        let mut usage = Usage::default();
        let wanted = self.embed_beginning(query, by, &mut usage).await?.remove(0);
        if let Err(problem) = self.read_on(memory_scope, by, &mut usage).await {
            let problem = format!("{problem:#}");
            tracing::warn!(problem, "some memories have no embedding yet");
        }
        let (of, name) = (memory_scope.clone(), self.name.clone());
        let all = self
            .store
            .read(move |tx| Box::pin(async move { embeddings::of_scope(tx, &of, &name).await }));
        Ok((closest(&wanted, all.await?, limit), usage))
    }

    /// Embeds new memories and stores each batch.
    async fn read_on(
        &self,
        memory_scope: &MemoryScope,
        by: Instant,
        usage: &mut Usage,
    ) -> Result<()> {
        let (of, name) = (memory_scope.clone(), self.name.clone());
        let unread = self.store.read(move |tx| {
            Box::pin(async move { embeddings::unread(tx, &of, &name, READ_AT_ONCE).await })
        });
        let unread = unread.await?;
        for part in unread.chunks(IN_A_REQUEST) {
            let texts = part.iter().map(|memory| memory.content.as_str()).collect();
            match self.embed(texts, by, usage).await {
                Ok(read) => self.keep(part, read).await?,
                Err(problem) if is_rejected(&problem) => {
                    self.read_each(part, by, usage).await?;
                }
                Err(problem) => return Err(problem),
            }
        }
        Ok(())
    }

    /// Embeds memories one at a time. If the model rejects one, whatever its length, it gets an
    /// empty embedding and is not sent again.
    async fn read_each(
        &self,
        part: &[UnembeddedMemory],
        by: Instant,
        usage: &mut Usage,
    ) -> Result<()> {
        for memory in part {
            let read = match self.embed_beginning(&memory.content, by, usage).await {
                Err(problem) if is_rejected(&problem) => vec![Vec::new()],
                read => read?,
            };
            self.keep(std::slice::from_ref(memory), read).await?;
        }
        Ok(())
    }

    /// Embeds as much of the beginning of a text as the model accepts.
    async fn embed_beginning(
        &self,
        text: &str,
        by: Instant,
        usage: &mut Usage,
    ) -> Result<Vec<Vec<f32>>> {
        let text = text.trim();
        let mut chars = text.chars().count().min(READ_CHARS);
        loop {
            let beginning: String = text.chars().take(chars).collect();
            match self.embed(vec![beginning.as_str()], by, usage).await {
                Err(problem) if is_too_long(&problem) && chars > LEAST_CHARS => chars /= 2,
                read => return read,
            }
        }
    }

    async fn embed(
        &self,
        texts: Vec<&str>,
        by: Instant,
        usage: &mut Usage,
    ) -> Result<Vec<Vec<f32>>> {
        let cut = |text: &&str| match text.trim() {
            "" => "-".to_owned(),
            text => text.chars().take(READ_CHARS).collect(),
        };
        let read = timeout_at(by, self.model.embed(texts.iter().map(cut).collect())).await;
        let (read, used) = read.context("the model does not answer")??;
        usage.input_tokens += used.input_tokens;
        anyhow::ensure!(read.len() == texts.len(), "the model returned too few vectors");
        Ok(read)
    }

    async fn keep(&self, read: &[UnembeddedMemory], vectors: Vec<Vec<f32>>) -> Result<()> {
        let (read, name) = (read.to_vec(), self.name.clone());
        let keep = self.store.write("read memories", move |tx| {
            Box::pin(async move {
                for (memory, vector) in read.iter().zip(&vectors) {
                    embeddings::keep(tx, &name, memory, vector).await?;
                }
                Ok(())
            })
        });
        keep.await
    }
}

/// Whether the model would reject the same text again.
fn is_rejected(problem: &anyhow::Error) -> bool {
    let is_refused =
        matches!(problem.downcast_ref(), Some(ModelError::Rejected(_) | ModelError::Filtered(_)));
    is_refused || is_too_long(problem)
}

fn is_too_long(problem: &anyhow::Error) -> bool {
    problem.downcast_ref::<ModelError>().is_some_and(ModelError::is_size)
}

fn closest(wanted: &[f32], all: Vec<EmbeddedMemory>, limit: usize) -> Vec<String> {
    let alike = |memory: EmbeddedMemory| {
        let alike = cosine(wanted, memory.vector.as_deref()?);
        (alike >= ALIKE).then_some((alike, memory.path))
    };
    let mut found: Vec<_> = all.into_iter().filter_map(alike).collect();
    found.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    found.into_iter().take(limit).map(|(_, path)| path).collect()
}

/// 1: identical; 0: unrelated or not comparable.
fn cosine(a: &[f32], b: &[f32]) -> f32 {
    let product = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
    let lengths = (product(a, a) * product(b, b)).sqrt();
    if a.len() != b.len() || lengths == 0.0 { 0.0 } else { product(a, b) / lengths }
}

/// Merges the results of two searches by rank (reciprocal rank fusion).
fn fused(by_words: &[String], by_meaning: &[String], limit: usize) -> Vec<String> {
    let place = |all: &[String], path: &String| {
        let place = all.iter().position(|known| known == path)?;
        Some(1.0 / (60.0 + place as f64))
    };
    let mut scored: Vec<(f64, &String)> = Vec::new();
    for path in by_words.iter().chain(by_meaning) {
        if scored.iter().all(|(_, known)| *known != path) {
            let places = [place(by_words, path), place(by_meaning, path)];
            scored.push((places.into_iter().flatten().sum(), path));
        }
    }
    scored.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    scored.into_iter().take(limit).map(|(_, path)| path.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(names: &str) -> Vec<String> {
        names.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn results_of_both_searches_rank_first() {
        assert_eq!(fused(&paths("a b c"), &paths("c d"), 10), paths("c a b d"));
        assert_eq!(fused(&paths("a b"), &[], 1), paths("a"));
        assert_eq!(fused(&[], &paths("d"), 10), paths("d"));
    }

    #[test]
    fn similarity_is_the_cosine_of_vectors() {
        let alike = |a: &[f32], b: &[f32]| (cosine(a, b) * 100.0).round() as i32;
        assert_eq!(alike(&[1.0, 0.0], &[2.0, 0.0]), 100);
        assert_eq!(alike(&[1.0, 0.0], &[0.0, 1.0]), 0);
        assert_eq!(alike(&[1.0], &[1.0, 0.0]), 0);
        assert_eq!(alike(&[0.0], &[0.0]), 0);
        let placed = |path: &str, vector| EmbeddedMemory { path: path.into(), vector };
        let all = vec![
            placed("far", Some(vec![0.0, 1.0])),
            placed("close", Some(vec![1.0, 0.2])),
            placed("same", Some(vec![1.0, 0.0])),
            placed("unread", None),
        ];
        assert_eq!(closest(&[1.0, 0.0], all, 10), paths("same close"));
    }
}
