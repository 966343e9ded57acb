//! How approvals are displayed: edited in place, sent again, moved.

use anyhow::Result;
use channels::Outgoing;
use chrono::{DateTime, Utc};

use super::request::Approval;
use crate::{
    journal::ids::{ApprovalId, ConversationId, OutboxId},
    store::{
        Tx,
        db::sql,
        outbox::{self, Due, OutboxRow, Position},
    },
};

/// Sends the messages of an approval. Returns the last one, which has the buttons.
pub(super) async fn show_parts(
    tx: &mut Tx<'_>,
    approval: &ApprovalId,
    shown_in: &ConversationId,
    parts: &[Outgoing],
    now: DateTime<Utc>,
) -> Result<OutboxId> {
    let mut message = OutboxId::new();
    let Position { seq, part: first } = outbox::end(tx, shown_in).await?;
    for (what, part) in parts.iter().zip(first..) {
        message = OutboxId::new();
        let row = OutboxRow {
            id: message.clone(),
            seq,
            part,
            edits: None,
            approval: Some(approval.clone()),
            turn: None,
            due: Due::Now,
        };
        outbox::insert(tx, shown_in, row, what, now).await?;
    }
    Ok(message)
}

/// Updates the displayed approval.
pub async fn redraw(
    tx: &mut Tx<'_>,
    approval: &Approval,
    what: Outgoing,
    now: DateTime<Utc>,
) -> Result<()> {
    let Position { seq, part } = outbox::end(tx, &approval.shown_in).await?;
    let edits = Some(approval.message.clone());
    let row = OutboxRow {
        id: OutboxId::new(),
        seq,
        part,
        edits,
        approval: None,
        turn: None,
        due: Due::Now,
    };
    outbox::insert(tx, &approval.shown_in, row, &what, now).await
}

/// Sends the outcome of an approval as a new message, where its message cannot be edited.
pub async fn send_outcome(
    tx: &mut Tx<'_>,
    conversation: &ConversationId,
    what: &Outgoing,
    now: DateTime<Utc>,
) -> Result<()> {
    let Position { seq, part } = outbox::end(tx, conversation).await?;
    let row = OutboxRow {
        id: OutboxId::new(),
        seq,
        part,
        edits: None,
        approval: None,
        turn: None,
        due: Due::Now,
    };
    if let Some(approval) = what.approval() {
        sql!(
            tx,
            execute,
            "
            -- move the buttons to that row
            UPDATE approvals
            SET question = $1
            WHERE id = $2",
            row.id.as_str(),
            approval
        );
    }
    outbox::insert(tx, conversation, row, what, now).await
}

/// Shows the approval again at the end of the conversation, because its earlier message is no
/// longer visible.
pub async fn show_again(
    tx: &mut Tx<'_>,
    approval: &Approval,
    into: &ConversationId,
    ahead: Option<String>,
    now: DateTime<Utc>,
) -> Result<()> {
    let parts = take_parts(tx, &approval.id).await?;
    let ahead = ahead.map(|markdown| Outgoing::Text { markdown, reply_to: None });
    let parts: Vec<_> = ahead.into_iter().chain(parts).collect();
    let message = show_parts(tx, &approval.id, into, &parts, now).await?;
    sql!(
        tx,
        execute,
        "
        -- shown in another place
        UPDATE approvals
        SET question = $1, shown_in = $2
        WHERE id = $3",
        message.as_str(),
        into.as_str(),
        approval.id.as_str()
    );
    Ok(())
}

/// The approval that a row is part of, and the row that it edits.
pub async fn approval_and_edited_row(
    tx: &mut Tx<'_>,
    id: &OutboxId,
) -> Result<(Option<ApprovalId>, Option<OutboxId>)> {
    let (approval, edits): (Option<String>, Option<String>) = sql!(
        tx,
        fetch_one,
        "
        -- approval and edits of a row
        SELECT approval, edits FROM outbox
        WHERE id = $1",
        id.as_str()
    );
    Ok((approval.map(ApprovalId), edits.map(OutboxId)))
}

/// The contents of a row.
pub async fn what(tx: &mut Tx<'_>, id: &OutboxId) -> Result<Outgoing> {
    let (body,): (String,) = sql!(
        tx,
        fetch_one,
        "
        -- content of a row
        SELECT body FROM outbox
        WHERE id = $1",
        id.as_str()
    );
    Ok(serde_json::from_str(&body)?)
}

/// Detaches the rows of an approval and returns them. Those that were not sent yet are dropped.
pub(in crate::store) async fn take_parts(
    tx: &mut Tx<'_>,
    approval: &ApprovalId,
) -> Result<Vec<Outgoing>> {
    let parts = parts(tx, approval).await?;
    drop_parts(tx, approval).await?;
    Ok(parts)
}

/// The rows of an approval, in order.
pub async fn parts(tx: &mut Tx<'_>, approval: &ApprovalId) -> Result<Vec<Outgoing>> {
    let bodies: Vec<(String,)> = sql!(
        tx,
        fetch_all,
        "
        -- parts of an approval
        SELECT body FROM outbox
        WHERE approval = $1
        ORDER BY seq, part, id",
        approval.as_str()
    );
    bodies.into_iter().map(|(body,)| Ok(serde_json::from_str(&body)?)).collect()
}

/// Drops the rows of an approval that were not sent yet, so that its buttons are never shown
/// without the text.
pub async fn drop_parts(tx: &mut Tx<'_>, approval: &ApprovalId) -> Result<()> {
    sql!(
        tx,
        execute,
        "
        -- drop the parts of an approval
        UPDATE outbox
        SET status = CASE WHEN status = 'waiting' THEN 'refused' ELSE status END, approval = NULL
        WHERE approval = $1",
        approval.as_str()
    );
    tx.wakeups.any_send();
    Ok(())
}
