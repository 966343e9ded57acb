//! Verifies the audit: every record has the hash of the previous one, each chain ends where its
//! head says, and sealed records are unchanged.

use anyhow::Result;
use std::collections::BTreeMap;

use super::{AuditKind, AuditRecord, ChainHead, SEALS, StoredRecord};
use crate::store::{Store, Tx, audit, db::sql};

/// The number of rows that are read at once.
const PAGE: i64 = 1_000;

/// The result of a verification.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verified {
    pub rows: usize,
    pub chains: usize,
    /// The number and hash of the last seal, to be stored elsewhere.
    pub seal: Option<(i64, String)>,
    /// The problems that were found, one sentence each.
    pub faults: Vec<String>,
}

/// The end of a chain: the number and hash of its last row.
type ChainEnd = (i64, String);

/// The entries of the seals about a chain.
#[derive(Debug, Default)]
struct Sealed {
    rows: BTreeMap<i64, String>,
    cut: ChainEnd,
}

impl Store {
    pub async fn verify_audit(&self) -> Result<Verified> {
        let mut verified = Verified::default();
        let mut heads = self.read(|tx| Box::pin(heads(tx))).await?;
        let mut seals = self.read_seals(&mut heads, &mut verified).await?;
        let mut walk = Walk::default();
        let (mut chain, mut n) = (String::new(), -1);
        loop {
            let page = self.page(chain, n).await?;
            let Some(last) = page.last() else { break };
            (chain, n) = (last.chain.clone(), last.n);
            for row in page.iter().filter(|row| row.chain != SEALS) {
                if row.chain != walk.chain {
                    self.end(&walk, &mut heads, &mut verified.faults).await?;
                    verified.chains += 1;
                    walk = Walk::of(&row.chain, seals.remove(&row.chain).unwrap_or_default());
                }
                verified.rows += 1;
                walk.step(row, &mut verified.faults);
            }
        }
        self.end(&walk, &mut heads, &mut verified.faults).await?;
        verified.faults.extend(gone(&heads, &seals));
        Ok(verified)
    }

    /// Whether a seal has this hash.
    pub async fn has_seal(&self, hash: &str) -> Result<bool> {
        let hash = hash.to_owned();
        self.read(move |tx| Box::pin(has_seal(tx, hash))).await
    }

    /// Verifies the chain of seals like any other chain, and collects its entries about the others.
    async fn read_seals(
        &self,
        heads: &mut BTreeMap<String, ChainEnd>,
        verified: &mut Verified,
    ) -> Result<BTreeMap<String, Sealed>> {
        let mut seals: BTreeMap<String, Sealed> = BTreeMap::new();
        let mut walk = Walk::of(SEALS, Sealed::default());
        loop {
            let page = self.page(SEALS.to_owned(), walk.last.0).await?;
            let rows: Vec<_> = page.iter().filter(|row| row.chain == SEALS).collect();
            if rows.is_empty() {
                break;
            }
            for row in rows {
                walk.step(row, &mut verified.faults);
                for (chain, n, hash) in audit::named(row).unwrap_or_default() {
                    let sealed = seals.entry(chain).or_default();
                    match row.kind.as_str() {
                        kind if kind == AuditKind::Cut.as_str() => sealed.cut = (n, hash),
                        _ => drop(sealed.rows.insert(n, hash)),
                    }
                }
            }
        }
        verified.seal = (walk.last.0 > 0).then(|| walk.last.clone());
        self.end(&walk, heads, &mut verified.faults).await?;
        Ok(seals)
    }

    /// Reads the head again if the chain has grown in the meantime.
    async fn end(
        &self,
        walk: &Walk,
        heads: &mut BTreeMap<String, ChainEnd>,
        faults: &mut Vec<String>,
    ) -> Result<()> {
        let last = walk.last.0;
        let known = heads.remove(&walk.chain);
        if known.as_ref().is_some_and(|(n, _)| *n >= last) {
            faults.extend(walk.short_of(known.as_ref()));
            return Ok(());
        }
        let chain = walk.chain.clone();
        let now = self.read(|tx| Box::pin(head(tx, chain))).await?;
        if now.as_ref().is_none_or(|(n, _)| *n <= last) {
            faults.extend(walk.short_of(now.as_ref()));
        }
        Ok(())
    }

    /// The records after number `n` of a chain, and those of later chains.
    async fn page(&self, chain: String, n: i64) -> Result<Vec<AuditRecord>> {
        self.read(move |tx| Box::pin(page(tx, chain, n))).await
    }
}

