//! Connects installed MCP servers, and follows changes of their folder: servers are installed,
//! updated, disabled and removed while the gateway runs.

use anyhow::{Context as _, Result};
use futures::future::join_all;
use sandbox::{
    Sandbox,
    egress::Egress,
    service::{ServerNetwork, ServerSandbox},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};
use tokio::{sync::Mutex, task::JoinHandle, time::Instant};
use tokio_util::sync::CancellationToken;

use super::{
    App, RESCAN_EVERY,
    masked_paths::{absolute, hidden},
    refresh_agents,
    tools::{SERVERS_WITHIN, refresh_prompts, take},
};
use crate::{
    agent::catalog::Tier,
    clock::stops_within,
    config::{Config, McpEntry},
    tools::{
        extensions::installed::{InstalledServer, ServerFolder, ServerState},
        mcp::{ConnectionMode, McpConfig, Protocol, Server, supervisor::Supervisor},
        web::client::WebClient,
    },
    worker::Worker,
};

/// The connected servers of a gateway, by name.
pub(super) type SharedServers = Arc<Mutex<BTreeMap<String, ConnectedServer>>>;

pub(super) struct ConnectedServer {
    server: InstalledServer,
    supervision: Supervision,
}

enum Supervision {
    /// The supervisor, until the gateway starts it.
    NotStarted(Option<Box<Supervisor>>),
    Running {
        stop: CancellationToken,
        task: JoinHandle<()>,
    },
}

/// What connecting requires.
#[derive(Clone)]
struct Connector {
    worker: Arc<Worker>,
    config: Config,
    variables: Arc<BTreeMap<String, String>>,
    sandbox: Arc<Sandbox>,
    connected: SharedServers,
    /// The reasons that were logged, by server.
    reported: Arc<parking_lot::Mutex<BTreeMap<String, String>>>,
}

impl App {
    /// Connects servers that are new or have changed, and disconnects those that were removed or
    /// disabled. A problem with one of them is only reported. The tools of a server that has not
    /// answered at the deadline follow.
    pub async fn update_installed_servers(&self, deadline: Instant) -> Result<()> {
        if self.connector().update(deadline).await {
            refresh_agents(&self.worker, &self.config)?;
        }
        Ok(())
    }

    fn connector(&self) -> Connector {
        Connector {
            worker: self.worker.clone(),
            config: self.config.clone(),
            variables: self.variables.clone(),
            sandbox: self.sandbox.clone(),
            connected: self.installed_servers.clone(),
            reported: Arc::default(),
        }
    }
}

/// Follows the folder of installed servers until shutdown.
pub(super) fn watch(app: &App) {
    let connector = app.connector();
    app.gateway.spawn_supervised("watch installed servers", move || follow(connector.clone()));
}

async fn follow(connector: Connector) {
    let stop = connector.worker.gateway.stop.clone();
    loop {
        connector.supervise().await;
        if stops_within(RESCAN_EVERY, &stop).await {
            return;
        }
        if connector.update(Instant::now() + SERVERS_WITHIN).await {
            connector.refresh();
        }
    }
}

impl Connector {
    /// Returns whether the tools have changed.
    async fn update(&self, deadline: Instant) -> bool {
        let mut connected = self.connected.lock().await;
        let mut wanted = match ServerFolder::of(&self.config.data_dir).installed() {
            Ok(installed) => installed,
            Err(problem) => {
                tracing::error!(problem = format!("{problem:#}"), "cannot read installed servers");
                return false;
            }
        };
        // A server of the configuration has precedence.
        let configured: BTreeSet<_> =
            self.config.mcp.iter().map(McpEntry::tools_begin_with).collect();
        wanted.retain(|name, server| {
            server.state == ServerState::Enabled && !configured.contains(name)
        });
        let ended: Vec<_> = connected
            .extract_if(.., |name, one| one.has_ended() || wanted.get(name) != Some(&one.server))
            .collect();
        let mut changed = false;
        for (name, one) in ended {
            changed |= self.disconnect(&name, one).await;
        }
        wanted.retain(|name, _| !connected.contains_key(name));
        let new = wanted.into_iter().map(async |(name, server)| {
            let result = self.connect(&name, &server, deadline).await;
            (name, server, result)
        });
        let mut failed = BTreeMap::new();
        for (name, server, result) in join_all(new).await {
            match result {
                Ok((supervisor, has_tools)) => {
                    changed |= has_tools;
                    let supervision = Supervision::NotStarted(Some(Box::new(supervisor)));
                    connected.insert(name, ConnectedServer { server, supervision });
                }
                Err(problem) => {
                    failed.insert(name, format!("{problem:#}"));
                }
            }
        }
        drop(connected);
        self.report(failed);
        changed
    }

