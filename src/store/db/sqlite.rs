//! SQLite: opening a database file, and statements. A statement runs to its end on the thread that
//! calls it, so the threads here belong to SQLite alone: one writes (`writer`), a few read
//! (`readers`).

use anyhow::{Context as _, Result, anyhow};
use futures::{FutureExt as _, future::BoxFuture};
use rusqlite::{
    CachedStatement, Connection, OpenFlags, Row, Rows, ToSql, config::DbConfig, types::FromSql,
};
use sqlx::{
    Connection as _, SqlSafeStr, SqliteConnection,
    sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous},
};
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    time::{Duration, Instant},
};

use super::{
    Conn, Tx,
    migrations::{Dialect, migrations},
    oldest_release::{OLDEST, ensure_new_enough},
};
use crate::store::wake::Wakeups;

/// How long a statement waits for a lock of another process.
const BUSY_FOR: Duration = Duration::from_secs(10);
/// The number of prepared statements that each connection keeps.
const PREPARED: usize = 256;
/// A statement that takes at least this long is logged.
const SLOW: Duration = Duration::from_secs(1);

/// For a new database, in which there is nothing to lose: the migrations are only in the log, which is
/// flushed once, at the end. A power failure leaves the first of them, and the others are run by the
/// next start.
const FLUSH_LATER: &str = "PRAGMA synchronous = OFF; PRAGMA wal_autocheckpoint = 0";
const FLUSH_ALL: &str = "PRAGMA synchronous = FULL; PRAGMA wal_checkpoint(TRUNCATE)";

/// Migrates the tables with the client that migrates PostgreSQL. It has closed the file before the
/// other connections open it.
pub(super) async fn migrate(path: &Path) -> Result<()> {
    let options = SqliteConnectOptions::new()
        .filename(path)
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        .busy_timeout(BUSY_FOR)
        .foreign_keys(true);
    let mut conn = SqliteConnection::connect_with(&options).await?;
    let is_new = "SELECT NOT EXISTS (SELECT 1 FROM sqlite_schema)";
    let is_new: bool = sqlx::query_scalar(is_new).fetch_one(&mut conn).await?;
    if is_new {
        sqlx::raw_sql(FLUSH_LATER).execute(&mut conn).await?;
    }
    let all = migrations(Dialect::Sqlite);
    all.run(&mut conn).await.context("migrating")?;
    if is_new {
        sqlx::raw_sql(FLUSH_ALL).execute(&mut conn).await?;
    }
    ensure_new_enough(all, sqlx::query_scalar(OLDEST).fetch_one(&mut conn).await?)?;
    conn.close().await?;
    Ok(())
}

/// Opens a connection to a database file that exists.
pub(super) fn connect(file: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(file, flags)?;
    conn.busy_timeout(BUSY_FOR)?;
    conn.set_prepared_statement_cache_capacity(PREPARED);
    // Otherwise every new value of a parameter that is compared with the condition of a partial
    // index makes SQLite prepare the statement again.
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    conn.execute_batch(
        "PRAGMA journal_mode = WAL; PRAGMA foreign_keys = ON; PRAGMA synchronous = FULL",
    )?;
    Ok(conn)
}

/// Runs `work` to its end. Statements on SQLite never suspend the future that runs them, so it is
/// finished at its first poll; it must not wait for anything else.
pub(super) fn complete<T, F>(conn: &mut Connection, work: F) -> (Result<T>, Wakeups)
where
    F: for<'a, 'c> FnOnce(&'a mut Tx<'c>) -> BoxFuture<'a, Result<T>>,
{
    let mut tx = Tx { conn: Conn::Sqlite(conn), wakeups: Wakeups::default() };
    let polled = catch_unwind(AssertUnwindSafe(|| work(&mut tx).now_or_never()));
    let result = match polled {
        Ok(Some(result)) => result,
        Ok(None) => Err(anyhow!("internal error: a transaction waited for something else")),
        Err(_) => Err(anyhow!("a transaction panicked")),
    };
    (result, tx.wakeups)
}

