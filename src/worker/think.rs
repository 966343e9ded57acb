//! Asks the model, streams its text, and records the reply.

use anyhow::Result;
use channels::PlaceKind;
use chrono::{DateTime, Utc};
use std::{
    future::pending,
    time::{Duration, Instant},
};
use tokio::sync::watch;
use tracing::{Instrument as _, Span, field};

use super::{
    audit, delegate,
    failure::FailedTurn,
    hooks::{self, HookedReply},
    limits, long_answers, memory, scheduler,
    turn::{Flow, Turn},
    vision,
};
use crate::{
    agent::{compact, hooks::redacted_prompt, limits::out_of_time_at, prompt, taint},
    gateway::{BusyPolicy, drafts::Drafts},
    journal::{
        event::{Entry, Event, HookPoint, Seq, Speaker, Usage},
        session::messages::SILENT,
    },
    llm::{Model, ModelError, Reply},
    store::conversations::record::{ConversationChange, Precondition, Recorded},
};

pub(super) async fn think(turn: &mut Turn<'_>) -> Result<Flow> {
    let Some(model) = turn.model() else {
        return turn.fail(no_model(turn)).await;
    };
    if !may_continue(turn).await? {
        return turn.fail(access_lost(turn)).await;
    }
    if let Some(reason) = limits::daily_limit_reached(turn).await? {
        return turn.fail(FailedTurn::new(reason)).await;
    }
    if let Some(memory) = memory::recollect(turn).await? {
        return turn.record(turn.change(vec![memory], vec![])).await;
    }
    if !turn.session.prepared && hooks::any(turn.worker, HookPoint::BeforeLlm) {
        return run_hooks_before(turn).await;
    }
    let prompt = prompt::build(&turn.session, &turn.agent, is_group(turn));
    let prompt = redacted_prompt(&turn.worker.hooks, &turn.worker.redactor, prompt);
    let prompt = vision::shown(turn, model.as_ref(), prompt).await;
    let (text, growing) = watch::channel(String::new());
    let drafting = Drafting { text, silent: is_silent(turn) };
    let on_text = |piece: &str| drafting.grow(piece);
    let gateway = &turn.worker.gateway;
    let mut drafts = Drafts::new(gateway, turn.claimed, turn.draft_target());
    let begun = Instant::now();
    let span = asking(model.as_ref());
    let replied = tokio::select! {
        replied = model.reply(&prompt, &on_text).instrument(span.clone()) => Some(replied),
        () = drafts.show(growing, |text| draft(turn, text)) => None,
        () = until_cut_off(turn) => None,
    };
    drafts.end().await;
    let Some(replied) = replied else { return Ok(Flow::Continue) };
    record_duration(model.as_ref(), begun, replied.is_ok());
    if let Ok(Reply { usage, .. }) = &replied {
        span.record("gen_ai.usage.input_tokens", usage.input_tokens);
        span.record("gen_ai.usage.output_tokens", usage.output_tokens);
    }
    crate::crash::point("think", "after reply");
    match replied {
        Ok(reply) if reply.text.trim().is_empty() && reply.calls.is_empty() => {
            turn.fail(no_answer(turn)).await
        }
        Ok(reply) => record(turn, reply, vec![]).await,
        Err(problem) => match compact::cut(&turn.session).filter(|_| problem.is_size()) {
            Some(upto) => compact(turn, upto).await,
            None => give_up(turn, &problem).await,
        },
    }
}

/// Records the answers of hooks before the model is asked. If a hook provides the reply, the model is
/// not asked.
async fn run_hooks_before(turn: &mut Turn<'_>) -> Result<Flow> {
    let outcome = hooks::before_llm(turn).await;
    match (outcome.stopped, outcome.input.answer) {
        (Some(why), _) => turn.fail(FailedTurn::new(why).after(outcome.events)).await,
        (None, Some(text)) => answer(turn, text, outcome.events).await,
        (None, None) => turn.record(turn.change(outcome.events, vec![])).await,
    }
}

/// Whether the person on whose behalf a background job works still has access. Other turns begin
/// with a message, whose author was checked.
async fn may_continue(turn: &Turn<'_>) -> Result<bool> {
    let by = turn.session.job.and_then(|_| turn.session.speaks_for(turn.session.seq));
    let Some(by) = by else { return Ok(true) };
    let worker = turn.worker.clone();
    let home = turn.claimed.lease.home().clone();
    let read = turn.worker.gateway.store.read(move |tx| {
        Box::pin(async move { scheduler::has_access(tx, &worker, &home, &by).await })
    });
    read.await
}

fn access_lost(turn: &Turn<'_>) -> FailedTurn {
    let cause = "the person on whose behalf the job works no longer has access";
    FailedTurn::new(turn.claimed.words().broken).because(cause)
}

/// The span for traces.
fn asking(model: &dyn Model) -> Span {
    tracing::info_span!(
        "chat",
        gen_ai.request.model = model.id(),
        gen_ai.usage.input_tokens = field::Empty,
        gen_ai.usage.output_tokens = field::Empty,
    )
}

/// The metric for the duration of model requests.
pub const LLM_SECONDS: &str = "countersign_llm_seconds";

