//! Reminders and scheduled tasks of a conversation.
//!
//! ```text
//! waiting ──► done      it ran, and does not recur
//!  │ ▲ └────► deleted
//!  ▼ │
//! paused ───► deleted
//! ```
//! [`changes`] has what people change.
//!
//! A due schedule is run by one conditional update, which advances its due time, in the transaction
//! that records its effect. This needs no lease: if two nodes find it due, one of them runs it. What
//! people change is conditional on the due time as well, so that no change undoes a run.
//! Schedules that have ended are kept for a while, so that a call that is repeated after a crash
//! finds the schedule that it created.

mod changes;

use anyhow::{Context as _, Result};
use chrono::{DateTime, TimeDelta, Utc};
use strum::{EnumString, IntoStaticStr};

use super::{
    Store, Tx, at,
    conversations::journal,
    db::{
        row::row,
        sql,
        unreadable::{self, JsonTable, readable_rows},
    },
    lists::PageRequest,
};
use crate::{
    agent::schedule_rule::Recurrence,
    journal::{
        event::Speaker,
        ids::{ConversationId, ScheduleId},
    },
};

pub use changes::{change_state, edit, pause_all, set};

/// What a schedule does when it is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr, EnumString)]
#[strum(serialize_all = "snake_case")]
pub enum ScheduleKind {
    /// Shows its text.
    Remind,
    /// Gives its text to the agent as a task.
    Run,
}

impl ScheduleKind {
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    fn parse(text: &str) -> Option<Self> {
        text.parse().ok()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr, EnumString)]
#[strum(serialize_all = "snake_case")]
pub enum ScheduleState {
    Waiting,
    Paused,
    Done,
    Deleted,
}

impl ScheduleState {
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    fn parse(text: &str) -> Self {
        text.parse().unwrap_or(Self::Deleted)
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Schedule {
    pub id: ScheduleId,
    pub conversation: ConversationId,
    pub does: ScheduleKind,
    pub text: String,
    pub rule: Recurrence,
    /// The time zone in which its times are displayed.
    pub zone: String,
    /// The person on whose behalf it runs.
    pub by: Speaker,
    /// The sources of untrusted content that had been read when it was created.
    pub taint: Vec<String>,
    pub state: ScheduleState,
    pub due_at: DateTime<Utc>,
}

/// An action on a schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScheduleChange {
    Pause,
    Resume,
    Delete,
}

impl Schedule {
    /// Whether it has not ended.
    pub fn is_active(&self) -> bool {
        matches!(self.state, ScheduleState::Waiting | ScheduleState::Paused)
    }

