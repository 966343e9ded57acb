//! Changes that a worker records under its lease.

use anyhow::Result;
use channels::Outgoing;
use chrono::{DateTime, Utc};
use std::collections::BTreeMap;

use super::{
    journal,
    numbers::{Assigned, NumberRequest, assign_numbers, enter_usage, insert_events},
    task_answer::TaskAnswer,
    tasks::{self, Delegation, TaskEffects},
};
use crate::{
    journal::{
        event::{Event, Seq, Status},
        ids::{GrantId, OutboxId},
    },
    store::{
        Store, Tx,
        approvals::{self, grants, request::NewApproval, withdrawal},
        audit::{self, Fact},
        conversations,
        db::{
            WriteMode, sql,
            unreadable::{self, JsonTable},
        },
        leases::{self, Lease},
        outbox::{self, InsertPosition, Position, album},
        usage::UsageRecord,
    },
};

/// A change of a conversation. It is recorded as a whole or not at all.
#[derive(Debug, Clone, Default)]
pub struct ConversationChange {
    pub events: Vec<Event>,
    /// Messages for the outbox, in order.
    pub shows: Vec<Outgoing>,
    /// The id of the first message, for a change without events that may be repeated.
    pub shows_id: Option<OutboxId>,
    /// How long pictures wait for more pictures of the same album.
    pub shows_wait: Option<DateTime<Utc>>,
    /// The first event of the turn that the first text answers. The text takes over the draft
    /// message of that turn.
    pub answers: Option<Seq>,
    pub asked: Vec<NewApproval>,
    /// Records for the audit.
    pub facts: Vec<Fact>,
    /// Usage for the daily account.
    pub used: Vec<UsageRecord>,
    /// The grants used by the calls that start with this change, once each.
    pub spends: Vec<GrantId>,
    /// The number of runs of each tool with a limit. The whole delegation shares the limits.
    pub runs: BTreeMap<String, u32>,
    /// Tasks for sub-agents, which start with this change.
    pub delegates: Vec<Delegation>,
    /// The answer to the task that this conversation was created for.
    pub answer: Option<TaskAnswer>,
    /// The last event that the worker had read.
    pub seen: Seq,
    pub terms: Precondition,
    pub attempt: Attempt,
}

/// Whether a change may already have been recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Attempt {
    #[default]
    First,
    /// The response to an earlier attempt was lost, or was an error.
    Repeated,
}

/// The condition for recording a change, and what happens to the lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Precondition {
    /// Recorded only if there are no newer events.
    #[default]
    IfCurrent,
    /// Like `IfCurrent`, and then the lease is released because there is nothing left to do.
    IfCurrentThenRest,
    /// Recorded regardless of newer events, because it is a result.
    Always,
}

/// When to retry a conversation whose turn failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deferral {
    /// The number of consecutive failed turns.
    pub failures: u32,
    pub not_before: DateTime<Utc>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recorded {
    Done,
    /// Recorded, and the lease was released.
    Rested,
    /// Not recorded: there are newer events.
    Behind,
    /// Not recorded: another worker has the lease.
    Fenced,
}

impl Store {
    /// Records a change under its lease.
    pub async fn record(
        &self,
        lease: &Lease,
        change: ConversationChange,
        now: DateTime<Utc>,
    ) -> Result<Recorded> {
        let lease = lease.clone();
        let recorded = self.write("record", move |tx| Box::pin(record(tx, lease, change, now)));
        match recorded.await {
            Err(problem) if problem.is::<grants::GrantNotUsable>() => Ok(Recorded::Behind),
            recorded => recorded,
        }
    }

    /// Releases the lease, unless there are events that this worker has not read.
    pub async fn rest(&self, lease: &Lease, seen: Seq) -> Result<Recorded> {
        let lease = lease.clone();
        // A power failure ends the holder: the conversation is claimed again, and nothing is left
        // to do.
        self.write_with((), "release finished", WriteMode::VOLATILE, move |tx| {
            Box::pin(rest(tx, lease, seen))
        })
        .await
    }

    /// Releases the lease after a failed turn. No node retries before `not_before`.
    pub async fn defer(&self, lease: &Lease, deferral: Deferral) -> Result<()> {
        let lease = lease.clone();
        self.write("defer", move |tx| Box::pin(defer(tx, lease, deferral))).await
    }

    /// Releases the lease with work left to do.
    pub async fn release(&self, lease: &Lease) -> Result<()> {
        let lease = lease.clone();
        // A power failure ends the holder.
        self.write_with((), "release", WriteMode::VOLATILE, move |tx| Box::pin(release(tx, lease)))
            .await
    }

