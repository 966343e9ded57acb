//! Runs what the guard has cleared.

use anyhow::Result;
use channels::Outgoing;
use futures::{FutureExt as _, future::BoxFuture};
use std::collections::BTreeSet;
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;

use super::{
    hooks, limits,
    running::{Done, Lost, Running},
    scene, trail,
    turn::{Flow, Turn},
};
use crate::{
    agent::{
        catalog::{EffectClass, ToolSpec},
        guard::Cleared,
    },
    crash,
    journal::event::{Call, Event},
    store::record::{Change, Recorded, Terms},
    tools::Context,
};

/// Starts the calls for which there is room. Those that change anything are written down first,
/// under the fence.
pub(super) async fn run<'w>(
    turn: &Turn<'w>,
    cleared: Vec<Cleared>,
    running: &mut Running<'w>,
) -> Result<Flow> {
    let (cleared, mut events) = limits::admit(turn, one_use_each(cleared), running).await?;
    let mut facts = trail::refused(turn, &[], &events);
    let mut spends = Vec::new();
    for cleared in cleared.iter().filter(|c| changes(turn, c.call()) || c.grant().is_some()) {
        events.push(Event::ToolStarted { call: cleared.call().id.clone() });
        facts.push(trail::started(turn, cleared));
        spends.extend(cleared.grant().cloned());
    }
    if !events.is_empty() {
        let gateway = &turn.worker.gateway;
        let change = Change { facts, spends, ..turn.change(events, vec![]) };
        let now = gateway.clock.now();
        let recorded = gateway.store.record(&turn.claimed.lease, change, now).await?;
        if recorded != Recorded::Done {
            return Ok(recorded.into());
        }
    }
    for cleared in cleared {
        let id = cleared.call().id.clone();
        // Not the gateway's: a stop gives calls under way the time to end.
        let cancel = CancellationToken::new();
        let mut context = turn.context(id.clone(), cancel.clone());
        context.progress = running.progress.clone();
        context.people = running.asking.people(turn);
        running.calls.push(run_one(turn, cleared, context));
        running.cancel.insert(id, cancel);
    }
    Ok(Flow::Around)
}

/// Of the calls that one leave covers, the first; the others are judged again when it has started,
/// for it may have been the last that the leave was good for.
fn one_use_each(cleared: Vec<Cleared>) -> Vec<Cleared> {
    let mut used = BTreeSet::new();
    cleared.into_iter().filter(|c| c.grant().is_none_or(|id| used.insert(id.clone()))).collect()
}

fn run_one<'w>(turn: &Turn<'w>, cleared: Cleared, context: Context) -> BoxFuture<'w, Done> {
    let (worker, lease) = (turn.worker, turn.claimed.lease.clone());
    let rule = trail::leave(turn, &cleared);
    let once = turn.spec(cleared.call()).is_some_and(|s| s.effect == EffectClass::AtMostOnce);
    let about = hooks::About::of(turn, Some(context.person.clone()), Some(&context.call));
    async move {
        crash::point("tool", "before run");
        let call = cleared.call().clone();
        // Whoever was held up for longer than the lease may not be the only one any more.
        if once && !worker.gateway.store.holds(&lease).await.unwrap_or(false) {
            return Done { call, rule, result: Err(Lost::Lease), hooked: vec![] };
        }
        let span = tracing::info_span!("execute_tool", gen_ai.tool.name = call.tool);
        let Some(result) = worker.toolbox.run(&cleared, &context).instrument(span).await else {
            return Done { call, rule, result: Err(Lost::Answer), hooked: vec![] };
        };
        crash::point("tool", "after run");
        let (result, hooked) = hooks::after_tool(worker, &about, &call, result).await;
        Done { call, rule, result: Ok(result), hooked }
    }
    .boxed()
}

fn changes(turn: &Turn<'_>, call: &Call) -> bool {
    turn.spec(call).is_some_and(ToolSpec::changes_something)
}

/// Writes a result down together with the files that it sends.
pub(super) async fn finish(turn: &Turn<'_>, done: Done, running: &mut Running<'_>) -> Result<Flow> {
    let counted = running.counted.remove(done.id());
    let Done { call, rule, result, hooked } = done;
    let conversation = turn.claimed.lease.conversation();
    let result = match result {
        Ok(result) => result,
        Err(Lost::Lease) => {
            let agent = &turn.agent.id;
            tracing::warn!(conversation.id = %conversation, agent.id = agent, "the lease was lost before a call began");
            return Ok(Flow::End);
        }
        Err(Lost::Answer) => {
            let agent = &turn.agent.id;
            tracing::warn!(conversation.id = %conversation, agent.id = agent, tool.name = call.tool, "an answer was lost");
            return Ok(Flow::Around);
        }
    };
    tracing::debug!(
        conversation.id = %conversation,
        agent.id = turn.agent.id,
        tool.name = call.tool,
        outcome = ?result.outcome,
        took_ms = result.took_ms,
        "a call has ended"
    );
    let files = result.attachments.iter().map(|file| Outgoing::File {
        name: file.name.clone(),
        media_type: file.media_type.clone(),
        size_bytes: file.size_bytes,
        digest: file.digest.clone(),
        caption: None,
        reply_to: turn.reply_to(),
    });
    let files: Vec<_> = files.collect();
    let shows_wait = turn.awaits_album(&files, running.calls.is_empty());
    let facts = vec![trail::ran(turn, &call, rule, &result)];
    let used = limits::ran(turn, &call, &result, counted);
    let mut events = hooked;
    events.extend(scene::tainted(turn, &call.id, &result));
    events.push(Event::ToolFinished { call: call.id, result });
    let change = turn.change(events, files);
    turn.record(Change { terms: Terms::Always, shows_wait, facts, used, ..change }).await
}
