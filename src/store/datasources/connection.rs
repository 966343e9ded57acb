//! Small connection pools, and transactions that cannot write.

use futures::{FutureExt as _, TryStreamExt as _};
use sqlx::{
    AssertSqlSafe, Column as _, Executor as _, MySql, Postgres, Row as _, Sqlite, Statement as _,
    Transaction, TypeInfo as _,
    mysql::{MySqlConnectOptions, MySqlPoolOptions},
    pool::PoolOptions,
    postgres::{PgConnectOptions, PgPoolOptions},
    sqlite::{SqliteConnectOptions, SqlitePoolOptions},
};
use std::{
    str::FromStr as _,
    time::{Duration, Instant},
};

use super::{CELL_CHARS, Column, DatabaseKind, QueryLimits, ReadError, ResultTable};

/// How long a query waits for a connection, whether new or pooled.
const ACQUIRE_FOR: Duration = Duration::from_secs(5);
const IDLE_FOR: Duration = Duration::from_mins(1);
const LIVES_FOR: Duration = Duration::from_mins(30);
/// The number of SQLite instructions between two checks of the clock.
const INSTRUCTIONS: i32 = 1_000;

pub(super) enum Pool {
    Postgres(sqlx::PgPool),
    Mysql(sqlx::MySqlPool),
    Sqlite(sqlx::SqlitePool),
}

