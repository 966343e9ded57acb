//! Webhook deliveries: listing, replaying and dropping them.

use anyhow::Result;
use axum::{Json, extract::State, http::StatusCode};
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::sync::Arc;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    caller::Caller,
    dead_letters::{Resolution, no_content_or_not_found},
    parts::{Page, Params, PathNames, Slice, none},
};
use crate::{
    admin::{Admin, problem::Problem},
    store::{
        audit,
        audit::AuditKind,
        lists::PageRequest,
        webhooks::{
            deliveries::{self, DeliveryStatus, LoggedAttempt, WebhookDelivery},
            subscriptions,
        },
    },
};

pub fn routes() -> OpenApiRouter<Arc<Admin>> {
    OpenApiRouter::new().routes(routes!(index)).routes(routes!(show, drop)).routes(routes!(replay))
}

/// A webhook delivery.
#[derive(Debug, Serialize, ToSchema)]
pub struct DeliveryView {
    /// The `webhook-id`
    pub id: String,
    /// The name of the subscription
    pub subscription: String,
    pub topic: String,
    /// The body, without secrets
    #[schema(value_type = Value)]
    pub body: Value,
    pub status: DeliveryStatus,
    pub attempts: i64,
    /// The earliest time at which a waiting delivery is sent
    pub next_attempt_at: Option<DateTime<Utc>>,
    pub created_at: DateTime<Utc>,
}

/// The result of an attempt.
#[derive(Debug, Serialize, ToSchema)]
pub struct TryView {
    pub at: DateTime<Utc>,
    /// The status of the response, if there was one
    pub status: Option<i64>,
    pub problem: String,
}

impl From<LoggedAttempt> for TryView {
    fn from(LoggedAttempt { at, status, problem }: LoggedAttempt) -> Self {
        Self { at, status, problem }
    }
}

/// A delivery with its attempts, in order.
#[derive(Debug, Serialize, ToSchema)]
pub struct WholeDelivery {
    #[serde(flatten)]
    pub delivery: DeliveryView,
    pub tries: Vec<TryView>,
}

#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct DeliveryFilter {
    /// Only those with this status
    #[param(inline)]
    pub status: Option<DeliveryStatus>,
}

fn view(admin: &Admin, row: WebhookDelivery) -> DeliveryView {
    let body = serde_json::from_str(&row.body).unwrap_or(Value::String(row.body));
    let waits = row.status == DeliveryStatus::Waiting;
    DeliveryView {
        id: row.id,
        subscription: row.subscription,
        topic: row.topic,
        body: admin.redactor().value(&body),
        status: row.status,
        attempts: row.attempts,
        next_attempt_at: waits.then(|| row.not_before.max(row.created_at)),
        created_at: row.created_at,
    }
}

/// Lists deliveries, newest first.
pub async fn page(
    admin: &Admin,
    filter: DeliveryFilter,
    page_request: PageRequest,
) -> Result<Page<DeliveryView>> {
    let read = admin.gateway.store.read(move |tx| {
        Box::pin(async move {
            Ok((deliveries::list(tx, filter.status, "", &page_request).await?, page_request))
        })
    });
    let (rows, page_request) = read.await?;
    Ok(Page::of(rows, &page_request, |row| row.id.clone(), |row| view(admin, row)))
}

/// Returns one delivery with its attempts.
pub async fn whole(admin: &Admin, id: &str) -> Result<Option<WholeDelivery>> {
    let id = id.to_owned();
    let read = admin.gateway.store.read(move |tx| {
        Box::pin(async move {
            let only = PageRequest { limit: 1, ..PageRequest::default() };
            let found = deliveries::list(tx, None, &id, &only).await?.pop();
            Ok((found, deliveries::tries(tx, &id).await?))
        })
    });
    let (found, tries) = read.await?;
    let tries = tries.into_iter().map(Into::into).collect();
    Ok(found.map(|row| WholeDelivery { delivery: view(admin, row), tries }))
}

