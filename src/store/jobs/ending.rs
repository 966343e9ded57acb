//! Ends jobs whose sub-agents have answered.

use anyhow::Result;
use chrono::{DateTime, Utc};

use crate::{
    journal::ids::ConversationId,
    store::{Tx, conversations::task_answer::TaskAnswer, db::sql},
};

/// Ends the job that this sub-agent works on, if it is one. Its row is locked.
pub(in crate::store) async fn end(
    tx: &mut Tx<'_>,
    child: &ConversationId,
    answer: &TaskAnswer,
    now: DateTime<Utc>,
) -> Result<bool> {
    let ended = sql!(
        tx,
        execute,
        "
        -- end job
        UPDATE jobs
        SET status = 'ended', answer = $1, changed_at = $2
        WHERE child = $3 AND status = 'running'",
        serde_json::to_string(answer)?,
        now.timestamp_millis(),
        child.as_str()
    );
    Ok(ended > 0)
}
