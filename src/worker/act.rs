//! Runs the calls that the guard has cleared.

use anyhow::Result;
use channels::Outgoing;
use std::{collections::BTreeSet, future::Future};
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;

use super::{
    audit, guard_context, hooks,
    in_flight::{CallOutcome, FinishedCall, LostResult, Running, StartedCall},
    limits,
    turn::{Flow, Turn},
};
use crate::{
    agent::{
        catalog::{EffectClass, ToolSpec},
        guard::Cleared,
    },
    crash,
    journal::event::{Call, Event, Outcome, ToolResult},
    store::{
        conversations::record::{ConversationChange, Precondition, Recorded},
        db::transient::until_available,
    },
    texts,
    tools::Context,
};

/// Starts as many calls as the limits admit. The start of calls with side effects is recorded
/// first, under the fence.
pub(super) async fn run(
    turn: &Turn<'_>,
    cleared: Vec<Cleared>,
    running: &mut Running,
) -> Result<Flow> {
    let (cleared, mut events) = limits::admit(turn, one_use_each(cleared), running).await?;
    let mut facts = audit::refused(turn, &[], &events);
    let mut spends = Vec::new();
    for cleared in cleared.iter().filter(|c| changes(turn, c.call()) || c.grant().is_some()) {
        events.push(Event::ToolStarted { call: cleared.call().id.clone() });
        facts.push(audit::started(turn, cleared));
        spends.extend(cleared.grant().cloned());
    }
    if !events.is_empty() {
        let change = ConversationChange { facts, spends, ..turn.change(events, vec![]) };
        let recorded = turn.persist(change).await?;
        if recorded != Recorded::Done {
            return Ok(recorded.into());
        }
    }
    for cleared in cleared {
        let id = cleared.call().id.clone();
        // Independent of the gateway's token: on shutdown, running calls get time to finish.
        let cancel = CancellationToken::new();
        let mut context = turn.context(id.clone(), cancel.clone());
        context.progress = running.progress.clone();
        context.people = running.asking.people(turn);
        context.approved = turn.guard_context.files.get(&id).cloned();
        let begun = begun(turn, &cleared);
        let run = run_one(turn, begun.clone(), cleared, context);
        running.calls.start(&turn.worker.gateway.tasks, begun, run);
        running.cancel.insert(id, cancel);
    }
    Ok(Flow::Continue)
}

/// Keeps only the first of the calls that share a grant. The others are judged again after it has
/// started, because it may have used up the grant.
fn one_use_each(cleared: Vec<Cleared>) -> Vec<Cleared> {
    let mut used = BTreeSet::new();
    cleared.into_iter().filter(|c| c.grant().is_none_or(|id| used.insert(id.clone()))).collect()
}

fn begun(turn: &Turn<'_>, cleared: &Cleared) -> StartedCall {
    let call = cleared.call().clone();
    let once = turn.spec(&call).is_some_and(|spec| spec.effect == EffectClass::AtMostOnce);
    StartedCall { rule: audit::authority(turn, cleared), call, once }
}

/// Runs one call from start to end. Owns everything it needs, because it runs in its own task.
fn run_one(
    turn: &Turn<'_>,
    begun: StartedCall,
    cleared: Cleared,
    context: Context,
) -> impl Future<Output = CallOutcome> + Send + use<> {
    let (worker, lease) = (turn.worker.clone(), turn.claimed.lease.clone());
    let about = hooks::HookContext::of(turn, Some(context.person.clone()), Some(&context.call));
    async move {
        crash::point("tool", "before run");
        // If the delay was longer than the lease, another worker may have started this call.
        if begun.once {
            let renewed = until_available(|| worker.gateway.store.renew(&lease)).await;
            let renewed = renewed.inspect_err(|error| {
                tracing::error!(error = format!("{error:#}"), "could not renew a lease");
            });
            if !renewed.unwrap_or(false) {
                return LostResult::Lease.into();
            }
        }
        let span = tracing::info_span!("execute_tool", gen_ai.tool.name = begun.call.tool);
        let Some(result) = worker.toolbox.run(&cleared, &context).instrument(span).await else {
            return LostResult::Answer.into();
        };
        crash::point("tool", "after run");
        let (result, hooked) = hooks::after_tool(&worker, &about, &begun.call, result).await;
        CallOutcome { result: Ok(result), hooked }
    }
}

