//! Pinned tools of MCP servers, and components of WASM tools: their definition as first seen or as an operator trusted it, and as
//! the server offers it now. Trusting a tool increments the version of the tools.
//!
//! Two tools that would have the same name are never confused: a grant or rule for one of them does
//! not apply to the other.

use anyhow::Result;
use chrono::{DateTime, TimeDelta, Utc};
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;

use super::settings;
use crate::{
    agent::naming,
    store::{
        Tx, at,
        audit::{self, AuditKind, Fact},
        db::{row::row, sql},
    },
};

/// The name under which components of WASM tools are pinned, by their file names. No server can
/// have it.
pub const MODULES: &str = "data/tools";
/// The maximum number of pinned tools of a server, which may rename them again and again. Further
/// tools are not offered until old pins are deleted.
pub const MAX_PINS: usize = 1_000;
/// How often it is recorded that a tool is still offered.
pub const SEEN_EVERY: TimeDelta = TimeDelta::days(1);
/// How often changes of the same tool are recorded in the audit, unless it is trusted in between.
const AUDITED_EVERY: TimeDelta = TimeDelta::days(1);

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
    pub trusted_by: String,
    /// When the server last offered it, to the day.
    pub seen_at: Option<DateTime<Utc>>,
}

/// The trust in a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PinState {
    /// The tool is as first seen. Its own claims that it is harmless are ignored.
    Seen,
    /// An operator trusted this definition.
    Trusted,
    /// The definition has changed, so the tool is withheld until an operator has reviewed it.
    Changed,
}

impl Pin {
    /// The definition that the server offers now.
    pub fn now(&self) -> &str {
        self.offered.as_deref().unwrap_or(&self.definition)
    }

    pub fn state(&self) -> PinState {
        match (&self.offered, self.trusted_by.as_str()) {
            (Some(_), _) => PinState::Changed,
            (None, "") => PinState::Seen,
            (None, _) => PinState::Trusted,
        }
    }
}

/// The SHA-256 of a definition, in hex.
pub fn digest(definition: &str) -> String {
    hex::encode(Sha256::digest(definition))
}

/// The digest that names the current definitions of these tools: of one tool, that of its
/// definition, otherwise that of a list of all names and digests.
pub fn digest_of<'p>(pins: impl IntoIterator<Item = &'p Pin>) -> String {
    let mut pins: Vec<_> = pins.into_iter().collect();
    if let &[pin] = pins.as_slice() {
        return digest(pin.now());
    }
    pins.sort_by(|a, b| a.tool.cmp(&b.tool));
    let lines = pins.iter().map(|pin| format!("{} {}\n", digest(pin.now()), pin.tool));
    digest(&lines.collect::<String>())
}

row! {
    struct PinRow {
        server: String,
        tool: String,
        definition: String,
        offered: Option<String>,
        vouched_by: String,
        seen_at: Option<i64>,
    }
}

impl From<PinRow> for Pin {
    fn from(row: PinRow) -> Self {
        Self {
            server: row.server,
            tool: row.tool,
            definition: row.definition,
            offered: row.offered,
            trusted_by: row.vouched_by,
            seen_at: row.seen_at.map(at),
        }
    }
}

/// All pinned tools, by server and name.
pub async fn all(tx: &mut Tx<'_>) -> Result<Vec<Pin>> {
    let rows: Vec<PinRow> = sql!(
        tx,
        fetch_all,
        "
        -- tools of servers
        SELECT server, tool, definition, offered, vouched_by, seen_at FROM mcp_tools
        ORDER BY server, tool"
    );
    Ok(rows.into_iter().map(Pin::from).collect())
}

