//! The migrations of the database, in the order in which they are applied.

use sqlx::migrate::{Migration, MigrationType, Migrator};
use std::sync::LazyLock;

/// The database whose SQL a migration uses where one text does not work for both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    Sqlite,
    Postgres,
}

/// The text of a file below `migrations/`.
macro_rules! text {
    ($($part:literal),+) => {
        include_str!(concat!("../../../migrations/", $($part,)+ ".sql"))
    };
}

/// The text of the file with this name in `migrations/sqlite/` or `migrations/postgres/`.
macro_rules! text_of {
    ($dialect:expr, $name:literal) => {
        match $dialect {
            Dialect::Sqlite => text!("sqlite/", $name),
            Dialect::Postgres => text!("postgres/", $name),
        }
    };
}

/// Built once, because each migration has a digest.
pub(super) fn migrations(dialect: Dialect) -> &'static Migrator {
    static SQLITE: LazyLock<Migrator> = LazyLock::new(|| build(Dialect::Sqlite));
    static POSTGRES: LazyLock<Migrator> = LazyLock::new(|| build(Dialect::Postgres));
    match dialect {
        Dialect::Sqlite => &SQLITE,
        Dialect::Postgres => &POSTGRES,
    }
}

fn build(dialect: Dialect) -> Migrator {
    let memory = match dialect {
        Dialect::Sqlite => concat!(text!("0009_memory"), text!("sqlite/0009_memory_words")),
        Dialect::Postgres => concat!(text!("0009_memory"), text!("postgres/0009_memory_words")),
    };
    let mut all = Migrator::with_migrations(vec![
        migration(1, "first", text!("0001_first")),
        migration(2, "positions", text!("0002_positions")),
        migration(3, "approvals", text!("0003_approvals")),
        migration(4, "rules", text!("0004_rules")),
        migration(5, "limits and audit", text!("0005_limits_and_audit")),
        migration(6, "gateway", text!("0006_gateway")),
        migration(7, "per person", text_of!(dialect, "0007_per_person")),
        migration(8, "admin", text!("0008_admin")),
        migration(9, "memory", memory),
        migration(10, "schedules", text!("0010_schedules")),
        migration(11, "tasks", text!("0011_tasks")),
        migration(12, "mcp tools", text!("0012_mcp_tools")),
        migration(13, "operators", text!("0013_operators")),
        migration(14, "memory vectors", text!("0014_memory_vectors")),
        migration(15, "webhooks", text!("0015_webhooks")),
        migration(17, "sign on", text!("0017_sign_on")),
        migration(18, "failures", text!("0018_failures")),
        migration(20, "sessions", text!("0020_sessions")),
        migration(21, "oldest release", text!("0021_oldest_release")),
        migration(22, "outbox due", text_of!(dialect, "0022_outbox_due")),
        migration(23, "drafts", text!("0023_drafts")),
        migration(24, "owners and mentions", text!("0024_owners_and_mentions")),
        migration(25, "totals and links", text!("0025_totals_and_links")),
        migration(26, "retention", text!("0026_retention")),
        migration(27, "approval files", text!("0027_approval_files")),
        migration(28, "first sign-in", text!("0028_first_sign_in")),
        migration(29, "channel problems", text!("0029_channel_problems")),
        migration(30, "conversation titles", text!("0030_conversation_titles")),
        migration(31, "failed turns", text!("0031_failed_turns")),
        migration(32, "upload bytes", text!("0032_upload_bytes")),
        migration(34, "jobs", text!("0034_jobs")),
        migration(35, "wiki", text!("0035_wiki")),
        migration(36, "job origins", text!("0036_job_origins")),
        migration(37, "mcp tool pins", text!("0037_mcp_tool_pins")),
        migration(38, "completions", text!("0038_completions")),
        migration(39, "deliveries by age", text!("0039_deliveries_by_age")),
        migration(42, "push subscriptions", text!("0042_push_subscriptions")),
        migration(44, "media jobs", text!("0044_media_jobs")),
        migration(48, "reservations by conversation", text!("0048_reservations_by_conversation")),
    ]);
    // Migrations of a newer release, which this one may run beside.
    all.set_ignore_missing(true);
    // On PostgreSQL it would be a lock of the session, which stays if a migration fails. SQLite has
    // one process.
    all.set_locking(false);
    all
}

fn migration(number: i64, description: &'static str, text: &'static str) -> Migration {
    let text = sqlx::SqlStr::from_static(text);
    Migration::new(number, description.into(), MigrationType::Simple, text, false)
}