/// An open transaction. Dropping it rolls it back.
pub(super) enum ReadTransaction {
    Postgres(Transaction<'static, Postgres>),
    Mysql(Transaction<'static, MySql>),
    Sqlite(Transaction<'static, Sqlite>),
}

/// Evaluates the same expression for each of the three databases, type-checked separately.
macro_rules! on {
    ($on:expr, $of:ident, |$tx:ident| $body:expr) => {
        match $on {
            $of::Postgres($tx) => $body,
            $of::Mysql($tx) => $body,
            $of::Sqlite($tx) => $body,
        }
    };
}

impl Pool {
    pub(super) fn open(url: &str, limits: QueryLimits) -> Result<Self, &'static str> {
        let unreadable = "the URL cannot be read";
        let scheme = url.split(':').next().unwrap_or_default();
        match scheme {
            "postgres" | "postgresql" => {
                let options = PgConnectOptions::from_str(url).map_err(|_| unreadable)?;
                let options = options.application_name("countersign").statement_cache_capacity(0);
                Ok(Self::Postgres(small(PgPoolOptions::new(), limits).connect_lazy_with(options)))
            }
            "mysql" | "mariadb" => {
                let options = MySqlConnectOptions::from_str(url).map_err(|_| unreadable)?;
                if options.get_database().is_none_or(str::is_empty) {
                    return Err("the URL names no database");
                }
                let options = options.statement_cache_capacity(0);
                let pool = small(MySqlPoolOptions::new(), limits);
                let pool = pool.after_connect(move |connection, _| {
                    async move { restrict_mysql(connection, limits.time).await }.boxed()
                });
                Ok(Self::Mysql(pool.connect_lazy_with(options)))
            }
            "sqlite" => {
                let options = SqliteConnectOptions::from_str(url).map_err(|_| unreadable)?;
                let options = options
                    .read_only(true)
                    .create_if_missing(false)
                    .statement_cache_capacity(0)
                    .busy_timeout(ACQUIRE_FOR)
                    .pragma("query_only", "ON")
                    .pragma("trusted_schema", "OFF");
                Ok(Self::Sqlite(small(SqlitePoolOptions::new(), limits).connect_lazy_with(options)))
            }
            _ => Err("the URL must begin with postgres:, mysql:, mariadb: or sqlite:"),
        }
    }

    pub(super) fn kind(&self) -> DatabaseKind {
        match self {
            Self::Postgres(_) => DatabaseKind::Postgres,
            Self::Mysql(_) => DatabaseKind::Mysql,
            Self::Sqlite(_) => DatabaseKind::Sqlite,
        }
    }

    pub(super) async fn begin(&self, time: Duration) -> Result<ReadTransaction, ReadError> {
        match self {
            Self::Postgres(pool) => {
                let begin = "BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY";
                let mut tx = pool.begin_with(begin).await.map_err(|e| unreachable(&e))?;
                // With an empty search path, names cannot be redirected: tables are written with
                // their schema, and only built-in functions are found.
                let restrict = "SELECT set_config('search_path', '', true), \
                     set_config('standard_conforming_strings', 'on', true), \
                     set_config('lock_timeout', '2s', true), \
                     set_config('statement_timeout', $1, true)";
                let restricted =
                    sqlx::query(restrict).bind(time.as_millis().to_string()).execute(&mut *tx);
                restricted.await.map_err(|e| failed(&e, time))?;
                Ok(ReadTransaction::Postgres(tx))
            }
            Self::Mysql(pool) => {
                let begin = "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY";
                let tx = pool.begin_with(begin).await.map_err(|e| unreachable(&e))?;
                Ok(ReadTransaction::Mysql(tx))
            }
            Self::Sqlite(pool) => {
                let mut tx =
                    pool.begin_with("BEGIN DEFERRED").await.map_err(|e| unreachable(&e))?;
                let mut handle = tx.lock_handle().await.map_err(|e| unreachable(&e))?;
                let until = Instant::now() + time;
                handle.set_progress_handler(INSTRUCTIONS, move || Instant::now() < until);
                drop(handle);
                Ok(ReadTransaction::Sqlite(tx))
            }
        }
    }
}

fn small<DB: sqlx::Database>(pool: PoolOptions<DB>, limits: QueryLimits) -> PoolOptions<DB> {
    pool.min_connections(0)
        .max_connections(limits.connections)
        .acquire_timeout(ACQUIRE_FOR)
        .idle_timeout(IDLE_FOR)
        .max_lifetime(LIVES_FOR)
}

/// Configures a connection for its lifetime: it is read-only, a backslash in a string literal is
/// not an escape, and statements time out. MariaDB and MySQL have different names for the timeout.
async fn restrict_mysql(
    connection: &mut sqlx::MySqlConnection,
    time: Duration,
) -> Result<(), sqlx::Error> {
    let modes = "SET SESSION sql_mode = CONCAT(@@sql_mode, ',NO_BACKSLASH_ESCAPES'), \
                 SESSION lock_wait_timeout = 2";
    connection.execute(modes).await?;
    connection.execute("SET SESSION TRANSACTION READ ONLY").await?;
    let mariadb = format!("SET SESSION max_statement_time = {}", time.as_secs_f64());
    if connection.execute(AssertSqlSafe(mariadb)).await.is_err() {
        let mysql = format!("SET SESSION max_execution_time = {}", time.as_millis());
        connection.execute(AssertSqlSafe(mysql)).await?;
    }
    Ok(())
}

impl ReadTransaction {
    pub(super) fn kind(&self) -> DatabaseKind {
        match self {
            Self::Postgres(_) => DatabaseKind::Postgres,
            Self::Mysql(_) => DatabaseKind::Mysql,
            Self::Sqlite(_) => DatabaseKind::Sqlite,
        }
    }

    /// The columns of the query's result. The query is prepared, but not run.
    pub(super) async fn columns(&mut self, sql: &str) -> Result<Vec<Column>, ReadError> {
        let sql = AssertSqlSafe(sql.to_owned());
        on!(self, ReadTransaction, |tx| {
            let prepared = (&mut **tx).prepare(sqlx::SqlSafeStr::into_sql_str(sql)).await;
            let prepared = prepared.map_err(|e| failed(&e, Duration::ZERO))?;
            let columns = prepared.columns().iter().map(|column| {
                let kind = column.type_info().name().to_ascii_uppercase();
                let is_binary = ["BLOB", "BINARY", "GEOMETRY"].iter().any(|k| kind.contains(k));
                Column { name: column.name().to_owned(), is_binary }
            });
            Ok(columns.collect())
        })
    }

    /// Runs a query whose columns are all text, and reads its rows up to the limits.
    pub(super) async fn table(
        &mut self,
        sql: &str,
        limits: QueryLimits,
    ) -> Result<ResultTable, ReadError> {
        let sql = AssertSqlSafe(sql.to_owned());
        let mut table = ResultTable::default();
        let mut bytes = 0;
        on!(self, ReadTransaction, |tx| {
            let mut rows = sqlx::query(sql).persistent(false).fetch(&mut **tx);
            while let Some(row) = rows.try_next().await.map_err(|e| failed(&e, limits.time))? {
                if table.rows.len() >= limits.rows || bytes > limits.bytes {
                    table.is_cut = true;
                    break;
                }
                let mut cells = Vec::with_capacity(row.len());
                for place in 0..row.len() {
                    let cell: Option<String> =
                        row.try_get(place).map_err(|e| failed(&e, limits.time))?;
                    bytes += cell.as_ref().map_or(0, String::len) + size_of::<Option<String>>();
                    cells.push(cell.map(cut));
                }
                table.rows.push(cells);
            }
        });
        Ok(table)
    }

    /// Ends the transaction and returns the connection to the pool.
    pub(super) async fn end(self) {
        let ended = on!(self, ReadTransaction, |tx| tx.rollback().await);
        if let Err(error) = ended {
            tracing::warn!(%error, "could not roll back a read-only transaction of a data source");
        }
    }
}

fn cut(text: String) -> String {
    match text.char_indices().nth(CELL_CHARS) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}

fn unreachable(error: &sqlx::Error) -> ReadError {
    tracing::warn!(%error, "could not reach a data source");
    ReadError::Unreachable(error.to_string())
}

/// Converts an error. The database's message is kept without its hints, which may name hidden
/// columns.
fn failed(error: &sqlx::Error, time: Duration) -> ReadError {
    let Some(database) = error.as_database_error() else {
        return match error {
            sqlx::Error::ColumnDecode { .. } | sqlx::Error::Decode(_) => {
                ReadError::Failed("a value cannot be read as text".into())
            }
            _ => unreachable(error),
        };
    };
    let code = database.code().unwrap_or_default();
    let timed_out = match code.as_ref() {
        // PostgreSQL: query_canceled, lock_not_available; SQLite: interrupted.
        "57014" | "55P03" | "9" => true,
        // MariaDB and MySQL.
        _ => ["max_statement_time", "maximum statement execution time"]
            .iter()
            .any(|words| database.message().contains(words)),
    };
    if timed_out { ReadError::Timeout(time) } else { ReadError::Failed(database.message().into()) }
}
