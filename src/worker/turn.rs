//! The state of the conversation that is being advanced, shared by all steps.

use anyhow::Result;
use channels::{Outgoing, PlaceKind};
use chrono::{DateTime, TimeDelta, Utc};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

use super::Worker;
use crate::{
    agent::{
        Agent,
        catalog::{ResolvedTool, ToolSpec},
        policy::GuardContext,
    },
    gateway::{ChannelSettings, drafts::DraftTarget},
    journal::{
        event::{Call, Event, InheritedState, Seq, Speaker},
        ids::CallId,
        session::{Item, Session},
    },
    llm::Model,
    store::{
        conversations::{
            record::{ConversationChange, Recorded},
            snapshots::Stored,
        },
        leases::Claimed,
        wake::Listener,
    },
    tools::Context,
};

/// The maximum time that pictures wait for pictures that other calls of the step may send.
const ALBUM_WAIT: TimeDelta = TimeDelta::seconds(3);

/// One conversation that is being advanced.
pub(super) struct Turn<'w> {
    pub worker: &'w Arc<Worker>,
    pub claimed: &'w Claimed,
    pub agent: Arc<Agent>,
    /// The beginnings of the names of tools that it does not have yet.
    pub loading: Vec<String>,
    pub session: Session,
    pub stored: Stored,
    pub guard_context: GuardContext,
    pub listener: Listener,
}

/// What the loop does after an effect has been carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flow {
    Continue,
    /// The lease was released, or another worker has it.
    End,
}

impl From<Recorded> for Flow {
    fn from(recorded: Recorded) -> Self {
        match recorded {
            Recorded::Done | Recorded::Behind => Self::Continue,
            Recorded::Rested | Recorded::Fenced => Self::End,
        }
    }
}

