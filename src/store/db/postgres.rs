//! PostgreSQL: its pool of connections, time limits, and transactions that are retried after a
//! conflict.

use anyhow::{Context as _, Result, anyhow};
use futures::{FutureExt as _, TryFutureExt as _, future::BoxFuture};
use sqlx::{
    Connection as _, PgConnection, PgPool, SqlSafeStr as _,
    pool::PoolConnection,
    postgres::{PgConnectOptions, PgPoolOptions},
};
use std::{io::ErrorKind, panic::AssertUnwindSafe, str::FromStr as _, time::Duration};
use tokio::task::JoinHandle;
use tokio_util::task::AbortOnDropHandle;
use tracing::Instrument as _;

use super::{
    Conn, Extent, Tx,
    migrations::{Dialect, migrations},
    oldest_release::{OLDEST, ensure_new_enough},
    unavailable,
};
use crate::{clock::pause, store::wake::Wakeups};

/// The delays before each retry of a transaction after a deadlock or serialization failure.
const WAITS_MS: [u64; 5] = [10, 20, 50, 100, 200];
/// A connection to PostgreSQL is pinged before it is used if it was idle for at least this long. It
/// may have been closed in an outage, in which case the operation would fail.
const PING_AFTER: Duration = Duration::from_secs(1);
/// A connection that does not answer a ping, or does not close, within this time is given up.
const PING_FOR: Duration = Duration::from_secs(2);
/// The limits of the server: for a statement, for the wait for a lock, and for the time between two
/// statements of a transaction, so that a node that was suspended does not block the others.
macro_rules! limits {
    ($set:literal) => {
        concat!(
            $set,
            " statement_timeout = '60s';",
            $set,
            " lock_timeout = '30s';",
            $set,
            " idle_in_transaction_session_timeout = '5s'"
        )
    };
}
const SESSION_LIMITS: &str = limits!("SET");
/// Begins a transaction and sets its limits, in one message.
const BEGIN_WITH_LIMITS: &str = concat!("BEGIN;", limits!("SET LOCAL"));
const FORGET_STATEMENTS: &str = "DEALLOCATE ALL";
/// One node migrates at a time, however long that takes. The number is arbitrary.
const BEGIN_MIGRATION: &str = "
    DEALLOCATE ALL;
    SET LOCAL statement_timeout = 0;
    SET LOCAL lock_timeout = 0;
    SET LOCAL idle_in_transaction_session_timeout = 0;
    SELECT pg_advisory_xact_lock(7341908214)";
/// The limit for getting a connection, and for trying to connect.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// The limit for a transaction, for a server that no longer answers. Whether it was committed is
/// then unknown.
const OPERATION_TIMEOUT: Duration = Duration::from_secs(90);

/// Connects to a database server once, and disconnects.
pub(in crate::store) async fn reach(url: &str) -> Result<()> {
    if url.starts_with("postgres") {
        PgConnection::connect_with(&options(url)?).await?.close().await?;
    }
    Ok(())
}

/// How long a connection to PostgreSQL stays the same session of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::store) enum Pooling {
    /// Until it is closed: there is no pooler, or one in session mode.
    Session,
    /// For one transaction. Statements are not prepared for later ones, and limits apply to one
    /// transaction.
    Transaction,
}

/// A PostgreSQL server.
#[derive(Clone)]
pub(in crate::store) struct Postgres {
    pool: PgPool,
    pooling: Pooling,
}

/// A connection of the pool.
pub(in crate::store) struct PgSession<'c> {
    pub conn: &'c mut PgConnection,
    /// Whether statements are prepared once for all their executions.
    pub keeps_statements: bool,
}

impl Postgres {
    pub async fn open(url: &str, pooling: Pooling, connections: u32) -> Result<Self> {
        let options = options(url)?.statement_cache_capacity(256);
        migrate(&options).await?;
        let pool = pool_options(pooling, connections).connect_with(options).await?;
        Ok(Self { pool, pooling })
    }