    /// The state and due time after the action. Occurrences that were missed during a pause are
    /// skipped.
    pub fn moved(&self, to: ScheduleChange, now: DateTime<Utc>) -> (ScheduleState, DateTime<Utc>) {
        let has_missed = self.state == ScheduleState::Paused && self.due_at <= now;
        let next = || self.rule.next(self.due_at, now).filter(|_| has_missed);
        match to {
            ScheduleChange::Pause => (ScheduleState::Paused, self.due_at),
            ScheduleChange::Resume => (ScheduleState::Waiting, next().unwrap_or(self.due_at)),
            ScheduleChange::Delete => (ScheduleState::Deleted, self.due_at),
        }
    }
}

/// The result of creating a schedule.
#[derive(Debug, Clone, PartialEq)]
pub enum ScheduleCreated {
    New,
    /// An equal schedule already exists.
    There(Box<Schedule>),
    /// The maximum number of schedules is reached.
    Full,
}

/// One-time schedules with the same text are equal if their times differ by less than this.
const SAME_WITHIN: TimeDelta = TimeDelta::minutes(1);

impl Store {
    /// Up to `limit` schedules that are due, earliest first. A task waits until its conversation is
    /// idle, since it runs as a separate turn.
    pub async fn due_schedules(&self, limit: usize, now: DateTime<Utc>) -> Result<Vec<Schedule>> {
        self.read(move |tx| Box::pin(due(tx, limit, now))).await
    }
}

row! {
    struct ScheduleRow {
        id: String,
        conversation: String,
        does: String,
        text: String,
        rule: String,
        zone: String,
        by_whom: String,
        taint: String,
        status: String,
        due_at: i64,
    }
}

fn schedule(row: ScheduleRow) -> Result<Schedule> {
    Ok(Schedule {
        id: ScheduleId(row.id),
        conversation: ConversationId(row.conversation),
        does: ScheduleKind::parse(&row.does).context("what a schedule does")?,
        text: row.text,
        rule: serde_json::from_str(&row.rule)?,
        zone: row.zone,
        by: serde_json::from_str(&row.by_whom)?,
        taint: serde_json::from_str(&row.taint)?,
        state: ScheduleState::parse(&row.status),
        due_at: at(row.due_at),
    })
}

async fn due(tx: &mut Tx<'_>, limit: usize, now: DateTime<Utc>) -> Result<Vec<Schedule>> {
    let rows: Vec<ScheduleRow> = sql!(
        tx,
        fetch_all,
        "
        -- due schedules
        SELECT s.id, s.conversation, s.does, s.text, s.rule, s.zone, s.by_whom, s.taint, s.status,
            s.due_at
        FROM schedules s
        JOIN conversations c ON c.id = s.conversation
        WHERE s.status = 'waiting' AND s.due_at <= $1
        AND (s.does = 'remind' OR (c.ready_at IS NULL AND NOT EXISTS (
            SELECT 1 FROM approvals a
            WHERE a.conversation = c.id AND a.status = 'pending'
        )))
        AND $3 NOT LIKE '%' || s.id || '%'
        ORDER BY s.due_at
        LIMIT $2",
        now.timestamp_millis(),
        limit as i64,
        unreadable::waiting(JsonTable::Schedules)
    );
    Ok(readable(rows))
}

/// The schedules that can be read. Others are skipped.
fn readable(rows: Vec<ScheduleRow>) -> Vec<Schedule> {
    readable_rows(JsonTable::Schedules, rows, |row| &row.id, schedule)
}

/// The schedules of a conversation that have not ended, next due first.
pub async fn of_conversation(
    tx: &mut Tx<'_>,
    conversation: &ConversationId,
) -> Result<Vec<Schedule>> {
    let rows: Vec<ScheduleRow> = sql!(
        tx,
        fetch_all,
        "
        -- schedules of a conversation
        SELECT id, conversation, does, text, rule, zone, by_whom, taint, status, due_at
        FROM schedules
        WHERE conversation = $1 AND status IN ('waiting', 'paused')
        ORDER BY due_at, id",
        conversation.as_str()
    );
    Ok(readable(rows))
}

/// The schedules that have not ended, newest first: of all conversations, or only of `only_in` if it
/// is not empty.
pub async fn list(tx: &mut Tx<'_>, only_in: &str, page: &PageRequest) -> Result<Vec<Schedule>> {
    let rows: Vec<ScheduleRow> = sql!(
        tx,
        fetch_all,
        "
        -- list schedules
        SELECT id, conversation, does, text, rule, zone, by_whom, taint, status, due_at
        FROM schedules
        WHERE status IN ('waiting', 'paused')
          AND ($1 = '' OR id < $1)
          AND ($2 = '' OR conversation = $2)
        ORDER BY id DESC
        LIMIT $3",
        page.after.as_str(),
        only_in,
        page.limit as i64
    );
    rows.into_iter().map(schedule).collect()
}

pub async fn by_id(tx: &mut Tx<'_>, id: &ScheduleId) -> Result<Option<Schedule>> {
    let row: Option<ScheduleRow> = sql!(
        tx,
        fetch_optional,
        "
        -- schedule
        SELECT id, conversation, does, text, rule, zone, by_whom, taint, status, due_at
        FROM schedules
        WHERE id = $1",
        id.as_str()
    );
    row.map(schedule).transpose()
}

/// Creates a schedule, unless an equal one exists or the maximum is reached.
pub async fn create(
    tx: &mut Tx<'_>,
    new: &Schedule,
    limit: usize,
    now: DateTime<Utc>,
) -> Result<ScheduleCreated> {
    journal::lock(tx, &new.conversation).await?;
    if let Some(made) = by_id(tx, &new.id).await? {
        return Ok(ScheduleCreated::There(Box::new(made)));
    }
    let there = of_conversation(tx, &new.conversation).await?;
    if let Some(same) = there.iter().find(|old| is_same(old, new)) {
        return Ok(ScheduleCreated::There(Box::new(same.clone())));
    }
    if there.len() >= limit {
        return Ok(ScheduleCreated::Full);
    }
    insert(tx, new, now).await?;
    Ok(ScheduleCreated::New)
}

fn is_same(old: &Schedule, new: &Schedule) -> bool {
    let what = |s: &Schedule| (s.does, s.text.trim().to_owned(), s.rule.clone(), s.by.id.clone());
    let near = (old.due_at - new.due_at).abs() < SAME_WITHIN;
    what(old) == what(new) && (near || new.rule != Recurrence::Once)
}

async fn insert(tx: &mut Tx<'_>, new: &Schedule, now: DateTime<Utc>) -> Result<()> {
    sql!(
        tx,
        execute,
        "
        -- insert a schedule
        INSERT INTO schedules
            (id, conversation, does, text, rule, zone, by_whom, taint, status, due_at, created_at,
             changed_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $11)",
        new.id.as_str(),
        new.conversation.as_str(),
        new.does.as_str(),
        new.text.replace('\0', ""),
        serde_json::to_string(&new.rule)?,
        new.zone.as_str(),
        serde_json::to_string(&new.by)?,
        serde_json::to_string(&new.taint)?,
        new.state.as_str(),
        new.due_at.timestamp_millis(),
        now.timestamp_millis()
    );
    Ok(())
}

/// Advances a schedule to its next time or to its end. Returns `false` if it was advanced
/// concurrently.
pub async fn fire(
    tx: &mut Tx<'_>,
    fired: &Schedule,
    next: Option<DateTime<Utc>>,
    now: DateTime<Utc>,
) -> Result<bool> {
    let state = if next.is_some() { ScheduleState::Waiting } else { ScheduleState::Done };
    let moved = sql!(
        tx,
        execute,
        "
        -- fire schedule
        UPDATE schedules
        SET status = $1, due_at = $2, changed_at = $3
        WHERE id = $4 AND status = 'waiting' AND due_at = $5",
        state.as_str(),
        next.unwrap_or(fired.due_at).timestamp_millis(),
        now.timestamp_millis(),
        fired.id.as_str(),
        fired.due_at.timestamp_millis()
    );
    Ok(moved > 0)
}

/// The time zone that was last used in a conversation.
pub async fn zone(
    tx: &mut Tx<'_>,
    conversation: &ConversationId,
    person: &Speaker,
) -> Result<Option<String>> {
    let rows: Vec<(String, String)> = sql!(
        tx,
        fetch_all,
        "
        -- time zones of a conversation
        SELECT zone, by_whom FROM schedules
        WHERE conversation = $1
        ORDER BY created_at DESC, id DESC",
        conversation.as_str()
    );
    for (zone, by) in rows {
        if serde_json::from_str::<Speaker>(&by)?.id == person.id {
            return Ok(Some(zone));
        }
    }
    Ok(None)
}
