//! The HTTP server, and the only user of axum: web chat, sign-in, console, API, webhooks, health.
//!
//! - [`api`]: the API
//! - [`auth`]: browser sessions, signing in with an OpenID provider, which requests are accepted
//! - [`chat`]: the web chat, also as a widget in pages of other sites
//! - [`completions`]: the endpoint for OpenAI clients
//! - [`connections`]: limits the connections in number and in time
//! - [`console`]: pages for operators, built on the functions of the API
//! - [`language`]: parses `Accept-Language`
//! - [`markdown_html`], [`mathml`], [`code_html`]: render Markdown as safe HTML, with its formulas
//!   and highlighted code; `escape`: escapes text
//! - [`push`]: notifies browsers of approval requests
//! - [`rules`]: guard rules
//! - [`reload`]: requests to the main loop: to reload the configuration, to change its file
//!   ([`settings_file`]), to check the installation
//! - [`first_steps`]: providers and platforms that are offered to new operators
//! - [`search`]: full-text search
//! - [`templates`]: the chat, the pages in front of it, and the list of operations
//! - [`webhooks`], [`health`]: requests from platforms, and probes
//! - `webhook_bodies`: reads the bodies of webhooks
//! - [`metrics`]: Prometheus metrics
//! - [`problem`]: error responses
//! - [`percent`]: percent-encoding of text in paths and headers

pub mod api;
pub mod auth;
pub mod chat;
mod code_html;
pub mod completions;
pub mod connections;
pub mod console;
mod escape;
pub mod first_steps;
pub mod health;
pub mod language;
pub mod markdown_html;
mod mathml;
pub mod metrics;
pub mod percent;
pub mod problem;
pub mod push;
pub mod reload;
pub mod rules;
pub mod search;
pub mod settings_file;
mod templates;
mod webhook_bodies;
pub mod webhooks;

#[cfg(test)]
mod tests;

use anyhow::{Context as _, Result};
use axum::{
    Router,
    extract::DefaultBodyLimit,
    middleware,
    routing::{delete, get, post},
};
use channels::{Place, PlaceKind, web::Web};
use secrecy::SecretString;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::{collections::BTreeMap, path::PathBuf, sync::Arc, time::Duration};
use tokio::{net::TcpListener, sync::broadcast};
use tokio_util::sync::CancellationToken;
use tower_http::{catch_panic::CatchPanicLayer, limit::RequestBodyLimitLayer};

use auth::{hosts, oidc, oidc_provider, rate_limit, security_headers, web_session};
use chat::{downloads, events, own_conversations, uploads, visitor, widget};
use connections::{LimitedListener, Peer};
use reload::Requests;

use crate::{
    agent::redact::Redactor,
    clock,
    gateway::{
        Gateway,
        webhooks::{Subscription, incoming::IncomingWebhook, outgoing::WebhookSender},
    },
    journal::role::Role,
    store::people::BrowserSession,
    tools::{
        schedule_planner::{ScheduleLimits, SchedulePlanner},
        wasm::modules::ModuleStatuses,
    },
    worker::Worker,
};

/// The maximum size of a request body.
const BODY_BYTES: usize = 1024 * 1024;
/// The maximum number of event streams of one person, on each node.
const OPEN_PAGES: usize = 20;
/// How long running requests may take to finish after `stop`.
const ENDS_WITHIN: Duration = Duration::from_secs(10);

/// The state of the HTTP server.
pub struct Admin {
    pub gateway: Arc<Gateway>,
    pub worker: Arc<Worker>,
    /// The configuration, without secrets.
    pub configured: Value,
    /// The web channels by id; the first one that is not a widget is served at `/`.
    pub webs: BTreeMap<String, Arc<Web>>,
    /// The bot's name on the pages.
    pub bot: String,
    /// Whether the demo model answers, in which case the page says so.
    pub demo: bool,
    /// Notifies the open pages of a person of a change.
    changed: broadcast::Sender<String>,
    /// The incoming webhooks, by name.
    incoming_webhooks: BTreeMap<String, IncomingWebhook>,
    webhook_bodies: webhook_bodies::WebhookBodies,
    /// The subscriptions, which may decide approvals.
    subscriptions: BTreeMap<String, Subscription>,
    /// Allows other machines to read `/metrics`.
    metrics_token: Option<SecretString>,
    requests: Option<Requests>,
    completions: completions::Completions,
    /// The folder with the skills of each agent.
    skill_folders: BTreeMap<String, PathBuf>,
    /// Notifies browsers; `None` if that is not offered.
    push: Option<push::Push>,
    /// The state of the components of WASM tools.
    wasm_modules: Arc<ModuleStatuses>,
    /// Creates and changes schedules.
    planner: SchedulePlanner,
    visits: visitor::VisitorLimits,
    /// The open event streams of people who are signed in.
    open_pages: rate_limit::OpenConnections,
    uploads: uploads::Uploads,
    /// Limits invalid sign-in links.
    wrong: rate_limit::AddressLimit,
    /// The trusted proxies.
    proxies: rate_limit::Proxies,
    /// The accepted host names.
    hosts: hosts::Hosts,
    /// The OpenID provider.
    issuer: Option<oidc_provider::Issuer>,
    /// Limits sign-ins with the OpenID provider.
    begun: rate_limit::AddressLimit,
    stop: CancellationToken,
}

