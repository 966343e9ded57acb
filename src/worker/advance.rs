//! The main loop: reads new events, asks the agent for the next effect, carries it out, records the
//! result, and repeats. State changes only through the journal: a worker reads its own events back
//! like those of others.

use anyhow::Result;
use chrono::TimeDelta;
use std::{collections::BTreeSet, sync::Arc};
use tokio::sync::watch;

use super::{
    Worker, act, approval_requests, audit, delegate, elicitation,
    failure::FailedTurn,
    fetch, guard_context,
    in_flight::Running,
    retry::{Retry, RetryVerdict},
    session_cache, think,
    turn::{Flow, Turn},
};
use crate::{
    agent::{
        next::{Effect, next},
        policy::GuardContext,
    },
    gateway::drafts::Drafts,
    journal::event::Event,
    store::{
        conversations::{
            record::{ConversationChange, Deferral},
            snapshots::Folded,
        },
        leases::Claimed,
    },
};

/// The delay before a call looks again for a tool that is being loaded.
const TOOLS_AFTER: TimeDelta = TimeDelta::seconds(2);

pub(super) async fn advance(worker: &Arc<Worker>, claimed: &Claimed) -> Result<()> {
    let listener = worker.gateway.store.notifier.listen(claimed.lease.conversation());
    if claimed.sub_agent.as_ref().is_some_and(|own| !worker.has_agent(&own.agent)) {
        // The agent was removed from the configuration in the meantime. The caller that waits for
        // its answer gets an error.
        let cause = "the agent of this sub-agent is no longer configured";
        return super::report_failure(worker, claimed, cause).await;
    }
    // Read first: the agent may lack these tools, and has all others.
    let loading = worker.loading_tools();
    let agent = worker.agent_of(claimed).await?;
    let folded = worker.sessions.take(&worker.gateway.store, &claimed.lease).await?;
    let guard_context = GuardContext::default();
    let Some(_permit) = worker.sessions.reserve(&folded.session).await else {
        tracing::warn!(
            conversation.id = %claimed.lease.conversation(),
            "turn postponed: the memory limit for concurrent turns is reached"
        );
        return worker.gateway.store.release(&claimed.lease).await;
    };
    let Folded { session, stored } = folded;
    let mut turn =
        Turn { worker, claimed, agent, loading, session, stored, guard_context, listener };
    run_step(&mut turn).await?;
    let folded = Folded { session: turn.session, stored: turn.stored };
    worker.sessions.keep(&worker.gateway.store, &claimed.lease, folded).await;
    Ok(())
}

async fn run_step(turn: &mut Turn<'_>) -> Result<()> {
    let mut running = Running::default();
    let mut retry = Retry::default();
    loop {
        let error = match step(turn, &mut running).await {
            Ok(Flow::Continue) => {
                retry = Retry::default();
                continue;
            }
            Ok(Flow::End) => return Ok(()),
            // Nothing is lost: the next worker that claims the conversation continues from the
            // journal.
            Err(error) if running.is_idle() => return Err(error),
            Err(error) => error,
        };
        match retry.after(turn, error).await {
            Ok(RetryVerdict::Again) => {}
            Ok(RetryVerdict::Fenced) => return Ok(()),
            Err(error) => {
                drain(turn, &mut running).await?;
                return Err(error);
            }
        }
    }
}

/// Carries out the next effect. Can be repeated after an error, because only events from the
/// journal are applied.
async fn step(turn: &mut Turn<'_>, running: &mut Running) -> Result<Flow> {
    let gateway = turn.worker.gateway.clone();
    turn.read(&mut running.asking).await?;
    if !running.started {
        elicitation::withdraw_orphaned(turn).await?;
        running.started = true;
    }
    running.cancel_ended(&turn.session);
    if gateway.stop.is_cancelled() {
        if running.is_idle() {
            gateway.store.release(&turn.claimed.lease).await?;
            return Ok(Flow::End);
        }
        running.asking.give_up();
    }
    if running.asking.has_notices() {
        return running.asking.show_notice(turn).await;
    }
    if !running.finished.is_empty() {
        return act::finish(turn, running).await;
    }
    let busy: BTreeSet<_> = running.cancel.keys().cloned().collect();
    turn.guard_context = guard_context::current(turn).await?;
    let effect = next(&turn.session, &turn.agent, &busy, &turn.guard_context);
    turn.perform(effect, running).await
}

