//! The tools that a server lists, compared with their pinned definitions.

use chrono::{DateTime, TimeDelta, Utc};
use rmcp::model::Tool as Definition;
use std::{collections::BTreeMap, sync::Arc};

use super::{
    ConnectionMode, listing, prompts,
    resources::{self, Resources},
    server::Server,
    session::McpSession,
    tool::{self, McpTool, WithheldTool},
};
use crate::{
    agent::naming,
    store::tools::{
        pins::{self, OfferedTool, Pin, PinState},
        settings,
    },
    tools::{Tool, ToolError},
};

/// How often the tools are listed if no connection is kept, over which a server could report
/// changes.
const LIST_EVERY: TimeDelta = TimeDelta::minutes(5);

/// The tools that were listed over a connection, and the version of the settings that they were
/// compared with.
#[derive(Default)]
pub(super) struct ListedTools {
    /// The connection, if it is kept.
    pub session: Option<Arc<McpSession>>,
    /// When they were listed, if the connection is not kept.
    listed_at: Option<DateTime<Utc>>,
    definitions: Vec<Definition>,
    has_resources: bool,
    version: i64,
    /// When they were last compared with the pinned ones.
    seen_at: DateTime<Utc>,
}

impl ListedTools {
    /// The tools are listed next time.
    pub(super) fn expire(&mut self) {
        (self.session, self.listed_at) = (None, None);
    }
}

impl Server {
    /// The current tools; connects if necessary.
    pub async fn tools(self: &Arc<Self>) -> Result<Vec<Arc<dyn Tool>>, ToolError> {
        Ok(self.changed_tools(&mut ListedTools::default()).await?.unwrap_or_default())
    }

    /// The tools, if they may have changed since `seen`.
    pub(super) async fn changed_tools(
        self: &Arc<Self>,
        seen: &mut ListedTools,
    ) -> Result<Option<Vec<Arc<dyn Tool>>>, ToolError> {
        let now = self.clock.now();
        let session = match seen.listed_at.filter(|at| now - *at < LIST_EVERY) {
            Some(_) => None,
            None => Some(self.connected().await.map_err(|refused| refused.error)?),
        };
        let same = match (&seen.session, &session) {
            (_, None) => true,
            (Some(known), Some(session)) => Arc::ptr_eq(known, session),
            (None, Some(_)) => false,
        };
        let version = self.version().await?;
        if same && version == seen.version {
            if now - seen.seen_at >= pins::SEEN_EVERY {
                self.see(offered(&seen.definitions)).await?;
                seen.seen_at = now;
            }
            return Ok(None);
        }
        if let Some(session) = session.filter(|_| !same) {
            let listed = listing::list(&self.config, &session).await;
            seen.definitions = listed.inspect_err(|error| {
                self.note(|health| health.problem = Some(error.to_string()));
            })?;
            // Of two tools with the same name, only one could be pinned.
            seen.definitions.sort_by(|a, b| a.name.cmp(&b.name));
            seen.definitions.dedup_by(|a, b| a.name == b.name);
            let prompts = prompts::list(&self.config, &session).await;
            *self.prompts.write() = prompts;
            let capabilities = session.peer_info().map(|info| info.capabilities.clone());
            seen.has_resources =
                capabilities.is_some_and(|capabilities| capabilities.resources.is_some());
            match self.config.connection {
                ConnectionMode::Shared => seen.session = Some(session),
                ConnectionMode::PerCall => seen.listed_at = Some(now),
            }
        }
        let mut tools = self.held(&seen.definitions).await?;
        if seen.has_resources {
            tools.push(self.resources(&tools));
        }
        (seen.version, seen.seen_at) = (version, now);
        Ok(Some(tools))
    }

    /// The tool for resources. If another tool of the server has its name, it gets a suffix.
    fn resources(self: &Arc<Self>, others: &[Arc<dyn Tool>]) -> Arc<dyn Tool> {
        let name = naming::of_server(&self.config.name, resources::NAME);
        let is_taken = others.iter().any(|tool| tool.spec().name == name);
        let name = if is_taken { tool::own_name(&name, resources::NAME) } else { name };
        Arc::new(Resources { server: self.clone(), name })
    }

    async fn version(&self) -> Result<i64, ToolError> {
        let version = self.store.read(|tx| Box::pin(settings::version(tx)));
        version.await.map_err(|problem| self.forgets(&problem))
    }

    /// Compares the definitions with the pinned ones.
    async fn held(
        self: &Arc<Self>,
        listed: &[Definition],
    ) -> Result<Vec<Arc<dyn Tool>>, ToolError> {
        let offered = offered(listed);
        let is_offered = |tool: &&Definition| offered.iter().any(|one| one.name == tool.name);
        for tool in listed.iter().filter(|tool| !is_offered(tool)) {
            let name = &self.config.name;
            tracing::warn!(mcp.server = name, mcp.tool = %tool.name, "skipped a tool: its definition is too long");
        }
        let pins = self.see(offered.clone()).await?;
        let pinned: Vec<_> = listed
            .iter()
            .filter(|tool| is_offered(tool) && pins.contains_key(&*tool.name))
            .collect();
        if pinned.len() < offered.len() {
            let name = &self.config.name;
            tracing::warn!(mcp.server = name, "left out new tools: the server had too many");
        }
        let namesakes = pins::namesakes(&self.config.name, &pins);
        let name = |tool: &str| {
            let name = naming::of_server(&self.config.name, tool);
            let is_shared = namesakes.get(&name).is_some_and(|all| all.len() > 1);
            if is_shared || name.is_empty() { tool::own_name(&name, tool) } else { name }
        };
        let pin_state = |name: &str| pins.get(name).map_or(PinState::Changed, Pin::state);
        let tools = pinned.iter().map(|tool| {
            let pin_state = pin_state(&tool.name);
            let spec = tool::spec(&self.config, tool, pin_state, &name(&tool.name));
            if pin_state == PinState::Changed {
                return Arc::new(WithheldTool { spec }) as Arc<dyn Tool>;
            }
            let original_name = tool.name.to_string();
            Arc::new(McpTool { server: self.clone(), spec, original_name }) as Arc<dyn Tool>
        });
        let tools = tools.collect();
        let changed = pinned.iter().map(|tool| tool.name.to_string());
        let withheld = changed.filter(|name| pin_state(name) == PinState::Changed).collect();
        self.note(|health| health.withheld = withheld);
        Ok(tools)
    }

    async fn see(&self, listed: Vec<OfferedTool>) -> Result<BTreeMap<String, Pin>, ToolError> {
        let (name, now) = (self.config.name.clone(), self.clock.now());
        let pins = self.store.write("update tools", move |tx| {
            Box::pin(async move { pins::see(tx, &name, &listed, now).await })
        });
        pins.await.map_err(|problem| self.forgets(&problem))
    }

    fn forgets(&self, problem: &anyhow::Error) -> ToolError {
        tracing::error!(problem = format!("{problem:#}"), "could not store the tools of servers");
        self.config.broken("has tools, but their pinned definitions cannot be read")
    }
}

/// The tools whose definitions are not too long.
fn offered(definitions: &[Definition]) -> Vec<OfferedTool> {
    let all = definitions.iter().map(|tool| OfferedTool {
        name: tool.name.to_string(),
        definition: tool::definition(tool),
    });
    all.filter(|tool| tool.definition.len() <= tool::DEFINITION_BYTES).collect()
}
