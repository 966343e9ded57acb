//! Channels: reconnecting, and checking the token.

use ::channels::CheckError;
use anyhow::Result;
use axum::{Json, extract::State, http::StatusCode};
use serde::Serialize;
use serde_json::json;
use std::sync::Arc;
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    caller::Caller,
    parts::{Named, none},
};
use crate::{
    admin::{Admin, problem::Problem},
    gateway::Connected,
    store::{
        audit::{self, Fact},
        channels,
    },
};

pub fn routes() -> OpenApiRouter<Arc<Admin>> {
    OpenApiRouter::new().routes(routes!(reconnect)).routes(routes!(check))
}

/// The result of checking the bot's account.
#[derive(Debug, Serialize, ToSchema)]
pub struct CheckView {
    /// Whether the platform accepts the token; `null` if it does not answer
    #[schema(required)]
    pub known: Option<bool>,
    /// The problem, and what to do
    #[schema(required)]
    pub problem: Option<String>,
}

fn connected<'a>(admin: &'a Admin, id: &str) -> Result<&'a Connected, Problem> {
    admin.gateway.channels.get(id).ok_or_else(|| none("channel"))
}

/// Requests a reconnection, which the listening node carries out within seconds.
pub async fn connect_anew(admin: &Admin, caller: &Caller, id: &str) -> Result<(), Problem> {
    if !connected(admin, id)?.alone {
        let text = "This channel is served by the gateway itself and has no connection.";
        return Err(Problem::conflict(text));
    }
    let fact = caller.did("channel_reconnected").with("channel", id);
    let (id, now) = (id.to_owned(), admin.gateway.clock.now());
    let write = admin.gateway.store.write("reconnect", move |tx| {
        Box::pin(async move {
            channels::reconnect(tx, &id).await?;
            audit::append(tx, audit::ADMIN, vec![fact], now).await
        })
    });
    Ok(write.await?)
}

pub async fn checked(admin: &Admin, caller: &Caller, id: &str) -> Result<CheckView, Problem> {
    let answered = connected(admin, id)?.channel.check().await;
    let known = match &answered {
        Ok(()) => Some(true),
        Err(CheckError::Refused(_)) => Some(false),
        Err(CheckError::Silent(_)) => None,
    };
    let problem =
        answered.err().map(|problem| admin.redactor().text(&problem.to_string()).into_owned());
    let view = CheckView { known, problem };
    note(admin, caller.did("channel_checked").with("channel", id).with("known", json!(view.known)))
        .await?;
    Ok(view)
}

async fn note(admin: &Admin, fact: Fact) -> Result<()> {
    let now = admin.gateway.clock.now();
    let write = admin.gateway.store.write("channel checked", move |tx| {
        Box::pin(async move { audit::append(tx, audit::ADMIN, vec![fact], now).await })
    });
    write.await
}

/// Reconnect a channel, on the node that listens on it
#[utoipa::path(post, path = "/channels/{id}/reconnect", tag = "inventory",
    params(("id" = String, Path)), responses((status = 202, description = "The reconnection was requested")),
    extensions(("x-role" = json!("operator"))))]
async fn reconnect(
    State(admin): State<Arc<Admin>>,
    caller: Caller,
    Named(id): Named<String>,
) -> Result<StatusCode, Problem> {
    connect_anew(&admin, &caller, &id).await?;
    Ok(StatusCode::ACCEPTED)
}

/// Check whether the platform accepts the token of a channel
#[utoipa::path(post, path = "/channels/{id}/check", tag = "inventory",
    params(("id" = String, Path)), responses((status = 200, body = CheckView)),
    extensions(("x-role" = json!("operator"))))]
async fn check(
    State(admin): State<Arc<Admin>>,
    caller: Caller,
    Named(id): Named<String>,
) -> Result<Json<CheckView>, Problem> {
    Ok(Json(checked(&admin, &caller, &id).await?))
}
