//! The tasks of sub-agents, and their answers.
//!
//! ```text
//! open ──► ended     the answer, or the reason for the failure, is in the parent's journal
//!      ──► stopped   the parent no longer waits for it
//! ```
//! The task of a background job has the state `background` instead of `open`, because no call waits
//! for it. Its answer is stored in [`jobs`](crate::store::jobs).

use anyhow::{Context as _, Result};
use chrono::{DateTime, Utc};
use std::collections::BTreeMap;

use super::{journal, task_answer::TaskAnswer, task_status::TaskStatus};
use crate::{
    journal::{
        event::{Event, InheritedState, JobBudget, Outcome, Speaker, Status, ToolResult},
        ids::{CallId, ConversationId},
        session::delegation::Task,
    },
    store::{
        Tx,
        approvals::withdrawal,
        conversations,
        db::{row::row, sql},
        jobs::ending,
        leases::Lease,
    },
    texts,
};

/// The tasks of one call.
#[derive(Debug, Clone)]
pub struct Delegation {
    pub call: CallId,
    /// Each task with the conversation that is created for it.
    pub tasks: Vec<(ConversationId, Task)>,
    /// The person on whose behalf they run.
    pub by: Speaker,
    pub inherited: InheritedState,
}

/// The parts of a change that concern the sub-agents of a conversation and its parent.
pub(in crate::store) struct TaskEffects {
    /// The state shared with all running agents of the same delegation.
    pub inherited: InheritedState,
    pub delegates: Vec<Delegation>,
    pub answer: Option<TaskAnswer>,
}

/// The state that these events and runs share with all running agents of the same delegation.
pub(in crate::store) fn passed_on(events: &[Event], used: BTreeMap<String, u32>) -> InheritedState {
    let sources = events.iter().filter_map(|event| match event {
        Event::Tainted { source } => Some(source.clone()),
        _ => None,
    });
    InheritedState { taint: sources.collect(), used, ..InheritedState::default() }
}

/// Propagates taint, counts, tasks and answers of a conversation to its parent and sub-agents, in
/// the same transaction.
pub(in crate::store) async fn propagate(
    tx: &mut Tx<'_>,
    lease: &Lease,
    TaskEffects { inherited, delegates, answer }: TaskEffects,
    now: DateTime<Utc>,
) -> Result<()> {
    if inherited != InheritedState::default() {
        spread(tx, &lease.conversation, inherited, now).await?;
    }
    for delegation in delegates {
        begin(tx, &lease.conversation, delegation, now).await?;
    }
    match answer {
        Some(answer) => deliver_answer(tx, &lease.conversation, answer, now).await,
        None => Ok(()),
    }
}

async fn begin(
    tx: &mut Tx<'_>,
    parent: &ConversationId,
    delegation: Delegation,
    now: DateTime<Utc>,
) -> Result<()> {
    let Delegation { call, tasks, by, inherited } = delegation;
    let start = Start { parent, call: call.as_str(), by: &by, inherited: &inherited, job: None };
    for ((child, task), place) in tasks.into_iter().zip(0_i64..) {
        self::start(tx, &start, PlacedTask { child: &child, task: &task, place }, now).await?;
    }
    Ok(())
}

/// The requester and the parent of sub-agents that start.
pub(in crate::store) struct Start<'a> {
    pub parent: &'a ConversationId,
    pub call: &'a str,
    pub by: &'a Speaker,
    pub inherited: &'a InheritedState,
    /// The limits of a background job.
    pub job: Option<JobBudget>,
}

/// A task, the conversation that is created for it, and its index among the tasks of its call.
pub(in crate::store) struct PlacedTask<'a> {
    pub child: &'a ConversationId,
    pub task: &'a Task,
    pub place: i64,
}

