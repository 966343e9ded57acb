//! Builds everything from the configuration. The only module that knows all concrete types.
//!
//! - [`channels`], [`models`], [`tools`], [`builder`]: built from their sections of the configuration
//! - [`extensions`]: installed MCP servers; `discord`: connects an account; `masked_paths`: paths hidden from sandboxed programs
//! - [`database`]: the store, its lock and its keys; [`terminal`]: a conversation in the terminal
//! - [`reload`]: applies a new configuration at run time
//! - [`settings_file`]: changes the configuration file; [`secret_files`]: keys and tokens beside it
//! - `server`: the HTTP server; [`backup`]: backup and restore; [`wasm`]: WASM tools

pub(crate) mod backup;
pub(crate) mod builder;
pub(crate) mod channels;
pub(crate) mod database;
mod discord;
pub(crate) mod extensions;
mod masked_paths;
pub(crate) mod models;
pub(crate) mod reload;
pub(crate) mod secret_files;
mod server;
pub(crate) mod settings_file;
pub(crate) mod terminal;
pub(crate) mod tools;
pub(crate) mod wasm;

use anyhow::{Context as _, Result};
use parking_lot::{Mutex, RwLock};
use sandbox::Sandbox;
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};
use tokio::{net::TcpListener, time::Instant};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use database::{encryption, lock, open_store};
pub use secret_files::secrets;
use wasm::WasmModules;

use crate::{
    admin::{self, Admin, push::notify, reload::Requests},
    agent::{
        Agent,
        catalog::Catalog,
        delegation,
        redact::{self, Redactor},
    },
    clock::{Clock, SystemClock},
    config::{AgentEntry, Config, MemorySharing, build, guard, retention},
    gateway::{
        Connected, Gateway,
        webhooks::outgoing::{self, WebhookSender},
    },
    llm::Model,
    store::{Store, db::address, files::Artifacts},
    telemetry,
    tools::{
        Tool,
        builder::records::BuildRecords,
        contract::toolbox::Toolbox,
        jobs,
        mcp::{server::Servers, supervisor::Supervisor},
        memory::{self, semantic_search::Meaning},
        results, schedule, wiki,
    },
    worker::{
        Worker, Workspaces, agent_cache::AgentCache, fetch::FetchBudget, guard_context::RuleBook,
        session_cache::SessionCache,
    },
};

/// How long shutdown waits for running turns. Turns that have not ended continue after the next
/// start or on another node. Shutdown as a whole takes at most ten seconds.
const GRACE: Duration = Duration::from_secs(7);
/// The time for the release of all leases.
const RELEASE_FOR: Duration = Duration::from_secs(3);

/// How often folders are read again for new skills, servers and components.
const RESCAN_EVERY: Duration = Duration::from_secs(10);

/// A complete gateway.
pub struct App {
    pub gateway: Arc<Gateway>,
    pub worker: Arc<Worker>,
    pub admin: Arc<Admin>,
    pub sandbox: Arc<Sandbox>,
    pub webhook_sender: Arc<WebhookSender>,
    pub wasm: Arc<WasmModules>,
    config: Config,
    variables: Arc<BTreeMap<String, String>>,
    /// The supervisors of MCP servers, until they are started.
    watches: Mutex<Vec<(String, Supervisor)>>,
    installed_servers: extensions::SharedServers,
}

/// Overrides of the configuration by tests.
#[derive(Default)]
pub struct Overrides {
    pub clock: Option<Arc<dyn Clock>>,
    pub models: BTreeMap<String, Arc<dyn Model>>,
    pub tools: Vec<Arc<dyn Tool>>,
    pub channels: BTreeMap<String, Connected>,
    pub sandbox: Option<Arc<Sandbox>>,
    /// Receives requests of the API and the console, for example to reload the configuration.
    pub requests: Option<Requests>,
    /// How long to wait for the tools of MCP servers.
    pub servers_within: Option<Duration>,
}

