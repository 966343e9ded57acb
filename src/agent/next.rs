//! The next thing to do: a pure function of the session, the agent and the time.
//!
//! A turn goes round: think → judge each call → run, ask or refuse → think … until a reply makes
//! no calls. Nothing here waits: where a person has to decide, the answer is [`Effect::Rest`], and
//! the decision is an event that asks this function again.

use chrono::{DateTime, Utc};
use std::collections::BTreeSet;

use super::{
    Agent,
    catalog::{Found, Tier, ToolSpec},
    compact,
    guard::{self, Cleared, Verdict},
    limits,
};
use crate::{
    journal::{
        event::{Asks, Call, Event, Outcome, Seq, ToolResult},
        ids::CallId,
        session::{CallState, OpenCall, Session},
    },
    texts,
};

/// Imperative: what the worker does next, recording what came of it.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Nothing, until something happens.
    Rest,
    /// Ask the model.
    Think,
    /// Summarise what stands up to this event.
    Compact { upto: Seq },
    /// Run these side by side.
    Run(Vec<Cleared>),
    /// Put these questions to the people of the place.
    Ask(Vec<Question>),
    /// Record what needs no doing: refusals, enabled tools, loaded skills.
    Settle(Vec<Event>),
    /// Tell the person that a question is open.
    Remind,
    /// Give the turn up, and say why.
    Fail(String),
}

#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    pub call: Call,
    pub asks: Asks,
    /// Why a person is asked.
    pub reason: String,
}

/// `running` are the calls that this worker runs right now; a started call that is not among them
/// was left behind by a crash.
pub fn next(
    session: &Session,
    agent: &Agent,
    running: &BTreeSet<CallId>,
    now: DateTime<Utc>,
) -> Effect {
    let plan = Plan::of(session, agent, running);
    if !plan.settle.is_empty() {
        return Effect::Settle(plan.settle);
    }
    if !plan.ask.is_empty() {
        return Effect::Ask(plan.ask);
    }
    if !plan.run.is_empty() {
        return Effect::Run(plan.run);
    }
    if session.open_calls().next().is_some() {
        return while_waiting(session);
    }
    if !session.awaits_model() && !session.has_unread_results() {
        return Effect::Rest;
    }
    if let Some(reason) = limits::exhausted(session, &agent.budget, now) {
        return Effect::Fail(reason);
    }
    match compact::due(session, &agent.budget) {
        Some(upto) => Effect::Compact { upto },
        None => Effect::Think,
    }
}

/// A message is never taken for a decision: it waits, and the person is told once what for.
fn while_waiting(session: &Session) -> Effect {
    let asked = session.open_calls().any(|c| matches!(c.state, CallState::Asked { .. }));
    if asked && session.awaits_model() && session.said_upto > session.reminded_upto {
        return Effect::Remind;
    }
    Effect::Rest
}

/// What is to become of the open calls, sorted.
#[derive(Default)]
struct Plan {
    settle: Vec<Event>,
    ask: Vec<Question>,
    run: Vec<Cleared>,
}

impl Plan {
    fn of(session: &Session, agent: &Agent, running: &BTreeSet<CallId>) -> Self {
        let mut plan = Self::default();
        for open in session.open_calls().filter(|c| !running.contains(&c.call.id)) {
            match agent.catalog.find(&open.call.tool) {
                Found::Enable => plan.settle.extend(enable(&open.call, agent)),
                Found::LoadSkill => plan.settle.push(load_skill(&open.call, agent)),
                Found::Nothing { near } => {
                    plan.settle
                        .push(failed(&open.call, texts::no_such_tool(&open.call.tool, &near)));
                }
                Found::Tool(spec) => plan.judge(open, spec, session, agent),
            }
        }
        plan
    }

    fn judge(&mut self, open: &OpenCall, spec: &ToolSpec, session: &Session, agent: &Agent) {
        let call = &open.call;
        if open.state == CallState::New {
            if let Err(problem) = agent.catalog.check(spec, &call.arguments) {
                return self.settle.push(failed(call, format!("Invalid parameters: {problem}")));
            }
            if spec.tier == Tier::Extension && !session.enabled.contains(&spec.name) {
                return self.settle.push(Event::ToolsEnabled { names: vec![spec.name.clone()] });
            }
        }
        match guard::judge(open, spec, session, &agent.policy) {
            Verdict::Run(cleared) => self.run.push(cleared),
            Verdict::Ask { asks, reason } => {
                self.ask.push(Question { call: call.clone(), asks, reason });
            }
            Verdict::Wait => {}
            Verdict::Refuse(text) => self.settle.push(ended(call, Outcome::Denied, text)),
        }
    }
}

/// Enabling all or nothing: a failed call leaves no trace but its message.
fn enable(call: &Call, agent: &Agent) -> Vec<Event> {
    match agent.catalog.enabling(&call.arguments) {
        Ok(names) => {
            let text = texts::tools_enabled(&names);
            vec![Event::ToolsEnabled { names }, ended(call, Outcome::Done, text)]
        }
        Err(problem) => vec![failed(call, problem)],
    }
}

fn load_skill(call: &Call, agent: &Agent) -> Event {
    match agent.catalog.skill_text(&call.arguments) {
        Ok(text) => ended(call, Outcome::Done, text),
        Err(problem) => failed(call, problem),
    }
}

fn failed(call: &Call, text: String) -> Event {
    ended(call, Outcome::Failed, text)
}

fn ended(call: &Call, outcome: Outcome, text: String) -> Event {
    let result = ToolResult { outcome, text, attachments: vec![], seen: vec![], took_ms: 0 };
    Event::ToolFinished { call: call.id.clone(), result }
}
