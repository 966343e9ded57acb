//! Rows of the table of jobs.

use anyhow::{Context as _, Result};

use super::{BackgroundJob, JobState};
use crate::{
    journal::ids::{ConversationId, JobId},
    store::{at, db::row::row},
};

row! {
    pub(super) struct JobRow {
        id: String,
        conversation: String,
        child: String,
        by_whom: String,
        agent: String,
        task: String,
        status: String,
        answer: Option<String>,
        taint: String,
        succession: i64,
        created_at: i64,
        changed_at: i64,
    }
}

pub(super) fn job(row: JobRow) -> Result<BackgroundJob> {
    Ok(BackgroundJob {
        id: JobId(row.id),
        conversation: ConversationId(row.conversation),
        child: ConversationId(row.child),
        agent: row.agent,
        task: row.task,
        by: serde_json::from_str(&row.by_whom)?,
        state: JobState::parse(&row.status).context("the status of a job")?,
        answer: row.answer.as_deref().map(serde_json::from_str).transpose()?,
        taint: serde_json::from_str(&row.taint)?,
        succession: u32::try_from(row.succession).unwrap_or(u32::MAX),
        created_at: at(row.created_at),
        changed_at: at(row.changed_at),
    })
}
