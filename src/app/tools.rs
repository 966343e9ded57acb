//! Connects the configured MCP servers, and loads skills.

use anyhow::{Context as _, Result};
use sandbox::{
    Sandbox,
    egress::Egress,
    service::{ServerNetwork, ServerSandbox},
};
use std::{collections::BTreeMap, sync::Arc, time::Duration};
use tokio::time::Instant;

use super::{
    App, RESCAN_EVERY,
    masked_paths::{absolute, hidden},
    refresh_agents,
};
use crate::{
    agent::{catalog::Skill, naming::sanitise},
    clock::stops_within,
    config::{
        AgentEntry, Config, McpEntry, ModelEntry, build, datasources::sources, secret::Secret,
    },
    store::{Store, files},
    tools::{
        Tool, browser, builtin, datasources, extensions,
        mcp::{
            ClientKey, ClientProof, Credentials, Login, McpConfig, Server,
            supervisor::{FoundTools, Supervisor},
        },
        media::{self, MediaConfig},
        sandboxed,
        shell::CommandNetwork,
        skills::{self, folder},
        view_image::{LookAt, LookAtUrl},
        web::{self, WebConfig, client::WebClient},
    },
    worker::{Worker, hooks::HookSandbox},
};

/// How long a start waits for the tools of the configured MCP servers, and then for those of the
/// installed ones: the time that a server has to connect, and some for its list. Tools of slower
/// servers follow, and calls that were approved or interrupted before the start wait for them.
pub(super) const SERVERS_WITHIN: Duration = Duration::from_secs(20);
/// How long a command waits that needs the tools of all servers and then ends.
pub const ALL_SERVERS_WITHIN: Duration = Duration::from_mins(1);

/// Loads the tools of all servers that answer before the deadline. The others follow after startup.
pub(super) async fn connect_mcp(
    app: &App,
    variables: &BTreeMap<String, String>,
    deadline: Instant,
) -> Result<()> {
    let (config, gateway) = (&app.config, &app.gateway);
    if config.mcp.is_empty() {
        return Ok(());
    }
    let watch = |entry: &McpEntry| -> Result<_> {
        let sandbox = server_sandbox(entry, config, &app.sandbox);
        let server = server(entry, config, variables, sandbox);
        let server = server.with_context(|| format!("mcp.{}", entry.name))?;
        let server = Server::new(server, gateway.store.clone(), gateway.clock.clone());
        app.worker.mcp_servers.add(server.clone());
        Ok((entry.name.clone(), Supervisor::over(server)))
    };
    let watches: Vec<_> = config.mcp.iter().map(watch).collect::<Result<_>>()?;
    let first = watches.into_iter().map(|(name, mut watch)| async {
        let found = watch.first_tools(&gateway.tasks, deadline).await;
        (name, watch, found)
    });
    for (name, watch, found) in futures::future::join_all(first).await {
        if let Some(found) = found {
            take(&app.worker, &name, found);
            refresh_prompts(&app.worker, config);
        }
        app.watches.lock().push((name, watch));
    }
    refresh_agents(&app.worker, config)
}

/// Supervises all servers.
pub(super) fn watch_mcp(app: &App) {
    let watches = std::mem::take(&mut *app.watches.lock());
    for (name, watch) in watches {
        let (worker, config) = (app.worker.clone(), app.config.clone());
        let tell = move |found| {
            refresh_prompts(&worker, &config);
            if take(&worker, &name, found)
                && let Err(problem) = refresh_agents(&worker, &config)
            {
                tracing::error!(
                    problem = format!("{problem:#}"),
                    "could not update the agents' tools"
                );
            }
        };
        app.gateway.tasks.spawn(watch.keep(app.gateway.stop.clone(), tell));
    }
}

/// Updates the prompts that people can use with each agent.
pub(super) fn refresh_prompts(worker: &Worker, config: &Config) {
    let all = worker.mcp_servers.prompts();
    for agent in &config.agents {
        // An invalid pattern was rejected when the configuration was read.
        let commands =
            all.iter().filter(|command| build::has_server(agent, &command.server).unwrap_or(false));
        worker.gateway.prompts.set(&agent.id, commands.cloned().collect());
    }
}

/// Returns whether the tools have changed.
pub(super) fn take(worker: &Worker, name: &str, found: FoundTools) -> bool {
    let tools = match found {
        Ok(tools) => tools,
        Err(problem) => {
            tracing::warn!(
                mcp.server = name, problem = %problem,
                "could not load the tools of a server, will retry"
            );
            return false;
        }
    };
    let (unfit, changed) = worker.toolbox.serve(name, tools);
    for problem in unfit {
        tracing::warn!(mcp.server = name, problem = %problem, "skipped a tool");
    }
    changed
}

