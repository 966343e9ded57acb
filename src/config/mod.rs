//! The configuration: one TOML file, overridden by environment variables, with a default for
//! everything but secrets. Unknown keys are rejected.
//!
//! - [`secret`]: values that are never shown
//! - [`environment`]: environment variables
//! - [`mod@print`]: the current configuration as a commented file, and the list of all keys
//!   ([`key`])
//! - [`example`]: every key with its default, commented out
//! - [`schema`]: the JSON schema
//! - [`edit`]: changes entries in the text of the file
//! - [`channels`], [`models`]: the entries of these lists
//! - [`admin`], [`oidc`], [`completions`]: the HTTP server, signing in, OpenAI clients
//! - [`listen`]: the address to listen on
//! - [`pace`]: the rate limits of a channel
//! - [`store`]: the database
//! - [`limits`]: hooks, limits, redaction, audit
//! - [`browser`], [`builder`], [`guard`], [`datasources`], [`extensions`], [`extraction`], [`http`], [`jobs`], [`mcp`], [`media`] ([`generation`]), [`retention`], [`schedules`], [`web`],
//!   [`webhooks`], [`wasm`], [`wiki`]: the sections and lists of these names
//! - [`renamed`]: old names of keys
//! - [`paths`]: relative paths
//! - [`check`]: whether the values are consistent
//! - [`mistakes`], [`source`]: what is wrong, and in which line or variable
//! - [`build`]: converts values to policies and budgets, with errors that name the key

pub mod admin;
pub mod browser;
pub mod build;
pub mod builder;
pub mod channels;
mod check;
pub mod completions;
pub mod datasources;
pub mod edit;
pub mod environment;
pub mod example;
pub mod extensions;
pub mod extraction;
pub mod generation;
mod guard;
pub mod http;
pub mod jobs;
pub mod key;
pub mod limits;
pub mod listen;
mod mcp;
pub mod media;
mod mistakes;
pub mod models;
pub mod oidc;
pub mod pace;
mod paths;
pub mod print;
mod renamed;
pub mod retention;
pub mod schedules;
pub mod schema;
pub mod secret;
mod source;
pub mod store;
pub mod wasm;
pub mod web;
pub mod webhooks;
pub mod wiki;

use anyhow::Result;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use crate::{agent::disclosure::Disclosure, gateway::BusyPolicy, tools::documents::Branding};
use admin::AdminConfig;
pub use channels::{ChannelEntry, ChannelKind, ChannelMode};
pub use guard::GuardConfig;
use limits::{AuditConfig, HookEntry, LimitsConfig, RedactionConfig};
pub use mcp::McpEntry;
use mistakes::{Mistake, Parsed};
pub use models::{ModelEntry, ProviderName, ToolCallStyle};
use secret::Secret;
use source::ConfigSource;
use store::StoreConfig;

/// The file that is read by default, if it exists.
pub const DEFAULT_FILE: &str = "countersign.toml";
/// The file of the SQLite database in `data_dir`.
pub const DATABASE: &str = "countersign.db";

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// The path of the file.
    #[serde(skip)]
    pub file: PathBuf,
    /// Notices about keys that the file still has under their old names.
    #[serde(skip)]
    pub renamed: Vec<String>,
    /// `data_dir` as written in the file, if it is relative and the file is not in the working
    /// directory. Earlier releases resolved it relative to the working directory.
    #[serde(skip)]
    pub former_data_dir: Option<PathBuf>,
    pub data_dir: PathBuf,
    pub store: StoreConfig,
    pub admin: AdminConfig,
    pub guard: GuardConfig,
    pub documents: Branding,
    pub limits: LimitsConfig,
    pub redaction: RedactionConfig,
    pub audit: AuditConfig,
    pub retention: retention::RetentionSection,
    pub models: Vec<ModelEntry>,
    pub agents: Vec<AgentEntry>,
    pub channels: Vec<ChannelEntry>,
    pub mcp: Vec<McpEntry>,
    pub memory: MemoryConfig,
    pub hooks: Vec<HookEntry>,
    pub shell: ShellConfig,
    pub skills: SkillsConfig,
    pub http: http::HttpSection,
    pub datasources: Vec<datasources::DatasourceEntry>,
    pub schedules: schedules::SchedulesSection,
    pub jobs: jobs::JobsSection,
    pub extensions: extensions::ExtensionsSection,
    pub extraction: extraction::ExtractionSection,
    pub browser: browser::BrowserSection,
    pub wiki: wiki::WikiSection,
    /// Boxed, because it is large and usually empty.
    pub media: Box<media::MediaSection>,
    pub wasm: wasm::WasmSection,
    pub builder: builder::BuilderSection,
    pub web: web::WebSection,
    pub webhooks_in: Vec<webhooks::WebhookInEntry>,
    pub webhooks_out: Vec<webhooks::WebhookOutEntry>,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ShellConfig {
    pub enabled: bool,
    pub hosts: Vec<String>,
}