/// Creates the conversation of a sub-agent, with its task.
pub(in crate::store) async fn start(
    tx: &mut Tx<'_>,
    start: &Start<'_>,
    PlacedTask { child, task, place }: PlacedTask<'_>,
    now: DateTime<Utc>,
) -> Result<()> {
    sql!(
        tx,
        execute,
        "
        -- start sub-agent
        INSERT INTO conversations
            (id, channel, chat, thread, place, last_seq, lease_node, lease_until, fence,
             created_at, language, agent, root, depth, owner)
        SELECT CAST($1 AS TEXT), channel, id, CAST($1 AS TEXT), place, 0, '', 0, 0,
               CAST($2 AS BIGINT), language, CAST($3 AS TEXT), COALESCE(root, id), depth + 1, ''
        FROM conversations
        WHERE id = $4",
        child.as_str(),
        now.timestamp_millis(),
        task.agent.as_str(),
        start.parent.as_str()
    );
    let status = if start.job.is_some() { TaskStatus::Background } else { TaskStatus::Open };
    sql!(
        tx,
        execute,
        "
        -- insert a task
        INSERT INTO tasks (conversation, parent, call, place, status)
        VALUES ($1, $2, $3, $4, $5)",
        child.as_str(),
        start.parent.as_str(),
        start.call,
        place,
        status.as_str()
    );
    if let Some(budget) = start.job {
        // Must be the first event: a release that does not know jobs then leaves the conversation
        // to others.
        journal::append(tx, child, &Event::JobStarted { budget }, now).await?;
    }
    if *start.inherited != InheritedState::default() {
        journal::append(tx, child, &Event::StateInherited(start.inherited.clone()), now).await?;
    }
    let (by, text) = (start.by.clone(), task.text.clone());
    let said = Event::Said { by, text, message: String::new() };
    journal::append(tx, child, &said, now).await.map(drop)
}

row! {
    struct TaskAnswerRow { agent: String, status: String, answer: Option<String> }
}

/// Passes an answer to the parent. The last answer of a call ends the call; that of a background
/// job is reported later.
async fn deliver_answer(
    tx: &mut Tx<'_>,
    child: &ConversationId,
    answer: TaskAnswer,
    now: DateTime<Utc>,
) -> Result<()> {
    if ending::end(tx, child, &answer, now).await? {
        return set_status(tx, child, TaskStatus::Ended).await;
    }
    let task: Option<(String, String)> = sql!(
        tx,
        fetch_optional,
        "
        -- answer task
        UPDATE tasks
        SET status = 'ended', answer = $1
        WHERE conversation = $2 AND status = 'open'
        RETURNING parent, call",
        serde_json::to_string(&answer.result)?,
        child.as_str()
    );
    // The parent no longer waits for it.
    let Some((parent, call)) = task else { return Ok(()) };
    let parent = ConversationId(parent);
    // Locks the parent's row, so that the last of several concurrent answers sees the others.
    journal::append(tx, &parent, &Event::StateInherited(answer.inherited), now).await?;
    let rows: Vec<TaskAnswerRow> = sql!(
        tx,
        fetch_all,
        "
        -- answers of a call
        SELECT c.agent, t.status, t.answer FROM tasks t
        JOIN conversations c ON c.id = t.conversation
        WHERE t.parent = $1 AND t.call = $2
        ORDER BY t.place",
        parent.as_str(),
        call.as_str()
    );
    if rows.iter().any(|row| row.status == TaskStatus::Open.as_str()) {
        return Ok(());
    }
    let (is_only, mut results) = (rows.len() == 1, Vec::new());
    for TaskAnswerRow { agent, answer, .. } in rows {
        let body = answer.context("a task that has ended has an answer")?;
        let result: ToolResult = serde_json::from_str(&body)?;
        results.push(if is_only { result } else { texts::answer_of(&agent, result) });
    }
    let event = Event::ToolFinished { call: CallId(call), result: together(results) };
    journal::append(tx, &parent, &event, now).await.map(drop)
}

fn together(mut results: Vec<ToolResult>) -> ToolResult {
    if results.len() == 1 {
        return results.remove(0);
    }
    let done = results.iter().any(|result| result.outcome == Outcome::Done);
    let took_ms = results.iter().map(|result| result.took_ms).max().unwrap_or_default();
    let texts: Vec<_> = results.into_iter().map(|result| result.text).collect();
    let outcome = if done { Outcome::Done } else { Outcome::Failed };
    ToolResult { took_ms, ..ToolResult::text(outcome, texts.join("\n\n")) }
}

/// Stops all sub-agents that calls of this conversation wait for, at any depth, and withdraws their
/// approvals. The caller has locked the conversation's row. Each sub-agent is locked before its own
/// sub-agents are read, so that it cannot start more.
pub async fn stop(
    tx: &mut Tx<'_>,
    conversation: &ConversationId,
    by: &Speaker,
    now: DateTime<Utc>,
) -> Result<()> {
    let mut held = vec![conversation.clone()];
    while let Some(parent) = held.pop() {
        for child in under_way(tx, &parent).await? {
            journal::lock(tx, &child).await?;
            let stopped = sql!(
                tx,
                execute,
                "
                -- stop task
                UPDATE tasks
                SET status = 'stopped'
                WHERE conversation = $1 AND status = 'open'",
                child.as_str()
            );
            if stopped > 0 {
                journal::append(tx, &child, &Event::Stopped { by: by.clone() }, now).await?;
                withdrawal::all(tx, &child, Status::Withdrawn, &by.name, now).await?;
                held.push(child);
            }
        }
    }
    Ok(())
}

