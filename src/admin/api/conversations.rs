//! Conversations: listing, events, and erasing a person.

use anyhow::Result;
use axum::{Json, extract::State};
use channels::PlaceKind;
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::sync::Arc;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    caller::Caller,
    parts::{Page, Params, PathNames, Slice, none},
};
use crate::{
    admin::{Admin, problem::Problem},
    journal::{event::Entry, ids::FailureReference},
    store::{
        audit::AuditKind,
        conversations::history::ShownRow,
        lists::{
            PageRequest,
            conversations::{ListedConversation, WantedConversations, events, list},
        },
        outbox::sending::MessageStatus,
    },
    worker::erasure,
};

pub fn routes() -> OpenApiRouter<Arc<Admin>> {
    OpenApiRouter::new()
        .routes(routes!(index))
        .routes(routes!(show))
        .routes(routes!(timeline))
        .routes(routes!(erase_person))
}

/// A conversation, without its messages.
#[derive(Debug, Serialize, ToSchema)]
pub struct ConversationView {
    pub id: String,
    pub channel: String,
    /// The platform's id of the chat and of the topic in it
    pub chat: String,
    pub thread: Option<String>,
    /// Whether it is a private chat
    pub private: bool,
    pub events: i64,
    /// Whether the agent is working on it, or will
    pub busy: bool,
    pub created_at: DateTime<Utc>,
    pub last_at: Option<DateTime<Utc>>,
    /// The reference of the last failed turn
    pub failed: Option<String>,
}

impl From<ListedConversation> for ConversationView {
    fn from(listed: ListedConversation) -> Self {
        Self {
            id: listed.id.0,
            channel: listed.channel,
            private: listed.place.kind == PlaceKind::Private,
            chat: listed.place.chat,
            thread: listed.place.thread,
            events: listed.events,
            busy: listed.is_ready,
            created_at: listed.created_at,
            last_at: listed.last_at,
            failed: listed.failed,
        }
    }
}

/// An event.
#[derive(Debug, Serialize, ToSchema)]
pub struct EventView {
    /// The number in the conversation
    pub number: String,
    pub at: DateTime<Utc>,
    /// The event, without secrets; `kind` is its type
    #[schema(value_type = Object)]
    pub event: Value,
}

/// A message that was shown.
#[derive(Debug, Serialize, ToSchema)]
pub struct ShownView {
    pub id: String,
    /// The event after which it was shown
    pub event: String,
    /// The message that it edits
    pub edits: Option<String>,
    pub status: MessageStatus,
    pub at: DateTime<Utc>,
    #[schema(value_type = Object)]
    pub what: Value,
}

#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ConversationFilter {
    /// Only of one channel
    #[serde(default)]
    pub channel: String,
    /// Only of one chat, by the platform's id
    #[serde(default)]
    pub chat: String,
    /// Only the conversation of a failed turn, by the reference that people were shown
    #[serde(default)]
    pub reference: String,
    /// Only conversations in which a turn has failed
    #[serde(default)]
    pub failed: bool,
}

/// Lists conversations, newest first.
pub async fn page(
    admin: &Admin,
    filter: ConversationFilter,
    page_request: PageRequest,
) -> Result<Page<ConversationView>> {
    let ConversationFilter { channel, chat, reference, failed: only_failed } = filter;
    let failed = FailureReference::parse(&reference).map(|turn| turn.conversation.0);
    // Earlier releases showed the id of the conversation.
    let id = failed.unwrap_or(reference);
    let wanted = WantedConversations { id, channel, chat, failed: only_failed };
    let (rows, page_request) = admin
        .gateway
        .store
        .read(move |tx| {
            Box::pin(async move { Ok((list(tx, &wanted, &page_request).await?, page_request)) })
        })
        .await?;
    Ok(Page::of(rows, &page_request, |row| row.id.to_string(), Into::into))
}

pub async fn one(admin: &Admin, id: &str) -> Result<Option<ConversationView>> {
    let wanted = WantedConversations { id: id.to_owned(), ..WantedConversations::default() };
    let found = admin
        .gateway
        .store
        .read(move |tx| {
            Box::pin(async move {
                let only = PageRequest { limit: 1, ..PageRequest::default() };
                Ok(list(tx, &wanted, &only).await?.pop())
            })
        })
        .await?;
    Ok(found.map(Into::into))
}

/// Lists the events of a conversation, in order.
pub async fn happened(
    admin: &Admin,
    id: &str,
    page_request: PageRequest,
) -> Result<Page<EventView>> {
    let conversation = id.into();
    let (rows, page_request) = admin
        .gateway
        .store
        .read(move |tx| {
            Box::pin(
                async move { Ok((events(tx, &conversation, &page_request).await?, page_request)) },
            )
        })
        .await?;
    Ok(Page::of(rows, &page_request, |row| row.seq.to_string(), |row| event(admin, row)))
}

