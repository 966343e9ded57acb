//! Fails a turn: people get one sentence, and operators find the cause by its reference.

use anyhow::Result;
use channels::PlaceKind;

use super::{
    delegate, guard_context, hooks,
    turn::{Flow, Turn},
};
use crate::{
    agent::redact::Redactor,
    journal::{
        event::{Event, Usage},
        ids::FailureReference,
        role::Role,
    },
    store::conversations::record::{ConversationChange, Precondition},
};

/// The maximum length of a cause, in characters.
const CAUSE_CHARS: usize = 1_000;

/// A turn that fails.
pub(super) struct FailedTurn {
    /// The text for the person.
    pub reason: String,
    /// The technical cause, for operators.
    pub cause: Option<String>,
    /// Events to record first.
    pub events: Vec<Event>,
}

impl FailedTurn {
    pub fn new(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), cause: None, events: Vec::new() }
    }

    pub fn because(self, cause: impl Into<String>) -> Self {
        Self { cause: Some(cause.into()), ..self }
    }

    pub fn after(self, events: Vec<Event>) -> Self {
        Self { events, ..self }
    }
}

/// The cause as it is stored and shown: without secrets, and truncated.
pub(super) fn clean(redactor: &Redactor, cause: &str) -> String {
    redactor.text(cause).chars().filter(|c| *c != '\0').take(CAUSE_CHARS).collect()
}

impl Turn<'_> {
    /// Fails the turn and tells the person. The reference in the message identifies the turn in the
    /// console and in the log.
    pub async fn fail(&self, failed: FailedTurn) -> Result<Flow> {
        let FailedTurn { reason, cause, mut events } = failed;
        let conversation = self.claimed.lease.conversation().clone();
        let upto = self.session.seq;
        let reference = FailureReference { conversation, upto }.to_string();
        let cause = cause.map(|cause| clean(&self.worker.redactor, &cause));
        tracing::warn!(
            conversation.id = %self.claimed.lease.conversation(), agent.id = self.agent.id,
            reference, reason, cause, "turn failed"
        );
        let failure = hooks::on_error(self, &reason).await;
        events.extend(failure.events);
        let reason = failure.reason;
        let (shown, answer) = if let Some(text) = &failure.answer {
            (text.clone(), delegate::answer(self, text, 0).await)
        } else {
            let shown_reason = self.reason_with_cause(&reason, cause.as_deref()).await;
            let shown = self.claimed.words().failed(&shown_reason, &reference);
            (shown, delegate::failure(self.worker, self.claimed, &self.session, &reason))
        };
        events.push(Event::Failed { reason, reference, upto, cause });
        if let Some(text) = failure.answer {
            let (calls, usage) = (vec![], Usage::default());
            events.push(Event::Replied { text, calls, upto, usage });
        }
        let change = self.change(events, vec![self.text(shown)]);
        let answers = self.answers();
        self.record(ConversationChange {
            terms: Precondition::IfCurrentThenRest,
            answer,
            answers,
            ..change
        })
        .await
    }

    /// The reason. It includes the cause if an owner is alone with the bot.
    async fn reason_with_cause(&self, reason: &str, cause: Option<&str>) -> String {
        let is_private = self.claimed.place.kind == PlaceKind::Private;
        let Some(cause) = cause.filter(|_| is_private && self.claimed.sub_agent.is_none()) else {
            return reason.to_owned();
        };
        // Before the first reply of a turn there is no requester yet.
        let people = self.session.speaks_for(self.session.seq).into_iter().collect();
        let role = guard_context::min_role(self, &self.claimed.channel, people).await;
        match role {
            Ok((_, Role::Owner)) => self.claimed.words().with_cause(reason, cause),
            Ok(_) => reason.to_owned(),
            Err(problem) => {
                tracing::warn!(problem = format!("{problem:#}"), "could not read a role");
                reason.to_owned()
            }
        }
    }
}
