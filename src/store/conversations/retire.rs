//! Retires whole conversations and deletes them in slices: those of a person who is erased, and
//! those past their retention.

use anyhow::Result;
use chrono::{DateTime, Utc};
use std::collections::BTreeSet;

use super::{journal, mentions, tasks};
use crate::{
    journal::ids::ConversationId,
    store::{
        Store, Tx,
        approvals::{self, attachments},
        audit::{self, AuditKind, Fact},
        conversations,
        db::{row::row, sql},
        erasure::pending::{self, Erased, Erasure, ErasureStep, SLICE, StepKind},
        memory,
    },
};

/// The maximum number of conversations that one transaction retires.
const AT_ONCE: i64 = 100;

impl Store {
    /// Begins to delete the conversations of sub-agents that began before the given time and have
    /// returned their answers. `None` if there are none.
    pub async fn expire_sub_agents(
        &self,
        before: DateTime<Utc>,
        now: DateTime<Utc>,
    ) -> Result<Option<Erasure>> {
        let ended = self.read(move |tx| Box::pin(ended_sub_agents(tx, before))).await?;
        self.expire(ended, now).await
    }

    /// Begins to delete conversations that have been idle since the given time, starting with those
    /// created after `after`. Returns the position to continue from, if there may be more.
    pub async fn expire_idle(
        &self,
        before: DateTime<Utc>,
        after: CreationPosition,
        now: DateTime<Utc>,
    ) -> Result<(Option<Erasure>, Option<CreationPosition>)> {
        let (idle, next) = self.read(move |tx| Box::pin(idle(tx, before, after))).await?;
        Ok((self.expire(idle, now).await?, next))
    }

    async fn expire(
        &self,
        conversations: Vec<ConversationId>,
        now: DateTime<Utc>,
    ) -> Result<Option<Erasure>> {
        if conversations.is_empty() {
            return Ok(None);
        }
        let id = uuid::Uuid::now_v7().simple().to_string();
        let erasure = Erasure { id, channel: String::new(), person: String::new() };
        self.write("expire conversations", move |tx| {
            Box::pin(async move {
                let begun = expire(tx, &erasure, conversations, now).await?;
                Ok(begun.then_some(erasure))
            })
        })
        .await
    }
}

/// A position among conversations ordered by creation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CreationPosition {
    created_at: i64,
    id: String,
}

async fn ended_sub_agents(tx: &mut Tx<'_>, before: DateTime<Utc>) -> Result<Vec<ConversationId>> {
    let rows: Vec<(String,)> = sql!(
        tx,
        fetch_all,
        "
        -- ended sub-agents
        SELECT c.id FROM conversations c
        JOIN tasks t ON t.conversation = c.id
        WHERE c.root IS NOT NULL AND c.created_at < $1 AND c.ready_at IS NULL
          AND c.thread <> 'erased'
          AND NOT EXISTS (
              SELECT 1 FROM tasks o
              WHERE o.parent = t.parent AND o.call = t.call AND o.status IN ('open', 'background')
          )
          AND NOT EXISTS (SELECT 1 FROM tasks below WHERE below.parent = c.id)
        ORDER BY c.created_at, c.id
        LIMIT $2",
        before.timestamp_millis(),
        AT_ONCE
    );
    Ok(rows.into_iter().map(|(id,)| ConversationId(id)).collect())
}

row! {
    /// A conversation, and 1 if nothing happens in it.
    struct RetirementRow {
        id: String,
        created_at: i64,
        idle: i64,
    }
}

async fn idle(
    tx: &mut Tx<'_>,
    before: DateTime<Utc>,
    after: CreationPosition,
) -> Result<(Vec<ConversationId>, Option<CreationPosition>)> {
    let rows: Vec<RetirementRow> = sql!(
        tx,
        fetch_all,
        "
        -- idle conversations
        SELECT c.id, c.created_at, CASE
            WHEN c.root IS NULL AND c.ready_at IS NULL AND c.thread <> 'erased'
                AND COALESCE((
                    SELECT e.at FROM events e
                    WHERE e.conversation = c.id AND e.seq = c.last_seq
                ), 0) < $1
                AND NOT EXISTS (
                    SELECT 1 FROM schedules s
                    WHERE s.conversation = c.id AND s.status IN ('waiting', 'paused')
                )
                AND NOT EXISTS (
                    SELECT 1 FROM jobs j
                    WHERE j.conversation = c.id AND j.status IN ('running', 'ended')
                )
                AND NOT EXISTS (
                    SELECT 1 FROM outbox o
                    WHERE o.conversation = c.id AND o.status = 'waiting'
                )
            THEN CAST(1 AS BIGINT) ELSE CAST(0 AS BIGINT) END AS idle
        FROM conversations c
        WHERE c.created_at < $1 AND c.created_at >= $2 AND (c.created_at, c.id) > ($2, $3)
        ORDER BY c.created_at, c.id
        LIMIT $4",
        before.timestamp_millis(),
        after.created_at,
        after.id,
        AT_ONCE
    );
    let last = rows.last().filter(|_| rows.len() as i64 == AT_ONCE);
    let next = last.map(|row| CreationPosition { created_at: row.created_at, id: row.id.clone() });
    let idle = rows.into_iter().filter(|row| row.idle > 0);
    Ok((idle.map(|row| ConversationId(row.id)).collect(), next))
}

