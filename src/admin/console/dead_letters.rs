//! Dead letters and webhook deliveries.

use axum::{
    extract::Path,
    response::{Redirect, Response},
};
use serde::Deserialize;
use serde_json::json;

use super::page::{PageContext, Sent, back};
use crate::admin::{
    api::{
        dead_letters::{self, Resolution},
        parts::{Params, Slice, none},
        webhooks::{self, DeliveryFilter},
    },
    problem::{NO_SUCH_STATE, Problem},
};

pub async fn index(
    context: PageContext,
    Params(slice): Params<Slice>,
) -> Result<Response, Problem> {
    let found = dead_letters::page(&context.admin, slice.page_request()?).await?;
    let channels: Vec<_> = context.admin.gateway.channels.keys().collect();
    context.page("dead_letters.html", json!({ "found": found, "channels": channels })).await
}

#[derive(Deserialize)]
pub struct ReplayAllForm {
    #[serde(default)]
    channel: String,
}

pub async fn replay_all(
    context: PageContext,
    Sent(all): Sent<ReplayAllForm>,
) -> Result<Redirect, Problem> {
    dead_letters::replay_all(&context.admin, &context.caller, &all.channel).await?;
    Ok(back("dead-letters", "replayed"))
}

/// The filter of the form, in which no status means all of them.
#[derive(Default, Deserialize)]
#[serde(default)]
pub struct WebhooksQuery {
    status: String,
}

impl WebhooksQuery {
    fn filter(&self) -> Result<DeliveryFilter, Problem> {
        if self.status.is_empty() {
            return Ok(DeliveryFilter::default());
        }
        let status = serde_json::from_value(json!(self.status));
        let status = status.map_err(|_| Problem::unfit(NO_SUCH_STATE))?;
        Ok(DeliveryFilter { status: Some(status) })
    }
}

pub async fn webhooks(
    context: PageContext,
    Params(slice): Params<Slice>,
    Params(query): Params<WebhooksQuery>,
) -> Result<Response, Problem> {
    let filter = query.filter()?;
    let status = filter.status;
    let found = webhooks::page(&context.admin, filter, slice.page_request()?).await?;
    let mut deliveries = Vec::new();
    for delivery in &found.items {
        deliveries.extend(webhooks::whole(&context.admin, &delivery.id).await?);
    }
    let subscriptions: Vec<_> = context.admin.subscriptions.keys().collect();
    let values = json!({
        "deliveries": deliveries,
        "found": found,
        "status": status,
        "subscriptions": subscriptions,
    });
    context.page("webhooks.html", values).await
}

#[derive(Deserialize)]
pub struct WebhookTestForm {
    subscription: String,
}

/// Sends a delivery with the topic `test`.
pub async fn test_webhook(
    context: PageContext,
    Sent(form): Sent<WebhookTestForm>,
) -> Result<Redirect, Problem> {
    let known = webhooks::send_test(&context.admin, &context.caller, &form.subscription).await?;
    known
        .then(|| back("webhooks", "webhook_tested"))
        .ok_or_else(|| none(|page| page.problems.missing.subscription))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum LetterAction {
    Replay,
    Drop,
}

#[derive(Deserialize)]
pub struct ResolveForm {
    then: LetterAction,
}

impl ResolveForm {
    fn resolution(&self) -> (Resolution, &'static str) {
        match self.then {
            LetterAction::Replay => (Resolution::Replay, "replayed"),
            LetterAction::Drop => (Resolution::Drop, "dropped"),
        }
    }
}

pub async fn resolve(
    context: PageContext,
    Path(id): Path<String>,
    Sent(settled): Sent<ResolveForm>,
) -> Result<Redirect, Problem> {
    let (resolution, done) = settled.resolution();
    let there = dead_letters::resolve(&context.admin, &context.caller, &id, resolution).await?;
    there
        .then(|| back("dead-letters", done))
        .ok_or_else(|| none(|page| page.problems.missing.dead_letter))
}

pub async fn resolve_webhook(
    context: PageContext,
    Path(id): Path<String>,
    Sent(settled): Sent<ResolveForm>,
) -> Result<Redirect, Problem> {
    let (resolution, done) = settled.resolution();
    let there = webhooks::resolve(&context.admin, &context.caller, &id, resolution).await?;
    let missing = || match resolution {
        Resolution::Replay => none(|page| page.problems.missing.unsent_delivery),
        Resolution::Drop => none(|page| page.problems.missing.dead_delivery),
    };
    there.then(|| back("webhooks", done)).ok_or_else(missing)
}
