//! Which database errors are temporary, so that the same transaction may succeed later.

use anyhow::{Error, Result};
use std::time::{Duration, Instant};

use crate::clock::pause;

/// How long an operation is repeated.
const REPEAT_FOR: Duration = Duration::from_hours(24);
const FIRST_WAIT: Duration = Duration::from_millis(100);
const LONGEST_WAIT: Duration = Duration::from_secs(5);

/// Repeats an operation while it fails for a temporary reason, for at most a day. For operations
/// that have the same effect when they are repeated after a commit whose acknowledgement was lost.
pub async fn until_available<T, F>(mut operation: impl FnMut() -> F) -> Result<T>
where
    F: Future<Output = Result<T>>,
{
    let (started, mut wait) = (Instant::now(), FIRST_WAIT);
    loop {
        let problem = match operation().await {
            Err(problem) if is_transient(&problem) && started.elapsed() < REPEAT_FOR => problem,
            done => return done,
        };
        tracing::warn!(error = format!("{problem:#}"), "database operation failed, will retry");
        // In real time: nothing signals that the database is available again.
        pause(wait).await;
        wait = (wait * 2).min(LONGEST_WAIT);
    }
}

/// The database did not accept a transaction, or did not answer. If it did not answer, whether the
/// transaction was committed is unknown.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Unavailable(pub String);

/// Whether the cause is the database or the connection, and not the data that was written.
pub fn is_transient(problem: &Error) -> bool {
    problem.chain().any(|cause| {
        cause.is::<Unavailable>()
            || cause.downcast_ref().is_some_and(passes_on_sqlite)
            || cause.downcast_ref().is_some_and(passes_on_postgres)
    })
}

fn passes_on_sqlite(problem: &rusqlite::Error) -> bool {
    /// Busy, locked, out of memory, read-only, I/O, full, cannot open, protocol.
    const CODES: [i32; 8] = [5, 6, 7, 8, 10, 13, 14, 15];
    // The upper bits of an extended code only add detail.
    problem.sqlite_error().is_some_and(|error| CODES.contains(&(error.extended_code & 0xff)))
}

fn passes_on_postgres(problem: &sqlx::Error) -> bool {
    match problem {
        sqlx::Error::Io(_)
        | sqlx::Error::Tls(_)
        | sqlx::Error::PoolTimedOut
        | sqlx::Error::PoolClosed
        | sqlx::Error::BeginFailed => true,
        sqlx::Error::Database(problem) => problem.code().is_some_and(|code| is_temporary(&code)),
        _ => false,
    }
}

/// Whether the class of this `SQLSTATE` is temporary.
fn is_temporary(code: &str) -> bool {
    /// Connection, rollback, resources, object in use, operator intervention, system error.
    const CLASSES: [&str; 6] = ["08", "40", "53", "55", "57", "58"];
    /// The server is a standby, as during a failover; the transaction was idle for too long.
    const CODES: [&str; 2] = ["25006", "25P03"];
    CODES.contains(&code) || code.get(..2).is_some_and(|class| CLASSES.contains(&class))
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::{Context as _, anyhow};

    #[test]
    fn errors_of_the_database_pass_and_errors_of_the_data_do_not() {
        for code in ["08006", "40001", "40P01", "53300", "57P01", "25006", "25P03"] {
            assert!(is_temporary(code), "{code}");
        }
        for code in ["22021", "23505", "25P02", "42P01"] {
            assert!(!is_temporary(code), "{code}");
        }
        let of_sqlite = |code| {
            let error = rusqlite::ffi::Error::new(code);
            Error::new(rusqlite::Error::SqliteFailure(error, None)).context("receive")
        };
        for code in [5, 517, 13, 778] {
            assert!(is_transient(&of_sqlite(code)), "{code}");
        }
        for code in [1, 19, 1555, 787] {
            assert!(!is_transient(&of_sqlite(code)), "{code}");
        }
        let lost: anyhow::Result<()> = Err(sqlx::Error::PoolTimedOut).context("receive");
        assert!(is_transient(&lost.unwrap_err()));
        assert!(is_transient(&Error::new(Unavailable("disk full".into())).context("receive")));
        assert!(!is_transient(&anyhow!("a transaction panicked")));
    }

    /// Each attempt of an operation fails with the next of these errors.
    async fn repeated(mut problems: Vec<Error>) -> (Result<()>, usize) {
        problems.reverse();
        let mut attempts = 0;
        let done = until_available(|| {
            attempts += 1;
            std::future::ready(problems.pop().map_or(Ok(()), Err))
        });
        (done.await, attempts)
    }

    #[tokio::test(start_paused = true)]
    async fn only_temporary_failures_are_repeated() {
        let busy = || Error::new(Unavailable("busy".into()));
        let (done, attempts) = repeated(vec![busy(), busy().context("claim")]).await;
        assert_eq!((done.is_ok(), attempts), (true, 3));
        let (done, attempts) = repeated(vec![busy(), anyhow!("a bad row")]).await;
        assert_eq!((done.unwrap_err().to_string().as_str(), attempts), ("a bad row", 2));
    }
}
