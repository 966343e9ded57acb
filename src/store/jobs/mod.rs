//! Background jobs: sub-agents that no call waits for, and their pending reports.
//!
//! ```text
//! running ──► ended ──► reported   the report is in the journal of the conversation
//!    └──────► cancelled
//! ```
//! A job is created in one transaction with the conversation of its sub-agent, which then runs like
//! any other. Its answer ends the job in the transaction that records it. The report is a separate
//! step, which waits until the conversation is idle: one conditional update in the transaction that
//! appends the event, so that it happens once, on whichever node looks first.
//!
//! Rows are locked in the order conversation, sub-agent, job.

pub(super) mod ending;
mod report;
mod row;

use anyhow::{Context as _, Result};
use chrono::{DateTime, Utc};
pub use report::{begin_report, report};
use row::{JobRow, job};
use strum::{EnumString, IntoStaticStr};

use super::{
    Tx,
    conversations::{
        journal, places,
        task_answer::TaskAnswer,
        tasks::{self, PlacedTask, Start},
    },
    db::{
        sql,
        unreadable::{JsonTable, readable_rows},
    },
    usage::spent,
};
use crate::journal::{
    event::{InheritedState, JobBudget, Speaker},
    ids::{ConversationId, JobId},
    session::delegation::Task,
};

/// The number of jobs of a conversation that are listed.
const LISTED: i64 = 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr, EnumString)]
#[strum(serialize_all = "snake_case")]
pub enum JobState {
    Running,
    /// It has ended, and its report waits until the conversation is idle.
    Ended,
    Reported,
    Cancelled,
}

impl JobState {
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    fn parse(text: &str) -> Option<Self> {
        text.parse().ok()
    }
}

#[derive(Debug, Clone)]
pub struct BackgroundJob {
    pub id: JobId,
    /// The conversation that it reports to.
    pub conversation: ConversationId,
    /// The conversation of its sub-agent.
    pub child: ConversationId,
    pub agent: String,
    pub task: String,
    /// The person on whose behalf it runs.
    pub by: Speaker,
    pub state: JobState,
    /// The sources of untrusted content that had been read when it was created.
    pub taint: Vec<String>,
    /// The number of jobs in succession that led to it, itself included.
    pub succession: u32,
    pub answer: Option<TaskAnswer>,
    pub created_at: DateTime<Utc>,
    /// When it was created, ended, reported or cancelled.
    pub changed_at: DateTime<Utc>,
}

/// A job to create.
#[derive(Debug, Clone)]
pub struct NewJob {
    pub id: JobId,
    pub conversation: ConversationId,
    pub agent: String,
    pub task: String,
    pub by: Speaker,
    pub inherited: InheritedState,
    /// See [`BackgroundJob::succession`].
    pub succession: u32,
    pub budget: JobBudget,
}

/// How many jobs may run at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JobConcurrency {
    pub per_conversation: usize,
    pub per_person: usize,
}

/// The result of creating a job.
#[derive(Debug, Clone)]
pub enum Created {
    New(Box<BackgroundJob>),
    /// The same call has already created it.
    Existing(Box<BackgroundJob>),
    /// This number of jobs runs in the conversation.
    ConversationFull(usize),
    /// This number of jobs runs for the person.
    PersonFull(usize),
}

fn readable(rows: Vec<JobRow>) -> Vec<BackgroundJob> {
    readable_rows(JsonTable::Jobs, rows, |row| &row.id, job)
}

/// Creates a job and the conversation of its sub-agent, unless the limits are reached.
pub async fn create(
    tx: &mut Tx<'_>,
    new: &NewJob,
    limit: JobConcurrency,
    now: DateTime<Utc>,
) -> Result<Created> {
    journal::lock(tx, &new.conversation).await?;
    if let Some(job) = find(tx, &new.id).await? {
        return Ok(Created::Existing(Box::new(job)));
    }
    let (channel, _) = places::place(tx, &new.conversation).await?;
    let person = format!("{channel}/{}", new.by.id);
    // Creations for one person wait for each other, so that they count each other.
    spent::lock_person(tx, &person, now).await?;
    let (here, everywhere) = running(tx, &new.conversation, &person).await?;
    if here >= limit.per_conversation {
        return Ok(Created::ConversationFull(here));
    }
    if everywhere >= limit.per_person {
        return Ok(Created::PersonFull(everywhere));
    }
    let child = ConversationId::new();
    insert(tx, new, &child, &person, now).await?;
    let task = Task { agent: new.agent.clone(), text: new.task.clone() };
    let start = Start {
        parent: &new.conversation,
        call: new.id.as_str(),
        by: &new.by,
        inherited: &new.inherited,
        job: Some(new.budget),
    };
    tasks::start(tx, &start, PlacedTask { child: &child, task: &task, place: 0 }, now).await?;
    let job = find(tx, &new.id).await?.context("the job was just inserted")?;
    Ok(Created::New(Box::new(job)))
}

