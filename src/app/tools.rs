//! Connects the configured MCP servers, and loads skills.

use anyhow::{Context as _, Result};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use super::{App, refresh_agents};
use crate::{
    agent::catalog::Skill,
    config::{AgentEntry, Config, McpEntry},
    tools::{
        mcp::{self, McpConfig},
        sandbox::{Sandbox, server::ServerWalls},
        skills::{self, folder},
    },
    worker::{Worker, hooks::Walls},
};

/// How long a server that is down is left alone.
const RETRY_EVERY: Duration = Duration::from_secs(30);
/// How soon a skill that was installed is there.
const LOOK_EVERY: Duration = Duration::from_secs(10);

/// Takes in the tools of every server that answers; the others are tried again in the background.
pub(super) async fn connect_mcp(app: &App, variables: &BTreeMap<String, String>) -> Result<()> {
    let (config, sandbox) = (&app.config, &app.sandbox);
    let servers: Vec<_> = config
        .mcp
        .iter()
        .map(|entry| {
            let walls = walls(entry, config, sandbox);
            server(entry, variables, walls).with_context(|| format!("mcp.{}", entry.name))
        })
        .collect::<Result<_>>()?;
    let tries = servers.into_iter().map(|server| async {
        let taken = take(&app.worker, server.clone()).await;
        (server, taken)
    });
    for (server, taken) in futures::future::join_all(tries).await {
        if !taken {
            let (worker, config) = (app.worker.clone(), config.clone());
            app.gateway.tasks.spawn(keep_trying(worker, config, server));
        }
    }
    refresh_agents(&app.worker, config)
}

async fn keep_trying(worker: Arc<Worker>, config: Config, server: McpConfig) {
    let stop = &worker.gateway.stop;
    while tokio::time::timeout(RETRY_EVERY, stop.cancelled()).await.is_err() {
        if take(&worker, server.clone()).await {
            if let Err(problem) = refresh_agents(&worker, &config) {
                tracing::error!(problem = format!("{problem:#}"), "agents keep their tools");
            }
            return;
        }
    }
}

async fn take(worker: &Worker, server: McpConfig) -> bool {
    let name = server.name.clone();
    let tools = match mcp::connect(server).await {
        Ok(tools) => tools,
        Err(problem) => {
            tracing::warn!(mcp.server = name, problem = %problem, "its tools are missing for now");
            return false;
        }
    };
    for tool in tools {
        if let Err(problem) = worker.toolbox.register(tool) {
            tracing::warn!(mcp.server = name, problem = %problem, "a tool is left out");
        }
    }
    true
}

/// What is around a local server, unless the configuration says that nothing is to be.
fn walls(entry: &McpEntry, config: &Config, sandbox: &Arc<Sandbox>) -> Option<ServerWalls> {
    let hidden = absolute(&config.data_dir);
    (entry.sandbox && entry.command.is_some()).then(|| ServerWalls {
        sandbox: sandbox.clone(),
        home: hidden.join("mcp").join(&entry.name),
        hidden,
        folders: entry.folders.iter().map(|folder| absolute(folder)).collect(),
        network: true,
    })
}

fn absolute(path: &Path) -> PathBuf {
    let real = path.canonicalize().or_else(|_| std::path::absolute(path));
    real.unwrap_or_else(|_| path.to_owned())
}

/// What is around the programs of hooks; said at once where there is nothing to build it of.
pub(super) fn hook_walls(config: &Config, sandbox: &Arc<Sandbox>) -> Walls {
    let confined = config.hooks.iter().any(|hook| hook.command.is_some() && hook.sandbox);
    if let Some(why) = sandbox.missing().filter(|_| confined) {
        tracing::warn!(why, "programs of hooks cannot be confined and so do not run");
    }
    Walls { sandbox: sandbox.clone(), data: absolute(&config.data_dir) }
}

fn server(
    entry: &McpEntry,
    variables: &BTreeMap<String, String>,
    walls: Option<ServerWalls>,
) -> Result<McpConfig> {
    let env = entry
        .env
        .iter()
        .map(|(name, secret)| Ok((name.clone(), secret.reveal(variables)?)))
        .collect::<Result<_>>()
        .context("env")?;
    let bearer = entry.bearer.as_ref().map(|b| b.reveal(variables).context("bearer"));
    Ok(McpConfig {
        name: entry.name.clone(),
        command: entry.command.clone(),
        url: entry.url.clone(),
        env,
        tier: entry.tier,
        bearer: bearer.transpose()?,
        headers: BTreeMap::new(),
        walls,
    })
}

/// Where each agent has its skills.
pub(super) fn folders(config: &Config) -> skills::Folders {
    config.agents.iter().map(|agent| (agent.id.clone(), config.skills_dir(agent))).collect()
}

/// The skills of an agent. One that cannot be used is left out, with a warning.
pub(super) fn skills(config: &Config, agent: &AgentEntry) -> Result<Vec<Skill>> {
    let folder = config.skills_dir(agent);
    if agent.skills_dir.is_some() {
        anyhow::ensure!(folder.is_dir(), "skills_dir: {} is missing", folder.display());
    }
    Ok(folder::all(&folder).into_iter().map(|kept| kept.skill).collect())
}

/// Skills come and go while the gateway runs; so each time the prompts of all conversations change
/// once. Another node, or the command line, may have written them.
pub(super) async fn watch_skills(worker: Arc<Worker>, config: Config) {
    let folders = folders(&config);
    let look = move || -> Vec<_> { folders.values().map(|place| folder::state(place)).collect() };
    let mut known = look();
    while tokio::time::timeout(LOOK_EVERY, worker.gateway.stop.cancelled()).await.is_err() {
        let state = look();
        if state != known {
            known = state;
            if let Err(problem) = refresh_agents(&worker, &config) {
                tracing::error!(problem = format!("{problem:#}"), "agents keep their skills");
            }
        }
    }
}