/// The verification of one chain, row by row.
#[derive(Debug, Default)]
struct Walk {
    chain: String,
    last: ChainEnd,
    sealed: BTreeMap<i64, String>,
}

impl Walk {
    fn of(chain: &str, sealed: Sealed) -> Self {
        Self { chain: chain.to_owned(), last: sealed.cut, sealed: sealed.rows }
    }

    fn step(&mut self, row: &AuditRecord, faults: &mut Vec<String>) {
        let AuditRecord { chain, n, hash, .. } = row;
        if *n <= self.last.0 {
            faults.push(format!("row {n} of {chain} is in a part that was deleted"));
            return;
        }
        match n - self.last.0 {
            1 if row.hash_after(&self.last.1) != *hash => {
                faults.push(format!("row {n} of {chain} was changed or moved"));
            }
            1 => {}
            2 => faults.push(format!("row {} of {chain} is missing", n - 1)),
            _ => {
                let (from, to) = (self.last.0 + 1, n - 1);
                faults.push(format!("rows {from} to {to} of {chain} are missing"));
            }
        }
        if self.sealed.get(n).is_some_and(|sealed| sealed != hash) {
            faults.push(format!("row {n} of {chain} is not the one that was sealed"));
        }
        self.last = (*n, hash.clone());
    }

    /// Describes records that are missing according to the head. Records beyond the head are an
    /// error as well.
    fn short_of(&self, head: Option<&ChainEnd>) -> Option<String> {
        let (chain, last) = (&self.chain, self.last.0);
        match head {
            None if last == 0 => None,
            None => Some(format!("the head of {chain} is missing")),
            Some(head) if head.0 > last => {
                Some(format!("rows {} to {} of {chain} are missing", last + 1, head.0))
            }
            Some(head) if *head != self.last => {
                Some(format!("the head of {chain} is not its row {last}"))
            }
            Some(_) => None,
        }
    }
}

/// Chains of which only a head or a seal remains.
fn gone(heads: &BTreeMap<String, ChainEnd>, seals: &BTreeMap<String, Sealed>) -> Vec<String> {
    let cut = |chain: &str| seals.get(chain).map_or(0, |sealed| sealed.cut.0);
    let missing = |chain: &str, n: i64| {
        (n > cut(chain)).then(|| format!("rows {} to {n} of {chain} are missing", cut(chain) + 1))
    };
    let headed = heads.iter().filter(|(chain, _)| *chain != SEALS);
    let headed = headed.filter_map(|(chain, (n, _))| missing(chain, *n));
    let sealed = seals.iter().filter(|(chain, _)| !heads.contains_key(*chain));
    let sealed = sealed.filter_map(|(chain, sealed)| {
        missing(chain, sealed.rows.keys().next_back().copied().unwrap_or_default())
    });
    headed.chain(sealed).collect()
}

async fn heads(tx: &mut Tx<'_>) -> Result<BTreeMap<String, ChainEnd>> {
    let rows: Vec<ChainHead> = sql!(
        tx,
        fetch_all,
        "
        -- audit heads
        SELECT chain, n, hash FROM audit_heads"
    );
    Ok(rows.into_iter().map(|head| (head.chain, (head.n, head.hash))).collect())
}

async fn head(tx: &mut Tx<'_>, chain: String) -> Result<Option<ChainEnd>> {
    Ok(sql!(
        tx,
        fetch_optional,
        "
        -- audit head
        SELECT n, hash FROM audit_heads
        WHERE chain = $1",
        chain
    ))
}

async fn has_seal(tx: &mut Tx<'_>, hash: String) -> Result<bool> {
    let found: Option<(i64,)> = sql!(
        tx,
        fetch_optional,
        "
        -- has seal
        SELECT n FROM audit
        WHERE chain = $1 AND hash = $2",
        SEALS,
        hash
    );
    Ok(found.is_some())
}

async fn page(tx: &mut Tx<'_>, chain: String, n: i64) -> Result<Vec<AuditRecord>> {
    let rows: Vec<StoredRecord> = sql!(
        tx,
        fetch_all,
        "
        -- audit page
        SELECT chain, n, at, kind, person, tool, body, hash FROM audit
        WHERE (chain, n) > ($1, $2)
        ORDER BY chain, n
        LIMIT $3",
        chain,
        n,
        PAGE
    );
    Ok(rows.into_iter().map(AuditRecord::read).collect())
}
