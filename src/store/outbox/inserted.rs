//! Claims rows of the outbox in the transaction that inserts them.

use anyhow::Result;
use std::ops::RangeInclusive;

use super::{
    due::{DueRow, SendClaim, sending},
    sending::Sending,
};
use crate::store::{
    Tx,
    db::row::{database_now, sql},
    wake::InsertedSend,
};

/// Claims a row that the same transaction has inserted.
macro_rules! claim_inserted {
    ($now:expr) => {
        concat!(
            "
            -- claim an inserted send
            UPDATE outbox
            SET lease_node = $1, lease_until = $2 + ",
            $now,
            ", attempts = attempts + 1
            WHERE id = $4 AND status = 'waiting' AND due_at <= $5 AND not_before <= $5
            AND NOT EXISTS (
                SELECT 1 FROM outbox p
                WHERE p.conversation = outbox.conversation AND p.status = 'waiting'
                AND (p.seq, p.part, p.id) < (outbox.seq, outbox.part, outbox.id)
            )
            AND NOT EXISTS (
                SELECT 1 FROM parked k, conversations c
                WHERE c.id = outbox.conversation AND k.channel = outbox.channel
                AND k.chat IN ('', c.chat) AND k.until > $5
            )
            AND ",
            $now,
            " BETWEEN $6 AND $7
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

const CLAIM_INSERTED: [&str; 2] =
    [claim_inserted!(database_now!(sqlite, "$3")), claim_inserted!(database_now!(postgres, "$3"))];

/// Claims the row, if it can be sent now.
pub(in crate::store) async fn claim_inserted(
    tx: &mut Tx<'_>,
    claim: &SendClaim,
    between: &RangeInclusive<i64>,
    InsertedSend { id, channel }: &InsertedSend,
) -> Result<Option<Sending>> {
    let statement = tx.either(CLAIM_INSERTED[0], CLAIM_INSERTED[1]);
    let now_base = tx.now_base();
    let row: Option<DueRow> = sql!(
        tx,
        fetch_optional,
        statement,
        claim.node.as_str(),
        claim.term_ms,
        now_base,
        id.as_str(),
        claim.now.timestamp_millis(),
        between.start(),
        between.end()
    );
    Ok(row.and_then(|due| sending(claim, channel, due)))
}
