//! Runs what the guard has cleared, and puts to people what it wants asked.

use anyhow::Result;
use channels::Outgoing;
use chrono::TimeDelta;
use futures::{FutureExt as _, future::BoxFuture};
use serde_json::Value;
use std::collections::BTreeSet;
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;

use super::{
    advance::{Flow, Running, Turn},
    hooks, limits, scene, trail,
};
use crate::{
    agent::{
        catalog::{Approval, EffectClass, Found, ToolSpec},
        grants,
        guard::{self, Cleared},
        next::Question,
    },
    crash,
    gateway::approvals,
    journal::{
        event::{Asks, Call, Event, Outcome, Speaker, ToolResult},
        ids::{ApprovalId, CallId},
    },
    store::{
        self,
        approvals::Asked,
        journal::{Change, Recorded, Terms},
    },
    texts,
    tools::Context,
};

/// A call that has come to its end.
pub(super) struct Done {
    call: Call,
    /// Who let it run.
    rule: Value,
    result: Result<ToolResult, Lost>,
    hooked: Vec<Event>,
}

/// Why there is no result to write down.
enum Lost {
    /// This worker had lost its lease before the call began, and did not run it.
    Lease,
    /// The call ran, or did not: the answer never came. It stays begun, as after a crash.
    Answer,
}

impl Done {
    pub fn id(&self) -> &CallId {
        &self.call.id
    }
}

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
        let mut context = context(turn, cleared.call(), cancel.clone());
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
    let once = spec(turn, cleared.call()).is_some_and(|s| s.effect == EffectClass::AtMostOnce);
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
    // What never asks changes nothing but what its result says.
    spec(turn, call).is_some_and(|spec| {
        spec.effect != EffectClass::ReadOnly && spec.approval != Approval::Never
    })
}

fn spec<'t>(turn: &'t Turn<'_>, call: &Call) -> Option<&'t ToolSpec> {
    match turn.agent.catalog.find(&call.tool) {
        Found::Tool(spec) => Some(spec),
        _ => None,
    }
}

pub(super) fn context(turn: &Turn<'_>, call: &Call, cancelled: CancellationToken) -> Context {
    context_of(turn, call.id.clone(), cancelled)
}

pub(super) fn context_of(turn: &Turn<'_>, call: CallId, cancelled: CancellationToken) -> Context {
    let worker = turn.worker;
    Context {
        agent: turn.agent.id.clone(),
        workspace: worker.workspace(turn.claimed),
        conversation: turn.claimed.lease.home().clone(),
        call,
        person: requester(turn),
        artifacts: worker.gateway.artifacts.clone(),
        shelf: worker.shelf(&turn.agent.id, turn.claimed),
        seen: turn.session.seen.clone(),
        taint: turn.session.taint.clone(),
        now: worker.gateway.clock.now(),
        cancelled,
        progress: <_>::default(),
        people: <_>::default(),
    }
}

pub(super) fn requester(turn: &Turn<'_>) -> Speaker {
    let nobody = || Speaker { id: String::new(), name: "nobody".into() };
    turn.session.requester.clone().unwrap_or_else(nobody)
}

/// Writes a result down together with the files that it sends.
pub(super) async fn finish(turn: &Turn<'_>, done: Done, counted: bool) -> Result<Flow> {
    let Done { call, rule, result, hooked } = done;
    let conversation = turn.claimed.lease.conversation();
    let result = match result {
        Ok(result) => result,
        Err(Lost::Lease) => {
            tracing::warn!(conversation.id = %conversation, "the lease was lost before a call began");
            return Ok(Flow::End);
        }
        Err(Lost::Answer) => {
            tracing::warn!(conversation.id = %conversation, tool.name = call.tool, "an answer was lost");
            return Ok(Flow::Around);
        }
    };
    let shows_pictures = turn.shows_pictures();
    let files = result.attachments.iter().filter(|file| shows_pictures || !file.preview);
    let files = files.map(|file| Outgoing::File {
        name: file.name.clone(),
        media_type: file.media_type.clone(),
        size_bytes: file.size_bytes,
        digest: file.digest.clone(),
        caption: None,
        reply_to: turn.reply_to(),
    });
    let files = files.collect();
    let facts = vec![trail::ran(turn, &call, rule, &result)];
    let used = vec![limits::ran(turn, &call, &result, counted)];
    let mut events = hooked;
    events.extend(scene::tainted(turn, &call.id, &result));
    events.push(Event::ToolFinished { call: call.id, result });
    let change = turn.change(events, files);
    turn.record(Change { terms: Terms::Always, facts, used, ..change }).await
}

