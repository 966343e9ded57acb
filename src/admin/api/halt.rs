//! The halt: stops all tools.

use anyhow::Result;
use axum::{Json, extract::State};
use chrono::{DateTime, Utc};
use serde::Serialize;
use std::sync::Arc;
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{caller::Caller, parts::PersonView};
use crate::{
    admin::{Admin, problem::Problem},
    gateway::approvals::halt,
    store::approvals::grants,
};

pub fn routes() -> OpenApiRouter<Arc<Admin>> {
    OpenApiRouter::new().routes(routes!(show, on, off))
}

/// Whether tools may run.
#[derive(Debug, Serialize, ToSchema)]
pub struct PanicView {
    pub halted: bool,
    pub by: Option<PersonView>,
    pub since: Option<DateTime<Utc>>,
}

pub async fn state(admin: &Admin) -> Result<PanicView> {
    let found = admin
        .gateway
        .store
        .read(|tx| Box::pin(async move { grants::halt_at_hand(tx).await }))
        .await?;
    let (by, since) = found.unzip();
    Ok(PanicView { halted: by.is_some(), by: by.map(Into::into), since })
}

/// Stops all tools and denies all open approvals, on all nodes.
pub async fn halt_all(admin: &Admin, caller: &Caller) -> Result<()> {
    let (by, now) = (caller.speaker(), admin.gateway.clock.now());
    let halt = admin
        .gateway
        .store
        .write("halt", move |tx| Box::pin(async move { halt::halt(tx, &by, now).await.map(drop) }));
    halt.await
}

pub async fn lift(admin: &Admin, caller: &Caller) -> Result<bool> {
    let (by, now) = (caller.speaker(), admin.gateway.clock.now());
    let lift = admin
        .gateway
        .store
        .write("end halt", move |tx| Box::pin(async move { halt::lift(tx, &by, now).await }));
    lift.await
}

/// Show whether tools may run
#[utoipa::path(get, path = "/panic", tag = "panic",
    responses((status = 200, body = PanicView)), extensions(("x-role" = json!("viewer"))))]
async fn show(State(admin): State<Arc<Admin>>) -> Result<Json<PanicView>, Problem> {
    Ok(Json(state(&admin).await?))
}

/// Halt all tools and deny all open approvals
#[utoipa::path(put, path = "/panic", tag = "panic",
    responses((status = 200, body = PanicView)), extensions(("x-role" = json!("owner"))))]
async fn on(State(admin): State<Arc<Admin>>, caller: Caller) -> Result<Json<PanicView>, Problem> {
    halt_all(&admin, &caller).await?;
    Ok(Json(state(&admin).await?))
}

/// Lift the halt
#[utoipa::path(delete, path = "/panic", tag = "panic",
    responses((status = 200, body = PanicView)), extensions(("x-role" = json!("owner"))))]
async fn off(State(admin): State<Arc<Admin>>, caller: Caller) -> Result<Json<PanicView>, Problem> {
    lift(&admin, &caller).await?;
    Ok(Json(state(&admin).await?))
}
