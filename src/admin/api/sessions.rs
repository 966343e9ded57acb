//! Browser sessions: listing and ending them.

use anyhow::Result;
use axum::{Json, extract::State, http::StatusCode};
use chrono::{DateTime, Utc};
use serde::Serialize;
use std::sync::Arc;
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    caller::Caller,
    parts::{Page, Params, PathNames, Slice, none},
};
use crate::{
    admin::{Admin, problem::Problem},
    store::{
        audit,
        audit::AuditKind,
        lists::PageRequest,
        people::web_sessions::{self, AccessId, OpenAccess},
    },
};

pub fn routes() -> OpenApiRouter<Arc<Admin>> {
    OpenApiRouter::new().routes(routes!(index)).routes(routes!(end_one))
}

/// A browser session, or an unused sign-in link.
#[derive(Debug, Serialize, ToSchema)]
pub struct SessionView {
    pub id: String,
    /// session or link
    pub kind: &'static str,
    pub person: String,
    pub name: String,
    /// Signed in with the OpenID provider, not with a link
    pub by_issuer: bool,
    pub created_at: DateTime<Utc>,
    pub expires_at: DateTime<Utc>,
}

impl From<OpenAccess> for SessionView {
    fn from(open: OpenAccess) -> Self {
        Self {
            id: open.id.to_string(),
            kind: open.kind.as_str(),
            person: open.person,
            name: open.name,
            by_issuer: open.by_issuer,
            created_at: open.created_at,
            expires_at: open.expires_at,
        }
    }
}

pub async fn page(admin: &Admin, page_request: PageRequest) -> Result<Page<SessionView>> {
    let now = admin.gateway.clock.now();
    let (rows, page_request) = admin
        .gateway
        .store
        .read(move |tx| {
            Box::pin(async move {
                Ok((web_sessions::list(tx, &page_request, now).await?, page_request))
            })
        })
        .await?;
    Ok(Page::of(rows, &page_request, |row| row.id.to_string(), Into::into))
}

/// Ends a session immediately, including its open pages. Returns whether it existed.
pub async fn end(admin: &Admin, caller: &Caller, id: &str) -> Result<bool> {
    let Some(id) = AccessId::parse(id) else { return Ok(false) };
    let (fact, now) = (caller.did(AuditKind::SessionEnded), admin.gateway.clock.now());
    let ended = admin
        .gateway
        .store
        .write("end session", move |tx| {
            Box::pin(async move {
                let ended = web_sessions::end(tx, &id).await?;
                if let Some(person) = &ended {
                    let fact = fact.with("whom", person.as_str());
                    audit::append(tx, audit::ADMIN, vec![fact], now).await?;
                }
                Ok(ended)
            })
        })
        .await?;
    let there = ended.is_some();
    // Open pages check whether their session is still valid.
    if let Some(person) = ended {
        admin.changed.send(person).ok();
    }
    Ok(there)
}

/// List browser sessions and unused sign-in links
#[utoipa::path(get, path = "/sessions", tag = "sessions", params(Slice),
    responses((status = 200, body = Page<SessionView>)), extensions(("x-role" = json!("owner"))))]
async fn index(
    State(admin): State<Arc<Admin>>,
    Params(slice): Params<Slice>,
) -> Result<Json<Page<SessionView>>, Problem> {
    Ok(Json(page(&admin, slice.page_request()?).await?))
}

/// End a session or a sign-in link immediately
#[utoipa::path(delete, path = "/sessions/{id}", tag = "sessions", params(("id" = String, Path)),
    responses((status = 204)), extensions(("x-role" = json!("owner"))))]
async fn end_one(
    State(admin): State<Arc<Admin>>,
    caller: Caller,
    PathNames(id): PathNames<String>,
) -> Result<StatusCode, Problem> {
    if end(&admin, &caller, &id).await? {
        Ok(StatusCode::NO_CONTENT)
    } else {
        Err(none(|page| page.problems.missing.session))
    }
}
