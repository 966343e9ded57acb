//! What the guard has to know besides the session: rules of the database, roles, files as they are.

use anyhow::Result;
use sha2::{Digest as _, Sha256};
use std::sync::{Arc, PoisonError, RwLock};
use tokio_util::sync::CancellationToken;

use super::{act, advance::Turn};
use crate::{
    agent::{
        catalog::Found,
        guard,
        policy::{Files, Origin, Rule, Scene},
        rules, taint,
    },
    journal::{
        event::{Call, Event, Outcome, ToolResult},
        ids::CallId,
        role::Role,
        session::CallState,
    },
    store::{Store, rules as stored},
    tools::workspace,
};

/// A larger file than this is not bound to a decision; it is told by its name.
const FILE_BYTES: u64 = 20_000_000;
/// The files that one call names at most, as far as they are looked at.
const FILES: usize = 256;

/// The rules of the database, compiled, with their version.
#[derive(Default)]
pub struct RuleBook {
    open: RwLock<(i64, Arc<Vec<Rule>>)>,
}

impl RuleBook {
    /// The rules of that version or a later one; read again only if they have changed.
    pub async fn at(&self, store: &Store, version: i64) -> Result<Arc<Vec<Rule>>> {
        let (known, rules) = self.open.read().unwrap_or_else(PoisonError::into_inner).clone();
        if known == version {
            return Ok(rules);
        }
        let (version, document) =
            store.read(|tx| Box::pin(async move { stored::all(tx).await })).await?;
        let rules = Arc::new(rules::compile(&document.rules, Origin::Database)?);
        *self.open.write().unwrap_or_else(PoisonError::into_inner) = (version, rules.clone());
        Ok(rules)
    }
}

/// How things stand now. Only where a call waits to be judged is the database asked: a rule that
/// was changed a moment ago counts already.
pub(super) async fn look(turn: &Turn<'_>) -> Result<Scene> {
    let gateway = &turn.worker.gateway;
    let mut scene = Scene {
        agent: turn.agent.id.clone(),
        channel: turn.claimed.channel.clone(),
        now: gateway.clock.now(),
        language: turn.claimed.language(),
        folder: turn.worker.workspaces.name_of(&turn.agent.id, turn.claimed.lease.conversation()),
        ..Scene::default()
    };
    if turn.session.open_calls().next().is_none() {
        return Ok(scene);
    }
    let person = turn.session.requester.as_ref().map(|r| r.id.clone()).unwrap_or_default();
    let (channel, requester) = (scene.channel.clone(), person.clone());
    let (version, role) = gateway
        .store
        .read(move |tx| {
            Box::pin(async move { stored::version_and_role(tx, &channel, &person).await })
        })
        .await?;
    // Who is let in by the configuration stands in no table.
    let own = turn.manners().roles.get(&requester).copied();
    let role = own.max(role.as_deref().and_then(Role::parse)).unwrap_or(Role::Member);
    scene.role = Some(role.as_str().to_owned());
    scene.stored = turn.worker.rules.at(&gateway.store, version).await?;
    for open in turn.session.open_calls() {
        if matches!(open.state, CallState::Decided { .. }) {
            scene.files.insert(open.call.id.clone(), files(turn, &open.call).await?);
        }
    }
    Ok(scene)
}

/// The scene with the files that this call names.
pub(super) async fn with_files(turn: &Turn<'_>, call: &Call) -> Result<Scene> {
    let mut scene = turn.scene.clone();
    scene.files.insert(call.id.clone(), files(turn, call).await?);
    Ok(scene)
}

async fn files(turn: &Turn<'_>, call: &Call) -> Result<Files> {
    let Found::Tool(spec) = turn.agent.catalog.find(&call.tool) else { return Ok(Files::new()) };
    let paths = guard::files_named(spec, &call.arguments);
    if paths.is_empty() {
        return Ok(Files::new());
    }
    let context = act::context(turn, call, CancellationToken::new());
    let read = workspace::beneath(&context, move |workspace, _| {
        let digest = |path: &String| {
            let bytes = workspace.bytes(path, FILE_BYTES).ok()?;
            Some((path.clone(), hex::encode(Sha256::digest(bytes))))
        };
        // Names of no file may not crowd out those that there are.
        Ok(paths.iter().filter_map(digest).take(FILES).collect())
    });
    // A workspace that is not there has no files.
    Ok(read.await.unwrap_or_default())
}

/// That the result of this call brings other people's words, if it does.
pub(super) fn tainted(turn: &Turn<'_>, id: &CallId, result: &ToolResult) -> Option<Event> {
    let open = turn.session.open_calls().find(|open| open.call.id == *id)?;
    let Found::Tool(spec) = turn.agent.catalog.find(&open.call.tool) else { return None };
    if !matches!(result.outcome, Outcome::Done | Outcome::Failed) {
        return None;
    }
    let source = taint::source(&open.call, spec, &turn.session)?;
    let known = turn.session.taint.contains(&source);
    (!known).then_some(Event::Tainted { source })
}