impl App {
    /// Opens the database and builds everything, without starting anything.
    pub async fn open(
        config: &Config,
        variables: &BTreeMap<String, String>,
        given: Overrides,
    ) -> Result<Self> {
        // Boxed, because it is large, and would be part of each future that waits for it.
        Box::pin(Self::build(config, variables, given)).await
    }

    async fn build(
        config: &Config,
        variables: &BTreeMap<String, String>,
        given: Overrides,
    ) -> Result<Self> {
        // At the same time, since both wait for other processes and disks.
        let (store, sandbox) = tokio::join!(open_store(config), probed(given.sandbox));
        let store = store?.with_encryption(encryption(config, variables)?);
        let sandbox = sandbox?;
        let artifacts = Artifacts::new(config.data_dir.join("artifacts"));
        let (mut channels, webs) = channels::connect(config, variables, &store, &artifacts).await?;
        channels.extend(given.channels);
        let gateway = Arc::new(Gateway {
            clock: given.clock.unwrap_or_else(|| Arc::new(SystemClock)),
            channels,
            ..gateway(config, store, artifacts)
        });
        let models = models::build(config, variables, &given.models)?;
        let tools = tools::all(config, variables, &sandbox, &gateway.store)?.chain(given.tools);
        let mut tools: Vec<_> = tools.collect();
        let redactor = redactor(config, variables, &tools);
        let writers = builder::writers(config, &models, &redactor)?;
        tools.extend(builder::tools(config, writers, &sandbox, &gateway).await?);
        let toolbox = Arc::new(toolbox(redactor, variables, &sandbox, tools)?);
        let worker = Arc::new(Worker {
            gateway: gateway.clone(),
            agents: RwLock::new(agents(config, &toolbox)?),
            models,
            redactor: toolbox.redactor.clone(),
            toolbox,
            mcp_servers: Servers::default(),
            sessions: SessionCache::default(),
            workspaces: workspaces(config),
            hooks: build::hooks(&config.hooks)?,
            hook_sandbox: tools::hook_sandbox(config, &sandbox),
            limits: build::limits(config),
            retention: retention::retention(config)?,
            shared_memory: shared_memory(config),
            rules: RuleBook::default(),
            fetching: FetchBudget::default(),
            transcriber: tools::media(config, variables)?.transcription,
            agent_cache: AgentCache::default(),
        });
        let webhook_sender = server::webhook_sender(config, variables, &gateway)?;
        let admin = server::admin_server(config, variables, &worker, webs, &webhook_sender)?;
        let loader = wasm::loader(config, variables, &gateway.store, &gateway.clock)?;
        let wasm = Arc::new(WasmModules::new(loader));
        let admin = admin.with_wasm_modules(wasm.statuses.clone()).with_requests(given.requests);
        admin::metrics::begin(&gateway);
        let app = Self {
            gateway,
            worker,
            admin: Arc::new(admin),
            sandbox,
            webhook_sender,
            wasm,
            config: config.clone(),
            variables: Arc::new(variables.clone()),
            watches: <_>::default(),
            installed_servers: <_>::default(),
        };
        app.load_tools(given.servers_within.unwrap_or(tools::SERVERS_WITHIN)).await?;
        // Subscribing is the last step that can fail, so an invalid configuration changes nothing.
        app.gateway.store.subscribe(app.webhook_sender.topics()).await?;
        Ok(app)
    }

    /// Loads the tools that are not part of the program.
    async fn load_tools(&self, servers_within: Duration) -> Result<()> {
        let deadline = || Instant::now() + servers_within;
        tools::connect_mcp(self, &self.variables, deadline()).await?;
        self.update_wasm_tools().await?;
        self.update_installed_servers(deadline()).await
    }

