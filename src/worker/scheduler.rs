//! Runs schedules that are due, and reports background jobs that have ended.
//!
//! A reminder is put into the outbox and a task into the journal, in the transaction that advances
//! the due time. Every node looks for due schedules. The update of the due time is conditional, so
//! exactly one node succeeds, and no node waits for another that has died.

use anyhow::Result;
use channels::{Outgoing, PlaceKind};
use chrono::{DateTime, TimeDelta, Utc};
use chrono_tz::Tz;
use std::{sync::Arc, time::Duration};

use super::Worker;
use crate::{
    agent::taint,
    clock::stops_within,
    gateway::people,
    journal::{
        event::{Event, Speaker},
        ids::ConversationId,
    },
    store::{
        Tx,
        conversations::{self, journal, places},
        jobs::{self, BackgroundJob},
        outbox,
        schedules::{self, Schedule, ScheduleKind, ScheduleState},
    },
};

const POLL_INTERVAL: Duration = Duration::from_secs(1);
const AT_ONCE: usize = 256;
/// A reminder that is delivered later than this after its due time mentions the due time.
const LATE: TimeDelta = TimeDelta::minutes(1);

pub(super) async fn tick(worker: Arc<Worker>) {
    let stop = worker.gateway.stop.clone();
    while !stop.is_cancelled() {
        match fire_due(&worker).await {
            // There may be more.
            Ok(AT_ONCE) => continue,
            Ok(_) => {}
            Err(problem) => {
                tracing::error!(problem = format!("{problem:#}"), "could not run schedules");
            }
        }
        stops_within(POLL_INTERVAL, &stop).await;
    }
}

/// Runs all schedules that are due, and reports all jobs that have ended. Returns how many there
/// were.
pub async fn fire_due(worker: &Arc<Worker>) -> Result<usize> {
    Ok(fire_schedules(worker).await? + report_jobs(worker).await?)
}

async fn report_jobs(worker: &Arc<Worker>) -> Result<usize> {
    let ended = worker.gateway.store.jobs_to_report(AT_ONCE).await?;
    let mut reported = 0;
    for job in ended {
        let id = job.id.clone();
        match report(worker, job).await {
            Ok(done) => reported += usize::from(done),
            Err(problem) => {
                let problem = format!("{problem:#}");
                tracing::error!(job.id = %id, problem, "could not report a job");
            }
        }
    }
    Ok(reported)
}

/// Returns `false` if another node has reported it, or the conversation is busy again.
async fn report(worker: &Arc<Worker>, job: BackgroundJob) -> Result<bool> {
    let (worker, now) = (worker.clone(), worker.gateway.clock.now());
    let store = &worker.gateway.store.clone();
    let reported = store.write("report job", move |tx| {
        Box::pin(async move {
            if !jobs::begin_report(tx, &job, now).await? {
                return Ok(false);
            }
            if has_access(tx, &worker, &job.conversation, &job.by).await? {
                jobs::report(tx, job, now).await?;
            } else {
                tracing::warn!(
                    job.id = %job.id, person = job.by.id,
                    "job not reported: its creator no longer has access"
                );
            }
            Ok(true)
        })
    });
    reported.await
}

async fn fire_schedules(worker: &Arc<Worker>) -> Result<usize> {
    let due = worker.gateway.store.due_schedules(AT_ONCE, worker.gateway.clock.now()).await?;
    let firing = due.into_iter().map(|schedule| async move {
        let id = schedule.id.clone();
        fire(worker, schedule).await.unwrap_or_else(|problem| {
            let problem = format!("{problem:#}");
            tracing::error!(schedule.id = %id, problem, "could not run a schedule");
            false
        })
    });
    let fired = futures::future::join_all(firing).await;
    Ok(fired.into_iter().filter(|fired| *fired).count())
}

/// Runs a schedule. Returns `false` if another node has run it, or if it was deleted in the
/// meantime.
async fn fire(worker: &Arc<Worker>, schedule: Schedule) -> Result<bool> {
    let (worker, now) = (worker.clone(), worker.gateway.clock.now());
    let store = &worker.gateway.store.clone();
    let next = schedule.rule.next(schedule.due_at, now);
    let fired = store.write("run schedule", move |tx| {
        Box::pin(async move {
            if !schedules::fire(tx, &schedule, next, now).await? {
                return Ok(false);
            }
            if !has_access(tx, &worker, &schedule.conversation, &schedule.by).await? {
                let (by, id) = (&schedule.by.id, &schedule.id);
                tracing::warn!(
                    schedule.id = %id, person = by,
                    "schedule paused: its creator no longer has access"
                );
                let due_at = next.unwrap_or(schedule.due_at);
                let fired = Schedule { due_at, ..schedule };
                schedules::set(tx, &fired, ScheduleState::Paused, due_at, now).await?;
                return Ok(true);
            }
            match schedule.does {
                ScheduleKind::Remind => remind(tx, &worker, &schedule, now).await?,
                ScheduleKind::Run => run(tx, schedule, now).await?,
            }
            Ok(true)
        })
    });
    fired.await
}

/// Whether the person still has access: otherwise their schedules and jobs do not run, and their
/// jobs do not report.
pub async fn has_access(
    tx: &mut Tx<'_>,
    worker: &Worker,
    conversation: &ConversationId,
    by: &Speaker,
) -> Result<bool> {
    let (channel, place) = places::place(tx, conversation).await?;
    let Some(connected) = worker.gateway.channels.get(&channel) else { return Ok(true) };
    // A webhook without a person acts for the group.
    if place.kind == PlaceKind::Group && place.chat == by.id {
        return Ok(true);
    }
    people::has_access(tx, &channel, &connected.allow, &connected.settings.roles, &by.id).await
}

async fn remind(
    tx: &mut Tx<'_>,
    worker: &Worker,
    schedule: &Schedule,
    now: DateTime<Utc>,
) -> Result<()> {
    let (channel, _) = places::place(tx, &schedule.conversation).await?;
    let words = conversations::words(tx, &schedule.conversation).await?;
    let mut text = schedule.text.clone();
    if !schedule.taint.is_empty() {
        let agent = worker.gateway.channels.get(&channel).map(|connected| &connected.agent);
        let agent = agent.and_then(|agent| worker.configured(agent));
        let hosts = agent.map(|agent| agent.policy.link_hosts.clone()).unwrap_or_default();
        text = taint::without_links(&text, &hosts);
    }
    let mut markdown = format!("⏰ {text}");
    if now - schedule.due_at >= LATE {
        let zone: Tz = schedule.zone.parse().unwrap_or(Tz::UTC);
        let due = schedule.due_at.with_timezone(&zone).format("%F %H:%M").to_string();
        markdown = format!("{markdown}\n\n{}", (words.was_due)(&due));
    }
    let what = Outgoing::Text { markdown, reply_to: None };
    let shows = match worker.gateway.channels.get(&channel) {
        Some(connected) => what.degrade(&connected.content_limits()),
        None => vec![what],
    };
    outbox::put(tx, &schedule.conversation, shows, now).await
}

/// Puts the task into the journal. A task that was scheduled in a tainted conversation is tainted.
async fn run(tx: &mut Tx<'_>, schedule: Schedule, now: DateTime<Utc>) -> Result<()> {
    let conversation = schedule.conversation;
    for source in schedule.taint {
        journal::append(tx, &conversation, &Event::Tainted { source }, now).await?;
    }
    let Schedule { id, by, text, .. } = schedule;
    let due = Event::TaskDue { schedule: id, by, text };
    journal::append(tx, &conversation, &due, now).await.map(drop)
}
