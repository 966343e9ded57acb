//! Supervises a server: updates the list of tools when it has changed, and reconnects when the
//! connection was lost.

use futures::FutureExt as _;
use rmcp::service::Subscription;
use std::{future::pending, panic::AssertUnwindSafe, sync::Arc, time::Duration};
use tokio::{
    task::JoinError,
    time::{Instant, timeout_at},
};
use tokio_util::{
    sync::CancellationToken,
    task::{AbortOnDropHandle, TaskTracker},
};

use super::{listed_tools::ListedTools, server::Server};
use crate::{
    clock::stops_within,
    tools::{Tool, ToolError},
};

/// How often trust and settings are checked for changes.
const LOOK_EVERY: Duration = Duration::from_secs(10);
const PING_EVERY: Duration = Duration::from_secs(30);
/// The longest delay between attempts, which doubles from one second.
const LONGEST_PAUSE: Duration = Duration::from_mins(1);
/// The minimum time between two updates, for a server that reports changes all the time.
const BETWEEN_LISTS: Duration = Duration::from_secs(1);

/// The current tools of a server, or why there are none.
pub type FoundTools = Result<Vec<Arc<dyn Tool>>, ToolError>;

/// The state of a server.
pub struct Supervisor {
    server: Arc<Server>,
    seen: ListedTools,
    /// The number of consecutive failures to connect.
    failures: u32,
    changes: Option<Subscription>,
    /// The first listing, while it takes longer than somebody waits for it. It runs in a task,
    /// because a future that nobody polls would keep the connection locked.
    first: Option<AbortOnDropHandle<FirstListing>>,
}

/// The result of the first listing.
struct FirstListing {
    seen: ListedTools,
    found: Option<FoundTools>,
}

impl Supervisor {
    pub fn over(server: Arc<Server>) -> Self {
        Self { server, seen: ListedTools::default(), failures: 0, changes: None, first: None }
    }

    /// Lists the tools for the first time. If there are none at the deadline, the listing goes on,
    /// and [`Self::keep`] reports them.
    pub async fn first_tools(
        &mut self,
        tasks: &TaskTracker,
        deadline: Instant,
    ) -> Option<FoundTools> {
        let server = self.server.clone();
        let listing = tasks.spawn(async move {
            let mut seen = ListedTools::default();
            let found = server.changed_tools(&mut seen).await.transpose();
            FirstListing { seen, found }
        });
        let mut listing = AbortOnDropHandle::new(listing);
        if let Ok(listed) = timeout_at(deadline, &mut listing).await {
            return self.listed(listed);
        }
        let name = &self.server.config.name;
        tracing::info!(mcp.server = name, "a server has not listed its tools yet");
        self.first = Some(listing);
        None
    }

    fn listed(&mut self, listed: Result<FirstListing, JoinError>) -> Option<FoundTools> {
        match listed {
            Ok(FirstListing { seen, found }) => {
                self.seen = seen;
                self.count_failure(found)
            }
            Err(problem) => {
                let name = &self.server.config.name;
                tracing::error!(mcp.server = name, %problem, "could not list a server's tools");
                self.failures += 1;
                None
            }
        }
    }

    /// `None` if nothing has changed.
    async fn changed_tools(&mut self) -> Option<FoundTools> {
        let found = self.server.changed_tools(&mut self.seen).await;
        self.count_failure(found.transpose())
    }

    fn count_failure(&mut self, found: Option<FoundTools>) -> Option<FoundTools> {
        self.failures = if matches!(found, Some(Err(_))) { self.failures + 1 } else { 0 };
        found
    }

    /// Runs until shutdown, and reports changes.
    pub async fn keep(mut self, stop: CancellationToken, mut tell: impl FnMut(FoundTools)) {
        let mut pinged = Instant::now();
        while !stop.is_cancelled() {
            let round = AssertUnwindSafe(self.round(&stop, &mut pinged)).catch_unwind().await;
            match round {
                Ok(Some(found)) => {
                    tell(found);
                    stops_within(BETWEEN_LISTS, &stop).await;
                }
                Ok(None) => {}
                Err(_panic) => {
                    let name = &self.server.config.name;
                    tracing::error!(mcp.server = name, "the supervision of a server panicked");
                    self.failures += 1;
                    stops_within(pause(self.failures), &stop).await;
                }
            }
        }
    }

    /// Waits for a change or the next check. Returns the tools, if they have changed.
    async fn round(
        &mut self,
        stop: &CancellationToken,
        pinged: &mut Instant,
    ) -> Option<FoundTools> {
        if let Some(first) = self.first.take() {
            return tokio::select! {
                listed = first => self.listed(listed),
                () = stop.cancelled() => None,
            };
        }
        if let Some(session) = &self.seen.session
            && self.changes.is_none()
        {
            self.changes = self.server.subscribe(session).await;
        }
        tokio::select! {
            _ = stops_within(pause(self.failures), stop) => {}
            () = self.server.link.changed.notified() => self.seen.expire(),
            () = next_change(&mut self.changes) => self.seen.expire(),
        }
        if let Some(session) = self.seen.session.clone()
            && session.service().rests()
            && pinged.elapsed() >= PING_EVERY
        {
            self.server.ping(&session).await;
            *pinged = Instant::now();
        }
        self.changed_tools().await
    }
}

fn pause(failures: u32) -> Duration {
    match failures.checked_sub(1) {
        None => LOOK_EVERY,
        Some(before) => LONGEST_PAUSE.min(Duration::from_secs(1 << before.min(6))),
    }
}

/// Returns on the next notification; `None` resubscribes when the subscription has ended.
async fn next_change(changes: &mut Option<Subscription>) {
    match changes {
        None => pending().await,
        Some(subscription) => {
            if !matches!(subscription.next().await, Ok(Some(_))) {
                *changes = None;
            }
        }
    }
}