/// The sandbox settings of a local server, unless it is configured without a sandbox.
pub fn server_sandbox(
    entry: &McpEntry,
    config: &Config,
    sandbox: &Arc<Sandbox>,
) -> Option<ServerSandbox> {
    (entry.sandbox && entry.command.is_some()).then(|| ServerSandbox {
        sandbox: sandbox.clone(),
        home: absolute(&config.data_dir).join("mcp").join(&entry.name),
        hidden: hidden(config),
        folders: entry.folders.iter().map(|folder| absolute(folder)).collect(),
        network: ServerNetwork::Machine,
    })
}

/// The sandbox settings of hooks, with a warning if no sandbox is available.
pub(super) fn hook_sandbox(config: &Config, sandbox: &Arc<Sandbox>) -> HookSandbox {
    let confined = config.hooks.iter().any(|hook| hook.command.is_some() && hook.sandbox);
    if let Some(why) = sandbox.missing().filter(|_| confined) {
        tracing::warn!(why, "hook programs will not run: no sandbox is available");
    }
    HookSandbox {
        sandbox: sandbox.clone(),
        data: absolute(&config.data_dir),
        hidden: hidden(config),
    }
}

pub fn server(
    entry: &McpEntry,
    config: &Config,
    variables: &BTreeMap<String, String>,
    sandbox: Option<ServerSandbox>,
) -> Result<McpConfig> {
    let revealed = |secrets: &BTreeMap<String, Secret>| -> Result<_> {
        let reveal = |(name, secret): (&String, &Secret)| {
            Ok((name.clone(), secret.reveal(variables).with_context(|| name.clone())?))
        };
        secrets.iter().map(reveal).collect()
    };
    let env = revealed(&entry.env).context("env")?;
    let headers = revealed(&entry.headers).context("headers")?;
    let bearer = entry.bearer.as_ref().map(|b| b.reveal(variables).context("bearer"));
    let oauth = match (&entry.token_url, &entry.client_id, client_proof(entry, variables)?) {
        (Some(token_url), Some(client_id), Some(proof)) => Some(Credentials {
            token_url: token_url.clone(),
            client_id: client_id.clone(),
            proof,
            scopes: entry.scopes.clone(),
        }),
        _ => None,
    };
    Ok(McpConfig {
        name: entry.name.clone(),
        command: entry.command.clone(),
        url: entry.url.clone(),
        env,
        tier: entry.tier,
        protocol: entry.protocol,
        connection: entry.connection,
        bearer: bearer.transpose()?,
        oauth,
        login: login(entry, config, variables)?,
        headers,
        sandbox,
        checked_client: None,
    })
}

/// How the client of a remote server proves who it is.
fn client_proof(
    entry: &McpEntry,
    variables: &BTreeMap<String, String>,
) -> Result<Option<ClientProof>> {
    if let Some(key) = &entry.client_key {
        let key = key.reveal(variables).context("client_key")?;
        let key = ClientKey::read(&key, entry.client_key_id.clone()).context("client_key")?;
        return Ok(Some(ClientProof::Key(key)));
    }
    let secret = entry.client_secret.as_ref().map(|secret| secret.reveal(variables));
    Ok(secret.transpose().context("client_secret")?.map(ClientProof::Secret))
}

/// The tools that show pictures to the model, if a model supports images.
pub(super) fn vision_tools(config: &Config, sandbox: &Arc<Sandbox>) -> Result<Vec<Arc<dyn Tool>>> {
    if !config.models.iter().any(ModelEntry::sees) {
        return Ok(vec![]);
    }
    let web_client = WebClient::new(config.web.inside())?;
    Ok(vec![
        Arc::new(LookAt { sandbox: sandbox.clone() }),
        Arc::new(LookAtUrl { web_client, sandbox: sandbox.clone() }),
    ])
}

/// The folder for the credentials of MCP logins.
pub(super) const LOGINS: &str = "mcp_logins";

/// The login for a remote server that has no other kind of token.
fn login(
    entry: &McpEntry,
    config: &Config,
    variables: &BTreeMap<String, String>,
) -> Result<Option<Login>> {
    let Some(url) = &entry.url else { return Ok(None) };
    if entry.bearer.is_some() || entry.token_url.is_some() {
        return Ok(None);
    }
    let server = format!("{}\n{}", entry.name, url);
    // A digest, because servers with similar names must not share a file.
    let digest = &files::digest_of(server.as_bytes())[..12];
    let name = format!("{}-{digest}.json", sanitise(&entry.name));
    let secret = entry.client_secret.as_ref().map(|secret| secret.reveal(variables));
    Ok(Some(Login {
        file: config.data_dir.join(LOGINS).join(name),
        encryption: super::database::encryption(config, variables)?,
        client_id: entry.client_id.clone(),
        client_secret: secret.transpose().context("client_secret")?,
        client_metadata: entry.client_metadata_url.as_ref().map(ToString::to_string),
        scopes: entry.scopes.clone(),
        private_hosts: config.web.inside(),
    }))
}