/// The tools of one server, by their names there.
pub async fn of_server(tx: &mut Tx<'_>, server: &str) -> Result<BTreeMap<String, Pin>> {
    let rows: Vec<PinRow> = sql!(
        tx,
        fetch_all,
        "
        -- tools of a server
        SELECT server, tool, definition, offered, vouched_by, seen_at FROM mcp_tools
        WHERE server = $1",
        server
    );
    Ok(rows.into_iter().map(|row| (row.tool.clone(), Pin::from(row))).collect())
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

/// A tool as its server lists it now.
#[derive(Debug, Clone)]
pub struct OfferedTool {
    pub name: String,
    pub definition: String,
}

/// Compares the tools that a server offers with the pinned ones. New tools
/// are pinned until there are [`MAX_PINS`], changes are recorded, also in the audit, and a tool
/// that would take the name of another counts as a change of that one. Returns all pins.
pub async fn see(
    tx: &mut Tx<'_>,
    server: &str,
    listed: &[OfferedTool],
    now: DateTime<Utc>,
) -> Result<BTreeMap<String, Pin>> {
    let known = of_server(tx, server).await?;
    if known.values().any(|pin| pin.seen_at.is_none()) {
        begin_ageing(tx, server, now).await?;
    }
    let namesakes = namesakes(server, &known);
    let mut room = MAX_PINS.saturating_sub(known.len());
    for OfferedTool { name: tool, definition } in listed {
        let before = known.get(tool);
        let called = naming::of_server(server, tool);
        let was = match (before, namesakes.get(&called).map(Vec::as_slice)) {
            (Some(pin), _) | (None, Some(&[pin])) => &pin.definition,
            _ => definition,
        };
        match before {
            Some(pin) if pin.seen_at.is_some_and(|at| now - at >= SEEN_EVERY) => {
                touch(tx, server, tool, now).await?;
            }
            Some(_) => {}
            None if room == 0 => continue,
            None => {
                room -= 1;
                remember(tx, server, tool, was, now).await?;
            }
        }
        let offered = (was != definition).then_some(definition.as_str());
        if before.and_then(|pin| pin.offered.as_deref()) != offered {
            offer(tx, server, tool, Redefinition { was, offered }, now).await?;
        }
    }
    of_server(tx, server).await
}

/// Lets the pins of earlier releases, which did not record when they were seen, age from now on.
async fn begin_ageing(tx: &mut Tx<'_>, server: &str, now: DateTime<Utc>) -> Result<()> {
    sql!(
        tx,
        execute,
        "
        -- start the retention of tools
        UPDATE mcp_tools
        SET seen_at = $1
        WHERE server = $2 AND seen_at IS NULL",
        now.timestamp_millis(),
        server
    );
    Ok(())
}

/// Records that a server still offers a tool.
async fn touch(tx: &mut Tx<'_>, server: &str, tool: &str, now: DateTime<Utc>) -> Result<()> {
    sql!(
        tx,
        execute,
        "
        -- update when a tool was seen
        UPDATE mcp_tools
        SET seen_at = $1
        WHERE server = $2 AND tool = $3",
        now.timestamp_millis(),
        server,
        tool
    );
    Ok(())
}

/// The pinned definition of a tool, and the current one if it differs.
struct Redefinition<'a> {
    was: &'a str,
    offered: Option<&'a str>,
}

/// Records the current definition of a tool that has changed. If two nodes see the change, or a
/// server changes it back and forth, it is audited once a day.
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
    let Some(offered) = offered else { return Ok(()) };
    let is_new = sql!(
        tx,
        execute,
        "
        -- audit tool
        UPDATE mcp_tools
        SET audited_at = $1
        WHERE server = $2 AND tool = $3 AND (audited_at IS NULL OR audited_at <= $4)",
        now.timestamp_millis(),
        server,
        tool,
        (now - AUDITED_EVERY).timestamp_millis()
    );
    if is_new > 0 {
        let kind = if server == MODULES { AuditKind::WasmChanged } else { AuditKind::McpChanged };
        let fact = Fact::new(kind, "").of(tool).with("server", server);
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
        -- pin a tool
        INSERT INTO mcp_tools (server, tool, definition, vouched_by, changed_at, seen_at)
        VALUES ($1, $2, $3, '', $4, $4)
        ON CONFLICT (server, tool) DO NOTHING",
        server,
        tool,
        definition,
        now.timestamp_millis()
    );
    Ok(())
}

/// The tools that an operator has reviewed.
#[derive(Debug, Clone)]
pub struct Reviewed {
    pub server: String,
    /// All tools of the server if `None`.
    pub tool: Option<String>,
    /// The digest of their definitions as reviewed: see [`digest_of`].
    pub digest: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TrustOutcome {
    /// The names of the trusted tools.
    Trusted(Vec<String>),
    Missing,
    /// The definitions are no longer as reviewed, so nothing was trusted.
    Changed,
}

/// Trusts one tool of a server, or all of them, if they are still as reviewed.
pub async fn trust(
    tx: &mut Tx<'_>,
    reviewed: &Reviewed,
    by: &str,
    now: DateTime<Utc>,
) -> Result<TrustOutcome> {
    let server = reviewed.server.as_str();
    let meant = |pin: &Pin| reviewed.tool.as_ref().is_none_or(|tool| *tool == pin.tool);
    let pins: Vec<_> = of_server(tx, server).await?.into_values().filter(meant).collect();
    if pins.is_empty() {
        return Ok(TrustOutcome::Missing);
    }
    if digest_of(&pins) != reviewed.digest {
        return Ok(TrustOutcome::Changed);
    }
    settings::raise(tx).await?;
    for pin in &pins {
        // A definition that is offered at the same time is recorded again with the next list.
        sql!(
            tx,
            execute,
            "
            -- trust tool
            UPDATE mcp_tools
            SET definition = $1, offered = NULL, vouched_by = $2, changed_at = $3, audited_at = NULL
            WHERE server = $4 AND tool = $5",
            pin.now(),
            by,
            now.timestamp_millis(),
            server,
            pin.tool.as_str()
        );
        let kind = if server == MODULES { AuditKind::WasmTrusted } else { AuditKind::McpTrusted };
        let fact = Fact::new(kind, by).of(&pin.tool).with("server", server);
        let fact = fact.with("is", digest(pin.now()));
        audit::append(tx, audit::ADMIN, vec![fact], now).await?;
    }
    Ok(TrustOutcome::Trusted(pins.into_iter().map(|pin| pin.tool).collect()))
}
