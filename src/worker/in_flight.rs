//! The running calls of a turn, each in its own task.

use futures::FutureExt as _;
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    future::Future,
    panic::AssertUnwindSafe,
};
use tokio::{sync::watch, task::JoinSet};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tracing::Instrument as _;

use super::elicitation::TurnElicitations;
use crate::{
    journal::{
        event::{Call, Event, Outcome, ToolResult},
        ids::CallId,
        session::Session,
    },
    texts,
};

/// The state of the running calls, which continue while the loop handles other events.
#[derive(Default)]
pub(super) struct Running {
    pub calls: Calls,
    /// Finished calls that are not recorded yet. They stay in this queue until they are.
    pub finished: VecDeque<FinishedCall>,
    pub cancel: BTreeMap<CallId, CancellationToken>,
    /// Calls that the rate limit has already counted.
    pub counted: BTreeSet<CallId>,
    /// The latest progress report of any of the calls.
    pub progress: watch::Sender<String>,
    /// Elicitations of the calls.
    pub asking: TurnElicitations,
    /// Whether elicitations of calls that died with an earlier turn have been withdrawn.
    pub started: bool,
}

/// The tasks of the running calls. Dropping this aborts them.
///
/// Calls run in tasks, because the turn is not polled while it waits for the database. A call that
/// was a future of the turn would keep the connection, permit or lock that it was just granted, and
/// the turn could wait for that very resource.
#[derive(Default)]
pub(super) struct Calls(JoinSet<FinishedCall>);

/// A call that is about to run.
#[derive(Debug, Clone)]
pub(super) struct StartedCall {
    pub call: Call,
    /// The rule, grant or person that allowed it.
    pub rule: Value,
    /// Whether it must not run twice.
    pub once: bool,
}

/// The result of a call.
pub(super) struct CallOutcome {
    pub result: Result<ToolResult, LostResult>,
    /// The events of hooks that changed the result.
    pub hooked: Vec<Event>,
}

/// A finished call.
pub(super) struct FinishedCall {
    pub begun: StartedCall,
    pub ended: CallOutcome,
}

/// The reason why there is no result to record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LostResult {
    /// The worker lost its lease before the call started, so the call did not run.
    Lease,
    /// The call may have run, but its result was lost. It stays in the state "started", as after a
    /// crash.
    Answer,
}

impl From<LostResult> for CallOutcome {
    fn from(lost: LostResult) -> Self {
        Self { result: Err(lost), hooked: Vec::new() }
    }
}

impl StartedCall {
    /// The result of a call whose task panicked. If the call must not run twice, its effect is
    /// unknown and a person decides.
    fn panicked(&self) -> CallOutcome {
        tracing::error!(tool.name = self.call.tool, call = %self.call.id, "call panicked");
        if self.once {
            return LostResult::Answer.into();
        }
        let result = ToolResult::text(Outcome::Failed, texts::CALL_PANICKED.to_owned());
        CallOutcome { result: Ok(result), hooked: Vec::new() }
    }
}

impl FinishedCall {
    pub fn id(&self) -> &CallId {
        &self.begun.call.id
    }
}

impl Calls {
    /// Starts a call in a task that shutdown waits for.
    pub fn start(
        &mut self,
        tasks: &TaskTracker,
        begun: StartedCall,
        run: impl Future<Output = CallOutcome> + Send + 'static,
    ) {
        let supervised = async move {
            let ended = AssertUnwindSafe(run).catch_unwind().await;
            let ended = ended.unwrap_or_else(|_panic| begun.panicked());
            FinishedCall { begun, ended }
        };
        self.0.spawn(tasks.track_future(supervised.in_current_span()));
    }

    /// Waits for the next call that finishes; `None` if none is running. Cancel safe.
    pub async fn next(&mut self) -> Option<FinishedCall> {
        // Panics are caught within the task and nothing else aborts it, so an error means that the
        // runtime is shutting down.
        self.0.join_next().await?.ok()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Running {
    /// Whether no call is running or waits to be recorded.
    pub fn is_idle(&self) -> bool {
        self.calls.is_empty() && self.finished.is_empty()
    }

    /// Cancels calls that a person has stopped. Their results are no longer needed.
    pub fn cancel_ended(&mut self, session: &Session) {
        let open: BTreeSet<_> = session.open_calls().map(|open| &open.call.id).collect();
        for (_, cancel) in self.cancel.iter().filter(|(id, _)| !open.contains(id)) {
            cancel.cancel();
        }
    }

    /// Removes a call that is recorded.
    pub fn forget(&mut self, id: &CallId) {
        self.cancel.remove(id);
        self.counted.remove(id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    fn begun(once: bool) -> StartedCall {
        let call = Call {
            id: CallId::new(),
            model_id: "m".into(),
            tool: "tool".into(),
            arguments: Value::Null,
        };
        StartedCall { call, rule: Value::Null, once }
    }

    /// A panic ends only its own call; one that must not run twice has an unknown outcome.
    #[tokio::test]
    async fn a_call_that_panics_ends_alone() {
        let (mut calls, tasks) = (Calls::default(), TaskTracker::new());
        for once in [false, true] {
            calls.start(&tasks, begun(once), async { panic!("on purpose") });
        }
        let good = async {
            CallOutcome {
                result: Ok(ToolResult::text(Outcome::Done, "good".into())),
                hooked: vec![],
            }
        };
        calls.start(&tasks, begun(false), good);
        let mut outcomes = Vec::new();
        while let Some(done) = calls.next().await {
            let outcome = done.ended.result.map(|result| result.outcome);
            assert_eq!(outcome == Err(LostResult::Answer), done.begun.once);
            outcomes.push(outcome);
        }
        assert_eq!(outcomes.len(), 3);
        assert!(outcomes.contains(&Ok(Outcome::Done)) && outcomes.contains(&Ok(Outcome::Failed)));
        tasks.close();
        tasks.wait().await;
    }

    /// Dropping the turn releases what its calls hold, and shutdown waits for that.
    #[tokio::test]
    async fn dropping_the_turn_ends_its_calls() {
        let (mut calls, tasks) = (Calls::default(), TaskTracker::new());
        let held = Arc::new(());
        let kept = held.clone();
        calls.start(&tasks, begun(true), async move {
            std::future::pending::<()>().await;
            drop(kept);
            LostResult::Answer.into()
        });
        tokio::task::yield_now().await;
        assert_eq!(Arc::strong_count(&held), 2);
        drop(calls);
        tasks.close();
        tasks.wait().await;
        assert_eq!(Arc::strong_count(&held), 1);
    }
}