/// A value that is read from a row of SQLite, as `sqlx::FromRow` reads one from PostgreSQL.
pub(in crate::store) trait FromSqliteRow: Sized {
    fn from_sqlite_row(row: &Row<'_>) -> rusqlite::Result<Self>;
}

impl<A: FromSql> FromSqliteRow for (A,) {
    fn from_sqlite_row(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok((row.get(0)?,))
    }
}

impl<A: FromSql, B: FromSql> FromSqliteRow for (A, B) {
    fn from_sqlite_row(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok((row.get(0)?, row.get(1)?))
    }
}

/// Returns the number of changed rows.
pub(in crate::store) fn execute(
    conn: &Connection,
    sql: impl SqlSafeStr,
    values: &[&dyn ToSql],
) -> rusqlite::Result<u64> {
    run(conn, sql, values, finish)?;
    Ok(conn.changes())
}

pub(in crate::store) fn fetch_all<T: FromSqliteRow>(
    conn: &Connection,
    sql: impl SqlSafeStr,
    values: &[&dyn ToSql],
) -> rusqlite::Result<Vec<T>> {
    run(conn, sql, values, |rows| {
        let mut all = Vec::new();
        while let Some(row) = rows.next()? {
            all.push(T::from_sqlite_row(row)?);
        }
        Ok(all)
    })
}

pub(in crate::store) fn fetch_optional<T: FromSqliteRow>(
    conn: &Connection,
    sql: impl SqlSafeStr,
    values: &[&dyn ToSql],
) -> rusqlite::Result<Option<T>> {
    run(conn, sql, values, |rows| {
        let first = rows.next()?.map(T::from_sqlite_row).transpose()?;
        // A statement that changes something checks its constraints when it ends.
        if first.is_some() && rows.as_ref().is_some_and(|statement| !statement.readonly()) {
            finish(rows)?;
        }
        Ok(first)
    })
}

pub(in crate::store) fn fetch_one<T: FromSqliteRow>(
    conn: &Connection,
    sql: impl SqlSafeStr,
    values: &[&dyn ToSql],
) -> rusqlite::Result<T> {
    fetch_optional(conn, sql, values)?.ok_or(rusqlite::Error::QueryReturnedNoRows)
}

fn finish(rows: &mut Rows<'_>) -> rusqlite::Result<()> {
    while rows.next()?.is_some() {}
    Ok(())
}

fn run<T>(
    conn: &Connection,
    sql: impl SqlSafeStr,
    values: &[&dyn ToSql],
    read: impl FnOnce(&mut Rows<'_>) -> rusqlite::Result<T>,
) -> rusqlite::Result<T> {
    let sql = sql.into_sql_str();
    let sql = sql.as_str();
    let began_at = Instant::now();
    let mut statement = conn.prepare_cached(sql)?;
    bind(&mut statement, values)?;
    let result = read(&mut statement.raw_query());
    tracing::trace!(db.statement = sql, "ran a statement");
    let took = began_at.elapsed();
    if took >= SLOW {
        tracing::warn!(db.statement = sql, took_ms = took.as_millis(), "a statement was slow");
    }
    result
}

/// Binds `$2` to the second value. For SQLite these are names, which it numbers by the order in
/// which they appear.
fn bind(statement: &mut CachedStatement<'_>, values: &[&dyn ToSql]) -> rusqlite::Result<()> {
    for index in 1..=statement.parameter_count() {
        let name = statement.parameter_name(index).and_then(|name| name.strip_prefix('$'));
        let number: Option<usize> = name.and_then(|number| number.parse().ok());
        let value = number.and_then(|number| values.get(number.checked_sub(1)?));
        let value = value.ok_or(rusqlite::Error::InvalidParameterCount(values.len(), index))?;
        statement.raw_bind_parameter(index, value)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rusqlite::StatementStatus;

    fn scratch() -> Connection {
        let conn = Connection::open_in_memory().unwrap();
        conn.execute_batch(
            "PRAGMA foreign_keys = ON;
            CREATE TABLE parents (id INTEGER PRIMARY KEY) STRICT;
            CREATE TABLE rows (
                id INTEGER PRIMARY KEY,
                body TEXT,
                parent INTEGER REFERENCES parents (id)
            ) STRICT;",
        )
        .unwrap();
        conn
    }

    #[test]
    fn values_are_bound_by_their_numbers() {
        let conn = scratch();
        let insert = "INSERT INTO rows (body, id) VALUES ($2 || $2, $1)";
        assert_eq!(execute(&conn, insert, &[&7_i64, &"a"]).unwrap(), 1);
        let rows: Vec<(i64, String)> = fetch_all(&conn, "SELECT id, body FROM rows", &[]).unwrap();
        assert_eq!(rows, [(7, "aa".to_owned())]);
        let none: Option<(i64,)> =
            fetch_optional(&conn, "SELECT id FROM rows WHERE id = $1", &[&8_i64]).unwrap();
        assert_eq!(none, None);
        execute(&conn, insert, &[&8_i64]).expect_err("a value is missing");
    }

    /// The check of a constraint is not skipped when only the first row is read.
    #[test]
    fn a_returned_row_means_that_the_change_was_made() {
        let conn = scratch();
        let insert = "INSERT INTO rows (id, parent) VALUES ($1, $2) RETURNING id";
        let orphan = fetch_one::<(i64,)>(&conn, insert, &[&1_i64, &9_i64]);
        orphan.expect_err("there is no such parent");
        let (count,): (i64,) = fetch_one(&conn, "SELECT COUNT(*) FROM rows", &[]).unwrap();
        assert_eq!(count, 0);
        let missing = fetch_one::<(i64,)>(&conn, "SELECT id FROM rows", &[]).unwrap_err();
        assert_eq!(missing, rusqlite::Error::QueryReturnedNoRows);
    }

    #[test]
    fn a_statement_is_prepared_once_for_all_values() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("rows.db");
        let tables = "CREATE TABLE rows (id INTEGER PRIMARY KEY, state TEXT) STRICT;
            CREATE INDEX due ON rows (id) WHERE state = 'due';";
        Connection::open(&file).unwrap().execute_batch(tables).unwrap();
        let conn = connect(&file).unwrap();
        let select = "SELECT id FROM rows WHERE state = $1";
        for state in ["due", "sent", "due"] {
            let rows: Vec<(i64,)> = fetch_all(&conn, select, &[&state]).unwrap();
            assert_eq!(rows, []);
        }
        let statement = conn.prepare_cached(select).unwrap();
        assert_eq!(statement.get_status(StatementStatus::RePrepare), 0);
    }

    /// Nothing would ever wake a future on the threads of SQLite.
    #[test]
    fn a_transaction_that_waits_or_panics_fails() {
        let mut conn = scratch();
        let (waited, _) = complete::<(), _>(&mut conn, |_| Box::pin(std::future::pending()));
        assert!(waited.unwrap_err().to_string().contains("waited"));
        let (panicked, _) =
            complete::<(), _>(&mut conn, |_| Box::pin(async { panic!("as the test asked") }));
        assert!(panicked.unwrap_err().to_string().contains("panicked"));
    }
}
