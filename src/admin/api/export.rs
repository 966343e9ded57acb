//! Exports a whole conversation as one document. It is streamed, so that at most one page is held
//! in memory, whatever its length.

use anyhow::Result;
use axum::{
    body::Body,
    extract::State,
    http::header::CONTENT_TYPE,
    response::{IntoResponse as _, Response},
};
use futures::stream;
use serde::Serialize;
use std::{fmt::Write as _, sync::Arc};
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    approvals::{self, ApprovalView},
    conversations::{ConversationView, EventView, ShownView, happened, one, shown},
    parts::{PathNames, none},
};
use crate::{
    admin::{Admin, problem::Problem},
    store::{conversations::history, lists::PageRequest},
};

pub fn routes() -> OpenApiRouter<Arc<Admin>> {
    OpenApiRouter::new().routes(routes!(export))
}

/// A whole conversation.
#[derive(Debug, Serialize, ToSchema)]
pub struct ExportView {
    pub conversation: ConversationView,
    pub events: Vec<EventView>,
    pub shown: Vec<ShownView>,
    pub approvals: Vec<ApprovalView>,
}

/// Export a whole conversation
#[utoipa::path(get, path = "/conversations/{id}/export", tag = "conversations",
    params(("id" = String, Path)), responses((status = 200, body = ExportView)),
    extensions(("x-role" = json!("operator"))))]
async fn export(
    State(admin): State<Arc<Admin>>,
    PathNames(id): PathNames<String>,
) -> Result<Response, Problem> {
    let conversation =
        one(&admin, &id).await?.ok_or_else(|| none(|page| page.problems.missing.conversation))?;
    let body = written(admin, conversation)?;
    Ok(([(CONTENT_TYPE, "application/json")], body).into_response())
}

/// The number of items that are read at once.
const PIECE: usize = 200;

/// The lists of the document, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum List {
    Events,
    Shown,
    Approvals,
}

impl List {
    fn name(self) -> &'static str {
        match self {
            Self::Events => "events",
            Self::Shown => "shown",
            Self::Approvals => "approvals",
        }
    }

    fn next(self) -> Option<Self> {
        match self {
            Self::Events => Some(Self::Shown),
            Self::Shown => Some(Self::Approvals),
            Self::Approvals => None,
        }
    }
}

/// The position in the document.
struct Writing {
    admin: Arc<Admin>,
    conversation: String,
    list: List,
    /// The id of the last item; empty at the beginning of a list.
    after: String,
}

/// Streams the document. An error truncates it, so that it is not mistaken for a complete one.
fn written(admin: Arc<Admin>, conversation: ConversationView) -> Result<Body> {
    let begun =
        format!("{{\"conversation\":{},\"events\":[", serde_json::to_string(&conversation)?);
    let writing =
        Writing { admin, conversation: conversation.id, list: List::Events, after: String::new() };
    let pieces = stream::try_unfold((Some(writing), begun), |(writing, before)| async move {
        let Some(writing) = writing else { return Ok(None) };
        let (piece, writing) = writing.piece().await.map_err(log_truncation)?;
        anyhow::Ok(Some((before + &piece, (writing, String::new()))))
    });
    Ok(Body::from_stream(pieces))
}

fn log_truncation(problem: anyhow::Error) -> anyhow::Error {
    tracing::error!(problem = format!("{problem:#}"), "an export was truncated");
    problem
}

impl Writing {
    /// The next piece and the state after it; `None` at the end.
    async fn piece(self) -> Result<(String, Option<Self>)> {
        let mut piece = String::new();
        let (items, last) = self.items().await?;
        for item in &items {
            let begins = self.after.is_empty() && piece.is_empty();
            piece.push_str(if begins { "" } else { "," });
            piece.push_str(item);
        }
        if items.len() == PIECE {
            return Ok((piece, Some(Self { after: last, ..self })));
        }
        let Some(list) = self.list.next() else { return Ok((piece + "]}", None)) };
        write!(piece, "],\"{}\":[", list.name())?;
        Ok((piece, Some(Self { list, after: String::new(), ..self })))
    }

    /// The next items as JSON, and the id of the last one.
    async fn items(&self) -> Result<(Vec<String>, String)> {
        let (admin, id) = (&self.admin, self.conversation.as_str());
        let page_request = PageRequest { after: self.after.clone(), limit: PIECE + 1 };
        match self.list {
            List::Events => {
                let found = happened(admin, id, page_request).await?.items;
                as_json(&found, |event| event.number.clone())
            }
            List::Shown => {
                let (id, after) = (id.into(), self.after.clone());
                let read = admin.gateway.store.read(move |tx| {
                    Box::pin(async move { history::made_after(tx, &id, &after, PIECE).await })
                });
                let found: Vec<_> = read.await?.into_iter().map(|row| shown(admin, row)).collect();
                as_json(&found, |shown| shown.id.clone())
            }
            List::Approvals => {
                let conversation = Some(id.to_owned());
                let filter = approvals::ApprovalFilter { conversation, ..Default::default() };
                let found = approvals::page(admin, filter, page_request).await?.items;
                as_json(&found, |approval| approval.id.clone())
            }
        }
    }
}

fn as_json<T: Serialize>(items: &[T], key: impl Fn(&T) -> String) -> Result<(Vec<String>, String)> {
    let last = items.last().map(key).unwrap_or_default();
    let items: Result<Vec<_>, _> = items.iter().map(serde_json::to_string).collect();
    Ok((items?, last))
}
