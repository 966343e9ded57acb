//! The configuration of this node, reloading it, and what operators changed.

use anyhow::Result;
use axum::{Json, extract::State};
use serde::Serialize;
use serde_json::Value;
use std::sync::Arc;
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    audit::{self, FactView},
    caller::Caller,
    parts::{Page, Params, Slice},
};
use crate::{
    admin::{
        Admin,
        problem::{Problem, ProblemText},
        reload,
    },
    store::audit::{ADMIN, AuditKind, Fact},
};

pub fn routes() -> OpenApiRouter<Arc<Admin>> {
    OpenApiRouter::new()
        .routes(routes!(settings))
        .routes(routes!(changes))
        .routes(routes!(would_change, read))
}

/// The current configuration.
#[derive(Debug, Serialize, ToSchema)]
pub struct SettingsView {
    /// Without secrets
    #[schema(value_type = Object)]
    pub configuration: Value,
}

/// Show the current configuration of this node, without secrets
#[utoipa::path(get, path = "/settings", tag = "settings",
    responses((status = 200, body = SettingsView)),
    extensions(("x-role" = json!("operator"))))]
async fn settings(State(admin): State<Arc<Admin>>) -> Json<SettingsView> {
    Json(SettingsView { configuration: admin.configured.clone() })
}

/// The changes of a configuration, one per line, without secrets.
#[derive(Debug, Serialize, ToSchema)]
pub struct ReloadView {
    pub changes: Vec<String>,
}

/// Show what would change if the configuration were reloaded
#[utoipa::path(get, path = "/settings/reload", tag = "settings",
    responses((status = 200, body = ReloadView), (status = 409, description = "The reason why nothing changes")),
    extensions(("x-role" = json!("operator"))))]
async fn would_change(State(admin): State<Arc<Admin>>) -> Result<Json<ReloadView>, Problem> {
    read_again(&admin, None).await
}

/// Reload the configuration; if anything is invalid, nothing changes
#[utoipa::path(put, path = "/settings/reload", tag = "settings",
    responses((status = 200, body = ReloadView), (status = 409, description = "The reason why nothing changes")),
    extensions(("x-role" = json!("owner"))))]
async fn read(
    State(admin): State<Arc<Admin>>,
    caller: Caller,
) -> Result<Json<ReloadView>, Problem> {
    read_again(&admin, Some(caller.did(AuditKind::ConfigurationReloaded))).await
}

async fn read_again(admin: &Admin, fact: Option<Fact>) -> Result<Json<ReloadView>, Problem> {
    let changes = reload::ask(admin, fact).await;
    let changes =
        changes.map_err(|problem| Problem::conflict(ProblemText::not_applied(&problem)))?;
    Ok(Json(ReloadView { changes }))
}

/// List the settings that operators changed at run time: who, when, what
#[utoipa::path(get, path = "/settings/changes", tag = "settings", params(Slice),
    responses((status = 200, body = Page<FactView>)),
    extensions(("x-role" = json!("operator"))))]
async fn changes(
    State(admin): State<Arc<Admin>>,
    Params(slice): Params<Slice>,
) -> Result<Json<Page<FactView>>, Problem> {
    let filter =
        audit::AuditFilter { conversation: ADMIN.to_owned(), ..audit::AuditFilter::default() };
    Ok(Json(audit::page(&admin, filter, slice.page_request()?).await?))
}
