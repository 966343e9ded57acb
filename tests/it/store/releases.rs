//! Two consecutive releases can run side by side on one database, and a database of an earlier one
//! is migrated.

use chrono::TimeDelta;
use countersign::testing::{app::database::open_store, scripted::say};
use sqlx::{Connection as _, Executor as _, PgConnection, SqlSafeStr as _, SqliteConnection};
use std::collections::BTreeMap;

use crate::{story, support::world::World};

/// The statements of the previous release, for each database: written by
/// tests/releases/statements.py.
const STATEMENTS: [&str; 2] = [
    include_str!("../../releases/statements.sqlite.sql"),
    include_str!("../../releases/statements.postgres.sql"),
];

/// Databases of the previous release: migrations up to 0017, a short dialogue with a reminder, a
/// memory and an open approval.
const DATABASES: [&str; 2] = [
    include_str!("../../releases/0017.sqlite.sql"),
    include_str!("../../releases/0017.postgres.sql"),
];

fn of<'t>(world: &World, texts: [&'t str; 2]) -> &'t str {
    texts[usize::from(!world.is_on_sqlite())]
}

/// Starts this world on a database of the previous release.
async fn before(world: &World) {
    let sql = sqlx::raw_sql(sqlx::AssertSqlSafe(of(world, DATABASES).to_owned()));
    let url = world.config.store_url();
    if world.is_on_sqlite() {
        let mut conn = SqliteConnection::connect(&format!("{url}?mode=rwc")).await.unwrap();
        sql.execute(&mut conn).await.unwrap();
        conn.close().await.unwrap();
    } else {
        let mut conn = PgConnection::connect(&url).await.unwrap();
        // The world has the tables of this release.
        let empty = "DROP SCHEMA public CASCADE; CREATE SCHEMA public";
        sqlx::raw_sql(empty).execute(&mut conn).await.unwrap();
        sql.execute(&mut conn).await.unwrap();
        conn.close().await.unwrap();
    }
}

/// The columns that a statement of the previous release does not set, by table and name: whether
/// each is optional.
async fn columns(world: &World) -> BTreeMap<(String, String), bool> {
    let sqlite = "
        SELECT t.name, c.name, c.\"notnull\" = 0 OR c.dflt_value IS NOT NULL
        FROM sqlite_master t, pragma_table_info(t.name) c
        WHERE t.type = 'table'";
    let postgres = "
        SELECT table_name::text, column_name::text,
            is_nullable = 'YES' OR column_default IS NOT NULL
        FROM information_schema.columns
        WHERE table_schema = 'public'";
    let url = world.config.store_url();
    let rows: Vec<(String, String, bool)> = if world.is_on_sqlite() {
        let mut conn = SqliteConnection::connect(&url).await.unwrap();
        sqlx::query_as(sqlite).fetch_all(&mut conn).await.unwrap()
    } else {
        let mut conn = PgConnection::connect(&url).await.unwrap();
        sqlx::query_as(postgres).fetch_all(&mut conn).await.unwrap()
    };
    rows.into_iter().map(|(table, name, optional)| ((table, name), optional)).collect()
}

/// The statements of the previous release that the database rejects, each with the reason.
async fn refused(world: &World) -> Vec<String> {
    let url = world.config.store_url();
    let mut refused = Vec::new();
    let statements = of(world, STATEMENTS).split("\n;\n").filter(|text| !text.trim().is_empty());
    let statements: Vec<_> = statements.collect();
    assert!(statements.len() > 200, "{}", statements.len());
    macro_rules! prepare_on {
        ($conn:expr) => {{
            let mut conn = $conn;
            for statement in statements {
                let sql = sqlx::AssertSqlSafe(statement.to_owned()).into_sql_str();
                if let Err(problem) = conn.prepare(sql).await {
                    refused.push(format!("{problem}: {statement}"));
                }
            }
        }};
    }
    if world.is_on_sqlite() {
        prepare_on!(SqliteConnection::connect(&url).await.unwrap());
    } else {
        prepare_on!(PgConnection::connect(&url).await.unwrap());
    }
    refused
}

story! {
    /// The previous release keeps working beside this one: its statements still have their tables,
    /// columns and keys, and no column unknown to it is mandatory.
    async fn the_release_before_works_on_the_tables_of_this_one(world: &mut World) {
        before(world).await;
        let known = columns(world).await;
        // PostgreSQL cannot infer the type of each parameter if nothing is bound to it.
        let refused_before = refused(world).await;
        assert!(refused_before.len() < 5, "{}", refused_before.join("\n\n"));
        open_store(&world.config).await.unwrap();
        assert_eq!(refused(world).await, refused_before);
        let now = columns(world).await;
        for column in known.keys() {
            assert!(now.contains_key(column), "{column:?} is gone");
        }
        for (column, optional) in &now {
            let of_old_table = known.keys().any(|(table, _)| *table == column.0);
            let must_fill = of_old_table && !known.contains_key(column) && !optional;
            assert!(!must_fill, "the release before does not fill {column:?}");
        }
    }
}

story! {
    /// A database of the previous release is migrated: the open approval is decided, and the
    /// dialogue continues.
    async fn a_database_of_the_release_before_goes_on(world: &mut World) {
        before(world).await;
        // To 2026-11-23T05:29:23Z, a minute after the last event of the fixture.
        world.clock.advance(TimeDelta::seconds(17_522_563));
        // The room of this world does not have the messages of the fixture.
        world.tampers("UPDATE outbox SET receipt = NULL").await;
        world.tampers("UPDATE outbox SET status = 'waiting', sent_at = NULL WHERE approval IS NOT NULL").await;
        world.ann_says("/status").await;
        let open = world.journal().await.len();
        world.model_will(say("It is saved."));
        world.ann_says("/allow 64a37cb1").await;
        assert!(world.shown().contains("It is saved."), "{}", world.shown());
        assert!(world.journal().await.len() > open);
        assert!(world.results().await.last().unwrap().contains("buy-honey.md"), "{:?}", world.results().await);
        let read = format!("{:?}", world.prompts()[0].messages);
        assert!(read.contains("remember that I like honey"), "{read}");
    }
}

story! {
    /// Migrations of a newer release do not prevent this one from running, unless the newer one
    /// says so; then it refuses, and says what to do.
    async fn a_release_that_is_too_old_for_the_tables_refuses(world: &mut World) {
        open_store(&world.config).await.unwrap();
        world.tampers(
            "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)
            SELECT 9998, 'of tomorrow', success, checksum, 0 FROM _sqlx_migrations WHERE version = 1",
        ).await;
        open_store(&world.config).await.unwrap();
        world.tampers("UPDATE oldest_release SET migration = 9998").await;
        let refused = open_store(&world.config).await.map(drop).unwrap_err();
        let refused = format!("{refused:#}");
        assert!(refused.contains("9998") && refused.contains("start a newer release"), "{refused}");
    }
}