impl Turn<'_> {
    /// A change that is recorded only if there are no newer events. The text of a sub-agent is not
    /// shown to people, but files that it sends are.
    pub fn change(&self, events: Vec<Event>, shows: Vec<Outgoing>) -> ConversationChange {
        let heard = |what: &Outgoing| {
            self.claimed.sub_agent.is_none() || matches!(what, Outgoing::File { .. })
        };
        let shows = shows.into_iter().filter(heard).flat_map(|what| self.fitting(what)).collect();
        let seen = self.session.seq;
        ConversationChange { events, shows, seen, ..ConversationChange::default() }
    }

    /// The turn that the first text of a change answers.
    pub fn answers(&self) -> Option<Seq> {
        self.claimed.sub_agent.is_none().then_some(self.session.turn.began)
    }

    pub async fn record(&self, change: ConversationChange) -> Result<Flow> {
        let recorded = self.persist(change).await?;
        if recorded == Recorded::Fenced {
            let conversation = self.claimed.lease.conversation();
            tracing::warn!(conversation.id = %conversation, "another node has the lease");
        }
        Ok(recorded.into())
    }

    /// Splits a message into parts that the channel can show.
    pub fn fitting(&self, what: Outgoing) -> Vec<Outgoing> {
        match self.worker.gateway.channels.get(&self.claimed.channel) {
            Some(connected) => what.degrade(&connected.content_limits()),
            None => vec![what],
        }
    }

    /// Whether the channel shows pictures inline.
    fn shows_pictures(&self) -> bool {
        let connected = self.worker.gateway.channels.get(&self.claimed.channel);
        connected.is_some_and(|connected| connected.channel.limits().pictures)
    }

    /// How long the pictures of a call wait for those of other running calls, so that they form one
    /// album. After the last call they no longer wait.
    pub fn awaits_album(&self, files: &[Outgoing], is_last: bool) -> Option<DateTime<Utc>> {
        let connected = self.worker.gateway.channels.get(&self.claimed.channel);
        let shows_albums = connected.is_some_and(|c| c.channel.limits().album > 1);
        let pictures = !files.is_empty() && files.iter().all(Outgoing::is_picture);
        let now = self.worker.gateway.clock.now();
        let until = if is_last { now } else { now + ALBUM_WAIT };
        (shows_albums && pictures).then_some(until)
    }

    /// The options of the conversation's channel.
    pub fn settings(&self) -> ChannelSettings {
        let connected = self.worker.gateway.channels.get(&self.claimed.channel);
        connected.map(|connected| connected.settings.clone()).unwrap_or_default()
    }

    /// A text of the gateway, as a reply to the requester.
    pub fn text(&self, markdown: String) -> Outgoing {
        Outgoing::Text { markdown, reply_to: self.reply_to() }
    }

    /// In groups, the message that the next answer replies to.
    pub fn reply_to(&self) -> Option<String> {
        let of = |item: &Item| match item {
            Item::Said { message, .. } => Some(message.clone()),
            _ => None,
        };
        let group = self.claimed.place.kind == PlaceKind::Group;
        let group = group && self.claimed.sub_agent.is_none();
        let last = group.then(|| self.session.items.iter().rev().find_map(of)).flatten();
        // A task has no message to reply to.
        last.filter(|message| !message.is_empty())
    }

    /// The draft of this turn's answer.
    pub fn draft_target(&self) -> DraftTarget {
        DraftTarget { turn: self.session.turn.began, reply_to: self.reply_to() }
    }

    /// The person on whose behalf the agent acts.
    pub fn requester(&self) -> Speaker {
        let nobody = || Speaker { id: String::new(), name: "nobody".into() };
        self.session.requester.clone().unwrap_or_else(nobody)
    }

    /// Everything that sub-agents of this turn inherit, with the number of runs of each tool with a
    /// limit, which they share.
    pub fn inherited(&self) -> InheritedState {
        let limited = self.session.used.iter().filter(|(tool, _)| self.is_limited(tool));
        let used = limited.map(|(tool, runs)| (tool.clone(), *runs)).collect();
        InheritedState { used, ..self.session.inherited() }
    }

    /// Whether the tool has a maximum number of runs.
    pub fn is_limited(&self, tool: &str) -> bool {
        let ResolvedTool::Tool(spec) = self.agent.catalog.find(tool) else { return false };
        spec.max_usage_count.is_some()
    }

    /// The context in which a call runs.
    pub fn context(&self, call: CallId, cancelled: CancellationToken) -> Context {
        let worker = self.worker;
        Context {
            agent: self.agent.id.clone(),
            workspace: worker.workspace(self.claimed),
            conversation: self.claimed.lease.home().clone(),
            call,
            person: self.requester(),
            joined: self.session.joined.clone(),
            depth: self.claimed.sub_agent.as_ref().map_or(0, |own| own.depth),
            artifacts: worker.gateway.artifacts.clone(),
            memory_scope: worker.memory_scope(&self.agent.id, self.claimed),
            seen: self.session.seen.clone(),
            untrusted: self.session.untrusted.clone(),
            taint: self.session.taint.clone(),
            approved: None,
            inherited: self.inherited(),
            jobs_before: self.session.turn.jobs_before,
            now: worker.gateway.clock.now(),
            cancelled,
            shows_pictures: self.shows_pictures(),
            language: self.claimed.language(),
            progress: <_>::default(),
            people: <_>::default(),
            variables: <_>::default(),
        }
    }

    pub fn spec(&self, call: &Call) -> Option<&ToolSpec> {
        match self.agent.catalog.find(&call.tool) {
            ResolvedTool::Tool(spec) => Some(spec),
            _ => None,
        }
    }

    /// The model that was chosen for this conversation, or the agent's default.
    pub fn model(&self) -> Option<Arc<dyn Model>> {
        let models = &self.worker.models;
        let chosen = self.session.model.as_ref().and_then(|model| models.get(model));
        chosen.or_else(|| models.get(&self.agent.model)).cloned()
    }
}
