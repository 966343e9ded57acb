//! Elicitations of running calls: recorded and shown like approvals, and answered through the
//! journal.

use anyhow::Result;
use channels::Outgoing;
use chrono::TimeDelta;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use tokio::sync::{mpsc, oneshot};

use super::{
    approval_requests, audit,
    turn::{Flow, Turn},
};
use crate::{
    agent::{approvers::Approvers, canonical_json::canonical},
    gateway::approvals,
    journal::{
        event::{ApprovalPurpose, Decider, Decision, Entry, Event},
        ids::{ApprovalId, CallId, OutboxId},
    },
    store::{
        approvals::{
            request::{NewApproval, Offers},
            withdrawal,
        },
        conversations::record::{Attempt, ConversationChange, Precondition},
        files,
    },
    tools::contract::elicit::{
        Elicitation, ElicitationAnswer, ElicitationNotice, ElicitationRequest, Elicitor,
    },
};

/// How long a call waits for a person. Its turn stays in memory for that time.
const WAITS_FOR: TimeDelta = TimeDelta::minutes(10);

/// The elicitations of the calls of one turn.
pub(super) struct TurnElicitations {
    requests: mpsc::UnboundedSender<ElicitationRequest>,
    received: mpsc::UnboundedReceiver<ElicitationRequest>,
    open: BTreeMap<ApprovalId, OpenElicitation>,
    /// Notices that are not recorded yet. They stay in this queue until they are.
    notices: VecDeque<PendingNotice>,
    /// The running calls for which a notice was shown; each has at most one.
    notified: BTreeSet<CallId>,
}

/// An elicitation that is shown in the chat, and the call that waits for its answer. The sender is
/// dropped on shutdown.
struct OpenElicitation {
    call: CallId,
    waits: Option<oneshot::Sender<ElicitationAnswer>>,
}

/// A notice that is not recorded yet. All attempts to record it use the same id.
struct PendingNotice {
    notice: ElicitationNotice,
    id: OutboxId,
    attempt: Attempt,
}

impl Default for TurnElicitations {
    fn default() -> Self {
        let (requests, received) = mpsc::unbounded_channel();
        Self {
            requests,
            received,
            open: BTreeMap::new(),
            notices: VecDeque::new(),
            notified: BTreeSet::new(),
        }
    }
}

impl TurnElicitations {
    /// The people whom a call of this turn can ask. Nobody if the requester is a visitor, because
    /// their answers could not be attributed.
    pub fn people(&self, turn: &Turn<'_>) -> Elicitor {
        if turn.requester().is_visitor() {
            return Elicitor::default();
        }
        Elicitor::reached_by(self.requests.clone(), turn.claimed.language())
    }

    /// The next elicitation or notice of a call.
    pub async fn next(&mut self) -> Option<ElicitationRequest> {
        self.received.recv().await
    }

    pub async fn handle(&mut self, turn: &Turn<'_>, next: ElicitationRequest) -> Result<Flow> {
        match next {
            ElicitationRequest::Prompt(elicitation) => self.request(turn, *elicitation).await,
            ElicitationRequest::Notice(notice) => {
                let (id, attempt) = <_>::default();
                self.notices.push_back(PendingNotice { notice, id, attempt });
                self.show_notice(turn).await
            }
        }
    }

    /// Whether a notice is not recorded yet, because the database was unavailable.
    pub fn has_notices(&self) -> bool {
        !self.notices.is_empty()
    }

    /// Records the first notice and shows it.
    pub async fn show_notice(&mut self, turn: &Turn<'_>) -> Result<Flow> {
        let Some(next) = self.notices.front_mut() else { return Ok(Flow::Continue) };
        if self.notified.contains(&next.notice.call) {
            self.notices.pop_front();
            return Ok(Flow::Continue);
        }
        let markdown = turn.worker.redactor.own(&next.notice.markdown).into_owned();
        let shown = turn.text(markdown);
        let flow = turn.record(ConversationChange {
            shows_id: Some(next.id.clone()),
            attempt: std::mem::replace(&mut next.attempt, Attempt::Repeated),
            terms: Precondition::Always,
            ..turn.change(vec![], vec![shown])
        });
        let flow = flow.await?;
        if let Some(PendingNotice { notice, .. }) = self.notices.pop_front() {
            self.notified.insert(notice.call);
            let _ = notice.recorded.send(());
        }
        Ok(flow)
    }

