//! Where and how questions are shown: edited in place, said anew, moved.

use anyhow::Result;
use channels::Outgoing;
use chrono::{DateTime, Utc};

use super::{
    Tx,
    approvals::Approval,
    db::sql,
    journal,
    outbox::{self, Row},
};
use crate::journal::ids::{ConversationId, OutboxId};

/// Replaces the question, as it is shown.
pub async fn redraw(
    tx: &mut Tx<'_>,
    approval: &Approval,
    what: Outgoing,
    now: DateTime<Utc>,
) -> Result<()> {
    let seq = journal::last_seq(tx, &approval.shown_in).await?;
    let part = outbox::next_part(tx, &approval.shown_in, seq).await?;
    let edits = Some(approval.question.clone());
    let row = Row { id: OutboxId::new(), seq, part, edits, approval: None };
    outbox::insert(tx, &approval.shown_in, row, &what, now).await
}

/// Says what became of a question in a message of its own, where the question cannot be edited.
pub async fn say_anew(
    tx: &mut Tx<'_>,
    conversation: &ConversationId,
    what: &Outgoing,
    now: DateTime<Utc>,
) -> Result<()> {
    let seq = journal::last_seq(tx, conversation).await?;
    let part = outbox::next_part(tx, conversation, seq).await?;
    let row = Row { id: OutboxId::new(), seq, part, edits: None, approval: None };
    if let Some(approval) = what.approval() {
        sql!(
            tx,
            execute,
            "
            -- its buttons stand in that row now
            UPDATE approvals
            SET question = $1
            WHERE id = $2",
            row.id.as_str(),
            approval
        );
    }
    outbox::insert(tx, conversation, row, what, now).await
}

/// Shows the question anew, behind what is said there already: what was shown of it before cannot
/// be seen any more.
pub async fn show_again(
    tx: &mut Tx<'_>,
    approval: &Approval,
    (into, ahead): (&ConversationId, Option<String>),
    now: DateTime<Utc>,
) -> Result<()> {
    let parts = outbox::take_parts(tx, &approval.id).await?;
    let ahead = ahead.map(|markdown| Outgoing::Text { markdown, reply_to: None });
    let seq = journal::last_seq(tx, into).await?;
    let first = outbox::next_part(tx, into, seq).await?;
    let mut question = OutboxId::new();
    for (what, part) in ahead.into_iter().chain(parts).zip(first..) {
        question = OutboxId::new();
        let approval = Some(approval.id.clone());
        let row = Row { id: question.clone(), seq, part, edits: None, approval };
        outbox::insert(tx, into, row, &what, now).await?;
    }
    sql!(
        tx,
        execute,
        "
        -- shown elsewhere
        UPDATE approvals
        SET question = $1, shown_in = $2
        WHERE id = $3",
        question.as_str(),
        into.as_str(),
        approval.id.as_str()
    );
    Ok(())
}
