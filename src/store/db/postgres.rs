//! PostgreSQL: its pool of connections, and transactions that are retried after a conflict.

use anyhow::{Context as _, Result, anyhow};
use futures::{FutureExt as _, future::BoxFuture};
use sqlx::{
    Connection as _, PgConnection, PgPool,
    postgres::{PgConnectOptions, PgPoolOptions},
};
use std::{future::pending, panic::AssertUnwindSafe, str::FromStr as _, time::Duration};
use tokio::task::JoinHandle;
use tokio_util::task::AbortOnDropHandle;
use tracing::Instrument as _;

use super::{
    Conn, Extent, Tx,
    migrations::{Dialect, migrations},
    oldest_release::{OLDEST, ensure_new_enough},
};
use crate::store::wake::Wakeups;

/// The delays before each retry of a transaction after a deadlock or serialization failure.
const WAITS_MS: [u64; 5] = [10, 20, 50, 100, 200];
/// A connection to PostgreSQL is pinged before it is used if it was idle for at least this long. It
/// may have been closed in an outage, in which case the operation would fail.
const PING_AFTER: Duration = Duration::from_secs(1);

/// Connects to a database server once, and disconnects.
pub(in crate::store) async fn reach(url: &str) -> Result<()> {
    if url.starts_with("postgres") {
        PgConnection::connect(url).await?.close().await?;
    }
    Ok(())
}

pub(super) async fn open(url: &str, connections: u32) -> Result<PgPool> {
    let options = PgConnectOptions::from_str(url)?.statement_cache_capacity(256);
    let pool = PgPoolOptions::new()
        .max_connections(connections)
        .test_before_acquire(false)
        .before_acquire(|conn, meta| {
            async move {
                if meta.idle_for >= PING_AFTER {
                    conn.ping().await?;
                }
                Ok(true)
            }
            .boxed()
        })
        .acquire_timeout(Duration::from_secs(10))
        .connect_with(options)
        .await?;
    let all = migrations(Dialect::Postgres);
    all.run(&pool).await.context("migrating")?;
    ensure_new_enough(all, sqlx::query_scalar(OLDEST).fetch_one(&pool).await?)?;
    Ok(pool)
}

/// Runs `work` in a transaction, and `after` when it is committed.
pub(super) async fn write<T, F>(
    pool: &PgPool,
    extent: Extent,
    work: F,
    after: impl FnOnce(&Wakeups) + Send + 'static,
) -> Result<T>
where
    T: Send + 'static,
    F: for<'a, 'c> FnOnce(&'a mut Tx<'c>) -> BoxFuture<'a, Result<T>> + Clone + Send + 'static,
{
    let pool = pool.clone();
    let written = spawn(async move {
        match write_or_retry(&pool, extent, work).await {
            Ok((value, wakeups)) => {
                after(&wakeups);
                Ok(value)
            }
            Err(problem) => {
                drop(after);
                Err(problem)
            }
        }
    });
    written.await.context("the transaction was aborted")?
}

pub(super) async fn read<T, F>(pool: &PgPool, work: F) -> Result<T>
where
    T: Send + 'static,
    F: for<'a, 'c> FnOnce(&'a mut Tx<'c>) -> BoxFuture<'a, Result<T>> + Send + 'static,
{
    let pool = pool.clone();
    let read = AbortOnDropHandle::new(spawn(async move {
        let mut conn = pool.acquire().await?;
        work(&mut Tx { conn: Conn::Postgres(&mut conn), wakeups: Wakeups::default() }).await
    }));
    read.await.context("the read was aborted")?
}

/// Runs a database operation in a separate task, so that it is polled regardless of its caller. A
/// caller that is not polled would otherwise keep its connection and could exhaust the pool.
fn spawn<T: Send + 'static>(
    operation: impl Future<Output = Result<T>> + Send + 'static,
) -> JoinHandle<Result<T>> {
    #[expect(clippy::disallowed_methods, reason = "its caller waits for it, and is tracked")]
    tokio::spawn(operation.in_current_span())
}

async fn write_or_retry<T, F>(pool: &PgPool, extent: Extent, work: F) -> Result<(T, Wakeups)>
where
    F: for<'a, 'c> FnOnce(&'a mut Tx<'c>) -> BoxFuture<'a, Result<T>> + Clone,
{
    for wait in WAITS_MS {
        match write_on(pool, extent, work.clone()).await {
            Err(problem) if is_conflict(&problem) => {
                tracing::warn!(
                    problem = format!("{problem:#}"),
                    "retrying after a serialization failure"
                );
                // Gives the other transaction time to complete first.
                let _ = tokio::time::timeout(Duration::from_millis(wait), pending::<()>()).await;
            }
            result => return result,
        }
    }
    write_on(pool, extent, work).await
}

async fn write_on<T, F>(pool: &PgPool, extent: Extent, work: F) -> Result<(T, Wakeups)>
where
    F: for<'a, 'c> FnOnce(&'a mut Tx<'c>) -> BoxFuture<'a, Result<T>>,
{
    if extent == Extent::Statement {
        let mut conn = pool.acquire().await?;
        return run(&mut conn, work).await;
    }
    let mut open = pool.begin().await?;
    let done = run(&mut open, work).await?;
    open.commit().await?;
    Ok(done)
}

async fn run<T, F>(conn: &mut PgConnection, work: F) -> Result<(T, Wakeups)>
where
    F: for<'a, 'c> FnOnce(&'a mut Tx<'c>) -> BoxFuture<'a, Result<T>>,
{
    let mut tx = Tx { conn: Conn::Postgres(conn), wakeups: Wakeups::default() };
    let worked = AssertUnwindSafe(work(&mut tx)).catch_unwind().await;
    let value = worked.unwrap_or_else(|_| Err(anyhow!("a transaction panicked")))?;
    Ok((value, tx.wakeups))
}

/// Whether PostgreSQL rolled the transaction back because of a conflict with another one, so that
/// it can be retried unchanged.
fn is_conflict(problem: &anyhow::Error) -> bool {
    let code = problem.chain().find_map(|cause| match cause.downcast_ref()? {
        sqlx::Error::Database(database) => database.code().map(std::borrow::Cow::into_owned),
        _ => None,
    });
    matches!(code.as_deref(), Some("40P01" | "40001"))
}
