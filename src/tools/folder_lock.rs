//! The exclusive lock on a folder that several processes change, such as the gateway and its command
//! line.

use anyhow::{Context as _, Result};
use rustix::fs::{FlockOperation, flock};
use std::{
    fs::{self, File},
    path::{Path, PathBuf},
};

/// Nothing else changes the folder between a check and a change under the same lock.
#[derive(Debug)]
pub struct FolderLock {
    folder: PathBuf,
    /// Locked until it is closed.
    _opened: File,
}

impl FolderLock {
    pub fn folder(&self) -> &Path {
        &self.folder
    }
}

/// Locks a folder, which is created if it does not exist. Waits for changes in progress, which are
/// short: nothing but files is read and written under the lock.
pub fn lock(folder: &Path) -> Result<FolderLock> {
    fs::create_dir_all(folder).with_context(|| format!("making {}", folder.display()))?;
    // The folder itself: a file in it could belong to another user.
    let opened = File::open(folder).and_then(|opened| {
        flock(&opened, FlockOperation::LockExclusive)?;
        Ok(opened)
    });
    let opened = opened.with_context(|| format!("locking {}", folder.display()))?;
    Ok(FolderLock { folder: folder.to_owned(), _opened: opened })
}