/// Stops the sub-agent of a background job, whose row is locked, and all sub-agents below it.
pub(in crate::store) async fn stop_job(
    tx: &mut Tx<'_>,
    child: &ConversationId,
    by: &Speaker,
    now: DateTime<Utc>,
) -> Result<()> {
    set_status(tx, child, TaskStatus::Stopped).await?;
    journal::append(tx, child, &Event::Stopped { by: by.clone() }, now).await?;
    withdrawal::all(tx, child, Status::Withdrawn, &by.name, now).await?;
    stop(tx, child, by, now).await
}

async fn set_status(tx: &mut Tx<'_>, child: &ConversationId, status: TaskStatus) -> Result<()> {
    sql!(
        tx,
        execute,
        "
        -- set the status of a background task
        UPDATE tasks
        SET status = $1
        WHERE conversation = $2 AND status = 'background'",
        status.as_str(),
        child.as_str()
    );
    Ok(())
}

async fn under_way(tx: &mut Tx<'_>, parent: &ConversationId) -> Result<Vec<ConversationId>> {
    let rows: Vec<(String,)> = sql!(
        tx,
        fetch_all,
        "
        -- running work
        SELECT conversation FROM tasks
        WHERE parent = $1 AND status = 'open'
        ORDER BY conversation",
        parent.as_str()
    );
    Ok(rows.into_iter().map(|(child,)| ConversationId(child)).collect())
}

/// Propagates taint and counts to all running agents of the same delegation, because they share a
/// folder and limits.
async fn spread(
    tx: &mut Tx<'_>,
    conversation: &ConversationId,
    inherited: InheritedState,
    now: DateTime<Utc>,
) -> Result<()> {
    let relatives: Vec<(String,)> = sql!(
        tx,
        fetch_all,
        "
        -- running relatives
        SELECT own.root AS id FROM conversations own
        WHERE own.id = $1 AND own.root IS NOT NULL
        UNION
        SELECT c.id FROM conversations own
        JOIN conversations c ON c.root = COALESCE(own.root, own.id)
        JOIN tasks t ON t.conversation = c.id
        WHERE own.id = $1 AND c.id <> own.id AND t.status IN ('open', 'background')
        ORDER BY id",
        conversation.as_str()
    );
    for (relative,) in relatives {
        let inherited = Event::StateInherited(inherited.clone());
        journal::append(tx, &ConversationId(relative), &inherited, now).await?;
    }
    Ok(())
}

/// The sub-agents that are working for a conversation now.
pub async fn at_work(tx: &mut Tx<'_>, root: &ConversationId) -> Result<Vec<String>> {
    let rows: Vec<(String,)> = sql!(
        tx,
        fetch_all,
        "
        -- is at work
        SELECT c.agent FROM conversations c
        JOIN tasks t ON t.conversation = c.id
        WHERE c.root = $1 AND t.status IN ('open', 'background')
        ORDER BY c.id",
        root.as_str()
    );
    Ok(rows.into_iter().map(|(agent,)| agent).collect())
}

/// All sub-agent conversations that were ever created for this one.
pub(in crate::store) async fn begun_for(
    tx: &mut Tx<'_>,
    root: &ConversationId,
) -> Result<Vec<ConversationId>> {
    let rows: Vec<(String,)> = sql!(
        tx,
        fetch_all,
        "
        -- conversations begun for
        SELECT id FROM conversations
        WHERE root = $1
        ORDER BY id",
        root.as_str()
    );
    Ok(rows.into_iter().map(|(child,)| ConversationId(child)).collect())
}

/// The conversation in which messages are shown: for a sub-agent, the one that it works for.
pub async fn home(tx: &mut Tx<'_>, conversation: &ConversationId) -> Result<ConversationId> {
    let (home,): (String,) = sql!(
        tx,
        fetch_one,
        "
        -- root conversation
        SELECT COALESCE(root, id) FROM conversations
        WHERE id = $1",
        conversation.as_str()
    );
    Ok(ConversationId(home))
}

/// Ends the tasks of a conversation whose turn has failed.
pub(in crate::store) async fn abandon(
    tx: &mut Tx<'_>,
    conversation: &ConversationId,
    now: DateTime<Utc>,
) -> Result<()> {
    let name = conversations::words(tx, conversation).await?.the_bot.to_owned();
    stop(tx, conversation, &Speaker { id: String::new(), name }, now).await
}
