//! The secrets of a configuration, and private files for new ones beside the configuration file.

use anyhow::{Context as _, Result};
use secrecy::ExposeSecret as _;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, OpenOptions},
    io::Write as _,
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
};

use crate::{
    config::{Config, datasources::passwords},
    store::db::{address, modes},
};

/// The folder, relative to the configuration file.
pub(super) const SECRETS: &str = "secrets";

/// A name, relative to `folder`, that no file has, since another configuration may use that file.
pub fn unused_name(folder: &Path, name: &str) -> String {
    let usable = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let first = format!("{SECRETS}/{}", name.chars().map(usable).collect::<String>());
    let is_used = |name: &String| folder.join(name).symlink_metadata().is_ok();
    let mut more = (2..).map(|number| format!("{first}-{number}"));
    if is_used(&first) { more.find(|name| !is_used(name)).unwrap_or(first) } else { first }
}

/// Files of new secrets. They are removed when this is dropped, unless the configuration that refers
/// to them was written.
#[derive(Default)]
pub struct NewSecretFiles(Vec<PathBuf>);

impl NewSecretFiles {
    /// Writes a secret into a new file with that name.
    pub fn create(&mut self, folder: &Path, name: &str, secret: &str) -> Result<()> {
        modes::create_folder(&folder.join(SECRETS))?;
        let file = folder.join(name);
        create(&file, secret)?;
        self.0.push(file);
        Ok(())
    }

    /// Keeps the files.
    pub fn keep(mut self) {
        self.0.clear();
    }
}

impl Drop for NewSecretFiles {
    fn drop(&mut self) {
        for file in &self.0 {
            remove(file);
        }
    }
}

/// Creates a file that only its owner can read. A file that exists is not overwritten, and one that
/// could not be written completely is removed.
pub fn create(file: &Path, text: &str) -> Result<()> {
    let mut options = OpenOptions::new();
    let opened = options.write(true).create_new(true).mode(0o600).open(file);
    let written = opened.and_then(|mut opened| {
        let written = opened.write_all(text.as_bytes()).and_then(|()| opened.sync_all());
        written.inspect_err(|_| remove(file))
    });
    written.with_context(|| format!("creating {}", file.display()))
}

/// Removes a file that is no longer needed.
pub fn remove(file: &Path) {
    if let Err(problem) = fs::remove_file(file) {
        let file = file.display();
        tracing::error!(%file, %problem, "could not remove a file that may contain a secret; remove it");
    }
}

/// All secrets of the configuration, which logs must not contain.
pub fn secrets(config: &Config, variables: &BTreeMap<String, String>) -> BTreeSet<String> {
    config
        .secrets()
        .filter_map(|secret| secret.reveal(variables).ok())
        .map(|secret| secret.expose_secret().to_owned())
        .chain(address::passwords(&config.store_url()))
        .chain(passwords(config, variables))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_stay_only_if_their_configuration_was_written() {
        let folder = tempfile::tempdir().unwrap();
        let files = || fs::read_dir(folder.path().join(SECRETS)).unwrap().count();
        let mut kept = NewSecretFiles::default();
        kept.create(folder.path(), "secrets/a", "of a").unwrap();
        kept.keep();
        let mut failed = NewSecretFiles::default();
        failed.create(folder.path(), "secrets/b", "of b").unwrap();
        assert!(failed.create(folder.path(), "secrets/a", "another").is_err(), "it exists");
        assert_eq!(files(), 2);
        drop(failed);
        assert_eq!(files(), 1);
        assert_eq!(fs::read_to_string(folder.path().join("secrets/a")).unwrap(), "of a");
    }
}
