//! The console: pages for operators, built on the functions of the API.
//!
//! - [`page`]: templates, and the context of a request
//! - [`localize`]: translates templates
//! - [`live`]: notifies open pages of changes
//! - [`overview`]: the first page
//! - [`approvals`]: approvals and deciding them
//! - [`start`]: the first steps of a new operator
//! - [`conversations`], [`timeline`], [`timeline_step`]: events of conversations, turn by turn, and
//!   the search
//! - [`tools`], [`rules`], [`rule_form`]: tools and guard rules
//! - [`skills`]: installed skills
//! - [`settings`], [`configuration`]: settings, reloading them, changing the file, the doctor
//! - [`dead_letters`]: dead letters and webhook deliveries
//! - [`access`]: browser sessions and API tokens
//! - [`people`]: people, pairing codes, grants
//! - [`schedules`], [`schedule_form`]: schedules
//! - [`wiki`]: the pages of the agents' wikis
//! - [`status`]: channels, usage, audit, files
//!
//! [`routes`] lists all routes with their required roles.

mod access;
mod approvals;
mod configuration;
mod conversations;
mod dead_letters;
mod live;
mod localize;
mod overview;
pub mod page;
mod people;
mod rule_form;
mod rules;
mod schedule_form;
mod schedules;
mod settings;
mod skills;
mod start;
mod status;
mod timeline;
mod timeline_step;
mod tools;
mod wiki;

use axum::{
    Router,
    extract::{Request, State},
    handler::Handler,
    http::{HeaderValue, Method, StatusCode, header::REFERRER_POLICY},
    middleware::{Next, from_fn, from_fn_with_state},
    response::{IntoResponse as _, Redirect, Response},
    routing::{MethodRouter, get, post},
};
use std::sync::Arc;

use super::{
    Admin,
    api::caller::{by_session, insufficient_role},
    auth::{security_headers, web_session},
    language,
    problem::Problem,
};
use crate::journal::role::Role;

/// A route: its path, method and required role.
pub struct ConsoleRoute {
    #[cfg_attr(
        not(any(test, feature = "testing")),
        expect(dead_code, reason = "tests request every route")
    )]
    pub method: Method,
    pub path: &'static str,
    pub required: Role,
    route: MethodRouter<Arc<Admin>>,
}

fn page_at<T: 'static>(
    path: &'static str,
    required: Role,
    page: impl Handler<T, Arc<Admin>>,
) -> ConsoleRoute {
    ConsoleRoute { method: Method::GET, path, required, route: get(page) }
}

fn action_at<T: 'static>(
    path: &'static str,
    required: Role,
    action: impl Handler<T, Arc<Admin>>,
) -> ConsoleRoute {
    ConsoleRoute { method: Method::POST, path, required, route: post(action) }
}

