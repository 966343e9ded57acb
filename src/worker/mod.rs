//! Claims conversations that have something to do, and advances each as far as possible.
//!
//! - [`advance`]: the main loop; start reading here. `turn`: the state of one turn
//! - [`fetch`]: fetches files that were sent with messages
//! - [`think`]: asks the model
//! - [`vision`]: shows pictures to the model; `voice`: transcribes recordings; `long_answers`: shortens long answers
//! - [`act`]: runs tools (`in_flight`: the running calls, each a task); [`approval_requests`]:
//!   requests approvals
//! - [`elicitation`]: elicitations of running calls
//! - [`delegate`]: starts sub-agents
//! - `failure`: fails a turn
//! - [`guard_context`]: the context that the guard needs
//! - [`hooks`], [`limits`], [`audit`]: hooks, budgets and audit records
//! - [`periodic`]: heartbeats, expiry; [`maintenance`]: retention, audit seals
//! - [`erasure`]: erases people
//! - [`memory`]: loads the agent's memory
//! - [`scheduler`]: runs schedules
//! - [`agent_cache`]: agents with the operators' tool settings
//! - `retry`: retries database operations
//! - [`session_cache`]: recently folded sessions

pub mod act;
pub mod advance;
pub mod agent_cache;
pub mod approval_requests;
pub mod audit;
pub mod delegate;
pub mod elicitation;
pub mod erasure;
mod failure;
pub mod fetch;
pub mod guard_context;
pub mod hooks;
mod in_flight;
pub mod limits;
mod long_answers;
pub mod maintenance;
pub mod memory;
pub mod periodic;
mod retry;
pub mod scheduler;
pub mod session_cache;
pub mod think;
mod turn;
mod vision;
mod voice;

use anyhow::{Context as _, Result};
use chrono::{DateTime, TimeDelta, Utc};
use futures::FutureExt as _;
use parking_lot::RwLock;
use std::{
    collections::{BTreeMap, BTreeSet},
    panic::AssertUnwindSafe,
    path::PathBuf,
    sync::Arc,
};
use tokio::{
    runtime::Handle,
    sync::{OwnedSemaphorePermit, Semaphore},
};
use tracing::Instrument as _;

use crate::{
    agent::{Agent, advice, hooks::Hook, limits::DailyLimits, redact::Redactor},
    gateway::Gateway,
    journal::{
        event::Event,
        ids::{ConversationId, FailureReference},
    },
    llm::Model,
    store::{
        conversations::record::{ConversationChange, Deferral, Precondition, Recorded},
        leases::Claimed,
        retention::Retention,
        takers::{Registration, TurnTaker, reserve},
    },
    tools::{
        builder::records::BuildRecords, contract::toolbox::Toolbox, mcp::server::Servers,
        media::transcription::Transcriber,
    },
};
use channels::Outgoing;
use guard_context::RuleBook;
use hooks::HookSandbox;

/// The maximum number of concurrent turns on one node.
const AT_ONCE: usize = 20_000;
/// The maximum number of conversations that are claimed at once.
const CLAIMED_AT_ONCE: usize = 64;

/// The number of consecutive failed turns after which the people of a conversation are told.
const GIVE_UP_AFTER: u32 = 5;
/// The delay after the first failure; it doubles with each further one.
const FIRST_DEFERRAL: TimeDelta = TimeDelta::seconds(2);

/// What is needed to advance conversations.
pub struct Worker {
    pub gateway: Arc<Gateway>,
    /// The agents. The map is replaced as a whole when tools are added or removed.
    pub agents: RwLock<BTreeMap<String, Arc<Agent>>>,
    pub models: BTreeMap<String, Arc<dyn Model>>,
    pub toolbox: Arc<Toolbox>,
    /// The MCP servers, whose prompts people can send.
    pub mcp_servers: Servers,
    pub sessions: session_cache::SessionCache,
    /// The folders of the conversations.
    pub workspaces: Workspaces,
    /// The agents whose conversations share one memory.
    pub shared_memory: BTreeSet<String>,
    pub rules: RuleBook,
    pub fetching: fetch::FetchBudget,
    /// Transcribes recordings that people send.
    pub transcriber: Option<Transcriber>,
    pub agent_cache: agent_cache::AgentCache,
    pub hooks: Vec<Hook>,
    /// The sandbox settings for the programs of hooks.
    pub hook_sandbox: HookSandbox,
    pub redactor: Redactor,
    pub limits: DailyLimits,
    /// How long each kind of data is kept.
    pub retention: Retention,
}