    /// Releases a conversation that has an event which only a newer release can read; `false` if
    /// that is not the problem. This process skips it for a while; another may claim it
    /// immediately.
    pub async fn leave_unreadable(&self, lease: &Lease, problem: &anyhow::Error) -> Result<bool> {
        if problem
            .chain()
            .find_map(|cause| cause.downcast_ref::<journal::UnreadableEvent>())
            .is_none()
        {
            return Ok(false);
        }
        unreadable::set_aside(JsonTable::Conversations, lease.conversation().as_str(), problem);
        self.release(lease).await?;
        Ok(true)
    }
}

async fn record(
    tx: &mut Tx<'_>,
    lease: Lease,
    change: ConversationChange,
    now: DateTime<Utc>,
) -> Result<Recorded> {
    if change.attempt == Attempt::Repeated
        && leases::lock(tx, &lease).await?
        && is_recorded(tx, &lease, &change).await?
    {
        return Ok(match change.terms {
            Precondition::IfCurrentThenRest => Recorded::Rested,
            Precondition::IfCurrent | Precondition::Always => Recorded::Done,
        });
    }
    let starts = change.events.iter().any(|event| matches!(event, Event::ToolStarted { .. }));
    if starts {
        grants::lock_against_halt(tx).await?;
        if grants::halted_by(tx).await?.is_some() {
            return Ok(Recorded::Behind);
        }
    }
    let Some(assigned) = assign_numbers(tx, &lease, numbers_for(&change)).await? else {
        return refused(tx, &lease).await;
    };
    let last = assigned.last_seq;
    for grant in &change.spends {
        grants::spend(tx, grant, now).await?;
    }
    insert_events(tx, &lease, assigned, &change.events, now).await?;
    let shown = OutboxPart {
        at_new_event: !change.events.is_empty(),
        what: change.shows,
        first_id: change.shows_id,
        wait: change.shows_wait,
        answers: change.answers,
        approvals: change.asked,
    };
    show(tx, &lease, assigned, shown, now).await?;
    if change.events.iter().any(|event| matches!(event, Event::Failed { .. })) {
        let the_bot = conversations::words(tx, &lease.conversation).await?.the_bot;
        withdrawal::all(tx, &lease.conversation, Status::Withdrawn, the_bot, now).await?;
        tasks::abandon(tx, &lease.conversation, now).await?;
    }
    audit::append(tx, lease.conversation.as_str(), change.facts, now).await?;
    let effects = TaskEffects {
        inherited: tasks::passed_on(&change.events, change.runs),
        delegates: change.delegates,
        answer: change.answer,
    };
    tasks::propagate(tx, &lease, effects, now).await?;
    // Locked after all rows of conversations, so that a transaction that has locked one of these
    // totals never waits for a conversation.
    enter_usage(tx, &lease, assigned, change.used, now).await?;
    // Nobody is notified: the worker that records this holds the lease, and reads its own events.
    match change.terms {
        Precondition::IfCurrentThenRest if assigned.rested == 0 => rest(tx, lease, last).await,
        Precondition::IfCurrentThenRest => Ok(Recorded::Rested),
        Precondition::IfCurrent | Precondition::Always => Ok(Recorded::Done),
    }
}

/// After a failed turn, withdrawn approvals append further events.
fn numbers_for(change: &ConversationChange) -> NumberRequest {
    let failed = change.events.iter().any(|event| matches!(event, Event::Failed { .. }));
    NumberRequest {
        count: change.events.len(),
        only_after: (change.terms != Precondition::Always).then_some(change.seen),
        rests: change.terms == Precondition::IfCurrentThenRest && !failed,
    }
}

/// Whether an earlier attempt has recorded this change. The row of the lease is locked, so an
/// attempt whose connection was lost is committed or rolled back by now.
async fn is_recorded(tx: &mut Tx<'_>, lease: &Lease, change: &ConversationChange) -> Result<bool> {
    // The last event of a change names its call, or is the only one.
    let Some(event) = change.events.last() else {
        let Some(id) = &change.shows_id else { return Ok(false) };
        return outbox::contains(tx, id).await;
    };
    let found: Option<(i64,)> = sql!(
        tx,
        fetch_optional,
        "
        -- is recorded
        SELECT seq FROM events
        WHERE conversation = $1 AND seq > $2 AND fence = $3 AND body = $4
        LIMIT 1",
        lease.conversation.as_str(),
        change.seen,
        lease.fence,
        serde_json::to_string(event)?
    );
    Ok(found.is_some())
}

/// The part of a change that goes into the outbox.
struct OutboxPart {
    /// Whether this transaction has recorded the event at which it is shown.
    at_new_event: bool,
    what: Vec<Outgoing>,
    first_id: Option<OutboxId>,
    wait: Option<DateTime<Utc>>,
    answers: Option<Seq>,
    approvals: Vec<NewApproval>,
}

