//! The writing connection of SQLite. Its task groups the transactions of many conversations into one
//! commit, each with a savepoint if there are several.

use anyhow::{Result, anyhow};
use futures::{FutureExt as _, future::BoxFuture};
use sqlx::{Connection as _, SqliteConnection, SqlitePool};
use std::panic::AssertUnwindSafe;
use tokio::sync::{mpsc, oneshot};

use super::{Conn, Durability, Tx, unavailable};
use crate::store::wake::Wakeups;

/// The maximum number of transactions per commit.
const GROUP: usize = 128;

/// A transaction for the writing connection.
pub(in crate::store) struct WriteJob {
    /// What its commit has to survive.
    survives: Durability,
    /// Returns whether it succeeded, and receives the outcome of the commit.
    run: Run,
}

type Run =
    Box<dyn for<'c> FnOnce(&'c mut SqliteConnection) -> BoxFuture<'c, (bool, Finish)> + Send>;
type Finish = Box<dyn FnOnce(Result<(), String>) + Send>;

pub(super) fn job<T, F>(
    survives: Durability,
    work: F,
    answer: oneshot::Sender<Result<(T, Wakeups)>>,
) -> WriteJob
where
    T: Send + 'static,
    F: for<'a, 'c> FnOnce(&'a mut Tx<'c>) -> BoxFuture<'a, Result<T>> + Send + 'static,
{
    let run: Run = Box::new(move |conn| {
        async move {
            let mut tx = Tx { conn: Conn::Sqlite(conn), wakeups: Wakeups::default() };
            let worked = AssertUnwindSafe(work(&mut tx)).catch_unwind().await;
            let result = worked.unwrap_or_else(|_| Err(anyhow!("a transaction panicked")));
            let wakeups = tx.wakeups;
            let good = result.is_ok();
            let finish: Finish = Box::new(move |committed| {
                let result = match committed {
                    Ok(()) => result.map(|value| (value, wakeups)),
                    Err(problem) => Err(unavailable(&format!("committing: {problem}"))),
                };
                // The caller may no longer wait. The commit is valid nevertheless.
                let _ = answer.send(result);
            });
            (good, finish)
        }
        .boxed()
    });
    WriteJob { survives, run }
}

/// The number of commits after which the log is merged into the file in the background.
const CHECKPOINT_EVERY: usize = 100;
/// The size of the log in pages at which a commit merges it. Only then does the log begin again from
/// its start under a steady load, because the background never reaches its end.
pub(super) const CHECKPOINT_AT_PAGES: &str = "10000";

/// Runs the jobs until the last sender is dropped. `most` is the durability that the operator asks
/// for; a group is flushed to the disk only if one of its jobs has to survive a power failure.
/// `commits` is told when the log should be merged into the file.
pub(super) async fn write_in_groups(
    mut conn: SqliteConnection,
    most: Durability,
    mut jobs: mpsc::Receiver<WriteJob>,
    commits: mpsc::Sender<()>,
) {
    let mut group = Vec::with_capacity(GROUP);
    let mut since = 0;
    // What the connection is set to, if that is known.
    let mut now = None;
    while jobs.recv_many(&mut group, GROUP).await > 0 {
        let is_durable = group.iter().any(|job| job.survives == Durability::Full);
        let wanted = if is_durable { most } else { Durability::Normal };
        if now != Some(wanted) {
            now = synchronise(&mut conn, wanted).await.then_some(wanted);
            if now.is_none() && is_durable {
                // The jobs are dropped, so that their callers get an error.
                group.clear();
                continue;
            }
        }
        let (finishes, committed) = commit_group(&mut conn, group.drain(..)).await;
        for finish in finishes {
            finish(committed.clone());
        }
        since += 1;
        if since >= CHECKPOINT_EVERY {
            since = 0;
            // If it is full, a checkpoint is about to begin.
            let _ = commits.try_send(());
        }
    }
    // This merges the WAL into the file; if it fails, the next start does it.
    let _ = conn.close().await;
}

/// Merges the log into the file while commits go on, so that they need not wait for it.
pub(super) async fn checkpoint(readers: SqlitePool, mut commits: mpsc::Receiver<()>) {
    while commits.recv().await.is_some() {
        let merged = match readers.acquire().await {
            Ok(mut conn) => exec(&mut conn, "PRAGMA wal_checkpoint(PASSIVE)").await,
            Err(problem) => Err(problem.to_string()),
        };
        if let Err(problem) = merged {
            tracing::warn!(problem, "could not merge the log of the database; a commit will");
        }
    }
}