/// Retires the conversations that are not busy. Returns whether there were any.
async fn expire(
    tx: &mut Tx<'_>,
    erasure: &Erasure,
    candidates: Vec<ConversationId>,
    now: DateTime<Utc>,
) -> Result<bool> {
    let mut begun = false;
    for root in candidates {
        let family = with_sub_agents(tx, vec![root]).await?;
        let mut busy = false;
        for conversation in &family {
            journal::lock(tx, conversation).await?;
            busy |= is_busy(tx, conversation).await?;
        }
        if busy {
            continue;
        }
        if !begun {
            pending::insert(tx, erasure, &Fact::new(AuditKind::ConversationsExpired, ""), now)
                .await?;
            begun = true;
        }
        for conversation in &family {
            retire(tx, conversation).await?;
            pending::insert_step(tx, erasure, conversation, StepKind::Own).await?;
        }
    }
    Ok(begun)
}

/// These conversations and their sub-agents.
pub(in crate::store) async fn with_sub_agents(
    tx: &mut Tx<'_>,
    mut all: Vec<ConversationId>,
) -> Result<Vec<ConversationId>> {
    for root in all.clone() {
        let below = tasks::begun_for(tx, &root).await?;
        all.extend(below.into_iter().filter(|child| !all.contains(child)).collect::<Vec<_>>());
    }
    Ok(all)
}

/// Whether a worker is advancing the conversation, or an approval is open in it.
pub(in crate::store) async fn is_busy(
    tx: &mut Tx<'_>,
    conversation: &ConversationId,
) -> Result<bool> {
    let asked = !approvals::pending(tx, conversation).await?.is_empty();
    let shown = !approvals::shown_in(tx, conversation).await?.is_empty();
    let (ready,): (i64,) = sql!(
        tx,
        fetch_one,
        "
        -- is running
        SELECT COUNT(ready_at) FROM conversations
        WHERE id = $1",
        conversation.as_str()
    );
    Ok(asked || shown || ready > 0)
}

/// Retires a conversation: it is no longer found by its place, none of its messages are sent and
/// none of its schedules run. The next message begins a new conversation.
pub(in crate::store) async fn retire(tx: &mut Tx<'_>, conversation: &ConversationId) -> Result<()> {
    sql!(
        tx,
        execute,
        "
        -- erase the place of a conversation
        UPDATE conversations
        SET chat = id, thread = 'erased', person = '', owner = '', ready_at = NULL
        WHERE id = $1",
        conversation.as_str()
    );
    sql!(
        tx,
        execute,
        "
        -- delete the schedules of a retired conversation
        DELETE FROM schedules
        WHERE conversation = $1",
        conversation.as_str()
    );
    sql!(
        tx,
        execute,
        "
        -- delete the jobs of a retired conversation
        DELETE FROM jobs
        WHERE conversation = $1",
        conversation.as_str()
    );
    conversations::close(tx, conversation).await
}

/// Deletes some rows of a conversation and records the files that they referred to. Returns the
/// number of rows.
pub(in crate::store) async fn delete_slice(tx: &mut Tx<'_>, step: ErasureStep) -> Result<usize> {
    let conversation = step.conversation.as_str();
    let mut rows: Vec<(String,)> = sql!(
        tx,
        fetch_all,
        "
        -- erase events
        DELETE FROM events
        WHERE conversation = $1 AND seq IN (
            SELECT seq FROM events
            WHERE conversation = $1
            ORDER BY seq
            LIMIT $2
        )
        RETURNING body",
        conversation,
        SLICE as i64
    );
    if rows.is_empty() {
        rows = sql!(
            tx,
            fetch_all,
            "
            -- erase outbox rows
            DELETE FROM outbox
            WHERE id IN (
                SELECT id FROM outbox
                WHERE conversation = $1
                ORDER BY seq, part
                LIMIT $2
            )
            RETURNING body",
            conversation,
            SLICE as i64
        );
    }
    let files: BTreeSet<_> =
        rows.iter().flat_map(|(body,)| mentions::digests_in(body)).map(str::to_owned).collect();
    pending::keep_files(tx, &step.erasure, &files).await?;
    Ok(rows.len())
}

/// Deletes a conversation with all rows that refer to it.
pub(in crate::store) async fn remove(
    tx: &mut Tx<'_>,
    step: ErasureStep,
    now: DateTime<Utc>,
) -> Result<()> {
    let conversation = &step.conversation;
    memory::clear(tx, conversation.as_str(), "%").await?;
    let files: BTreeSet<_> =
        attachments::of_conversation(tx, conversation).await?.into_iter().collect();
    pending::keep_files(tx, &step.erasure, &files).await?;
    let statements = [
        "DELETE FROM sessions WHERE conversation = $1",
        "DELETE FROM approval_tokens WHERE approval IN (SELECT id FROM approvals WHERE conversation = $1)",
        "DELETE FROM votes WHERE approval IN (SELECT id FROM approvals WHERE conversation = $1)",
        "DELETE FROM grants WHERE scope = 'conversation' AND owner = $1",
        "DELETE FROM approvals WHERE conversation = $1",
        "DELETE FROM drafts WHERE conversation = $1",
        "DELETE FROM schedules WHERE conversation = $1",
        "DELETE FROM jobs WHERE conversation = $1",
        "DELETE FROM usage WHERE conversation = $1",
        "DELETE FROM tasks WHERE conversation = $1 OR parent = $1",
        "DELETE FROM mentions WHERE conversation = $1",
        "DELETE FROM participants WHERE conversation = $1",
        "DELETE FROM completions WHERE conversation = $1",
    ];
    for statement in statements {
        sql!(tx, execute, statement, conversation.as_str());
    }
    let removed = sql!(
        tx,
        execute,
        "
        -- erase a conversation
        DELETE FROM conversations
        WHERE id = $1",
        conversation.as_str()
    );
    audit::cut_off(tx, conversation.as_str(), now).await?;
    pending::count(tx, &step.erasure, Erased { conversations: removed as i64, ..Erased::default() })
        .await
}