impl Admin {
    /// `demo`: the agent answers from a script, without a language model.
    pub fn new(worker: Arc<Worker>, webs: BTreeMap<String, Arc<Web>>, demo: bool) -> Self {
        let gateway = worker.gateway.clone();
        let (changed, _) = broadcast::channel(64);
        let stop = gateway.stop.child_token();
        let (wrong, bot) =
            (rate_limit::AddressLimit::of(web_session::WRONG_A_MINUTE), "Countersign".to_owned());
        let (incoming_webhooks, subscriptions) = (BTreeMap::new(), BTreeMap::new());
        let planner = SchedulePlanner::new(&gateway.store, ScheduleLimits::default());
        Self {
            gateway,
            worker,
            configured: Value::Null,
            webs,
            bot,
            demo,
            changed,
            incoming_webhooks,
            webhook_bodies: webhook_bodies::WebhookBodies::default(),
            subscriptions,
            metrics_token: None,
            requests: None,
            completions: completions::Completions::default(),
            skill_folders: BTreeMap::new(),
            push: None,
            wasm_modules: Arc::default(),
            planner,
            visits: visitor::VisitorLimits::default(),
            open_pages: rate_limit::OpenConnections::of(OPEN_PAGES),
            uploads: uploads::Uploads::default(),
            wrong,
            proxies: rate_limit::Proxies::default(),
            hosts: hosts::Hosts::default(),
            issuer: None,
            begun: rate_limit::AddressLimit::of(oidc::BEGUN_A_MINUTE),
            stop,
        }
    }

    /// Sets the configuration to show.
    pub fn with_config(self, configured: Value) -> Self {
        Self { configured, ..self }
    }

    /// A list from the configuration.
    fn section<T: DeserializeOwned>(&self, name: &str) -> Result<Vec<T>> {
        let section = self.configured.get(name).cloned().unwrap_or_else(|| json!([]));
        serde_json::from_value(section).with_context(|| format!("the configuration of {name}"))
    }

    /// Redacts secrets in everything that is shown.
    pub fn redactor(&self) -> &Redactor {
        &self.worker.redactor
    }

    /// Sets the incoming webhooks.
    pub fn with_incoming_webhooks(
        self,
        incoming_webhooks: BTreeMap<String, IncomingWebhook>,
        webhook_sender: &WebhookSender,
    ) -> Self {
        let subscriptions = webhook_sender.subscriptions.clone();
        Self { incoming_webhooks, subscriptions, ..self }
    }

    /// Sets the token for metrics.
    pub fn with_metrics_token(self, metrics_token: Option<SecretString>) -> Self {
        Self { metrics_token, ..self }
    }

    /// Sets the OpenID provider.
    pub fn with_oidc_provider(self, issuer: Option<oidc_provider::Issuer>) -> Self {
        Self { issuer, ..self }
    }

    /// Sets the trusted proxies.
    pub fn with_trusted_proxies(self, proxies: rate_limit::Proxies) -> Self {
        Self { proxies, ..self }
    }

    /// Sets the accepted host names, besides those of this machine.
    pub fn with_hosts(self, hosts: hosts::Hosts) -> Self {
        Self { hosts, ..self }
    }

    /// The role that depends on the claims of the OpenID provider.
    fn oidc_role(&self, session: &BrowserSession) -> Option<Role> {
        self.issuer.as_ref()?.role(session.claims.as_deref()?)
    }

    /// Sets the channel for requests to the main loop, such as reloading the configuration.
    pub fn with_requests(self, requests: Option<Requests>) -> Self {
        Self { requests, ..self }
    }

    /// Sets the endpoint for OpenAI clients.
    pub fn with_completions(self, completions: completions::Completions) -> Self {
        Self { completions, ..self }
    }

    /// Sets the folder with the skills of each agent.
    pub fn with_skill_folders(self, skill_folders: BTreeMap<String, PathBuf>) -> Self {
        Self { skill_folders, ..self }
    }

    /// Sets the limits of schedules.
    pub fn with_schedule_limits(self, terms: ScheduleLimits) -> Self {
        let planner = SchedulePlanner::new(&self.gateway.store, terms);
        Self { planner, ..self }
    }

    /// Offers notifications of approval requests.
    pub fn with_push(self, push: push::Push) -> Self {
        Self { push: Some(push), ..self }
    }

