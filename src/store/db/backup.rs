//! Backup of a SQLite database: an online copy, and a check before it is used again.

use anyhow::{Context as _, Result, ensure};
use rusqlite::{Connection, OpenFlags};
use std::path::{Path, PathBuf};

/// The file of a SQLite database; `None` for PostgreSQL, which has its own tools.
pub fn file_of(url: &str) -> Option<PathBuf> {
    let path = url.strip_prefix("sqlite:")?;
    let path = path.split('?').next().unwrap_or(path);
    Some(path.strip_prefix("//").unwrap_or(path).into())
}

/// Copies a consistent snapshot of the database while it is in use, without changing any table.
pub async fn copy(database: &Path, to: &Path) -> Result<()> {
    let to = to.to_str().context("the path of the copy is not UTF-8")?.to_owned();
    on_file(database, move |conn| {
        conn.execute("VACUUM INTO ?1", [to]).context("copying")?;
        Ok(())
    })
    .await
}

/// Checks the integrity of the database file.
pub async fn check(database: &Path) -> Result<()> {
    on_file(database, |conn| {
        let mut check = conn.prepare("PRAGMA integrity_check")?;
        let said = check.query_map([], |row| row.get(0))?.collect::<Result<Vec<String>, _>>()?;
        ensure!(said == ["ok"], "the database is damaged: {}", said.join("; "));
        Ok(())
    })
    .await
}

/// Opens the file for reading, and uses it where it may take long.
async fn on_file(
    database: &Path,
    work: impl FnOnce(&Connection) -> Result<()> + Send + 'static,
) -> Result<()> {
    let file = database.to_owned();
    let worked = tokio::task::spawn_blocking(move || {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let conn = Connection::open_with_flags(&file, flags)
            .with_context(|| format!("opening {}", file.display()))?;
        work(&conn)
    });
    worked.await?
}
