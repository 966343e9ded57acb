//! The entries of `[[datasources]]`: databases that agents may read.

use anyhow::{Context as _, Result, ensure};
use schemars::JsonSchema;
use secrecy::ExposeSecret as _;
use serde::{Deserialize, Serialize};
use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use super::{Config, build, references::exists, secret::Secret};
use crate::{
    agent::{
        policy::{Action, Origin, Rule, Severity},
        rules::{self, Pattern, RuleEntry},
    },
    journal::role::Role,
    store::{
        datasources::{DataSource, QueryLimits},
        db::address,
    },
    tools::datasources::{ConfiguredSource, visible::Visibility},
};

/// The maximum of the configurable query timeout.
const LONGEST: Duration = Duration::from_mins(2);
const MAX_ROWS: usize = 100_000;
const MAX_BYTES: usize = 64 * 1024 * 1024;

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DatasourceEntry {
    /// What agents call the database: `a` to `z`, `0` to `9` and `_`.
    pub name: String,
    /// The URL, as a secret: `postgres://user:password@host/db`, `mysql://…` (also MariaDB) or
    /// `sqlite:///path`. Use an account that can only read.
    pub url: Secret,
    /// What it contains, shown to agents.
    #[serde(default)]
    pub description: String,
    /// The agents that may use it; `[]` for all.
    #[serde(default)]
    pub agents: Vec<String>,
    /// The channels where it may be used; `[]` for all.
    #[serde(default)]
    pub channels: Vec<String>,
    /// The roles of the people who may use it; `[]` for all.
    #[serde(default)]
    pub roles: Vec<Role>,
    /// The tables that may be read, as `name` or `schema.name`; `*` and `?` are wildcards; `[]` for
    /// all.
    #[serde(default)]
    pub tables: Vec<String>,
    /// Tables that are hidden from agents, as above.
    #[serde(default)]
    pub hidden_tables: Vec<String>,
    /// Columns that are hidden from agents, as `column`, `table.column` or `schema.table.column`;
    /// `*` and `?` are wildcards.
    #[serde(default)]
    pub hidden_columns: Vec<String>,
    /// Further functions that queries may call; those that only compute are always allowed.
    #[serde(default)]
    pub functions: Vec<String>,
    /// Maximum rows of a result, up to 100000.
    #[serde(default = "max_rows")]
    pub max_rows: usize,
    /// Maximum bytes of a result, up to 67108864 (64 MiB).
    #[serde(default = "max_bytes")]
    pub max_bytes: usize,
    /// How long a query may take, up to `2m`.
    #[serde(default = "timeout")]
    pub timeout: String,
    /// Maximum number of connections, up to 10.
    #[serde(default = "connections")]
    pub connections: u32,
}

fn max_rows() -> usize {
    5_000
}

fn max_bytes() -> usize {
    4 * 1024 * 1024
}

fn timeout() -> String {
    "15s".into()
}

fn connections() -> u32 {
    2
}

impl DatasourceEntry {
    /// Builds the source. It connects when it is first used.
    pub fn build(&self, variables: &BTreeMap<String, String>) -> Result<ConfiguredSource> {
        let url = self.url.reveal(variables).context("url")?;
        let database = DataSource::open(url.expose_secret(), self.limits()?)
            .map_err(|problem| anyhow::anyhow!("url: {problem}"))?;
        Ok(ConfiguredSource {
            name: self.name.clone(),
            description: self.description.clone(),
            database,
            visibility: self.visibility()?,
            functions: self.functions.iter().map(|name| name.to_lowercase()).collect(),
        })
    }

    fn visibility(&self) -> Result<Visibility> {
        Visibility::new(&self.tables, &self.hidden_tables, &self.hidden_columns)
            .map_err(|problem| anyhow::anyhow!("tables and hidden ones: {problem}"))
    }

