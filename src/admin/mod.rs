//! Shows and steers: the only place with axum. The web chat, sign-in, the API, webhooks, health.
//!
//! - [`api`]: for programs
//! - [`web_session`]: a one-time link becomes a session; whose session a request carries
//! - [`oidc`], [`oidc_provider`]: signing in through the operator's issuer, and what that says
//! - [`chat`]: the page, what a person writes and presses on it
//! - [`participant`]: whoever is in a web chat
//! - [`widget`], [`visitor`]: the web chat in pages of other sites, and who looks at it there
//! - [`events`]: what an open page is told, as it happens
//! - [`timeline`]: a conversation as the page shows it
//! - [`files`]: downloads of what was shown
//! - [`console`]: pages for operators, over the same functions
//! - [`language`]: what a browser asks to be spoken to in
//! - [`hosts`]: under which names it answers
//! - [`markdown_html`]: Markdown as HTML that cannot act
//! - [`security_headers`]: what every request passes and every answer carries
//! - [`rate_limit`]: how often an address may do something
//! - [`rules`]: guard rules, asked and changed
//! - [`reload`]: the configuration is read again
//! - [`webhooks`], [`health`]: for platforms and for operators
//! - [`metrics`]: for Prometheus
//! - [`problem`]: what a request is told that cannot be served

pub mod api;
pub mod chat;
pub mod console;
pub mod events;
pub mod files;
pub mod health;
pub mod hosts;
pub mod language;
pub mod markdown_html;
pub mod metrics;
pub mod oidc;
pub mod oidc_provider;
pub mod participant;
pub mod problem;
pub mod rate_limit;
pub mod reload;
pub mod rules;
pub mod security_headers;
pub mod timeline;
pub mod visitor;
pub mod web_session;
pub mod webhooks;
pub mod widget;

#[cfg(test)]
mod tests;

use anyhow::{Context as _, Result};
use axum::{
    Router,
    extract::DefaultBodyLimit,
    middleware,
    routing::{get, post},
};
use channels::{Place, PlaceKind, web::Web};
use secrecy::SecretString;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::{collections::BTreeMap, net::SocketAddr, sync::Arc, time::Duration};
use tokio::{net::TcpListener, sync::broadcast};
use tokio_util::sync::CancellationToken;
use tower_http::{catch_panic::CatchPanicLayer, limit::RequestBodyLimitLayer};

use reload::Reloads;

use crate::{
    agent::redact::Redactor,
    gateway::{
        Gateway,
        webhooks::{Subscription, incoming::Inlet, outgoing::Teller},
    },
    journal::role::Role,
    store::people::Session,
    worker::Worker,
};

/// The largest request body.
const BODY_BYTES: usize = 1024 * 1024;
/// How long requests under way may take to end after `stop`.
const ENDS_WITHIN: Duration = Duration::from_secs(10);

/// What the web server serves from.
pub struct Admin {
    pub gateway: Arc<Gateway>,
    pub worker: Arc<Worker>,
    /// The configuration, without its secrets.
    pub configured: Value,
    /// The web channels by their id; the first that is not for other sites is served at `/`.
    pub webs: BTreeMap<String, Arc<Web>>,
    /// The name that the page gives the bot.
    pub bot: String,
    /// The demo model answers: the page says so.
    pub demo: bool,
    /// Tells the open pages of a person that something of theirs has changed.
    changed: broadcast::Sender<String>,
    /// Where webhooks come in, by name.
    inlets: BTreeMap<String, Inlet>,
    /// Who is told of questions, and may answer them.
    subscriptions: BTreeMap<String, Subscription>,
    /// What opens `/metrics` to other machines.
    metrics_token: Option<SecretString>,
    reloads: Option<Reloads>,
    visits: visitor::Visits,
    /// Links that were wrong.
    wrong: rate_limit::AddressLimit,
    /// Who may say from where somebody comes.
    proxies: rate_limit::Proxies,
    /// Under which names requests may come.
    hosts: hosts::Hosts,
    /// Who else may say who somebody is.
    issuer: Option<oidc_provider::Issuer>,
    /// Sign-ins that have begun there.
    begun: rate_limit::AddressLimit,
    stop: CancellationToken,
}

impl Admin {
    /// `demo` says that the agent answers from a script, without a language model.
    pub fn new(worker: Arc<Worker>, webs: BTreeMap<String, Arc<Web>>, demo: bool) -> Self {
        let gateway = worker.gateway.clone();
        let (changed, _) = broadcast::channel(64);
        let stop = gateway.stop.child_token();
        let (wrong, bot) =
            (rate_limit::AddressLimit::of(web_session::WRONG_A_MINUTE), "Countersign".to_owned());
        let (inlets, subscriptions) = (BTreeMap::new(), BTreeMap::new());
        Self {
            gateway,
            worker,
            configured: Value::Null,
            webs,
            bot,
            demo,
            changed,
            inlets,
            subscriptions,
            metrics_token: None,
            reloads: None,
            visits: visitor::Visits::default(),
            wrong,
            proxies: rate_limit::Proxies::default(),
            hosts: hosts::Hosts::default(),
            issuer: None,
            begun: rate_limit::AddressLimit::of(oidc::BEGUN_A_MINUTE),
            stop,
        }
    }

