//! The tools of MCP servers as they were first seen, or as an operator answered for them, and what
//! their servers say of them now. To answer for one raises the version of the tools.
//!
//! Two that would be called the same here are never taken for each other: what was said of the name
//! of the one, by a leave or a rule, is nothing to the other.

use anyhow::Result;
use chrono::{DateTime, Utc};
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;

use super::{
    Tx,
    audit::{self, Fact},
    db::sql,
    tool_settings,
};
use crate::agent::naming;

/// A tool, by its server and the name that it has there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pin {
    pub server: String,
    pub tool: String,
    /// What it was, as canonical JSON.
    pub definition: String,
    /// What it is now, if that is something else.
    pub offered: Option<String>,
    /// Who has answered for it; nobody, where this is empty.
    pub vouched_by: String,
}

/// How far a tool is trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It is what it was when it was first seen. What it says of its harmlessness is not believed.
    Seen,
    /// An operator has answered for it as it is.
    Vouched,
    /// It is not any more what it was: withheld until an operator has looked at it.
    Changed,
}

impl Pin {
    /// What its server says of it now.
    pub fn now(&self) -> &str {
        self.offered.as_deref().unwrap_or(&self.definition)
    }

    pub fn standing(&self) -> Standing {
        match (&self.offered, self.vouched_by.as_str()) {
            (Some(_), _) => Standing::Changed,
            (None, "") => Standing::Seen,
            (None, _) => Standing::Vouched,
        }
    }
}

/// SHA-256 of a definition, in hex.
pub fn digest(definition: &str) -> String {
    hex::encode(Sha256::digest(definition))
}

type Columns = (String, String, String, Option<String>, String);

/// All that were ever seen, by server and name.
pub async fn all(tx: &mut Tx<'_>) -> Result<Vec<Pin>> {
    let rows: Vec<Columns> = sql!(
        tx,
        fetch_all,
        "
        -- tools of servers
        SELECT server, tool, definition, offered, vouched_by FROM mcp_tools
        ORDER BY server, tool"
    );
    let pin = |(server, tool, definition, offered, vouched_by)| Pin {
        server,
        tool,
        definition,
        offered,
        vouched_by,
    };
    Ok(rows.into_iter().map(pin).collect())
}

/// Those of one server, by their names there.
pub async fn of_server(tx: &mut Tx<'_>, server: &str) -> Result<BTreeMap<String, Pin>> {
    let mut pins = all(tx).await?;
    pins.retain(|pin| pin.server == server);
    Ok(pins.into_iter().map(|pin| (pin.tool.clone(), pin)).collect())
}

/// Those that are called the same here, by what they are called, whether they are still offered or
/// not.
pub fn namesakes<'p>(
    server: &str,
    pins: &'p BTreeMap<String, Pin>,
) -> BTreeMap<String, Vec<&'p Pin>> {
    let mut namesakes: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for pin in pins.values() {
        namesakes.entry(naming::of_server(server, &pin.tool)).or_default().push(pin);
    }
    namesakes
}

/// Holds what a server says of its tools (names and definitions) against what is remembered. What
/// is new is remembered; what has changed is written down, for the audit too; what would take the
/// name of another counts as that one, changed. All pins then.
pub async fn see(
    tx: &mut Tx<'_>,
    server: &str,
    listed: &[(String, String)],
    now: DateTime<Utc>,
) -> Result<BTreeMap<String, Pin>> {
    let known = of_server(tx, server).await?;
    let namesakes = namesakes(server, &known);
    for (tool, definition) in listed {
        let before = known.get(tool);
        let called = naming::of_server(server, tool);
        let was = match (before, namesakes.get(&called).map(Vec::as_slice)) {
            (Some(pin), _) | (None, Some(&[pin])) => &pin.definition,
            _ => definition,
        };
        if before.is_none() {
            remember(tx, (server, tool), was, now).await?;
        }
        let offered = (was != definition).then_some(definition.as_str());
        if before.and_then(|pin| pin.offered.as_deref()) != offered {
            offer(tx, (server, tool), (was, offered), now).await?;
        }
    }
    of_server(tx, server).await
}

/// What a tool is now, if it is not any more what it was.
async fn offer(
    tx: &mut Tx<'_>,
    (server, tool): (&str, &str),
    (was, offered): (&str, Option<&str>),
    now: DateTime<Utc>,
) -> Result<()> {
    sql!(
        tx,
        execute,
        "
        -- offer tool
        UPDATE mcp_tools
        SET offered = $1, changed_at = $2
        WHERE server = $3 AND tool = $4",
        offered,
        now.timestamp_millis(),
        server,
        tool
    );
    if let Some(offered) = offered {
        let fact = Fact::new("mcp_changed", "").of(tool).with("server", server);
        let fact = fact.with("was", digest(was)).with("is", digest(offered));
        audit::append(tx, audit::ADMIN, vec![fact], now).await?;
    }
    Ok(())
}

/// Of two nodes that see a tool first, the first counts.
async fn remember(
    tx: &mut Tx<'_>,
    (server, tool): (&str, &str),
    definition: &str,
    now: DateTime<Utc>,
) -> Result<()> {
    sql!(
        tx,
        execute,
        "
        -- remember tool
        INSERT INTO mcp_tools (server, tool, definition, vouched_by, changed_at)
        VALUES ($1, $2, $3, '', $4)
        ON CONFLICT (server, tool) DO NOTHING",
        server,
        tool,
        definition,
        now.timestamp_millis()
    );
    Ok(())
}

/// Somebody answers for a tool of a server, or for all of its tools, as they are now. Which these
/// are; none, if there is no such tool.
pub async fn trust(
    tx: &mut Tx<'_>,
    (server, tool): (&str, Option<&str>),
    by: &str,
    now: DateTime<Utc>,
) -> Result<Vec<String>> {
    tool_settings::raise(tx).await?;
    let meant = |pin: &Pin| tool.is_none_or(|tool| tool == pin.tool);
    let pins: Vec<_> = of_server(tx, server).await?.into_values().filter(meant).collect();
    for pin in &pins {
        let definition = pin.offered.as_ref().unwrap_or(&pin.definition);
        sql!(
            tx,
            execute,
            "
            -- trust tool
            UPDATE mcp_tools
            SET definition = $1, offered = NULL, vouched_by = $2, changed_at = $3
            WHERE server = $4 AND tool = $5",
            definition,
            by,
            now.timestamp_millis(),
            server,
            pin.tool.as_str()
        );
        let fact = Fact::new("mcp_trusted", by).of(&pin.tool).with("server", server);
        let fact = fact.with("is", digest(definition));
        audit::append(tx, audit::ADMIN, vec![fact], now).await?;
    }
    Ok(pins.into_iter().map(|pin| pin.tool).collect())
}