impl Default for ShellConfig {
    fn default() -> Self {
        Self { enabled: true, hosts: Vec::new() }
    }
}

#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MemoryConfig {
    /// The id of a model, and its provider's name of the embedding model.
    pub embeddings: Option<String>,
    pub embeddings_price: f64,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SkillsConfig {
    pub load_tool: bool,
    pub hosts: BTreeMap<String, Vec<String>>,
}

impl Default for SkillsConfig {
    fn default() -> Self {
        Self { load_tool: true, hosts: BTreeMap::new() }
    }
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentEntry {
    pub id: String,
    pub model: String,
    #[serde(default = "default_prompt")]
    pub system_prompt: String,
    /// For agents that may delegate work to it.
    #[serde(default)]
    pub description: String,
    pub workspace: Option<PathBuf>,
    pub skills_dir: Option<PathBuf>,
    #[serde(default)]
    pub disclosure: Disclosure,
    /// The built-in tools and the servers' tools that it has; empty means all.
    #[serde(default)]
    pub tools: Vec<String>,
    #[serde(default)]
    pub mcp: Vec<String>,
    #[serde(default)]
    pub memory: MemorySharing,
    pub max_steps: Option<u32>,
    pub max_tokens: Option<u64>,
    pub max_minutes: Option<u32>,
    pub max_output_tokens: Option<u32>,
    pub context_tokens: Option<u64>,
}

/// Who shares an agent's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MemorySharing {
    #[default]
    Chat,
    Agent,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            file: DEFAULT_FILE.into(),
            renamed: Vec::new(),
            former_data_dir: None,
            data_dir: paths::DATA_DIR.into(),
            store: StoreConfig::default(),
            admin: AdminConfig::default(),
            guard: GuardConfig::default(),
            documents: Branding::default(),
            limits: LimitsConfig::default(),
            redaction: RedactionConfig::default(),
            audit: AuditConfig::default(),
            retention: retention::RetentionSection::default(),
            models: Vec::new(),
            agents: Vec::new(),
            channels: Vec::new(),
            mcp: Vec::new(),
            memory: MemoryConfig::default(),
            hooks: Vec::new(),
            shell: ShellConfig::default(),
            skills: SkillsConfig::default(),
            http: http::HttpSection::default(),
            datasources: Vec::new(),
            schedules: schedules::SchedulesSection::default(),
            jobs: jobs::JobsSection::default(),
            extensions: extensions::ExtensionsSection::default(),
            extraction: extraction::ExtractionSection::default(),
            browser: browser::BrowserSection::default(),
            wiki: wiki::WikiSection::default(),
            media: Box::default(),
            wasm: wasm::WasmSection::default(),
            builder: builder::BuilderSection::default(),
            web: web::WebSection::default(),
            webhooks_in: Vec::new(),
            webhooks_out: Vec::new(),
        }
    }
}

