//! Erases a person completely, resuming after a crash: database rows, files and workspaces.

use anyhow::{Context as _, Result};
use chrono::TimeDelta;

use super::Worker;
use crate::{
    journal::ids::ConversationId,
    store::{
        audit::Fact,
        erasure::{Erasure, StepKind},
    },
};

/// The result of an erasure.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ErasureOutcome {
    /// The conversations that were deleted.
    pub conversations: Vec<ConversationId>,
    /// The number of events in other people's conversations that were redacted.
    pub events: i64,
    pub files: i64,
}

/// An erasure that has not finished after this time is considered interrupted.
const INTERRUPTED_AFTER: TimeDelta = TimeDelta::minutes(10);

/// Erases a person. `None` if they have open approvals or running calls.
pub async fn erase(
    worker: &Worker,
    channel: &str,
    person: &str,
    fact: Fact,
) -> Result<Option<ErasureOutcome>> {
    let (store, now) = (&worker.gateway.store, worker.gateway.clock.now());
    match store.begin_erasure(channel, person, fact, now).await? {
        Some(erasure) => proceed(worker, &erasure).await.map(Some),
        None => Ok(None),
    }
}

/// Resumes interrupted erasures.
pub async fn resume(worker: &Worker) -> Result<()> {
    let before = worker.gateway.clock.now() - INTERRUPTED_AFTER;
    for erasure in worker.gateway.store.erasures(before).await? {
        tracing::warn!(erasure.id = erasure.id, "resuming an interrupted erasure");
        if let Err(problem) = proceed(worker, &erasure).await {
            let problem = format!("{problem:#}");
            tracing::error!(erasure.id = erasure.id, problem, "could not resume an erasure");
        }
    }
    Ok(())
}

/// Performs the remaining steps of an erasure.
pub(super) async fn proceed(worker: &Worker, erasure: &Erasure) -> Result<ErasureOutcome> {
    let (store, clock) = (&worker.gateway.store, &worker.gateway.clock);
    let mut conversations = Vec::new();
    for step in store.erasure_steps(erasure).await? {
        store.erase_step(&step, clock.now()).await?;
        if step.kind == StepKind::Own {
            let removed = worker.workspaces.remove(&step.conversation).await;
            removed.with_context(|| format!("removing the workspace of {}", step.conversation))?;
        }
        store.end_erasure_step(&step).await?;
        if step.kind == StepKind::Own {
            conversations.push(step.conversation);
        }
    }
    let files = store.erased_files(erasure).await?;
    for digest in &files {
        worker.gateway.artifacts.remove(digest).await?;
    }
    let erased = store.end_erasure(erasure, files.len(), clock.now()).await?;
    Ok(ErasureOutcome { conversations, events: erased.events, files: erased.files })
}
