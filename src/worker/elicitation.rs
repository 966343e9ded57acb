//! What calls under way want to know of people: written down like other questions, and answered by
//! what the journal says.

use anyhow::Result;
use channels::Outgoing;
use chrono::TimeDelta;
use serde_json::json;
use std::collections::BTreeMap;
use tokio::sync::{mpsc, oneshot};

use super::{
    approval_requests, audit,
    turn::{Flow, Turn},
};
use crate::{
    agent::{approvers::Approvers, guard},
    gateway::approvals::{self, TYPED},
    journal::{
        event::{Asks, Decider, Decision, Entry, Event},
        ids::{ApprovalId, CallId},
    },
    store::{
        approval_request::Asked,
        approval_withdrawal, files,
        record::{Change, Terms},
    },
    tools::elicit::{Answer, People, Wish},
};

/// How long a call waits for a person. While it does, it holds its turn.
const WAITS_FOR: TimeDelta = TimeDelta::minutes(10);

/// The questions of the calls of one turn.
pub(super) struct Asking {
    wishes: mpsc::UnboundedSender<Wish>,
    heard: mpsc::UnboundedReceiver<Wish>,
    open: BTreeMap<ApprovalId, Open>,
}

/// A question that stands in the chat, for a call that waits, unless the node stops.
struct Open {
    call: CallId,
    waits: Option<oneshot::Sender<Answer>>,
}

impl Default for Asking {
    fn default() -> Self {
        let (wishes, heard) = mpsc::unbounded_channel();
        Self { wishes, heard, open: BTreeMap::new() }
    }
}

impl Asking {
    /// Whom a call of this turn can ask. Visitors are nobody: no word of theirs counts as their own.
    pub fn people(&self, turn: &Turn<'_>) -> People {
        if turn.requester().is_visitor() {
            return People::default();
        }
        People::reached_by(self.wishes.clone(), turn.claimed.language())
    }

    /// The next question of a call.
    pub async fn wish(&mut self) -> Option<Wish> {
        self.heard.recv().await
    }

    /// Writes the question down, and shows it.
    pub async fn put(&mut self, turn: &Turn<'_>, wish: Wish) -> Result<Flow> {
        let open = turn.session.open_calls().find(|open| open.call.id == wish.call);
        let Some(call) = open.map(|open| &open.call) else { return Ok(Flow::Around) };
        if approval_requests::room_for_questions(turn).await? == 0 {
            tracing::warn!(tool.name = call.tool, "a server asks too much");
            return Ok(Flow::Around);
        }
        let asked = written(turn, &wish);
        let open = Open { call: wish.call, waits: Some(wish.answer) };
        let id = asked.id.clone();
        self.open.insert(id.clone(), open);
        let facts = vec![audit::asked(turn, call, &wish.question.server, &asked)];
        let change = turn.change(vec![asked.event()], vec![]);
        let change = Change { asked: vec![asked], facts, terms: Terms::Always, ..change };
        turn.record(change).await.inspect_err(|_| {
            // The call is told that nobody answers, instead of waiting without an end.
            self.open.remove(&id);
        })
    }

    /// Passes on what people have answered.
    pub fn hear(&mut self, entry: &Entry) {
        let Event::ApprovalDecided { approval, decision, by, .. } = &entry.event else { return };
        let Some(waits) = self.open.remove(approval).and_then(|open| open.waits) else { return };
        let answer = match (decision, by) {
            (Decision::Answer { text }, _) => Answer::Given(text.clone()),
            (_, Decider::Person(_)) => Answer::Declined,
            (_, Decider::Timeout | Decider::Undeliverable) => Answer::Nobody,
        };
        // A call that has ended meanwhile does not want it any more.
        let _ = waits.send(answer);
    }

    /// The call has ended: nobody waits for what it wanted to know.
    pub async fn end(&mut self, turn: &Turn<'_>, call: &CallId) -> Result<()> {
        if self.open.values().all(|open| open.call != *call) {
            return Ok(());
        }
        withdraw(turn, Some(call.clone())).await?;
        self.open.retain(|_, open| open.call != *call);
        Ok(())
    }

    /// The node stops: its calls end without an answer, and their questions with them.
    pub fn give_up(&mut self) {
        self.heard.close();
        while self.heard.try_recv().is_ok() {}
        self.open.values_mut().for_each(|open| open.waits = None);
    }
}

/// Questions of calls that have died with another node. Whoever begins a turn waits for none.
pub(super) async fn withdraw_left(turn: &Turn<'_>) -> Result<()> {
    if turn.session.open_calls().next().is_none() {
        return Ok(());
    }
    withdraw(turn, None).await
}

async fn withdraw(turn: &Turn<'_>, call: Option<CallId>) -> Result<()> {
    let gateway = &turn.worker.gateway;
    let (lease, now) = (turn.claimed.lease.clone(), gateway.clock.now());
    let withdraw = gateway.store.write("withdraw answers", move |tx| {
        Box::pin(async move { approval_withdrawal::answers(tx, &lease, call.as_ref(), now).await })
    });
    withdraw.await
}

/// For the person on whose behalf the call runs, and for nobody else.
fn written(turn: &Turn<'_>, wish: &Wish) -> Asked {
    let Wish { call, question, .. } = wish;
    let (id, words) = (ApprovalId::new(), turn.claimed.words());
    let title = words.question_title(Asks::Answer, &question.server);
    let code = approvals::code(&id);
    let shown = words.asked(&question.asked, question.typed.then_some(code.as_str()));
    let markdown = turn.worker.redactor.own(&format!("{title}\n\n{shown}")).into_owned();
    let choices = words.answers(&question.options);
    let mut offers: String = choices.iter().map(|choice| choice.key).collect();
    if question.typed {
        offers.push(TYPED);
    }
    let arguments = json!({
        "server": question.server,
        "message": question.asked.message,
        "field": question.asked.field,
        "options": question.options,
    });
    let (approval, reply_to) = (id.to_string(), turn.reply_to());
    Asked {
        call: call.clone(),
        asks: Asks::Answer,
        tool: question.server.clone(),
        digest: files::digest_of(guard::canonical(&arguments).as_bytes()),
        title,
        arguments,
        requester: turn.requester(),
        approvers: Approvers::default(),
        proposal: None,
        offers,
        expires_at: turn.worker.gateway.clock.now() + WAITS_FOR,
        file: None,
        shows: approval_requests::parts(
            turn,
            Outgoing::Question { markdown, approval, choices, reply_to },
        ),
        id,
    }
}