fn default_prompt() -> String {
    "You are a careful, friendly assistant in a chat. Answer briefly and in the language of the \
     person. Use your tools to do what is asked instead of describing how it could be done."
        .into()
}

fn yes() -> bool {
    true
}

impl Config {
    /// Reads the file (the default one may be missing) and overrides it with `variables`. Relative
    /// paths in the file are relative to its folder, those in variables to the working directory.
    /// The error lists all mistakes.
    pub fn load(file: Option<&Path>, variables: &BTreeMap<String, String>) -> Result<Self> {
        let mut source = ConfigSource::read(file)?;
        let mut table = source.table()?;
        let mut mistakes = Vec::new();
        let renamed = renamed::rename(&mut table, &mut mistakes);
        let folder = file.and_then(Path::parent).unwrap_or(Path::new(""));
        let former = paths::resolve(&mut table, folder);
        environment::from_well_known_variables(&mut table, variables, &mut source.variables);
        mistakes.extend(environment::overlay(&mut table, variables, &mut source.variables));
        let mut parsed = Parsed::of(&table);
        parsed.mistakes.splice(0..0, mistakes);
        let config = parsed.config.take().map(Self::complete);
        let others = config.iter().flat_map(check::check);
        parsed.add(others.map(|text| Mistake::named(&text, &table)).collect());
        let Some(mut config) = config.filter(|_| parsed.mistakes.is_empty()) else {
            return Err(mistakes::error(&parsed.mistakes, &source, &table));
        };
        config.file = file.map_or(config.file, Path::to_owned);
        config.renamed = renamed;
        config.admin.accept_own_name(&table);
        config.former_data_dir = former.filter(|_| config.data_dir.starts_with(folder));
        Ok(config)
    }

    /// Adds the defaults: a web chat, an agent, the demo model.
    fn complete(mut self) -> Self {
        if self.models.is_empty() {
            self.models.push(environment::demo());
        }
        if self.agents.is_empty() {
            self.agents.push(environment::default_agent(&self.models[0].id));
        }
        if !self.channels.iter().any(ChannelEntry::is_own_chat) {
            self.channels.push(environment::web(self.agents[0].id.clone()));
        }
        self.channels.iter_mut().for_each(ChannelEntry::own_by_default);
        self
    }

    /// All secrets of the configuration.
    pub fn secrets(&self) -> impl Iterator<Item = &Secret> {
        let models = self.models.iter().filter_map(|model| model.api_key.as_ref());
        let channels = self.channels.iter().flat_map(|c| {
            [c.token.as_ref(), c.webhook_secret.as_ref(), c.previous_webhook_secret.as_ref()]
        });
        let mcp = self.mcp.iter().flat_map(McpEntry::secrets);
        models
            .chain(channels.flatten())
            .chain(mcp)
            .chain(self.web.secrets())
            .chain(self.http.secrets())
            .chain(self.media.secrets())
            .chain(self.extensions.secrets())
            .chain(&self.extraction.passwords)
            .chain(self.datasources.iter().map(|entry| &entry.url))
            .chain(self.webhook_secrets())
            .chain(&self.store.encryption_key)
            .chain(&self.store.previous_encryption_key)
            .chain(&self.admin.metrics_token)
            .chain(&self.admin.oidc.client_secret)
    }

    /// The agent's skill folder.
    pub fn skills_dir(&self, agent: &AgentEntry) -> PathBuf {
        agent.skills_dir.clone().unwrap_or_else(|| self.data_dir.join("skills"))
    }

    pub fn store_url(&self) -> String {
        self.store
            .url
            .clone()
            .unwrap_or_else(|| format!("sqlite://{}", self.data_dir.join(DATABASE).display()))
    }

    /// The URL that a browser on this machine opens.
    pub fn web_url(&self) -> String {
        match &self.admin.public_url {
            Some(url) => url.as_str().trim_end_matches('/').to_owned(),
            None => format!("http://{}", self.admin.listen),
        }
    }
}
