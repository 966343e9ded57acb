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

use crate::{encryption::Encryption, tools::atomic_file};

/// The credentials that a file contained at some time. They are compared decrypted: a refresh
/// changes them, and another key does not.
#[derive(Clone, PartialEq, Eq)]
pub struct StoredLogin(String);

/// The credentials file.
pub struct CredentialsFile {
    file: PathBuf,
    encryption: Encryption,
    /// What was stored when the credentials were read first.
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

    /// For somebody who has read `seen`: no token is refreshed that was stored later.
    pub fn since(file: PathBuf, encryption: Encryption, seen: StoredLogin) -> Self {
        Self { file, encryption, seen: OnceLock::from(seen) }
    }

    /// What is stored now; empty if there is nothing, or nothing that can be decrypted.
    pub async fn stored(&self) -> StoredLogin {
        let stored = tokio::fs::read_to_string(&self.file).await.unwrap_or_default();
        StoredLogin(self.opened(&stored).unwrap_or_default())
    }

    fn opened(&self, stored: &str) -> Result<String, AuthError> {
        let text = self.encryption.open(&self.purpose(), stored);
        text.map_err(|e| lost(&format!("{}: {e:#}", self.file.display())))
    }

    /// Replaces what is stored by `sealed`, unless somebody refreshes the token or has done so: a
    /// later load does it then.
    async fn replace(&self, stored: String, sealed: String) -> Result<(), AuthError> {
        let file = self.file.clone();
        blocking(move || {
            let lock = private().create(true).truncate(false).open(lock_of(&file))?;
            if lock.try_lock().is_err() || std::fs::read_to_string(&file)? != stored {
                return Ok(());
            }
            replace(&file, sealed.as_bytes())
        })
        .await
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
                let text = self.opened(&stored)?;
                let credentials = serde_json::from_str(&text).map_err(|e| lost(&e))?;
                if self.encryption.is_outdated(&self.purpose(), &stored) {
                    let sealed = self.encryption.seal(&self.purpose(), &text);
                    let sealed = sealed.map_err(|e| lost(&format!("{e:#}")))?;
                    self.replace(stored, sealed).await?;
                }
                // Later loads are not compared.
                let _ = self.seen.set(StoredLogin(text));
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
        let lock = lock_of(&self.file);
        let held = blocking(move || locked(&lock));
        let guard = CredentialRefreshGuard::new(held.await?);
        let current = tokio::fs::read_to_string(&self.file).await.map_err(|e| lost(&e))?;
        let current = self.opened(&current)?;
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

/// The file that is locked while the credentials, or the scopes that they need, are changed.
fn lock_of(file: &Path) -> PathBuf {
    file.with_extension("lock")
}

/// Waits for the lock, which is released when the file is closed.
fn locked(lock: &Path) -> io::Result<std::fs::File> {
    if let Some(folder) = lock.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let file = private().create(true).truncate(false).open(lock)?;
    file.lock()?;
    Ok(file)
}

/// Adds words to those in the file.
pub fn add_words(file: &Path, words: &[String]) -> io::Result<()> {
    let _lock = locked(&lock_of(file))?;
    let known = match std::fs::read_to_string(file) {
        Err(problem) if problem.kind() == io::ErrorKind::NotFound => String::new(),
        read => read?,
    };
    let mut all: Vec<_> = known.split_whitespace().collect();
    for word in words {
        if !all.contains(&word.as_str()) {
            all.push(word);
        }
    }
    replace(file, all.join(" ").as_bytes())
}

/// Writes the file atomically. No other write has the same temporary file, on any node.
fn replace(file: &Path, bytes: &[u8]) -> io::Result<()> {
    if let Some(folder) = file.parent() {
        std::fs::create_dir_all(folder)?;
    }
    atomic_file::replace(file, bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Files of the same server are written at the same time, and none gets what another contains.
    #[test]
    fn writes_at_the_same_time_do_not_mix() {
        let folder = tempfile::tempdir().unwrap();
        let (json, scopes) = (folder.path().join("g.json"), folder.path().join("g.scopes"));
        let text = "x".repeat(4_000);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..40).for_each(|_| replace(&json, text.as_bytes()).unwrap()));
                scope.spawn(|| (0..40).for_each(|_| replace(&scopes, b"act delete").unwrap()));
            }
        });
        assert_eq!(std::fs::read_to_string(&json).unwrap(), text);
        assert_eq!(std::fs::read_to_string(&scopes).unwrap(), "act delete");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2, "nothing is left over");
    }

    /// A call that requires further scopes does not undo what others require.
    #[test]
    fn required_scopes_add_up() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("logins/g.scopes");
        std::thread::scope(|scope| {
            for words in [["read", "act"], ["act", "delete"], ["send", "read"]] {
                let file = &file;
                scope.spawn(move || add_words(file, &words.map(str::to_owned)).unwrap());
            }
        });
        let text = std::fs::read_to_string(&file).unwrap();
        let mut words: Vec<_> = text.split(' ').collect();
        words.sort_unstable();
        assert_eq!(words, ["act", "delete", "read", "send"]);
    }

    /// Credentials that another node refreshes meanwhile are not replaced by the earlier ones when
    /// they are encrypted with a new key.
    #[tokio::test]
    async fn encrypting_does_not_undo_a_refresh() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("g.json");
        let stored = CredentialsFile::new(file.clone(), Encryption::default());
        std::fs::write(&file, "refreshed").unwrap();
        stored.replace("earlier".into(), "enc1:earlier".into()).await.unwrap();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "refreshed");
        let held = locked(&lock_of(&file)).unwrap();
        stored.replace("refreshed".into(), "enc1:refreshed".into()).await.unwrap();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "refreshed");
        drop(held);
        stored.replace("refreshed".into(), "enc1:refreshed".into()).await.unwrap();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "enc1:refreshed");
    }
}
