//! Tools and MCP servers: their state and tier.

use axum::{
    extract::Path,
    response::{Redirect, Response},
};
use serde::Deserialize;
use serde_json::json;

use super::page::{PageContext, Sent, back};
use crate::{
    admin::{
        api::{
            mcp::{self, TrustBody},
            tools::{ToolChange, all, all_servers, set_server as apply_to_server, set_tool},
        },
        problem::{NO_TOOL_CHANGE, Problem},
    },
    agent::catalog::Tier,
};

pub async fn index(context: PageContext) -> Result<Response, Problem> {
    let tools = all(&context.admin).await?;
    let servers = all_servers(&context.admin, context.caller.role).await?;
    let pins = mcp::all(&context.admin).await?;
    let modules = context.admin.wasm_modules.all();
    let found = json!({ "tools": tools, "servers": servers, "pins": pins, "modules": modules });
    context.page("tools.html", found).await
}

#[derive(Deserialize)]
pub struct ToolForm {
    enabled: Option<bool>,
    tier: Option<Tier>,
}

impl ToolForm {
    fn change(self) -> Result<ToolChange, Problem> {
        let change = self.enabled.map(ToolChange::Enabled).or(self.tier.map(ToolChange::Tier));
        change.ok_or_else(|| Problem::unfit(NO_TOOL_CHANGE))
    }
}

pub async fn set(
    context: PageContext,
    Path(id): Path<String>,
    Sent(form): Sent<ToolForm>,
) -> Result<Redirect, Problem> {
    set_tool(&context.admin, &context.caller, &id, form.change()?).await?;
    Ok(back("tools", "set"))
}

pub async fn set_server(
    context: PageContext,
    Path(id): Path<String>,
    Sent(form): Sent<ToolForm>,
) -> Result<Redirect, Problem> {
    apply_to_server(&context.admin, &context.caller, &id, form.change()?).await?;
    Ok(back("tools", "set"))
}

pub async fn trust(
    context: PageContext,
    Path(server): Path<String>,
    Sent(read): Sent<TrustBody>,
) -> Result<Redirect, Problem> {
    mcp::trust(&context.admin, &context.caller, &server, read).await?;
    Ok(back("tools", "set"))
}
