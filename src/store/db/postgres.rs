//! PostgreSQL: its pool of connections, time limits, and transactions that are retried after a
//! conflict.

use anyhow::{Context as _, Result, anyhow};
use futures::{FutureExt as _, TryFutureExt as _, future::BoxFuture};
use sqlx::{
    Connection as _, PgConnection, PgPool, Postgres,
    pool::PoolConnection,
    postgres::{PgConnectOptions, PgPoolOptions},
};
use std::{
    future::pending, io::ErrorKind, panic::AssertUnwindSafe, str::FromStr as _, time::Duration,
};
use tokio::task::JoinHandle;
use tokio_util::task::AbortOnDropHandle;
use tracing::Instrument as _;

use super::{
    Conn, Extent, Tx,
    migrations::{Dialect, migrations},
    oldest_release::{OLDEST, ensure_new_enough},
    unavailable,
};
use crate::store::wake::Wakeups;

/// The delays before each retry of a transaction after a deadlock or serialization failure.
const WAITS_MS: [u64; 5] = [10, 20, 50, 100, 200];
/// A connection to PostgreSQL is pinged before it is used if it was idle for at least this long. It
/// may have been closed in an outage, in which case the operation would fail.
const PING_AFTER: Duration = Duration::from_secs(1);
/// A connection that does not answer a ping within this time, before or after its use, is closed.
const PING_FOR: Duration = Duration::from_secs(2);
/// The limits of the server: for a statement, for the wait for a lock, and for the time between two
/// statements of a transaction, so that a node that was suspended does not block the others.
const SESSION_LIMITS: &str = "
    SET statement_timeout = '60s';
    SET lock_timeout = '30s';
    SET idle_in_transaction_session_timeout = '5s'";
/// The limit for getting a connection, and for trying to connect.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// The limit for a transaction, for a server that no longer answers. Whether it was committed is
/// then unknown.
const OPERATION_TIMEOUT: Duration = Duration::from_secs(90);

/// Connects to a database server once, and disconnects.
pub(in crate::store) async fn reach(url: &str) -> Result<()> {
    if url.starts_with("postgres") {
        PgConnection::connect(url).await?.close().await?;
    }
    Ok(())
}

pub(super) async fn open(url: &str, connections: u32) -> Result<PgPool> {
    let options = PgConnectOptions::from_str(url)?.statement_cache_capacity(256);
    migrate(&options).await?;
    Ok(pool_options(connections).connect_with(options).await?)
}

fn pool_options(connections: u32) -> PgPoolOptions {
    PgPoolOptions::new()
        .max_connections(connections)
        .test_before_acquire(false)
        .after_connect(|conn, _| sqlx::raw_sql(SESSION_LIMITS).execute(conn).map_ok(|_| ()).boxed())
        .before_acquire(|conn, meta| {
            async move {
                if meta.idle_for >= PING_AFTER {
                    let pong = tokio::time::timeout(PING_FOR, conn.ping()).await;
                    pong.map_err(|_| sqlx::Error::Io(ErrorKind::TimedOut.into()))??;
                }
                Ok(true)
            }
            .boxed()
        })
        .acquire_timeout(CONNECT_TIMEOUT)
}

/// On a connection of its own, without the limits of the others: a migration may take long, or wait
/// for that of another node. A pool connects because it tries again while the server starts.
async fn migrate(options: &PgConnectOptions) -> Result<()> {
    let pool = PgPoolOptions::new().max_connections(1).acquire_timeout(CONNECT_TIMEOUT);
    let pool = pool.connect_with(options.clone()).await?;
    let all = migrations(Dialect::Postgres);
    all.run(&pool).await.context("migrating")?;
    ensure_new_enough(all, sqlx::query_scalar(OLDEST).fetch_one(&pool).await?)?;
    let _ = tokio::time::timeout(PING_FOR, pool.close()).await;
    Ok(())
}

/// A connection that returns to the pool when it is dropped, or is closed if it does not answer.
struct PooledConnection {
    conn: PoolConnection<Postgres>,
    is_unanswered: bool,
}

