//! Backup of a SQLite database: an online copy, and a check before it is used again.

use anyhow::{Context as _, Result, ensure};
use sqlx::{Connection as _, SqliteConnection, sqlite::SqliteConnectOptions};
use std::path::{Path, PathBuf};

/// The file of a SQLite database; `None` for PostgreSQL, which has its own tools.
pub fn file_of(url: &str) -> Option<PathBuf> {
    let path = url.strip_prefix("sqlite:")?;
    let path = path.split('?').next().unwrap_or(path);
    Some(path.strip_prefix("//").unwrap_or(path).into())
}

/// Copies a consistent snapshot of the database while it is in use, without changing any table.
pub async fn copy(database: &Path, to: &Path) -> Result<()> {
    let mut conn = open(database).await?;
    let to = to.to_str().context("the path of the copy is not UTF-8")?;
    sqlx::query("VACUUM INTO $1").bind(to).execute(&mut conn).await.context("copying")?;
    Ok(())
}

/// Checks the integrity of the database file.
pub async fn check(database: &Path) -> Result<()> {
    let mut conn = open(database).await?;
    let said: Vec<(String,)> =
        sqlx::query_as("PRAGMA integrity_check").fetch_all(&mut conn).await?;
    let said: Vec<_> = said.into_iter().map(|(line,)| line).collect();
    ensure!(said == ["ok"], "the database is damaged: {}", said.join("; "));
    Ok(())
}

async fn open(database: &Path) -> Result<SqliteConnection> {
    let options = SqliteConnectOptions::new().filename(database).read_only(true);
    SqliteConnection::connect_with(&options)
        .await
        .with_context(|| format!("opening {}", database.display()))
}
