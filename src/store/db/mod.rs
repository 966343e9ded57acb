//! Database access: the only file that distinguishes SQLite and PostgreSQL.
//!
//! SQLite has a thread that writes (`writer`) and a few that read (`readers`), each with its own
//! connection. PostgreSQL has one pool.

pub mod address;
pub mod backup;
pub(super) mod bind;
mod migrations;
pub mod modes;
mod oldest_release;
mod postgres;
pub mod process_lock;
mod readers;
pub(super) mod row;
pub(super) mod sqlite;
pub mod transient;
pub mod unreadable;
mod writer;

use anyhow::{Result, bail};
use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

use super::{StoreOptions, wake::Wakeups};
use crate::{
    clock::{Clock as _, SystemClock},
    crash,
};
pub(super) use postgres::reach;
use postgres::{PgSession, Pooling, Postgres};
use readers::Readers;
pub(super) use row::sql;
use transient::Unavailable;
use writer::Writer;

#[derive(Clone)]
pub(super) enum Db {
    Sqlite { writer: Writer, readers: Readers },
    Postgres(Postgres),
}

/// The failures that a commit survives on SQLite.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Durability {
    /// A power failure (`synchronous=FULL`).
    #[default]
    Full,
    /// A crash of the process. A power failure may lose the last commits (`synchronous=NORMAL`).
    Normal,
}

/// How a write is committed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct WriteMode {
    /// On SQLite, [`Durability::Normal`] leaves the commit to be flushed with the next one that is
    /// [`Durability::Full`]. A power failure may undo it, never without all later ones.
    pub survives: Durability,
    pub extent: Extent,
}

/// What a write consists of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    Transaction,
    /// At most one statement that changes something. PostgreSQL commits it by itself, without two
    /// round trips for the limits of a transaction.
    Statement,
}

impl WriteMode {
    pub const DURABLE: Self = Self { survives: Durability::Full, extent: Extent::Transaction };
    /// For changes that need not survive a power failure. The caller says why.
    pub const VOLATILE: Self = Self { survives: Durability::Normal, extent: Extent::Transaction };

    pub const fn of_one_statement(self) -> Self {
        Self { extent: Extent::Statement, ..self }
    }
}

/// An open transaction (or, within [`super::Store::read`], a connection).
pub struct Tx<'c> {
    pub(super) conn: Conn<'c>,
    pub(super) wakeups: Wakeups,
}

pub(super) enum Conn<'c> {
    Sqlite(&'c mut rusqlite::Connection),
    Postgres(PgSession<'c>),
}

impl Tx<'_> {
    /// The database's clock, which is the only one used to compare leases of several nodes. For
    /// SQLite it is this process's monotonic clock.
    pub async fn now_ms(&mut self) -> Result<i64> {
        let now: i64 = match &mut self.conn {
            Conn::Sqlite(_) => SystemClock.now().timestamp_millis(),
            Conn::Postgres(session) => {
                let now = "SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)";
                let now = sqlx::query_scalar(now).persistent(session.keeps_statements);
                now.fetch_one(&mut *session.conn).await?
            }
        };
        Ok(now + crash::clock_skew_ms())
    }

    /// The value to bind where a statement uses `database_now!`.
    pub(super) fn now_base(&self) -> i64 {
        let now = match self.conn {
            Conn::Sqlite(_) => SystemClock.now().timestamp_millis(),
            Conn::Postgres(_) => 0,
        };
        now + crash::clock_skew_ms()
    }

    /// Selects the SQLite or PostgreSQL variant of a statement or value.
    pub(super) fn either<T>(&self, sqlite: T, postgres: T) -> T {
        match self.conn {
            Conn::Sqlite(_) => sqlite,
            Conn::Postgres(_) => postgres,
        }
    }
}

impl Db {
    pub(super) async fn open(url: &str, settings: StoreOptions) -> Result<Self> {
        if let Some(path) = url.strip_prefix("sqlite:") {
            let path = PathBuf::from(path.trim_start_matches("//"));
            return Self::open_sqlite(path, settings.durability).await;
        }
        if !url.starts_with("postgres:") && !url.starts_with("postgresql:") {
            bail!("store.url must begin with sqlite: or postgres:");
        }
        let pooling =
            if settings.transaction_pooling { Pooling::Transaction } else { Pooling::Session };
        Ok(Self::Postgres(Postgres::open(url, pooling, settings.connections).await?))
    }

