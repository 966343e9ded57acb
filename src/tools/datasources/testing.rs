//! The same tables in a SQLite file, in PostgreSQL and in MariaDB, created for each test.

use sqlx::{AssertSqlSafe, Connection as _, Executor as _};
use std::time::Duration;

use super::{ConfiguredSource, visible::Visibility};
use crate::store::datasources::{DataSource, DatabaseKind, QueryLimits};

/// The value of a column that no agent may see.
pub const CANARY: &str = "canary-c0ffee17";

const TABLES: &str = "
CREATE TABLE users (id INTEGER PRIMARY KEY, name VARCHAR(40) NOT NULL, password_hash VARCHAR(40));
CREATE TABLE orders (id INTEGER PRIMARY KEY, user_id INTEGER NOT NULL, total DECIMAL(10, 2),
  placed VARCHAR(10), FOREIGN KEY (user_id) REFERENCES users (id));
CREATE TABLE audit_log (id INTEGER PRIMARY KEY, entry VARCHAR(40));
CREATE VIEW all_users AS SELECT id, password_hash AS login FROM users;
INSERT INTO users VALUES (1, 'Ann', 'canary-c0ffee17'), (2, 'Bob | x', 'canary-c0ffee17');
INSERT INTO orders VALUES (1, 1, 10.50, '2026-01-02'), (2, 1, 4.50, '2026-02-03'), (3, 2, 7.00, NULL);
INSERT INTO audit_log VALUES (1, 'canary-c0ffee17')";

/// A database. [`Database::end`] drops it.
pub struct Database {
    pub kind: DatabaseKind,
    pub url: String,
    name: String,
    server: String,
    _folder: Option<tempfile::TempDir>,
}

/// One database of each kind, with the tables.
#[expect(clippy::disallowed_methods, reason = "tests/run names the servers in its environment")]
pub async fn databases() -> Vec<Database> {
    let name = format!("cs_{}", uuid::Uuid::new_v4().simple());
    let folder = tempfile::tempdir().unwrap();
    let sqlite = Database {
        kind: DatabaseKind::Sqlite,
        url: format!("sqlite://{}", folder.path().join("data.db").display()),
        name: String::new(),
        server: String::new(),
        _folder: Some(folder),
    };
    let served = |kind, variable: &str| {
        let server = std::env::var(variable).unwrap_or_else(|_| {
            panic!("{variable} names a server for tests; tests/run starts one")
        });
        let url = format!("{server}/{name}");
        Database { kind, url, name: name.clone(), server, _folder: None }
    };
    let all = vec![
        sqlite,
        served(DatabaseKind::Postgres, "COUNTERSIGN_TEST_PG"),
        served(DatabaseKind::Mysql, "COUNTERSIGN_TEST_MARIADB"),
    ];
    for database in &all {
        database.administer(&format!("CREATE DATABASE {}", database.name)).await;
        for statement in TABLES.split(';') {
            database.run(statement).await;
        }
    }
    all
}

impl Database {
    pub async fn run(&self, sql: &str) {
        let sql = AssertSqlSafe(sql.to_owned());
        let ran = match self.kind {
            DatabaseKind::Sqlite => {
                let url = format!("{}?mode=rwc", self.url);
                let mut connection = sqlx::SqliteConnection::connect(&url).await.unwrap();
                connection.execute(sql).await.map(drop)
            }
            DatabaseKind::Postgres => {
                let mut connection = sqlx::PgConnection::connect(&self.url).await.unwrap();
                connection.execute(sql).await.map(drop)
            }
            DatabaseKind::Mysql => {
                let mut connection = sqlx::MySqlConnection::connect(&self.url).await.unwrap();
                connection.execute(sql).await.map(drop)
            }
        };
        ran.unwrap();
    }

    async fn administer(&self, sql: &str) {
        let at = |url: String| Self {
            url,
            name: String::new(),
            server: String::new(),
            _folder: None,
            ..*self
        };
        match self.kind {
            DatabaseKind::Sqlite => {}
            DatabaseKind::Postgres => at(format!("{}/postgres", self.server)).run(sql).await,
            DatabaseKind::Mysql => at(format!("{}/mysql", self.server)).run(sql).await,
        }
    }

    /// The data source, without the passwords and the audit log.
    pub fn source(&self, limits: QueryLimits) -> ConfiguredSource {
        ConfiguredSource {
            name: "shop".into(),
            description: "Orders".into(),
            database: DataSource::open(&self.url, limits).unwrap(),
            visibility: Visibility::new(&[], &["audit*".into()], &["password*".into()]).unwrap(),
            functions: vec![],
        }
    }

    pub async fn end(self) {
        let force = if self.kind == DatabaseKind::Postgres { " WITH (FORCE)" } else { "" };
        self.administer(&format!("DROP DATABASE {}{force}", self.name)).await;
    }
}

pub fn limits() -> QueryLimits {
    QueryLimits { rows: 1_000, bytes: 1024 * 1024, time: Duration::from_secs(20), connections: 2 }
}