/// The folders with the agents' files.
#[derive(Debug, Clone)]
pub struct Workspaces {
    /// Contains a folder per conversation.
    pub root: PathBuf,
    /// The folders that the configuration gives to an agent, shared by all its conversations.
    pub shared: BTreeMap<String, PathBuf>,
    /// The software builds of the conversations.
    pub builds: BuildRecords,
}

impl Workspaces {
    fn name_of(&self, agent: Option<&String>, conversation: &ConversationId) -> String {
        let shared = agent.and_then(|agent| self.shared.get(agent));
        shared.map_or_else(|| conversation.to_string(), |folder| folder.display().to_string())
    }

    /// Deletes the workspace and the builds of a conversation. A shared folder is kept.
    pub async fn remove(&self, conversation: &ConversationId) -> std::io::Result<()> {
        let (builds, own) = (self.builds.clone(), conversation.clone());
        tokio::task::spawn_blocking(move || builds.remove(&own)).await??;
        match tokio::fs::remove_dir_all(self.root.join(conversation.as_str())).await {
            Err(problem) if problem.kind() == std::io::ErrorKind::NotFound => Ok(()),
            removed => removed,
        }
    }

    fn of(&self, agent: Option<&String>, conversation: &ConversationId) -> PathBuf {
        let shared = agent.and_then(|agent| self.shared.get(agent)).cloned();
        shared.unwrap_or_else(|| self.root.join(conversation.as_str()))
    }
}

impl Worker {
    /// Starts claiming conversations and the periodic work, until the gateway's `stop`.
    pub fn start(self: &Arc<Self>) {
        self.supervise("claim conversations", claim);
        self.supervise("renew leases", |worker| periodic::renew_leases(worker.gateway.clone()));
        self.supervise("follow the clock", |worker| periodic::follow_clock(worker.gateway.clone()));
        self.supervise("run schedules", scheduler::tick);
        self.supervise("expire approvals", |worker| periodic::expire(worker.gateway.clone()));
        self.supervise("maintenance", |worker| maintenance::maintain(worker, maintenance::EVERY));
    }

    fn supervise<W>(
        self: &Arc<Self>,
        task: &'static str,
        work: impl Fn(Arc<Self>) -> W + Send + Sync + 'static,
    ) where
        W: Future<Output = ()> + Send + 'static,
    {
        let worker = self.clone();
        self.gateway.spawn_supervised(task, move || work(worker.clone()));
    }

    /// Advances all conversations that are ready, as far as possible. Returns how many there were.
    pub async fn advance_ready(self: &Arc<Self>) -> Result<usize> {
        let now = self.gateway.clock.now();
        let claimed = self.gateway.store.claim(CLAIMED_AT_ONCE, now).await?;
        let advanced = claimed.into_iter().map(|claimed| advance_safely(self, claimed));
        Ok(futures::future::join_all(advanced).await.len())
    }

    /// The ids of all agents.
    pub fn agent_ids(&self) -> Vec<String> {
        self.agents.read().keys().cloned().collect()
    }

    /// Warnings about weak policies of the agents, for operators.
    pub async fn policy_warnings(&self) -> Result<Vec<String>> {
        let mut found = BTreeSet::new();
        for id in self.agent_ids() {
            found.extend(advice::warnings(&self.agent(&id).await?.policy, &self.toolbox.specs()));
        }
        Ok(found.into_iter().collect())
    }

    /// Whether there is an agent with this id.
    pub fn has_agent(&self, id: &str) -> bool {
        self.agents.read().contains_key(id)
    }

