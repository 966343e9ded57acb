//! Databases with all migrations applied, which tests copy: to apply the migrations takes longer than
//! most tests.

use countersign::testing::store::{Store, StoreOptions};
use sha2::{Digest as _, Sha256};
use sqlx::{AssertSqlSafe, Connection as _, Executor as _, PgConnection, SqliteConnection};
use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    sync::LazyLock,
};

/// Creates a database with this name on a PostgreSQL server.
pub async fn create_postgres(server: &str, name: &str) {
    let template = format!("cs_template_{}", *MIGRATIONS);
    let mut conn = PgConnection::connect(&format!("{server}/postgres")).await.unwrap();
    if !is_there(&mut conn, &template).await {
        create_template(&mut conn, server, &template).await;
    }
    run(&mut conn, format!("CREATE DATABASE {name} TEMPLATE {template}")).await;
}

/// Tests run in processes of their own, so the first one creates the template and others wait.
async fn create_template(conn: &mut PgConnection, server: &str, template: &str) {
    run(conn, "SELECT pg_advisory_lock(hashtext('countersign test template'))".into()).await;
    if !is_there(conn, template).await {
        let unfinished = format!("{template}_{}", uuid::Uuid::new_v4().simple());
        run(conn, format!("CREATE DATABASE {unfinished}")).await;
        migrate(&format!("{server}/{unfinished}")).await;
        // A copy needs a database that nobody is connected to.
        let connections = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname =";
        run(conn, format!("{connections} '{unfinished}'")).await;
        run(conn, format!("ALTER DATABASE {unfinished} RENAME TO {template}")).await;
    }
    run(conn, "SELECT pg_advisory_unlock_all()".into()).await;
}

async fn is_there(conn: &mut PgConnection, database: &str) -> bool {
    let counted = sqlx::query_scalar("SELECT COUNT(*) FROM pg_database WHERE datname = $1");
    counted.bind(database).fetch_one(conn).await.unwrap_or(0_i64) > 0
}

async fn run(conn: &mut PgConnection, sql: String) {
    conn.execute(AssertSqlSafe(sql)).await.unwrap();
}

/// Creates an SQLite database at `path`.
pub async fn create_sqlite(path: &Path) {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let template = folder.join(format!("template-{}.db", *MIGRATIONS));
    if !template.exists() {
        // Several processes may do this at the same time; the last file is kept.
        let unfinished = tempfile::tempdir_in(folder).unwrap();
        let database = unfinished.path().join("countersign.db");
        migrate(&format!("sqlite://{}", database.display())).await;
        let compact = unfinished.path().join("compact.db");
        let mut conn = SqliteConnection::connect(&database.display().to_string()).await.unwrap();
        let vacuum = sqlx::query("VACUUM INTO $1").bind(compact.display().to_string());
        vacuum.execute(&mut conn).await.unwrap();
        conn.close().await.unwrap();
        fs::rename(compact, &template).unwrap();
    }
    fs::copy(template, path).unwrap();
    fs::set_permissions(path, Permissions::from_mode(0o600)).unwrap();
}

async fn migrate(url: &str) {
    drop(Store::open(url, StoreOptions::default()).await.unwrap());
}

/// A digest of the migrations, so that a change of them is not missed.
static MIGRATIONS: LazyLock<String> = LazyLock::new(|| {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = vec![root.join("src/store/db/migrations.rs")];
    for folder in ["migrations", "migrations/sqlite", "migrations/postgres"] {
        let entries = fs::read_dir(root.join(folder)).unwrap().map(|entry| entry.unwrap().path());
        files.extend(entries.filter(|path: &PathBuf| path.is_file()));
    }
    files.sort();
    let digest = files
        .iter()
        .fold(Sha256::new(), |digest, file| digest.chain_update(fs::read(file).unwrap()));
    hex::encode(&digest.finalize()[..8])
});
