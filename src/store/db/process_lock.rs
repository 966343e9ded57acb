//! Ensures that only one gateway process uses a SQLite database, and releases the leases of the
//! previous process at startup, so that nothing waits for a process that was killed.
//!
//! The lock is a lock of the operating system on a file beside the database, so it ends with the
//! process. Commands that run no gateway do not take it and can run beside one.

use anyhow::{Context as _, Result, bail};
use std::{
    fs::{self, File, TryLockError},
    path::{Path, PathBuf},
};

use super::{backup, modes, sql};
use crate::store::{Store, Tx};

/// The right to run the gateway on a SQLite database, until dropped.
#[derive(Debug)]
pub struct ProcessLock {
    _file: File,
}

impl ProcessLock {
    /// Takes the lock for the database at `url`; `None` on PostgreSQL, which supports many
    /// processes, and on file systems without locks.
    pub fn take(url: &str) -> Result<Option<Self>> {
        let Some(database) = backup::file_of(url) else { return Ok(None) };
        let path = lock_file(&database)?;
        let file = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)
            .with_context(|| format!("opening the lock file {}", path.display()))?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Self { _file: file })),
            Err(TryLockError::WouldBlock) => bail!(
                "another gateway process runs on the database {}: it holds the lock file {}",
                database.display(),
                path.display()
            ),
            Err(TryLockError::Error(problem)) => {
                let file = path.display();
                tracing::warn!(
                    %file, %problem,
                    "the file system supports no locks; make sure that only one gateway runs"
                );
                Ok(None)
            }
        }
    }
}

/// `countersign.db.lock` in the folder that really contains the database, so that two paths to one
/// database use one lock.
fn lock_file(database: &Path) -> Result<PathBuf> {
    let folder = database.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    modes::create_folder(folder)?;
    let real = if database.exists() {
        fs::canonicalize(database)?
    } else {
        // The file is created when it is opened.
        let name = database.file_name().context("store.url names no file")?;
        fs::canonicalize(folder)?.join(name)
    };
    let mut name = real.into_os_string();
    name.push(".lock");
    Ok(name.into())
}

impl Store {
    /// Releases every lease in the database. The lock proves that no running process holds one.
    pub async fn release_abandoned(&self, _lock: &ProcessLock) -> Result<()> {
        self.write("release abandoned", |tx| Box::pin(release_abandoned(tx))).await
    }
}

async fn release_abandoned(tx: &mut Tx<'_>) -> Result<()> {
    let leases = [
        "UPDATE conversations SET lease_until = 0 WHERE lease_until > 0",
        "UPDATE outbox SET lease_until = 0 WHERE lease_until > 0 AND status = 'waiting'",
        "UPDATE notices SET lease_until = 0 WHERE lease_until > 0 AND status = 'waiting'",
        // Those without a node are announcements, which expire.
        "DELETE FROM leases WHERE node <> ''",
    ];
    let mut released = 0;
    for statement in leases {
        released += sql!(tx, execute, statement);
    }
    if released > 0 {
        tracing::info!(leases = released, "released the leases of an earlier process");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn one_process_at_a_time_whatever_the_path() {
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().join("a.db");
        let url = format!("sqlite://{}", database.display());
        let first = ProcessLock::take(&url).unwrap().expect("a file can be locked");
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(folder.path(), &link).unwrap();
        let same = format!("sqlite:{}", link.join("a.db").display());
        let refused = ProcessLock::take(&same).unwrap_err().to_string();
        assert!(refused.contains("a.db.lock"), "{refused}");
        drop(first);
        assert!(ProcessLock::take(&same).unwrap().is_some());
        assert!(ProcessLock::take("postgres://host/db").unwrap().is_none());
    }

    /// The lock is taken before anything else touches the data folder.
    #[test]
    fn a_folder_that_is_created_for_the_lock_is_private() {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("data");
        let url = format!("sqlite://{}", data.join("a.db").display());
        ProcessLock::take(&url).unwrap().expect("a file can be locked");
        assert_eq!(data.metadata().unwrap().permissions().mode() & 0o777, 0o700);
    }
}
