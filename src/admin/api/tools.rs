//! Tools and MCP servers: their state and tier.
//!
//! Settings take effect with the next turn, on all nodes. Tools of an MCP server are set with their
//! server.

use anyhow::Result;
use axum::{Json, extract::State};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, sync::Arc};
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    caller::Caller,
    parts::{Body, Page, Params, PathNames, Slice, none, sorted},
};
use crate::{
    admin::{
        Admin,
        problem::{Problem, ProblemText, TOOL_OF_SERVER},
    },
    agent::catalog::{EffectClass, Tier, ToolSource, ToolSpec},
    journal::role::Role,
    store::{
        audit,
        audit::AuditKind,
        tools::settings::{self, Setting, SettingKey, SettingKind, Settings},
    },
    worker::agent_cache::setting_of,
};

pub fn routes() -> OpenApiRouter<Arc<Admin>> {
    OpenApiRouter::new()
        .routes(routes!(index))
        .routes(routes!(show, enable))
        .routes(routes!(set_tier))
        .routes(routes!(servers))
        .routes(routes!(enable_server))
        .routes(routes!(set_tier_of_server))
}

/// A tool with its current settings.
#[derive(Debug, Serialize, ToSchema)]
pub struct ToolView {
    /// The name
    pub id: String,
    pub description: String,
    pub enabled: bool,
    /// Where its schema is: in every prompt, or one line until it is enabled
    pub tier: Tier,
    pub effect: EffectClass,
    /// The MCP server that provides it
    pub server: Option<String>,
    /// Whether it is set with its server, not by itself
    pub locked: bool,
    /// Why no agent has it although it is enabled
    pub unavailable: Option<String>,
}

/// An MCP server.
#[derive(Debug, Serialize, ToSchema)]
pub struct ServerView {
    /// The name
    pub id: String,
    pub enabled: bool,
    pub tier: Tier,
    /// Whether this node is connected to it
    pub connected: bool,
    /// The current problem
    pub problem: Option<String>,
    /// The last lines that its process wrote to its standard error, for operators
    pub stderr: Vec<String>,
    /// The protocol version
    pub protocol: Option<String>,
    /// Tools that have changed since they were first seen, and are withheld until somebody trusts
    /// them
    pub withheld: Vec<String>,
    /// The program or URL
    pub at: String,
    pub tools: Vec<String>,
}

#[derive(Debug, Clone, Copy, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct EnabledBody {
    pub enabled: bool,
}

#[derive(Debug, Clone, Copy, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TierBody {
    pub tier: Tier,
}

async fn settings(admin: &Admin) -> Result<Settings> {
    let store = &admin.gateway.store;
    let (_, settings) = store.read(|tx| Box::pin(async move { settings::all(tx).await })).await?;
    Ok(settings)
}

fn view(settings: &Settings, spec: ToolSpec) -> ToolView {
    let Setting { enabled, tier } = setting_of(settings, &spec);
    let server = match spec.source {
        ToolSource::Builtin | ToolSource::Wasm { .. } => None,
        ToolSource::Mcp { server, .. } => Some(server),
    };
    ToolView {
        id: spec.name,
        description: spec.description,
        enabled,
        tier: tier.unwrap_or(spec.tier),
        effect: spec.effect,
        locked: server.is_some(),
        unavailable: spec.unavailable,
        server,
    }
}

/// Lists all tools by name.
pub async fn all(admin: &Admin) -> Result<Vec<ToolView>> {
    let settings = settings(admin).await?;
    let specs = admin.worker.toolbox.specs().into_iter();
    Ok(specs.map(|spec| view(&settings, spec)).collect())
}

pub async fn one(admin: &Admin, id: &str) -> Result<Option<ToolView>> {
    Ok(all(admin).await?.into_iter().find(|tool| tool.id == id))
}

/// A server as configured.
#[derive(Debug, Deserialize)]
struct Configured {
    name: String,
    command: Option<Vec<String>>,
    url: Option<String>,
    tier: Tier,
}

