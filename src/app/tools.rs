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
    },
    worker::Worker,
};

/// How long a server that is down is left alone.
const RETRY_EVERY: Duration = Duration::from_secs(30);
/// The largest file of a skill that is taken.
const SKILL_FILE_BYTES: u64 = 200_000;

/// Takes in the tools of every server that answers; the others are tried again in the background.
pub(super) async fn connect_mcp(
    app: &App,
    config: &Config,
    variables: &BTreeMap<String, String>,
    sandbox: &Arc<Sandbox>,
) -> Result<()> {
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
    let real = |path: &Path| path.canonicalize().or_else(|_| std::path::absolute(path));
    let absolute = |path: &Path| real(path).unwrap_or_else(|_| path.to_owned());
    let hidden = absolute(&config.data_dir);
    (entry.sandbox && entry.command.is_some()).then(|| ServerWalls {
        sandbox: sandbox.clone(),
        home: hidden.join("mcp").join(&entry.name),
        hidden,
        folders: entry.folders.iter().map(|folder| absolute(folder)).collect(),
    })
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

/// The skills of an agent: folders with a `SKILL.md` each. One that cannot be read is left out,
/// with a warning.
pub(super) fn skills(config: &Config, agent: &AgentEntry) -> Result<Vec<Skill>> {
    let folder = agent.skills_dir.clone().unwrap_or_else(|| config.data_dir.join("skills"));
    if !folder.exists() {
        anyhow::ensure!(agent.skills_dir.is_none(), "skills_dir: {} is missing", folder.display());
        return Ok(Vec::new());
    }
    let mut folders: Vec<PathBuf> = std::fs::read_dir(&folder)?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.join("SKILL.md").is_file())
        .collect();
    folders.sort();
    let loaded = folders.iter().filter_map(|path| match skill(path) {
        Ok(skill) => Some(skill),
        Err(problem) => {
            let path = path.display();
            tracing::warn!(%path, problem = format!("{problem:#}"), "a skill is left out");
            None
        }
    });
    Ok(loaded.collect())
}

fn skill(folder: &Path) -> Result<Skill> {
    let mut files = BTreeMap::new();
    collect(folder, folder, &mut files)?;
    let main = files.get("SKILL.md").context("SKILL.md cannot be read")?;
    let field = |name: &str| {
        let front = main.strip_prefix("---")?.split("\n---").next()?;
        let line = front.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        Some(line.trim().trim_matches(['"', '\'']).to_owned())
    };
    let folder_name = folder.file_name().map(|n| n.to_string_lossy().into_owned());
    Ok(Skill {
        name: field("name").or(folder_name).context("the skill has no name")?,
        description: field("description")
            .filter(|d| !d.is_empty())
            .context("SKILL.md has no description in its front matter")?,
        files,
    })
}

fn collect(root: &Path, folder: &Path, files: &mut BTreeMap<String, String>) -> Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        let path = entry.path();
        if kind.is_dir() {
            collect(root, &path, files)?;
        } else if kind.is_file()
            && entry.metadata()?.len() <= SKILL_FILE_BYTES
            && let Ok(text) = std::fs::read_to_string(&path)
        {
            let name = path.strip_prefix(root).expect("found below the root");
            files.insert(name.to_string_lossy().into_owned(), text);
        }
    }
    Ok(())
}