    /// Logs why servers could not be started, once for each reason.
    fn report(&self, failed: BTreeMap<String, String>) {
        let mut reported = self.reported.lock();
        for (name, problem) in &failed {
            if reported.get(name) != Some(problem) {
                tracing::warn!(mcp.server = name, problem, "could not start an installed server");
            }
        }
        *reported = failed;
    }

    /// Loads the tools of a server if it answers before the deadline; otherwise they follow.
    async fn connect(
        &self,
        name: &str,
        installed: &InstalledServer,
        deadline: Instant,
    ) -> Result<(Supervisor, bool)> {
        let gateway = &self.worker.gateway;
        let config = mcp_config(name, installed, &self.config, &self.variables)?;
        let config = confined(config, &self.config, &self.sandbox)?;
        let server = Server::new(config, gateway.store.clone(), gateway.clock.clone());
        self.worker.mcp_servers.add(server.clone());
        let mut supervisor = Supervisor::over(server);
        let found = supervisor.first_tools(&gateway.tasks, deadline).await;
        let changed = found.is_some_and(|found| take(&self.worker, name, found));
        refresh_prompts(&self.worker, &self.config);
        Ok((supervisor, changed))
    }

    /// Starts the supervision of all servers that have none yet.
    async fn supervise(&self) {
        for (name, one) in &mut *self.connected.lock().await {
            let Supervision::NotStarted(supervisor) = &mut one.supervision else { continue };
            let Some(supervisor) = supervisor.take() else { continue };
            let (this, name) = (self.clone(), name.clone());
            let on_change = move |found| {
                refresh_prompts(&this.worker, &this.config);
                if take(&this.worker, &name, found) {
                    this.refresh();
                }
            };
            let stop = self.worker.gateway.stop.child_token();
            let task = self.worker.gateway.tasks.spawn(supervisor.keep(stop.clone(), on_change));
            one.supervision = Supervision::Running { stop, task };
        }
    }

    /// Ends the supervision first, so that it cannot offer tools afterwards.
    async fn disconnect(&self, name: &str, one: ConnectedServer) -> bool {
        if let Supervision::Running { stop, task } = one.supervision {
            stop.cancel();
            task.abort();
            let _ = task.await;
        }
        self.worker.mcp_servers.remove(name);
        refresh_prompts(&self.worker, &self.config);
        let (_, changed) = self.worker.toolbox.serve(name, Vec::new());
        changed
    }

    fn refresh(&self) {
        if let Err(problem) = refresh_agents(&self.worker, &self.config) {
            let problem = format!("{problem:#}");
            tracing::error!(problem, "could not update the agents' tools");
        }
    }
}

impl ConnectedServer {
    fn has_ended(&self) -> bool {
        matches!(&self.supervision, Supervision::Running { task, .. } if task.is_finished())
    }
}

/// The configuration of an installed server, without its sandbox.
pub fn mcp_config(
    name: &str,
    server: &InstalledServer,
    config: &Config,
    variables: &BTreeMap<String, String>,
) -> Result<McpConfig> {
    let connection = config.extensions.connection(name, server, variables)?;
    let web_client = WebClient::new(config.web.inside()).context("the HTTP client of a server")?;
    Ok(McpConfig {
        name: name.to_owned(),
        command: connection.command,
        url: connection.url,
        env: connection.env,
        tier: Tier::Extension,
        protocol: Protocol::default(),
        connection: ConnectionMode::default(),
        bearer: connection.bearer,
        oauth: None,
        login: None,
        headers: connection.headers,
        sandbox: None,
        checked_client: Some(web_client),
    })
}

/// A local server is always in the sandbox, and reaches only its hosts.
pub fn confined(server: McpConfig, config: &Config, sandbox: &Arc<Sandbox>) -> Result<McpConfig> {
    let Some(command) = &server.command else { return Ok(server) };
    let hosts = config.extensions.hosts(&server.name, command);
    let egress = Egress::to(&hosts, WebClient::new(config.web.inside())?);
    let egress = egress.with_context(|| format!("extensions.hosts.{}", server.name))?;
    let confined = ServerSandbox {
        sandbox: sandbox.clone(),
        home: absolute(&config.data_dir).join("mcp").join(&server.name),
        hidden: hidden(config),
        folders: Vec::new(),
        network: ServerNetwork::Hosts(Arc::new(egress)),
    };
    Ok(McpConfig { sandbox: Some(confined), ..server })
}