fn event(admin: &Admin, entry: Entry) -> EventView {
    EventView {
        number: entry.seq.to_string(),
        at: entry.at,
        event: admin.redactor().value(&serde_json::to_value(entry.event).unwrap_or_default()),
    }
}

/// A row of the outbox, without secrets.
pub fn shown(admin: &Admin, row: ShownRow) -> ShownView {
    ShownView {
        id: row.id.0,
        event: row.seq.to_string(),
        edits: row.edits.map(|edits| edits.0),
        status: row.status,
        at: row.created_at,
        what: admin.redactor().value(&serde_json::to_value(row.what).unwrap_or_default()),
    }
}

/// List conversations
#[utoipa::path(get, path = "/conversations", tag = "conversations", params(Slice, ConversationFilter),
    responses((status = 200, body = Page<ConversationView>)),
    extensions(("x-role" = json!("operator"))))]
async fn index(
    State(admin): State<Arc<Admin>>,
    Params(slice): Params<Slice>,
    Params(filter): Params<ConversationFilter>,
) -> Result<Json<Page<ConversationView>>, Problem> {
    Ok(Json(page(&admin, filter, slice.page_request()?).await?))
}

/// Show a conversation
#[utoipa::path(get, path = "/conversations/{id}", tag = "conversations",
    params(("id" = String, Path)), responses((status = 200, body = ConversationView)),
    extensions(("x-role" = json!("operator"))))]
async fn show(
    State(admin): State<Arc<Admin>>,
    PathNames(id): PathNames<String>,
) -> Result<Json<ConversationView>, Problem> {
    one(&admin, &id).await?.map(Json).ok_or_else(|| none(|page| page.problems.missing.conversation))
}

/// List the events of a conversation
#[utoipa::path(get, path = "/conversations/{id}/events", tag = "conversations",
    params(("id" = String, Path), Slice), responses((status = 200, body = Page<EventView>)),
    extensions(("x-role" = json!("operator"))))]
async fn timeline(
    State(admin): State<Arc<Admin>>,
    PathNames(id): PathNames<String>,
    Params(slice): Params<Slice>,
) -> Result<Json<Page<EventView>>, Problem> {
    let page_request = slice.page_request()?;
    one(&admin, &id).await?.ok_or_else(|| none(|page| page.problems.missing.conversation))?;
    Ok(Json(happened(&admin, &id, page_request).await?))
}

/// How much was erased.
#[derive(Debug, Serialize, ToSchema)]
pub struct ErasedView {
    /// The conversations that were deleted
    pub conversations: Vec<String>,
    /// The number of redacted events in conversations with other people
    pub events: i64,
    pub files: i64,
}

/// Erases what a person said and what was said to them alone. `None` if they have open approvals or
/// running calls.
pub async fn erase(
    admin: &Admin,
    caller: &Caller,
    channel: &str,
    person: &str,
) -> Result<Option<ErasedView>> {
    let fact = caller.did(AuditKind::Erased);
    let erased = erasure::erase(&admin.worker, channel, person, fact).await?;
    let view = |erasure::ErasureOutcome { conversations, events, files }| ErasedView {
        conversations: conversations.into_iter().map(|id| id.0).collect(),
        events,
        files,
    };
    Ok(erased.map(view))
}

/// Erase a person: their conversations with the bot, and their words in conversations with other
/// people
///
/// In shared conversations, their messages, files and names are removed, also where the bot quoted
/// or named them. What other people said or noted remains, as do texts of the bot in its own words,
/// files in the workspace, and audit records of these conversations and of administration, which
/// contain only the person's id. Messages on a platform remain there until they are deleted on that
/// platform. While an approval is open or a turn is running in a conversation in which they took
/// part, the answer is 409.
#[utoipa::path(delete, path = "/people/{channel}/{person}/content", tag = "people",
    params(("channel" = String, Path), ("person" = String, Path)),
    responses((status = 200, body = ErasedView),
        (status = 409, description = "An approval of theirs is open, or a turn is running")),
    extensions(("x-role" = json!("owner"))))]
async fn erase_person(
    State(admin): State<Arc<Admin>>,
    caller: Caller,
    PathNames((channel, person)): PathNames<(String, String)>,
) -> Result<Json<ErasedView>, Problem> {
    if !admin.gateway.channels.contains_key(&channel) {
        return Err(none(|page| page.problems.missing.channel));
    }
    let erased = erase(&admin, &caller, &channel, &person).await?;
    erased.map(Json).ok_or_else(|| {
        Problem::conflict(
            "The person has open approvals or running calls. Wait until they end, or stop them \
                first.",
        )
    })
}
