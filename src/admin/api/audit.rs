//! The audit: search and verification.

use anyhow::Result;
use axum::{Json, extract::State};
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::sync::Arc;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::{router::OpenApiRouter, routes};

use super::parts::{Page, Params, Slice};
use crate::{
    admin::{Admin, problem::Problem},
    store::{
        audit::{AuditRecord, Query},
        lists::PageRequest,
    },
};

pub fn routes() -> OpenApiRouter<Arc<Admin>> {
    OpenApiRouter::new().routes(routes!(index)).routes(routes!(verify))
}

/// An audit record.
#[derive(Debug, Serialize, ToSchema)]
pub struct FactView {
    /// The chain: a conversation, `admin` or `seals`
    pub chain: String,
    /// The number in the chain
    pub number: String,
    pub at: DateTime<Utc>,
    /// asked, decided, started, ran, refused, …
    pub kind: String,
    /// The platform's id; for a token, `token:` and its name
    pub person: String,
    pub tool: String,
    #[schema(value_type = Value)]
    pub body: Value,
    /// The hash of this record and all previous ones in the chain
    pub hash: String,
}

#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct AuditFilter {
    /// The chain: a conversation, `admin` or `seals`
    #[serde(default)]
    pub conversation: String,
    /// The platform's id
    #[serde(default)]
    pub person: String,
    #[serde(default)]
    pub tool: String,
    #[serde(default)]
    pub kind: String,
    pub since: Option<DateTime<Utc>>,
    pub until: Option<DateTime<Utc>>,
}

/// Lists matching records, newest first.
pub async fn page(
    admin: &Admin,
    filter: AuditFilter,
    page_request: PageRequest,
) -> Result<Page<FactView>> {
    let query = Query {
        conversation: filter.conversation,
        person: filter.person,
        tool: filter.tool,
        kind: filter.kind,
        since: filter.since,
        until: filter.until,
        after: AuditRecord::place(&page_request.after),
        limit: page_request.limit,
    };
    let rows = admin.gateway.store.audit(query).await?;
    Ok(Page::of(rows, &page_request, AuditRecord::own_place, Into::into))
}

impl From<AuditRecord> for FactView {
    fn from(row: AuditRecord) -> Self {
        Self {
            chain: row.chain,
            number: row.n.to_string(),
            at: row.at,
            kind: row.kind,
            person: row.person,
            tool: row.tool,
            body: serde_json::from_str(&row.body).unwrap_or(Value::String(row.body)),
            hash: row.hash,
        }
    }
}

/// Search the audit
#[utoipa::path(get, path = "/audit", tag = "audit", params(Slice, AuditFilter),
    responses((status = 200, body = Page<FactView>)), extensions(("x-role" = json!("operator"))))]
async fn index(
    State(admin): State<Arc<Admin>>,
    Params(slice): Params<Slice>,
    Params(filter): Params<AuditFilter>,
) -> Result<Json<Page<FactView>>, Problem> {
    Ok(Json(page(&admin, filter, slice.page_request()?).await?))
}

/// The result of verifying the audit.
#[derive(Debug, Serialize, ToSchema)]
pub struct VerifiedView {
    pub good: bool,
    pub rows: usize,
    pub chains: usize,
    /// The hash of the last seal, to be stored elsewhere
    pub seal: Option<String>,
    /// The problems found, one sentence each
    pub faults: Vec<String>,
}

/// Verify that no audit record was changed, moved or removed
#[utoipa::path(get, path = "/audit/verification", tag = "audit",
    responses((status = 200, body = VerifiedView)), extensions(("x-role" = json!("operator"))))]
async fn verify(State(admin): State<Arc<Admin>>) -> Result<Json<VerifiedView>, Problem> {
    Ok(Json(verified(&admin).await?))
}

/// Verifies the whole audit.
pub async fn verified(admin: &Admin) -> Result<VerifiedView> {
    let verified = admin.gateway.store.verify_audit().await?;
    Ok(VerifiedView {
        good: verified.faults.is_empty(),
        rows: verified.rows,
        chains: verified.chains,
        seal: verified.seal.map(|(_, hash)| hash),
        faults: verified.faults,
    })
}
