//! Claims rows of the outbox that are due.
//!
//! A claim reads the rows of one channel in the order of their `due_at`, which only the first
//! waiting row of each conversation has, so that its cost does not depend on the number of waiting
//! rows. A row that is found too early (behind another row, before `not_before`, or in a paused
//! chat) gets a new `due_at` once, and is not examined again until then.

use anyhow::Result;
use chrono::{DateTime, TimeDelta, Utc};
use std::{collections::BTreeSet, sync::Arc};

use super::sending::Sending;
use crate::{
    journal::ids::{ConversationId, NodeId, OutboxId},
    store::{
        Store, Tx,
        db::{WriteMode, row::row, sql, unreadable::JsonTable},
        leases::{
            held::{self, Claimable, Held},
            readable,
        },
    },
};

/// The minimum number of rows examined per query.
const LOOK: usize = 16;
/// The maximum number of queries per channel and claim.
const LOOKS: usize = 16;

/// How many rows of one channel a claim may take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Share {
    pub channel: String,
    pub limit: usize,
}

impl Store {
    /// Claims rows that are due. `now` is the clock for retries.
    pub async fn claim_sends(
        &self,
        mut shares: Vec<Share>,
        now: DateTime<Utc>,
    ) -> Result<Vec<Sending>> {
        shares.retain(|share| share.limit > 0);
        if shares.is_empty() {
            return Ok(Vec::new());
        }
        let channels = shares.iter().map(|share| share.channel.clone()).collect();
        let due = self.read(move |tx| Box::pin(with_sends_due(tx, channels, now))).await?;
        shares.retain(|share| due.contains(&share.channel));
        if shares.is_empty() {
            return Ok(Vec::new());
        }
        let claim = self.send_claim(now);
        let Some(permit) = self.claims.permit().await else { return Ok(Vec::new()) };
        let claimed = self.write_with(permit, "claim sends", WriteMode::VOLATILE, move |tx| {
            Box::pin(claim_all(tx, claim, shares))
        });
        claimed.await.inspect_err(|_| self.held.missed())
    }

    pub(in crate::store) fn send_claim(&self, now: DateTime<Utc>) -> SendClaim {
        let (node, term_ms, held) = (self.node.clone(), self.term_ms(), self.held.clone());
        SendClaim { node, term_ms, held, now }
    }
}

impl Store {
    /// Gives up rows that have waited since `before` for a channel other than these, because no
    /// node claims them. Returns how many there were.
    pub async fn refuse_unknown(&self, known: Vec<String>, before: DateTime<Utc>) -> Result<u64> {
        self.write("refuse unknown", move |tx| Box::pin(refuse_unknown(tx, known, before))).await
    }
}

