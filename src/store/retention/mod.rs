//! How long each table is kept, and the maintenance that deletes older rows.
//!
//! Every table has a rule in `rules.rs`; a test fails if one is missing. Rows are deleted in slices
//! of [`SLICE`], each in a short transaction that uses an index. Rows that are kept "with"
//! something else are deleted with it. Folders of `data_dir`:
//!
//! | Folder | Rule |
//! | --- | --- |
//! | `artifacts` | files that no conversation and no open approval refers to are removed once they are older than `retention.artifacts` |
//! | `workspaces` | with the conversation, including long results in `.countersign/results` |
//! | `builds` | 30 days, the last 20 of each conversation, with the conversation |
//! | `skills`, `mcp`, `mcp_servers`, `mcp_logins`, `fonts`, `terminal` | forever: files of the operator, or of a server that they trust |

#[cfg(any(test, feature = "testing"))]
pub mod rules;

use anyhow::Result;
use chrono::{DateTime, TimeDelta, Utc};

use super::{Store, Tx, db::sql, usage};

/// The number of rows that one transaction deletes.
pub const SLICE: i64 = 1_000;

/// How long things are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Retention {
    pub deliveries: TimeDelta,
    pub unparsed: TimeDelta,
    pub messages: TimeDelta,
    pub approvals: TimeDelta,
    pub grants: TimeDelta,
    pub tasks: TimeDelta,
    pub schedules: TimeDelta,
    pub webhook_deliveries: TimeDelta,
    pub artifacts: TimeDelta,
    /// `None` means forever.
    pub conversations: Option<TimeDelta>,
    /// Audit records and days of the account. `None` means forever.
    pub audit: Option<TimeDelta>,
}

impl Default for Retention {
    fn default() -> Self {
        let days = TimeDelta::days;
        Self {
            deliveries: days(7),
            unparsed: days(30),
            messages: days(90),
            approvals: days(90),
            grants: days(90),
            tasks: days(30),
            schedules: days(30),
            webhook_deliveries: days(30),
            artifacts: days(7),
            conversations: None,
            audit: None,
        }
    }
}

/// A kind of row that is deleted after a certain age.
struct Prune {
    name: &'static str,
    age: fn(&Retention) -> TimeDelta,
    /// The statements of one transaction. `$1` is the time before which rows are old, `$2` the
    /// slice. The last statement returns the number of rows.
    delete: &'static [&'static str],
}

fn hour(_: &Retention) -> TimeDelta {
    TimeDelta::hours(1)
}

fn day(_: &Retention) -> TimeDelta {
    TimeDelta::days(1)
}

fn now(_: &Retention) -> TimeDelta {
    TimeDelta::zero()
}

/// Deletes a slice of the rows of a table by the time in a column.
macro_rules! older {
    ($table:literal, $key:literal, $at:literal) => {
        older!($table, $key, $at, "")
    };
    ($table:literal, $key:literal, $at:literal, $and:literal) => {
        older!($table, $key, $at, $and, concat!("DELETE FROM ", $table, " WHERE (", $key, ")"))
    };
    ($table:literal, $key:literal, $at:literal, $and:expr, $delete:expr) => {
        concat!(
            $delete,
            " IN (
                SELECT ",
            $key,
            " FROM ",
            $table,
            " o
                WHERE ",
            $at,
            " < $1 ",
            $and,
            "
                ORDER BY ",
            $at,
            "
                LIMIT $2
            )"
        )
    };
}

/// Whether a grant that was given with the approval can still be revoked.
macro_rules! in_force {
    ($approval:literal) => {
        concat!(
            "EXISTS (
                SELECT 1 FROM grants g
                WHERE g.approval = ",
            $approval,
            " AND g.revoked_at IS NULL AND g.expires_at >= $1
            )"
        )
    };
}

