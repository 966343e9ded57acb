//! File modes of the data folder, which is private to the user that the gateway runs as.

use anyhow::{Context as _, Result};
use std::{
    fs::{DirBuilder, OpenOptions},
    io,
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
};

const FOLDER: u32 = 0o700;
const FILE: u32 = 0o600;
/// The permission bits of group and others.
const OTHERS: u32 = 0o077;

/// Creates the folder and its parents with private permissions. An existing folder is not changed.
pub fn create_folder(folder: &Path) -> Result<()> {
    let made = DirBuilder::new().recursive(true).mode(FOLDER).create(folder);
    made.with_context(|| format!("creating the folder {}", folder.display()))
}

/// Creates the database file with private permissions before SQLite opens it, since `-wal` and
/// `-shm` inherit its mode. An existing file is not changed.
pub fn create_database(file: &Path) -> Result<()> {
    if let Some(folder) = file.parent() {
        create_folder(folder)?;
    }
    let mut options = OpenOptions::new();
    match options.write(true).create_new(true).mode(FILE).open(file) {
        Err(problem) if problem.kind() != io::ErrorKind::AlreadyExists => {
            Err(problem).with_context(|| format!("creating {}", file.display()))
        }
        _ => Ok(()),
    }
}

/// The database file, and the files that SQLite may keep beside it.
pub fn database_files(database: &Path) -> [PathBuf; 4] {
    ["", "-wal", "-shm", "-journal"].map(|end| {
        let mut path = database.as_os_str().to_owned();
        path.push(end);
        PathBuf::from(path)
    })
}

/// The data folder and database files that other users of this machine can access.
pub fn open_to_others(folder: &Path, database: Option<&Path>) -> Vec<PathBuf> {
    let databases = database.into_iter().flat_map(database_files);
    let is_open = |path: &PathBuf| {
        path.metadata().is_ok_and(|there| there.permissions().mode() & OTHERS != 0)
    };
    let mut open: Vec<_> =
        [folder.to_owned()].into_iter().chain(databases).filter(is_open).collect();
    open.sort();
    open
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{Permissions, set_permissions};

    fn mode(path: &Path) -> u32 {
        path.metadata().unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn created_files_are_private_and_open_permissions_are_reported() {
        let outer = tempfile::tempdir().unwrap();
        let (folder, file) = (outer.path().join("a/data"), outer.path().join("a/data/x.db"));
        create_database(&file).unwrap();
        create_database(&file).unwrap();
        assert_eq!((mode(&folder), mode(&file)), (0o700, 0o600));
        assert!(open_to_others(&folder, Some(&file)).is_empty());
        set_permissions(&folder, Permissions::from_mode(0o755)).unwrap();
        set_permissions(&file, Permissions::from_mode(0o644)).unwrap();
        assert_eq!(open_to_others(&folder, None).len(), 1);
        assert_eq!(open_to_others(&folder, Some(&file)), [folder, file]);
    }
}
