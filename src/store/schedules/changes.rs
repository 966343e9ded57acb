//! What people change in a schedule: its state, what it does, and when.

use anyhow::{Result, bail};
use chrono::{DateTime, Utc};

use super::{Schedule, ScheduleChange, ScheduleState, by_id};
use crate::{
    journal::ids::{ConversationId, ScheduleId},
    store::{Tx, db::sql},
};

/// How often a state is computed again because the schedule was run or changed in the meantime.
const ATTEMPTS: usize = 5;

/// Pauses, resumes or deletes a schedule. If it is run or changed at the same time, the new state
/// follows from what it is afterwards. Returns the schedule with its new state; `None` if there is
/// none or it has ended.
pub async fn change_state(
    tx: &mut Tx<'_>,
    id: &ScheduleId,
    to: ScheduleChange,
    now: DateTime<Utc>,
) -> Result<Option<Schedule>> {
    for _ in 0..ATTEMPTS {
        let found = by_id(tx, id).await?.filter(Schedule::is_active);
        let Some(mut schedule) = found else { return Ok(None) };
        let (state, due_at) = schedule.moved(to, now);
        if set(tx, &schedule, state, due_at, now).await? {
            (schedule.state, schedule.due_at) = (state, due_at);
            return Ok(Some(schedule));
        }
    }
    bail!("the schedule was run or changed {ATTEMPTS} times in the meantime")
}

/// Sets the state and due time of a schedule, if it still has those of `schedule`. Returns `false`
/// if it was run or changed in the meantime.
pub async fn set(
    tx: &mut Tx<'_>,
    schedule: &Schedule,
    state: ScheduleState,
    due_at: DateTime<Utc>,
    now: DateTime<Utc>,
) -> Result<bool> {
    let updated = sql!(
        tx,
        execute,
        "
        -- set schedule
        UPDATE schedules
        SET status = $1, due_at = $2, changed_at = $3
        WHERE id = $4 AND status = $5 AND due_at = $6",
        state.as_str(),
        due_at.timestamp_millis(),
        now.timestamp_millis(),
        schedule.id.as_str(),
        schedule.state.as_str(),
        schedule.due_at.timestamp_millis()
    );
    Ok(updated > 0)
}

/// Changes what a schedule does and when, if it is still due at `old_due_at`. Returns `false` if it
/// has ended, or was run or changed in the meantime.
pub async fn edit(
    tx: &mut Tx<'_>,
    changed: &Schedule,
    old_due_at: DateTime<Utc>,
    now: DateTime<Utc>,
) -> Result<bool> {
    let edited = sql!(
        tx,
        execute,
        "
        -- edit schedule
        UPDATE schedules
        SET does = $1, text = $2, rule = $3, zone = $4, due_at = $5, changed_at = $6
        WHERE id = $7 AND status IN ('waiting', 'paused') AND due_at = $8",
        changed.does.as_str(),
        changed.text.replace('\0', ""),
        serde_json::to_string(&changed.rule)?,
        changed.zone.as_str(),
        changed.due_at.timestamp_millis(),
        now.timestamp_millis(),
        changed.id.as_str(),
        old_due_at.timestamp_millis()
    );
    Ok(edited > 0)
}

/// Pauses all schedules of a chat that can no longer be written to, until a person resumes them.
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