macro_rules! refuse {
    ($names:literal) => {
        concat!(
            "
            -- reject messages for removed channels
            UPDATE outbox
            SET status = 'refused', problem = 'no such channel is configured', lease_until = 0
            WHERE status = 'waiting' AND created_at < $1 AND channel NOT IN (",
            $names,
            ")"
        )
    };
}

async fn refuse_unknown(tx: &mut Tx<'_>, known: Vec<String>, before: DateTime<Utc>) -> Result<u64> {
    let refuse = tx.either(
        refuse!("SELECT value FROM json_each($2)"),
        refuse!("SELECT json_array_elements_text(CAST($2 AS JSON))"),
    );
    let known = serde_json::to_string(&known)?;
    Ok(sql!(tx, execute, refuse, before.timestamp_millis(), known.as_str()))
}

/// Without the order, PostgreSQL reads the whole table if it expects that many rows are due.
const ANY_DUE: &str = "
    -- any send that is due on a channel
    SELECT o.due_at FROM outbox o
    WHERE o.channel = $1 AND o.status = 'waiting' AND o.due_at <= $2 AND o.lease_until <= $3
    AND NOT EXISTS (
        SELECT 1 FROM parked k
        WHERE k.channel = $1 AND k.chat = '' AND k.until > $2
    )
    ORDER BY o.due_at
    LIMIT 1";

/// The channels that have rows due and are not paused as a whole.
async fn with_sends_due(
    tx: &mut Tx<'_>,
    channels: Vec<String>,
    now: DateTime<Utc>,
) -> Result<BTreeSet<String>> {
    let lease_now = tx.now_ms().await?;
    let mut due = BTreeSet::new();
    for channel in channels {
        let found: Option<(i64,)> =
            sql!(tx, fetch_optional, ANY_DUE, channel.as_str(), now.timestamp_millis(), lease_now);
        if found.is_some() {
            due.insert(channel);
        }
    }
    Ok(due)
}

/// The claiming node, its lease term and its clock.
#[derive(Clone)]
pub(in crate::store) struct SendClaim {
    pub node: NodeId,
    pub term_ms: i64,
    pub held: Held,
    pub now: DateTime<Utc>,
}

row! {
    /// A row whose `due_at` has passed. `behind` is an earlier row of the conversation that still
    /// waits.
    #[derive(Debug)]
    pub(super) struct DueRow {
        id: String,
        conversation: String,
        place: String,
        language: String,
        body: String,
        receipt: Option<String>,
        attempts: i64,
        unknowns: i64,
        aged_ms: i64,
        not_before: i64,
        parked_until: Option<i64>,
        behind: Option<String>,
    }
}

/// One statement; PostgreSQL skips rows that others are changing.
macro_rules! due {
    ($skip:literal) => {
        concat!(
            "
            -- sends that are due
            SELECT o.id, o.conversation, c.place, c.language, o.body,
                   COALESCE(o.receipt, e.receipt) AS receipt,
                   o.attempts, o.unknowns, o.aged_ms, o.not_before,
                   (
                       SELECT k.until FROM parked k
                       WHERE k.channel = o.channel AND k.chat = c.chat AND k.until > $2
                   ) AS parked_until,
                   (
                       SELECT p.id FROM outbox p
                       WHERE p.conversation = o.conversation AND p.status = 'waiting'
                       AND (p.seq, p.part, p.id) < (o.seq, o.part, o.id)
                       ORDER BY p.seq, p.part
                       LIMIT 1
                   ) AS behind
            FROM outbox o
            JOIN conversations c ON c.id = o.conversation
            LEFT JOIN outbox e ON e.id = o.edits
            WHERE o.channel = $1 AND o.status = 'waiting' AND o.due_at <= $2
            AND o.lease_until <= $3
            ORDER BY o.due_at
            LIMIT $4 ",
            $skip
        )
    };
}

const DUE: [&str; 2] = [due!(""), due!("FOR NO KEY UPDATE OF o SKIP LOCKED")];

async fn claim_all(tx: &mut Tx<'_>, claim: SendClaim, shares: Vec<Share>) -> Result<Vec<Sending>> {
    let mut sendings = Vec::new();
    for share in &shares {
        sendings.extend(claim_share(tx, &claim, share).await?);
    }
    Ok(sendings)
}

async fn claim_share(tx: &mut Tx<'_>, claim: &SendClaim, share: &Share) -> Result<Vec<Sending>> {
    let lease_now = tx.now_ms().await?;
    let claimable =
        held::before_claim(tx, &claim.held, &claim.node, claim.term_ms, lease_now).await?;
    let expired_by = if claimable == Claimable::ReleasedOrExpired { lease_now } else { 0 };
    let now = claim.now.timestamp_millis();
    let mut sendings = Vec::new();
    for _ in 0..LOOKS {
        let wanted = share.limit - sendings.len();
        let limit = wanted.max(LOOK);
        let statement = tx.either(DUE[0], DUE[1]);
        let found: Vec<DueRow> =
            sql!(tx, fetch_all, statement, share.channel.as_str(), now, expired_by, limit as i64);
        let is_last = found.len() < limit;
        let mut ready = Vec::new();
        for due in found {
            if !defer(tx, &due, now).await? && ready.len() < wanted {
                ready.push(due);
            }
        }
        lease(tx, claim, &ready, lease_now).await?;
        sendings.extend(ready.into_iter().filter_map(|due| sending(claim, &share.channel, due)));
        if is_last || sendings.len() >= share.limit {
            break;
        }
    }
    Ok(sendings)
}

/// Updates the `due_at` of a row that cannot be sent yet. Returns `true` if the row must not be
/// claimed now.
async fn defer(tx: &mut Tx<'_>, due: &DueRow, now: i64) -> Result<bool> {
    let later = due.parked_until.unwrap_or_default().max(due.not_before);
    let due_at = if let Some(before) = &due.behind {
        if !lock_waiting(tx, before).await? {
            // The earlier row is ending at this moment. The next query will find this row at the
            // head.
            return Ok(true);
        }
        // The transaction that ends the earlier row waits for this one and then sets `due_at`.
        None
    } else if later > now {
        Some(later)
    } else {
        return Ok(false);
    };
    sql!(
        tx,
        execute,
        "
        -- defer a send until it is due
        UPDATE outbox
        SET due_at = $1
        WHERE id = $2 AND status = 'waiting'",
        due_at,
        due.id.as_str()
    );
    Ok(true)
}

/// Locks the row against transactions that would end it. Returns `false` if it has ended.
async fn lock_waiting(tx: &mut Tx<'_>, id: &str) -> Result<bool> {
    let lock = tx.either(
        "SELECT seq FROM outbox WHERE id = $1 AND status = 'waiting'",
        "SELECT seq FROM outbox WHERE id = $1 AND status = 'waiting' \
         FOR NO KEY UPDATE SKIP LOCKED",
    );
    let locked: Option<(i64,)> = sql!(tx, fetch_optional, lock, id);
    Ok(locked.is_some())
}

/// The ids are passed as one JSON array, which each database expands with its own functions.
macro_rules! take {
    ($ids:literal) => {
        concat!(
            "
            -- lease sends
            UPDATE outbox
            SET lease_node = $1, lease_until = $2, attempts = attempts + 1
            WHERE id IN (",
            $ids,
            ")"
        )
    };
}

async fn lease(tx: &mut Tx<'_>, claim: &SendClaim, ready: &[DueRow], lease_now: i64) -> Result<()> {
    if ready.is_empty() {
        return Ok(());
    }
    let ids: Vec<_> = ready.iter().map(|due| due.id.as_str()).collect();
    let take = tx.either(
        take!("SELECT value FROM json_each($3)"),
        take!("SELECT json_array_elements_text(CAST($3 AS JSON))"),
    );
    sql!(
        tx,
        execute,
        take,
        claim.node.as_str(),
        lease_now + claim.term_ms,
        serde_json::to_string(&ids)?
    );
    Ok(())
}

/// Returns `None` if this release cannot read the row. Its lease expires, and a newer node may
/// claim it.
pub(super) fn sending(claim: &SendClaim, channel: &str, due: DueRow) -> Option<Sending> {
    let of = JsonTable::Outbox;
    let what = readable(of, &due.id, &due.body)?;
    let place = readable(of, &due.id, &due.place)?;
    let receipt = match &due.receipt {
        Some(receipt) => Some(readable(of, &due.id, receipt)?),
        None => None,
    };
    Some(Sending {
        hold: Arc::new(claim.held.hold(&due.id, due.attempts + 1)),
        id: OutboxId(due.id),
        conversation: ConversationId(due.conversation),
        channel: channel.to_owned(),
        place,
        language: due.language,
        what,
        receipt,
        attempts: due.attempts + 1,
        unknowns: due.unknowns,
        aged: TimeDelta::milliseconds(due.aged_ms),
        node: claim.node.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        crash,
        store::{
            db::sqlite::FromSqliteRow,
            scratch::{Scratch, on_postgres, on_sqlite},
        },
    };
    use futures::FutureExt as _;
    use tokio::sync::Notify;

    /// Without a free permit, nothing can be claimed and the database is not queried.
    #[tokio::test]
    async fn without_a_permit_nothing_is_claimed() {
        let scratch = on_sqlite().await;
        scratch.fill("tg", 1, 1).await;
        let sends =
            scratch.store.claim_sends(vec![Share { channel: "tg".into(), limit: 0 }], now());
        assert!(sends.now_or_never().expect("it does not wait").unwrap().is_empty());
        let turns = scratch.store.claim(0, now());
        assert!(turns.now_or_never().expect("it does not wait").unwrap().is_empty());
        scratch.end().await;
    }

    impl Scratch {
        async fn claim(&self, channel: &str, limit: usize) -> Vec<Sending> {
            let share = vec![Share { channel: channel.into(), limit }];
            self.store.claim_sends(share, now()).await.unwrap()
        }

        /// Inserts conversations with rows each, of which the first is due.
        async fn fill(&self, channel: &str, conversations: i64, rows: i64) {
            let place = r#"{"chat":"1","thread":null,"kind":"private"}"#;
            self.run(format!(
                "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {conversations})
                INSERT INTO conversations
                    (id, channel, chat, thread, place, last_seq, lease_node, lease_until, fence,
                     created_at)
                SELECT '{channel}' || i, '{channel}', 'c' || i, '', '{place}', 1, '', 0, 0, 0 FROM n"
            ))
            .await;
            self.run(format!(
                "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {rows})
                INSERT INTO outbox
                    (id, conversation, seq, part, body, status, attempts, not_before, lease_node,
                     lease_until, created_at, channel, due_at)
                SELECT c.id || '-' || n.i, c.id, n.i, 0,
                       '{{\"kind\":\"text\",\"markdown\":\"x\",\"reply_to\":null}}', 'waiting', 0, 0,
                       '', 0, 0, '{channel}', CASE WHEN n.i = 1 THEN 0 END
                FROM conversations c, n
                WHERE c.channel = '{channel}' AND n.i <= {rows}"
            ))
            .await;
        }

        /// The query plan of a statement for a channel.
        async fn plan(&self, statement: &'static str, channel: &'static str) -> String {
            let explained = self.store.read(move |tx| {
                Box::pin(async move {
                    let explain = tx.either("EXPLAIN QUERY PLAN", "EXPLAIN");
                    let sql = format!("{explain} {statement}");
                    let plan: Vec<Step> = if statement.contains("$4") {
                        sql!(tx, fetch_all, sqlx::AssertSqlSafe(sql), channel, 9_i64, 9_i64, 64_i64)
                    } else {
                        sql!(tx, fetch_all, sqlx::AssertSqlSafe(sql), channel, 9_i64, 9_i64)
                    };
                    Ok(plan.into_iter().map(|step| step.0).collect::<Vec<_>>().join("\n"))
                })
            });
            explained.await.unwrap()
        }

        async fn finds_due_rows_by_index(&self, channel: &'static str) {
            let due = if self.is_on_postgres() { DUE[1] } else { DUE[0] };
            for statement in [due, ANY_DUE] {
                let plan = self.plan(statement, channel).await;
                assert!(plan.contains("outbox_due"), "{plan}");
                for scan in
                    ["SCAN o", "SCAN p", "SCAN outbox", "Seq Scan on outbox", "USE TEMP B-TREE"]
                {
                    assert!(!plan.contains(scan), "{plan}");
                }
            }
        }
    }

    /// A line of a plan: the last column on both databases.
    struct Step(String);

    impl<'r> sqlx::FromRow<'r, sqlx::postgres::PgRow> for Step {
        fn from_row(row: &'r sqlx::postgres::PgRow) -> Result<Self, sqlx::Error> {
            use sqlx::Row as _;
            Ok(Self(row.try_get(row.len() - 1)?))
        }
    }

    impl FromSqliteRow for Step {
        fn from_sqlite_row(row: &rusqlite::Row<'_>) -> rusqlite::Result<Self> {
            Ok(Self(row.get(row.as_ref().column_count() - 1)?))
        }
    }

    fn now() -> DateTime<Utc> {
        DateTime::from_timestamp_millis(1_000).unwrap()
    }

    /// A backlog of 100,000 rows on one channel does not slow down other channels, and costs this
    /// one only a few rows: no statement scans the outbox.
    async fn a_backlog_on_one_channel_does_not_slow_down_others(scratch: Scratch) {
        scratch.fill("down", 1_000, 100).await;
        scratch.fill("up", 1, 2).await;
        scratch.run("ANALYZE".into()).await;
        scratch.finds_due_rows_by_index("down").await;
        assert_eq!(scratch.claim("down", 64).await.len(), 64);
        let up = scratch.claim("up", 64).await;
        assert_eq!(up.iter().map(|s| s.id.as_str()).collect::<Vec<_>>(), ["up1-1"]);
        assert!(scratch.claim("up", 64).await.is_empty(), "the second row is behind the first");
        scratch
            .store
            .record_send_outcome(&up[0], super::super::sending::SendOutcome::Sent, String::new())
            .await
            .unwrap();
        assert_eq!(scratch.claim("up", 64).await[0].id.as_str(), "up1-2");
        scratch.end().await;
    }

    #[tokio::test]
    async fn a_backlog_on_one_channel_does_not_slow_down_others_on_sqlite() {
        a_backlog_on_one_channel_does_not_slow_down_others(on_sqlite().await).await;
    }

    #[tokio::test]
    async fn a_backlog_on_one_channel_does_not_slow_down_others_on_postgres() {
        a_backlog_on_one_channel_does_not_slow_down_others(on_postgres().await).await;
    }

    /// The same while another channel has a backlog, so that PostgreSQL expects that many rows of
    /// this channel wait too.
    async fn the_history_of_a_channel_does_not_slow_it_down(scratch: Scratch) {
        scratch.fill("up", 1_000, 10).await;
        scratch.run("UPDATE outbox SET status = 'sent', due_at = 0".into()).await;
        scratch.fill("down", 100, 10).await;
        scratch.run("ANALYZE".into()).await;
        scratch.finds_due_rows_by_index("up").await;
        scratch.end().await;
    }

    #[tokio::test]
    async fn the_history_of_a_channel_does_not_slow_it_down_on_sqlite() {
        the_history_of_a_channel_does_not_slow_it_down(on_sqlite().await).await;
    }

    #[tokio::test]
    async fn the_history_of_a_channel_does_not_slow_it_down_on_postgres() {
        the_history_of_a_channel_does_not_slow_it_down(on_postgres().await).await;
    }

    /// Rows that cannot be sent yet do not count for a claim: it looks for others, and takes as
    /// many as it may.
    async fn rows_that_wait_are_skipped(scratch: Scratch) {
        scratch.fill("tg", 40, 1).await;
        let waiting = "UPDATE outbox SET not_before = 1001, due_at = -1
            WHERE LENGTH(conversation) = 3";
        scratch.run(waiting.into()).await;
        for claimed in [12, 12, 7, 0] {
            assert_eq!(scratch.claim("tg", 12).await.len(), claimed);
        }
        assert_eq!(scratch.count("outbox WHERE due_at = 1001").await, 9);
        let due = "UPDATE outbox SET not_before = 1000, due_at = 1000 WHERE due_at = 1001";
        scratch.run(due.into()).await;
        assert_eq!(scratch.claim("tg", 12).await.len(), 9, "their time has come");
        scratch.end().await;
    }

    #[tokio::test]
    async fn rows_that_wait_are_skipped_on_sqlite() {
        rows_that_wait_are_skipped(on_sqlite().await).await;
    }

    #[tokio::test]
    async fn rows_that_wait_are_skipped_on_postgres() {
        rows_that_wait_are_skipped(on_postgres().await).await;
    }

    /// A row is not examined again before the row that it waits for has ended, and the lease of a
    /// row is renewed while it is being sent.
    async fn a_row_is_sent_at_its_turn(scratch: Scratch) {
        scratch.fill("tg", 1, 2).await;
        scratch.run("UPDATE outbox SET due_at = 0".into()).await;
        let sending = scratch.claim("tg", 9).await;
        assert_eq!(sending.iter().map(|s| s.id.as_str()).collect::<Vec<_>>(), ["tg1-1"]);
        assert_eq!(scratch.count("outbox WHERE due_at IS NULL").await, 1);

        let expire = || scratch.run("UPDATE outbox SET lease_until = 1 WHERE attempts > 0".into());
        let renewed = async || {
            scratch.store.heartbeat().await.unwrap();
            scratch.count("outbox WHERE lease_until > 1").await
        };
        expire().await;
        assert_eq!(renewed().await, 1);
        drop(sending);
        expire().await;
        assert_eq!(renewed().await, 0, "nobody sends it any more");
        scratch.end().await;
    }

    #[tokio::test]
    async fn a_row_is_sent_at_its_turn_on_sqlite() {
        a_row_is_sent_at_its_turn(on_sqlite().await).await;
    }

    #[tokio::test]
    async fn a_row_is_sent_at_its_turn_on_postgres() {
        a_row_is_sent_at_its_turn(on_postgres().await).await;
    }

    /// A row whose lease has expired is claimed by another node, but not while the node that has it
    /// may be about to renew the lease.
    /// Proves I7.
    async fn an_expired_lease_is_taken_over(scratch: Scratch) {
        scratch.fill("tg", 1, 1).await;
        let leased = |until: i64| {
            scratch.run(format!("UPDATE outbox SET lease_node = 'other', lease_until = {until}"))
        };
        leased(i64::MAX).await;
        assert!(scratch.claim("tg", 9).await.is_empty(), "the other node sends it");
        leased(1).await;
        assert_eq!(scratch.claim("tg", 9).await.len(), 1);
        scratch.store.held.missed();
        leased(1).await;
        assert!(scratch.claim("tg", 9).await.is_empty(), "leases may have expired on all nodes");
        leased(0).await;
        assert_eq!(scratch.claim("tg", 9).await.len(), 1, "it was released");
        scratch.end().await;
    }

    #[tokio::test]
    async fn an_expired_lease_is_taken_over_on_sqlite() {
        an_expired_lease_is_taken_over(on_sqlite().await).await;
    }

    #[tokio::test]
    async fn an_expired_lease_is_taken_over_on_postgres() {
        an_expired_lease_is_taken_over(on_postgres().await).await;
    }

    /// A row behind one that is ending at this moment stays due, since nothing else would make it due
    /// again.
    #[tokio::test]
    async fn a_row_behind_one_that_is_ending_stays_due_on_postgres() {
        let scratch = on_postgres().await;
        scratch.fill("tg", 1, 2).await;
        scratch.run("UPDATE outbox SET due_at = 0".into()).await;
        let (ending, end) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let (begun, ends) = (ending.clone(), end.clone());
        let first = scratch.store.write("test", move |tx| {
            Box::pin(async move {
                sql!(tx, execute, "UPDATE outbox SET status = 'sent' WHERE id = 'tg1-1'");
                begun.notify_one();
                ends.notified().await;
                Ok(())
            })
        });
        let claiming = async {
            ending.notified().await;
            let claimed = scratch.claim("tg", 9).await;
            end.notify_one();
            claimed
        };
        let (first, early) = tokio::join!(first, claiming);
        first.unwrap();
        assert!(early.is_empty(), "the first has not ended");
        let next = scratch.claim("tg", 9).await;
        assert_eq!(next.iter().map(|s| s.id.as_str()).collect::<Vec<_>>(), ["tg1-2"]);
        scratch.end().await;
    }

    /// After a failed claim, leases may have expired: nothing is claimed without renewing them first.
    /// Proves I7.
    #[tokio::test]
    async fn a_failed_claim_counts_as_a_missed_heartbeat() {
        let scratch = on_sqlite().await;
        scratch.fill("tg", 1, 1).await;
        let Store { held, .. } = &scratch.store;
        scratch.store.heartbeat().await.unwrap();
        assert!(held.claims_between(scratch.store.term_ms()).is_some());
        crash::refuse_next("claim sends", 1);
        let share = vec![Share { channel: "tg".into(), limit: 9 }];
        scratch.store.claim_sends(share, now()).await.unwrap_err();
        assert!(held.claims_between(scratch.store.term_ms()).is_none());
        scratch.end().await;
    }

    /// Rows that wait for a removed channel are given up eventually.
    async fn a_removed_channel_is_given_up(scratch: Scratch) {
        scratch.fill("kept", 1, 1).await;
        scratch.fill("removed", 1, 3).await;
        let refuse = |at| scratch.store.refuse_unknown(vec!["kept".into()], at);
        assert_eq!(refuse(DateTime::default()).await.unwrap(), 0, "not yet");
        assert_eq!(refuse(now()).await.unwrap(), 3);
        assert!(scratch.claim("removed", 9).await.is_empty());
        assert_eq!(scratch.claim("kept", 9).await.len(), 1);
        scratch.end().await;
    }

    #[tokio::test]
    async fn a_removed_channel_is_given_up_on_sqlite() {
        a_removed_channel_is_given_up(on_sqlite().await).await;
    }

    #[tokio::test]
    async fn a_removed_channel_is_given_up_on_postgres() {
        a_removed_channel_is_given_up(on_postgres().await).await;
    }

    /// During an upgrade, a node of the previous release inserts and ends rows without setting
    /// `channel` and `due_at`.
    async fn the_previous_release_goes_on(scratch: Scratch) {
        scratch.fill("tg", 1, 0).await;
        for row in ["a", "b", "c"] {
            scratch
                .run(format!(
                    "INSERT INTO outbox
                        (id, conversation, seq, part, body, status, attempts, not_before,
                         lease_node, lease_until, created_at)
                    VALUES ('{row}', 'tg1', 1, {}, '{{\"kind\":\"text\",\"markdown\":\"x\",\"reply_to\":null}}',
                            'waiting', 0, 0, '', 0, 1)",
                    row.as_bytes()[0] - b'a'
                ))
                .await;
        }
        let first = scratch.claim("tg", 9).await;
        assert_eq!(first.iter().map(|s| s.id.as_str()).collect::<Vec<_>>(), ["a"]);
        let old_end = "UPDATE outbox SET status = 'sent', lease_until = 0 WHERE id = 'a'";
        scratch.run(old_end.into()).await;
        assert_eq!(scratch.claim("tg", 9).await[0].id.as_str(), "b");
        scratch.run("UPDATE outbox SET status = 'gone' WHERE status = 'waiting'".into()).await;
        assert!(scratch.claim("tg", 9).await.is_empty());
        scratch.end().await;
    }

    #[tokio::test]
    async fn the_previous_release_goes_on_on_sqlite() {
        the_previous_release_goes_on(on_sqlite().await).await;
    }

    #[tokio::test]
    async fn the_previous_release_goes_on_on_postgres() {
        the_previous_release_goes_on(on_postgres().await).await;
    }
}
