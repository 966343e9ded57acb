//! Supervises a server: updates the list of tools when it has changed, and reconnects when the
//! connection was lost.

use futures::FutureExt as _;
use rmcp::service::Subscription;
use std::{future::pending, panic::AssertUnwindSafe, sync::Arc, time::Duration};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

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
}

impl Supervisor {
    pub fn over(server: Arc<Server>) -> Self {
        Self { server, seen: ListedTools::default(), failures: 0, changes: None }
    }

    /// `None` if nothing has changed.
    pub async fn changed_tools(&mut self) -> Option<FoundTools> {
        let found = self.server.changed_tools(&mut self.seen).await;
        self.failures = if found.is_err() { self.failures + 1 } else { 0 };
        found.transpose()
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
