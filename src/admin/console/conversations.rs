//! The list of conversations, and one conversation turn by turn.

use anyhow::Result;
use axum::{
    extract::Path,
    response::{IntoResponse as _, Redirect, Response},
};
use serde::Deserialize;
use serde_json::json;

use super::{
    live,
    page::PageContext,
    timeline::{TimelineInput, steps},
};
use crate::{
    admin::{
        Admin,
        api::{
            audit,
            conversations::{ConversationFilter, ConversationView, happened, one, page, shown},
            parts::{Params, Slice, none},
            people,
        },
        problem::Problem,
        search,
    },
    journal::ids::FailureReference,
    store::{conversations::history, lists::PageRequest},
};

/// The maximum number of events shown, latest first.
const EVENTS: i64 = 400;

pub async fn index(
    context: PageContext,
    Params(slice): Params<Slice>,
    Params(filter): Params<ConversationFilter>,
) -> Result<Response, Problem> {
    let values = json!({ "channel": filter.channel, "chat": filter.chat, "reference": filter.reference, "failed": filter.failed });
    let reference = FailureReference::parse(&filter.reference);
    let found = page(&context.admin, filter, slice.page_request()?).await?;
    if let (Some(reference), [one]) = (reference, found.items.as_slice()) {
        let to = format!("/console/conversations/{}?turn={reference}#{reference}", one.id);
        return Ok(Redirect::to(&to).into_response());
    }
    let channels: Vec<_> = context.admin.gateway.channels.keys().collect();
    let names = people::names(&context.admin).await?;
    let values = json!({ "found": found, "wanted": values, "channels": channels, "names": names });
    context.page("conversations.html", values).await
}

/// A full-text search, from the query string.
#[derive(Default, Deserialize)]
#[serde(default)]
pub struct SearchForm {
    words: String,
    days: Option<i64>,
}

/// The days that a search covers, unless another number is given.
const SEARCHED_DAYS: i64 = 30;

/// Searches what people wrote and what was answered.
pub async fn search(
    context: PageContext,
    Params(form): Params<SearchForm>,
) -> Result<Response, Problem> {
    let days = form.days.unwrap_or(SEARCHED_DAYS).clamp(1, 3_650);
    let found = search::everywhere(&context.admin, &form.words, days).await?;
    let names = people::names(&context.admin).await?;
    let values = json!({ "hits": found, "words": form.words, "days": days, "names": names });
    context.page("search.html", values).await
}

/// Which part of a long conversation to show.
#[derive(Deserialize)]
pub struct ConversationPart {
    /// The reference of a failed turn; the latest events are shown without it.
    #[serde(default)]
    turn: String,
}

pub async fn show(
    context: PageContext,
    Path(id): Path<String>,
    Params(part): Params<ConversationPart>,
) -> Result<Response, Problem> {
    let admin = &context.admin;
    let conversation =
        one(admin, &id).await?.ok_or_else(|| none(|page| page.problems.missing.conversation))?;
    let seen = live::conversation(admin, &id).await?;
    let latest = (conversation.events - EVENTS).max(0);
    let failed = FailureReference::parse(&part.turn);
    let earlier = failed.map_or(latest, |turn| latest.min((turn.upto - EVENTS / 2).max(0)));
    let limit = EVENTS as usize;
    let after = PageRequest { after: earlier.to_string(), limit: limit + 1 };
    let events = happened(admin, &id, after).await?.items;
    let of = id.as_str().into();
    let read = admin
        .gateway
        .store
        .read(move |tx| Box::pin(async move { history::history(tx, &of, limit).await }));
    let sent: Vec<_> = read.await?.into_iter().map(|row| shown(admin, row)).collect();
    let filter = audit::AuditFilter { conversation: id.clone(), ..audit::AuditFilter::default() };
    let facts = audit::page(admin, filter, live::first(limit)).await?.items;
    let happened = TimelineInput {
        events: &events,
        shown: &sent,
        facts: &facts,
        model: model(admin, &conversation).await?,
        prices: &admin.worker.limits.prices,
        language: context.language,
    };
    let live = format!("/console/events?of=conversation&id={id}&seen={seen}");
    let values = json!({
        "conversation": conversation,
        "steps": steps(&happened),
        "earlier": earlier > 0,
        "live": live,
    });
    context.page("conversation.html", values).await
}

/// The model of the conversation, unless another was chosen.
async fn model(admin: &Admin, conversation: &ConversationView) -> Result<String> {
    let connected = admin.gateway.channels.get(&conversation.channel);
    Ok(match connected {
        Some(connected) => admin.worker.agent(&connected.agent).await?.model.clone(),
        None => String::new(),
    })
}
