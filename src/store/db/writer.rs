//! The thread that writes to SQLite. It groups the transactions of many conversations into one
//! commit, each with a savepoint if there are several.

use anyhow::{Context as _, Result};
use futures::future::BoxFuture;
use rusqlite::Connection;
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};
use tokio::sync::{mpsc, oneshot};

use super::{Durability, Tx, readers::Readers, sqlite, unavailable};
use crate::store::wake::Wakeups;

/// The maximum number of transactions per commit.
const GROUP: usize = 128;
/// The number of commits after which the log is merged into the file in the background.
const CHECKPOINT_EVERY: usize = 100;
/// The size of the log in pages at which a commit merges it. Only then does the log begin again from
/// its start under a steady load, because the background never reaches its end.
const CHECKPOINT_AT_PAGES: u32 = 10_000;

/// Passes transactions to the thread, which ends when the last clone is dropped.
#[derive(Clone)]
pub(in crate::store) struct Writer {
    /// Without a limit: each waiting job has a caller that waits for it, and a caller that is not
    /// polled must not keep others from the queue.
    jobs: mpsc::UnboundedSender<WriteJob>,
}

/// A transaction for the writing connection.
struct WriteJob {
    /// What its commit has to survive.
    survives: Durability,
    /// Returns whether it succeeded, and receives the outcome of the commit.
    run: Run,
}

type Run = Box<dyn FnOnce(&mut Connection) -> (bool, Finish) + Send>;
type Finish = Box<dyn FnOnce(Result<(), String>)>;

impl Writer {
    /// Starts the thread. `durability` is what the operator asks for.
    pub async fn start(file: PathBuf, durability: Durability, readers: Readers) -> Result<Self> {
        let (jobs, queue) = mpsc::unbounded_channel();
        let (answer, opened) = oneshot::channel();
        let named = thread::Builder::new().name("sqlite-writer".to_owned());
        named.spawn(move || match connect(&file) {
            Ok(conn) => {
                let _ = answer.send(Ok(()));
                write_in_groups(conn, durability, queue, &readers);
            }
            Err(problem) => {
                let _ = answer.send(Err(problem));
            }
        })?;
        opened.await.context("the writing thread has ended")??;
        Ok(Self { jobs })
    }

    /// Commits `work`. If that succeeds, `after` is called, also if the caller was dropped; otherwise
    /// it is dropped.
    pub async fn write<T, F>(
        &self,
        survives: Durability,
        work: F,
        after: impl FnOnce(Wakeups) + Send + 'static,
    ) -> Result<T>
    where
        T: Send + 'static,
        F: for<'a, 'c> FnOnce(&'a mut Tx<'c>) -> BoxFuture<'a, Result<T>> + Send + 'static,
    {
        let (answer, wait) = oneshot::channel();
        let run: Run = Box::new(move |conn| {
            let (result, wakeups) = sqlite::complete(conn, work);
            let good = result.is_ok();
            let finish: Finish = Box::new(move |committed| {
                let result = match committed {
                    Ok(()) => result,
                    Err(problem) => Err(unavailable(&format!("committing: {problem}"))),
                };
                if result.is_ok() {
                    // A panic must not end this thread, or hide that the transaction is committed.
                    let _ = catch_unwind(AssertUnwindSafe(|| after(wakeups)));
                } else {
                    drop(after);
                }
                // The caller may no longer wait. The commit is valid nevertheless.
                let _ = answer.send(result);
            });
            (good, finish)
        });
        let sent = self.jobs.send(WriteJob { survives, run });
        sent.map_err(|_| unavailable("the database is closed"))?;
        wait.await.map_err(|_| unavailable("the database did not accept the transaction"))?
    }
}

fn connect(file: &Path) -> rusqlite::Result<Connection> {
    let conn = sqlite::connect(file)?;
    conn.execute_batch(&format!("PRAGMA wal_autocheckpoint = {CHECKPOINT_AT_PAGES}"))?;
    Ok(conn)
}

/// Runs the jobs until the last sender is dropped. A group is flushed to the disk only if one of its
/// jobs has to survive a power failure.
fn write_in_groups(
    mut conn: Connection,
    durability: Durability,
    mut jobs: mpsc::UnboundedReceiver<WriteJob>,
    readers: &Readers,
) {
    let mut group = Vec::with_capacity(GROUP);
    let mut since = 0;
    let merges = Arc::new(AtomicBool::new(false));
    // What the connection is set to, if that is known.
    let mut now = None;
    while jobs.blocking_recv_many(&mut group, GROUP) > 0 {
        let is_durable = group.iter().any(|job| job.survives == Durability::Full);
        let wanted = if is_durable { durability } else { Durability::Normal };
        if now != Some(wanted) {
            now = synchronise(&conn, wanted).then_some(wanted);
            if now.is_none() && is_durable {
                // The jobs are dropped, so that their callers get an error.
                group.clear();
                continue;
            }
        }
        let (finishes, committed) = commit_group(&mut conn, group.drain(..));
        for finish in finishes {
            finish(committed.clone());
        }
        since += 1;
        if since >= CHECKPOINT_EVERY && !merges.swap(true, Ordering::AcqRel) {
            since = 0;
            checkpoint(readers, &merges);
        }
    }
    // This merges the WAL into the file; if it fails, the next start does it.
    let _ = conn.close();
}