    /// Starts all loops except for the web server.
    pub fn start(&self) {
        self.gateway.start();
        self.worker.start();
        let (gateway, sender) = (self.gateway.clone(), self.webhook_sender.clone());
        self.gateway.spawn_supervised("send webhooks", move || outgoing::deliver(sender.clone()));
        let admin = self.admin.clone();
        self.gateway.spawn_supervised("notify browsers", move || notify::notify(admin.clone()));
        self.gateway.spawn_supervised("metrics", move || admin::metrics::keep(gateway.clone()));
        tools::watch_skills(self);
        tools::watch_mcp(self);
        extensions::watch(self);
        wasm::watch(self);
    }

    /// Serves the web chat, API and webhooks until shutdown.
    pub fn serve(&self, listener: TcpListener) {
        let serving = admin::serve(self.admin.clone(), listener, self.gateway.stop.clone());
        self.gateway.tasks.spawn(async move {
            if let Err(problem) = serving.await {
                tracing::error!(problem = format!("{problem:#}"), "the web server failed");
            }
        });
    }

    /// Stops intake and lets running work finish, without a time limit: another app takes over.
    async fn drain(&self) -> Result<()> {
        let store = &self.gateway.store;
        self.gateway.stop.cancel();
        self.gateway.tasks.close();
        // The running work keeps its leases meanwhile.
        let (released, ()) = tokio::join!(store.release_duties(), self.renew_leases_until_idle());
        if let Err(error) = released {
            tracing::error!(error = format!("{error:#}"), "could not release duties; they expire");
        }
        store.release_all().await
    }

    /// Renews the leases of running work until its last task has ended.
    async fn renew_leases_until_idle(&self) {
        let (tasks, store) = (&self.gateway.tasks, &self.gateway.store);
        let mut wait = store.heartbeat_every();
        while tokio::time::timeout(wait, tasks.wait()).await.is_err() {
            wait = store.keep_leases().await;
        }
    }

    /// Stops intake, waits for turns to end within [`GRACE`], and releases the leases.
    pub async fn stop(&self) -> Result<()> {
        self.gateway.stop.cancel();
        self.gateway.tasks.close();
        if tokio::time::timeout(GRACE, self.renew_leases_until_idle()).await.is_err() {
            tracing::warn!(
                tasks = self.gateway.tasks.len(),
                "shut down with unfinished tasks; they continue after the next start"
            );
        }
        let released = tokio::time::timeout(RELEASE_FOR, self.gateway.store.release_all()).await;
        released.context("the database did not answer; the leases expire by themselves")?
    }
}

/// A gateway without channels.
fn gateway(config: &Config, store: Store, artifacts: Artifacts) -> Gateway {
    Gateway {
        store,
        clock: Arc::new(SystemClock),
        artifacts,
        channels: BTreeMap::new(),
        messages_per_minute: config.limits.messages_per_minute,
        models: config.models.iter().map(|model| model.id.clone()).collect(),
        prompts: crate::tools::mcp::prompts::PromptCommands::default(),
        rate_limiter: crate::gateway::rate_limit::RateLimiter::default(),
        breakers: Arc::default(),
        tasks: TaskTracker::new(),
        stop: CancellationToken::new(),
    }
}

/// The tools that store data in the database.
fn stored(
    config: &Config,
    variables: &BTreeMap<String, String>,
    store: &Store,
) -> Result<Vec<Arc<dyn Tool>>> {
    let terms = config.schedules.build()?;
    let meaning = models::embeddings(config, variables)?.map(|(name, model)| {
        let (store, model) = (store.clone(), Arc::new(model));
        Meaning { store, model, name }
    });
    let mut tools = memory::tools(store, terms.zone, meaning.clone());
    tools.extend(wiki::tools(store, meaning).into_iter().chain(schedule::tools(store, terms)));
    tools.extend(jobs::tools(store, config.jobs.build(build::coworkers(&config.agents))?));
    tools.extend(results::tools(store));
    Ok(tools)
}

