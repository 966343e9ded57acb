//! Claims rows of the outbox that this process has just committed.

use anyhow::Result;
use chrono::{DateTime, Utc};
use std::ops::RangeInclusive;

use super::{
    due::{DueRow, SendClaim, Share, sending},
    sending::Sending,
};
use crate::store::{
    Store, Tx,
    db::{
        WriteMode,
        row::{database_now, sql},
    },
};

impl Store {
    /// Like [`Self::claim_sends`], for channels whose rows this process has just committed: claims
    /// those that are at the beginning, without looking for them first.
    pub async fn claim_committed_sends(
        &self,
        mut shares: Vec<Share>,
        now: DateTime<Utc>,
    ) -> Result<Vec<Sending>> {
        shares.retain(|share| share.limit > 0);
        let mut sendings = Vec::new();
        let Some(between) = self.held.claims_between(self.term_ms()) else {
            return self.claim_sends(shares, now).await;
        };
        for share in &shares {
            let Some(permit) = self.claims.permit().await else { break };
            let (claim, share) = (self.send_claim(now), share.clone());
            let between = between.clone();
            let mode = WriteMode::VOLATILE.of_one_statement();
            let claimed = self.write_with(permit, "claim sends", mode, move |tx| {
                Box::pin(claim_first(tx, claim, between, share))
            });
            match claimed.await.inspect_err(|_| self.held.missed()) {
                Ok(claimed) => sendings.extend(claimed),
                Err(problem) if sendings.is_empty() => return Err(problem),
                // The rows of the other channels are leased, and must be sent.
                Err(problem) => {
                    let problem = format!("{problem:#}");
                    tracing::error!(problem, "could not claim outbox rows");
                    break;
                }
            }
        }
        if sendings.is_empty() {
            return self.claim_sends(shares, now).await;
        }
        Ok(sendings)
    }
}

/// The number of rows at the beginning among which [`claim_first`] finds those that can be sent.
const FIRST: i64 = 64;

/// One statement. A row that cannot be sent yet is left to the next full claim.
macro_rules! claim_first {
    ($now:expr, $skip:literal) => {
        concat!(
            "
            -- claim the first sends
            UPDATE outbox
            SET lease_node = $1, lease_until = $2 + ",
            $now,
            ", attempts = attempts + 1
            WHERE id IN (
                SELECT o.id FROM (
                    SELECT f.id, f.conversation, f.seq, f.part, f.not_before FROM outbox f
                    WHERE f.channel = $4 AND f.status = 'waiting' AND f.due_at <= $5
                    AND f.lease_until <= ",
            $now,
            "
                    ORDER BY f.due_at
                    LIMIT $6 ",
            $skip,
            "
                ) o
                JOIN conversations c ON c.id = o.conversation
                WHERE o.not_before <= $5
                AND NOT EXISTS (
                    SELECT 1 FROM parked k
                    WHERE k.channel = $4 AND k.chat IN ('', c.chat) AND k.until > $5
                )
                AND NOT EXISTS (
                    SELECT 1 FROM outbox p
                    WHERE p.conversation = o.conversation AND p.status = 'waiting'
                    AND (p.seq, p.part, p.id) < (o.seq, o.part, o.id)
                )
                LIMIT $7
            )
            AND ",
            $now,
            " BETWEEN $8 AND $9
            RETURNING id, conversation, body, unknowns, aged_ms, not_before,
                attempts - 1 AS attempts,
                (SELECT c.place FROM conversations c WHERE c.id = outbox.conversation) AS place,
                (SELECT c.language FROM conversations c WHERE c.id = outbox.conversation)
                    AS language,
                COALESCE(receipt, (SELECT e.receipt FROM outbox e WHERE e.id = outbox.edits))
                    AS receipt,
                CAST(NULL AS BIGINT) AS parked_until, CAST(NULL AS TEXT) AS behind"
        )
    };
}

const CLAIM_FIRST: [&str; 2] = [
    claim_first!(database_now!(sqlite, "$3"), ""),
    claim_first!(database_now!(postgres, "$3"), "FOR NO KEY UPDATE SKIP LOCKED"),
];

async fn claim_first(
    tx: &mut Tx<'_>,
    claim: SendClaim,
    between: RangeInclusive<i64>,
    share: Share,
) -> Result<Vec<Sending>> {
    let statement = tx.either(CLAIM_FIRST[0], CLAIM_FIRST[1]);
    let now_base = tx.now_base();
    let claimed: Vec<DueRow> = sql!(
        tx,
        fetch_all,
        statement,
        claim.node.as_str(),
        claim.term_ms,
        now_base,
        share.channel.as_str(),
        claim.now.timestamp_millis(),
        FIRST,
        share.limit as i64,
        between.start(),
        between.end()
    );
    let claimed = claimed.into_iter();
    Ok(claimed.filter_map(|due| sending(&claim, &share.channel, due)).collect())
}