/// All routes.
pub fn routes() -> Vec<ConsoleRoute> {
    use Role::{Approver, Operator, Owner, Viewer};
    vec![
        page_at("/console", Viewer, begin),
        page_at("/console/overview", Viewer, overview::index),
        page_at("/console/start", Owner, start::index),
        action_at("/console/start/model", Owner, start::model),
        action_at("/console/start/bot", Owner, start::bot),
        page_at("/console/search", Operator, conversations::search),
        page_at("/console/skills", Operator, skills::index),
        action_at("/console/skills/{name}", Owner, skills::change),
        page_at("/console/configuration", Owner, configuration::index),
        action_at("/console/configuration", Owner, configuration::change),
        page_at("/console/doctor", Operator, settings::doctor),
        action_at("/console/doctor", Operator, settings::doctor_live),
        action_at("/console/settings/reload", Owner, settings::reload),
        page_at("/console/events", Viewer, live::events),
        page_at("/console/approvals", Approver, approvals::open),
        page_at("/console/approvals/history", Approver, approvals::history),
        action_at("/console/approvals/{id}", Approver, approvals::decide),
        page_at("/console/conversations", Operator, conversations::index),
        page_at("/console/conversations/{id}", Operator, conversations::show),
        page_at("/console/tools", Viewer, tools::index),
        action_at("/console/tools/{id}", Operator, tools::set),
        action_at("/console/mcp-servers/{id}", Operator, tools::set_server),
        action_at("/console/mcp-servers/{id}/trust", Operator, tools::trust),
        page_at("/console/rules", Operator, rules::index),
        action_at("/console/rules", Owner, rules::save),
        action_at("/console/rules/{name}", Owner, rules::change),
        page_at("/console/dead-letters", Operator, dead_letters::index),
        action_at("/console/dead-letters", Operator, dead_letters::replay_all),
        action_at("/console/dead-letters/{id}", Operator, dead_letters::resolve),
        page_at("/console/webhooks", Operator, dead_letters::webhooks),
        action_at("/console/webhooks", Operator, dead_letters::test_webhook),
        action_at("/console/webhooks/{id}", Operator, dead_letters::resolve_webhook),
        page_at("/console/people", Operator, people::index),
        action_at("/console/people", Owner, people::set),
        action_at("/console/pairing-codes", Owner, people::offer),
        page_at("/console/grants", Approver, people::grants),
        action_at("/console/grants/{id}", Operator, people::revoke),
        page_at("/console/schedules", Operator, schedules::index),
        action_at("/console/schedules", Owner, schedules::save),
        action_at("/console/schedules/{id}", Operator, schedules::change),
        page_at("/console/wiki", Operator, wiki::index),
        page_at("/console/wiki/{agent}/{page}", Operator, wiki::show),
        page_at("/console/artifacts", Operator, status::artifacts),
        page_at("/console/artifacts/{id}", Operator, status::download),
        page_at("/console/channels", Viewer, status::channels),
        action_at("/console/channels/{id}", Operator, status::channel),
        page_at("/console/usage", Operator, status::usage),
        page_at("/console/audit", Operator, status::audit),
        page_at("/console/settings", Operator, settings::index),
        page_at("/console/access", Owner, access::index),
        action_at("/console/sessions/{id}", Owner, access::end_session),
        action_at("/console/tokens", Owner, access::create_token),
        action_at("/console/tokens/{id}", Owner, access::revoke_token),
        action_at("/console/panic", Owner, status::panic),
    ]
}

pub fn router(admin: Arc<Admin>) -> Router<Arc<Admin>> {
    let mut router = Router::new();
    for ConsoleRoute { path, required, route, .. } in routes() {
        let access = from_fn_with_state((admin.clone(), required), admit);
        router = router.route(path, route.route_layer(access));
    }
    router
        .route("/console/{*rest}", get(super::problem::no_such_page))
        .layer(from_fn(security_headers::own_pages_only))
        .layer(from_fn_with_state(admin, as_page))
}

/// Admits sessions with the role that the route requires.
async fn admit(
    State((admin, required)): State<(Arc<Admin>, Role)>,
    mut request: Request,
    next: Next,
) -> Response {
    let Some(session) = web_session::session_token(request.headers()) else {
        return Problem::signed_out().into_response();
    };
    let caller = match web_session::session_of(&admin, &session).await {
        Ok(Some(session)) => by_session(&admin, session).await,
        Ok(None) => return Problem::signed_out().into_response(),
        Err(problem) => Err(problem),
    };
    match caller {
        Ok(Some(caller)) if caller.role >= required => {
            request.extensions_mut().insert(caller);
            next.run(request).await
        }
        Ok(_) => insufficient_role(required).into_response(),
        Err(problem) => Problem::from(problem).into_response(),
    }
}

/// Shows an error as a page, with a way to sign in if that is required.
async fn as_page(State(admin): State<Arc<Admin>>, request: Request, next: Next) -> Response {
    let language = language::of(request.headers());
    let words = &language.words().page;
    let mut response = next.run(request).await;
    if let Some(problem) = response.extensions().get::<Problem>().cloned() {
        response = if problem.status() == StatusCode::UNAUTHORIZED {
            web_session::signed_out_page(&admin, problem.status(), words, words.signed_out)
        } else {
            page::problem(&admin, &problem, language)
        };
    }
    // As on the page of a sign-in link, forms send their origin to this server only.
    let policy = HeaderValue::from_static("same-origin");
    response.headers_mut().insert(REFERRER_POLICY, policy);
    response
}

async fn begin() -> Redirect {
    Redirect::to("/console/overview")
}