/// Replays a dead or waiting delivery, or drops a dead one. Returns whether it was in such a state.
pub async fn resolve(
    admin: &Admin,
    caller: &Caller,
    id: &str,
    resolution: Resolution,
) -> Result<bool> {
    let replay = resolution == Resolution::Replay;
    let fact =
        caller.did(if replay { AuditKind::WebhookReplayed } else { AuditKind::WebhookDropped });
    let (fact, id, now) = (fact.with("delivery", id), id.to_owned(), admin.gateway.clock.now());
    let write = admin.gateway.store.write("resolve webhook delivery", move |tx| {
        Box::pin(async move {
            let settled = if replay {
                deliveries::replay(tx, &id).await?
            } else {
                deliveries::drop_dead(tx, &id).await?
            };
            if settled {
                audit::append(tx, audit::ADMIN, vec![fact], now).await?;
            }
            Ok(settled)
        })
    });
    write.await
}

/// Queues a test delivery for a subscription. Returns whether it exists.
pub async fn send_test(admin: &Admin, caller: &Caller, subscription: &str) -> Result<bool> {
    let fact = caller.did(AuditKind::WebhookTested).with("subscription", subscription);
    let (subscription, now) = (subscription.to_owned(), admin.gateway.clock.now());
    let write = admin.gateway.store.write("test webhook", move |tx| {
        Box::pin(async move {
            let known = subscriptions::test(tx, &subscription, now).await?;
            if known {
                audit::append(tx, audit::ADMIN, vec![fact], now).await?;
            }
            Ok(known)
        })
    });
    write.await
}

/// List webhook deliveries
#[utoipa::path(get, path = "/webhook-deliveries", tag = "webhooks", params(Slice, DeliveryFilter),
    responses((status = 200, body = Page<DeliveryView>)),
    extensions(("x-role" = json!("operator"))))]
async fn index(
    State(admin): State<Arc<Admin>>,
    Params(slice): Params<Slice>,
    Params(filter): Params<DeliveryFilter>,
) -> Result<Json<Page<DeliveryView>>, Problem> {
    Ok(Json(page(&admin, filter, slice.page_request()?).await?))
}

/// Show a delivery with all attempts
#[utoipa::path(get, path = "/webhook-deliveries/{id}", tag = "webhooks",
    params(("id" = String, Path)), responses((status = 200, body = WholeDelivery)),
    extensions(("x-role" = json!("operator"))))]
async fn show(
    State(admin): State<Arc<Admin>>,
    PathNames(id): PathNames<String>,
) -> Result<Json<WholeDelivery>, Problem> {
    whole(&admin, &id).await?.map(Json).ok_or_else(|| none(|page| page.problems.missing.delivery))
}

/// Send a dead or waiting delivery now, starting with the first attempt
#[utoipa::path(post, path = "/webhook-deliveries/{id}/replay", tag = "webhooks",
    params(("id" = String, Path)), responses((status = 204)),
    extensions(("x-role" = json!("operator"))))]
async fn replay(
    State(admin): State<Arc<Admin>>,
    caller: Caller,
    PathNames(id): PathNames<String>,
) -> Result<StatusCode, Problem> {
    let replayed = resolve(&admin, &caller, &id, Resolution::Replay).await?;
    no_content_or_not_found(replayed, |page| page.problems.missing.unsent_delivery)
}

/// Drop a dead delivery
#[utoipa::path(delete, path = "/webhook-deliveries/{id}", tag = "webhooks",
    params(("id" = String, Path)), responses((status = 204)),
    extensions(("x-role" = json!("operator"))))]
async fn drop(
    State(admin): State<Arc<Admin>>,
    caller: Caller,
    PathNames(id): PathNames<String>,
) -> Result<StatusCode, Problem> {
    let dropped = resolve(&admin, &caller, &id, Resolution::Drop).await?;
    no_content_or_not_found(dropped, |page| page.problems.missing.dead_delivery)
}