async fn insert(
    tx: &mut Tx<'_>,
    new: &NewJob,
    child: &ConversationId,
    person: &str,
    now: DateTime<Utc>,
) -> Result<()> {
    sql!(
        tx,
        execute,
        "
        -- insert job
        INSERT INTO jobs
            (id, conversation, child, person, by_whom, agent, task, status, created_at, changed_at,
             taint, succession)
        VALUES ($1, $2, $3, $4, $5, $6, $7, 'running', $8, $8, $9, $10)",
        new.id.as_str(),
        new.conversation.as_str(),
        child.as_str(),
        person,
        serde_json::to_string(&new.by)?,
        new.agent.as_str(),
        new.task.replace('\0', ""),
        now.timestamp_millis(),
        serde_json::to_string(&new.inherited.taint)?,
        i64::from(new.succession)
    );
    Ok(())
}

/// The number of running jobs in the conversation, and for the person.
async fn running(
    tx: &mut Tx<'_>,
    conversation: &ConversationId,
    person: &str,
) -> Result<(usize, usize)> {
    let (here,): (i64,) = sql!(
        tx,
        fetch_one,
        "
        -- running jobs of a conversation
        SELECT COUNT(*) FROM jobs
        WHERE conversation = $1 AND status = 'running'",
        conversation.as_str()
    );
    let (everywhere,): (i64,) = sql!(
        tx,
        fetch_one,
        "
        -- running jobs of a person
        SELECT COUNT(*) FROM jobs
        WHERE person = $1 AND status = 'running'",
        person
    );
    Ok((here as usize, everywhere as usize))
}

async fn find(tx: &mut Tx<'_>, id: &JobId) -> Result<Option<BackgroundJob>> {
    let row: Option<JobRow> = sql!(
        tx,
        fetch_optional,
        "
        -- job
        SELECT id, conversation, child, by_whom, agent, task, status, answer, taint, succession,
               created_at, changed_at
        FROM jobs
        WHERE id = $1",
        id.as_str()
    );
    row.map(job).transpose()
}

/// The last jobs of a conversation, newest first. All running ones are among them, because their
/// number is limited.
pub async fn of_conversation(
    tx: &mut Tx<'_>,
    conversation: &ConversationId,
) -> Result<Vec<BackgroundJob>> {
    let rows: Vec<JobRow> = sql!(
        tx,
        fetch_all,
        "
        -- jobs of a conversation
        SELECT id, conversation, child, by_whom, agent, task, status, answer, taint, succession,
               created_at, changed_at
        FROM jobs
        WHERE conversation = $1
        ORDER BY CASE WHEN status = 'running' THEN 0 ELSE 1 END, id DESC
        LIMIT $2",
        conversation.as_str(),
        LISTED
    );
    Ok(readable(rows))
}

/// Cancels a job with everything that it has started. Returns `false` if it has ended.
pub async fn cancel(
    tx: &mut Tx<'_>,
    job: &BackgroundJob,
    by: &Speaker,
    now: DateTime<Utc>,
) -> Result<bool> {
    journal::lock(tx, &job.child).await?;
    let cancelled = sql!(
        tx,
        execute,
        "
        -- cancel job
        UPDATE jobs
        SET status = 'cancelled', changed_at = $1
        WHERE id = $2 AND status = 'running'",
        now.timestamp_millis(),
        job.id.as_str()
    );
    if cancelled > 0 {
        tasks::stop_job(tx, &job.child, by, now).await?;
    }
    Ok(cancelled > 0)
}

/// Cancels all running jobs of a conversation, whose row is locked.
pub async fn cancel_all(
    tx: &mut Tx<'_>,
    conversation: &ConversationId,
    by: &Speaker,
    now: DateTime<Utc>,
) -> Result<()> {
    for job in of_conversation(tx, conversation).await? {
        if job.state == JobState::Running {
            cancel(tx, &job, by, now).await?;
        }
    }
    Ok(())
}

/// Cancels all running jobs of a person, whose key is that of [`spent`].
pub async fn cancel_of_person(
    tx: &mut Tx<'_>,
    person: &str,
    by: &Speaker,
    now: DateTime<Utc>,
) -> Result<()> {
    let rows: Vec<JobRow> = sql!(
        tx,
        fetch_all,
        "
        -- running jobs of a person, to cancel them
        SELECT id, conversation, child, by_whom, agent, task, status, answer, taint, succession,
               created_at, changed_at
        FROM jobs
        WHERE person = $1 AND status = 'running'
        ORDER BY child",
        person
    );
    for job in readable(rows) {
        cancel(tx, &job, by, now).await?;
    }
    Ok(())
}
