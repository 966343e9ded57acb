//! Tools of MCP servers, and trusting them.
//!
//! A caller who trusts a tool sends the digest of the definition that they reviewed, so that a
//! concurrent change by the server is not trusted by accident.

use anyhow::Result;
use axum::{Json, extract::State};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::sync::Arc;
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    caller::Caller,
    parts::{Body, Page, Params, PathNames, Slice, none, sorted},
};
use crate::{
    admin::{
        Admin,
        problem::{Problem, TOOL_CHANGED},
    },
    store::tools::pins::{self, Pin, PinState, Reviewed, TrustOutcome},
};

pub fn routes() -> OpenApiRouter<Arc<Admin>> {
    OpenApiRouter::new().routes(routes!(index)).routes(routes!(trust_tool))
}

/// A tool of an MCP server that was ever seen.
#[derive(Debug, Serialize, ToSchema)]
pub struct PinView {
    pub server: String,
    /// The server's name for the tool
    pub tool: String,
    /// seen: as first seen; trusted: an operator trusts it; changed: withheld
    #[serde(rename = "standing")]
    pub state: String,
    /// Who trusted it
    pub trusted_by: Option<String>,
    /// SHA-256 of the current definition
    pub digest: String,
    /// The definition that was first seen or trusted
    #[schema(value_type = Object)]
    pub was: Value,
    /// The current definition, if it differs
    #[schema(value_type = Option<Object>)]
    pub is: Option<Value>,
}

#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TrustBody {
    /// The server's name for the tool
    pub tool: String,
    /// The digest of the reviewed definition
    pub digest: String,
}

impl From<Pin> for PinView {
    fn from(pin: Pin) -> Self {
        let state = match pin.state() {
            PinState::Seen => "seen",
            PinState::Trusted => "trusted",
            PinState::Changed => "changed",
        };
        let read = |text: &str| serde_json::from_str(text).unwrap_or_default();
        Self {
            state: state.to_owned(),
            digest: pins::digest(pin.now()),
            was: read(&pin.definition),
            is: pin.offered.as_deref().map(read),
            trusted_by: Some(pin.trusted_by).filter(|by| !by.is_empty()),
            server: pin.server,
            tool: pin.tool,
        }
    }
}

fn view(admin: &Admin, pin: Pin) -> PinView {
    let whole = PinView::from(pin);
    let redact = |value: &Value| admin.redactor().value(value);
    PinView { was: redact(&whole.was), is: whole.is.as_ref().map(redact), ..whole }
}

/// Lists all tools that were ever seen, by server and name.
pub async fn all(admin: &Admin) -> Result<Vec<PinView>> {
    let pins = admin.gateway.store.read(|tx| Box::pin(pins::all(tx))).await?;
    Ok(pins.into_iter().map(|pin| view(admin, pin)).collect())
}

/// Trusts a tool as reviewed.
pub async fn trust(
    admin: &Admin,
    caller: &Caller,
    server: &str,
    read: TrustBody,
) -> Result<PinView, Problem> {
    let (of, by, now) = (server.to_owned(), caller.id.clone(), admin.gateway.clock.now());
    let TrustBody { tool, digest } = read;
    let reviewed = Reviewed { server: of.clone(), tool: Some(tool.clone()), digest };
    let trust = admin.gateway.store.write("trust tool", move |tx| {
        Box::pin(async move {
            let outcome = pins::trust(tx, &reviewed, &by, now).await?;
            Ok((outcome, pins::of_server(tx, &of).await?.remove(&tool)))
        })
    });
    match trust.await? {
        (TrustOutcome::Trusted(_), Some(pin)) => Ok(view(admin, pin)),
        (TrustOutcome::Changed, _) => Err(Problem::conflict(TOOL_CHANGED)),
        (TrustOutcome::Missing | TrustOutcome::Trusted(_), _) => {
            Err(none(|page| page.problems.missing.server_tool))
        }
    }
}

/// List the tools of an MCP server, and who trusts them
#[utoipa::path(get, path = "/mcp-servers/{id}/tools", tag = "tools",
    params(("id" = String, Path), Slice), responses((status = 200, body = Page<PinView>)),
    extensions(("x-role" = json!("operator"))))]
async fn index(
    State(admin): State<Arc<Admin>>,
    PathNames(id): PathNames<String>,
    Params(slice): Params<Slice>,
) -> Result<Json<Page<PinView>>, Problem> {
    let mut items = all(&admin).await?;
    items.retain(|pin| pin.server == id);
    Ok(Json(sorted(items, &slice.page_request()?, |pin| pin.tool.clone())))
}

/// Trust a tool as it is: it is no longer withheld, and its own claim to be read-only is believed
#[utoipa::path(put, path = "/mcp-servers/{id}/trust", tag = "tools", operation_id = "vouch",
    params(("id" = String, Path)), request_body = TrustBody,
    responses((status = 200, body = PinView)), extensions(("x-role" = json!("operator"))))]
async fn trust_tool(
    State(admin): State<Arc<Admin>>,
    caller: Caller,
    PathNames(id): PathNames<String>,
    Body(body): Body<TrustBody>,
) -> Result<Json<PinView>, Problem> {
    trust(&admin, &caller, &id, body).await.map(Json)
}