/// Commits the questions; the turn ends here, and goes on when somebody has decided.
pub(super) async fn ask(turn: &Turn<'_>, questions: Vec<Question>) -> Result<Flow> {
    let mut change = turn.change(vec![], vec![]);
    let mut room = room_for_questions(turn).await?;
    for question in questions {
        if room == 0 {
            change.events.push(refused(&question, texts::too_many_questions(PER_HOUR)));
            continue;
        }
        let scene = match scene::with_files(turn, &question.call).await {
            Ok(scene) => scene,
            Err(why) => {
                change.events.push(refused(&question, why.to_string()));
                continue;
            }
        };
        room -= 1;
        let digest = guard::digest_of(&question.call, &scene);
        let asked = put(turn, &question, digest).await?;
        change.facts.push(trail::asked(turn, &question.call, &question.reason, &asked));
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

/// The most questions that a conversation may put to people in an hour: who is asked without end
/// does not read any more.
const PER_HOUR: usize = 60;

pub(super) async fn room_for_questions(turn: &Turn<'_>) -> Result<usize> {
    let gateway = &turn.worker.gateway;
    let conversation = turn.claimed.lease.home().clone();
    let since = gateway.clock.now() - TimeDelta::hours(1);
    let count = gateway.store.read(move |tx| {
        Box::pin(async move { store::approvals::asked_since(tx, &conversation, since).await })
    });
    let room = PER_HOUR.saturating_sub(count.await?);
    Ok(if crash::planted("questions") { usize::MAX } else { room })
}

fn refused(question: &Question, text: String) -> Event {
    let call = question.call.id.clone();
    let result = ToolResult::text(Outcome::Denied, text);
    Event::ToolFinished { call, result }
}

async fn put(turn: &Turn<'_>, question: &Question, digest: String) -> Result<Asked> {
    let Question { call, asks, reason, lasting, approvers, .. } = question;
    let id = ApprovalId::new();
    let context = context(turn, call, CancellationToken::new());
    let redactor = &turn.worker.redactor;
    // What people see; the digest binds what runs.
    let arguments = redactor.value(&call.arguments);
    let preview = turn.worker.toolbox.preview(call, &context).await;
    let preview = preview.map(|text| redactor.text(&text).into_owned());
    let remarks = turn.session.remarks.get(&call.id).map(|remarks| remarks.join("\n"));
    let reason =
        [Some(reason.clone()), remarks].into_iter().flatten().collect::<Vec<_>>().join("\n");
    let cut = texts::cuts(&arguments);
    if cut {
        let whole = texts::everything(&arguments).into_bytes();
        context.artifacts.put(texts::EVERYTHING_NAME, "application/json", whole).await?;
    }
    let (requester, words) = (requester(turn), turn.claimed.words());
    let title = words.question_title(*asks, &call.tool);
    let title = match &turn.claimed.sub_agent {
        Some(sub_agent) => texts::asked_by(&sub_agent.agent, &title),
        None => title,
    };
    let expires_at = turn.worker.gateway.clock.now() + turn.agent.policy.approval_for;
    // What several have to agree on is agreed on for each call.
    let lasting = *lasting && approvers.needed == 1;
    let spec = spec(turn, call);
    // A leave is listed and shown to others: it may not hold what is hidden here.
    let open = lasting && arguments == call.arguments;
    let proposal = spec.filter(|_| open).and_then(|spec| grants::propose(spec, call));
    let here = lasting && !spec.is_some_and(grants::runs_anything);
    let choices = words.choices(*asks, (here, proposal.is_some()), cut);
    let offers = choices.iter().map(|choice| choice.key).collect();
    let markdown = words.question(&texts::QuestionParts {
        title: &title,
        summary: spec.map_or("", |spec| spec.description.as_str()),
        arguments: &arguments,
        preview: preview.as_deref(),
        reason: &reason,
        requester: &requester.name,
        expires_at,
        code: &approvals::code(&id),
    });
    let (approval, reply_to) = (id.to_string(), turn.reply_to());
    let what = Outgoing::Question { markdown, approval, choices, reply_to };
    Ok(Asked {
        id,
        call: call.id.clone(),
        asks: *asks,
        tool: call.tool.clone(),
        digest,
        title: settled_title(&title, *asks, &arguments),
        arguments,
        requester,
        approvers: approvers.clone(),
        proposal,
        offers,
        expires_at,
        shows: parts(turn, what),
    })
}

/// The parts in which the channel can show it, with room in the last for what is added to it later:
/// votes, a proposed leave.
pub(super) fn parts(turn: &Turn<'_>, question: Outgoing) -> Vec<Outgoing> {
    let Some(connected) = turn.worker.gateway.channels.get(&turn.claimed.channel) else {
        return vec![question];
    };
    let mut limits = connected.channel.limits().clone();
    limits.text -= (limits.text / 3).min(ROOM);
    question.degrade(&limits)
}

/// In what the channel counts.
const ROOM: usize = 600;

/// What remains of the question says which call it was about.
fn settled_title(title: &str, asks: Asks, arguments: &Value) -> String {
    match asks {
        Asks::Allow => format!("{title} {}", texts::in_short(arguments)),
        Asks::Retry | Asks::Answer => title.to_owned(),
    }
}