    /// Records the elicitation and shows it.
    async fn request(&mut self, turn: &Turn<'_>, next: Elicitation) -> Result<Flow> {
        let open = turn.session.open_calls().find(|open| open.call.id == next.call);
        let Some(call) = open.map(|open| &open.call) else { return Ok(Flow::Continue) };
        if turn.retry_read(|| approval_requests::approvals_left(turn)).await? == 0 {
            tracing::warn!(
                tool.name = call.tool,
                "elicitation rejected: too many in the last hour"
            );
            return Ok(Flow::Continue);
        }
        let asked = approval_request(turn, &next);
        let open = OpenElicitation { call: next.call, waits: Some(next.answer) };
        let id = asked.id.clone();
        self.open.insert(id.clone(), open);
        let facts = vec![audit::asked(turn, call, &next.prompt.server, &asked)];
        let change = turn.change(vec![asked.event()], vec![]);
        let change =
            ConversationChange { asked: vec![asked], facts, terms: Precondition::Always, ..change };
        turn.record(change).await.inspect_err(|_| {
            // Dropping the sender tells the call that nobody will answer, so it does not wait.
            self.open.remove(&id);
        })
    }

    /// Passes a decision to the call that waits for it.
    pub fn notify(&mut self, entry: &Entry) {
        let Event::ApprovalDecided { approval, decision, by, .. } = &entry.event else { return };
        let Some(waits) = self.open.remove(approval).and_then(|open| open.waits) else { return };
        let answer = match (decision, by) {
            (Decision::Answer { text }, _) => ElicitationAnswer::Given(text.clone()),
            (_, Decider::Person(_)) => ElicitationAnswer::Declined,
            (_, Decider::Timeout | Decider::Undeliverable) => ElicitationAnswer::Nobody,
        };
        // The call may have ended in the meantime.
        let _ = waits.send(answer);
    }

    /// Withdraws the elicitations of a call that has ended.
    pub async fn end(&mut self, turn: &Turn<'_>, call: &CallId) -> Result<()> {
        self.notified.remove(call);
        if self.open.values().all(|open| open.call != *call) {
            return Ok(());
        }
        withdraw(turn, Some(call.clone())).await?;
        self.open.retain(|_, open| open.call != *call);
        Ok(())
    }

    /// Ends all elicitations without an answer, on shutdown.
    pub fn give_up(&mut self) {
        self.received.close();
        while self.received.try_recv().is_ok() {}
        self.notices.clear();
        self.open.values_mut().for_each(|open| open.waits = None);
    }
}

/// Withdraws elicitations of calls that ended with another node. No call of a new turn waits for
/// them.
pub(super) async fn withdraw_orphaned(turn: &Turn<'_>) -> Result<()> {
    if turn.session.open_calls().next().is_none() {
        return Ok(());
    }
    withdraw(turn, None).await
}

async fn withdraw(turn: &Turn<'_>, call: Option<CallId>) -> Result<()> {
    let gateway = &turn.worker.gateway;
    let (lease, now) = (turn.claimed.lease.clone(), gateway.clock.now());
    let withdraw = gateway.store.write("withdraw answers", move |tx| {
        Box::pin(async move { withdrawal::answers(tx, &lease, call.as_ref(), now).await })
    });
    withdraw.await
}

/// Addressed only to the requester of the call.
fn approval_request(turn: &Turn<'_>, next: &Elicitation) -> NewApproval {
    let Elicitation { call, prompt, .. } = next;
    let (id, words) = (ApprovalId::new(), turn.claimed.words());
    let title = words.approval_title(ApprovalPurpose::Answer, &prompt.server);
    let code = approvals::code(&id);
    let shown = words.asked(&prompt.asked, prompt.typed.then_some(code.as_str()));
    let markdown = turn.worker.redactor.own(&format!("{title}\n\n{shown}")).into_owned();
    let choices = words.answers(&prompt.options);
    let buttons = choices.iter().map(|choice| choice.button).collect();
    let offers = Offers { buttons, typed: prompt.typed };
    let arguments = json!({
        "server": prompt.server,
        "message": prompt.asked.message,
        "field": prompt.asked.field,
        "options": prompt.options,
    });
    let (approval, reply_to) = (id.to_string(), turn.reply_to());
    NewApproval {
        call: call.clone(),
        asks: ApprovalPurpose::Answer,
        tool: prompt.server.clone(),
        digest: files::digest_of(canonical(&arguments).as_bytes()),
        title,
        arguments,
        requester: turn.requester(),
        approvers: Approvers::default(),
        proposal: None,
        offers,
        expires_at: turn.worker.gateway.clock.now() + WAITS_FOR,
        file: None,
        shows: approval_requests::parts(
            turn,
            Outgoing::Approval { markdown, approval, choices, reply_to },
        ),
        id,
    }
}