/// The servers as a person with this role sees them.
pub async fn all_servers(admin: &Admin, role: Role) -> Result<Vec<ServerView>> {
    let settings = settings(admin).await?;
    let mut tools: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for spec in admin.worker.toolbox.specs() {
        if let ToolSource::Mcp { server, .. } = spec.source {
            tools.entry(server).or_default().push(spec.name);
        }
    }
    let configured: Vec<Configured> = admin.section("mcp")?;
    let redacted = |lines: &[String]| -> Vec<String> {
        lines.iter().map(|line| admin.redactor().text(line).into_owned()).collect()
    };
    let view = |server: Configured| {
        let key = (SettingKind::Mcp, server.name.clone());
        let Setting { enabled, tier } = settings.get(&key).copied().unwrap_or_default();
        let health = admin.worker.mcp_servers.health(&server.name).unwrap_or_default();
        ServerView {
            tools: tools.remove(&server.name).unwrap_or_default(),
            id: server.name,
            enabled,
            tier: tier.unwrap_or(server.tier),
            connected: health.connected,
            problem: health.problem,
            stderr: if role >= Role::Operator { redacted(&health.stderr) } else { vec![] },
            protocol: health.protocol,
            withheld: health.withheld,
            // The arguments of the program may contain secrets.
            at: server
                .url
                .or(server.command.and_then(|c| c.into_iter().next()))
                .unwrap_or_default(),
        }
    };
    Ok(configured.into_iter().map(view).collect())
}

/// Changes a setting and records it in the audit.
pub async fn set(
    admin: &Admin,
    caller: &Caller,
    kind: SettingKind,
    name: &str,
    change: ToolChange,
) -> Result<()> {
    let (by, name, now) = (caller.id.clone(), name.to_owned(), admin.gateway.clock.now());
    let fact =
        caller.did(AuditKind::ToolSet).of(&name).with("change", serde_json::to_value(change)?);
    let fact = fact.with("of", if kind == SettingKind::Mcp { "server" } else { "tool" });
    admin
        .gateway
        .store
        .write("set tool", move |tx| {
            Box::pin(async move {
                let apply = move |setting: &mut Setting| match change {
                    ToolChange::Enabled(enabled) => setting.enabled = enabled,
                    ToolChange::Tier(tier) => setting.tier = Some(tier),
                };
                let of = SettingKey { kind, name: &name };
                settings::change(tx, of, apply, &by, now).await?;
                audit::append(tx, audit::ADMIN, vec![fact], now).await
            })
        })
        .await
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolChange {
    Enabled(bool),
    Tier(Tier),
}

/// Changes a tool that is not set with its server.
pub async fn set_tool(
    admin: &Admin,
    caller: &Caller,
    id: &str,
    change: ToolChange,
) -> Result<ToolView, Problem> {
    let tool = one(admin, id).await?.ok_or_else(|| none(|page| page.problems.missing.tool))?;
    if let Some(server) = tool.server {
        return Err(Problem::conflict(ProblemText::with(TOOL_OF_SERVER, server)));
    }
    set(admin, caller, SettingKind::Tool, id, change).await?;
    show_tool(admin, id).await
}

async fn show_tool(admin: &Admin, id: &str) -> Result<ToolView, Problem> {
    one(admin, id).await?.ok_or_else(|| none(|page| page.problems.missing.tool))
}

async fn server(admin: &Admin, role: Role, id: &str) -> Result<ServerView, Problem> {
    let found = all_servers(admin, role).await?.into_iter().find(|server| server.id == id);
    found.ok_or_else(|| none(|page| page.problems.missing.mcp_server))
}

/// Changes all tools of a server.
pub async fn set_server(
    admin: &Admin,
    caller: &Caller,
    id: &str,
    change: ToolChange,
) -> Result<ServerView, Problem> {
    let _there = server(admin, caller.role, id).await?;
    set(admin, caller, SettingKind::Mcp, id, change).await?;
    server(admin, caller.role, id).await
}

/// List tools
#[utoipa::path(get, path = "/tools", tag = "tools", params(Slice),
    responses((status = 200, body = Page<ToolView>)), extensions(("x-role" = json!("viewer"))))]
