//! Artifacts: files stored by their SHA-256, written once and never changed.

use anyhow::{Context as _, Result};
use bytes::Bytes;
use chrono::{DateTime, Utc};
use sha2::{Digest as _, Sha256};
use std::{
    path::{Path, PathBuf},
    time::SystemTime,
};

use crate::{
    clock::{Clock as _, SystemClock},
    journal::event::Attachment,
};

/// The artifact folder.
#[derive(Debug, Clone)]
pub struct Artifacts {
    root: PathBuf,
}

impl Artifacts {
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// Stores the bytes durably. Storing the same bytes again has no effect.
    pub async fn put(&self, name: &str, media_type: &str, bytes: Vec<u8>) -> Result<Attachment> {
        let digest = digest_of(&bytes);
        let attachment = Attachment {
            name: name.to_owned(),
            media_type: media_type.to_owned(),
            size_bytes: bytes.len() as u64,
            digest: digest.clone(),
            caption: None,
        };
        let path = self.path(&digest);
        tokio::task::spawn_blocking(move || write_once(&path, &bytes))
            .await
            .context("writing an artifact")??;
        Ok(attachment)
    }

    /// Reads the bytes and verifies their digest.
    pub async fn read(&self, digest: &str) -> Result<Bytes> {
        anyhow::ensure!(is_digest(digest), "{digest:?} is not a SHA-256 in hex");
        let bytes = tokio::fs::read(self.path(digest))
            .await
            .with_context(|| format!("reading artifact {digest}"))?;
        anyhow::ensure!(
            digest_of(&bytes) == digest,
            "artifact {digest} is damaged: restore it from the backup"
        );
        Ok(bytes.into())
    }

    /// Deletes an artifact. It is not an error if it does not exist.
    pub async fn remove(&self, digest: &str) -> Result<()> {
        anyhow::ensure!(is_digest(digest), "{digest:?} is not a SHA-256 in hex");
        match tokio::fs::remove_file(self.path(digest)).await {
            Err(problem) if problem.kind() != std::io::ErrorKind::NotFound => {
                Err(problem).with_context(|| format!("removing artifact {digest}"))
            }
            _ => Ok(()),
        }
    }

    /// The files in one of the 256 folders that were written before the given time.
    pub async fn older(&self, folder: u8, before: DateTime<Utc>) -> Result<Vec<String>> {
        let folder = self.root.join(hex::encode([folder]));
        tokio::task::spawn_blocking(move || older(&folder, before.into()))
            .await
            .context("reading an artifact folder")?
    }

    /// Removes a file that nothing refers to, unless it was just stored again.
    pub async fn discard(&self, digest: &str, before: DateTime<Utc>) -> Result<bool> {
        anyhow::ensure!(is_digest(digest), "{digest:?} is not a SHA-256 in hex");
        let path = self.path(digest);
        tokio::task::spawn_blocking(move || discard(&path, before.into()))
            .await
            .context("discarding an artifact")?
    }

    /// The path of an artifact. The digest was validated: 64 hexadecimal digits cannot lead out of
    /// the folder.
    fn path(&self, digest: &str) -> PathBuf {
        self.root.join(&digest[..2]).join(digest)
    }
}

fn is_digest(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
}

/// The SHA-256 of these bytes, in hex.
pub fn digest_of(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}

/// The artifacts that are older than `before`. Files that cannot be read are left for the next
/// round.
fn older(folder: &Path, before: SystemTime) -> Result<Vec<String>> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let written = entry.metadata().and_then(|known| known.modified());
        if is_digest(&name) && written.is_ok_and(|at| at < before) {
            found.push(name);
        }
    }
    Ok(found)
}

/// Moves the file away before checking its time, so that a concurrent `put` of the same bytes
/// writes a new file.
fn discard(path: &Path, before: SystemTime) -> Result<bool> {
    // Another node may do the same: its file must not replace this one.
    let aside = path.with_extension(format!("discarded-{}", uuid::Uuid::new_v4().simple()));
    match std::fs::rename(path, &aside) {
        Err(problem) if problem.kind() == std::io::ErrorKind::NotFound => return Ok(false),
        renamed => renamed.context("discarding an artifact")?,
    }
    if std::fs::metadata(&aside)?.modified()? >= before {
        std::fs::rename(&aside, path)?;
        return Ok(false);
    }
    std::fs::remove_file(&aside).context("discarding an artifact")?;
    Ok(true)
}