/// Checkpoints the write-ahead log while commits continue, so that they need not wait for it.
fn checkpoint(readers: &Readers, merges: &Arc<AtomicBool>) {
    let ended = merges.clone();
    let started = readers.start(Box::new(move |conn| {
        let merged =
            conn.and_then(|conn| sqlite::execute(conn, "PRAGMA wal_checkpoint(PASSIVE)", &[]));
        if let Err(problem) = merged {
            tracing::warn!(%problem, "could not checkpoint the write-ahead log; a commit will do it");
        }
        ended.store(false, Ordering::Release);
    }));
    if let Err(problem) = started {
        merges.store(false, Ordering::Release);
        tracing::warn!(%problem, "could not checkpoint the write-ahead log; a commit will do it");
    }
}

/// Sets what the next commits survive. Between transactions, since SQLite ignores it within one.
fn synchronise(conn: &Connection, survives: Durability) -> bool {
    let pragma = match survives {
        Durability::Full => "PRAGMA synchronous = FULL",
        Durability::Normal => "PRAGMA synchronous = NORMAL",
    };
    // Not as a cached statement, since SQLite runs this one when it prepares it.
    let set = conn.execute_batch(pragma);
    if let Err(problem) = &set {
        tracing::error!(%problem, "could not change the durability of commits");
    }
    set.is_ok()
}

/// Runs jobs in one commit. A job that fails rolls back only its own changes.
fn commit_group(
    conn: &mut Connection,
    jobs: impl ExactSizeIterator<Item = WriteJob>,
) -> (Vec<Finish>, Result<(), String>) {
    let mut finishes = Vec::new();
    if let Err(problem) = exec(conn, "BEGIN IMMEDIATE") {
        // The jobs are dropped, so that their callers get an error.
        tracing::error!(problem, "could not begin a transaction");
        return (finishes, Err(problem));
    }
    let alone = jobs.len() == 1;
    let mut end = "COMMIT";
    for job in jobs {
        if alone {
            let (good, finish) = (job.run)(conn);
            finishes.push(finish);
            end = if good { "COMMIT" } else { "ROLLBACK" };
            break;
        }
        let saved = exec(conn, "SAVEPOINT job");
        let (good, finish) = (job.run)(conn);
        finishes.push(finish);
        let undone = if good { Ok(()) } else { exec(conn, "ROLLBACK TO job") };
        let released = saved.and(undone).and_then(|()| exec(conn, "RELEASE job"));
        if let Err(problem) = released {
            // A commit might contain a part of a job that failed.
            let _ = exec(conn, "ROLLBACK");
            return (finishes, Err(problem));
        }
    }
    let committed = exec(conn, end);
    if committed.is_err() {
        // Frees the connection for the next group; SQLite may already have rolled back.
        let _ = exec(conn, "ROLLBACK");
    }
    (finishes, committed)
}

fn exec(conn: &Connection, sql: &'static str) -> Result<(), String> {
    sqlite::execute(conn, sql, &[]).map(drop).map_err(|problem| problem.to_string())
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

    /// If the changes of a failed job cannot be undone alone, nothing of its group is committed.
    #[test]
    fn a_group_is_undone_if_a_savepoint_is_lost() {
        let mut conn = Connection::open_in_memory().unwrap();
        conn.execute_batch("CREATE TABLE rows (id INTEGER)").unwrap();
        let committed = Arc::new(AtomicBool::new(false));
        let job = |sql: &'static str, good: bool| {
            let committed = committed.clone();
            let run: Run = Box::new(move |conn| {
                conn.execute_batch(sql).unwrap();
                let finish = move |end: Result<(), String>| {
                    committed.fetch_or(end.is_ok(), Ordering::AcqRel);
                };
                (good, Box::new(finish))
            });
            WriteJob { survives: Durability::Full, run }
        };
        let jobs = [
            job("INSERT INTO rows VALUES (1)", true),
            job("INSERT INTO rows VALUES (2); RELEASE job", false),
        ];
        let (finishes, end) = commit_group(&mut conn, jobs.into_iter());
        end.clone().expect_err("the savepoint is gone");
        for finish in finishes {
            finish(end.clone());
        }
        assert!(!committed.load(Ordering::Acquire));
        let count: i64 = conn.query_row("SELECT COUNT(*) FROM rows", [], |row| row.get(0)).unwrap();
        assert_eq!(count, 0);
        assert!(conn.is_autocommit(), "the next group can begin");
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