async fn index(
    State(admin): State<Arc<Admin>>,
    Params(slice): Params<Slice>,
) -> Result<Json<Page<ToolView>>, Problem> {
    let page_request = slice.page_request()?;
    Ok(Json(sorted(all(&admin).await?, &page_request, |tool| tool.id.clone())))
}

/// Show a tool
#[utoipa::path(get, path = "/tools/{id}", tag = "tools", params(("id" = String, Path)),
    responses((status = 200, body = ToolView)), extensions(("x-role" = json!("viewer"))))]
async fn show(
    State(admin): State<Arc<Admin>>,
    PathNames(id): PathNames<String>,
) -> Result<Json<ToolView>, Problem> {
    show_tool(&admin, &id).await.map(Json)
}

/// Enable or disable a tool
#[utoipa::path(put, path = "/tools/{id}", tag = "tools", params(("id" = String, Path)),
    request_body = EnabledBody, responses((status = 200, body = ToolView)),
    extensions(("x-role" = json!("operator"))))]
async fn enable(
    State(admin): State<Arc<Admin>>,
    caller: Caller,
    PathNames(id): PathNames<String>,
    Body(body): Body<EnabledBody>,
) -> Result<Json<ToolView>, Problem> {
    set_tool(&admin, &caller, &id, ToolChange::Enabled(body.enabled)).await.map(Json)
}

/// Set the tier of a tool: `core` (schema in every prompt) or `extension` (one line in the tool
/// listing)
#[utoipa::path(put, path = "/tools/{id}/disclosure-tier", tag = "tools",
    params(("id" = String, Path)), request_body = TierBody,
    responses((status = 200, body = ToolView)), extensions(("x-role" = json!("operator"))))]
async fn set_tier(
    State(admin): State<Arc<Admin>>,
    caller: Caller,
    PathNames(id): PathNames<String>,
    Body(body): Body<TierBody>,
) -> Result<Json<ToolView>, Problem> {
    set_tool(&admin, &caller, &id, ToolChange::Tier(body.tier)).await.map(Json)
}

/// List MCP servers
#[utoipa::path(get, path = "/mcp-servers", tag = "tools", params(Slice),
    responses((status = 200, body = Page<ServerView>)), extensions(("x-role" = json!("viewer"))))]
async fn servers(
    State(admin): State<Arc<Admin>>,
    caller: Caller,
    Params(slice): Params<Slice>,
) -> Result<Json<Page<ServerView>>, Problem> {
    let servers = all_servers(&admin, caller.role).await?;
    Ok(Json(sorted(servers, &slice.page_request()?, |server| server.id.clone())))
}

/// Enable or disable all tools of an MCP server
#[utoipa::path(put, path = "/mcp-servers/{id}", tag = "tools", params(("id" = String, Path)),
    request_body = EnabledBody, responses((status = 200, body = ServerView)),
    extensions(("x-role" = json!("operator"))))]
async fn enable_server(
    State(admin): State<Arc<Admin>>,
    caller: Caller,
    PathNames(id): PathNames<String>,
    Body(body): Body<EnabledBody>,
) -> Result<Json<ServerView>, Problem> {
    set_server(&admin, &caller, &id, ToolChange::Enabled(body.enabled)).await.map(Json)
}

/// Set the tier of all tools of an MCP server
#[utoipa::path(put, path = "/mcp-servers/{id}/disclosure-tier", tag = "tools",
    params(("id" = String, Path)), request_body = TierBody,
    responses((status = 200, body = ServerView)), extensions(("x-role" = json!("operator"))))]
async fn set_tier_of_server(
    State(admin): State<Arc<Admin>>,
    caller: Caller,
    PathNames(id): PathNames<String>,
    Body(body): Body<TierBody>,
) -> Result<Json<ServerView>, Problem> {
    set_server(&admin, &caller, &id, ToolChange::Tier(body.tier)).await.map(Json)
}
