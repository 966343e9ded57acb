//! The API under `/api/v1`, one file a resource.
//!
//! The document at `/openapi.json` is made from the same declarations as the routes, and it is the
//! lock: [`caller::admit`] looks up there which role an operation takes (`x-role`), and serves
//! nothing that is not in it.
//!
//! - [`caller`]: who calls, and what they may do
//! - [`idempotency`]: a request is done once
//! - [`document`]: the document, and a page for people
//! - [`parts`]: what requests and answers are made of
//! - [`approvals`], [`grants`], [`mod@panic`], [`rules`], [`audit`]: countersigning
//! - [`people`], [`conversations`], [`export`], [`schedules`], [`artifacts`]: who talks, and about what
//! - [`dead_letters`], [`webhooks`]: what could not be shown; what other programs were told
//! - [`channels`]: connected anew, asked whether their platform knows them
//! - [`tools`], [`mcp`], [`inventory`], [`tokens`], [`sessions`]: what there is, who may change it, who answers for
//!   it

pub mod approvals;
pub mod artifacts;
pub mod audit;
pub mod caller;
pub mod channels;
pub mod conversations;
pub mod dead_letters;
pub mod document;
pub mod export;
pub mod grants;
pub mod idempotency;
pub mod inventory;
pub mod mcp;
pub mod panic;
pub mod parts;
pub mod people;
pub mod rules;
pub mod schedules;
pub mod sessions;
pub mod tokens;
pub mod tools;
pub mod webhooks;

use axum::{
    Json, Router,
    http::{HeaderValue, Method},
    middleware::from_fn_with_state,
    response::Html,
    routing::get,
};
use serde_json::Value;
use std::{collections::BTreeMap, sync::Arc};
use utoipa_axum::router::OpenApiRouter;

use super::Admin;
use crate::journal::role::Role;

/// Where the API begins.
const ROOT: &str = "/api/v1";

/// The API as it is served.
pub struct Api {
    pub admin: Arc<Admin>,
    pub document: Value,
    /// By path and method, as in the document: the least role.
    locks: BTreeMap<String, BTreeMap<String, Role>>,
}

impl Api {
    /// The least role for an operation; `None`: there is none.
    pub fn least(&self, method: &Method, path: &str) -> Option<Role> {
        let method = if *method == Method::HEAD { Method::GET } else { method.clone() };
        self.locks.get(path)?.get(&method.as_str().to_lowercase()).copied()
    }

    /// What that path takes.
    fn methods(&self, path: &str) -> HeaderValue {
        let methods = self.locks.get(path).into_iter().flat_map(BTreeMap::keys);
        let methods: Vec<_> = methods.map(|method| method.to_uppercase()).collect();
        HeaderValue::from_str(&methods.join(", ")).expect("names of methods")
    }
}

fn resources() -> OpenApiRouter<Arc<Admin>> {
    OpenApiRouter::new()
        .merge(approvals::routes())
        .merge(grants::routes())
        .merge(panic::routes())
        .merge(audit::routes())
        .merge(tokens::routes())
        .merge(sessions::routes())
        .merge(rules::routes())
        .merge(tools::routes())
        .merge(mcp::routes())
        .merge(people::routes())
        .merge(dead_letters::routes())
        .merge(webhooks::routes())
        .merge(schedules::routes())
        .merge(conversations::routes())
        .merge(export::routes())
        .merge(artifacts::routes())
        .merge(channels::routes())
        .merge(inventory::routes())
}

/// The OpenAPI document of this build, as `/openapi.json` serves it.
pub fn openapi() -> Value {
    document::complete(declared().get_openapi())
}

fn declared() -> OpenApiRouter<Arc<Admin>> {
    OpenApiRouter::with_openapi(document::begun()).nest(ROOT, resources())
}

pub fn router(admin: Arc<Admin>) -> Router<Arc<Admin>> {
    let (routes, declared) = declared().split_for_parts();
    let document = document::complete(&declared);
    let locks = document::locks(&document);
    let api = Arc::new(Api { admin, document, locks });
    let page = document::page(&api.document);
    let shown = api.clone();
    routes
        .route_layer(from_fn_with_state(api, caller::admit))
        .route("/openapi.json", get(move || async move { Json(shown.document.clone()) }))
        .route("/api", get(move || async move { Html(page) }))
}