impl PooledConnection {
    async fn acquire(pool: &PgPool) -> Result<Self> {
        Ok(Self { conn: pool.acquire().await?, is_unanswered: false })
    }

    /// The server did not answer in time. The connection is closed, since its state is unknown.
    fn close_unanswered(&mut self) -> anyhow::Error {
        self.is_unanswered = true;
        unavailable("the database server did not answer in time")
    }
}

impl Drop for PooledConnection {
    fn drop(&mut self) {
        if self.is_unanswered {
            return self.conn.close_on_drop();
        }
        // The pool pings a connection that returns. Without a limit, one to a server that does not
        // answer would occupy a place in the pool.
        let returned = tokio::time::timeout(PING_FOR, self.conn.return_to_pool());
        #[expect(clippy::disallowed_methods, reason = "ends soon, and nothing depends on it")]
        tokio::spawn(returned);
    }
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
        let mut conn = PooledConnection::acquire(&pool).await?;
        let mut tx = Tx { conn: Conn::Postgres(&mut conn.conn), wakeups: Wakeups::default() };
        let read = tokio::time::timeout(OPERATION_TIMEOUT, work(&mut tx)).await;
        read.unwrap_or_else(|_| Err(conn.close_unanswered()))
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
    let mut conn = PooledConnection::acquire(pool).await?;
    let written = tokio::time::timeout(OPERATION_TIMEOUT, async {
        if extent == Extent::Statement {
            return run(&mut conn.conn, work).await;
        }
        let mut open = conn.conn.begin().await?;
        let done = run(&mut open, work).await?;
        open.commit().await?;
        Ok(done)
    });
    written.await.unwrap_or_else(|_| Err(conn.close_unanswered()))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::db::{sql, transient::is_transient};
    use tokio::{
        io::copy_bidirectional,
        net::{TcpListener, TcpStream},
        task::JoinSet,
    };
    use tokio_util::sync::CancellationToken;

    #[expect(clippy::disallowed_methods, reason = "tests/run says where its PostgreSQL is")]
    fn server() -> String {
        std::env::var("COUNTERSIGN_TEST_PG").expect("tests/run starts a PostgreSQL")
    }

    /// Forwards connections to the server. When `silent` is cancelled, those that are open stay open,
    /// but nothing passes any more, as after a failure of the network.
    async fn forward(listener: TcpListener, silent: CancellationToken) {
        let server = server();
        let (_, server) = server.rsplit_once('@').unwrap();
        let mut connections = JoinSet::new();
        loop {
            let (mut client, _) = listener.accept().await.unwrap();
            let mut server = TcpStream::connect(server).await.unwrap();
            let silent =
                if silent.is_cancelled() { CancellationToken::new() } else { silent.clone() };
            connections.spawn(async move {
                let forwarded = copy_bidirectional(&mut client, &mut server);
                if silent.run_until_cancelled(forwarded).await.is_none() {
                    pending::<()>().await;
                }
            });
        }
    }

    async fn lock_timeout(pool: &PgPool) -> Result<String> {
        let shown = read(pool, |tx| {
            Box::pin(async move {
                let (shown,): (String,) = sql!(tx, fetch_one, "SHOW lock_timeout");
                Ok(shown)
            })
        });
        shown.await
    }

    /// A server that does not answer keeps neither its caller nor a connection.
    #[tokio::test]
    async fn a_silent_server_is_left() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let silent = CancellationToken::new();
        let mut forwarder = JoinSet::new();
        forwarder.spawn(forward(listener, silent.clone()));
        let options = PgConnectOptions::from_str(&server()).unwrap().host("127.0.0.1").port(port);
        let pool = pool_options(1).connect_lazy_with(options.database("postgres"));
        assert_eq!(lock_timeout(&pool).await.unwrap(), "30s");
        while pool.num_idle() == 0 {
            tokio::task::yield_now().await;
        }
        silent.cancel();
        tokio::time::pause();
        let problem = lock_timeout(&pool).await.unwrap_err();
        assert!(is_transient(&problem) && problem.to_string().contains("in time"), "{problem:#}");
        tokio::time::resume();
        assert_eq!(lock_timeout(&pool).await.unwrap(), "30s");
    }
}
