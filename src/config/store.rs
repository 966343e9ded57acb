//! The keys on the data folder and the database.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::secret::Secret;
use crate::store::db::Durability;

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct StoreConfig {
    /// The URL of the database; several nodes can share `postgres://user@host/db`.
    #[schemars(extend("x-default" = "sqlite://<data_dir>/countersign.db"))]
    pub url: Option<String>,
    /// What a commit survives: `full` a power failure, `normal` a crash of the process (SQLite).
    pub durability: Durability,
    /// How long the conversations of a dead node stay claimed, at least 6 s; a live node renews its
    /// leases three times within this time.
    pub lease_duration: String,
    /// The maximum number of connections to PostgreSQL, at least 4; each node has as many.
    #[schemars(range(min = 4))]
    pub connections: u32,
    /// Whether `store.url` is a connection pooler in transaction mode (PgBouncer).
    pub transaction_pooling: bool,
    /// Encrypts the tokens of MCP logins and the gateway's signing keys where they are stored: 32
    /// random bytes in base64 (`openssl rand -base64 32`). Without it they are stored unencrypted,
    /// in private files and in the database.
    pub encryption_key: Option<Secret>,
    /// The previous key, for rotation: what it encrypted can still be read, and is encrypted with
    /// the new key when next used.
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