/// The network access of shell commands.
pub(super) fn network(config: &Config) -> Result<CommandNetwork> {
    if config.shell.hosts.is_empty() {
        return Ok(CommandNetwork::default());
    }
    Ok(CommandNetwork(Some(egress(config, &config.shell.hosts).context("shell.hosts")?)))
}

/// The network access of skill scripts.
pub(super) fn script_networks(config: &Config) -> Result<skills::ScriptNetwork> {
    let network = |(skill, hosts): (&String, &Vec<String>)| {
        let egress = egress(config, hosts).with_context(|| format!("skills.hosts.{skill}"))?;
        Ok((skill.clone(), egress))
    };
    config.skills.hosts.iter().filter(|(_, hosts)| !hosts.is_empty()).map(network).collect()
}

/// The web access that the sections `web` and `http` configure.
pub(super) fn web(config: &Config, variables: &BTreeMap<String, String>) -> Result<WebConfig> {
    let access = config.http.build(&config.web.inside(), variables)?;
    Ok(WebConfig { access: Arc::new(access), ..config.web.build(variables)? })
}

/// The services of the section `media`.
pub(super) fn media(config: &Config, variables: &BTreeMap<String, String>) -> Result<MediaConfig> {
    config.media.build(variables, &config.web.inside())
}

fn egress(config: &Config, hosts: &[String]) -> Result<Arc<Egress>> {
    Ok(Arc::new(Egress::to(hosts, WebClient::new(config.web.inside())?)?))
}

/// The unavailable tools and the reasons.
pub fn unavailable(
    config: &Config,
    variables: &BTreeMap<String, String>,
    sandbox: &Arc<Sandbox>,
    store: &Store,
) -> Result<Vec<(String, String)>> {
    let tools: Vec<_> = all(config, variables, sandbox, store)?.collect();
    let redactor = super::redactor(config, variables, &tools);
    let specs = super::toolbox(redactor, variables, sandbox, tools)?.specs().into_iter();
    Ok(specs.filter_map(|spec| Some((spec.name, spec.unavailable?))).collect())
}

/// All tools except for those of MCP servers and WASM tools.
pub(super) fn all(
    config: &Config,
    variables: &BTreeMap<String, String>,
    sandbox: &Arc<Sandbox>,
    store: &Store,
) -> Result<impl Iterator<Item = Arc<dyn Tool>>> {
    let network = config.shell.enabled.then(|| network(config)).transpose()?;
    let browser = config.browser.build(config, sandbox)?.map(browser::tools).unwrap_or_default();
    let passwords = config.extraction.passwords(variables)?;
    let confined = sandboxed(sandbox, config.documents.clone(), passwords, network);
    Ok(builtin()
        .into_iter()
        .chain(confined)
        .chain(skills::tools(&folders(config), script_networks(config)?, sandbox))
        .chain(vision_tools(config, sandbox)?)
        .chain(web::tools(self::web(config, variables)?, sandbox)?)
        .chain(browser)
        .chain(datasources::tools(sources(config, variables)?))
        .chain(media::tools(self::media(config, variables)?, store))
        .chain(extensions::tools(config.extensions(folders(config))?))
        .chain(super::stored(config, variables, store)?))
}

/// The skill folders of each agent.
pub fn folders(config: &Config) -> skills::Folders {
    config.agents.iter().map(|agent| (agent.id.clone(), config.skills_dir(agent))).collect()
}

/// The skills of an agent. Invalid ones are skipped with a warning.
pub(super) fn skills(config: &Config, agent: &AgentEntry) -> Result<Vec<Skill>> {
    let folder = config.skills_dir(agent);
    if agent.skills_dir.is_some() {
        anyhow::ensure!(folder.is_dir(), "skills_dir: {} is missing", folder.display());
    }
    Ok(folder::all(&folder).into_iter().map(|kept| kept.skill).collect())
}

/// Updates the agents when skills have changed.
pub(super) fn watch_skills(app: &App) {
    let (worker, config) = (app.worker.clone(), app.config.clone());
    app.gateway
        .spawn_supervised("watch skills", move || follow_skills(worker.clone(), config.clone()));
}

async fn follow_skills(worker: Arc<Worker>, config: Config) {
    let folders = folders(&config);
    let states = move || -> Vec<_> { folders.values().map(|place| folder::state(place)).collect() };
    let mut known = states();
    while !stops_within(RESCAN_EVERY, &worker.gateway.stop).await {
        let state = states();
        if state != known {
            known = state;
            if let Err(problem) = refresh_agents(&worker, &config) {
                tracing::error!(
                    problem = format!("{problem:#}"),
                    "could not update the agents' skills"
                );
            }
        }
    }
}
