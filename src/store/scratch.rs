//! Stores on empty databases, for unit tests.

use super::{Store, StoreOptions, db::sql};

/// A store on an empty database of each kind, with its cleanup.
pub struct Scratch {
    pub store: Store,
    _folder: tempfile::TempDir,
    on_server: Option<(String, String)>,
}

pub async fn on_sqlite() -> Scratch {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite://{}/scratch.db", folder.path().display());
    let store = Store::open(&url, StoreOptions::default()).await.unwrap();
    Scratch { store, _folder: folder, on_server: None }
}

#[expect(clippy::disallowed_methods, reason = "tests/run says where its PostgreSQL is")]
pub async fn on_postgres() -> Scratch {
    let server = std::env::var("COUNTERSIGN_TEST_PG").expect("tests/run starts a PostgreSQL");
    let name = format!("cs_{}", uuid::Uuid::new_v4().simple());
    administer(&server, format!("CREATE DATABASE {name}")).await;
    let url = format!("{server}/{name}");
    let store = Store::open(&url, StoreOptions::default()).await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    Scratch { store, _folder: folder, on_server: Some((server, name)) }
}

async fn administer(server: &str, sql: String) {
    use sqlx::Connection as _;
    let mut conn = sqlx::PgConnection::connect(&format!("{server}/postgres")).await.unwrap();
    sqlx::raw_sql(sqlx::AssertSqlSafe(sql)).execute(&mut conn).await.unwrap();
}

impl Scratch {
    pub fn is_on_postgres(&self) -> bool {
        self.on_server.is_some()
    }

    pub async fn run(&self, sql: String) {
        let done = self.store.write("test", move |tx| {
            Box::pin(async move {
                let sql = sqlx::AssertSqlSafe(sql);
                Ok(sql!(tx, execute, sql))
            })
        });
        done.await.unwrap();
    }

    /// Inserts a conversation `c` on the channel `tg`, which has something to do.
    pub async fn begin_conversation(&self) {
        let place = r#"{"chat":"1","thread":null,"kind":"private"}"#;
        self.run(format!(
            "INSERT INTO conversations
                (id, channel, chat, thread, place, last_seq, lease_node, lease_until, fence,
                 created_at, ready_at)
            VALUES ('c', 'tg', '1', '', '{place}', 1, '', 0, 0, 0, 0)"
        ))
        .await;
    }

    /// The number of rows of a table, for example of `outbox WHERE due_at IS NULL`.
    pub async fn count(&self, rows: &str) -> i64 {
        let sql = format!("SELECT COUNT(*) FROM {rows}");
        let counted = self.store.read(move |tx| {
            Box::pin(async move {
                let (count,): (i64,) = sql!(tx, fetch_one, sqlx::AssertSqlSafe(sql));
                Ok(count)
            })
        });
        counted.await.unwrap()
    }

    pub async fn end(self) {
        drop(self.store);
        if let Some((server, name)) = self.on_server {
            administer(&server, format!("DROP DATABASE {name} WITH (FORCE)")).await;
        }
    }
}
