//! Notifies an open page of changes, so that it reloads itself.

use anyhow::Result;
use axum::{
    extract::State,
    http::StatusCode,
    response::{
        IntoResponse as _, Response,
        sse::{Event, KeepAlive, Sse},
    },
};
use futures::{StreamExt as _, stream};
use serde::Deserialize;
use sha2::{Digest as _, Sha256};
use std::{convert::Infallible, sync::Arc, time::Duration};
use tokio::time::{MissedTickBehavior, interval};

use crate::{
    admin::{
        Admin,
        api::{
            caller::{by_session, insufficient_role},
            conversations,
            parts::Params,
        },
        auth::{rate_limit::Opened, web_session::Signed},
        problem::{Problem, TOO_FAST},
    },
    journal::role::Role,
    store::{
        conversations::history,
        lists::{PageRequest, approvals::version},
    },
};

/// How often the page's data is polled.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// The interval of keep-alive messages, so that proxies keep the connection open.
const ALIVE_EVERY: Duration = Duration::from_secs(15);
/// The number of entries at the end of a list that are compared.
const END: usize = 100;

/// The data that a page shows, and the version that it has.
#[derive(Debug, Clone, Deserialize)]
pub struct LiveQuery {
    of: LiveView,
    /// The conversation
    #[serde(default)]
    id: String,
    #[serde(default)]
    seen: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum LiveView {
    Approvals,
    Conversation,
}

impl LiveView {
    /// The same role as the page itself.
    fn required_role(self) -> Role {
        match self {
            Self::Approvals => Role::Approver,
            Self::Conversation => Role::Operator,
        }
    }
}

/// The beginning of a list.
pub fn first(limit: usize) -> PageRequest {
    PageRequest { after: String::new(), limit: limit + 1 }
}

/// A version that changes when an approval is requested or settled, or when a vote is added to an
/// open one or withdrawn.
pub async fn approvals(admin: &Admin) -> Result<String> {
    let read = admin.gateway.store.read(|tx| Box::pin(version(tx)));
    Ok(mark(&read.await?))
}

/// A version that changes when a conversation has a new event or message.
pub async fn conversation(admin: &Admin, id: &str) -> Result<String> {
    let Some(state) = conversations::one(admin, id).await? else { return Ok(String::new()) };
    let id = id.to_owned();
    let read = admin.gateway.store.read(move |tx| {
        Box::pin(async move { history::history(tx, &id.as_str().into(), END).await })
    });
    let shown: Vec<_> =
        read.await?.into_iter().map(|row| format!("{} {:?}", row.id, row.status)).collect();
    Ok(mark(&format!("{} {} {}", state.events, state.busy, shown.join("\n"))))
}

fn mark(state: &str) -> String {
    hex::encode(&Sha256::digest(state)[..8])
}

/// One open page.
struct LivePage {
    admin: Arc<Admin>,
    signed: Signed,
    watched: LiveQuery,
    polls: tokio::time::Interval,
    _counted: Opened,
}

pub async fn events(
    State(admin): State<Arc<Admin>>,
    signed: Signed,
    Params(watched): Params<LiveQuery>,
) -> Result<Response, Problem> {
    let mut polls = interval(POLL_INTERVAL);
    polls.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let stop = admin.stop.clone();
    let opened = admin.open_pages.enter(&signed);
    let many = || Problem::new(StatusCode::TOO_MANY_REQUESTS, TOO_FAST);
    let open = LivePage { _counted: opened.ok_or_else(many)?, admin, signed, watched, polls };
    if !open.may_view().await? {
        return Err(insufficient_role(open.watched.of.required_role()));
    }
    let stream = stream::unfold(open, |mut open| async move {
        let event = open.next().await?;
        Some((Ok::<_, Infallible>(event), open))
    });
    let stream = stream.take_until(stop.cancelled_owned());
    let sse = Sse::new(stream).keep_alive(KeepAlive::new().interval(ALIVE_EVERY));
    Ok(([("x-accel-buffering", "no")], sse).into_response())
}

impl LivePage {
    /// Whether the session is still valid and still has the role.
    async fn may_view(&self) -> Result<bool> {
        if !self.signed.is_still_valid(&self.admin).await? {
            return Ok(false);
        }
        let caller = by_session(&self.admin, self.signed.session.clone()).await?;
        Ok(caller.is_some_and(|caller| caller.role >= self.watched.of.required_role()))
    }

    async fn mark(&self) -> Result<String> {
        match self.watched.of {
            LiveView::Approvals => approvals(&self.admin).await,
            LiveView::Conversation => conversation(&self.admin, &self.watched.id).await,
        }
    }

    /// The next event; `None` ends the stream.
    async fn next(&mut self) -> Option<Event> {
        loop {
            self.polls.tick().await;
            match self.may_view().await {
                Ok(true) => {}
                Ok(false) => return None,
                Err(problem) => {
                    tracing::warn!(
                        problem = format!("{problem:#}"),
                        "could not poll for an open page"
                    );
                    continue;
                }
            }
            let Ok(mark) = self.mark().await else { continue };
            if mark != self.watched.seen {
                self.watched.seen.clone_from(&mark);
                return Some(Event::default().event("changed").data(mark));
            }
        }
    }
}
