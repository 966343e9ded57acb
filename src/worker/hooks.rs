//! Runs the operator's hooks in order and applies their answers. The outcome is recorded in the
//! journal, so that a hook does not run again after a restart.

use sandbox::{Sandbox, service};
use serde_json::{Map, Value, json};
use std::{path::PathBuf, process::Stdio, sync::Arc};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    process::{Child, Command},
};

use super::{Worker, turn::Turn};
use crate::{
    agent::hooks::{Hook, HookAnswer, HookBehaviour, HookInput, OnFailure, Program},
    journal::{
        event::{Call, Event, HookEffect, HookPoint, Outcome, Seq, Speaker, ToolResult},
        ids::{CallId, ConversationId},
        session::{Item, Session},
    },
    llm::Reply,
    store::files,
    texts,
    tools::ToolError,
};

/// The context in which a hook runs.
#[derive(Debug, Clone)]
pub(super) struct HookContext {
    pub conversation: ConversationId,
    pub agent: String,
    pub person: Option<Speaker>,
    pub call: Option<CallId>,
}

/// The outcome of all hooks for one point.
pub(super) struct HookResult {
    pub input: HookInput,
    pub events: Vec<Event>,
    /// The name of the hook that stopped the turn or call, and its reason.
    pub stopped: Option<String>,
}

impl HookContext {
    pub fn of(turn: &Turn<'_>, person: Option<Speaker>, call: Option<&CallId>) -> Self {
        let conversation = turn.claimed.lease.conversation().clone();
        Self { conversation, agent: turn.agent.id.clone(), person, call: call.cloned() }
    }
}

/// Runs all matching hooks until one of them stops the turn or call.
pub(super) async fn ask(
    worker: &Worker,
    on: HookPoint,
    about: &HookContext,
    mut input: HookInput,
) -> HookResult {
    let (mut events, mut stopped) = (Vec::new(), None);
    let tool = input.tool.clone();
    let concerned = worker.hooks.iter().filter(|h| h.is_asked() && h.concerns(on, tool.as_deref()));
    for hook in concerned {
        let answer = match hook.answer(&input, &worker.redactor) {
            Some(answer) => Ok(answer),
            None => ask_program(worker, hook, about, &input).await,
        };
        let effect = answer.and_then(|answer| input.take(on, answer)).unwrap_or_else(|failed| {
            tracing::warn!(hook.name = hook.name, failed, "hook failed");
            let stops = hook.on_failure == OnFailure::Stop;
            let stopped = stops.then(|| texts::HOOK_FAILED.to_owned());
            HookEffect { stopped, failed: Some(failed), ..HookEffect::default() }
        });
        stopped = effect.stopped.as_ref().map(|why| texts::stopped_by_hook(&hook.name, why));
        if effect != HookEffect::default() || on == HookPoint::BeforeLlm {
            let (hook, call) = (hook.name.clone(), about.call.clone());
            events.push(Event::HookRan { hook, on, call, did: effect });
        }
        if stopped.is_some() {
            break;
        }
    }
    HookResult { input, events, stopped }
}

pub(super) fn any(worker: &Worker, on: HookPoint) -> bool {
    worker.hooks.iter().any(|hook| hook.on == on && hook.is_asked())
}

/// Runs `before_llm` for what the model has not read yet. A hook may provide the reply, for example
/// from a cache.
pub(super) async fn before_llm(turn: &Turn<'_>) -> HookResult {
    let person = turn.session.speaks_for(turn.session.seq);
    let about = HookContext::of(turn, person, None);
    let input = HookInput { text: unread_text(&turn.session), ..HookInput::default() };
    ask(turn.worker, HookPoint::BeforeLlm, &about, input).await
}

/// The text of messages and results that the model has not read yet.
fn unread_text(session: &Session) -> String {
    let unread = session.items.iter().rev().take_while(|item| match item {
        Item::Said { seq, .. } | Item::Note { seq, .. } | Item::Looked { seq, .. } => {
            *seq > session.answered_upto
        }
        _ => false,
    });
    let said = unread.filter_map(|item| match item {
        Item::Said { text, .. } => Some(text.as_str()),
        _ => None,
    });
    let results = session.items.iter().rev().find_map(|item| match item {
        Item::Replied { calls, .. } => Some(calls.iter().filter_map(|made| made.result.as_deref())),
        _ => None,
    });
    let unread_results = results.into_iter().flatten().filter(|_| session.has_unread_results());
    let mut texts: Vec<_> = said.collect();
    texts.reverse();
    unread_results.chain(texts).collect::<Vec<_>>().join("\n\n")
}

