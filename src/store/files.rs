//! Artifacts: bytes by their SHA-256 in a folder, written once and never changed.

use anyhow::{Context as _, Result};
use bytes::Bytes;
use sha2::{Digest as _, Sha256};
use std::path::{Path, PathBuf};

use crate::journal::event::Attachment;

/// The artifact folder.
#[derive(Debug, Clone)]
pub struct Artifacts {
    root: PathBuf,
}

impl Artifacts {
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// Keeps the bytes, on disk when it returns. Twice the same is once.
    pub async fn put(&self, name: &str, media_type: &str, bytes: Vec<u8>) -> Result<Attachment> {
        let digest = hex::encode(Sha256::digest(&bytes));
        let attachment = Attachment {
            name: name.to_owned(),
            media_type: media_type.to_owned(),
            size_bytes: bytes.len() as u64,
            digest: digest.clone(),
        };
        let path = self.path(&digest);
        tokio::task::spawn_blocking(move || write_once(&path, &bytes))
            .await
            .context("writing an artifact")??;
        Ok(attachment)
    }

    /// The bytes again, checked against their name.
    pub async fn read(&self, digest: &str) -> Result<Bytes> {
        let bytes = tokio::fs::read(self.path(digest))
            .await
            .with_context(|| format!("reading artifact {digest}"))?;
        anyhow::ensure!(
            hex::encode(Sha256::digest(&bytes)) == digest,
            "artifact {digest} is damaged: restore it from the backup"
        );
        Ok(bytes.into())
    }

    fn path(&self, digest: &str) -> PathBuf {
        self.root.join(digest.get(..2).unwrap_or("00")).join(digest)
    }
}

fn write_once(path: &Path, bytes: &[u8]) -> Result<()> {
    use std::io::Write as _;
    if path.exists() {
        return Ok(());
    }
    let folder = path.parent().context("an artifact has a folder")?;
    std::fs::create_dir_all(folder)?;
    let temporary = folder.join(format!(".{}", uuid::Uuid::new_v4().simple()));
    let mut file = std::fs::File::create_new(&temporary)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    std::fs::rename(&temporary, path)?;
    std::fs::File::open(folder)?.sync_all()?;
    Ok(())
}
