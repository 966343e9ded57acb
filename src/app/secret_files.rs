//! The secrets of a configuration, and private files for new ones beside the configuration file.

use anyhow::{Context as _, Result};
use secrecy::ExposeSecret as _;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs::OpenOptions,
    io::Write as _,
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
};

use crate::{
    config::{Config, datasources::passwords},
    store::db::{address, modes},
};

/// The folder, relative to the configuration file.
const SECRETS: &str = "secrets";

/// A name, relative to `folder`, that no file has, since another configuration may use that file.
pub fn unused_name(folder: &Path, name: &str) -> String {
    let usable = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let first = format!("{SECRETS}/{}", name.chars().map(usable).collect::<String>());
    let is_used = |name: &String| folder.join(name).symlink_metadata().is_ok();
    let mut more = (2..).map(|number| format!("{first}-{number}"));
    if is_used(&first) { more.find(|name| !is_used(name)).unwrap_or(first) } else { first }
}

/// Writes a secret into a new file with that name.
pub fn create_secret(folder: &Path, name: &str, secret: &str) -> Result<()> {
    modes::create_folder(&folder.join(SECRETS))?;
    create(&folder.join(name), secret)
}

/// Creates a file that only its owner can read. A file that exists is not overwritten.
pub fn create(file: &Path, text: &str) -> Result<()> {
    let mut options = OpenOptions::new();
    let opened = options.write(true).create_new(true).mode(0o600).open(file);
    let written = opened.and_then(|mut opened| {
        opened.write_all(text.as_bytes())?;
        opened.sync_all()
    });
    written.with_context(|| format!("creating {}", file.display()))
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
