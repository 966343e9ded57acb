//! Creates the approval requests that the guard requires.

use anyhow::Result;
use channels::Outgoing;
use chrono::{DateTime, TimeDelta, Utc};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::{
    audit, guard_context,
    turn::{Flow, Turn},
};
use crate::{
    agent::{catalog::EffectClass, grants, guard, next::ApprovalNeeded, policy},
    gateway::approvals,
    journal::{
        event::{ApprovalPurpose, Attachment, Call, Event, Outcome, ToolResult},
        ids::ApprovalId,
    },
    store::{self, approvals::request::NewApproval},
    texts::{self, ApprovalText, PossibleChoices, preview::Preview},
    tools::{Context, files, workspace},
};

/// Commits the approval requests. The turn ends here and continues after a decision.
pub(super) async fn ask(turn: &Turn<'_>, all_needed: Vec<ApprovalNeeded>) -> Result<Flow> {
    let mut change = turn.change(vec![], vec![]);
    let mut room = approvals_left(turn).await?;
    for needed in all_needed {
        if room == 0 {
            change.events.push(refused(&needed, texts::too_many_approvals(PER_HOUR)));
            continue;
        }
        let guard_context = match guard_context::with_files(turn, &needed.call).await {
            Ok(guard_context) => guard_context,
            Err(why) => {
                change.events.push(refused(&needed, why.to_string()));
                continue;
            }
        };
        let preview = preview(turn, &needed.call).await;
        if let Some(event) = failed(turn, &needed, preview.as_ref()) {
            change.events.push(event);
            continue;
        }
        room -= 1;
        let shown =
            BoundPreview { digest: guard::digest_of(&needed.call, &guard_context), preview };
        let asked = put(turn, &needed, shown).await?;
        change.facts.push(audit::asked(turn, &needed.call, &needed.reason, &asked));
        change.events.push(asked.event());
        change.asked.push(asked);
    }
    turn.record(change).await
}

/// The maximum number of approvals and elicitations of a conversation per hour. It prevents
/// approval fatigue.
const PER_HOUR: usize = 60;

pub(super) async fn approvals_left(turn: &Turn<'_>) -> Result<usize> {
    let gateway = &turn.worker.gateway;
    let conversation = turn.claimed.lease.home().clone();
    let since = gateway.clock.now() - TimeDelta::hours(1);
    let count = gateway.store.read(move |tx| {
        Box::pin(async move { store::approvals::requested_since(tx, &conversation, since).await })
    });
    Ok(PER_HOUR.saturating_sub(count.await?))
}

fn refused(needed: &ApprovalNeeded, text: String) -> Event {
    let call = needed.call.id.clone();
    let result = ToolResult::text(Outcome::Denied, text);
    Event::ToolFinished { call, result }
}

/// The result of a call that cannot succeed, so that nobody is asked about it. If another open call
/// of the reply has effects, it may make this one succeed, and people are asked.
fn failed(turn: &Turn<'_>, needed: &ApprovalNeeded, preview: Option<&Preview>) -> Option<Event> {
    let call = &needed.call;
    let problem = preview?.problem().filter(|_| needed.asks == ApprovalPurpose::Allow)?;
    let mut others = turn.session.open_calls().filter(|other| other.call.id != call.id);
    let reads =
        |other: &Call| turn.spec(other).is_some_and(|spec| spec.effect == EffectClass::ReadOnly);
    if !others.all(|other| reads(&other.call)) {
        return None;
    }
    let text = turn.worker.redactor.text(problem).into_owned();
    let result = ToolResult::text(Outcome::Failed, text);
    Some(Event::ToolFinished { call: call.id.clone(), result })
}

/// The part of a request that is not an argument.
async fn preview(turn: &Turn<'_>, call: &Call) -> Option<Preview> {
    let context = context_after_reads(turn, call).await;
    turn.worker.toolbox.preview(call, &context).await
}

/// What a request shows besides the call, and the digest that binds it to the call that runs.
struct BoundPreview {
    digest: String,
    preview: Option<Preview>,
}

async fn put(turn: &Turn<'_>, needed: &ApprovalNeeded, shown: BoundPreview) -> Result<NewApproval> {
    let BoundPreview { digest, preview } = shown;
    let ApprovalNeeded { call, asks, grantable, approvers, .. } = needed;
    let id = ApprovalId::new();
    let expires_at = turn.worker.gateway.clock.now() + turn.agent.policy.approval_for;
    // If several approvers are required, each call needs a separate approval.
    let grantable = *grantable && approvers.needed == 1;
    let spec = turn.spec(call);
    let redactor = &turn.worker.redactor;
    let here = grantable && !spec.is_some_and(grants::runs_anything);
    let terms =
        Terms { id: &id, expires_at, for_conversation: here && *asks == ApprovalPurpose::Allow };
    let Request { title, arguments, text, file } = request(turn, needed, preview, terms).await?;
    // A grant is listed and shown to other people, so its arguments must not contain anything that
    // looks like a secret.
    let open = grantable && redactor.value(&call.arguments) == call.arguments;
    let proposal = spec.filter(|_| open).and_then(|spec| grants::propose(spec, call));
    let possible = PossibleChoices {
        conversation: here,
        grant: proposal.is_some(),
        everything: file.is_some(),
    };
    let choices = turn.claimed.words().choices(*asks, possible);
    let offers: Vec<_> = choices.iter().map(|choice| choice.button).collect();
    let (approval, reply_to) = (id.to_string(), turn.reply_to());
    let what = Outgoing::Approval { markdown: text.markdown, approval, choices, reply_to };
    Ok(NewApproval {
        id,
        call: call.id.clone(),
        asks: *asks,
        tool: call.tool.clone(),
        digest,
        title: settled_title(&title, *asks, &redactor.value(&call.arguments)),
        arguments,
        requester: turn.requester(),
        approvers: approvers.clone(),
        proposal,
        offers: offers.into(),
        expires_at,
        file,
        shows: parts(turn, what),
    })
}

