//! Reports of jobs that have ended.

use anyhow::{Context as _, Result};
use chrono::{DateTime, Utc};

use super::{BackgroundJob, readable, row::JobRow};
use crate::{
    journal::event::{Event, InheritedState, Outcome},
    store::{Store, Tx, conversations::journal, db::sql},
};

impl Store {
    /// Up to `limit` jobs that have ended and whose conversation is idle, in the order in which they
    /// ended.
    pub async fn jobs_to_report(&self, limit: usize) -> Result<Vec<BackgroundJob>> {
        self.read(move |tx| Box::pin(to_report(tx, limit))).await
    }
}

/// Whether a conversation is idle: no turn is running or due, and nothing waits for an answer.
macro_rules! is_idle {
    () => {
        "c.ready_at IS NULL
        AND NOT EXISTS (
            SELECT 1 FROM approvals a
            WHERE a.conversation = c.id AND a.status = 'pending'
        )
        AND NOT EXISTS (
            SELECT 1 FROM tasks t
            WHERE t.parent = c.id AND t.status = 'open'
        )"
    };
}

async fn to_report(tx: &mut Tx<'_>, limit: usize) -> Result<Vec<BackgroundJob>> {
    let rows: Vec<JobRow> = sql!(
        tx,
        fetch_all,
        concat!(
            "
            -- jobs to report
            SELECT j.id, j.conversation, j.child, j.by_whom, j.agent, j.task, j.status, j.answer,
                   j.taint, j.succession, j.created_at, j.changed_at
            FROM jobs j
            JOIN conversations c ON c.id = j.conversation
            WHERE j.status = 'ended' AND ",
            is_idle!(),
            "
            ORDER BY j.changed_at
            LIMIT $1"
        ),
        limit as i64
    );
    Ok(readable(rows))
}

/// Marks a job as reported. Returns `false` if another node has reported it, or the conversation is
/// no longer idle. The conversation's row is locked, so it stays idle until the report is recorded.
pub async fn begin_report(
    tx: &mut Tx<'_>,
    job: &BackgroundJob,
    now: DateTime<Utc>,
) -> Result<bool> {
    journal::lock(tx, &job.conversation).await?;
    let begun = sql!(
        tx,
        execute,
        concat!(
            "
            -- report job
            UPDATE jobs
            SET status = 'reported', changed_at = $1
            WHERE id = $2 AND status = 'ended' AND EXISTS (
                SELECT 1 FROM conversations c
                WHERE c.id = jobs.conversation AND ",
            is_idle!(),
            "
            )"
        ),
        now.timestamp_millis(),
        job.id.as_str()
    );
    Ok(begun > 0)
}

/// Appends the report to the journal, with the taint of the sub-agent.
pub async fn report(tx: &mut Tx<'_>, job: BackgroundJob, now: DateTime<Utc>) -> Result<()> {
    let answer = job.answer.context("a job that has ended has an answer")?;
    // The tokens were spent in turns of their own.
    let inherited = InheritedState { tokens: 0, joined: vec![], ..answer.inherited };
    if inherited != InheritedState::default() {
        journal::append(tx, &job.conversation, &Event::StateInherited(inherited), now).await?;
    }
    let reported = Event::JobReported {
        job: job.id,
        by: job.by,
        task: job.task,
        is_done: answer.result.outcome == Outcome::Done,
        text: answer.result.text,
        succession: job.succession,
    };
    journal::append(tx, &job.conversation, &reported, now).await.map(drop)
}
