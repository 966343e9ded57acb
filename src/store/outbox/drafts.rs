//! Draft messages, in which answers are streamed. They are recorded so that the answer of the same
//! turn replaces them, even on another node.

use anyhow::Result;
use channels::Receipt;

use crate::{
    journal::{event::Seq, ids::ConversationId},
    store::{Store, Tx, db::sql, leases::Lease},
};

/// The number of recent outbox rows that are searched for a receipt. Drafts are short-lived.
const RECENT: i64 = 50;

impl Store {
    /// The draft message of this turn.
    pub async fn draft(&self, conversation: &ConversationId, turn: Seq) -> Result<Option<Receipt>> {
        let conversation = conversation.clone();
        let found =
            self.read(move |tx| Box::pin(async move { draft_of(tx, &conversation, turn).await }));
        Ok(found.await?.map(|receipt| serde_json::from_str(&receipt)).transpose()?)
    }

    /// Records the draft message of a turn. Returns `false` if the lease was released or lost, or
    /// if the turn already has a draft, because nothing would ever replace this message.
    pub async fn keep_draft(&self, lease: &Lease, turn: Seq, receipt: &Receipt) -> Result<bool> {
        let (lease, receipt) = (lease.clone(), serde_json::to_string(receipt)?);
        self.write("store draft", move |tx| Box::pin(keep(tx, lease, turn, receipt))).await
    }

    /// Prevents an answer from taking over the recorded draft, because an edit of the draft may
    /// still arrive.
    pub async fn discard_draft(&self, conversation: &ConversationId) -> Result<()> {
        let conversation = conversation.clone();
        self.write("discard draft", move |tx| {
            Box::pin(async move { discard(tx, &conversation).await })
        })
        .await
    }

    /// Removes the record of a draft. Returns `false` if an answer has taken it over, in which case
    /// it must not be deleted.
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
        -- draft message
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
        -- is the turn still running? Serializes with the answer
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
        -- store a draft
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
    // Waits for a transaction that is still keeping the draft.
    sql!(
        tx,
        execute,
        "
        -- lock before a draft is abandoned
        UPDATE conversations
        SET fence = fence
        WHERE id = $1",
        conversation.as_str()
    );
    let kept = sql!(
        tx,
        execute,
        "
        -- abandon a draft
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
        -- was the draft used?
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

/// Takes over the draft message of this turn for an outbox row. A draft of an earlier turn is
/// ignored.
pub(in crate::store) async fn take(
    tx: &mut Tx<'_>,
    conversation: &ConversationId,
    turn: Seq,
) -> Result<Option<String>> {
    let found: Option<(String,)> = sql!(
        tx,
        fetch_optional,
        "
        -- take a draft
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
        -- discard a draft
        DELETE FROM drafts
        WHERE conversation = $1",
        conversation.as_str()
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::scratch::{Scratch, on_postgres, on_sqlite};
    use chrono::DateTime;

    fn receipt(message: &str) -> Receipt {
        Receipt { message: message.to_owned() }
    }

    /// A turn has one draft, and only while it runs. The next turn gets its own.
    async fn a_running_turn_has_one_draft(scratch: Scratch) {
        scratch.begin_conversation().await;
        let store = scratch.store.clone();
        let claimed = store.claim(1, DateTime::UNIX_EPOCH).await.unwrap().pop().unwrap();
        let (lease, conversation) = (&claimed.lease, claimed.lease.conversation());
        let [first, second] = ["1", "2"].map(receipt);
        assert!(store.keep_draft(lease, 1, &first).await.unwrap());
        assert!(!store.keep_draft(lease, 1, &second).await.unwrap(), "the turn has one");
        assert_eq!(store.draft(conversation, 1).await.unwrap().as_ref(), Some(&first));
        assert_eq!(store.draft(conversation, 2).await.unwrap(), None);
        assert!(store.keep_draft(lease, 2, &second).await.unwrap());
        assert_eq!(store.draft(conversation, 1).await.unwrap(), None);
        store.release(lease).await.unwrap();
        assert!(!store.keep_draft(lease, 3, &first).await.unwrap(), "the turn has ended");
        assert_eq!(store.draft(conversation, 2).await.unwrap(), Some(second));
        drop((claimed, store));
        scratch.end().await;
    }

    #[tokio::test]
    async fn a_running_turn_has_one_draft_on_sqlite() {
        a_running_turn_has_one_draft(on_sqlite().await).await;
    }

    #[tokio::test]
    async fn a_running_turn_has_one_draft_on_postgres() {
        a_running_turn_has_one_draft(on_postgres().await).await;
    }

    /// A draft may be deleted unless it has become an answer, or a part of one.
    async fn a_draft_that_became_an_answer_is_kept(scratch: Scratch) {
        scratch.begin_conversation().await;
        let store = scratch.store.clone();
        let claimed = store.claim(1, DateTime::UNIX_EPOCH).await.unwrap().pop().unwrap();
        let (lease, conversation) = (&claimed.lease, claimed.lease.conversation());
        let [draft, answer] = ["1", "2"].map(receipt);
        assert!(store.keep_draft(lease, 1, &draft).await.unwrap());
        assert!(store.abandon_draft(conversation, &answer).await.unwrap(), "it is unknown");
        assert_eq!(scratch.count("drafts").await, 1, "the other one is recorded");
        assert!(store.abandon_draft(conversation, &draft).await.unwrap());
        assert_eq!(scratch.count("drafts").await, 0);
        let shown = serde_json::to_string(&answer).unwrap();
        scratch
            .run(format!(
                "INSERT INTO outbox
                    (id, conversation, seq, part, body, status, attempts, not_before, lease_node,
                     lease_until, created_at, channel, receipt)
                VALUES ('o', 'c', 1, 0, '{{}}', 'waiting', 0, 0, '', 0, 0, 'tg', '{shown}')"
            ))
            .await;
        assert!(!store.abandon_draft(conversation, &answer).await.unwrap());
        assert!(store.abandon_draft(conversation, &draft).await.unwrap());
        drop((claimed, store));
        scratch.end().await;
    }

    #[tokio::test]
    async fn a_draft_that_became_an_answer_is_kept_on_sqlite() {
        a_draft_that_became_an_answer_is_kept(on_sqlite().await).await;
    }

    #[tokio::test]
    async fn a_draft_that_became_an_answer_is_kept_on_postgres() {
        a_draft_that_became_an_answer_is_kept(on_postgres().await).await;
    }
}