    /// The agent that answers on a channel.
    fn agent_at(&self, channel: &str) -> Result<&String> {
        let connected = self.gateway.channels.get(channel);
        let connected = connected.with_context(|| format!("there is no channel `{channel}`"))?;
        Ok(&connected.agent)
    }

    /// The folder of a conversation. A sub-agent uses the folder of the conversation that it works
    /// for.
    fn workspace(&self, claimed: &Claimed) -> PathBuf {
        self.workspaces.of(self.agent_at(&claimed.channel).ok(), claimed.lease.home())
    }

    /// The name of the same folder, which does not depend on the node.
    fn workspace_name(&self, claimed: &Claimed) -> String {
        self.workspaces.name_of(self.agent_at(&claimed.channel).ok(), claimed.lease.home())
    }
}

/// Runs a claimed conversation as a task.
fn start_turn(
    worker: &Arc<Worker>,
    claimed: Claimed,
    permit: Option<OwnedSemaphorePermit>,
    on: &Handle,
) {
    let advanced = worker.clone();
    let turn = async move {
        advance_safely(&advanced, claimed).await;
        drop(permit);
    };
    worker.gateway.tasks.spawn_on(turn, on);
}

/// Has conversations run as soon as a transaction of this process has made them ready.
fn take_turns(worker: &Arc<Worker>, permits: &Arc<Semaphore>) -> Registration {
    // The store belongs to the worker.
    let (weak, on) = (Arc::downgrade(worker), Handle::current());
    let start = move |claimed, permit| {
        if let Some(worker) = weak.upgrade() {
            start_turn(&worker, claimed, Some(permit), &on);
        }
    };
    let clock = worker.gateway.clock.clone();
    let taker = TurnTaker { permits: permits.clone(), clock, start: Box::new(start) };
    worker.gateway.store.take_turns(taker)
}

async fn claim(worker: Arc<Worker>) {
    let permits = Arc::new(Semaphore::new(AT_ONCE));
    let _taking = take_turns(&worker, &permits);
    let (stop, store) = (&worker.gateway.stop, &worker.gateway.store);
    while !stop.is_cancelled() {
        let Some(mut reserved) = reserve(&permits, CLAIMED_AT_ONCE) else {
            tokio::select! {
                () = stop.cancelled() => {}
                permit = permits.acquire() => drop(permit),
            }
            continue;
        };
        let free = reserved.num_permits();
        let now = worker.gateway.clock.now();
        let claimed = store.claim(free, now).await.unwrap_or_else(|problem| {
            tracing::error!(problem = format!("{problem:#}"), "could not claim conversations");
            Vec::new()
        });
        let may_be_more = claimed.len() >= free;
        for claimed in claimed {
            start_turn(&worker, claimed, reserved.split(1), &Handle::current());
        }
        drop(reserved);
        // A claim takes everything that is ready. What becomes ready later notifies.
        if !may_be_more {
            tokio::select! {
                () = stop.cancelled() => {}
                () = store.notifier.ready() => {}
            }
        }
    }
}

/// Advances a conversation. A failure affects only this conversation.
async fn advance_safely(worker: &Arc<Worker>, claimed: Claimed) {
    let conversation = claimed.lease.conversation().to_string();
    let span =
        tracing::info_span!("turn", conversation.id = conversation, channel.id = claimed.channel);
    let advanced = advance::advance(worker, &claimed).instrument(span);
    let advanced = AssertUnwindSafe(advanced).catch_unwind().await;
    let cause = match advanced {
        Ok(Ok(())) => return,
        Ok(Err(error)) => {
            // An event of a newer release is not a failure of the turn: newer nodes can read it.
            let store = &worker.gateway.store;
            if matches!(store.leave_unreadable(&claimed.lease, &error).await, Ok(true)) {
                return;
            }
            let failures = claimed.failures + 1;
            let error = format!("{error:#}");
            tracing::error!(conversation.id = conversation, failures, error, "turn failed");
            if failures < GIVE_UP_AFTER {
                return defer(worker, &claimed).await;
            }
            error
        }
        Err(_panic) => {
            tracing::error!(conversation.id = conversation, "turn panicked");
            "the turn panicked; the log has the message".to_owned()
        }
    };
    if let Err(error) = report_failure(worker, &claimed, &cause).await {
        let error = format!("{error:#}");
        tracing::error!(conversation.id = conversation, error, "could not report a failed turn");
        defer(worker, &claimed).await;
    }
}