/// Updates the time of an existing file, so that it counts as new. Returns whether it exists.
fn touch(path: &Path, size_bytes: u64) -> bool {
    let touched = std::fs::File::options().write(true).open(path).and_then(|file| {
        file.set_modified(SystemClock.now().into())?;
        Ok(file.metadata()?.len() == size_bytes)
    });
    touched.unwrap_or_default() && path.exists()
}

fn write_once(path: &Path, bytes: &[u8]) -> Result<()> {
    // A file that was truncated by a disk failure is written again; `read` detects other damage.
    if touch(path, bytes.len() as u64) {
        return Ok(());
    }
    let folder = path.parent().context("an artifact is in a folder")?;
    std::fs::create_dir_all(folder).context("creating an artifact folder")?;
    let temporary = folder.join(format!(".{}", uuid::Uuid::new_v4().simple()));
    let written = write_through(&temporary, bytes).and_then(|()| std::fs::rename(&temporary, path));
    if written.is_err() {
        // Best effort: the first error is returned.
        let _ = std::fs::remove_file(&temporary);
    }
    written.context("writing an artifact")?;
    // Directory entries must be durable as well, including that of the folder, which may be new.
    for folder in [Some(folder), folder.parent()].into_iter().flatten() {
        std::fs::File::open(folder)?.sync_all()?;
    }
    Ok(())
}

fn write_through(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    use std::{io::Write as _, os::unix::fs::OpenOptionsExt as _};
    // Files that people send must not be readable by other users.
    let mut options = std::fs::OpenOptions::new();
    let mut file = options.write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place() -> (tempfile::TempDir, Artifacts) {
        let folder = tempfile::tempdir().unwrap();
        let artifacts = Artifacts::new(folder.path().join("artifacts"));
        (folder, artifacts)
    }

    /// Proves T4.
    #[tokio::test]
    async fn a_file_is_read_back_and_stored_once() {
        let (_folder, artifacts) = place();
        let one = artifacts.put("a.txt", "text/plain", b"hello".to_vec()).await.unwrap();
        let two = artifacts.put("b.txt", "text/plain", b"hello".to_vec()).await.unwrap();
        assert_eq!(one.digest, two.digest);
        assert_eq!(one.digest, hex::encode(Sha256::digest("hello")));
        assert_eq!(one.size_bytes, 5);
        assert_eq!(&artifacts.read(&one.digest).await.unwrap()[..], b"hello");
        let folder = artifacts.root.join(&one.digest[..2]);
        assert_eq!(std::fs::read_dir(folder).unwrap().count(), 1, "nothing is left behind");
    }

    #[tokio::test]
    async fn many_at_once_put_the_same() {
        let (_folder, artifacts) = place();
        let puts = (0..8).map(|_| artifacts.put("a", "text/plain", vec![7; 100_000]));
        let all = futures::future::join_all(puts).await;
        let digest = all.into_iter().map(|put| put.unwrap().digest).next_back().unwrap();
        assert_eq!(artifacts.read(&digest).await.unwrap().len(), 100_000);
    }

    #[tokio::test]
    async fn damage_is_reported_and_a_truncated_file_is_repaired_by_the_next_put() {
        let (_folder, artifacts) = place();
        let kept = artifacts.put("a", "text/plain", b"hello".to_vec()).await.unwrap();
        let path = artifacts.path(&kept.digest);
        std::fs::write(&path, "jello").unwrap();
        let error = artifacts.read(&kept.digest).await.unwrap_err().to_string();
        assert!(error.contains("restore it from the backup"), "{error}");
        std::fs::write(&path, "he").unwrap();
        artifacts.put("a", "text/plain", b"hello".to_vec()).await.unwrap();
        assert_eq!(&artifacts.read(&kept.digest).await.unwrap()[..], b"hello");
    }

    /// Proves S9.
    #[tokio::test]
    async fn a_digest_is_no_path() {
        let (folder, artifacts) = place();
        std::fs::write(folder.path().join("secret"), "x").unwrap();
        for digest in ["../secret", "", "é", "secret", &"g".repeat(64)] {
            let error = artifacts.read(digest).await.unwrap_err().to_string();
            assert!(error.contains("is not a SHA-256"), "{error}");
        }
        assert!(artifacts.read(&"0".repeat(64)).await.is_err(), "none is there");
    }

    #[tokio::test]
    async fn an_artifact_is_for_its_owner_only() {
        use std::os::unix::fs::PermissionsExt as _;
        let (_folder, artifacts) = place();
        let kept = artifacts.put("a", "text/plain", b"hello".to_vec()).await.unwrap();
        let mode = std::fs::metadata(artifacts.path(&kept.digest)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}
