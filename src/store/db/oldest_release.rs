//! Checks whether this release can use the tables. An older release may run beside a newer one that
//! has migrated them, until a migration removes something that the older release needs and records
//! this.

use anyhow::{Result, bail};
use sqlx::migrate::Migrator;

/// Selects the newest migration that a release must know.
pub(in crate::store) const OLDEST: &str = "SELECT migration FROM oldest_release";

/// Fails if this release does not know the migration `oldest`.
pub(in crate::store) fn ensure_new_enough(of: &Migrator, oldest: i64) -> Result<()> {
    let own = of.iter().map(|migration| migration.version).max().unwrap_or_default();
    if own < oldest {
        bail!(
            "a newer release has changed the tables: this release knows migrations up to {own}, \
                but they require {oldest}; start a newer release"
        );
    }
    Ok(())
}