    /// Sets the state of the components of WASM tools.
    pub fn with_wasm_modules(self, wasm_modules: Arc<ModuleStatuses>) -> Self {
        Self { wasm_modules, ..self }
    }

    /// Sets the bot's name.
    pub fn with_bot_name(self, bot: impl Into<String>) -> Self {
        Self { bot: bot.into(), ..self }
    }

    /// The web channel that is served at `/`.
    fn web(&self) -> Option<(&str, &Arc<Web>)> {
        self.webs
            .iter()
            .find(|(_, web)| web.origins().is_empty())
            .map(|(id, web)| (id.as_str(), web))
    }
}

/// The first conversation of a person in the web chat.
fn place_of(person: &str) -> Place {
    Place { chat: person.to_owned(), thread: None, kind: PlaceKind::Private }
}

/// Serves until `stop`, then lets running requests finish.
pub async fn serve(
    admin: Arc<Admin>,
    listener: TcpListener,
    stop: CancellationToken,
) -> Result<()> {
    let ended = admin.stop.clone();
    let stopped = stop.clone();
    let app = router(admin).layer(middleware::from_fn(connections::handle));
    let app = app.into_make_service_with_connect_info::<Peer>();
    let serving =
        axum::serve(LimitedListener::new(listener), app).with_graceful_shutdown(async move {
            stopped.cancelled().await;
            // Event streams of open pages never end by themselves.
            ended.cancel();
        });
    tokio::select! {
        served = serving.into_future() => served.context("serving HTTP"),
        () = too_late(&stop) => {
            tracing::warn!("HTTP requests that did not finish in time were aborted");
            Ok(())
        }
    }
}

async fn too_late(stop: &CancellationToken) {
    stop.cancelled().await;
    clock::pause(ENDS_WITHIN).await;
}

/// The requests of a chat page.
fn talks() -> Router<Arc<Admin>> {
    Router::new()
        .route("/chat/events", get(events::events))
        .route("/chat/older", get(events::older))
        .route("/chat/messages", post(chat::say))
        .route("/chat/press", post(chat::press))
        .route("/chat/regenerate", post(chat::regenerate::regenerate))
        .route("/files/{digest}/{name}", get(downloads::download))
}

fn router(admin: Arc<Admin>) -> Router {
    // Requests of browsers, which must come from our own pages.
    let pages = Router::new()
        .route("/", get(chat::page))
        .route("/assets/{name}", get(chat::asset))
        .route("/manifest.webmanifest", get(chat::manifest))
        .route("/chat/conversations", get(own_conversations::index))
        .route("/chat/conversations/rename", post(own_conversations::rename))
        .route("/chat/export", get(own_conversations::export))
        .route("/chat/notifications", get(push::public_key).post(push::subscribe))
        .route("/chat/notifications", delete(push::unsubscribe))
        .route("/service-worker.js", get(chat::service_worker))
        .route("/sign-in", get(web_session::page).post(web_session::redeem))
        .route("/sign-in/oidc", get(oidc::begin))
        .route(oidc::BACK, get(oidc::end))
        .route("/sign-out", post(web_session::sign_out))
        .merge(talks())
        .nest("/widget/{channel}", talks())
        .layer(middleware::from_fn(security_headers::own_pages_only));
    // Outside of the limit for all other requests.
    let uploads = Router::new()
        .route("/chat/files", post(uploads::upload))
        .layer(middleware::from_fn(security_headers::own_pages_only));
    let pushed = Router::new()
        .route("/channels/{id}/webhook", post(webhooks::receive))
        .route("/hooks/{name}", post(webhooks::hook))
        .route("/hooks/{name}/answers/{approval}/{choice}", post(webhooks::answer))
        .layer(middleware::from_fn_with_state(admin.clone(), webhooks::unless_stopped));
    Router::new()
        .merge(pages)
        .merge(pushed)
        .route("/widget.js", get(widget::script))
        .route("/widget/{channel}", get(widget::page))
        .route("/widget/{channel}/visitors", post(widget::admit).options(widget::may_ask))
        .merge(console::router(admin.clone()))
        .merge(api::router(admin.clone()))
        .route("/metrics", get(metrics::metrics))
        .route("/healthz", get(health::alive))
        .route("/readyz", get(health::ready))
        .fallback(problem::no_such_page)
        .layer(RequestBodyLimitLayer::new(BODY_BYTES))
        .layer(middleware::from_fn(connections::limit_body_time))
        .merge(uploads)
        .merge(completions::router())
        .layer(DefaultBodyLimit::disable())
        .layer(middleware::from_fn_with_state(admin.clone(), hosts::known_only))
        .layer(CatchPanicLayer::custom(problem::panicked))
        .layer(middleware::from_fn(problem::localize_problem))
        .layer(middleware::from_fn(security_headers::secure))
        .with_state(admin)
}
