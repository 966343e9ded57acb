//! What MCP servers have said of their tools, and who answers for them.
//!
//! Whoever answers for a tool names what they have seen of it: one that its server has changed in
//! the same moment is not taken for that.

use anyhow::Result;
use axum::{Json, extract::State};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::sync::Arc;
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    caller::Caller,
    parts::{Body, Named, Page, none},
};
use crate::{
    admin::{Admin, problem::Problem},
    store::mcp_tools::{self, Pin, Standing},
};

pub fn routes() -> OpenApiRouter<Arc<Admin>> {
    OpenApiRouter::new().routes(routes!(index)).routes(routes!(vouch))
}

/// A tool of an MCP server, as it was ever seen.
#[derive(Debug, Serialize, ToSchema)]
pub struct PinView {
    pub server: String,
    /// Its name there
    pub tool: String,
    /// seen: as it was first seen; trusted: somebody has answered for it; changed: withheld
    pub standing: String,
    /// Who has answered for it
    pub trusted_by: Option<String>,
    /// SHA-256 of what it is now
    pub digest: String,
    /// What it was when it was first seen, or answered for
    #[schema(value_type = Object)]
    pub was: Value,
    /// What it is now, if that is something else
    #[schema(value_type = Option<Object>)]
    pub is: Option<Value>,
}

#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TrustBody {
    /// Its name there
    pub tool: String,
    /// What it is, as it was read
    pub digest: String,
}

fn view(admin: &Admin, pin: Pin) -> PinView {
    let standing = match pin.standing() {
        Standing::Seen => "seen",
        Standing::Vouched => "trusted",
        Standing::Changed => "changed",
    };
    let read = |text: &str| admin.redactor().value(&serde_json::from_str(text).unwrap_or_default());
    PinView {
        standing: standing.to_owned(),
        digest: mcp_tools::digest(pin.now()),
        was: read(&pin.definition),
        is: pin.offered.as_deref().map(read),
        trusted_by: Some(pin.vouched_by).filter(|by| !by.is_empty()),
        server: pin.server,
        tool: pin.tool,
    }
}

/// All that were ever seen, by server and name.
pub async fn all(admin: &Admin) -> Result<Vec<PinView>> {
    let pins = admin.gateway.store.read(|tx| Box::pin(mcp_tools::all(tx))).await?;
    Ok(pins.into_iter().map(|pin| view(admin, pin)).collect())
}

/// Answers for a tool of a server as it was read.
pub async fn trust(
    admin: &Admin,
    caller: &Caller,
    server: &str,
    read: TrustBody,
) -> Result<PinView, Problem> {
    let (of, by, now) = (server.to_owned(), caller.id.clone(), admin.gateway.clock.now());
    let trusted = admin.gateway.store.write("trust tool", move |tx| {
        Box::pin(async move {
            let TrustBody { tool, digest } = read;
            let Some(pin) = mcp_tools::of_server(tx, &of).await?.remove(&tool) else {
                return Ok(None);
            };
            if mcp_tools::digest(pin.now()) != digest {
                return Ok(Some(Err(())));
            }
            mcp_tools::trust(tx, (&of, Some(&tool)), &by, now).await?;
            Ok(mcp_tools::of_server(tx, &of).await?.remove(&tool).map(Ok))
        })
    });
    match trusted.await? {
        Some(Ok(pin)) => Ok(view(admin, pin)),
        Some(Err(())) => Err(Problem::conflict("It is not what was read: look at it again.")),
        None => Err(none("tool of that server")),
    }
}

/// List what an MCP server has said of its tools, and who has answered for them
#[utoipa::path(get, path = "/mcp-servers/{id}/tools", tag = "tools",
    params(("id" = String, Path)), responses((status = 200, body = Page<PinView>)),
    extensions(("x-role" = json!("operator"))))]
async fn index(
    State(admin): State<Arc<Admin>>,
    Named(id): Named<String>,
) -> Result<Json<Page<PinView>>, Problem> {
    let mut items = all(&admin).await?;
    items.retain(|pin| pin.server == id);
    Ok(Json(Page { items, next: None }))
}

/// Answer for a tool as it is: it is not withheld any more, and its word counts where it says that it changes nothing
#[utoipa::path(put, path = "/mcp-servers/{id}/trust", tag = "tools",
    params(("id" = String, Path)), request_body = TrustBody,
    responses((status = 200, body = PinView)), extensions(("x-role" = json!("operator"))))]
async fn vouch(
    State(admin): State<Arc<Admin>>,
    caller: Caller,
    Named(id): Named<String>,
    Body(body): Body<TrustBody>,
) -> Result<Json<PinView>, Problem> {
    trust(&admin, &caller, &id, body).await.map(Json)
}
