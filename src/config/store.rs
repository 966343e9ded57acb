//! The keys on the data folder and the database.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    key::{ConfigKey, key},
    secret::Secret,
};
use crate::store::db::Durability;

pub(super) const KEYS: &[ConfigKey] = &[
    key(
        "data_dir",
        "./data",
        "The folder of the SQLite file, artifacts and workspaces. Relative paths in this file are \
            relative to its folder, those in environment variables to the working directory",
    ),
    key(
        "store.url",
        "sqlite://<data_dir>/countersign.db",
        "Or postgres://user@host/db, which several nodes can share",
    ),
    key(
        "store.durability",
        "full",
        "full survives a power failure, normal a crash of the process (SQLite)",
    ),
    key(
        "store.lease_duration",
        "15s",
        "How long the conversations of a dead node stay claimed, at least 6 s; a live node renews its \
            leases three times within this time",
    ),
    key(
        "store.connections",
        "16",
        "The maximum number of connections to PostgreSQL, at least 4; each node has as many",
    ),
    key(
        "store.transaction_pooling",
        "false",
        "Whether store.url is a connection pooler in transaction mode (PgBouncer)",
    ),
    key(
        "store.encryption_key",
        "",
        "Encrypts the tokens of MCP logins and the gateway's signing keys where they are stored: \
            32 random bytes in base64 (`openssl rand -base64 32`). Without it they are stored \
            unencrypted, in private files and in the database",
    ),
    key(
        "store.previous_encryption_key",
        "",
        "The previous key, for rotation: what it encrypted can still be read, and is encrypted \
            with the new key when next used",
    ),
];

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct StoreConfig {
    /// In `data_dir` if absent.
    pub url: Option<String>,
    pub durability: Durability,
    /// How long the conversations of a dead node stay claimed: at least 6 s.
    pub lease_duration: String,
    /// The maximum number of connections to PostgreSQL: at least 4.
    #[schemars(range(min = 4))]
    pub connections: u32,
    /// Whether `url` is a connection pooler in transaction mode.
    pub transaction_pooling: bool,
    /// 32 random bytes in base64; encrypts the tokens of MCP logins and the gateway's signing keys.
    pub encryption_key: Option<Secret>,
    /// The previous key, which still decrypts.
    pub previous_encryption_key: Option<Secret>,
}

/// The timers, the heartbeat and a turn need this many connections to run concurrently.
const FEWEST_CONNECTIONS: u32 = 4;

impl StoreConfig {
    pub(super) fn check(&self) -> anyhow::Result<()> {
        anyhow::ensure!(
            self.connections >= FEWEST_CONNECTIONS,
            "store.connections is {}, but must be at least {FEWEST_CONNECTIONS}",
            self.connections
        );
        Ok(())
    }
}

impl Default for StoreConfig {
    fn default() -> Self {
        Self {
            url: None,
            durability: Durability::default(),
            lease_duration: "15s".into(),
            connections: 16,
            transaction_pooling: false,
            encryption_key: None,
            previous_encryption_key: None,
        }
    }
}
