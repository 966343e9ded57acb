//! Pinned tools of MCP servers: their definition as first seen or as an operator trusted it, and as
//! the server offers it now. Trusting a tool increments the version of the tools.
//!
//! Two tools that would have the same name are never confused: a grant or rule for one of them does
//! not apply to the other.

use anyhow::Result;
use chrono::{DateTime, Utc};
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;

use super::settings;
use crate::{
    agent::naming,
    store::{
        Tx,
        audit::{self, Fact},
        db::{row::row, sql},
    },
};

/// A tool, identified by its server and its name there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pin {
    pub server: String,
    pub tool: String,
    /// The pinned definition, as canonical JSON.
    pub definition: String,
    /// The current definition, if it differs.
    pub offered: Option<String>,
    /// Who trusted it; empty if nobody did.
    pub vouched_by: String,
}

/// The trust in a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PinState {
    /// The tool is as first seen. Its own claims that it is harmless are ignored.
    Seen,
    /// An operator trusted this definition.
    Vouched,
    /// The definition has changed, so the tool is withheld until an operator has reviewed it.
    Changed,
}

impl Pin {
    /// The definition that the server offers now.
    pub fn now(&self) -> &str {
        self.offered.as_deref().unwrap_or(&self.definition)
    }

    pub fn standing(&self) -> PinState {
        match (&self.offered, self.vouched_by.as_str()) {
            (Some(_), _) => PinState::Changed,
            (None, "") => PinState::Seen,
            (None, _) => PinState::Vouched,
        }
    }
}

/// The SHA-256 of a definition, in hex.
pub fn digest(definition: &str) -> String {
    hex::encode(Sha256::digest(definition))
}

row! {
    struct PinRow {
        server: String,
        tool: String,
        definition: String,
        offered: Option<String>,
        vouched_by: String,
    }
}

/// All tools that were ever seen, by server and name.
pub async fn all(tx: &mut Tx<'_>) -> Result<Vec<Pin>> {
    let rows: Vec<PinRow> = sql!(
        tx,
        fetch_all,
        "
        -- tools of servers
        SELECT server, tool, definition, offered, vouched_by FROM mcp_tools
        ORDER BY server, tool"
    );
    let pin = |row: PinRow| Pin {
        server: row.server,
        tool: row.tool,
        definition: row.definition,
        offered: row.offered,
        vouched_by: row.vouched_by,
    };
    Ok(rows.into_iter().map(pin).collect())
}

/// The tools of one server, by their names there.
pub async fn of_server(tx: &mut Tx<'_>, server: &str) -> Result<BTreeMap<String, Pin>> {
    let mut pins = all(tx).await?;
    pins.retain(|pin| pin.server == server);
    Ok(pins.into_iter().map(|pin| (pin.tool.clone(), pin)).collect())
}

/// The tools that have the same name here, by that name, whether still offered or not.
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

/// Compares the tools that a server offers (names and definitions) with the pinned ones. New tools
/// are pinned, changes are recorded, also in the audit, and a tool that would take the name of
/// another counts as a change of that one. Returns all pins.
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
            remember(tx, server, tool, was, now).await?;
        }
        let offered = (was != definition).then_some(definition.as_str());
        if before.and_then(|pin| pin.offered.as_deref()) != offered {
            offer(tx, server, tool, Redefinition { was, offered }, now).await?;
        }
    }
    of_server(tx, server).await
}

/// The pinned definition of a tool, and the current one if it differs.
struct Redefinition<'a> {
    was: &'a str,
    offered: Option<&'a str>,
}

/// Records the current definition of a tool that has changed.
async fn offer(
    tx: &mut Tx<'_>,
    server: &str,
    tool: &str,
    Redefinition { was, offered }: Redefinition<'_>,
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

/// If two nodes see a tool first, the first write counts.
async fn remember(
    tx: &mut Tx<'_>,
    server: &str,
    tool: &str,
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

/// Trusts one tool of a server, or all of them, as they are now. Returns the trusted tools; none if
/// there is no such tool.
pub async fn trust(
    tx: &mut Tx<'_>,
    server: &str,
    tool: Option<&str>,
    by: &str,
    now: DateTime<Utc>,
) -> Result<Vec<String>> {
    settings::raise(tx).await?;
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
