//! Files that were sent in chats.

use anyhow::Result;
use axum::{Json, extract::State, http::StatusCode, response::Response};
use channels::Outgoing;
use chrono::{DateTime, Utc};
use serde::Serialize;
use std::sync::Arc;
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::parts::{Page, Params, PathNames, Slice, none};
use crate::{
    admin::{
        Admin,
        chat::downloads,
        problem::{FILE_GONE, Problem},
    },
    store::{
        lists::{
            PageRequest,
            outbox::{ListedMessage, OutboxFilter, list},
        },
        outbox::sending::MessageStatus,
    },
};

pub fn routes() -> OpenApiRouter<Arc<Admin>> {
    OpenApiRouter::new().routes(routes!(index)).routes(routes!(download))
}

/// A file that was sent in a conversation.
#[derive(Debug, Serialize, ToSchema)]
pub struct ArtifactView {
    pub id: String,
    pub conversation: String,
    pub channel: String,
    pub name: String,
    pub media_type: String,
    pub size_bytes: u64,
    /// SHA-256 of the contents, in hex
    pub digest: String,
    pub status: MessageStatus,
    pub created_at: DateTime<Utc>,
}

fn view(row: ListedMessage) -> Option<ArtifactView> {
    let Outgoing::File { name, media_type, size_bytes, digest, .. } = row.what else { return None };
    Some(ArtifactView {
        id: row.id.0,
        conversation: row.conversation.0,
        channel: row.channel,
        name,
        media_type,
        size_bytes,
        digest,
        status: row.status,
        created_at: row.created_at,
    })
}

/// Lists files, newest first; `id` is empty or selects one.
async fn rows(
    admin: &Admin,
    id: String,
    page_request: PageRequest,
) -> Result<(Vec<ListedMessage>, PageRequest)> {
    let read = admin.gateway.store.read(move |tx| {
        Box::pin(async move {
            Ok((list(tx, OutboxFilter::Files, &id, &page_request).await?, page_request))
        })
    });
    read.await
}

pub async fn page(admin: &Admin, page_request: PageRequest) -> Result<Page<ArtifactView>> {
    let (rows, page_request) = rows(admin, String::new(), page_request).await?;
    let page = Page::of(rows, &page_request, |row| row.id.to_string(), view);
    Ok(Page { items: page.items.into_iter().flatten().collect(), next: page.next })
}

pub async fn one(admin: &Admin, id: &str) -> Result<Option<ArtifactView>> {
    let only = PageRequest { limit: 1, ..PageRequest::default() };
    let (mut rows, _) = rows(admin, id.to_owned(), only).await?;
    Ok(rows.pop().and_then(view))
}

/// List files that were sent
#[utoipa::path(get, path = "/artifacts", tag = "artifacts", params(Slice),
    responses((status = 200, body = Page<ArtifactView>)),
    extensions(("x-role" = json!("operator"))))]
async fn index(
    State(admin): State<Arc<Admin>>,
    Params(slice): Params<Slice>,
) -> Result<Json<Page<ArtifactView>>, Problem> {
    Ok(Json(page(&admin, slice.page_request()?).await?))
}

/// Download a file
#[utoipa::path(get, path = "/artifacts/{id}", tag = "artifacts", params(("id" = String, Path)),
    responses((status = 200, content_type = "application/octet-stream", body = Vec<u8>)),
    extensions(("x-role" = json!("operator"))))]
async fn download(
    State(admin): State<Arc<Admin>>,
    PathNames(id): PathNames<String>,
) -> Result<Response, Problem> {
    attached(&admin, &id).await
}

/// Returns the contents as a download.
pub async fn attached(admin: &Admin, id: &str) -> Result<Response, Problem> {
    let file = one(admin, id).await?.ok_or_else(|| none(|page| page.problems.missing.file))?;
    let bytes = admin.gateway.artifacts.read(&file.digest).await.map_err(|problem| {
        tracing::error!(problem = format!("{problem:#}"), "could not read an artifact");
        Problem::new(StatusCode::NOT_FOUND, FILE_GONE)
    })?;
    Ok(downloads::attached(&file.name, bytes))
}
