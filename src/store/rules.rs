//! Guard rules that were added at run time, each with a unique name. Every change increments a
//! version, which other nodes check before they judge calls.

use anyhow::{Context as _, Result, ensure};
use chrono::{DateTime, Utc};

use super::{Tx, db::sql};
use crate::agent::{
    policy::Origin,
    rules::{RuleDocument, RuleEntry, compile},
};

/// The version of the rules, and the role of a person.
pub async fn version_and_role(
    tx: &mut Tx<'_>,
    channel: &str,
    person: &str,
) -> Result<(i64, Option<String>)> {
    let row: (i64, Option<String>) = sql!(
        tx,
        fetch_one,
        "
        -- version of the rules, role of a person
        SELECT v.version, p.role
        FROM guard_version v
        LEFT JOIN people p ON p.channel = $1 AND p.person = $2",
        channel,
        person
    );
    Ok(row)
}

/// All rules in order, with their version.
pub async fn all(tx: &mut Tx<'_>) -> Result<(i64, RuleDocument)> {
    // The version is read first: rules that are newer than it are merely read again.
    let (version,): (i64,) = sql!(
        tx,
        fetch_one,
        "
        -- version of the rules
        SELECT version FROM guard_version"
    );
    let rows: Vec<(String, String)> = sql!(
        tx,
        fetch_all,
        "
        -- rules
        SELECT name, body FROM guard_rules
        ORDER BY place, name"
    );
    let rules = rows
        .into_iter()
        .map(|(name, body)| serde_json::from_str(&body).with_context(|| format!("rule {name}")))
        .collect::<Result<_>>()?;
    Ok((version, RuleDocument { rules }))
}

/// Appends a rule, or changes the one with this name in place.
pub async fn put(tx: &mut Tx<'_>, entry: &RuleEntry, by: &str, now: DateTime<Utc>) -> Result<()> {
    let name = entry.name.as_deref().unwrap_or_default();
    ensure!(!name.trim().is_empty(), "a rule in the database needs a name");
    compile(std::slice::from_ref(entry), Origin::Database)?;
    sql!(
        tx,
        execute,
        "
        -- insert a rule
        INSERT INTO guard_rules (name, place, body, changed_by, changed_at)
        VALUES ($1, (SELECT COALESCE(MAX(place), 0) + 1 FROM guard_rules), $2, $3, $4)
        ON CONFLICT (name) DO UPDATE
        SET body = $2, changed_by = $3, changed_at = $4",
        name,
        serde_json::to_string(entry)?,
        by,
        now.timestamp_millis()
    );
    raise(tx).await
}

/// Deletes a rule. Returns whether it existed.
pub async fn remove(tx: &mut Tx<'_>, name: &str) -> Result<bool> {
    let removed = sql!(
        tx,
        execute,
        "
        -- remove rule
        DELETE FROM guard_rules
        WHERE name = $1",
        name
    );
    raise(tx).await?;
    Ok(removed > 0)
}

/// Replaces all rules.
pub async fn replace(
    tx: &mut Tx<'_>,
    document: &RuleDocument,
    by: &str,
    now: DateTime<Utc>,
) -> Result<()> {
    sql!(
        tx,
        execute,
        "
        -- remove all rules
        DELETE FROM guard_rules"
    );
    for entry in &document.rules {
        put(tx, entry, by, now).await?;
    }
    raise(tx).await
}

/// Serialises concurrent changes of the rules.
pub async fn lock(tx: &mut Tx<'_>) -> Result<()> {
    raise(tx).await
}

async fn raise(tx: &mut Tx<'_>) -> Result<()> {
    sql!(
        tx,
        execute,
        "
        -- increment the version of the rules
        UPDATE guard_version
        SET version = version + 1"
    );
    Ok(())
}