/// Sets what the next commits survive. Between transactions, since SQLite ignores it within one.
async fn synchronise(conn: &mut SqliteConnection, survives: Durability) -> bool {
    let pragma = match survives {
        Durability::Full => "PRAGMA synchronous = FULL",
        Durability::Normal => "PRAGMA synchronous = NORMAL",
    };
    let set = exec(conn, pragma).await;
    if let Err(problem) = &set {
        tracing::error!(problem, "could not change the durability of commits");
    }
    set.is_ok()
}

/// Runs jobs in one commit. A job that fails rolls back only its own changes.
async fn commit_group(
    conn: &mut SqliteConnection,
    jobs: impl ExactSizeIterator<Item = WriteJob>,
) -> (Vec<Finish>, Result<(), String>) {
    let mut finishes = Vec::new();
    if let Err(problem) = exec(conn, "BEGIN IMMEDIATE").await {
        // The jobs are dropped, so that their callers get an error.
        tracing::error!(problem, "the database accepts no transaction");
        return (finishes, Err(problem));
    }
    let alone = jobs.len() == 1;
    let mut end = "COMMIT";
    for job in jobs {
        if alone {
            let (good, finish) = (job.run)(conn).await;
            finishes.push(finish);
            end = if good { "COMMIT" } else { "ROLLBACK" };
            break;
        }
        let saved = exec(conn, "SAVEPOINT job").await;
        let (good, finish) = (job.run)(conn).await;
        finishes.push(finish);
        let undone = if good { Ok(()) } else { exec(conn, "ROLLBACK TO job").await };
        if saved.and(undone).and(exec(conn, "RELEASE job").await).is_err() {
            break;
        }
    }
    let committed = exec(conn, end).await;
    if committed.is_err() {
        // Frees the connection for the next group; SQLite may already have rolled back.
        let _ = exec(conn, "ROLLBACK").await;
    }
    (finishes, committed)
}

async fn exec(conn: &mut SqliteConnection, sql: &'static str) -> Result<(), String> {
    sqlx::query(sql).execute(conn).await.map(drop).map_err(|problem| problem.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{
        Store, StoreOptions,
        db::{WriteMode, sql},
    };

    /// What the transaction's commit survives, as SQLite sees it: 2 is FULL, 1 is NORMAL.
    async fn synchronous(store: &Store, mode: WriteMode) -> i64 {
        let read = store.write_with((), "test", mode, |tx| {
            Box::pin(async move {
                let (level,): (i64,) = sql!(tx, fetch_one, "PRAGMA synchronous");
                Ok(level)
            })
        });
        read.await.unwrap()
    }

    /// A commit that must survive a power failure is flushed, also right after one that need not,
    /// and together with one that need not.
    #[tokio::test]
    async fn only_durable_groups_are_flushed() {
        let folder = tempfile::tempdir().unwrap();
        for (durability, durable) in [(Durability::Full, 2), (Durability::Normal, 1)] {
            let url = format!("sqlite://{}/{durability:?}.db", folder.path().display());
            let options = StoreOptions { durability, ..StoreOptions::default() };
            let store = Store::open(&url, options).await.unwrap();
            for _ in 0..2 {
                assert_eq!(synchronous(&store, WriteMode::VOLATILE).await, 1);
                assert_eq!(synchronous(&store, WriteMode::DURABLE).await, durable);
            }
            let together = (0..20).map(|n| {
                let mode = if n % 5 == 0 { WriteMode::DURABLE } else { WriteMode::VOLATILE };
                let store = store.clone();
                async move { (mode, synchronous(&store, mode).await) }
            });
            for (mode, level) in futures::future::join_all(together).await {
                assert!(mode == WriteMode::VOLATILE || level == durable, "{level}");
            }
        }
    }

    /// The log does not grow with the number of commits.
    #[tokio::test]
    async fn the_log_stays_small() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("test.db");
        let url = format!("sqlite://{}", path.display());
        let store = Store::open(&url, StoreOptions::default()).await.unwrap();
        let write = |n: i64| {
            let store = store.clone();
            async move {
                let body = "x".repeat(500_000);
                let done = store.write("test", move |tx| {
                    Box::pin(async move {
                        let insert = "
                            -- fill
                            INSERT INTO unparsed (channel, delivery, at, raw)
                            VALUES ('tg', $1, 0, $2)";
                        Ok(sql!(tx, execute, insert, n.to_string(), body))
                    })
                });
                done.await.unwrap()
            }
        };
        // 100 MB in all.
        for n in 0..200 {
            write(n).await;
        }
        let log = path.with_extension("db-wal").metadata().unwrap().len();
        assert!(log < 50_000_000, "{log}");
    }
}