    async fn open_sqlite(path: PathBuf, durability: Durability) -> Result<Self> {
        modes::create_database(&path)?;
        sqlite::migrate(&path).await?;
        let readers = Readers::new(path.clone());
        let writer = Writer::start(path, durability, readers.clone()).await?;
        Ok(Self::Sqlite { writer, readers })
    }

    /// Whether other nodes may use the database at the same time.
    pub(super) fn is_shared(&self) -> bool {
        matches!(self, Self::Postgres(_))
    }

    /// Runs `work` in a transaction. If it is committed, `after` is called, also if the caller was
    /// dropped or is not polled; otherwise `after` is dropped.
    pub(super) async fn write<T, F>(
        &self,
        mode: WriteMode,
        work: F,
        after: impl FnOnce(Wakeups) + Send + 'static,
    ) -> Result<T>
    where
        T: Send + 'static,
        F: for<'a, 'c> FnOnce(&'a mut Tx<'c>) -> BoxFuture<'a, Result<T>> + Clone + Send + 'static,
    {
        match self {
            Self::Sqlite { writer, .. } => writer.write(mode.survives, work, after).await,
            Self::Postgres(server) => server.write(mode.extent, work, after).await,
        }
    }

    pub(super) async fn read<T, F>(&self, work: F) -> Result<T>
    where
        T: Send + 'static,
        F: for<'a, 'c> FnOnce(&'a mut Tx<'c>) -> BoxFuture<'a, Result<T>> + Send + 'static,
    {
        match self {
            Self::Sqlite { readers, .. } => readers.read(work).await,
            Self::Postgres(server) => server.read(work).await,
        }
    }
}

pub(super) fn unavailable(problem: &str) -> anyhow::Error {
    Unavailable(problem.to_owned()).into()
}

#[cfg(test)]
mod tests {
    use sqlx::{
        Connection as _, SqliteConnection, migrate::Migrator, sqlite::SqliteConnectOptions,
    };

    use super::migrations::{Dialect, migrations};

    /// The schema before people could have their own conversations, with a row in each table that
    /// refers to a conversation.
    const BEFORE: &str = "
        INSERT INTO conversations
            (id, channel, chat, thread, place, last_seq, ready_at, lease_node, lease_until, fence,
             created_at, language, not_before)
        VALUES ('c', 'tg', '-7', '3', '{}', 9, 5, 'n', 6, 7, 8, 'de', 4);
        INSERT INTO events (conversation, seq, fence, at, body) VALUES ('c', 9, 7, 1, '{}');
        INSERT INTO drafts (conversation, receipt) VALUES ('c', '{}');
        INSERT INTO outbox
            (id, conversation, seq, part, body, status, attempts, not_before, lease_node,
             lease_until, created_at)
        VALUES ('o', 'c', 9, 0, '{}', 'waiting', 0, 0, '', 0, 1);
        INSERT INTO approvals
            (id, conversation, call, asks, tool, arguments, digest, title, requester, question,
             status, created_at, expires_at)
        VALUES ('a', 'c', 'x', '{}', 't', '{}', 'd', 'T', '{}', 'o', 'pending', 1, 2);";

    const OTHER: &str = "
        INSERT INTO conversations
            (id, channel, chat, thread, person, place, last_seq, lease_node, lease_until, fence,
             created_at)
        VALUES ('d', 'tg', '-7', '3', '1', '{}', 0, '', 0, 0, 0);";

    const KEPT: &str = "
        SELECT c.id || c.chat || c.thread || c.last_seq || c.ready_at || c.fence || c.language
            || c.not_before || c.person || e.seq || d.receipt || o.id || a.id
        FROM conversations c
        JOIN events e ON e.conversation = c.id
        JOIN drafts d ON d.conversation = c.id
        JOIN outbox o ON o.conversation = c.id
        JOIN approvals a ON a.conversation = c.id";

