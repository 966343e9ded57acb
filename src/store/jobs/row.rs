//! Rows of the table of jobs.

use anyhow::{Context as _, Result};
use sqlx::{ColumnIndex, Decode, FromRow, Row, Type};

use super::{Job, State};
use crate::{
    journal::ids::{ConversationId, JobId},
    store::at,
};

pub(super) struct JobRow {
    pub id: String,
    conversation: String,
    child: String,
    by_whom: String,
    agent: String,
    task: String,
    status: String,
    answer: Option<String>,
    created_at: i64,
    changed_at: i64,
}

impl<'r, R: Row> FromRow<'r, R> for JobRow
where
    &'static str: ColumnIndex<R>,
    String: Decode<'r, R::Database> + Type<R::Database>,
    i64: Decode<'r, R::Database> + Type<R::Database>,
    Option<String>: Decode<'r, R::Database> + Type<R::Database>,
{
    fn from_row(row: &'r R) -> Result<Self, sqlx::Error> {
        Ok(Self {
            id: row.try_get("id")?,
            conversation: row.try_get("conversation")?,
            child: row.try_get("child")?,
            by_whom: row.try_get("by_whom")?,
            agent: row.try_get("agent")?,
            task: row.try_get("task")?,
            status: row.try_get("status")?,
            answer: row.try_get("answer")?,
            created_at: row.try_get("created_at")?,
            changed_at: row.try_get("changed_at")?,
        })
    }
}

pub(super) fn job(row: JobRow) -> Result<Job> {
    Ok(Job {
        id: JobId(row.id),
        conversation: ConversationId(row.conversation),
        child: ConversationId(row.child),
        agent: row.agent,
        task: row.task,
        by: serde_json::from_str(&row.by_whom)?,
        state: State::parse(&row.status).context("the status of a job")?,
        answer: row.answer.as_deref().map(serde_json::from_str).transpose()?,
        created_at: at(row.created_at),
        changed_at: at(row.changed_at),
    })
}
