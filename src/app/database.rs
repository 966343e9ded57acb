//! Opens the database, with its lock and encryption keys.

use anyhow::{Context as _, Result, bail, ensure};
use std::{collections::BTreeMap, path::PathBuf};

use crate::{
    config::{Config, DATABASE, build, secret::Secret, store::StoreConfig},
    crash::SHORTEST_LEASE,
    encryption::Encryption,
    store::{
        Store, StoreOptions,
        db::{backup, modes, process_lock::ProcessLock},
    },
};

/// Rejects a SQLite database that does not exist, for commands that would create an empty one.
pub fn must_exist(config: &Config) -> Result<()> {
    not_left_behind(config)?;
    let Some(file) = missing(config) else { return Ok(()) };
    bail!(
        "there is no database at {}: pass the --config of the gateway, or run `countersign migrate` \
            for a new one",
        file.display()
    )
}

/// The file of the configured SQLite database, if it does not exist.
pub fn missing(config: &Config) -> Option<PathBuf> {
    backup::file_of(&config.store_url()).filter(|file| !file.exists())
}

/// Rejects a new database if an earlier release has left one in another folder, because it resolved
/// `data_dir` relative to the working directory.
pub fn not_left_behind(config: &Config) -> Result<()> {
    let (None, Some(file)) = (&config.store.url, missing(config)) else { return Ok(()) };
    let left = config.former_data_dir.as_ref().filter(|folder| folder.join(DATABASE).exists());
    let Some(folder) = left else { return Ok(()) };
    let folder = std::path::absolute(folder)?.components().collect::<PathBuf>();
    bail!(
        "there is no database at {}, but one in {}: data_dir is relative to the configuration file \
            now. Move that folder, or set data_dir to it",
        file.display(),
        folder.display()
    )
}

/// Opens the configured database without encryption keys, which only a gateway needs.
pub async fn open_store(config: &Config) -> Result<Store> {
    let lease = build::duration(&config.store.lease_duration).context("store.lease_duration")?;
    let lease = lease.to_std().context("store.lease_duration")?;
    ensure!(
        lease >= SHORTEST_LEASE,
        "store.lease_duration is {}, but must be at least {} s: leases are renewed three times as often, \
            and a short delay must not let another node take over",
        config.store.lease_duration,
        SHORTEST_LEASE.as_secs()
    );
    modes::create_folder(&config.data_dir)?;
    let StoreConfig { durability, connections, transaction_pooling, .. } = config.store;
    let options = StoreOptions { durability, lease_for: lease, connections, transaction_pooling };
    Store::open(&config.store_url(), options).await
}

/// The keys that encrypt the secrets that the gateway stores.
pub(super) fn encryption(
    config: &Config,
    variables: &BTreeMap<String, String>,
) -> Result<Encryption> {
    let key = |name: &'static str, key: &Option<Secret>| {
        let key = key.as_ref().map(|key| key.reveal(variables)).transpose().context(name)?;
        // Each key is checked separately, so that an error names the invalid one.
        Encryption::new(&key).context(name)?;
        anyhow::Ok(key)
    };
    let current = key("store.encryption_key", &config.store.encryption_key)?;
    let before = key("store.previous_encryption_key", &config.store.previous_encryption_key)?;
    ensure!(
        current.is_some() || before.is_none(),
        "store.previous_encryption_key requires store.encryption_key"
    );
    Encryption::new(current.iter().chain(&before))
}

/// Takes the lock for running a gateway on this database, and releases the leases of the previous
/// process.
pub(super) async fn lock(config: &Config) -> Result<Option<ProcessLock>> {
    let lock = ProcessLock::take(&config.store_url())?;
    if let Some(lock) = &lock {
        open_store(config).await?.release_abandoned(lock).await?;
    }
    Ok(lock)
}
