//! Loads the agent's memory at the beginning of a dialogue.

use anyhow::Result;
use channels::PlaceKind;
use std::fmt::Write as _;

use super::{Worker, turn::Turn};
use crate::{
    journal::event::Event,
    store::{
        leases::Claimed,
        memory::{self, scope::MemoryScope},
    },
};

/// The note that is included in full.
const MAIN: &str = "MEMORY.md";
const MAIN_CHARS: usize = 4_000;
/// The number of further notes that are listed by name.
const NAMED: usize = 30;

impl Worker {
    /// The scope of the memory. A private chat has one memory for all its threads; in groups, each
    /// conversation has a separate one.
    pub(super) fn memory_scope(&self, agent: &str, claimed: &Claimed) -> MemoryScope {
        let scope = match claimed.place.kind {
            _ if self.shared_memory.contains(agent) => String::new(),
            PlaceKind::Private => format!("{}/{}", claimed.channel, claimed.place.chat),
            PlaceKind::Group => claimed.lease.home().to_string(),
        };
        MemoryScope { agent: agent.to_owned(), scope }
    }
}

/// The memory that a new dialogue starts with. It is recorded in the journal, so later changes of
/// the memory do not change the prompts of the dialogue. Tainted notes are left out, because they
/// would taint every dialogue.
pub(super) async fn recollect(turn: &Turn<'_>) -> Result<Option<Event>> {
    if turn.session.memory.is_some() || !turn.session.has_just_begun() {
        return Ok(None);
    }
    let memory_scope = turn.worker.memory_scope(&turn.agent.id, turn.claimed);
    let read = turn.worker.gateway.store.read(move |tx| {
        Box::pin(async move {
            Ok((
                memory::recall(tx, &memory_scope, MAIN).await?,
                memory::list(tx, &memory_scope).await?,
            ))
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
