//! What the agent remembers where it talks, and what of it a dialogue begins with.

use anyhow::Result;
use channels::PlaceKind;
use std::fmt::Write as _;

use super::{Worker, turn::Turn};
use crate::{
    journal::event::Event,
    store::{leases::Claimed, memory, memory_scope::MemoryScope},
};

/// What every dialogue begins with.
const MAIN: &str = "MEMORY.md";
const MAIN_CHARS: usize = 4_000;
/// The other notes that are named.
const NAMED: usize = 30;

impl Worker {
    /// A private chat has one over all its threads; of a group, every conversation has its own.
    pub(super) fn shelf(&self, agent: &str, claimed: &Claimed) -> MemoryScope {
        let scope = match claimed.place.kind {
            _ if self.shared_memory.contains(agent) => String::new(),
            PlaceKind::Private => format!("{}/{}", claimed.channel, claimed.place.chat),
            PlaceKind::Group => claimed.lease.home().to_string(),
        };
        MemoryScope { agent: agent.to_owned(), scope }
    }
}

/// What a dialogue that has just begun is told; from then on it stands in its journal, so that its
/// prompts stay the same whatever is remembered meanwhile. What other people's words have to do with
/// is left out: it would taint every dialogue.
pub(super) async fn recollect(turn: &Turn<'_>) -> Result<Option<Event>> {
    if turn.session.memory.is_some() || !turn.session.has_just_begun() {
        return Ok(None);
    }
    let shelf = turn.worker.shelf(&turn.agent.id, turn.claimed);
    let read = turn.worker.gateway.store.read(move |tx| {
        Box::pin(async move {
            Ok((memory::recall(tx, &shelf, MAIN).await?, memory::list(tx, &shelf).await?))
        })
    });
    let (main, all) = read.await?;
    let mut text = String::new();
    if let Some(main) = main.filter(|main| main.taint.is_empty()) {
        text.extend(main.content.trim().chars().take(MAIN_CHARS));
    }
    let others = all.iter().filter(|other| other.path != MAIN && other.taint.is_empty());
    for other in others.take(NAMED) {
        let _ = write!(text, "\n- {}", other.path);
    }
    let text = text.trim().to_owned();
    Ok((!text.is_empty()).then_some(Event::Remembered { text }))
}