fn changes(turn: &Turn<'_>, call: &Call) -> bool {
    turn.spec(call).is_some_and(ToolSpec::changes_something)
}

/// Records the result of the call that finished first, together with the files that it sends. The
/// result stays in the queue until it is recorded.
pub(super) async fn finish(turn: &Turn<'_>, running: &mut Running) -> Result<Flow> {
    let Some(done) = running.finished.front() else { return Ok(Flow::Continue) };
    running.asking.end(turn, done.id()).await?;
    let flow = match &done.ended.result {
        Ok(result) => {
            let change = finished(turn, running, done, result);
            match turn.record(change).await {
                Ok(flow) => flow,
                Err(error) => record_rejected_result(turn, done, &error).await?,
            }
        }
        Err(lost) => no_result(turn, done, *lost),
    };
    if let Some(done) = running.finished.pop_front() {
        running.forget(done.id());
    }
    Ok(flow)
}

/// Records that a call ended with a result that the database rejects. Without this record, the call
/// would look interrupted.
async fn record_rejected_result(
    turn: &Turn<'_>,
    done: &FinishedCall,
    error: &anyhow::Error,
) -> Result<Flow> {
    let call = &done.begun.call;
    tracing::error!(
        tool.name = call.tool,
        error = format!("{error:#}"),
        "could not record a result"
    );
    let result = ToolResult::text(Outcome::Failed, texts::RESULT_NOT_STORED.to_owned());
    let event = Event::ToolFinished { call: call.id.clone(), result };
    turn.record(ConversationChange {
        terms: Precondition::Always,
        ..turn.change(vec![event], vec![])
    })
    .await
}

fn no_result(turn: &Turn<'_>, done: &FinishedCall, lost: LostResult) -> Flow {
    let (conversation, agent) = (turn.claimed.lease.conversation(), &turn.agent.id);
    match lost {
        LostResult::Lease => {
            tracing::warn!(
                conversation.id = %conversation, agent.id = agent,
                "the lease was lost before the call started"
            );
            Flow::End
        }
        LostResult::Answer => {
            let tool = &done.begun.call.tool;
            tracing::warn!(
                conversation.id = %conversation, agent.id = agent, tool.name = tool,
                "the result of a call was lost"
            );
            Flow::Continue
        }
    }
}

fn finished(
    turn: &Turn<'_>,
    running: &Running,
    done: &FinishedCall,
    result: &ToolResult,
) -> ConversationChange {
    let StartedCall { call, rule, .. } = &done.begun;
    tracing::debug!(
        conversation.id = %turn.claimed.lease.conversation(),
        agent.id = turn.agent.id,
        tool.name = call.tool,
        outcome = ?result.outcome,
        took_ms = result.took_ms,
        "call finished"
    );
    let files = result.attachments.iter().map(|file| Outgoing::File {
        name: file.name.clone(),
        media_type: file.media_type.clone(),
        size_bytes: file.size_bytes,
        digest: file.digest.clone(),
        caption: file.caption.as_deref().map(str::to_owned),
        reply_to: turn.reply_to(),
    });
    let files: Vec<_> = files.collect();
    let shows_wait = turn.awaits_album(&files, running.calls.is_empty());
    let facts = vec![audit::ran(turn, call, rule.clone(), result)];
    let used = limits::result_usage(turn, call, result, running.counted.contains(&call.id));
    let mut events = done.ended.hooked.clone();
    events.extend(guard_context::tainted(turn, &call.id, result));
    events.push(Event::ToolFinished { call: call.id.clone(), result: result.clone() });
    let change = turn.change(events, files);
    let runs = limits::limited_run(turn, call, result);
    ConversationChange { terms: Precondition::Always, shows_wait, facts, used, runs, ..change }
}