    fn limits(&self) -> Result<QueryLimits> {
        let time = build::duration(&self.timeout).context("timeout")?.to_std()?;
        ensure!(time <= LONGEST, "timeout: at most {} s", LONGEST.as_secs());
        ensure!((1..=MAX_ROWS).contains(&self.max_rows), "max_rows: 1 to {MAX_ROWS}");
        ensure!((1..=MAX_BYTES).contains(&self.max_bytes), "max_bytes: 1 to {MAX_BYTES}");
        ensure!((1..=10).contains(&self.connections), "connections: 1 to 10");
        let (rows, bytes, connections) = (self.max_rows, self.max_bytes, self.connections);
        Ok(QueryLimits { rows, bytes, time, connections })
    }

    fn check(&self, config: &Config) -> Result<()> {
        let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        let fits = self.name.len() <= 40 && self.name.chars().all(is_plain);
        ensure!(fits, "name: a to z, 0 to 9 and _, at most 40");
        let agents = config.agent_ids();
        let each = |id: &String| exists("agent", id, &agents);
        self.agents.iter().try_for_each(each).context("agents")?;
        let channels = config.channel_ids();
        let each = |id: &String| exists("channel", id, &channels);
        self.channels.iter().try_for_each(each).context("channels")?;
        self.limits()?;
        self.visibility().map(drop)
    }

    /// The rules that deny all four tools to anyone without one of the roles of the source.
    fn rules(&self, config: &Config) -> Vec<RuleEntry> {
        let roles = Role::ALL.iter().filter(|role| !self.roles.contains(role));
        let roles: Vec<_> = roles.map(|role| role.as_str().to_owned()).collect();
        let agents = config.agents.iter().filter(|agent| !self.agents.contains(&agent.id));
        let agents: Vec<_> = agents.map(|agent| agent.id.clone()).collect();
        let channels =
            config.channels.iter().filter(|channel| !self.channels.contains(&channel.id));
        let channels: Vec<_> = channels.map(|channel| channel.id.clone()).collect();
        let is = Pattern::Regex(format!("^{}$", self.name));
        let rule = |of: RuleEntry| RuleEntry {
            name: Some(format!("datasources.{}", self.name)),
            fields: BTreeMap::from([("source".to_owned(), is.clone())]),
            severity: Severity::High,
            ..of
        };
        let mut all = Vec::new();
        for tool in ["describe_datasource", "sample_table", "query_sql"] {
            let deny = || rule(RuleEntry::of(tool, Action::Deny));
            if !self.roles.is_empty() && !roles.is_empty() {
                all.push(RuleEntry { roles: roles.clone(), ..deny() });
            }
            if !self.agents.is_empty() && !agents.is_empty() {
                all.push(RuleEntry { agents: agents.clone(), ..deny() });
            }
            if !self.channels.is_empty() && !channels.is_empty() {
                all.push(RuleEntry { channels: channels.clone(), ..deny() });
            }
        }
        all
    }
}

/// The rules of all entries.
pub(super) fn rules(config: &Config) -> Result<Vec<Rule>> {
    let entries: Vec<_> = config.datasources.iter().flat_map(|entry| entry.rules(config)).collect();
    Ok(rules::compile(&entries, Origin::Configuration)?)
}

pub(super) fn check(entry: &DatasourceEntry, config: &Config) -> Result<()> {
    entry.check(config).with_context(|| format!("datasources.{}", entry.name))
}

/// All data sources, for the tools.
pub fn sources(
    config: &Config,
    variables: &BTreeMap<String, String>,
) -> Result<Vec<ConfiguredSource>> {
    let source = |entry: &DatasourceEntry| {
        entry.build(variables).with_context(|| format!("datasources.{}", entry.name))
    };
    config.datasources.iter().map(source).collect()
}

/// The passwords in the URLs, for redaction.
pub fn passwords(config: &Config, variables: &BTreeMap<String, String>) -> BTreeSet<String> {
    let urls = config.datasources.iter().filter_map(|entry| entry.url.reveal(variables).ok());
    urls.flat_map(|url| address::passwords(url.expose_secret())).collect()
}