/// A reply after its hooks, with the calls that the guard will judge.
pub(super) struct HookedReply {
    pub text: String,
    pub calls: Vec<Call>,
    /// The events of hooks, and the results of calls that they stopped.
    pub events: Vec<Event>,
}

/// Runs `after_llm`, then `before_tool` for each call, under the canonical name of the tool. A call
/// that contains a secret of the configuration does not run and is recorded without the secret.
pub(super) async fn after_llm(turn: &Turn<'_>, upto: Seq, reply: Reply) -> HookedReply {
    let Reply { text, calls, usage, .. } = reply;
    let person = turn.session.speaks_for(upto);
    let input = HookInput { text, usage: Some(usage), ..HookInput::default() };
    let about = HookContext::of(turn, person.clone(), None);
    let outcome = ask(turn.worker, HookPoint::AfterLlm, &about, input).await;
    let mut hooked =
        HookedReply { text: outcome.input.text, calls: vec![], events: outcome.events };
    match outcome.stopped {
        Some(why) => hooked.text = why,
        None => {
            for mut call in calls {
                call.tool = turn.agent.catalog.meant(&call.tool.replace('\0', ""));
                let about = HookContext::of(turn, person.clone(), Some(&call.id));
                let (call, events) = before_tool(turn.worker, &about, call).await;
                hooked.calls.push(call);
                hooked.events.extend(events);
            }
        }
    }
    hooked.text = turn.worker.redactor.reply(&hooked.text).replace('\0', "");
    hooked
}

/// Runs `before_tool`. The resulting arguments are the ones that are judged, shown, hashed and run.
async fn before_tool(worker: &Worker, about: &HookContext, mut call: Call) -> (Call, Vec<Event>) {
    call.arguments = worker.toolbox.normalized(&call.tool, call.arguments.take());
    if worker.redactor.holds_own(&call.arguments) {
        call.arguments = worker.redactor.own_value(&call.arguments);
        let end = denied(&call, texts::CARRIES_SECRET.to_owned());
        return (call, vec![end]);
    }
    let arguments = Some(call.arguments.clone());
    let input = HookInput { tool: Some(call.tool.clone()), arguments, ..HookInput::default() };
    let HookResult { input, mut events, stopped } =
        ask(worker, HookPoint::BeforeTool, about, input).await;
    let arguments = input.arguments.unwrap_or_default();
    call.arguments = worker.toolbox.normalized(&call.tool, arguments);
    events.extend(stopped.map(|why| denied(&call, why)));
    (call, events)
}

fn denied(call: &Call, text: String) -> Event {
    let result = ToolResult::text(Outcome::Denied, text);
    Event::ToolFinished { call: call.id.clone(), result }
}

/// Runs `after_tool`. A result that a hook withholds is neither read by the model nor sent to
/// people.
pub(super) async fn after_tool(
    worker: &Worker,
    about: &HookContext,
    call: &Call,
    mut result: ToolResult,
) -> (ToolResult, Vec<Event>) {
    if !any(worker, HookPoint::AfterTool) {
        return (result, Vec::new());
    }
    let input = HookInput {
        text: result.text,
        tool: Some(call.tool.clone()),
        arguments: Some(call.arguments.clone()),
        ..HookInput::default()
    };
    let outcome = ask(worker, HookPoint::AfterTool, about, input).await;
    result.text = worker.redactor.own(&outcome.input.text).into_owned();
    if let Some(why) = outcome.stopped {
        result.text = texts::withheld(&why);
        result.attachments.clear();
        result.views.clear();
    }
    (result, outcome.events)
}

/// The reason why a turn failed, after its hooks have run.
pub(super) struct Failure {
    pub reason: String,
    /// The reply that replaces the notice of the failure.
    pub answer: Option<String>,
    pub events: Vec<Event>,
}

/// Runs `on_error`, which may change the reason for the person, or provide a reply instead.
pub(super) async fn on_error(turn: &Turn<'_>, reason: &str) -> Failure {
    let input = HookInput { text: reason.to_owned(), ..HookInput::default() };
    let about = HookContext::of(turn, turn.session.requester.clone(), None);
    let outcome = ask(turn.worker, HookPoint::OnError, &about, input).await;
    let clean = |text: &str| turn.worker.redactor.reply(text).replace('\0', "");
    Failure {
        reason: clean(&outcome.input.text),
        answer: outcome.input.answer.as_deref().map(clean),
        events: outcome.events,
    }
}