/// Builds the agents from the current tools.
fn agents(config: &Config, toolbox: &Toolbox) -> Result<BTreeMap<String, Arc<Agent>>> {
    let agent = |entry: &AgentEntry| -> Result<_> {
        let skills = tools::skills(config, entry)?;
        let coworkers = build::coworkers(&config.agents);
        let specs = [toolbox.specs(), delegation::specs(&coworkers)].concat();
        let specs = build::bound(entry, build::limited(&config.limits, specs)?)?;
        let agent = Agent {
            id: entry.id.clone(),
            model: entry.model.clone(),
            system_prompt: entry.system_prompt.clone(),
            catalog: Catalog::new(specs, skills)?
                .with_coworkers(coworkers)
                .disclosing(entry.disclosure)
                .loading_skills(config.skills.load_tool),
            policy: guard::policy(config)?,
            budget: build::budget(entry),
        };
        Ok((entry.id.clone(), Arc::new(agent)))
    };
    config
        .agents
        .iter()
        .map(|entry| agent(entry).with_context(|| format!("agents.{}", entry.id)))
        .collect()
}

impl App {
    /// Registers a tool at run time. Agents have it from the next model request on.
    pub fn add_tool(&self, tool: Arc<dyn Tool>) -> Result<()> {
        self.worker.toolbox.register(tool)?;
        refresh_agents(&self.worker, &self.config)
    }
}

/// Updates the agents after tools were added or removed.
fn refresh_agents(worker: &Worker, config: &Config) -> Result<()> {
    let agents = agents(config, &worker.toolbox)?;
    *worker.agents.write() = agents;
    Ok(())
}

fn workspaces(config: &Config) -> Workspaces {
    let shared = config
        .agents
        .iter()
        .filter_map(|agent| Some((agent.id.clone(), agent.workspace.clone()?)))
        .collect();
    let builds = BuildRecords::new(builder::folder(config));
    Workspaces { root: config.data_dir.join("workspaces"), shared, builds }
}

/// This sandbox, or that of this machine.
async fn probed(sandbox: Option<Arc<Sandbox>>) -> Result<Arc<Sandbox>> {
    match sandbox {
        Some(sandbox) => Ok(sandbox),
        None => Ok(Arc::new(Sandbox::probe(&std::env::current_exe()?).await)),
    }
}

/// Redacts the secrets of the configuration and the values of the environment variables that tools
/// require.
fn redactor(
    config: &Config,
    variables: &BTreeMap<String, String>,
    tools: &[Arc<dyn Tool>],
) -> Redactor {
    let mut hidden = secrets(config, variables);
    let needed = tools.iter().flat_map(|tool| tool.spec().env).filter(|v| v.default.is_none());
    hidden.extend(needed.filter_map(|variable| variable.value(variables)));
    telemetry::hide(&hidden);
    let redactor = Redactor::new(hidden.iter().map(String::as_str));
    redactor.for_results(config.redaction.results)
}

fn toolbox(
    redactor: Redactor,
    variables: &BTreeMap<String, String>,
    sandbox: &Arc<Sandbox>,
    tools: Vec<Arc<dyn Tool>>,
) -> Result<Toolbox> {
    let toolbox = Toolbox::with_redactor(redactor).with_environment(variables.clone());
    let toolbox = toolbox.with_sandbox(sandbox.clone());
    for tool in tools {
        toolbox.register(tool)?;
    }
    Ok(toolbox)
}

fn shared_memory(config: &Config) -> BTreeSet<String> {
    let shared = config.agents.iter().filter(|agent| agent.memory == MemorySharing::Agent);
    shared.map(|agent| agent.id.clone()).collect()
}

/// The configuration for display, without any password.
fn shown(config: &Config) -> Result<Value> {
    let without = |_: Option<&str>, text: &str| match url::Url::parse(text) {
        Ok(url) if url.password().is_some() || url.query().is_some() => {
            address::without_password(text)
        }
        _ => text.to_owned(),
    };
    Ok(redact::mapped(&serde_json::to_value(config)?, &without))
}
