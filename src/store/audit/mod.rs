//! The audit: append-only records of what was judged, decided, run and changed, and by whom, each
//! with the hash of the previous one.
//!
//! Every conversation has its own chain, so that conversations do not wait for each other; records
//! without a conversation are in the chain [`ADMIN`]. From time to time a *seal* enters the heads
//! of all chains that have grown into a further chain, so that a whole chain cannot disappear
//! unnoticed. The hash of the last seal, stored elsewhere, proves that nothing before it changed.

mod kind;
mod record;
pub mod verify;

use anyhow::{Context as _, Result};
use chrono::{DateTime, Utc};
use serde_json::{Value, json};

use super::{
    Store, Tx,
    approvals::request::Approval,
    at,
    db::{bind::without_nul, row::row, sql},
};
use crate::journal::{
    event::{Decider, Decision, Status},
    grant::Grant,
};
pub use kind::AuditKind;
pub use record::AuditRecord;
use record::StoredRecord;

/// The chain of records without a conversation.
pub const ADMIN: &str = "admin";
/// The chain of seals.
pub(super) const SEALS: &str = "seals";
/// The maximum number of chains in one seal.
const AT_ONCE: i64 = 500;
/// The number of rows that one cut examines.
const CUT_AT_ONCE: i64 = 2_000;

/// A record to be appended.
#[derive(Debug, Clone, PartialEq)]
pub struct Fact {
    pub kind: AuditKind,
    /// The platform's id of the person who did it, or for whom it was done.
    pub person: String,
    pub tool: String,
    /// Further details, redacted.
    pub body: Value,
}

impl Fact {
    pub fn new(kind: AuditKind, person: &str) -> Self {
        let person = without_nul(person).into_owned();
        Self { kind, person, tool: String::new(), body: json!({}) }
    }

    /// An approval that was decided.
    pub fn decided(approval: &Approval, status: Status, decision: &Decision, by: &Decider) -> Self {
        let person = match by {
            Decider::Person(person) => person.id.as_str(),
            Decider::Timeout | Decider::Undeliverable => "",
        };
        Self::settled(approval, status, person)
            .with("decision", json!(decision))
            .with("by", json!(by))
    }

    /// An approval that ended without a decision.
    pub(super) fn withdrawn(approval: &Approval, status: Status, by: &str) -> Self {
        Self::settled(approval, status, "").with("by", by)
    }

    fn settled(approval: &Approval, status: Status, person: &str) -> Self {
        Self::about(AuditKind::Decided, approval, person).with("outcome", status.as_str())
    }

    /// A person's action on an approval.
    pub fn about(kind: AuditKind, approval: &Approval, person: &str) -> Self {
        Self::new(kind, person)
            .of(&approval.tool)
            .with("approval", approval.id.as_str())
            .with("call", approval.call.as_str())
    }

    /// A grant that was given or revoked.
    pub fn grant_changed(kind: AuditKind, grant: &Grant, person: &str) -> Self {
        Self::new(kind, person)
            .of(&grant.tool)
            .with("grant", grant.id.as_str())
            .with("covers", json!(grant.covers))
            .with("scope", grant.scope.as_str())
            .with("owner", grant.owner.as_str())
            .with("expires_at", grant.expires_at.to_rfc3339())
            .with("uses", json!(grant.uses_left))
    }

    #[must_use]
    pub fn of(mut self, tool: &str) -> Self {
        self.tool = without_nul(tool).into_owned();
        self
    }

    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.body[name] = value.into();
        self
    }
}

/// A search. Empty fields match everything.
#[derive(Debug, Clone, Default)]
pub struct Query {
    pub conversation: String,
    pub person: String,
    pub tool: String,
    pub kind: String,
    pub since: Option<DateTime<Utc>>,
    pub until: Option<DateTime<Utc>>,
    /// Only records after this position.
    pub after: Option<AuditPosition>,
    pub limit: usize,
}

/// A position in search results: time, chain and number.
pub type AuditPosition = (i64, String, i64);