    macro_rules! comes_through {
        ($conn:expr, $sql:expr) => {{
            let conn: &mut _ = $conn;
            let all = migrations($sql);
            let six = all.iter().filter(|m| m.version <= 6).cloned().collect::<Vec<_>>();
            Migrator::with_migrations(six).run(&mut *conn).await.unwrap();
            sqlx::raw_sql(BEFORE).execute(&mut *conn).await.unwrap();
            all.run(&mut *conn).await.unwrap();
            sqlx::raw_sql(OTHER).execute(&mut *conn).await.unwrap();
            sqlx::raw_sql(OTHER).execute(&mut *conn).await.expect_err("one of each person");
            let kept: (String,) = sqlx::query_as(KEPT).fetch_one(&mut *conn).await.unwrap();
            assert_eq!(kept.0, "c-73957de49{}oa");
            let orphan = "INSERT INTO drafts (conversation, receipt) VALUES ('nowhere', '')";
            sqlx::raw_sql(orphan).execute(&mut *conn).await.expect_err("references still hold");
        }};
    }

    /// Runs a test on a fresh database of each kind.
    macro_rules! on_both {
        ($check:ident) => {{
            let options = SqliteConnectOptions::new().in_memory(true).foreign_keys(true);
            let mut conn = SqliteConnection::connect_with(&options).await.unwrap();
            $check!(&mut conn, Dialect::Sqlite);

            let server =
                std::env::var("COUNTERSIGN_TEST_PG").expect("tests/run starts a PostgreSQL");
            let mut conn =
                sqlx::PgConnection::connect(&format!("{server}/postgres")).await.unwrap();
            let name = format!("cs_{}", uuid::Uuid::new_v4().simple());
            let create = sqlx::AssertSqlSafe(format!("CREATE DATABASE {name}"));
            sqlx::raw_sql(create).execute(&mut conn).await.unwrap();
            let mut own = sqlx::PgConnection::connect(&format!("{server}/{name}")).await.unwrap();
            $check!(&mut own, Dialect::Postgres);
            own.close().await.unwrap();
            let drop = sqlx::AssertSqlSafe(format!("DROP DATABASE {name}"));
            sqlx::raw_sql(drop).execute(&mut conn).await.unwrap();
        }};
    }

    #[tokio::test]
    #[expect(clippy::disallowed_methods, reason = "tests/run says where its PostgreSQL is")]
    async fn conversations_come_through_when_their_key_grows() {
        on_both!(comes_through);
    }

    /// The usage of two days, and of one long before.
    const USED: &str = "
        INSERT INTO usage
            (day, conversation, agent, person, kind, name, times, messages, input_tokens,
             output_tokens, cached_tokens, cost_micros, took_ms)
        VALUES ('2026-05-04', 'c', 'a', 'room/1', 'model', 'm', 1, 2, 100, 10, 0, 5, 30),
               ('2026-05-04', 'c', 'a', 'room/1', 'tool', 't', 1, 0, 0, 0, 0, 1, 700),
               ('2026-05-03', 'c', 'a', 'room/1', 'model', 'm', 1, 9, 1, 1, 0, 9, 0),
               ('2026-05-01', 'c', 'a', 'room/1', 'model', 'm', 1, 9, 1, 1, 0, 9, 0);";

    macro_rules! counts_on {
        ($conn:expr, $sql:expr) => {{
            let conn: &mut _ = $conn;
            let all = migrations($sql);
            let before = all.iter().filter(|m| m.version < 24).cloned().collect::<Vec<_>>();
            Migrator::with_migrations(before).run(&mut *conn).await.unwrap();
            sqlx::raw_sql(USED).execute(&mut *conn).await.unwrap();
            all.run(&mut *conn).await.unwrap();
            let totals = "
                SELECT scope || ' ' || owner, messages, tokens, cost_micros, tool_ms FROM spent
                WHERE day = '2026-05-04'
                ORDER BY scope";
            let totals: Vec<(String, i64, i64, i64, i64)> =
                sqlx::query_as(totals).fetch_all(&mut *conn).await.unwrap();
            let total = |whose: &str| (whose.to_owned(), 2, 110, 6, 700);
            assert_eq!(totals, ["all 0", "conversation c", "person room/1"].map(total));
            let days = "SELECT day FROM spent WHERE day < '2026-05-03'";
            let old: Vec<(String,)> = sqlx::query_as(days).fetch_all(&mut *conn).await.unwrap();
            assert!(old.is_empty(), "only the last days are looked at: {old:?}");
        }};
    }

    /// Daily limits continue to apply after an upgrade.
    /// Proves S13.
    #[tokio::test]
    #[expect(clippy::disallowed_methods, reason = "tests/run says where its PostgreSQL is")]
    async fn limits_go_on_when_totals_are_introduced() {
        on_both!(counts_on);
    }
}
