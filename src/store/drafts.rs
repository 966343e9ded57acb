//! Messages in which answers grow: kept so that the answer of the same turn takes them over, on
//! another node too.

use anyhow::Result;
use channels::Receipt;

use super::{Store, Tx, db::sql, leases::Lease};
use crate::journal::{event::Seq, ids::ConversationId};

/// Rows of the outbox in which a receipt is looked for, the newest first: drafts are short-lived.
const RECENT: i64 = 50;

impl Store {
    /// The message in which the answer of that turn grows.
    pub async fn draft(&self, conversation: &ConversationId, turn: Seq) -> Result<Option<Receipt>> {
        let conversation = conversation.clone();
        let found =
            self.read(move |tx| Box::pin(async move { draft_of(tx, &conversation, turn).await }));
        Ok(found.await?.map(|receipt| serde_json::from_str(&receipt)).transpose()?)
    }

    /// Keeps that message for the answer of the turn. `false`: the lease is given back or lost, or
    /// the turn has such a message already, so that nothing would ever replace this one.
    pub async fn keep_draft(&self, lease: &Lease, turn: Seq, receipt: &Receipt) -> Result<bool> {
        let (lease, receipt) = (lease.clone(), serde_json::to_string(receipt)?);
        self.write("keep draft", move |tx| Box::pin(keep(tx, lease, turn, receipt))).await
    }

    /// No answer takes the message over that is kept: an edit of it may still arrive.
    pub async fn discard_draft(&self, conversation: &ConversationId) -> Result<()> {
        let conversation = conversation.clone();
        self.write("discard draft", move |tx| {
            Box::pin(async move { discard(tx, &conversation).await })
        })
        .await
    }

    /// Forgets that message. `false`: an answer has taken it over, and it must not be deleted.
    pub async fn abandon_draft(
        &self,
        conversation: &ConversationId,
        receipt: &Receipt,
    ) -> Result<bool> {
        let (conversation, receipt) = (conversation.clone(), serde_json::to_string(receipt)?);
        self.write("abandon draft", move |tx| {
            Box::pin(async move { abandon(tx, &conversation, &receipt).await })
        })
        .await
    }
}

async fn draft_of(
    tx: &mut Tx<'_>,
    conversation: &ConversationId,
    turn: Seq,
) -> Result<Option<String>> {
    let found: Option<(String,)> = sql!(
        tx,
        fetch_optional,
        "
        -- draft
        SELECT receipt FROM drafts
        WHERE conversation = $1 AND turn = $2",
        conversation.as_str(),
        turn
    );
    Ok(found.map(|(receipt,)| receipt))
}

async fn keep(tx: &mut Tx<'_>, lease: Lease, turn: Seq, receipt: String) -> Result<bool> {
    let held = sql!(
        tx,
        execute,
        "
        -- is the turn still under way? The answer waits for this transaction, or this for it
        UPDATE conversations
        SET fence = fence
        WHERE id = $1 AND lease_node = $2 AND fence = $3 AND lease_until > 0",
        lease.conversation.as_str(),
        lease.node.as_str(),
        lease.fence
    );
    if held == 0 {
        return Ok(false);
    }
    let kept = sql!(
        tx,
        execute,
        "
        -- keep draft
        INSERT INTO drafts (conversation, receipt, turn)
        VALUES ($1, $2, $3)
        ON CONFLICT (conversation) DO UPDATE
        SET receipt = $2, turn = $3
        WHERE drafts.turn <> $3",
        lease.conversation.as_str(),
        receipt,
        turn
    );
    Ok(kept > 0)
}

async fn abandon(tx: &mut Tx<'_>, conversation: &ConversationId, receipt: &str) -> Result<bool> {
    let kept = sql!(
        tx,
        execute,
        "
        -- abandon draft
        DELETE FROM drafts
        WHERE conversation = $1 AND receipt = $2",
        conversation.as_str(),
        receipt
    );
    if kept > 0 {
        return Ok(true);
    }
    let taken: Option<(i64,)> = sql!(
        tx,
        fetch_optional,
        "
        -- was the draft taken over?
        SELECT o.seq FROM (
            SELECT seq, receipt FROM outbox
            WHERE conversation = $1
            ORDER BY seq DESC, part DESC
            LIMIT $3
        ) o
        WHERE o.receipt = $2
        LIMIT 1",
        conversation.as_str(),
        receipt,
        RECENT
    );
    Ok(taken.is_none())
}

/// The message in which the answer of that turn has grown, for the row that takes it over. What an
/// earlier turn has left is nobody's.
pub(super) async fn take(
    tx: &mut Tx<'_>,
    conversation: &ConversationId,
    turn: Seq,
) -> Result<Option<String>> {
    let found: Option<(String,)> = sql!(
        tx,
        fetch_optional,
        "
        -- take draft
        DELETE FROM drafts
        WHERE conversation = $1 AND turn = $2
        RETURNING receipt",
        conversation.as_str(),
        turn
    );
    Ok(found.map(|(receipt,)| receipt))
}

async fn discard(tx: &mut Tx<'_>, conversation: &ConversationId) -> Result<()> {
    sql!(
        tx,
        execute,
        "
        -- discard draft
        DELETE FROM drafts
        WHERE conversation = $1",
        conversation.as_str()
    );
    Ok(())
}