fn record_duration(model: &dyn Model, begun: Instant, answered: bool) {
    let outcome = if answered { "answered" } else { "failed" };
    let labels = [("model", model.id().to_owned()), ("outcome", outcome.to_owned())];
    metrics::histogram!(LLM_SECONDS, &labels).record(begun.elapsed());
}

/// The text of a reply as people see it.
fn shown(turn: &Turn<'_>, text: &str) -> String {
    if turn.session.taint.is_empty() {
        return text.to_owned();
    }
    taint::without_links(text, &turn.agent.policy.link_hosts)
}

/// Whether nothing is shown of a text that is being generated: a hook may still change it, a
/// scheduled task may have nothing to show, and people do not see a sub-agent's text.
fn is_silent(turn: &Turn<'_>) -> bool {
    turn.session.turn.is_scheduled
        || turn.claimed.sub_agent.is_some()
        || hooks::any(turn.worker, HookPoint::AfterLlm)
}

/// The part of a growing text that people may see. A secret can only be recognised once it is
/// complete, so the end of the text is held back while it could be the beginning of one.
fn draft(turn: &Turn<'_>, text: &str) -> String {
    let whole = text.trim_end_matches(is_part_of_word);
    shown(turn, &turn.worker.redactor.reply(whole))
}

fn is_part_of_word(c: char) -> bool {
    c.is_ascii_graphic()
}

/// A text that is being generated, as the model sends it. A long one arrives in thousands of
/// pieces, so it is only collected here: [`Drafts::show`] calls [`draft`] when a draft is due.
struct Drafting {
    text: watch::Sender<String>,
    silent: bool,
}

impl Drafting {
    /// Appends a piece; an empty piece means that the text starts again.
    fn grow(&self, piece: &str) {
        if self.silent {
            return;
        }
        self.text.send_if_modified(|text| {
            if piece.is_empty() {
                text.clear();
            }
            text.push_str(piece);
            // The rest of an unfinished word is not shown yet.
            !piece.chars().all(is_part_of_word)
        });
    }
}

/// The delay before the journal is read again after an error.
const AFTER_FAILED_READ: Duration = Duration::from_secs(3);

/// Returns when the reply that is being generated is no longer needed, or when the time of the turn
/// is used up. Then the next step ends the turn.
pub(super) async fn until_cut_off(turn: &Turn<'_>) {
    tokio::select! {
        () = until_interrupted(turn) => {}
        () = until_out_of_time(turn) => tracing::warn!(
            conversation.id = %turn.claimed.lease.conversation(), agent.id = turn.agent.id,
            "cut off the work of a turn whose time is used up"
        ),
    }
}

async fn until_out_of_time(turn: &Turn<'_>) {
    match out_of_time_at(&turn.session, &turn.agent.budget) {
        Some(at) => turn.worker.gateway.clock.sleep_until(at).await,
        None => pending().await,
    }
}

/// Returns when an event makes the reply unnecessary. Other events can wait for the reply.
async fn until_interrupted(turn: &Turn<'_>) {
    let (store, conversation) = (&turn.worker.gateway.store, turn.claimed.lease.conversation());
    let mut wait = Duration::MAX;
    loop {
        let _ = tokio::time::timeout(wait, turn.listener.changed()).await;
        match store.events_after(conversation, turn.session.seq).await {
            Ok(news) if news.iter().any(|entry| interrupts_request(turn, entry)) => return,
            Ok(_) => wait = Duration::MAX,
            // The model request continues. Recording its reply checks again whether it is needed.
            Err(problem) => {
                tracing::warn!(problem = format!("{problem:#}"), "could not poll the conversation");
                wait = AFTER_FAILED_READ;
            }
        }
    }
}

/// Whether this event cancels the model request: a person stopped the turn, changed its messages,
/// or sent a further message so quickly that it belongs to the previous ones.
fn interrupts_request(turn: &Turn<'_>, news: &Entry) -> bool {
    match &news.event {
        Event::Said { by, .. } => {
            turn.settings().queue == BusyPolicy::Steer || follows_quickly(turn, by, news.at)
        }
        event => invalidates_reply(turn, event),
    }
}

/// Whether a reply to the text before this event must not be recorded.
fn invalidates_reply(turn: &Turn<'_>, event: &Event) -> bool {
    match event {
        Event::Stopped { .. } | Event::Restarted { .. } => true,
        Event::Edited { message, .. } => turn.session.is_unread(message),
        _ => false,
    }
}

/// How long quick messages may restart the request, as a multiple of the debounce time. Afterwards
/// the request completes.
const MAX_QUICK_MESSAGES: i32 = 5;

/// Whether the message follows the previous one so quickly that both are combined. Only messages of
/// the same person are combined, because the reply acts on behalf of one person.
fn follows_quickly(turn: &Turn<'_>, by: &Speaker, at: DateTime<Utc>) -> bool {
    let (session, debounce) = (&turn.session, turn.settings().debounce);
    session.speaks_for(session.seq).is_some_and(|last| last.id == by.id)
        && session.said_at.is_some_and(|said| at - said < debounce)
        && session.turn.started_at.is_some_and(|start| at - start <= debounce * MAX_QUICK_MESSAGES)
}

