//! Builds the part of the guard's context that is not in the session: stored rules, roles and the
//! current files.

use anyhow::Result;
use parking_lot::RwLock;
use std::{collections::BTreeSet, sync::Arc};
use tokio_util::sync::CancellationToken;

use super::turn::Turn;
use crate::{
    agent::{
        catalog::{ApprovalMode, CallTerms, ResolvedTool},
        guard,
        policy::{FileDigests, GuardContext, Origin, Rule},
        rules, taint,
    },
    journal::{
        event::{Call, Event, Outcome, Speaker, ToolResult},
        ids::CallId,
        role::Role,
        session::CallState,
    },
    store::{
        Store,
        approvals::{self, grants},
        rules as stored,
    },
    tools::{
        ToolError, jobs,
        workspace::{self, file_binding},
    },
};

/// The compiled rules from the database, with their version.
#[derive(Default)]
pub struct RuleBook {
    open: RwLock<(i64, Arc<Vec<Rule>>)>,
}

impl RuleBook {
    /// The rules of this version or a later one. They are read from the database only if they have
    /// changed.
    pub async fn at(&self, store: &Store, version: i64) -> Result<Arc<Vec<Rule>>> {
        let (known, rules) = self.open.read().clone();
        if known == version {
            return Ok(rules);
        }
        let (version, document) =
            store.read(|tx| Box::pin(async move { stored::all(tx).await })).await?;
        let rules = Arc::new(rules::compile(&document.rules, Origin::Database)?);
        *self.open.write() = (version, rules.clone());
        Ok(rules)
    }
}

/// Builds the current guard context. The version of the rules is read whenever a call has to be
/// judged, so a changed rule applies immediately. Without a call to judge, the database is not
/// queried.
pub(super) async fn current(turn: &Turn<'_>) -> Result<GuardContext> {
    let gateway = &turn.worker.gateway;
    let mut guard_context = GuardContext {
        agent: turn.agent.id.clone(),
        channel: turn.claimed.channel.clone(),
        now: gateway.clock.now(),
        language: turn.claimed.language(),
        folder: turn.worker.workspace_name(turn.claimed),
        depth: turn.claimed.sub_agent.as_ref().map_or(0, |sub_agent| sub_agent.depth),
        loading: turn.loading.clone(),
        ..GuardContext::default()
    };
    if turn.session.open_calls().next().is_none() {
        return Ok(guard_context);
    }
    let requester = turn.session.requester.as_ref().map_or("", |by| by.id.as_str());
    let person = grants::person(&turn.claimed.channel, requester);
    let conversation = turn.claimed.lease.conversation();
    guard_context.permissions =
        gateway.store.permissions(conversation, person, guard_context.now).await?;
    guard_context.asked_below = asked_below(turn).await?;
    let (version, role) = version_and_role(turn, &guard_context.channel).await?;
    guard_context.role = Some(role.as_str().to_owned());
    guard_context.stored = turn.worker.rules.at(&gateway.store, version).await?;
    for open in turn.session.open_calls() {
        if matches!(open.state, CallState::Decided { .. }) {
            let files = files(turn, &open.call).await;
            // Files that can no longer be bound must not match the approval.
            let files =
                files.unwrap_or_else(|why| FileDigests::from([(String::new(), why.to_string())]));
            guard_context.files.insert(open.call.id.clone(), files);
        }
        if matches!(open.state, CallState::New | CallState::Started)
            && let Some(terms) = terms(turn, &open.call)
        {
            guard_context.terms.insert(open.call.id.clone(), terms);
        }
    }
    Ok(guard_context)
}

/// The terms of the call, before any rule is applied.
fn terms(turn: &Turn<'_>, call: &Call) -> Option<CallTerms> {
    let terms = turn.worker.toolbox.terms(call)?;
    let is_job_of_job = turn.session.turn.jobs_before > 0 && call.tool == jobs::CREATE_JOB;
    let approval = if is_job_of_job { ApprovalMode::Always } else { terms.approval };
    Some(CallTerms { approval, ..terms })
}

