//! The API under `/api/v1`, one file per resource.
//!
//! The document at `/openapi.json` is made from the same declarations as the routes, and
//! authorisation depends on it: [`caller::admit`] looks up the required role of an operation
//! (`x-role`) there, and serves nothing that is not in it.
//!
//! - [`caller`]: authentication and roles
//! - [`idempotency`]: idempotency keys
//! - [`document`], [`examples`]: the OpenAPI document, and an HTML page
//! - [`parts`]: bodies, parameters and pages
//! - [`approvals`], [`grants`], [`halt`], [`rules`], [`audit`]: approvals and the guard
//! - [`people`], [`conversations`], [`export`], [`schedules`], [`schedule_plans`], [`artifacts`]:
//!   people and conversations
//! - [`dead_letters`], [`webhooks`]: failed messages; webhook deliveries
//! - [`channels`]: reconnecting and checking channels
//! - [`tools`], [`mcp`], [`wasm`], [`inventory`], [`settings`], [`tokens`], [`sessions`]: tools, settings and access
//! - [`wiki`]: the wikis of the agents

pub mod approvals;
pub mod artifacts;
pub mod audit;
pub mod caller;
pub mod channels;
pub mod conversations;
pub mod dead_letters;
pub mod document;
mod examples;
pub mod export;
pub mod grants;
pub mod halt;
pub mod idempotency;
pub mod inventory;
pub mod mcp;
pub mod parts;
pub mod people;
pub mod rules;
pub mod schedule_plans;
pub mod schedules;
pub mod sessions;
mod settings;
pub mod tokens;
pub mod tools;
pub mod wasm;
pub mod webhooks;
pub mod wiki;

use axum::{
    Json, Router,
    http::{HeaderValue, Method},
    middleware::from_fn_with_state,
    response::Html,
    routing::get,
};
use serde_json::Value;
use std::{
    collections::BTreeMap,
    sync::{Arc, LazyLock},
};
use utoipa_axum::router::OpenApiRouter;

use super::Admin;
use crate::journal::role::Role;

/// The root of the API.
const ROOT: &str = "/api/v1";

/// The required role by path and method.
type Locks = BTreeMap<String, BTreeMap<String, Role>>;

/// The API as served.
pub struct Api {
    pub admin: Arc<Admin>,
    /// As in the document.
    locks: Locks,
}

impl Api {
    /// The required role for an operation; `None` if there is no such operation.
    pub fn required(&self, method: &Method, path: &str) -> Option<Role> {
        let method = if *method == Method::HEAD { Method::GET } else { method.clone() };
        self.locks.get(path)?.get(&method.as_str().to_lowercase()).copied()
    }

    /// The methods that a path supports.
    fn methods(&self, path: &str) -> HeaderValue {
        let methods = self.locks.get(path).into_iter().flat_map(BTreeMap::keys);
        let methods: Vec<_> = methods.map(|method| method.to_uppercase()).collect();
        HeaderValue::from_str(&methods.join(", ")).expect("names of methods")
    }
}

/// The routes and declarations of each resource.
const RESOURCES: [fn() -> OpenApiRouter<Arc<Admin>>; 22] = [
    approvals::routes,
    grants::routes,
    halt::routes,
    audit::routes,
    tokens::routes,
    sessions::routes,
    rules::routes,
    tools::routes,
    mcp::routes,
    wasm::routes,
    people::routes,
    dead_letters::routes,
    webhooks::routes,
    schedules::routes,
    schedule_plans::routes,
    wiki::routes,
    conversations::routes,
    export::routes,
    artifacts::routes,
    channels::routes,
    inventory::routes,
    settings::routes,
];

/// The OpenAPI document of this build, as `/openapi.json` serves it.
pub fn openapi() -> Value {
    // Several resources may have operations on one path, which `nest` would replace.
    let merged = RESOURCES.iter().fold(OpenApiRouter::new(), |all, own| all.merge(own()));
    let document = OpenApiRouter::with_openapi(document::begun()).nest(ROOT, merged);
    document::complete(document.get_openapi())
}

/// Made when it is first requested, because it is one of the largest objects of an idle gateway.
static DOCUMENT: LazyLock<Value> = LazyLock::new(openapi);

pub fn router(admin: Arc<Admin>) -> Router<Arc<Admin>> {
    let (mut routes, mut locks) = (Router::new(), BTreeMap::new());
    for resource in RESOURCES {
        // The declarations of one resource are dropped before those of the next are made.
        let (own, declared) = OpenApiRouter::new().nest(ROOT, resource()).split_for_parts();
        routes = routes.merge(own);
        document::add_locks(&declared, &mut locks);
    }
    let api = Arc::new(Api { admin, locks });
    routes
        .route_layer(from_fn_with_state(api, caller::admit))
        .route("/openapi.json", get(|| async { Json(&*DOCUMENT) }))
        .route("/api", get(|| async { Html(document::page(&DOCUMENT)) }))
}