    /// The same, showing that configuration.
    pub fn configured(self, configured: Value) -> Self {
        Self { configured, ..self }
    }

    /// A list of the configuration.
    fn section<T: DeserializeOwned>(&self, name: &str) -> Result<Vec<T>> {
        let section = self.configured.get(name).cloned().unwrap_or_else(|| json!([]));
        serde_json::from_value(section).with_context(|| format!("the configuration of {name}"))
    }

    /// Takes secrets out of what is shown.
    pub fn redactor(&self) -> &Redactor {
        &self.worker.redactor
    }

    /// The same with doors for webhooks.
    pub fn taking(self, inlets: BTreeMap<String, Inlet>, teller: &Teller) -> Self {
        let subscriptions = teller.subscriptions.clone();
        Self { inlets, subscriptions, ..self }
    }

    /// The same with metrics for whoever has the token.
    pub fn measured(self, metrics_token: Option<SecretString>) -> Self {
        Self { metrics_token, ..self }
    }

    /// The same, believing that issuer.
    pub fn believing(self, issuer: Option<oidc_provider::Issuer>) -> Self {
        Self { issuer, ..self }
    }

    /// The same, behind these.
    pub fn behind(self, proxies: rate_limit::Proxies) -> Self {
        Self { proxies, ..self }
    }

    /// The same, answering to these names besides those of this machine.
    pub fn answering_to(self, hosts: hosts::Hosts) -> Self {
        Self { hosts, ..self }
    }

    /// The role that hangs on what the issuer has said.
    fn vouched(&self, session: &Session) -> Option<Role> {
        self.issuer.as_ref()?.role(session.claims.as_deref()?)
    }

    /// The same, for an owner to have the configuration read again.
    pub fn reloading(self, reloads: Option<Reloads>) -> Self {
        Self { reloads, ..self }
    }

    /// The same under another name.
    pub fn named(self, bot: impl Into<String>) -> Self {
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

/// The one conversation that a person has with the web chat.
fn place_of(person: &str) -> Place {
    Place { chat: person.to_owned(), thread: None, kind: PlaceKind::Private }
}

/// Serves until `stop`; then lets requests under way come to their end.
pub async fn serve(
    admin: Arc<Admin>,
    listener: TcpListener,
    stop: CancellationToken,
) -> Result<()> {
    let ended = admin.stop.clone();
    let stopped = stop.clone();
    let app = router(admin).into_make_service_with_connect_info::<SocketAddr>();
    let serving = axum::serve(listener, app).with_graceful_shutdown(async move {
        stopped.cancelled().await;
        // Open pages listen for ever: they are told to go.
        ended.cancel();
    });
    tokio::select! {
        served = serving.into_future() => served.context("serving HTTP"),
        () = too_late(&stop) => {
            tracing::warn!("HTTP requests that had not ended were cut off");
            Ok(())
        }
    }
}

async fn too_late(stop: &CancellationToken) {
    stop.cancelled().await;
    let _ = tokio::time::timeout(ENDS_WITHIN, std::future::pending::<()>()).await;
}

/// What the pages of a chat ask.
fn talks() -> Router<Arc<Admin>> {
    Router::new()
        .route("/chat/events", get(events::events))
        .route("/chat/messages", post(chat::say))
        .route("/chat/press", post(chat::press))
        .route("/files/{digest}/{name}", get(files::download))
}

fn router(admin: Arc<Admin>) -> Router {
    // What a browser sends: it must come from our own pages.
    let pages = Router::new()
        .route("/", get(chat::page))
        .route("/assets/{name}", get(chat::asset))
        .route("/sign-in", get(web_session::page).post(web_session::redeem))
        .route("/sign-in/oidc", get(oidc::begin))
        .route(oidc::BACK, get(oidc::end))
        .route("/sign-out", post(web_session::sign_out))
        .merge(talks())
        .nest("/widget/{channel}", talks())
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
        .layer(DefaultBodyLimit::disable())
        .layer(RequestBodyLimitLayer::new(BODY_BYTES))
        .layer(middleware::from_fn_with_state(admin.clone(), hosts::known_only))
        .layer(CatchPanicLayer::custom(problem::panicked))
        .layer(middleware::from_fn(problem::in_their_language))
        .layer(middleware::from_fn(security_headers::secure))
        .with_state(admin)
}