/// Whether a person who writes now has to be told that a sub-agent waits for a decision.
async fn asked_below(turn: &Turn<'_>) -> Result<bool> {
    let delegated = turn.session.open_calls().any(|open| open.state == CallState::Delegated);
    if !delegated || !turn.session.awaits_model() {
        return Ok(false);
    }
    let conversation = turn.claimed.lease.conversation().clone();
    let store = &turn.worker.gateway.store;
    let open =
        store.read(move |tx| Box::pin(async move { approvals::pending(tx, &conversation).await }));
    Ok(!open.await?.is_empty())
}

/// The version of the rules, and the lowest role of the people whose messages may have led to the
/// calls.
async fn version_and_role(turn: &Turn<'_>, channel: &str) -> Result<(i64, Role)> {
    let session = &turn.session;
    let people = session.requester.iter().chain(&session.joined).cloned().collect();
    min_role(turn, channel, people).await
}

/// The version of the rules, and the lowest role of these people. Without people, the role is
/// member.
pub(super) async fn min_role(
    turn: &Turn<'_>,
    channel: &str,
    mut people: Vec<Speaker>,
) -> Result<(i64, Role)> {
    if people.is_empty() {
        people.push(Speaker { id: String::new(), name: String::new() });
    }
    let (mut version, mut least) = (0, Role::Owner);
    for by in people {
        let (channel, person) = (channel.to_owned(), by.id.clone());
        let read = turn.worker.gateway.store.read(move |tx| {
            Box::pin(async move { stored::version_and_role(tx, &channel, &person).await })
        });
        let (now, role) = read.await?;
        // Roles from the configuration are not in the database.
        let own = turn.settings().roles.get(&by.id).copied();
        let role = own.max(role.as_deref().and_then(Role::parse)).unwrap_or(Role::Member);
        (version, least) = (now, least.min(role));
    }
    Ok((version, least))
}

/// The guard context with the files that this call names, or the reason why they cannot be
/// determined.
pub(super) async fn with_files(turn: &Turn<'_>, call: &Call) -> Result<GuardContext, ToolError> {
    let mut guard_context = turn.guard_context.clone();
    guard_context.files.insert(call.id.clone(), files(turn, call).await?);
    Ok(guard_context)
}

async fn files(turn: &Turn<'_>, call: &Call) -> Result<FileDigests, ToolError> {
    let ResolvedTool::Tool(spec) = turn.agent.catalog.find(&call.tool) else {
        return Ok(FileDigests::new());
    };
    let named = guard::files_named(spec, &call.arguments);
    let context = turn.context(call.id.clone(), CancellationToken::new());
    let mut files = turn.worker.toolbox.bound(call, &context).await?;
    if !named.is_empty() {
        let bound =
            workspace::beneath(&context, move |ws, _| file_binding::bind_named(ws, named)).await?;
        files.extend(bound);
    }
    Ok(files)
}

/// The taint events for the untrusted content in the result of this call.
pub(super) fn tainted(turn: &Turn<'_>, id: &CallId, result: &ToolResult) -> Vec<Event> {
    let Some(open) = turn.session.open_calls().find(|open| open.call.id == *id) else {
        return Vec::new();
    };
    let ResolvedTool::Tool(spec) = turn.agent.catalog.find(&open.call.tool) else {
        return Vec::new();
    };
    if !matches!(result.outcome, Outcome::Done | Outcome::Failed) {
        return Vec::new();
    }
    let own = taint::source(&open.call, spec, &turn.session);
    let sources: BTreeSet<_> = own.into_iter().chain(result.untrusted.iter().cloned()).collect();
    let new = sources.into_iter().filter(|source| !turn.session.taint.contains(source));
    new.map(|source| Event::Tainted { source }).collect()
}
