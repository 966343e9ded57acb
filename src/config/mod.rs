//! The configuration: one TOML file, overridden by environment variables, with a default for
//! everything but secrets. Unknown keys are rejected.
//!
//! - [`secret`]: values that are never shown
//! - [`environment`]: environment variables
//! - [`schema`]: the JSON schema, with the doc comments of the fields as descriptions
//! - [`keys`]: the list of all keys, read from the schema
//! - [`mod@print`]: the current configuration as a commented file
//! - [`example`]: every key with its default, commented out
//! - [`edit`]: changes entries in the text of the file
//! - [`agents`], [`channels`], [`models`]: the entries of these lists
//! - [`admin`], [`oidc`], [`completions`]: the HTTP server, signing in, OpenAI clients
//! - [`listen`]: the address to listen on
//! - [`pace`]: the rate limits of a channel
//! - [`store`]: the database
//! - [`limits`]: limits and redaction
//! - [`audit`], [`browser`], [`builder`], [`datasources`], [`extensions`], [`extraction`],
//!   [`guard`], [`hooks`], [`http`], [`jobs`], [`mcp`], [`media`] ([`generation`],
//!   [`media_service`]), [`retention`], [`schedules`], [`web`], [`webhooks`], [`wasm`], [`wiki`]:
//!   the sections and lists of these names
//! - [`renamed`]: old names of keys
//! - [`paths`]: relative paths
//! - [`check`]: whether the values are consistent; [`references`]: whether a named entry exists
//! - [`mistakes`], [`mistake`], [`source`]: what is wrong, and in which line or variable
//! - [`build`]: converts values to budgets, limits and hooks, with errors that name the key

pub(crate) mod admin;
mod agents;
mod audit;
pub(crate) mod browser;
pub(crate) mod build;
pub(crate) mod builder;
pub(crate) mod channels;
mod check;
pub(crate) mod completions;
pub(crate) mod datasources;
pub(crate) mod edit;
pub(crate) mod environment;
pub(crate) mod example;
pub(crate) mod extensions;
pub(crate) mod extraction;
pub(crate) mod generation;
pub(crate) mod guard;
pub(crate) mod hooks;
pub(crate) mod http;
pub(crate) mod jobs;
pub(crate) mod keys;
pub(crate) mod limits;
pub(crate) mod listen;
mod mcp;
pub(crate) mod media;
mod media_service;
mod mistake;
mod mistakes;
pub(crate) mod models;
pub(crate) mod oidc;
pub(crate) mod pace;
mod paths;
pub(crate) mod print;
mod references;
mod renamed;
pub(crate) mod retention;
pub(crate) mod schedules;
pub(crate) mod schema;
pub(crate) mod secret;
mod source;
pub(crate) mod store;
pub(crate) mod wasm;
pub(crate) mod web;
pub(crate) mod webhooks;
pub(crate) mod wiki;

