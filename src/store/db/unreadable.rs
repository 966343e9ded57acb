//! Rows that this program cannot read, usually because a newer release wrote them. Each affects
//! only itself.
//!
//! An unreadable row is excluded from queries for due work for a while, longer each time, so that
//! it fills neither the result of such a query nor the log. The list is kept in memory, because
//! another process may be able to read the row.

use anyhow::Result;
use parking_lot::{Mutex, MutexGuard};
use std::{
    collections::HashMap,
    sync::LazyLock,
    time::{Duration, Instant},
};

/// The metric that counts unreadable rows.
pub const UNREADABLE_ROWS: &str = "countersign_unreadable_rows_total";

const FIRST_WAIT: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_mins(5);
/// The maximum number of rows that are remembered.
const REMEMBERED: usize = 10_000;

/// A table with rows that contain JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in crate::store) enum JsonTable {
    Approvals,
    Conversations,
    Grants,
    Jobs,
    Outbox,
    Schedules,
}

impl JsonTable {
    fn name(self) -> &'static str {
        match self {
            Self::Approvals => "approvals",
            Self::Conversations => "conversations",
            Self::Grants => "grants",
            Self::Jobs => "jobs",
            Self::Outbox => "outbox",
            Self::Schedules => "schedules",
        }
    }
}

#[derive(Debug, Clone, Copy)]
struct Wait {
    until: Instant,
    length: Duration,
}

type Waits = HashMap<(JsonTable, String), Wait>;

static WAITS: LazyLock<Mutex<Waits>> = LazyLock::new(Mutex::default);

/// Returns the row if it could be read; otherwise sets it aside.
pub(in crate::store) fn readable<T>(table: JsonTable, id: &str, parsed: Result<T>) -> Option<T> {
    match parsed {
        Ok(row) => Some(row),
        Err(problem) => {
            set_aside(table, id, &problem);
            None
        }
    }
}

/// Returns the rows that could be read, in order; sets the others aside.
pub(in crate::store) fn readable_rows<R, T>(
    table: JsonTable,
    rows: Vec<R>,
    id: impl Fn(&R) -> &str,
    parse: impl Fn(R) -> Result<T>,
) -> Vec<T> {
    let row = |row| {
        let id = id(&row).to_owned();
        readable(table, &id, parse(row))
    };
    rows.into_iter().filter_map(row).collect()
}

/// Excludes a row from queries, for longer than the last time.
pub(in crate::store) fn set_aside(table: JsonTable, id: &str, problem: &anyhow::Error) {
    let (now, mut waits) = (Instant::now(), waits());
    let key = (table, id.to_owned());
    let last = waits.get(&key).copied();
    if last.is_some_and(|wait| now < wait.until) {
        return;
    }
    if waits.len() >= REMEMBERED {
        waits.retain(|_, wait| now < wait.until);
    }
    let length = last.map_or(FIRST_WAIT, |wait| (wait.length * 2).min(LONGEST_WAIT));
    if waits.len() < REMEMBERED {
        waits.insert(key, Wait { until: now + length, length });
    }
    drop(waits);
    metrics::counter!(UNREADABLE_ROWS).increment(1);
    let problem = format!("{problem:#}");
    tracing::error!(row.table = table.name(), row.id = id, problem, "could not read a row");
}

/// The ids of the rows that are excluded now, separated by spaces, for queries with `$1 NOT LIKE
/// '%' || id || '%'`.
pub(in crate::store) fn waiting(table: JsonTable) -> String {
    let now = Instant::now();
    let waits = waits();
    let ids = waits.iter().filter(|((of, _), wait)| *of == table && now < wait.until);
    ids.map(|((_, id), _)| id.as_str()).collect::<Vec<_>>().join(" ")
}

fn waits() -> MutexGuard<'static, Waits> {
    WAITS.lock()
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::anyhow;

    #[test]
    fn an_unreadable_row_is_set_aside_and_others_are_not() {
        assert_eq!(readable(JsonTable::Schedules, "good", Ok(1)), Some(1));
        assert_eq!(waiting(JsonTable::Schedules), "");
        assert_eq!(readable::<()>(JsonTable::Schedules, "odd", Err(anyhow!("no"))), None);
        assert_eq!(waiting(JsonTable::Schedules), "odd");
        assert_eq!(waiting(JsonTable::Outbox), "");
    }
}