impl Store {
    /// Records an action of an operator.
    pub async fn note(&self, fact: Fact, now: DateTime<Utc>) -> Result<()> {
        self.write("record audit entry", move |tx| {
            Box::pin(async move { append(tx, ADMIN, vec![fact], now).await })
        })
        .await
    }

    /// Seals new records, then deletes sealed records older than `keep_from`. Returns the number of
    /// sealed chains.
    pub async fn seal(
        &self,
        now: DateTime<Utc>,
        keep_from: Option<DateTime<Utc>>,
    ) -> Result<usize> {
        self.write("seal", move |tx| {
            Box::pin(async move {
                let sealed = seal(tx, now).await?;
                let cut = match keep_from {
                    Some(from) => cut(tx, from, now).await?,
                    None => 0,
                };
                Ok(sealed + cut)
            })
        })
        .await
    }

    /// The matching records, newest first.
    pub async fn audit(&self, query: Query) -> Result<Vec<AuditRecord>> {
        self.read(move |tx| Box::pin(search(tx, query))).await
    }
}

/// Appends records to a chain. Concurrent appends to the same chain wait for this transaction.
/// There are none if the caller has locked the conversation's row.
pub async fn append(
    tx: &mut Tx<'_>,
    chain: &str,
    facts: Vec<Fact>,
    now: DateTime<Utc>,
) -> Result<()> {
    if facts.is_empty() {
        return Ok(());
    }
    let (mut n, mut hash): (i64, String) = sql!(
        tx,
        fetch_one,
        "
        -- lock audit head
        INSERT INTO audit_heads (chain, n, hash, sealed)
        VALUES ($1, 0, '', 0)
        ON CONFLICT (chain) DO UPDATE
        SET n = audit_heads.n
        RETURNING n, hash",
        chain
    );
    for fact in facts {
        n += 1;
        let mut row = AuditRecord {
            chain: chain.to_owned(),
            n,
            at: at(now.timestamp_millis()),
            kind: fact.kind.as_str().to_owned(),
            person: fact.person,
            tool: fact.tool,
            body: fact.body.to_string(),
            hash: String::new(),
        };
        row.hash = row.hash_after(&hash);
        hash.clone_from(&row.hash);
        insert(tx, row).await?;
    }
    sql!(
        tx,
        execute,
        "
        -- move audit head
        UPDATE audit_heads
        SET n = $2, hash = $3
        WHERE chain = $1",
        chain,
        n,
        hash
    );
    Ok(())
}

async fn insert(tx: &mut Tx<'_>, row: AuditRecord) -> Result<()> {
    sql!(
        tx,
        execute,
        "
        -- insert audit
        INSERT INTO audit (chain, n, at, kind, person, tool, body, hash)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
        row.chain.as_str(),
        row.n,
        row.at.timestamp_millis(),
        row.kind.as_str(),
        row.person.as_str(),
        row.tool.as_str(),
        row.body.as_str(),
        row.hash.as_str()
    );
    Ok(())
}

row! {
    /// The last record of a chain.
    pub(super) struct ChainHead {
        chain: String,
        n: i64,
        hash: String,
    }
}

/// The heads in the body of a seal.
fn sealed(heads: &[ChainHead]) -> Value {
    heads.iter().map(|ChainHead { chain, n, hash }| json!([chain, n, hash])).collect()
}

async fn seal(tx: &mut Tx<'_>, now: DateTime<Utc>) -> Result<usize> {
    let heads: Vec<ChainHead> = sql!(
        tx,
        fetch_all,
        "
        -- unsealed audit chains
        SELECT chain, n, hash FROM audit_heads
        WHERE sealed < n AND chain <> $1
        ORDER BY chain
        LIMIT $2",
        SEALS,
        AT_ONCE
    );
    if heads.is_empty() {
        return Ok(0);
    }
    append(tx, SEALS, vec![Fact::new(AuditKind::Seal, "").with("heads", sealed(&heads))], now)
        .await?;
    for ChainHead { chain, n, .. } in &heads {
        sql!(
            tx,
            execute,
            "
            -- seal an audit chain
            UPDATE audit_heads
            SET sealed = $2
            WHERE chain = $1",
            chain.as_str(),
            n
        );
    }
    Ok(heads.len())
}

