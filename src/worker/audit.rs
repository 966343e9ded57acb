//! Builds the audit records of the worker.

use serde_json::{Value, json};

use super::turn::Turn;
use crate::{
    agent::{
        catalog::ResolvedTool,
        guard::{self, Cleared},
    },
    journal::{
        event::{Call, Event, Outcome, Status, ToolResult},
        session::CallState,
    },
    store::{
        approvals::request::NewApproval,
        audit::{AuditKind, Fact},
    },
};

/// A record about a call, with its digest and redacted arguments.
fn about(turn: &Turn<'_>, kind: AuditKind, call: &Call) -> Fact {
    let person = turn.session.requester.as_ref().map(|by| by.id.clone()).unwrap_or_default();
    Fact::new(kind, &person)
        .of(&call.tool)
        .with("call", call.id.as_str())
        .with("digest", guard::digest_of(call, &turn.guard_context))
        .with("arguments", turn.worker.redactor.value(&call.arguments))
}

pub(super) fn asked(turn: &Turn<'_>, call: &Call, reason: &str, asked: &NewApproval) -> Fact {
    about(turn, AuditKind::Asked, call)
        .with("digest", asked.digest.as_str())
        .with("rule", reason)
        .with("approval", asked.id.as_str())
}

/// The start of a call that must not run twice.
pub(super) fn started(turn: &Turn<'_>, cleared: &Cleared) -> Fact {
    about(turn, AuditKind::Started, cleared.call()).with("rule", authority(turn, cleared))
}

pub(super) fn ran(turn: &Turn<'_>, call: &Call, rule: Value, result: &ToolResult) -> Fact {
    about(turn, AuditKind::Ran, call)
        .with("rule", rule)
        .with("outcome", outcome(result.outcome))
        .with("took_ms", result.took_ms)
}

/// The records of calls that ended without running.
pub(super) fn refused(turn: &Turn<'_>, made: &[Call], events: &[Event]) -> Vec<Fact> {
    let ends = events.iter().filter_map(|event| match event {
        Event::ToolFinished { call, result } if result.outcome != Outcome::Done => {
            let open = turn.session.calls.iter().map(|open| &open.call);
            let call = made.iter().chain(open).find(|known| known.id == *call)?;
            Some((call, result))
        }
        _ => None,
    });
    ends.map(|(call, result)| {
        let rule = turn.worker.redactor.text(&result.text).into_owned();
        about(turn, AuditKind::Refused, call)
            .with("rule", rule)
            .with("outcome", outcome(result.outcome))
    })
    .collect()
}

/// The person, grant or rule that allowed the call.
pub(super) fn authority(turn: &Turn<'_>, cleared: &Cleared) -> Value {
    let call = cleared.call();
    let open = turn.session.calls.iter().find(|open| open.call.id == call.id);
    if let Some(CallState::Decided { by, .. }) = open.map(|open| &open.state) {
        return json!({ Status::Allowed.as_str(): by });
    }
    if let Some(permission) = cleared.permission() {
        let approval = permission.approval.as_str();
        return json!({ "conversation": approval, Status::Allowed.as_str(): permission.by });
    }
    if let Some(grant) = cleared.grant() {
        return json!({ "grant": grant.as_str() });
    }
    let ResolvedTool::Tool(spec) = turn.agent.catalog.find(&call.tool) else {
        return json!("policy");
    };
    let ruling = guard::ruling(call, spec, &turn.session, &turn.agent.policy, &turn.guard_context);
    ruling
        .rule
        .map_or_else(|| json!("policy"), |name| json!({ "rule": name, "from": ruling.origin }))
}

fn outcome(outcome: Outcome) -> Value {
    json!(outcome)
}