/// The terms of a request: what it offers and when it expires.
struct Terms<'a> {
    id: &'a ApprovalId,
    expires_at: DateTime<Utc>,
    for_conversation: bool,
}

/// The contents of a request. The digest binds the approval to the call that runs.
struct Request {
    title: String,
    arguments: Value,
    text: ApprovalText,
    /// All arguments, if the text omits any.
    file: Option<Attachment>,
}

/// Redacts only secrets of the configuration. Text that merely looks like a secret may matter for
/// the decision.
async fn request(
    turn: &Turn<'_>,
    needed: &ApprovalNeeded,
    preview: Option<Preview>,
    terms: Terms<'_>,
) -> Result<Request> {
    let ApprovalNeeded { call, asks, reason, .. } = needed;
    let redactor = &turn.worker.redactor;
    let arguments = redactor.marked_value(&call.arguments);
    let preview = preview.map(|preview| preview.map(|text| redactor.marked(text)));
    let remarks = turn.session.remarks.get(&call.id).map(|remarks| remarks.join("\n"));
    let reason =
        [Some(reason.clone()), remarks].into_iter().flatten().collect::<Vec<_>>().join("\n");
    let words = turn.claimed.words();
    let title = words.approval_title(*asks, &call.tool);
    let title = match &turn.claimed.sub_agent {
        Some(sub_agent) => texts::asked_by(&sub_agent.agent, &title),
        None => title,
    };
    let text = words.approval_text(&texts::ApprovalParts {
        title: &title,
        tool: &call.tool,
        description: turn.spec(call).map_or("", |spec| spec.description.as_str()),
        arguments: &arguments,
        preview: preview.as_ref(),
        reason: &reason,
        requester: &turn.requester().name,
        for_conversation: terms.for_conversation,
        expires_at: terms.expires_at,
        code: &approvals::code(terms.id),
    });
    let mut file = None;
    if text.is_cut {
        let everything = texts::everything(&arguments, preview.as_ref());
        let bytes = everything.text.into_bytes();
        let artifacts = &turn.worker.gateway.artifacts;
        let put = artifacts.put(everything.name, everything.media_type, bytes);
        file = Some(put.await?);
    }
    Ok(Request { title, arguments, text, file })
}

/// The call runs after the other calls of the same reply. Files that a `read_file` among them reads
/// therefore count as read in the preview.
async fn context_after_reads(turn: &Turn<'_>, call: &Call) -> Context {
    let mut context = turn.context(call.id.clone(), CancellationToken::new());
    let siblings = turn.session.open_calls().map(|open| &open.call);
    let reads = siblings.filter(|sibling| sibling.id != call.id && sibling.tool == READS);
    let paths: Vec<_> = reads
        .filter_map(|read| policy::subject(turn.spec(read)?, &read.arguments))
        .filter(|path| !context.seen.contains_key(path))
        .collect();
    if !paths.is_empty() {
        let seen = workspace::beneath(&context, move |ws, _| Ok(files::seen_now(ws, &paths)));
        context.seen.extend(seen.await.unwrap_or_default());
    }
    context
}

/// The name of the tool that reads files.
const READS: &str = "read_file";

/// Splits the message into parts that fit the channel. The last part keeps room for later
/// additions: votes and a proposed grant.
pub(super) fn parts(turn: &Turn<'_>, what: Outgoing) -> Vec<Outgoing> {
    let Some(connected) = turn.worker.gateway.channels.get(&turn.claimed.channel) else {
        return vec![what];
    };
    let mut limits = connected.channel.limits().clone();
    limits.text = with_room(limits.text);
    what.degrade(&limits)
}

/// The room that is kept, in the channel's unit of length.
const ROOM: usize = 600;

/// What is left of the maximum length of a message.
fn with_room(text: usize) -> usize {
    text - (text / 3).min(ROOM)
}

/// The title of the settled message. It identifies the call.
fn settled_title(title: &str, asks: ApprovalPurpose, arguments: &Value) -> String {
    match asks {
        ApprovalPurpose::Allow => format!("{title} {}", texts::in_short(arguments)),
        ApprovalPurpose::Retry | ApprovalPurpose::Answer => title.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_keeps_room_for_later_additions() {
        let left = [100_000, 4_096, 2_000, 1_800, 900, 0].map(with_room);
        assert_eq!(left, [99_400, 3_496, 1_400, 1_200, 600, 0]);
    }
}