/// Whether a row shows something that may still change: an open or revocable approval, or the
/// target of a waiting edit.
macro_rules! in_use {
    () => {
        concat!(
            "AND status <> 'waiting'
            AND NOT EXISTS (
                SELECT 1 FROM outbox w
                WHERE w.edits = o.id AND w.edits IS NOT NULL AND w.status = 'waiting'
            )
            AND NOT EXISTS (
                SELECT 1 FROM approvals a
                WHERE a.id = o.approval AND (a.status = 'pending' OR ",
            in_force!("a.id"),
            ")
            )
            AND NOT EXISTS (
                SELECT 1 FROM approvals a
                WHERE a.question = o.id AND (a.status = 'pending' OR ",
            in_force!("a.id"),
            ")
            )"
        )
    };
}

macro_rules! old_approvals {
    ($delete:literal) => {
        older!(
            "approvals",
            "id",
            "decided_at",
            concat!("AND status <> 'pending' AND NOT ", in_force!("o.id")),
            $delete
        )
    };
}

macro_rules! old_notices {
    ($delete:literal) => {
        older!("notices", "id", "created_at", "AND status <> 'waiting'", $delete)
    };
}

const fn prune(
    name: &'static str,
    age: fn(&Retention) -> TimeDelta,
    delete: &'static [&'static str],
) -> Prune {
    Prune { name, age, delete }
}

const PRUNES: &[Prune] = &[
    prune(
        "deliveries",
        |kept| kept.deliveries,
        &[older!(
            "deliveries",
            "channel, delivery",
            "at",
            "AND channel <> 'answers' AND channel NOT LIKE 'hooks/%'"
        )],
    ),
    // Some senders sign no time, so that an old request could be sent again.
    prune(
        "webhook replay protection",
        |_| TimeDelta::days(400),
        &[older!("deliveries", "channel, delivery", "at")],
    ),
    prune("unparsed", |kept| kept.unparsed, &[older!("unparsed", "channel, delivery", "at")]),
    prune(
        "messages",
        |kept| kept.messages,
        &[older!("outbox", "id", "created_at", in_use!(), "DELETE FROM outbox WHERE id")],
    ),
    prune(
        "approvals",
        |kept| kept.approvals,
        &[
            old_approvals!("DELETE FROM approval_tokens WHERE approval"),
            old_approvals!("DELETE FROM votes WHERE approval"),
            old_approvals!("DELETE FROM approvals WHERE id"),
        ],
    ),
    prune("grants", |kept| kept.grants, &[older!("grants", "id", "expires_at")]),
    prune(
        "schedules",
        |kept| kept.schedules,
        &[older!("schedules", "id", "changed_at", "AND status IN ('done', 'deleted')")],
    ),
    prune(
        "jobs",
        |kept| kept.tasks,
        &[older!("jobs", "id", "changed_at", "AND status IN ('reported', 'cancelled')")],
    ),
    prune("jobs for media", |_| TimeDelta::days(30), &[older!("media_jobs", "id", "created_at")]),
    prune(
        "webhook deliveries",
        |kept| kept.webhook_deliveries,
        &[
            old_notices!("DELETE FROM notice_tries WHERE notice"),
            old_notices!("DELETE FROM notices WHERE id"),
        ],
    ),
    prune(
        "tools of MCP servers",
        |_| TimeDelta::days(400),
        &[older!("mcp_tools", "server, tool", "seen_at", "AND vouched_by = ''")],
    ),
    prune("access tokens", now, &[older!("access_tokens", "hash", "expires_at")]),
    prune("link codes", now, &[older!("link_codes", "hash", "expires_at")]),
    prune("pairing codes", |_| TimeDelta::days(30), &[older!("pairings", "hash", "expires_at")]),
    prune("pairing failures", day, &[older!("pairing_failures", "channel, person", "last_at")]),
    prune("answers", day, &[older!("answers", "caller, name", "at")]),
    prune("reservations", now, &[older!("reservations", "person, conversation", "expires_at")]),
    prune("rates", hour, &[older!("rates", "person, tool", "last_at")]),
    prune("floods", hour, &[older!("floods", "person", "even_at")]),
    prune("parked", now, &[older!("parked", "channel, chat", "until")]),
];

/// The names of all kinds of rows that are deleted by age, in the order of the maintenance.
pub fn prunes() -> impl Iterator<Item = &'static str> {
    PRUNES.iter().map(|prune| prune.name)
}

impl Store {
    /// Deletes one slice of the rows that are past their retention. Returns whether there may be
    /// more.
    pub async fn prune(
        &self,
        name: &'static str,
        kept: &Retention,
        now: DateTime<Utc>,
    ) -> Result<bool> {
        let Some(prune) = PRUNES.iter().find(|prune| prune.name == name) else { return Ok(false) };
        let before = (now - (prune.age)(kept)).timestamp_millis();
        let deleted = self.write("prune", move |tx| Box::pin(delete(tx, prune, before)));
        Ok(deleted.await? >= SLICE as u64)
    }

    /// Deletes one slice of the days of the account and totals that are past their retention.
    /// Returns whether there may be more.
    pub async fn prune_days(&self, kept: &Retention, now: DateTime<Utc>) -> Result<bool> {
        let account = kept.audit.map(|audit| now - audit);
        let totals = now - TimeDelta::days(3);
        let deleted = self.write("prune days", move |tx| {
            Box::pin(async move {
                let mut deleted = usage::forget_totals(tx, totals, SLICE).await?;
                if let Some(before) = account {
                    deleted = deleted.max(usage::forget_days(tx, before, SLICE).await?);
                }
                Ok(deleted)
            })
        });
        Ok(deleted.await? >= SLICE as u64)
    }
}

async fn delete(tx: &mut Tx<'_>, prune: &Prune, before: i64) -> Result<u64> {
    let mut deleted = 0;
    for statement in prune.delete {
        deleted = sql!(tx, execute, *statement, before, SLICE);
    }
    Ok(deleted)
}
