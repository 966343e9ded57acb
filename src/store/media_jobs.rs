//! Jobs at services for media. A call that continues after a restart finds its job, and fetches the
//! result instead of submitting, and paying for, another one.
//!
//! ```text
//! begun ──► submitted     the service's reference is known
//!   └─────► forgotten     the service has certainly not accepted it
//! ```
//! A job that is found begun was interrupted while it was submitted: the service may have accepted
//! it. It is not submitted again.

use anyhow::Result;
use chrono::{DateTime, Utc};

use super::{Tx, db::sql};
use crate::journal::ids::CallId;

/// What is known about the job of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MediaJob {
    /// It was begun by this call now.
    Begun,
    /// It was begun by an earlier attempt, with an unknown outcome.
    Interrupted,
    /// The service has accepted it. Its reference is as the tool stored it.
    Submitted(String),
}

/// Begins the job of a call, or finds it.
pub async fn begin(tx: &mut Tx<'_>, call: &CallId, now: DateTime<Utc>) -> Result<MediaJob> {
    let inserted = sql!(
        tx,
        execute,
        "
        -- begin media job
        INSERT INTO media_jobs (id, reference, created_at)
        VALUES ($1, '', $2)
        ON CONFLICT (id) DO NOTHING",
        call.as_str(),
        now.timestamp_millis()
    );
    if inserted > 0 {
        return Ok(MediaJob::Begun);
    }
    let (reference,): (String,) = sql!(
        tx,
        fetch_one,
        "
        -- media job of call
        SELECT reference FROM media_jobs
        WHERE id = $1",
        call.as_str()
    );
    Ok(if reference.is_empty() { MediaJob::Interrupted } else { MediaJob::Submitted(reference) })
}

/// Records that the service has accepted the job.
pub async fn submitted(tx: &mut Tx<'_>, call: &CallId, reference: &str) -> Result<()> {
    sql!(
        tx,
        execute,
        "
        -- media job submitted
        UPDATE media_jobs
        SET reference = $2
        WHERE id = $1",
        call.as_str(),
        reference
    );
    Ok(())
}

/// Forgets a job that the service has certainly not accepted.
pub async fn forget(tx: &mut Tx<'_>, call: &CallId) -> Result<()> {
    sql!(
        tx,
        execute,
        "
        -- forget media job
        DELETE FROM media_jobs
        WHERE id = $1 AND reference = ''",
        call.as_str()
    );
    Ok(())
}
