//! The loop: read what is new in the journal, ask the agent what is next, do it, record it, and
//! around again. Nothing is applied from memory: this worker reads its own events like others'.

use anyhow::Result;
use channels::{Outgoing, PlaceKind};
use futures::{StreamExt as _, future::BoxFuture, stream::FuturesUnordered};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::{Worker, act, asking, delegate, fetch, hooks, scene, think, trail};
use crate::{
    agent::{
        Agent,
        next::{Effect, next},
        policy::Scene,
    },
    gateway::{Manners, drafts::Drafts},
    journal::{
        event::Event,
        ids::CallId,
        session::{Item, Session},
    },
    store::{
        grants,
        journal::{Change, Recorded, Terms},
        leases::Claimed,
        wake::Listener,
    },
};

/// One conversation being advanced.
pub(super) struct Turn<'w> {
    pub worker: &'w Worker,
    pub claimed: &'w Claimed,
    pub agent: Arc<Agent>,
    pub session: Session,
    pub scene: Scene,
    pub bell: Listener,
}

/// Calls under way: they go on while the loop looks at what else has happened.
#[derive(Default)]
pub(super) struct Running<'w> {
    pub calls: FuturesUnordered<BoxFuture<'w, act::Done>>,
    pub cancel: BTreeMap<CallId, CancellationToken>,
    /// Those that the rate limit has counted already.
    pub counted: BTreeSet<CallId>,
    /// What one of them has last said of its progress.
    pub progress: watch::Sender<String>,
    /// What they want to know of people.
    pub asking: asking::Asking,
}

/// What the loop does after an effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flow {
    Around,
    /// The lease is given back, or another's.
    End,
}

impl From<Recorded> for Flow {
    fn from(recorded: Recorded) -> Self {
        match recorded {
            Recorded::Done | Recorded::Behind => Self::Around,
            Recorded::Rested | Recorded::Fenced => Self::End,
        }
    }
}

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
            Effect::Delegate(orders) => delegate::delegate(self, orders).await,
            Effect::Ask(questions) => act::ask(self, questions).await,
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
        let mut drafts = Drafts::new(&self.worker.gateway, self.claimed, self.reply_to());
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
        let counted = running.counted.remove(done.id());
        act::finish(self, done, counted).await
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
        self.record(Change { terms: Terms::IfCurrentThenRest, answer, ..change }).await
    }

    /// A change on the terms that nothing has happened since this worker last read. A sub-agent says
    /// nothing to people; the files that it sends reach them.
    pub fn change(&self, events: Vec<Event>, shows: Vec<Outgoing>) -> Change {
        let heard = |what: &Outgoing| {
            self.claimed.sub_agent.is_none() || matches!(what, Outgoing::File { .. })
        };
        let shows = shows.into_iter().filter(heard).flat_map(|what| self.fitting(what)).collect();
        let seen = self.session.seq;
        Change { events, shows, seen, ..Change::default() }
    }

    pub async fn record(&self, change: Change) -> Result<Flow> {
        let gateway = &self.worker.gateway;
        let recorded =
            gateway.store.record(&self.claimed.lease, change, gateway.clock.now()).await?;
        if recorded == Recorded::Fenced {
            let conversation = self.claimed.lease.conversation();
            tracing::warn!(conversation.id = %conversation, "another node has the lease");
        }
        Ok(recorded.into())
    }

    /// The parts in which the channel can show it.
    pub fn fitting(&self, what: Outgoing) -> Vec<Outgoing> {
        match self.worker.gateway.channels.get(&self.claimed.channel) {
            Some(connected) => what.degrade(connected.channel.limits()),
            None => vec![what],
        }
    }

    /// Whether the channel shows pictures as such.
    pub fn shows_pictures(&self) -> bool {
        let connected = self.worker.gateway.channels.get(&self.claimed.channel);
        connected.is_some_and(|connected| connected.channel.limits().pictures)
    }

    /// What the channel's operator wishes of this conversation.
    pub fn manners(&self) -> Manners {
        let connected = self.worker.gateway.channels.get(&self.claimed.channel);
        connected.map(|connected| connected.manners.clone()).unwrap_or_default()
    }

    /// A word of ours to whoever is answered.
    pub fn text(&self, markdown: String) -> Outgoing {
        Outgoing::Text { markdown, reply_to: self.reply_to() }
    }

    /// In groups, the message that the next answer is for.
    pub fn reply_to(&self) -> Option<String> {
        let of = |item: &Item| match item {
            Item::Said { message, .. } => Some(message.clone()),
            _ => None,
        };
        let group = self.claimed.place.kind == PlaceKind::Group;
        let group = group && self.claimed.sub_agent.is_none();
        let last = group.then(|| self.session.items.iter().rev().find_map(of)).flatten();
        // A task that was due is no message.
        last.filter(|message| !message.is_empty())
    }
}

impl Running<'_> {
    /// What a person has stopped is cancelled; what came of it is of no use to anybody.
    fn cancel_ended(&mut self, session: &Session) {
        let open: BTreeSet<_> = session.open_calls().map(|open| &open.call.id).collect();
        for (_, cancel) in self.cancel.iter().filter(|(id, _)| !open.contains(id)) {
            cancel.cancel();
        }
    }
}
