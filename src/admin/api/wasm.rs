//! The components of WASM tools, and trusting them.

use anyhow::Result;
use axum::{Json, extract::State};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::{collections::BTreeMap, sync::Arc};
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    caller::Caller,
    mcp::{self, TrustBody},
    parts::{Body, Page, Params, PathNames, Slice, none, sorted},
};
use crate::{
    admin::{Admin, problem::Problem},
    store::tools::pins::{self, MODULES, Pin},
    tools::wasm::modules::{ModuleState, ModuleStatus},
};

pub fn routes() -> OpenApiRouter<Arc<Admin>> {
    OpenApiRouter::new().routes(routes!(index)).routes(routes!(trust))
}

/// A component that this node has found.
#[derive(Debug, Serialize, ToSchema)]
pub struct ModuleView {
    /// The name of the file without `.wasm`
    pub id: String,
    pub file: String,
    pub state: ModuleState,
    /// The name of its tool, if it could be loaded
    pub tool: Option<String>,
    /// What is wrong, and what to do about it
    pub problem: Option<String>,
    /// SHA-256 of the current definition
    pub digest: Option<String>,
    /// The component's digest, its manifest, and what it says about its tool
    #[schema(value_type = Option<Object>)]
    pub definition: Option<Value>,
}

#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DigestBody {
    /// The digest of the reviewed definition
    pub digest: String,
}

async fn all(admin: &Admin) -> Result<Vec<ModuleView>> {
    let pins = admin.gateway.store.read(|tx| Box::pin(pins::of_server(tx, MODULES))).await?;
    let found = admin.wasm_modules.all().into_iter();
    Ok(found.map(|status| view(admin, status, &pins)).collect())
}

fn view(admin: &Admin, status: ModuleStatus, pins: &BTreeMap<String, Pin>) -> ModuleView {
    let pin = pins.get(&status.module).filter(|_| status.state != ModuleState::Invalid);
    let definition = pin.and_then(|pin| serde_json::from_str(pin.now()).ok());
    ModuleView {
        id: status.module,
        file: status.file,
        state: status.state,
        tool: status.tool,
        problem: status.problem,
        digest: pin.map(|pin| pins::digest(pin.now())),
        definition: definition.map(|definition: Value| admin.redactor().value(&definition)),
    }
}

/// List the components of WASM tools that this node has found
#[utoipa::path(get, path = "/wasm-tools", tag = "tools", params(Slice),
    responses((status = 200, body = Page<ModuleView>)),
    extensions(("x-role" = json!("operator"))))]
async fn index(
    State(admin): State<Arc<Admin>>,
    Params(slice): Params<Slice>,
) -> Result<Json<Page<ModuleView>>, Problem> {
    let items = all(&admin).await?;
    Ok(Json(sorted(items, &slice.page_request()?, |module| module.id.clone())))
}

/// Trust a component as it is, with what its manifest grants; nodes load it within ten seconds
#[utoipa::path(put, path = "/wasm-tools/{id}/trust", tag = "tools",
    params(("id" = String, Path)), request_body = DigestBody,
    responses((status = 200, body = ModuleView)), extensions(("x-role" = json!("operator"))))]
async fn trust(
    State(admin): State<Arc<Admin>>,
    caller: Caller,
    PathNames(id): PathNames<String>,
    Body(DigestBody { digest }): Body<DigestBody>,
) -> Result<Json<ModuleView>, Problem> {
    mcp::trust(&admin, &caller, MODULES, TrustBody { tool: id.clone(), digest }).await?;
    let found = all(&admin).await?.into_iter().find(|module| module.id == id);
    found.map(Json).ok_or_else(|| none(|page| page.problems.missing.component))
}
