//! Does: claims conversations that have something to do, and advances each as far as it goes.
//!
//! - [`advance`]: the loop; read this first. `turn`: what each of its steps has at hand
//! - [`fetch`]: gets the files that came with messages
//! - [`think`]: asks the model
//! - [`look`]: shows it pictures; `long`: what is shown of a long answer
//! - [`act`]: runs tools (`running`: those under way); [`ask`]: asks people
//! - [`asking`]: what calls under way want to know of people
//! - [`delegate`]: begins sub-agents
//! - [`scene`]: what the guard has to know besides
//! - [`hooks`], [`limits`], [`trail`]: what the operator has done to it, what it may use, what is
//!   kept of it
//! - [`duties`]: heartbeat, expiry, seals
//! - [`memory`]: what is remembered where the agent talks
//! - [`tick`]: what was scheduled
//! - [`shelf`]: the agents with their tools as operators have set them
//! - [`sessions`]: conversations as they were folded last

pub mod act;
pub mod advance;
pub mod ask;
pub mod asking;
pub mod delegate;
pub mod duties;
pub mod fetch;
pub mod hooks;
pub mod limits;
mod long;
mod look;
pub mod memory;
mod running;
pub mod scene;
pub mod sessions;
pub mod shelf;
pub mod think;
pub mod tick;
pub mod trail;
mod turn;

use anyhow::{Context as _, Result};
use chrono::TimeDelta;
use futures::FutureExt as _;
use std::{
    collections::{BTreeMap, BTreeSet},
    panic::AssertUnwindSafe,
    path::PathBuf,
    sync::{Arc, PoisonError, RwLock},
};
use tokio::sync::Semaphore;
use tracing::Instrument as _;

use crate::{
    agent::{Agent, hooks::Hook, redact::Redactor},
    gateway::Gateway,
    journal::{event::Event, ids::ConversationId, session::Session},
    llm::Model,
    store::{
        leases::Claimed,
        record::{Change, Recorded, Terms},
    },
    tools::toolbox::Toolbox,
};
use channels::Outgoing;
use hooks::Walls;
use limits::Limits;
use scene::RuleBook;

/// Turns under way at once on one node.
const AT_ONCE: usize = 20_000;
/// The conversations that one claim takes at most.
const CLAIMED_AT_ONCE: usize = 64;

/// Everything that advances conversations.
pub struct Worker {
    pub gateway: Arc<Gateway>,
    /// Replaced as a whole when tools have come or gone.
    pub agents: RwLock<BTreeMap<String, Arc<Agent>>>,
    pub models: BTreeMap<String, Arc<dyn Model>>,
    pub toolbox: Arc<Toolbox>,
    pub sessions: sessions::Sessions,
    /// Each conversation has a folder below.
    pub workspaces: Workspaces,
    /// The agents whose conversations share one memory.
    pub shared_memory: BTreeSet<String>,
    pub rules: RuleBook,
    pub fetching: fetch::Room,
    pub shelf: shelf::Shelf,
    pub hooks: Vec<Hook>,
    /// What is around the programs of hooks.
    pub walls: Walls,
    pub redactor: Redactor,
    pub limits: Limits,
    /// How long the audit is kept.
    pub keep_audit: Option<TimeDelta>,
}

/// Where the agents' files are.
#[derive(Debug, Clone)]
pub struct Workspaces {
    /// Below it, a folder per conversation.
    pub root: PathBuf,
    /// The folders that the configuration gave to an agent, for all its conversations.
    pub shared: BTreeMap<String, PathBuf>,
}

impl Workspaces {
    fn name_of(&self, agent: Option<&String>, conversation: &ConversationId) -> String {
        let shared = agent.and_then(|agent| self.shared.get(agent));
        shared.map_or_else(|| conversation.to_string(), |folder| folder.display().to_string())
    }

