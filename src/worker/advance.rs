//! The loop: read what is new in the journal, ask the agent what is next, do it, record it, and
//! around again. Nothing is applied from memory: this worker reads its own events like others'.

use anyhow::Result;
use futures::StreamExt as _;
use std::collections::BTreeSet;
use tokio::sync::watch;

use super::{
    Worker, act, ask, asking, delegate, fetch, hooks,
    running::Running,
    scene, think, trail,
    turn::{Flow, Turn},
};
use crate::{
    agent::{
        next::{Effect, next},
        policy::Scene,
    },
    gateway::drafts::Drafts,
    journal::event::Event,
    store::{
        grants,
        leases::Claimed,
        record::{Change, Terms},
    },
};

pub(super) async fn advance(worker: &Worker, claimed: &Claimed) -> Result<()> {
    let bell = worker.gateway.store.bell.listen(claimed.lease.conversation());
    if claimed.sub_agent.as_ref().is_some_and(|own| !worker.has_agent(&own.agent)) {
        // It was taken out of the configuration meanwhile: whoever waits for it is told.
        tracing::error!("a sub-agent cannot go on: it is not configured any more");
        return super::apologise(worker, claimed).await;
    }
    let agent = worker.agent_of(claimed).await?;
    let session = worker.sessions.take(claimed.lease.conversation());
    let scene = Scene::default();
    let mut turn = Turn { worker, claimed, agent, session, scene, bell };
    go_around(&mut turn).await?;
    worker.sessions.keep(claimed.lease.conversation(), turn.session);
    Ok(())
}

async fn go_around(turn: &mut Turn<'_>) -> Result<()> {
    let (worker, claimed) = (turn.worker, turn.claimed);
    let mut running = Running::default();
    let mut begins = true;
    loop {
        turn.read(&mut running.asking).await?;
        if std::mem::take(&mut begins) {
            asking::withdraw_left(turn).await?;
        }
        running.cancel_ended(&turn.session);
        if worker.gateway.stop.is_cancelled() {
            if running.calls.is_empty() {
                return worker.gateway.store.release(&claimed.lease).await;
            }
            running.asking.give_up();
        }
        let busy: BTreeSet<_> = running.cancel.keys().cloned().collect();
        turn.scene = scene::look(turn).await?;
        let effect = next(&turn.session, &turn.agent, &busy, &turn.scene);
        if turn.perform(effect, &mut running).await? == Flow::End {
            return Ok(());
        }
    }
}

impl<'w> Turn<'w> {
    /// Folds in what is new, and passes on what calls under way wait for.
    pub async fn read(&mut self, asking: &mut asking::Asking) -> Result<()> {
        let conversation = self.claimed.lease.conversation();
        let store = &self.worker.gateway.store;
        for entry in store.events_after(conversation, self.session.seq).await? {
            self.session.apply(&entry);
            asking.hear(&entry);
        }
        if self.session.open_calls().next().is_some() {
            let requester = self.session.requester.as_ref().map_or("", |by| by.id.as_str());
            let person = grants::person(&self.claimed.channel, requester);
            let now = self.worker.gateway.clock.now();
            self.session.standing = store.standing(conversation, person, now).await?;
        }
        Ok(())
    }

    async fn perform(&mut self, effect: Effect, running: &mut Running<'w>) -> Result<Flow> {
        match effect {
            Effect::Rest if running.calls.is_empty() => self.rest().await,
            Effect::Rest => self.wait(running).await,
            Effect::Fetch(files) => fetch::fetch(self, files).await,
            Effect::Think => think::think(self).await,
            Effect::Compact { upto } => think::compact(self, upto).await,
            Effect::Run(cleared) => act::run(self, cleared, running).await,
            Effect::Delegate(orders) => delegate::delegate(self, orders, running).await,
            Effect::Ask(questions) => ask::ask(self, questions).await,
            Effect::Settle(events) => {
                let facts = trail::refused(self, &[], &events);
                self.record(Change { facts, ..self.change(events, vec![]) }).await
            }
            Effect::Remind => self.remind().await,
            Effect::Answer(text) => think::answer(self, text).await,
            Effect::Fail(reason) => self.fail(&reason).await,
        }
    }

    async fn rest(&self) -> Result<Flow> {
        let store = &self.worker.gateway.store;
        Ok(store.rest(&self.claimed.lease, self.session.seq).await?.into())
    }

    /// Until a call ends or something happens.
    async fn wait(&self, running: &mut Running<'w>) -> Result<Flow> {
        let silent = watch::Sender::default();
        let heard = if self.claimed.sub_agent.is_none() { &running.progress } else { &silent };
        let mut said = heard.subscribe();
        if !said.borrow().is_empty() {
            said.mark_changed();
        }
        let mut drafts = Drafts::new(&self.worker.gateway, self.claimed, self.growing());
        let mut wish = None;
        let done = tokio::select! {
            done = running.calls.next() => done,
            Some(asked) = running.asking.wish() => { wish = Some(asked); None }
            () = self.bell.news() => None,
            () = drafts.show(said) => None,
        };
        drafts.end().await;
        if let Some(wish) = wish {
            return running.asking.put(self, wish).await;
        }
        let Some(done) = done else { return Ok(Flow::Around) };
        running.asking.end(self, done.id()).await?;
        running.progress.send_replace(String::new());
        running.cancel.remove(done.id());
        act::finish(self, done, running).await
    }

    async fn remind(&self) -> Result<Flow> {
        let event = Event::Reminded { upto: self.session.said_upto };
        let shown = self.text(self.claimed.words().waiting_for_you.into());
        self.record(self.change(vec![event], vec![shown])).await
    }

    /// Gives the turn up and says so; the reference finds the reason in the log.
    pub async fn fail(&self, reason: &str) -> Result<Flow> {
        self.fail_after(vec![], reason).await
    }

    /// The same, when this has happened before.
    pub async fn fail_after(&self, mut events: Vec<Event>, reason: &str) -> Result<Flow> {
        let reference = self.claimed.lease.conversation().to_string();
        tracing::warn!(conversation.id = reference, reason, "the turn failed");
        let (reason, hooked) = hooks::on_error(self, reason).await;
        events.extend(hooked);
        let shown = self.text(self.claimed.words().failed(&reason, &reference));
        let answer = delegate::failure(self.worker, self.claimed, &self.session, &reason);
        events.push(Event::Failed { reason, reference, upto: self.session.seq });
        let change = self.change(events, vec![shown]);
        let answers = self.answers();
        self.record(Change { terms: Terms::IfCurrentThenRest, answer, answers, ..change }).await
    }
}
