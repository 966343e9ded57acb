//! Channels: reconnecting, and checking the token.

use ::channels::CheckError;
use anyhow::Result;
use axum::{Json, extract::State, http::StatusCode};
use serde::Serialize;
use serde_json::json;
use std::{sync::Arc, time::Duration};
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    caller::Caller,
    inventory::StatusView,
    parts::{PathNames, none},
};
use crate::{
    admin::{
        Admin,
        problem::{NO_CONNECTION, Problem},
    },
    clock::stops_within,
    gateway::Connected,
    store::{
        audit::{self, AuditKind, Fact},
        channels::{self, ChannelStatus},
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
    admin.gateway.channels.get(id).ok_or_else(|| none(|page| page.problems.missing.channel))
}

/// How long to wait for the result of a reconnection, and how often to look.
const RECONNECTS_WITHIN: Duration = Duration::from_secs(15);
const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// The result of a reconnection.
#[derive(Debug, Serialize, ToSchema)]
pub struct ReconnectView {
    /// `connecting` if the listening node has not reported a result yet, or no node listens
    pub state: StatusView,
    /// Why it could not connect
    #[schema(required)]
    pub problem: Option<String>,
}

/// Requests a reconnection of the listening node, and waits for its result.
pub async fn reconnect_and_report(
    admin: &Admin,
    caller: &Caller,
    id: &str,
) -> Result<ReconnectView, Problem> {
    let number = request_reconnection(admin, caller, id).await?;
    let found = tokio::time::timeout(RECONNECTS_WITHIN, result_of(admin, id, number)).await;
    let none = ReconnectView { state: StatusView::Connecting, problem: None };
    Ok(found.unwrap_or(Ok(None))?.unwrap_or(none))
}

/// Waits until the listening node reports the result; `None` if this node stops before.
async fn result_of(admin: &Admin, id: &str, number: i64) -> Result<Option<ReconnectView>> {
    while !admin.stop.is_cancelled() {
        let state = admin.gateway.channel_states().await?.remove(id).unwrap_or_default();
        if state.reconnects >= number && state.status != ChannelStatus::Connecting {
            let is_down = state.status == ChannelStatus::Disconnected;
            let problem = state.problem.filter(|_| is_down);
            let problem = problem.map(|problem| admin.redactor().text(&problem.text).into_owned());
            return Ok(Some(ReconnectView { state: state.status.into(), problem }));
        }
        // In real time, because nothing signals what another node reports.
        stops_within(POLL_INTERVAL, &admin.stop).await;
    }
    Ok(None)
}

async fn request_reconnection(admin: &Admin, caller: &Caller, id: &str) -> Result<i64, Problem> {
    if !connected(admin, id)?.alone {
        return Err(Problem::conflict(NO_CONNECTION));
    }
    let fact = caller.did(AuditKind::ChannelReconnected).with("channel", id);
    let (id, now) = (id.to_owned(), admin.gateway.clock.now());
    let write = admin.gateway.store.write("reconnect", move |tx| {
        Box::pin(async move {
            let number = channels::reconnect(tx, &id).await?;
            audit::append(tx, audit::ADMIN, vec![fact], now).await?;
            Ok(number)
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
    note(
        admin,
        caller.did(AuditKind::ChannelChecked).with("channel", id).with("known", json!(view.known)),
    )
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
    params(("id" = String, Path)), responses((status = 200, body = ReconnectView),
        (status = 202, body = ReconnectView, description = "Requested; there is no result yet")),
    extensions(("x-role" = json!("operator"))))]
async fn reconnect(
    State(admin): State<Arc<Admin>>,
    caller: Caller,
    PathNames(id): PathNames<String>,
) -> Result<(StatusCode, Json<ReconnectView>), Problem> {
    let found = reconnect_and_report(&admin, &caller, &id).await?;
    let is_over = found.state != StatusView::Connecting;
    Ok((if is_over { StatusCode::OK } else { StatusCode::ACCEPTED }, Json(found)))
}

/// Check whether the platform accepts the token of a channel
#[utoipa::path(post, path = "/channels/{id}/check", tag = "inventory",
    params(("id" = String, Path)), responses((status = 200, body = CheckView)),
    extensions(("x-role" = json!("operator"))))]
async fn check(
    State(admin): State<Arc<Admin>>,
    caller: Caller,
    PathNames(id): PathNames<String>,
) -> Result<Json<CheckView>, Problem> {
    Ok(Json(checked(&admin, &caller, &id).await?))
}