async fn ask_program(
    worker: &Worker,
    hook: &Hook,
    about: &HookContext,
    input: &HookInput,
) -> Result<HookAnswer, String> {
    let HookBehaviour::Run(program) = &hook.act else {
        return Err("the hook has neither a program nor an action".into());
    };
    let mut hook_input = Map::new();
    let mut say = |name: &str, value: Value| hook_input.insert(name.to_owned(), value);
    say("hook", json!(hook.name));
    say("on", json!(hook.on));
    say("conversation", json!(about.conversation));
    say("agent", json!(about.agent));
    say("person", json!(about.person));
    say("call", json!(about.call));
    say("tool", json!(input.tool));
    say("arguments", json!(input.arguments));
    say("text", json!(input.text));
    say("usage", json!(input.usage));
    let hook_input = worker.redactor.own_value(&Value::Object(hook_input)).to_string();
    if hook_input.len() > program.max_bytes {
        return Err(format!("the input has {} bytes, more than max_bytes", hook_input.len()));
    }
    let answer =
        run(worker.hook_sandbox.command(hook, program)?, program, hook_input.as_bytes()).await?;
    if answer.trim_ascii().is_empty() {
        return Ok(HookAnswer::default());
    }
    serde_json::from_slice(&answer).map_err(|problem| format!("invalid answer: {problem}"))
}

/// Runs the program until it ends or times out. On a timeout, kills it with all its children.
async fn run(
    mut command: Command,
    program: &Program,
    hook_input: &[u8],
) -> Result<Vec<u8>, String> {
    let started = command.spawn();
    let mut group = Group(
        started.map_err(|problem| format!("could not start {}: {problem}", program.command[0]))?,
    );
    let talk = talk(&mut group.0, hook_input, program.max_bytes);
    let answered = tokio::time::timeout(program.timeout, talk).await;
    answered.map_err(|_| format!("timed out after {} s", program.timeout.as_secs_f32()))?
}

/// The sandbox settings for the programs of hooks.
pub struct HookSandbox {
    pub sandbox: Arc<Sandbox>,
    /// The parent of the hooks' private folders.
    pub data: PathBuf,
    /// Paths that are hidden from hooks.
    pub hidden: Vec<PathBuf>,
}

impl HookSandbox {
    /// Starts the program without the gateway's environment, in a separate process group. It runs
    /// unsandboxed only if the configuration says so.
    fn command(&self, hook: &Hook, program: &Program) -> Result<Command, String> {
        let mut command = if program.sandbox {
            let sandbox = self.sandbox_for(&hook.name);
            let confined = sandbox.command(&program.command, None).map_err(ToolError::from);
            confined.map_err(|why| format!("{why}; set `sandbox = false` to run it without one"))?
        } else {
            free(program)
        };
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .process_group(0)
            .kill_on_drop(true);
        Ok(command)
    }

    /// A hook's name may contain any characters, so its folder is named after a digest.
    fn sandbox_for(&self, hook: &str) -> service::ServerSandbox {
        let own = files::digest_of(hook.as_bytes());
        service::ServerSandbox {
            sandbox: self.sandbox.clone(),
            home: self.data.join("hooks").join(&own[..16]),
            hidden: self.hidden.clone(),
            folders: Vec::new(),
            network: service::ServerNetwork::None,
        }
    }
}

fn free(program: &Program) -> Command {
    let mut command = Command::new(&program.command[0]);
    command
        .args(&program.command[1..])
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .current_dir("/");
    command
}

/// A process group, identified by its leader. It is killed when dropped, unless the leader was
/// already reaped: its id may have been reused since then.
struct Group(Child);

impl Drop for Group {
    fn drop(&mut self) {
        let leader = self.0.id().and_then(|id| rustix::process::Pid::from_raw(id.cast_signed()));
        if let Some(leader) = leader {
            // The group may already be empty.
            let _ = rustix::process::kill_process_group(leader, rustix::process::Signal::KILL);
        }
    }
}

async fn talk(child: &mut Child, hook_input: &[u8], limit: usize) -> Result<Vec<u8>, String> {
    let mut stdin = child.stdin.take().expect("piped");
    let stdout = child.stdout.take().expect("piped");
    let write = async move {
        // A program may answer without reading its input.
        let _ = stdin.write_all(hook_input).await;
        drop(stdin);
    };
    let read = async move {
        let mut answer = Vec::new();
        stdout.take(limit as u64 + 1).read_to_end(&mut answer).await.map(|_| answer)
    };
    let ((), answer) = tokio::join!(write, read);
    let answer = answer.map_err(|problem| format!("could not read its answer: {problem}"))?;
    if answer.len() > limit {
        return Err(format!("its answer is longer than {limit} bytes"));
    }
    let status = child.wait().await.map_err(|problem| problem.to_string())?;
    if !status.success() {
        return Err(format!("exited with {status}"));
    }
    Ok(answer)
}
