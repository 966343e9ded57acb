//! Calls under way.

use futures::{future::BoxFuture, stream::FuturesUnordered};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::asking::Asking;
use crate::journal::{
    event::{Call, Event, ToolResult},
    ids::CallId,
    session::Session,
};

/// Calls under way: they go on while the loop looks at what else has happened.
#[derive(Default)]
pub(super) struct Running<'w> {
    pub calls: FuturesUnordered<BoxFuture<'w, Done>>,
    pub cancel: BTreeMap<CallId, CancellationToken>,
    /// Those that the rate limit has counted already.
    pub counted: BTreeSet<CallId>,
    /// What one of them has last said of its progress.
    pub progress: watch::Sender<String>,
    /// What they want to know of people.
    pub asking: Asking,
}

/// A call that has come to its end.
pub(super) struct Done {
    pub call: Call,
    /// Who let it run.
    pub rule: Value,
    pub result: Result<ToolResult, Lost>,
    pub hooked: Vec<Event>,
}

/// Why there is no result to write down.
pub(super) enum Lost {
    /// This worker had lost its lease before the call began, and did not run it.
    Lease,
    /// The call ran, or did not: the answer never came. It stays begun, as after a crash.
    Answer,
}

impl Done {
    pub fn id(&self) -> &CallId {
        &self.call.id
    }
}

impl Running<'_> {
    /// What a person has stopped is cancelled; what came of it is of no use to anybody.
    pub fn cancel_ended(&mut self, session: &Session) {
        let open: BTreeSet<_> = session.open_calls().map(|open| &open.call.id).collect();
        for (_, cancel) in self.cancel.iter().filter(|(id, _)| !open.contains(id)) {
            cancel.cancel();
        }
    }
}
