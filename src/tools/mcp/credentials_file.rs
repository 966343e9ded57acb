//! The private file with the credentials of a sign-in. Nodes that share the folder share it.

use async_trait::async_trait;
use rmcp::transport::auth::{
    AuthError, CredentialRefreshGuard, CredentialStore, StoredCredentials,
};
use std::{
    io,
    path::{Path, PathBuf},
    sync::OnceLock,
};

use crate::encryption::Encryption;

/// The contents of a credentials file at some time.
#[derive(PartialEq, Eq)]
pub struct StoredLogin(String);

impl StoredLogin {
    pub async fn read(file: &Path) -> Self {
        Self(tokio::fs::read_to_string(file).await.unwrap_or_default())
    }
}

/// The credentials file.
pub struct CredentialsFile {
    file: PathBuf,
    encryption: Encryption,
    /// What was stored when the credentials were loaded first.
    seen: OnceLock<StoredLogin>,
}

/// The error if the token was refreshed by somebody else while this node waited to do so.
const REFRESHED: &str = "the token was refreshed meanwhile";

pub fn is_refreshed(error: &AuthError) -> bool {
    matches!(error, AuthError::CredentialStoreError(problem) if problem == REFRESHED)
}

impl CredentialsFile {
    pub fn new(file: PathBuf, encryption: Encryption) -> Self {
        Self { file, encryption, seen: OnceLock::new() }
    }

    /// The encryption is bound to this file, which is named after the server.
    fn purpose(&self) -> String {
        let name = self.file.file_name().unwrap_or_default();
        format!("mcp login {}", name.to_string_lossy())
    }
}

#[async_trait]
impl CredentialStore for CredentialsFile {
    async fn load(&self) -> Result<Option<StoredCredentials>, AuthError> {
        match tokio::fs::read_to_string(&self.file).await {
            Ok(stored) => {
                let text = self.encryption.open(&self.purpose(), &stored);
                let text = text.map_err(|e| lost(&format!("{}: {e:#}", self.file.display())))?;
                let credentials = serde_json::from_str(&text).map_err(|e| lost(&e))?;
                let mut seen = stored;
                if self.encryption.is_outdated(&self.purpose(), &seen) {
                    self.save(Clone::clone(&credentials)).await?;
                    seen = tokio::fs::read_to_string(&self.file).await.map_err(|e| lost(&e))?;
                }
                // Later loads are not compared.
                let _ = self.seen.set(StoredLogin(seen));
                Ok(Some(credentials))
            }
            Err(problem) if problem.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(problem) => Err(lost(&problem)),
        }
    }

    async fn save(&self, credentials: StoredCredentials) -> Result<(), AuthError> {
        let text = serde_json::to_string(&credentials).map_err(|e| lost(&e))?;
        let sealed = self.encryption.seal(&self.purpose(), &text).map_err(|e| lost(&e))?;
        let file = self.file.clone();
        blocking(move || replace(&file, sealed.as_bytes())).await
    }

    async fn clear(&self) -> Result<(), AuthError> {
        tokio::fs::remove_file(&self.file).await.map_err(|e| lost(&e))
    }

    async fn acquire_refresh_guard(&self) -> Result<Option<CredentialRefreshGuard>, AuthError> {
        let lock = self.file.with_extension("lock");
        let held = blocking(move || {
            let file = private().create(true).truncate(false).open(lock)?;
            file.lock()?;
            Ok(file)
        });
        let guard = CredentialRefreshGuard::new(held.await?);
        let current = tokio::fs::read_to_string(&self.file).await.map_err(|e| lost(&e))?;
        if self.seen.get().is_some_and(|seen| seen.0 != current) {
            return Err(AuthError::CredentialStoreError(REFRESHED.to_owned()));
        }
        Ok(Some(guard))
    }
}

pub async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> Result<T, AuthError> {
    tokio::task::spawn_blocking(work).await.map_err(|e| lost(&e))?.map_err(|e| lost(&e))
}

fn lost(problem: &dyn std::fmt::Display) -> AuthError {
    AuthError::CredentialStoreError(problem.to_string())
}

/// Options for a private file.
fn private() -> std::fs::OpenOptions {
    use std::os::unix::fs::OpenOptionsExt as _;
    let mut options = std::fs::OpenOptions::new();
    options.write(true).mode(0o600);
    options
}

/// Writes the file atomically.
pub fn replace(file: &Path, bytes: &[u8]) -> io::Result<()> {
    use io::Write as _;
    if let Some(folder) = file.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let new = file.with_extension(format!("new{}", std::process::id()));
    let mut written = private().create(true).truncate(true).open(&new)?;
    written.write_all(bytes)?;
    written.sync_all()?;
    std::fs::rename(new, file)
}
