//! Which releases can work on the tables. A release may run beside a newer one that has migrated
//! them, until a migration takes away what it needs and says so.

use anyhow::{Result, bail};
use sqlx::migrate::Migrator;

/// Asks for the number of the last migration that a release must know.
pub(super) const OLDEST: &str = "SELECT migration FROM oldest_release";

/// A release that lacks what the tables ask for does not touch them.
pub(super) fn ensure_new_enough(of: &Migrator, oldest: i64) -> Result<()> {
    let own = of.iter().map(|migration| migration.version).max().unwrap_or_default();
    if own < oldest {
        bail!(
            "a newer release has changed the tables: this one knows migration {own}, and they need \
             one that knows {oldest}; start a newer release"
        );
    }
    Ok(())
}
