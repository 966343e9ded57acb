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
        dead_letters::{self, Fate},
        parts::{Params, Slice, none},
        webhooks::{self, DeliveryFilter},
    },
    problem::Problem,
};

pub async fn index(visit: PageContext, Params(slice): Params<Slice>) -> Result<Response, Problem> {
    let found = dead_letters::page(&visit.admin, slice.stretch()?).await?;
    let channels: Vec<_> = visit.admin.gateway.channels.keys().collect();
    visit.page("dead_letters.html", json!({ "found": found, "channels": channels })).await
}

#[derive(Deserialize)]
pub struct All {
    #[serde(default)]
    channel: String,
}

pub async fn replay_all(visit: PageContext, Sent(all): Sent<All>) -> Result<Redirect, Problem> {
    dead_letters::replay_all(&visit.admin, &visit.caller, &all.channel).await?;
    Ok(back("dead-letters", "replayed"))
}

pub async fn webhooks(
    visit: PageContext,
    Params(slice): Params<Slice>,
    Params(filter): Params<DeliveryFilter>,
) -> Result<Response, Problem> {
    let status = filter.status;
    let found = webhooks::page(&visit.admin, filter, slice.stretch()?).await?;
    let mut deliveries = Vec::new();
    for delivery in &found.items {
        deliveries.extend(webhooks::whole(&visit.admin, &delivery.id).await?);
    }
    let values = json!({ "deliveries": deliveries, "found": found, "status": status });
    visit.page("webhooks.html", values).await
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Then {
    Replay,
    Drop,
}

#[derive(Deserialize)]
pub struct Settled {
    then: Then,
}

impl Settled {
    fn fate(&self) -> (Fate, &'static str) {
        match self.then {
            Then::Replay => (Fate::Replay, "replayed"),
            Then::Drop => (Fate::Drop, "dropped"),
        }
    }
}

pub async fn settle(
    visit: PageContext,
    Path(id): Path<String>,
    Sent(settled): Sent<Settled>,
) -> Result<Redirect, Problem> {
    let (fate, done) = settled.fate();
    let there = dead_letters::settle(&visit.admin, &visit.caller, &id, fate).await?;
    there.then(|| back("dead-letters", done)).ok_or_else(|| none("dead letter"))
}

pub async fn settle_webhook(
    visit: PageContext,
    Path(id): Path<String>,
    Sent(settled): Sent<Settled>,
) -> Result<Redirect, Problem> {
    let (fate, done) = settled.fate();
    let there = webhooks::settle(&visit.admin, &visit.caller, &id, fate).await?;
    there.then(|| back("webhooks", done)).ok_or_else(|| none("dead delivery"))
}
