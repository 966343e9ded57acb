//! Maintenance: deletes data past its retention, resumes interrupted work and seals the audit.
//!
//! One node at a time does this. The work consists of slices that can be repeated, so it can stop
//! or move to another node at any point.

use anyhow::Result;
use chrono::TimeDelta;
use serde_json::Value;
use std::{collections::BTreeSet, sync::Arc, time::Duration};

use super::{Worker, erasure};
use crate::{
    clock::{Clock as _, SystemClock, stops_within},
    store::{
        OWNERS_AT_ONCE, conversations::retire::CreationPosition, files, leases::DutyKind,
        retention::prunes,
    },
    texts,
};

/// The interval of the rounds.
pub(super) const EVERY: Duration = Duration::from_mins(10);
/// How long a software build is kept after its end.
const BUILDS_KEPT: TimeDelta = TimeDelta::days(30);
/// The number of artifact folders, of 256, that one round examines.
const FOLDERS: u8 = 16;

/// Runs rounds of maintenance until the gateway's `stop`.
pub async fn maintain(worker: Arc<Worker>, every: Duration) {
    let stop = &worker.gateway.stop;
    let mut round = Round::default();
    while !stops_within(every, stop).await {
        if let Err(problem) = run_once(&worker, &mut round).await {
            tracing::error!(problem = format!("{problem:#}"), "maintenance failed");
        }
    }
}

/// The position from which the next round continues.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Round {
    folder: u8,
}

/// Runs one round of maintenance, unless another node does it.
pub async fn run_once(worker: &Worker, round: &mut Round) -> Result<()> {
    if !may_go_on(worker).await? {
        return Ok(());
    }
    // Each part runs even if another one fails; the first error is returned.
    let parts = [
        worker.gateway.store.determine_owners(OWNERS_AT_ONCE).await,
        erasure::resume(worker).await,
        prune(worker).await,
        backfill(worker).await,
        expire_conversations(worker).await,
        sweep_artifacts(worker, round).await,
        remove_builds(worker).await,
        seal(worker).await,
    ];
    parts.into_iter().collect()
}

async fn prune(worker: &Worker) -> Result<()> {
    let mut rules = Vec::new();
    for name in prunes() {
        rules.push(prune_by(worker, name).await);
    }
    let (store, clock) = (&worker.gateway.store, &worker.gateway.clock);
    while may_go_on(worker).await? && store.prune_days(&worker.retention, clock.now()).await? {}
    rules.into_iter().collect()
}

async fn prune_by(worker: &Worker, name: &'static str) -> Result<()> {
    let (store, clock) = (&worker.gateway.store, &worker.gateway.clock);
    while may_go_on(worker).await? && store.prune(name, &worker.retention, clock.now()).await? {}
    Ok(())
}

async fn backfill(worker: &Worker) -> Result<()> {
    let (store, clock) = (&worker.gateway.store, &worker.gateway.clock);
    while may_go_on(worker).await? && store.backfill_mentions(clock.now()).await? {}
    Ok(())
}

/// Seals the audit, then deletes records that are sealed and past their retention.
async fn seal(worker: &Worker) -> Result<()> {
    let (store, clock) = (&worker.gateway.store, &worker.gateway.clock);
    let keep_from = worker.retention.audit.map(|keep| clock.now() - keep);
    while may_go_on(worker).await? && store.seal(clock.now(), keep_from).await? > 0 {}
    Ok(())
}

/// Whether this node still holds the duty and is not shutting down.
async fn may_go_on(worker: &Worker) -> Result<bool> {
    let gateway = &worker.gateway;
    Ok(!gateway.stop.is_cancelled()
        && gateway.store.hold_duty(DutyKind::Maintenance).await?.is_some())
}

async fn expire_conversations(worker: &Worker) -> Result<()> {
    let (store, clock) = (&worker.gateway.store, &worker.gateway.clock);
    let before = clock.now() - worker.retention.tasks;
    while may_go_on(worker).await?
        && let Some(expired) = store.expire_sub_agents(before, clock.now()).await?
    {
        erasure::proceed(worker, &expired).await?;
    }
    let Some(kept) = worker.retention.conversations else { return Ok(()) };
    let (before, mut after) = (clock.now() - kept, Some(CreationPosition::default()));
    while let Some(from) = after
        && may_go_on(worker).await?
    {
        let (expired, next) = store.expire_idle(before, from, clock.now()).await?;
        if let Some(expired) = expired {
            erasure::proceed(worker, &expired).await?;
        }
        after = next;
    }
    Ok(())
}

/// Removes old files without references in some of the folders. Uses the machine's clock, like the
/// files' timestamps.
async fn sweep_artifacts(worker: &Worker, round: &mut Round) -> Result<()> {
    let gateway = &worker.gateway;
    if !gateway.store.mentions_are_complete().await? {
        return Ok(());
    }
    let before = SystemClock.now() - worker.retention.artifacts;
    let open: BTreeSet<String> =
        gateway.store.open_arguments().await?.iter().map(file_of).collect();
    for _ in 0..FOLDERS {
        if !may_go_on(worker).await? {
            break;
        }
        let old = gateway.artifacts.older(round.folder, before).await?;
        for digest in gateway.store.unnamed_files(old).await? {
            if !open.contains(&digest) {
                gateway.artifacts.discard(&digest, before).await?;
            }
        }
        round.folder = round.folder.wrapping_add(1);
    }
    Ok(())
}

/// Removes old builds. Uses the machine's clock, like the files' timestamps.
async fn remove_builds(worker: &Worker) -> Result<()> {
    let before = (SystemClock.now() - BUILDS_KEPT).into();
    let builds = worker.workspaces.builds.clone();
    tokio::task::spawn_blocking(move || builds.remove_before(before)).await?
}

/// The file with all arguments of an approval that an earlier release created.
fn file_of(arguments: &Value) -> String {
    files::digest_of(texts::arguments_file(arguments).as_bytes())
}