/// Releases the conversation so that it is retried later. The person is not told: everything that
/// the turn did is in the journal, or will be found unfinished. If this fails as well, the lease
/// expires.
async fn defer(worker: &Worker, claimed: &Claimed) {
    let deferral = deferral(claimed.failures, worker.gateway.clock.now());
    if let Err(error) = worker.gateway.store.defer(&claimed.lease, deferral).await {
        tracing::warn!(error = format!("{error:#}"), "could not release a lease; it will expire");
    }
}

/// When a turn is retried that has failed after `earlier` consecutive failures.
fn deferral(earlier: u32, now: DateTime<Utc>) -> Deferral {
    let failures = (earlier + 1).min(GIVE_UP_AFTER);
    Deferral { failures, not_before: now + FIRST_DEFERRAL * (1 << (failures - 1)) }
}

/// Tells the person that the turn failed. Retries if they have written in the meantime.
async fn report_failure(worker: &Worker, claimed: &Claimed, cause: &str) -> Result<()> {
    let cause = failure::clean(&worker.redactor, cause);
    loop {
        let change = failure_notice(worker, claimed, &cause).await?;
        let store = &worker.gateway.store;
        let now = worker.gateway.clock.now();
        if store.record(&claimed.lease, change, now).await? != Recorded::Behind {
            return Ok(());
        }
    }
}

async fn failure_notice(
    worker: &Worker,
    claimed: &Claimed,
    cause: &str,
) -> Result<ConversationChange> {
    let store = &worker.gateway.store;
    let conversation = claimed.lease.conversation().clone();
    let seen = store.last_seq(&conversation).await?;
    let reference = FailureReference { conversation, upto: seen }.to_string();
    tracing::error!(reference, cause, "turn failed, telling the conversation");
    let words = claimed.words();
    let markdown = words.failed(words.broken, &reference);
    let reason = words.broken.to_owned();
    let (mut shows, mut answer) = (vec![], None);
    if claimed.sub_agent.is_some() {
        // The turn may have failed because of events that cannot be read.
        let session = store.current_session(claimed.lease.conversation()).await;
        let session = session.unwrap_or_default();
        answer = delegate::failure(worker, claimed, &session, &reason);
    } else {
        shows.push(Outgoing::Text { markdown, reply_to: None });
    }
    Ok(ConversationChange {
        events: vec![Event::Failed {
            reason,
            reference,
            upto: seen,
            cause: Some(cause.to_owned()),
        }],
        shows,
        answer,
        seen,
        terms: Precondition::IfCurrentThenRest,
        ..ConversationChange::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_turn_is_retried_after_a_growing_delay() {
        let now = DateTime::UNIX_EPOCH;
        let deferrals = [0, 1, 2, 3, 4, 9].map(|earlier| {
            let Deferral { failures, not_before } = deferral(earlier, now);
            (failures, (not_before - now).num_seconds())
        });
        assert_eq!(deferrals, [(1, 2), (2, 4), (3, 8), (4, 16), (5, 32), (5, 32)]);
    }

    /// Files that could not be deleted are not reported as deleted.
    #[tokio::test]
    async fn a_workspace_that_cannot_be_deleted_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("workspaces");
        let builds = BuildRecords::new(folder.path().join("builds"));
        let workspaces = Workspaces { root: root.clone(), shared: BTreeMap::new(), builds };
        let [own, blocked] = ["a", "b"].map(|id| ConversationId(id.to_owned()));
        std::fs::create_dir_all(root.join("a/inbox")).unwrap();
        std::fs::write(root.join("b"), "not a folder").unwrap();
        for _ in 0..2 {
            workspaces.remove(&own).await.expect("a workspace that is gone is no error");
            assert!(!root.join("a").exists());
            assert!(workspaces.remove(&blocked).await.is_err());
        }
    }
}