/// Records a reply that a tool or a hook provided, after the events in `before`, without asking a
/// model.
pub(super) async fn answer(turn: &mut Turn<'_>, text: String, before: Vec<Event>) -> Result<Flow> {
    let reply = Reply { text, calls: vec![], usage: Usage::default(), by: None };
    record(turn, reply, before).await
}

/// Records the reply, unless a person stopped the turn. Newer messages do not prevent it.
async fn record(turn: &mut Turn<'_>, reply: Reply, before: Vec<Event>) -> Result<Flow> {
    let upto = turn.session.seq;
    let used = vec![limits::reply_usage(turn, upto, &reply)];
    let usage = reply.usage;
    let HookedReply { text, calls, events } = hooks::after_llm(turn, upto, reply).await;
    let silent = turn.session.turn.is_scheduled && text.trim() == SILENT;
    let written = Some(&text).filter(|text| !silent && !text.trim().is_empty());
    let shown = match written.map(|text| shown(turn, text)) {
        Some(markdown) => long_answers::parts(turn, markdown).await,
        None => Vec::new(),
    };
    let is_last = calls.is_empty();
    let tokens = usage.input_tokens + usage.output_tokens;
    let answer = if is_last { delegate::answer(turn, &text, tokens).await } else { None };
    let facts = audit::refused(turn, &calls, &events);
    let mut all = before;
    all.push(Event::Replied { text, calls, upto, usage });
    all.extend(events);
    let gateway = turn.worker.gateway.clone();
    loop {
        let change = turn.change(all.clone(), shown.clone());
        let done = is_last && turn.session.said_upto <= upto;
        let terms = if done { Precondition::IfCurrentThenRest } else { Precondition::IfCurrent };
        let answer = answer.clone().filter(|_| done);
        let (facts, used) = (facts.clone(), used.clone());
        let change =
            ConversationChange { answers: turn.answers(), facts, used, answer, terms, ..change };
        let recorded = turn.persist(change).await?;
        if recorded != Recorded::Behind {
            return Ok(recorded.into());
        }
        let conversation = turn.claimed.lease.conversation();
        let read = || gateway.store.events_after(conversation, turn.session.seq);
        let news = turn.retry_read(read).await?;
        if news.iter().any(|entry| invalidates_reply(turn, &entry.event)) {
            return Ok(Flow::Continue);
        }
        for entry in &news {
            turn.session.apply(entry);
        }
    }
}

/// Whether several people may write.
fn is_group(turn: &Turn<'_>) -> bool {
    turn.claimed.place.kind == PlaceKind::Group && turn.claimed.sub_agent.is_none()
}

async fn give_up(turn: &Turn<'_>, problem: &ModelError) -> Result<Flow> {
    let reason = problem.user_text(turn.claimed.words());
    let cause = match problem {
        ModelError::Retry { reason, .. } | ModelError::Rejected(reason) => reason.clone(),
        _ => problem.to_string(),
    };
    turn.fail(FailedTurn::new(reason).because(cause)).await
}

fn no_model(turn: &Turn<'_>) -> FailedTurn {
    let agent = &turn.agent.id;
    let cause =
        format!("the model of this conversation, or of the agent `{agent}`, is not configured");
    FailedTurn::new(turn.claimed.words().model_refused).because(cause)
}

fn no_answer(turn: &Turn<'_>) -> FailedTurn {
    let cause = "the model returned neither text nor tool calls";
    FailedTurn::new(turn.claimed.words().no_answer).because(cause)
}

/// Lets the model summarise the dialogue up to `upto`, or a shorter part if that is too long for
/// the model.
pub(super) async fn compact(turn: &Turn<'_>, mut upto: Seq) -> Result<Flow> {
    let Some(model) = turn.model() else {
        return turn.fail(no_model(turn)).await;
    };
    let reply = loop {
        let prompt = prompt::summarise(&turn.session, &turn.agent, upto, is_group(turn));
        let prompt = redacted_prompt(&turn.worker.hooks, &turn.worker.redactor, prompt);
        let prompt = vision::shown(turn, model.as_ref(), prompt).await;
        let replied = tokio::select! {
            replied = model.reply(&prompt, &|_| ()) => replied,
            () = until_cut_off(turn) => return Ok(Flow::Continue),
        };
        match replied {
            Ok(reply) => break reply,
            Err(problem) if problem.is_size() => match compact::less(&turn.session, upto) {
                Some(less) => upto = less,
                None => return give_up(turn, &problem).await,
            },
            Err(problem) => return give_up(turn, &problem).await,
        }
    };
    if reply.text.trim().is_empty() {
        return turn.fail(no_answer(turn)).await;
    }
    // Discarded if the dialogue was restarted in the meantime.
    let summary = turn.worker.redactor.own(&reply.text).into_owned();
    let event = Event::Compacted { upto, summary, usage: reply.usage };
    let used = vec![limits::summarised(turn, &reply)];
    turn.record(ConversationChange { used, ..turn.change(vec![event], vec![]) }).await
}
