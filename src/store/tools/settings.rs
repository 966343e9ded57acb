//! The operators' settings for tools and MCP servers. They override the defaults and the
//! configuration. Every change increments a version, which every node checks when a turn begins.

use anyhow::Result;
use chrono::{DateTime, Utc};
use std::collections::BTreeMap;
use strum::IntoStaticStr;

use crate::{
    agent::catalog::Tier,
    store::{
        Tx,
        db::{row::row, sql},
    },
};

/// What a setting applies to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum SettingKind {
    Tool,
    /// All tools of an MCP server.
    Mcp,
}

impl SettingKind {
    fn as_str(self) -> &'static str {
        self.into()
    }
}

/// An operator's setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setting {
    pub enabled: bool,
    /// `None` keeps the default of the tool or configuration.
    pub tier: Option<Tier>,
}

impl Default for Setting {
    fn default() -> Self {
        Self { enabled: true, tier: None }
    }
}

/// The settings by what they apply to; missing entries mean the default.
pub type Settings = BTreeMap<(SettingKind, String), Setting>;

/// The version of the settings.
pub async fn version(tx: &mut Tx<'_>) -> Result<i64> {
    let (version,): (i64,) = sql!(
        tx,
        fetch_one,
        "
        -- version of the tools
        SELECT version FROM tool_version"
    );
    Ok(version)
}

row! {
    struct SettingRow {
        kind: String,
        name: String,
        enabled: bool,
        tier: String,
    }
}

/// All settings, with their version.
pub async fn all(tx: &mut Tx<'_>) -> Result<(i64, Settings)> {
    // The version is read first: settings that are newer than it are merely read again.
    let version = version(tx).await?;
    let rows: Vec<SettingRow> = sql!(
        tx,
        fetch_all,
        "
        -- tool settings
        SELECT kind, name, enabled, tier FROM tool_settings"
    );
    let settings = rows.into_iter().map(|SettingRow { kind, name, enabled, tier }| {
        let kind =
            if kind == SettingKind::Mcp.as_str() { SettingKind::Mcp } else { SettingKind::Tool };
        ((kind, name), Setting { enabled, tier: tier_of(&tier) })
    });
    Ok((version, settings.collect()))
}

/// Tells all nodes that the tools have changed.
pub async fn raise(tx: &mut Tx<'_>) -> Result<()> {
    sql!(
        tx,
        execute,
        "
        -- increment the version of the tools
        UPDATE tool_version
        SET version = version + 1"
    );
    Ok(())
}

/// What a setting is for.
#[derive(Debug, Clone, Copy)]
pub struct SettingKey<'a> {
    pub kind: SettingKind,
    pub name: &'a str,
}

/// Changes one setting.
pub async fn change(
    tx: &mut Tx<'_>,
    of: SettingKey<'_>,
    change: impl FnOnce(&mut Setting) + Send,
    by: &str,
    now: DateTime<Utc>,
) -> Result<()> {
    let SettingKey { kind, name } = of;
    // Increments the version first, so that concurrent changes wait for each other.
    raise(tx).await?;
    let (_, settings) = all(tx).await?;
    let mut setting = settings.get(&(kind, name.to_owned())).copied().unwrap_or_default();
    change(&mut setting);
    sql!(
        tx,
        execute,
        "
        -- change a tool
        INSERT INTO tool_settings (kind, name, enabled, tier, changed_by, changed_at)
        VALUES ($1, $2, $3, $4, $5, $6)
        ON CONFLICT (kind, name) DO UPDATE
        SET enabled = $3, tier = $4, changed_by = $5, changed_at = $6",
        kind.as_str(),
        name,
        setting.enabled,
        setting.tier.map_or("", name_of),
        by,
        now.timestamp_millis()
    );
    Ok(())
}

fn name_of(tier: Tier) -> &'static str {
    match tier {
        Tier::Core => "core",
        Tier::Extension => "extension",
    }
}

/// Parses a tier. An empty text means the default.
fn tier_of(text: &str) -> Option<Tier> {
    [Tier::Core, Tier::Extension].into_iter().find(|tier| name_of(*tier) == text)
}