    /// Takes a conversation's own folder out for good. One that all share stays.
    pub async fn remove(&self, conversation: &ConversationId) -> std::io::Result<()> {
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
    /// Starts claiming and the duties, until the gateway's `stop`.
    pub fn start(self: &Arc<Self>) {
        self.gateway.tasks.spawn(claim(self.clone()));
        self.gateway.tasks.spawn(duties::beat(self.gateway.clone()));
        self.gateway.tasks.spawn(tick::tick(self.clone()));
        self.gateway.tasks.spawn(duties::expire(self.gateway.clone()));
        self.gateway.tasks.spawn(duties::seal(self.gateway.clone(), self.keep_audit));
    }

    /// Advances what can be advanced now, as far as it goes; how many that were.
    pub async fn advance_ready(&self) -> Result<usize> {
        let now = self.gateway.clock.now();
        let claimed = self.gateway.store.claim(CLAIMED_AT_ONCE, now).await?;
        let advanced = claimed.into_iter().map(|claimed| advance_safely(self, claimed));
        Ok(futures::future::join_all(advanced).await.len())
    }

    /// The ids of all agents.
    pub fn agent_ids(&self) -> Vec<String> {
        self.agents.read().unwrap_or_else(PoisonError::into_inner).keys().cloned().collect()
    }

    /// Whether there is an agent of that id.
    pub fn has_agent(&self, id: &str) -> bool {
        self.agents.read().unwrap_or_else(PoisonError::into_inner).contains_key(id)
    }

    /// Who answers to people.
    fn agent_at(&self, channel: &str) -> Result<&String> {
        let connected = self.gateway.channels.get(channel);
        let connected = connected.with_context(|| format!("no channel `{channel}`"))?;
        Ok(&connected.agent)
    }

    /// A sub-agent works in the folder of the conversation that it works for.
    fn workspace(&self, claimed: &Claimed) -> PathBuf {
        self.workspaces.of(self.agent_at(&claimed.channel).ok(), claimed.lease.home())
    }

    /// The same folder by a name that is the same on every node.
    fn workspace_name(&self, claimed: &Claimed) -> String {
        self.workspaces.name_of(self.agent_at(&claimed.channel).ok(), claimed.lease.home())
    }
}

async fn claim(worker: Arc<Worker>) {
    let permits = Arc::new(Semaphore::new(AT_ONCE));
    let stop = &worker.gateway.stop;
    while !stop.is_cancelled() {
        let free = permits.available_permits().min(CLAIMED_AT_ONCE);
        let claimed = worker.gateway.store.claim(free, worker.gateway.clock.now()).await;
        let claimed = claimed.unwrap_or_else(|problem| {
            tracing::error!(problem = format!("{problem:#}"), "cannot claim");
            Vec::new()
        });
        if claimed.is_empty() {
            tokio::select! {
                () = stop.cancelled() => {}
                () = worker.gateway.store.bell.ready() => {}
            }
        }
        for claimed in claimed {
            let permit = permits.clone().acquire_owned().await.expect("never closed");
            let worker = worker.clone();
            worker.gateway.tasks.clone().spawn(async move {
                advance_safely(&worker, claimed).await;
                drop(permit);
            });
        }
    }
}

/// A turn that breaks takes nothing else down.
async fn advance_safely(worker: &Worker, claimed: Claimed) {
    let reference = claimed.lease.conversation().to_string();
    let span =
        tracing::info_span!("turn", conversation.id = reference, channel.id = claimed.channel);
    let advanced = advance::advance(worker, &claimed).instrument(span);
    let advanced = AssertUnwindSafe(advanced).catch_unwind().await;
    match advanced {
        Ok(Ok(())) => {}
        Ok(Err(problem)) => {
            let problem = format!("{problem:#}");
            tracing::error!(conversation.id = reference, problem, "the turn is tried again");
            give_back(worker, &claimed).await;
        }
        Err(_panic) => {
            tracing::error!(conversation.id = reference, "the turn broke");
            if let Err(problem) = apologise(worker, &claimed).await {
                tracing::error!(problem = format!("{problem:#}"), "and that could not be said");
            }
        }
    }
}

/// The database did not do its part: whatever the turn had done stands in the journal or will be
/// found unfinished, so that nothing is said to have failed that has not. After a while the lease
/// is given back; if that fails too, it lapses.
async fn give_back(worker: &Worker, claimed: &Claimed) {
    let (store, stop) = (&worker.gateway.store, &worker.gateway.stop);
    let _ = tokio::time::timeout(store.heartbeat_every(), stop.cancelled()).await;
    if let Err(problem) = store.release(&claimed.lease).await {
        tracing::warn!(problem = format!("{problem:#}"), "the lease lapses");
    }
}

/// Tells the person; again, if more has been said meanwhile.
async fn apologise(worker: &Worker, claimed: &Claimed) -> Result<()> {
    loop {
        let change = apology(worker, claimed).await?;
        let store = &worker.gateway.store;
        let now = worker.gateway.clock.now();
        if store.record(&claimed.lease, change, now).await? != Recorded::Behind {
            return Ok(());
        }
    }
}

async fn apology(worker: &Worker, claimed: &Claimed) -> Result<Change> {
    let reference = claimed.lease.conversation().to_string();
    let store = &worker.gateway.store;
    let seen = store.last_seq(claimed.lease.conversation()).await?;
    let words = claimed.words();
    let markdown = words.failed(words.broken, &reference);
    let reason = words.broken.to_owned();
    let (mut shows, mut answer) = (vec![], None);
    if claimed.sub_agent.is_some() {
        let entries = store.events_after(claimed.lease.conversation(), 0).await?;
        answer = delegate::failure(worker, claimed, &Session::fold(&entries), &reason);
    } else {
        shows.push(Outgoing::Text { markdown, reply_to: None });
    }
    Ok(Change {
        events: vec![Event::Failed { reason, reference, upto: seen }],
        shows,
        answer,
        seen,
        terms: Terms::IfCurrentThenRest,
        ..Change::default()
    })
}