/// Deletes the old ends of chains. The chain of seals records where, and is kept in full.
async fn cut(tx: &mut Tx<'_>, keep_from: DateTime<Utc>, now: DateTime<Utc>) -> Result<usize> {
    let ends: Vec<ChainHead> = sql!(
        tx,
        fetch_all,
        "
        -- chains with old audit entries
        SELECT a.chain, a.n, a.hash
        FROM audit a
        JOIN (
            SELECT old.chain, MAX(old.n) AS n
            FROM (
                SELECT chain, n FROM audit
                WHERE at < $1 AND chain <> $2
                ORDER BY at
                LIMIT $3
            ) old
            JOIN audit_heads h ON h.chain = old.chain AND old.n <= h.sealed
            GROUP BY old.chain
        ) last ON last.chain = a.chain AND last.n = a.n",
        keep_from.timestamp_millis(),
        SEALS,
        CUT_AT_ONCE
    );
    if ends.is_empty() {
        return Ok(0);
    }
    append(tx, SEALS, vec![Fact::new(AuditKind::Cut, "").with("heads", sealed(&ends))], now)
        .await?;
    for ChainHead { chain, n, .. } in &ends {
        delete_up_to(tx, chain, *n).await?;
    }
    Ok(ends.len())
}

/// Deletes a whole chain except for its head and its entries in the seals.
pub(super) async fn cut_off(tx: &mut Tx<'_>, chain: &str, now: DateTime<Utc>) -> Result<()> {
    let head: Option<ChainHead> = sql!(
        tx,
        fetch_optional,
        "
        -- seal a chain that ends
        UPDATE audit_heads
        SET sealed = n
        WHERE chain = $1
        RETURNING chain, n, hash",
        chain
    );
    let Some(head) = head else { return Ok(()) };
    append(
        tx,
        SEALS,
        vec![Fact::new(AuditKind::Cut, "").with("heads", sealed(std::slice::from_ref(&head)))],
        now,
    )
    .await?;
    delete_up_to(tx, chain, head.n).await
}

async fn delete_up_to(tx: &mut Tx<'_>, chain: &str, n: i64) -> Result<()> {
    sql!(
        tx,
        execute,
        "
        -- delete old audit entries
        DELETE FROM audit
        WHERE chain = $1 AND n <= $2",
        chain,
        n
    );
    Ok(())
}

async fn search(tx: &mut Tx<'_>, query: Query) -> Result<Vec<AuditRecord>> {
    let ms =
        |at: Option<DateTime<Utc>>, otherwise| at.map_or(otherwise, |at| at.timestamp_millis());
    let after = query.after.unwrap_or((i64::MAX, String::new(), 0));
    let rows: Vec<StoredRecord> = sql!(
        tx,
        fetch_all,
        "
        -- search audit
        SELECT chain, n, at, kind, person, tool, body, hash FROM audit
        WHERE at >= $1 AND at < $2
          AND ($3 = '' OR chain = $3)
          AND ($4 = '' OR person = $4)
          AND ($5 = '' OR tool = $5)
          AND ($6 = '' OR kind = $6)
          AND (at < $8 OR (at = $8 AND (chain > $9 OR (chain = $9 AND n < $10))))
        ORDER BY at DESC, chain, n DESC
        LIMIT $7",
        ms(query.since, 0),
        ms(query.until, i64::MAX),
        query.conversation.as_str(),
        query.person.as_str(),
        query.tool.as_str(),
        query.kind.as_str(),
        query.limit as i64,
        after.0,
        after.1,
        after.2
    );
    Ok(rows.into_iter().map(AuditRecord::read).collect())
}

/// The heads that a seal or a cut lists.
pub(super) fn named(row: &AuditRecord) -> Result<Vec<(String, i64, String)>> {
    let body: Value = serde_json::from_str(&row.body).context("a seal")?;
    serde_json::from_value(body["heads"].clone()).context("the heads in a seal")
}
