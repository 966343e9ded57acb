//! Finds memories by what they mean, through a model that turns texts into vectors.
//!
//! What was written since the last search is read when somebody searches: to write a memory waits
//! for no model, and one that is down takes only this away from a search.

use anyhow::{Context as _, Result};
use std::{sync::Arc, time::Duration};
use tokio::time::timeout;

use crate::{
    journal::event::Usage,
    llm::remote::RemoteModel,
    store::{
        Store,
        memory::{self, Memory},
        shelf::Shelf,
        vectors::{self, Placed},
    },
};

/// The memories that are read for one search; the next one reads on.
const READ_AT_ONCE: usize = 64;
const READ_CHARS: usize = 8_000;
const ANSWERS_WITHIN: Duration = Duration::from_secs(10);
/// What is less alike has nothing to do with it.
const ALIKE: f32 = 0.3;

/// A model that turns texts into vectors.
#[derive(Clone)]
pub struct Meaning {
    pub store: Store,
    pub model: Arc<RemoteModel>,
    /// What vectors are kept under: another model's are others.
    pub name: String,
}

/// The model that was asked, and what it has read.
pub type Asked = (String, Usage);

/// By words; and by meaning, as long as the model for that answers.
pub async fn search(
    (store, meaning): (&Store, Option<&Meaning>),
    shelf: &Shelf,
    query: &str,
    most: usize,
) -> Result<(Vec<Memory>, Option<Asked>)> {
    let (of, wanted) = (shelf.clone(), query.to_owned());
    let search =
        store.read(move |tx| Box::pin(async move { memory::search(tx, &of, &wanted, most).await }));
    let mut found = search.await?;
    let Some(meaning) = meaning else { return Ok((found, None)) };
    let (near, usage) = match meaning.near(shelf, query, most).await {
        Ok(near) => near,
        Err(problem) => {
            let problem = format!("{problem:#}");
            tracing::warn!(problem, "memories are searched by their words only");
            return Ok((found, None));
        }
    };
    let paths: Vec<_> = found.iter().map(|memory| memory.path.clone()).collect();
    let mut fitting = Vec::new();
    for path in fused(&paths, &near, most) {
        fitting.extend(match found.iter().position(|memory| memory.path == path) {
            Some(place) => Some(found.swap_remove(place)),
            None => recalled(store, shelf, path).await?,
        });
    }
    Ok((fitting, Some((meaning.name.clone(), usage))))
}

async fn recalled(store: &Store, shelf: &Shelf, path: String) -> Result<Option<Memory>> {
    let shelf = shelf.clone();
    let recall =
        store.read(move |tx| Box::pin(async move { memory::recall(tx, &shelf, &path).await }));
    recall.await
}

impl Meaning {
    /// The memories that mean what is asked for, the closest first, by their paths; and what was
    /// read to find them.
    pub async fn near(
        &self,
        shelf: &Shelf,
        query: &str,
        most: usize,
    ) -> Result<(Vec<String>, Usage)> {
        let (of, name) = (shelf.clone(), self.name.clone());
        let unread = self.store.read(move |tx| {
            Box::pin(async move { vectors::unread(tx, &of, &name, READ_AT_ONCE).await })
        });
        let unread = unread.await?;
        let cut = |text: &str| match text.trim() {
            "" => "-".to_owned(),
            text => text.chars().take(READ_CHARS).collect::<String>(),
        };
        let texts = unread.iter().map(|memory| cut(&memory.content));
        let texts: Vec<_> = [cut(query)].into_iter().chain(texts).collect();
        let count = texts.len();
        let placed = timeout(ANSWERS_WITHIN, self.model.embed(texts)).await;
        let (placed, usage) = placed.context("the model does not answer")??;
        let mut placed = placed.into_iter();
        anyhow::ensure!(placed.len() == count, "the model has left texts out");
        let wanted = placed.next().context("the model has read nothing")?;
        let (of, name) = (shelf.clone(), self.name.clone());
        let kept: Vec<_> = placed.collect();
        let all = self.store.write("read memories", move |tx| {
            Box::pin(async move {
                for (memory, vector) in unread.iter().zip(&kept) {
                    vectors::keep(tx, &name, memory, vector).await?;
                }
                vectors::of_shelf(tx, &of, &name).await
            })
        });
        Ok((closest(&wanted, all.await?, most), usage))
    }
}

fn closest(wanted: &[f32], all: Vec<Placed>, most: usize) -> Vec<String> {
    let alike = |memory: Placed| {
        let alike = cosine(wanted, memory.vector.as_deref()?);
        (alike >= ALIKE).then_some((alike, memory.path))
    };
    let mut found: Vec<_> = all.into_iter().filter_map(alike).collect();
    found.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    found.into_iter().take(most).map(|(_, path)| path).collect()
}

/// 1: the same; 0: nothing in common, or not to be compared.
fn cosine(a: &[f32], b: &[f32]) -> f32 {
    let product = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
    let lengths = (product(a, a) * product(b, b)).sqrt();
    if a.len() != b.len() || lengths == 0.0 { 0.0 } else { product(a, b) / lengths }
}

/// What two searches have found, in one order: by its places in both (reciprocal rank fusion).
fn fused(by_words: &[String], by_meaning: &[String], most: usize) -> Vec<String> {
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
    scored.into_iter().take(most).map(|(_, path)| path.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(names: &str) -> Vec<String> {
        names.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn what_both_searches_find_comes_first() {
        assert_eq!(fused(&paths("a b c"), &paths("c d"), 10), paths("c a b d"));
        assert_eq!(fused(&paths("a b"), &[], 1), paths("a"));
        assert_eq!(fused(&[], &paths("d"), 10), paths("d"));
    }

    #[test]
    fn what_is_alike_points_the_same_way() {
        let alike = |a: &[f32], b: &[f32]| (cosine(a, b) * 100.0).round() as i32;
        assert_eq!(alike(&[1.0, 0.0], &[2.0, 0.0]), 100);
        assert_eq!(alike(&[1.0, 0.0], &[0.0, 1.0]), 0);
        assert_eq!(alike(&[1.0], &[1.0, 0.0]), 0);
        assert_eq!(alike(&[0.0], &[0.0]), 0);
        let placed = |path: &str, vector| Placed { id: 1, path: path.into(), vector };
        let all = vec![
            placed("far", Some(vec![0.0, 1.0])),
            placed("close", Some(vec![1.0, 0.2])),
            placed("same", Some(vec![1.0, 0.0])),
            placed("unread", None),
        ];
        assert_eq!(closest(&[1.0, 0.0], all, 10), paths("same close"));
    }
}
