//! Runs what the guard has cleared, and puts to people what it wants asked.

use anyhow::Result;
use channels::Outgoing;
use futures::FutureExt as _;
use tokio_util::sync::CancellationToken;

use super::{
    advance::{Flow, Running, Turn},
    scene,
};
use crate::{
    agent::{
        catalog::{Approval, EffectClass, Found},
        guard::{self, Cleared},
        next::Question,
    },
    crash,
    gateway::approvals,
    journal::{
        event::{Asks, Call, Event, Speaker, ToolResult},
        ids::{ApprovalId, CallId},
    },
    store::{
        approvals::Asked,
        journal::{Change, Recorded, Terms},
    },
    texts,
    tools::Context,
};

/// Starts the calls. Those that change anything are written down first, under the fence.
pub(super) async fn run<'w>(
    turn: &Turn<'w>,
    cleared: Vec<Cleared>,
    running: &mut Running<'w>,
) -> Result<Flow> {
    let marked: Vec<_> = cleared.iter().filter(|c| changes(turn, c.call())).collect();
    if !marked.is_empty() {
        let started =
            marked.iter().map(|c| Event::ToolStarted { call: c.call().id.clone() }).collect();
        let gateway = &turn.worker.gateway;
        let change = turn.change(started, vec![]);
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
        let context = context(turn, cleared.call(), cancel.clone());
        let toolbox = turn.worker.toolbox.clone();
        let call = async move {
            crash::point("tool", "before run");
            let result = toolbox.run(&cleared, &context).await;
            crash::point("tool", "after run");
            (cleared.call().id.clone(), result)
        };
        running.calls.push(call.boxed());
        running.cancel.insert(id, cancel);
    }
    Ok(Flow::Around)
}

fn changes(turn: &Turn<'_>, call: &Call) -> bool {
    match turn.agent.catalog.find(&call.tool) {
        // What never asks changes nothing but what its result says.
        Found::Tool(spec) => {
            spec.effect != EffectClass::ReadOnly && spec.approval != Approval::Never
        }
        _ => false,
    }
}

pub(super) fn context(turn: &Turn<'_>, call: &Call, cancelled: CancellationToken) -> Context {
    let worker = turn.worker;
    let conversation = turn.claimed.lease.conversation().clone();
    Context {
        workspace: worker.workspaces.of(&turn.agent.id, &conversation),
        conversation,
        call: call.id.clone(),
        person: requester(turn),
        artifacts: worker.gateway.artifacts.clone(),
        seen: turn.session.seen.clone(),
        now: worker.gateway.clock.now(),
        cancelled,
    }
}

fn requester(turn: &Turn<'_>) -> Speaker {
    let nobody = || Speaker { id: String::new(), name: "nobody".into() };
    turn.session.requester.clone().unwrap_or_else(nobody)
}

/// Writes a result down together with the files that it sends.
pub(super) async fn finish(turn: &Turn<'_>, call: CallId, result: ToolResult) -> Result<Flow> {
    let files = result.attachments.iter().map(|file| Outgoing::File {
        name: file.name.clone(),
        media_type: file.media_type.clone(),
        size_bytes: file.size_bytes,
        digest: file.digest.clone(),
        caption: None,
        reply_to: None,
    });
    let files = files.collect();
    let tainted = scene::tainted(turn, &call, &result);
    let finished = Event::ToolFinished { call, result };
    let change = turn.change(tainted.into_iter().chain([finished]).collect(), files);
    turn.record(Change { terms: Terms::Always, ..change }).await
}

/// Commits the questions; the turn ends here, and goes on when somebody has decided.
pub(super) async fn ask(turn: &Turn<'_>, questions: Vec<Question>) -> Result<Flow> {
    let mut change = turn.change(vec![], vec![]);
    for question in questions {
        let asked = put(turn, &question).await?;
        change.events.push(Event::ApprovalAsked {
            approval: asked.id.clone(),
            call: asked.call.clone(),
            digest: asked.digest.clone(),
            asks: asked.asks,
        });
        change.asked.push(asked);
    }
    turn.record(change).await
}

async fn put(turn: &Turn<'_>, question: &Question) -> Result<Asked> {
    let Question { call, asks, reason, lasting, .. } = question;
    let id = ApprovalId::new();
    let context = context(turn, call, CancellationToken::new());
    let preview = turn.worker.toolbox.preview(call, &context).await;
    let cut = texts::cuts(&call.arguments);
    if cut {
        let whole = texts::everything(&call.arguments).into_bytes();
        context.artifacts.put(texts::EVERYTHING_NAME, "application/json", whole).await?;
    }
    let (requester, words) = (requester(turn), turn.claimed.words());
    let title = words.question_title(*asks, &call.tool);
    let expires_at = turn.worker.gateway.clock.now() + turn.agent.policy.approval_for;
    let markdown = words.question(&texts::QuestionParts {
        title: &title,
        arguments: &call.arguments,
        preview: preview.as_deref(),
        reason,
        requester: &requester.name,
        expires_at,
        code: &approvals::code(&id),
    });
    let what = Outgoing::Question {
        markdown,
        approval: id.to_string(),
        choices: words.choices(*asks, *lasting, cut),
        reply_to: None,
    };
    Ok(Asked {
        id,
        call: call.id.clone(),
        asks: *asks,
        tool: call.tool.clone(),
        arguments: call.arguments.clone(),
        digest: guard::digest_of(call, &scene::with_files(turn, call).await?),
        title: settled_title(&title, *asks, call),
        requester,
        expires_at,
        shows: turn.fitting(what),
    })
}

/// What remains of the question says which call it was about.
fn settled_title(title: &str, asks: Asks, call: &Call) -> String {
    match asks {
        Asks::Allow => format!("{title} {}", texts::in_short(&call.arguments)),
        Asks::Retry => title.to_owned(),
    }
}
