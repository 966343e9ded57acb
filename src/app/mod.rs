//! Builds everything from the configuration; the only place that knows all concrete types.
//!
//! - [`channels`], [`models`], [`tools`]: each from its section of the configuration
//! - [`rules`]: guard rules from the command line
//! - [`terminal`]: a talk on the terminal
//! - [`backup`]: everything that is remembered, as one file

pub mod backup;
pub mod channels;
mod discord;
pub mod models;
pub mod rules;
pub mod terminal;
pub mod tools;

use anyhow::{Context as _, Result};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};
use tokio::net::TcpListener;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    admin::{self, Admin},
    agent::{Agent, catalog::Catalog, redact::Redactor},
    clock::{Clock, SystemClock},
    config::{AgentEntry, Config, ProviderName, build},
    gateway::{Connected, Gateway},
    llm::Model,
    store::{Store, db, files::Artifacts},
    tools::{
        Tool,
        sandbox::Sandbox,
        toolbox::{self, Toolbox},
        web,
    },
    worker::{Worker, Workspaces, fetch::Room, scene::RuleBook, sessions::Sessions},
};

/// How long a stop waits for turns to end by themselves; what has not ended by then goes on after
/// the next start, or on another node. With what is left to do after it, a stop takes ten seconds
/// at most.
const GRACE: Duration = Duration::from_secs(8);

/// A gateway, whole.
pub struct App {
    pub gateway: Arc<Gateway>,
    pub worker: Arc<Worker>,
    pub admin: Arc<Admin>,
    pub sandbox: Arc<Sandbox>,
}

/// What a test gives instead of what the configuration says.
#[derive(Default)]
pub struct Given {
    pub clock: Option<Arc<dyn Clock>>,
    pub models: BTreeMap<String, Arc<dyn Model>>,
    pub tools: Vec<Arc<dyn Tool>>,
    pub channels: BTreeMap<String, Connected>,
    pub sandbox: Option<Arc<Sandbox>>,
}

impl App {
    /// Opens the database and builds everything; nothing runs yet.
    pub async fn open(
        config: &Config,
        variables: &BTreeMap<String, String>,
        given: Given,
    ) -> Result<Self> {
        let store = open_store(config).await?;
        let (mut channels, webs) = channels::connect(config, variables, &store).await?;
        channels.extend(given.channels);
        let gateway = Arc::new(Gateway {
            store,
            clock: given.clock.unwrap_or_else(|| Arc::new(SystemClock)),
            artifacts: Artifacts::new(config.data_dir.join("artifacts")),
            channels,
            messages_per_minute: config.limits.messages_per_minute,
            models: config.models.iter().map(|model| model.id.clone()).collect(),
            paces: crate::gateway::pace::Paces::default(),
            tasks: TaskTracker::new(),
            stop: CancellationToken::new(),
        });
        let secrets = secrets(config, variables);
        let redactor =
            Redactor::new(secrets.iter().map(String::as_str)).for_results(config.redaction.results);
        let sandbox = match given.sandbox {
            Some(sandbox) => sandbox,
            None => Arc::new(Sandbox::probe(&std::env::current_exe()?).await),
        };
        let toolbox = Arc::new(Toolbox::redacting(redactor.clone()));
        let house = config.documents.clone();
        let confined = toolbox::sandboxed(&sandbox, config.shell.enabled);
        for tool in toolbox::builtin(house).into_iter().chain(confined).chain(given.tools) {
            toolbox.register(tool)?;
        }
        for tool in web::tools(config.web.build(variables)?)? {
            toolbox.register(tool)?;
        }
        let models = models::build(config, variables, &given.models)?;
        let worker = Arc::new(Worker {
            gateway: gateway.clone(),
            agents: RwLock::new(agents(config, &toolbox)?),
            models,
            toolbox,
            sessions: Sessions::default(),
            workspaces: workspaces(config),
            hooks: build::hooks(&config.hooks)?,
            redactor,
            limits: build::limits(config),
            keep_audit: build::keep(&config.audit)?,
            rules: RuleBook::default(),
            fetching: Room::default(),
        });
        let demo = config.models.iter().any(|m| m.provider == ProviderName::Demo);
        let admin = Arc::new(Admin::new(gateway.clone(), webs, demo));
        let app = Self { gateway, worker, admin, sandbox: sandbox.clone() };
        tools::connect_mcp(&app, config, variables, &sandbox).await?;
        Ok(app)
    }

    /// Starts every loop but the web server.
    pub fn start(&self) {
        self.gateway.start();
        self.worker.start();
    }

    /// Serves the web chat, health and webhooks until the stop.
    pub fn serve(&self, listener: TcpListener) {
        let serving = admin::serve(self.admin.clone(), listener, self.gateway.stop.clone());
        self.gateway.tasks.spawn(async move {
            if let Err(problem) = serving.await {
                tracing::error!(problem = format!("{problem:#}"), "the web server ended");
            }
        });
    }

    /// Intake ends, turns end or are left for later, leases are given back.
    pub async fn stop(&self) -> Result<()> {
        self.gateway.stop.cancel();
        self.gateway.tasks.close();
        if tokio::time::timeout(GRACE, self.gateway.tasks.wait()).await.is_err() {
            tracing::warn!(tasks = self.gateway.tasks.len(), "left for the next start");
        }
        self.gateway.store.release_all().await
    }
}

/// The database that the configuration names.
pub async fn open_store(config: &Config) -> Result<Store> {
    let lease = build::duration(&config.store.lease).context("store.lease")?;
    let lease = lease.to_std().context("store.lease")?;
    Store::open(&config.store_url(), config.store.durability, lease).await
}

/// The agents, with the tools that there are now.
fn agents(config: &Config, toolbox: &Toolbox) -> Result<BTreeMap<String, Arc<Agent>>> {
    let agent = |entry: &AgentEntry| -> Result<_> {
        let skills = tools::skills(config, entry)?;
        let agent = Agent {
            id: entry.id.clone(),
            model: entry.model.clone(),
            system_prompt: entry.system_prompt.clone(),
            catalog: Catalog::new(build::limited(&config.limits, toolbox.specs())?, skills)?,
            policy: build::policy(&config.guard)?,
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

/// Lets the agents see tools that have come since the start.
fn refresh_agents(worker: &Worker, config: &Config) -> Result<()> {
    let agents = agents(config, &worker.toolbox)?;
    *worker.agents.write().unwrap_or_else(PoisonError::into_inner) = agents;
    Ok(())
}

fn workspaces(config: &Config) -> Workspaces {
    let shared = config
        .agents
        .iter()
        .filter_map(|agent| Some((agent.id.clone(), agent.workspace.clone()?)))
        .collect();
    Workspaces { root: config.data_dir.join("workspaces"), shared }
}

/// Every secret that the configuration names: what logs must not show.
pub fn secrets(config: &Config, variables: &BTreeMap<String, String>) -> BTreeSet<String> {
    use secrecy::ExposeSecret as _;
    let models = config.models.iter().filter_map(|m| m.api_key.as_ref());
    let channels = config.channels.iter().flat_map(|c| {
        [c.token.as_ref(), c.webhook_secret.as_ref(), c.webhook_secret_before.as_ref()]
    });
    let mcp = config.mcp.iter().flat_map(|m| m.env.values().chain(m.bearer.as_ref()));
    models
        .chain(channels.flatten())
        .chain(mcp)
        .chain(config.web.secrets())
        .filter_map(|secret| secret.reveal(variables).ok())
        .map(|secret| secret.expose_secret().to_owned())
        .chain(db::passwords(&config.store_url()))
        .collect()
}
