//! Starts sub-agents, and returns their answers to the agent that delegated the work.

use anyhow::Result;
use std::collections::BTreeMap;
use tokio_util::sync::CancellationToken;

use super::{
    Worker, audit,
    in_flight::Running,
    limits,
    turn::{Flow, Turn},
};
use crate::{
    agent::{
        delegation::{ANSWER_CHARS, AT_WORK},
        next::DelegatingCall,
    },
    journal::{
        event::{Event, InheritedState, Outcome, ToolResult},
        ids::{CallId, ConversationId},
        session::Session,
    },
    store::{
        conversations::{
            task_answer::TaskAnswer,
            tasks::{self, Delegation},
        },
        leases::Claimed,
    },
    texts,
    tools::contract::overflow,
};

/// Commits as many tasks as the limits admit. The turn ends here and continues when they are
/// answered.
pub(super) async fn delegate(
    turn: &Turn<'_>,
    calls: Vec<DelegatingCall>,
    running: &mut Running,
) -> Result<Flow> {
    let tasks_of = |made: &DelegatingCall| (made.cleared.call().id.clone(), made.tasks.clone());
    let mut tasks: BTreeMap<_, _> = calls.iter().map(tasks_of).collect();
    let cleared = calls.into_iter().map(|made| made.cleared).collect();
    let (cleared, ends) = limits::admit(turn, cleared, running).await?;
    let mut change = turn.change(ends, vec![]);
    let mut at_work = at_work(turn).await?;
    for cleared in cleared {
        let call = cleared.call().id.clone();
        let tasks = tasks.remove(&call).unwrap_or_default();
        at_work += tasks.len();
        if at_work > AT_WORK {
            at_work -= tasks.len();
            let text = texts::too_many_at_work(AT_WORK);
            change.events.push(limits::refused(&call, text));
            continue;
        }
        let counted = running.counted.remove(&call);
        change.used.push(limits::delegated(turn, cleared.call(), counted));
        let tasks: Vec<_> = tasks.into_iter().map(|task| (ConversationId::new(), task)).collect();
        let children = tasks.iter().map(|(child, _)| child.clone()).collect();
        change.facts.push(audit::started(turn, &cleared));
        change.spends.extend(cleared.grant().cloned());
        change.events.push(Event::Delegated { call: call.clone(), children });
        let (by, inherited) = (turn.requester(), turn.inherited());
        change.delegates.push(Delegation { call, tasks, by, inherited });
    }
    change.facts.extend(audit::refused(turn, &[], &change.events));
    turn.record(change).await
}

/// The number of open tasks for the people of this conversation.
async fn at_work(turn: &Turn<'_>) -> Result<usize> {
    let root = turn.claimed.lease.home().clone();
    let read = turn
        .worker
        .gateway
        .store
        .read(move |tx| Box::pin(async move { tasks::at_work(tx, &root).await }));
    Ok(read.await?.len())
}

/// The final answer of a sub-agent for the agent that delegated the task; `None` if the agent works
/// for people. `tokens` are tokens of the turn that are not in the journal yet.
pub(super) async fn answer(turn: &Turn<'_>, text: &str, tokens: u64) -> Option<TaskAnswer> {
    turn.claimed.sub_agent.as_ref()?;
    let whole = CallId(turn.claimed.lease.conversation().to_string());
    let context = turn.context(whole, CancellationToken::new());
    let text = overflow::shorten_to(ANSWER_CHARS, text.to_owned(), &context).await;
    Some(ended(turn.worker, &turn.session, Outcome::Done, text, tokens))
}

/// The failure of a sub-agent, as the answer to its task.
pub(super) fn failure(
    worker: &Worker,
    claimed: &Claimed,
    session: &Session,
    reason: &str,
) -> Option<TaskAnswer> {
    let text = texts::coworker_failed(&claimed.sub_agent.as_ref()?.agent, reason);
    Some(ended(worker, session, Outcome::Failed, text, 0))
}

fn ended(
    worker: &Worker,
    session: &Session,
    outcome: Outcome,
    text: String,
    tokens: u64,
) -> TaskAnswer {
    let tokens = session.turn.tokens + tokens;
    let inherited = InheritedState { tokens, joined: vec![], ..session.inherited() };
    let took = session.turn.started_at.map(|began| worker.gateway.clock.now() - began);
    let took_ms = took.map_or(0, |took| took.num_milliseconds().max(0) as u64);
    let result = ToolResult { took_ms, ..ToolResult::text(outcome, text) };
    TaskAnswer { result, inherited }
}