/// Messages of a sub-agent are shown in the conversation that it works for.
async fn show(
    tx: &mut Tx<'_>,
    lease: &Lease,
    assigned: Assigned,
    shown: OutboxPart,
    now: DateTime<Utc>,
) -> Result<()> {
    let OutboxPart { at_new_event, what, first_id, wait, answers, approvals } = shown;
    if what.is_empty() && approvals.is_empty() && wait.is_none() {
        return Ok(());
    }
    let home = lease.home();
    let is_home = *home == lease.conversation;
    let Position { seq, part } = if is_home && at_new_event {
        // Nothing else is shown at a new event yet.
        Position { seq: assigned.last_seq, part: 0 }
    } else {
        outbox::end(tx, home).await?
    };
    let takes_draft = assigned.drafts > 0;
    let position = InsertPosition { seq, part, first_id, answers, takes_draft, now };
    outbox::put_rows(tx, home, position, what).await?;
    if let Some(until) = wait {
        album::wait(tx, home, until).await?;
    }
    for asked in approvals {
        approvals::ask(tx, &lease.conversation, home, asked, now).await?;
    }
    Ok(())
}

async fn refused(tx: &mut Tx<'_>, lease: &Lease) -> Result<Recorded> {
    let held: Option<(i64,)> = sql!(
        tx,
        fetch_optional,
        "
        -- is the lease held?
        SELECT last_seq FROM conversations
        WHERE id = $1 AND lease_node = $2 AND fence = $3",
        lease.conversation.as_str(),
        lease.node.as_str(),
        lease.fence
    );
    Ok(if held.is_some() { Recorded::Behind } else { Recorded::Fenced })
}

async fn rest(tx: &mut Tx<'_>, lease: Lease, seen: Seq) -> Result<Recorded> {
    let rested = sql!(
        tx,
        execute,
        "
        -- release a finished conversation
        UPDATE conversations
        SET ready_at = NULL, lease_until = 0, failures = 0
        WHERE id = $1 AND lease_node = $2 AND fence = $3 AND last_seq = $4",
        lease.conversation.as_str(),
        lease.node.as_str(),
        lease.fence,
        seen
    );
    if rested > 0 {
        return Ok(Recorded::Rested);
    }
    refused(tx, &lease).await
}

async fn defer(tx: &mut Tx<'_>, lease: Lease, deferral: Deferral) -> Result<()> {
    sql!(
        tx,
        execute,
        "
        -- defer a conversation
        UPDATE conversations
        SET lease_until = 0, failures = $1, not_before = $2
        WHERE id = $3 AND lease_node = $4 AND fence = $5",
        i64::from(deferral.failures),
        deferral.not_before.timestamp_millis(),
        lease.conversation.as_str(),
        lease.node.as_str(),
        lease.fence
    );
    Ok(())
}

async fn release(tx: &mut Tx<'_>, lease: Lease) -> Result<()> {
    sql!(
        tx,
        execute,
        "
        -- release a lease
        UPDATE conversations
        SET lease_until = 0
        WHERE id = $1 AND lease_node = $2 AND fence = $3",
        lease.conversation.as_str(),
        lease.node.as_str(),
        lease.fence
    );
    tx.wakeups.conversations.push(lease.conversation);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::scratch::{Scratch, on_postgres, on_sqlite};

    /// A call whose grant has been used or revoked in the meantime does not start, and its turn
    /// judges it again.
    async fn a_call_does_not_start_without_its_grant(scratch: Scratch) {
        scratch.begin_conversation().await;
        let (store, now) = (scratch.store.clone(), DateTime::UNIX_EPOCH);
        let claimed = store.claim(1, now).await.unwrap().pop().expect("it is ready");
        for (spends, recorded) in
            [(vec![GrantId::new()], Recorded::Behind), (vec![], Recorded::Done)]
        {
            let events = vec![Event::ToolStarted { call: "x".into() }];
            let change =
                ConversationChange { events, spends, seen: 1, ..ConversationChange::default() };
            assert_eq!(store.record(&claimed.lease, change, now).await.unwrap(), recorded);
            assert_eq!(scratch.count("events").await, i64::from(recorded == Recorded::Done));
        }
        drop((claimed, store));
        scratch.end().await;
    }

    #[tokio::test]
    async fn a_call_does_not_start_without_its_grant_on_sqlite() {
        a_call_does_not_start_without_its_grant(on_sqlite().await).await;
    }

    #[tokio::test]
    async fn a_call_does_not_start_without_its_grant_on_postgres() {
        a_call_does_not_start_without_its_grant(on_postgres().await).await;
    }
}
