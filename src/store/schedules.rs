//! What is to happen later in a conversation.
//!
//! ```text
//! waiting ──► done      it was due, and does not come again
//!  │ ▲ └────► deleted
//!  ▼ │
//! paused ───► deleted
//! ```
//! What is due is fired by one conditional update, which moves the due time; what it does commits
//! with it. So it needs no lease: of two nodes that see it due, one fires it. What is over stays for
//! a while, so that a call that is run once more after a crash finds what it has made.

use anyhow::{Context as _, Result};
use chrono::{DateTime, TimeDelta, Utc};

use super::{
    Store, Tx, at,
    db::sql,
    journal,
    lists::Stretch,
    unreadable::{self, Table, readable_rows},
};
use crate::{
    agent::schedule_rule::Rule,
    journal::{
        event::Speaker,
        ids::{ConversationId, ScheduleId},
    },
};

/// What it does when it is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Does {
    /// Shows its text as it is.
    Remind,
    /// Its text is a task for the agent.
    Run,
}

impl Does {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Remind => "remind",
            Self::Run => "run",
        }
    }

    fn parse(text: &str) -> Option<Self> {
        [Self::Remind, Self::Run].into_iter().find(|does| does.as_str() == text)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    Waiting,
    Paused,
    Done,
    Deleted,
}

impl State {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Paused => "paused",
            Self::Done => "done",
            Self::Deleted => "deleted",
        }
    }

    fn parse(text: &str) -> Self {
        let all = [Self::Waiting, Self::Paused, Self::Done];
        all.into_iter().find(|state| state.as_str() == text).unwrap_or(Self::Deleted)
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Schedule {
    pub id: ScheduleId,
    pub conversation: ConversationId,
    pub does: Does,
    pub text: String,
    pub rule: Rule,
    /// In which its times are told.
    pub zone: String,
    /// On whose behalf.
    pub by: Speaker,
    /// Where other people's words came from that had been read when it was made.
    pub taint: Vec<String>,
    pub state: State,
    pub due_at: DateTime<Utc>,
}

/// What somebody does to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Move {
    Pause,
    Resume,
    Delete,
}

impl Schedule {
    /// Where that brings it: what was missed meanwhile of something that comes again does not come.
    pub fn moved(&self, to: Move, now: DateTime<Utc>) -> (State, DateTime<Utc>) {
        let overdue = || self.rule.next(self.due_at, now).filter(|_| self.due_at <= now);
        match to {
            Move::Pause => (State::Paused, self.due_at),
            Move::Resume => (State::Waiting, overdue().unwrap_or(self.due_at)),
            Move::Delete => (State::Deleted, self.due_at),
        }
    }
}

/// What came of making one.
#[derive(Debug, Clone, PartialEq)]
pub enum Made {
    New,
    /// The same was there already.
    There(Box<Schedule>),
    /// There are so many already that there may not be more.
    Full,
}

/// Two that are due once, for the same thing, are the same within this time.
const SAME_WITHIN: TimeDelta = TimeDelta::minutes(1);

impl Store {
    /// What of it is to be fired now, at most so many, the earliest first. A task waits until its
    /// conversation rests: a turn of its own is its own.
    pub async fn due_schedules(&self, most: usize, now: DateTime<Utc>) -> Result<Vec<Schedule>> {
        self.read(move |tx| Box::pin(due(tx, most, now))).await
    }
}

type Row = (String, String, String, String, String, String, String, String, String, i64);

fn schedule(row: Row) -> Result<Schedule> {
    let (id, conversation, does, text, rule, zone, by, taint, state, due_ms) = row;
    Ok(Schedule {
        id: ScheduleId(id),
        conversation: ConversationId(conversation),
        does: Does::parse(&does).context("what a schedule does")?,
        text,
        rule: serde_json::from_str(&rule)?,
        zone,
        by: serde_json::from_str(&by)?,
        taint: serde_json::from_str(&taint)?,
        state: State::parse(&state),
        due_at: at(due_ms),
    })
}

