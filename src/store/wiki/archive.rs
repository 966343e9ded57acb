//! Archives, restores and deletes pages.

use anyhow::Result;
use chrono::{DateTime, Utc};

use super::{WikiPage, change, find, scope, state_of};
use crate::{
    journal::ids::CallId,
    store::{
        Tx,
        db::sql,
        memory::{self, MemoryWrite, Note, Write},
    },
};

/// A page that is archived, restored or deleted, and the call that does so.
#[derive(Debug, Clone)]
pub struct PageTarget {
    pub agent: String,
    pub page: String,
    pub call: CallId,
    /// The state ([`state_of`]) that a person has approved the change of, if one was asked.
    pub expects: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TargetOutcome {
    Done,
    /// It already was as requested.
    Unchanged,
    Missing,
    /// The page is no longer as it was approved.
    Changed,
    /// The wiki has the maximum number of pages.
    Full,
}

/// Locks the page and reads it, if it is as it was approved.
async fn locked(tx: &mut Tx<'_>, target: &PageTarget) -> Result<Result<WikiPage, TargetOutcome>> {
    change::lock(tx, &target.agent, &target.page).await?;
    let page = find(tx, &target.agent, &target.page).await?;
    let state = state_of(page.as_ref());
    Ok(match page {
        None => Err(TargetOutcome::Missing),
        Some(_) if target.expects.as_ref().is_some_and(|expected| *expected != state) => {
            Err(TargetOutcome::Changed)
        }
        Some(page) => Ok(page),
    })
}

/// Deletes a page with its history.
pub async fn delete(tx: &mut Tx<'_>, target: &PageTarget) -> Result<TargetOutcome> {
    if let Err(refused) = locked(tx, target).await? {
        return Ok(refused);
    }
    let PageTarget { agent, page, .. } = target;
    change::remove(tx, agent, page).await?;
    memory::forget(tx, &scope(agent), page).await?;
    change::unlink(tx, agent, page).await?;
    sql!(
        tx,
        execute,
        "
        -- delete wiki versions
        DELETE FROM wiki_versions
        WHERE agent = $1 AND page = $2",
        agent.as_str(),
        page.as_str()
    );
    Ok(TargetOutcome::Done)
}

/// Archives a page, which is then not found by searches, or restores it.
pub async fn set_archived(
    tx: &mut Tx<'_>,
    target: &PageTarget,
    archived_at: Option<DateTime<Utc>>,
) -> Result<TargetOutcome> {
    let PageTarget { agent, page, call, .. } = target;
    let old = match locked(tx, target).await? {
        Ok(old) => old,
        Err(refused) => {
            // The same call has already made the change, or somebody else has.
            let current = find(tx, agent, page).await?;
            let is_done = current.is_some_and(|now| now.is_archived == archived_at.is_some());
            return Ok(if is_done { TargetOutcome::Unchanged } else { refused });
        }
    };
    if old.is_archived == archived_at.is_some() {
        return Ok(TargetOutcome::Unchanged);
    }
    if archived_at.is_some() {
        memory::forget(tx, &scope(agent), page).await?;
    } else {
        let note = Note {
            path: page.clone(),
            what: Write::Whole(format!("# {}\n\n{}", old.title, old.content)),
            call: call.clone(),
            by: old.by,
            taint: old.taint,
        };
        let written = memory::write(tx, &scope(agent), &note, old.written_at).await?;
        if !matches!(written, MemoryWrite::Done { .. }) {
            return Ok(TargetOutcome::Full);
        }
    }
    sql!(
        tx,
        execute,
        "
        -- archive wiki page
        UPDATE wiki_pages
        SET archived_at = $1
        WHERE agent = $2 AND page = $3",
        archived_at.map(|at| at.timestamp_millis()),
        agent.as_str(),
        page.as_str()
    );
    Ok(TargetOutcome::Done)
}