use anyhow::Result;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use crate::{gateway::BusyPolicy, tools::documents::Branding};
use admin::AdminConfig;
pub use agents::{AgentEntry, MemorySharing};
use audit::AuditConfig;
pub use channels::{ChannelEntry, ChannelKind, ChannelMode};
pub use guard::GuardConfig;
use hooks::HookEntry;
use limits::{LimitsConfig, RedactionConfig};
pub use mcp::McpEntry;
use mistakes::Parsed;
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
    /// The folder of the SQLite file, artifacts and workspaces. Relative paths in this file are
    /// relative to its folder, those in environment variables to the working directory.
    pub data_dir: PathBuf,
    /// The database.
    pub store: StoreConfig,
    /// The HTTP server: web chat, console, API and webhooks.
    pub admin: AdminConfig,
    /// How long data is kept.
    pub retention: retention::RetentionSection,
    /// Which tool calls need an approval, and who can decide.
    pub guard: GuardConfig,
    /// The appearance of documents that agents write.
    pub documents: Branding,
    /// Rate limits and daily budgets.
    pub limits: LimitsConfig,
    /// The redaction of secrets.
    pub redaction: RedactionConfig,
    /// The audit log.
    pub audit: AuditConfig,
    /// Shell commands of agents.
    pub shell: ShellConfig,
    /// How agents use skills.
    pub skills: SkillsConfig,
    /// Reminders and scheduled tasks.
    pub schedules: schedules::SchedulesSection,
    /// The models that agents can use; without any, the demo model.
    pub models: Vec<ModelEntry>,
    /// The agents; without any, one named `default`, which uses the first model.
    pub agents: Vec<AgentEntry>,
    /// Bot accounts and web chats; a web chat named `web` is added if there is none.
    pub channels: Vec<ChannelEntry>,
    /// MCP servers.
    pub mcp: Vec<McpEntry>,
    /// Search in the memory of agents.
    pub memory: MemoryConfig,
    /// Hooks, which check or change prompts, answers and tool calls.
    pub hooks: Vec<HookEntry>,
    /// Access to the web.
    pub web: web::WebSection,
    /// Incoming webhooks, which start turns.
    pub webhooks_in: Vec<webhooks::WebhookInEntry>,
    /// Webhook subscriptions.
    pub webhooks_out: Vec<webhooks::WebhookOutEntry>,
    /// Background jobs.
    pub jobs: jobs::JobsSection,
    /// Skills and MCP servers that agents may install.
    pub extensions: extensions::ExtensionsSection,
    /// Reading documents.
    pub extraction: extraction::ExtractionSection,
    /// Access to the wiki.
    pub wiki: wiki::WikiSection,
    /// Services for speech, pictures, videos, music and 3D models.
    // Boxed, because it is large and usually empty.
    pub media: Box<media::MediaSection>,
    /// WASM tools.
    pub wasm: wasm::WasmSection,
    /// The software builder.
    pub builder: builder::BuilderSection,
    /// Requests of the tool `http_request`.
    pub http: http::HttpSection,
    /// The browser that agents use.
    pub browser: browser::BrowserSection,
    /// Databases that agents may read.
    pub datasources: Vec<datasources::DatasourceEntry>,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ShellConfig {
    /// Whether agents may run commands, in the sandbox.
    pub enabled: bool,
    /// Hosts that commands may reach by HTTPS, or `host:port`; `*` and `?` are wildcards.
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
    /// Model for semantic search: `<id of a model>/<provider's name>`.
    pub embeddings: Option<String>,
    /// Its price per million tokens.
    pub embeddings_price: f64,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SkillsConfig {
    /// `true`: skills are listed and loaded with `load_skill`; `false`: trusted skills are included
    /// in every prompt in full.
    pub load_tool: bool,
    /// Hosts that scripts may reach, by skill, as for `shell.hosts`.
    pub hosts: BTreeMap<String, Vec<String>>,
}

impl Default for SkillsConfig {
    fn default() -> Self {
        Self { load_tool: true, hosts: BTreeMap::new() }
    }
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
            retention: retention::RetentionSection::default(),
            guard: GuardConfig::default(),
            documents: Branding::default(),
            limits: LimitsConfig::default(),
            redaction: RedactionConfig::default(),
            audit: AuditConfig::default(),
            shell: ShellConfig::default(),
            skills: SkillsConfig::default(),
            schedules: schedules::SchedulesSection::default(),
            models: Vec::new(),
            agents: Vec::new(),
            channels: Vec::new(),
            mcp: Vec::new(),
            memory: MemoryConfig::default(),
            hooks: Vec::new(),
            web: web::WebSection::default(),
            webhooks_in: Vec::new(),
            webhooks_out: Vec::new(),
            jobs: jobs::JobsSection::default(),
            extensions: extensions::ExtensionsSection::default(),
            extraction: extraction::ExtractionSection::default(),
            wiki: wiki::WikiSection::default(),
            media: Box::default(),
            wasm: wasm::WasmSection::default(),
            builder: builder::BuilderSection::default(),
            http: http::HttpSection::default(),
            browser: browser::BrowserSection::default(),
            datasources: Vec::new(),
        }
    }
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
        parsed.add(others.map(|text| mistakes::named(&text, &table)).collect());
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