async fn due(tx: &mut Tx<'_>, most: usize, now: DateTime<Utc>) -> Result<Vec<Schedule>> {
    let rows: Vec<Row> = sql!(
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
        most as i64,
        unreadable::waiting(Table::Schedules)
    );
    Ok(readable(rows))
}

/// A schedule that cannot be read does not keep others from being found.
fn readable(rows: Vec<Row>) -> Vec<Schedule> {
    readable_rows(Table::Schedules, rows, |row| &row.0, schedule)
}

/// Every one of a conversation that is not over, the next to be due first.
pub async fn of_conversation(
    tx: &mut Tx<'_>,
    conversation: &ConversationId,
) -> Result<Vec<Schedule>> {
    let rows: Vec<Row> = sql!(
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

/// Those of all conversations that are not over, in the order of their making backwards; an empty
/// `conversation` does not matter.
pub async fn list(tx: &mut Tx<'_>, conversation: &str, stretch: &Stretch) -> Result<Vec<Schedule>> {
    let rows: Vec<Row> = sql!(
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
        stretch.after.as_str(),
        conversation,
        stretch.most as i64
    );
    rows.into_iter().map(schedule).collect()
}

pub async fn by_id(tx: &mut Tx<'_>, id: &ScheduleId) -> Result<Option<Schedule>> {
    let row: Option<Row> = sql!(
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

/// Makes it, unless the same is there, or `most` are.
pub async fn make(
    tx: &mut Tx<'_>,
    new: &Schedule,
    most: usize,
    now: DateTime<Utc>,
) -> Result<Made> {
    journal::lock(tx, &new.conversation).await?;
    if let Some(made) = by_id(tx, &new.id).await? {
        return Ok(Made::There(Box::new(made)));
    }
    let there = of_conversation(tx, &new.conversation).await?;
    if let Some(same) = there.iter().find(|old| is_same(old, new)) {
        return Ok(Made::There(Box::new(same.clone())));
    }
    if there.len() >= most {
        return Ok(Made::Full);
    }
    insert(tx, new, now).await?;
    Ok(Made::New)
}

fn is_same(old: &Schedule, new: &Schedule) -> bool {
    let what = |s: &Schedule| (s.does, s.text.trim().to_owned(), s.rule.clone(), s.by.id.clone());
    let near = (old.due_at - new.due_at).abs() < SAME_WITHIN;
    what(old) == what(new) && (near || new.rule != Rule::Once)
}

async fn insert(tx: &mut Tx<'_>, new: &Schedule, now: DateTime<Utc>) -> Result<()> {
    sql!(
        tx,
        execute,
        "
        -- make schedule
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

/// Moves it on: to its next time, or to its end. `false`: somebody else has moved it meanwhile.
pub async fn fire(
    tx: &mut Tx<'_>,
    fired: &Schedule,
    next: Option<DateTime<Utc>>,
    now: DateTime<Utc>,
) -> Result<bool> {
    let state = if next.is_some() { State::Waiting } else { State::Done };
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

/// Brings it into that state, due then.
pub async fn set(
    tx: &mut Tx<'_>,
    schedule: &Schedule,
    (state, due_at): (State, DateTime<Utc>),
    now: DateTime<Utc>,
) -> Result<()> {
    sql!(
        tx,
        execute,
        "
        -- set schedule
        UPDATE schedules
        SET status = $1, due_at = $2, changed_at = $3
        WHERE id = $4 AND status IN ('waiting', 'paused')",
        state.as_str(),
        due_at.timestamp_millis(),
        now.timestamp_millis(),
        schedule.id.as_str()
    );
    Ok(())
}

/// The chat cannot be written to any more: nothing fires there until somebody resumes it.
pub async fn pause_all(
    tx: &mut Tx<'_>,
    conversation: &ConversationId,
    now: DateTime<Utc>,
) -> Result<()> {
    sql!(
        tx,
        execute,
        "
        -- pause schedules
        UPDATE schedules
        SET status = 'paused', changed_at = $1
        WHERE conversation = $2 AND status = 'waiting'",
        now.timestamp_millis(),
        conversation.as_str()
    );
    Ok(())
}

/// The time zone that somebody named last in a conversation.
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