/// Lets running calls finish and records their results when the turn itself cannot continue.
async fn drain(turn: &Turn<'_>, running: &mut Running) -> Result<()> {
    running.asking.give_up();
    loop {
        while !running.finished.is_empty() {
            if act::finish(turn, running).await? == Flow::End {
                return Ok(());
            }
        }
        let Some(done) = running.calls.next().await else { return Ok(()) };
        running.finished.push_back(done);
    }
}

impl Turn<'_> {
    /// Applies new events, and passes answers on to running calls.
    pub async fn read(&mut self, asking: &mut elicitation::TurnElicitations) -> Result<()> {
        let conversation = self.claimed.lease.conversation();
        let store = &self.worker.gateway.store;
        let (session, stored) = (&mut self.session, &mut self.stored);
        session_cache::catch_up(store, conversation, session, stored, |entry| asking.notify(entry))
            .await
    }

    async fn perform(&mut self, effect: Effect, running: &mut Running) -> Result<Flow> {
        match effect {
            Effect::Rest if running.is_idle() => self.rest().await,
            Effect::AwaitTools if running.is_idle() => self.await_tools().await,
            Effect::Rest | Effect::AwaitTools => self.wait(running).await,
            Effect::Fetch(files) => fetch::fetch(self, files).await,
            Effect::Think => {
                self.renew_agent().await?;
                think::think(self).await
            }
            Effect::Compact { upto } => think::compact(self, upto).await,
            Effect::Run(cleared) => act::run(self, cleared, running).await,
            Effect::Delegate(calls) => delegate::delegate(self, calls, running).await,
            Effect::Ask(approvals) => approval_requests::ask(self, approvals).await,
            Effect::Settle(events) => {
                let facts = audit::refused(self, &[], &events);
                self.record(ConversationChange { facts, ..self.change(events, vec![]) }).await
            }
            Effect::Remind => self.remind().await,
            Effect::Answer(text) => think::answer(self, text, vec![]).await,
            Effect::Fail(reason) => self.fail(FailedTurn::new(reason)).await,
        }
    }

    /// Applies tools that were added or removed since the turn began to the next request to the
    /// model.
    async fn renew_agent(&mut self) -> Result<()> {
        if !self.worker.is_current(&self.agent) {
            self.agent = self.worker.agent_of(self.claimed).await?;
        }
        Ok(())
    }

    async fn rest(&self) -> Result<Flow> {
        let store = &self.worker.gateway.store;
        Ok(store.rest(&self.claimed.lease, self.session.seq).await?.into())
    }

    /// Releases the conversation for a moment. Its next turn has the tools that are loaded by then.
    async fn await_tools(&self) -> Result<Flow> {
        let gateway = &self.worker.gateway;
        let not_before = gateway.clock.now() + TOOLS_AFTER;
        let deferral = Deferral { failures: self.claimed.failures, not_before };
        gateway.store.defer(&self.claimed.lease, deferral).await?;
        Ok(Flow::End)
    }

    /// Waits until a call ends or a new event arrives.
    async fn wait(&self, running: &mut Running) -> Result<Flow> {
        let silent = watch::Sender::default();
        let heard = if self.claimed.sub_agent.is_none() { &running.progress } else { &silent };
        let mut said = heard.subscribe();
        if !said.borrow().is_empty() {
            said.mark_changed();
        }
        let mut drafts = Drafts::new(&self.worker.gateway, self.claimed, self.draft_target());
        let mut request = None;
        let done = tokio::select! {
            Some(done) = running.calls.next() => Some(done),
            Some(next) = running.asking.next() => { request = Some(next); None }
            () = self.listener.changed() => None,
            () = drafts.show(said, str::to_owned) => None,
        };
        drafts.end().await;
        if let Some(request) = request {
            return running.asking.handle(self, request).await;
        }
        let Some(done) = done else { return Ok(Flow::Continue) };
        running.progress.send_replace(String::new());
        running.finished.push_back(done);
        act::finish(self, running).await
    }

    async fn remind(&self) -> Result<Flow> {
        let event = Event::Reminded { upto: self.session.said_upto };
        let shown = self.text(self.claimed.words().waiting_for_you.into());
        self.record(self.change(vec![event], vec![shown])).await
    }
}