    /// Runs `work` in a transaction, and `after` when it is committed.
    pub async fn write<T, F>(
        &self,
        extent: Extent,
        work: F,
        after: impl FnOnce(Wakeups) + Send + 'static,
    ) -> Result<T>
    where
        T: Send + 'static,
        F: for<'a, 'c> FnOnce(&'a mut Tx<'c>) -> BoxFuture<'a, Result<T>> + Clone + Send + 'static,
    {
        let server = self.clone();
        let written = spawn(async move {
            match server.write_or_retry(extent, work).await {
                Ok((value, wakeups)) => {
                    after(wakeups);
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

    pub async fn read<T, F>(&self, work: F) -> Result<T>
    where
        T: Send + 'static,
        F: for<'a, 'c> FnOnce(&'a mut Tx<'c>) -> BoxFuture<'a, Result<T>> + Send + 'static,
    {
        let server = self.clone();
        let read = spawn(async move { Ok(server.run(Extent::Statement, work).await?.0) });
        AbortOnDropHandle::new(read).await.context("the read was aborted")?
    }

    async fn write_or_retry<T, F>(&self, extent: Extent, work: F) -> Result<(T, Wakeups)>
    where
        F: for<'a, 'c> FnOnce(&'a mut Tx<'c>) -> BoxFuture<'a, Result<T>> + Clone,
    {
        for wait in WAITS_MS {
            match self.run(extent, work.clone()).await {
                Err(problem) if is_conflict(&problem) => {
                    tracing::warn!(
                        problem = format!("{problem:#}"),
                        "retrying after a serialization failure"
                    );
                    // Gives the other transaction time to complete first.
                    pause(Duration::from_millis(wait)).await;
                }
                result => return result,
            }
        }
        self.run(extent, work).await
    }

    async fn run<T, F>(&self, extent: Extent, work: F) -> Result<(T, Wakeups)>
    where
        F: for<'a, 'c> FnOnce(&'a mut Tx<'c>) -> BoxFuture<'a, Result<T>>,
    {
        let mut pooled = PooledConnection::acquire(&self.pool).await?;
        let conn = &mut *pooled.conn;
        let done = tokio::time::timeout(OPERATION_TIMEOUT, async {
            let begin = match (self.pooling, extent) {
                (Pooling::Session, Extent::Statement) => return self.call(conn, work).await,
                (Pooling::Session, Extent::Transaction) => "BEGIN",
                // Even a statement is several messages.
                (Pooling::Transaction, _) => BEGIN_WITH_LIMITS,
            };
            let mut open = conn.begin_with(begin.into_sql_str()).await?;
            let done = self.call(&mut open, work).await?;
            open.commit().await?;
            Ok(done)
        });
        done.await.unwrap_or_else(|_| Err(pooled.close_unanswered()))
    }

    async fn call<T, F>(&self, conn: &mut PgConnection, work: F) -> Result<(T, Wakeups)>
    where
        F: for<'a, 'c> FnOnce(&'a mut Tx<'c>) -> BoxFuture<'a, Result<T>>,
    {
        let session = PgSession { conn, keeps_statements: self.pooling == Pooling::Session };
        let mut tx = Tx { conn: Conn::Postgres(session), wakeups: Wakeups::default() };
        let worked = AssertUnwindSafe(work(&mut tx)).catch_unwind().await;
        let value = worked.unwrap_or_else(|_| Err(anyhow!("a transaction panicked")))?;
        Ok((value, tx.wakeups))
    }
}

fn options(url: &str) -> Result<PgConnectOptions> {
    // Numbers are binary, and poolers reject this parameter.
    Ok(PgConnectOptions::from_str(url)?.extra_float_digits(None))
}

fn pool_options(pooling: Pooling, connections: u32) -> PgPoolOptions {
    let options = PgPoolOptions::new()
        .max_connections(connections)
        .test_before_acquire(false)
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
        .acquire_timeout(CONNECT_TIMEOUT);
    if pooling == Pooling::Transaction {
        return options;
    }
    options
        .after_connect(|conn, _| sqlx::raw_sql(SESSION_LIMITS).execute(conn).map_ok(|_| ()).boxed())
}

/// In a transaction without the limits of the others. A pool connects because it tries again while
/// the server starts.
async fn migrate(options: &PgConnectOptions) -> Result<()> {
    let pool = PgPoolOptions::new().max_connections(1).acquire_timeout(CONNECT_TIMEOUT);
    let pool = pool.connect_with(options.clone()).await?;
    let mut waits = WAITS_MS.into_iter();
    loop {
        match (migrate_on(&pool).await, waits.next()) {
            // Other nodes use the tables meanwhile.
            (Err(problem), Some(wait)) if is_conflict(&problem) => {
                pause(Duration::from_millis(wait)).await;
            }
            (result, _) => {
                let _ = tokio::time::timeout(PING_FOR, pool.close()).await;
                return result;
            }
        }
    }
}

async fn migrate_on(pool: &PgPool) -> Result<()> {
    let all = migrations(Dialect::Postgres);
    let mut tx = pool.begin().await?;
    sqlx::raw_sql(BEGIN_MIGRATION).execute(&mut *tx).await?;
    all.run(&mut *tx).await.context("migrating")?;
    ensure_new_enough(all, sqlx::query_scalar(OLDEST).fetch_one(&mut *tx).await?)?;
    // A pooler lets others use this session.
    sqlx::raw_sql(FORGET_STATEMENTS).execute(&mut *tx).await?;
    tx.commit().await?;
    Ok(())
}

/// A connection that returns to the pool when it is dropped, or is closed if it does not answer.
struct PooledConnection {
    conn: PoolConnection<sqlx::Postgres>,
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

/// Runs a database operation in a separate task, so that it is polled regardless of its caller. A
/// caller that is not polled would otherwise keep its connection and could exhaust the pool.
fn spawn<T: Send + 'static>(
    operation: impl Future<Output = Result<T>> + Send + 'static,
) -> JoinHandle<Result<T>> {
    #[expect(clippy::disallowed_methods, reason = "its caller waits for it, and is tracked")]
    tokio::spawn(operation.in_current_span())
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
    use std::future::pending;
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

    async fn lock_timeout(server: &Postgres) -> Result<String> {
        let shown = server.read(|tx| {
            Box::pin(async move {
                let (shown,): (String,) = sql!(tx, fetch_one, "SHOW lock_timeout");
                Ok(shown)
            })
        });
        shown.await
    }

    /// Behind a pooler, the limits are those of a transaction, not of a session that others use.
    #[tokio::test]
    async fn limits_end_with_their_transaction_behind_a_pooler() {
        let options = PgConnectOptions::from_str(&server()).unwrap().database("postgres");
        let pooling = Pooling::Transaction;
        let pool = pool_options(pooling, 1).connect_lazy_with(options);
        let postgres = Postgres { pool, pooling };
        assert_eq!(lock_timeout(&postgres).await.unwrap(), "30s");
        let after = sqlx::query_scalar("SHOW lock_timeout").fetch_one(&postgres.pool).await;
        let after: String = after.unwrap();
        assert_eq!(after, "0");
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
        let pooling = Pooling::Session;
        let pool = pool_options(pooling, 1).connect_lazy_with(options.database("postgres"));
        let postgres = Postgres { pool, pooling };
        assert_eq!(lock_timeout(&postgres).await.unwrap(), "30s");
        while postgres.pool.num_idle() == 0 {
            tokio::task::yield_now().await;
        }
        silent.cancel();
        tokio::time::pause();
        let problem = lock_timeout(&postgres).await.unwrap_err();
        assert!(is_transient(&problem) && problem.to_string().contains("in time"), "{problem:#}");
        tokio::time::resume();
        assert_eq!(lock_timeout(&postgres).await.unwrap(), "30s");
    }
}
