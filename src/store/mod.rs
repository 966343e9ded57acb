//! The store: all SQL, and the artifact folder.
//!
//! - [`approvals`]: approvals, the one update that decides each, how they are displayed, their files
//!   and votes; grants, and the halt of all tools
//! - [`api`]: API tokens, idempotency keys, signing keys
//! - [`audit`]: the audit, and its verification
//! - [`channels`]: the state of channels, reconnection requests, updates delivered by platforms
//! - [`conversations`]: their state, journals and snapshots; [`record`](conversations::record): the
//!   changes that workers record; places, participants, sub-agents' tasks
//! - [`datasources`]: external databases that agents read
//! - [`db`]: the only file that distinguishes the two databases; its URL, backups, errors
//! - [`erasure`]: erases a person
//! - [`files`]: artifacts by their SHA-256
//! - [`jobs`]: background jobs, and the reports that they owe
//! - [`leases`]: leases and duties, and the heartbeat that renews them
//! - [`lists`]: paginated lists for operators
//! - [`media_jobs`]: jobs at services for media
//! - [`memory`]: the agents' memories, full-text and semantic search
//! - [`metrics`]: gauges, and counts recorded after a commit
//! - [`outbox`]: messages to send: claiming rows, the outcome of a send, drafts, albums
//! - [`people`]: people, roles and access tokens, their accounts, pairing codes, browser sessions
//! - [`retention`]: how long each table is kept
//! - [`rules`]: guard rules that were added at run time
//! - [`schedules`]: reminders and scheduled tasks
//! - [`takers`]: claims in the transactions that make work ready
//! - [`tools`]: pinned tools of MCP servers, operators' tool settings
//! - [`usage`]: usage and rate limits, the totals of the day
//! - [`wake`]: in-process notifications
//! - [`webhooks`]: subscriptions and deliveries
//! - [`wiki`]: the wikis of agents
//!
//! The caller opens one transaction with [`Store::write`] and composes it from the functions here.

pub mod api;
pub mod approvals;
pub mod audit;
pub mod channels;
pub mod conversations;
pub mod datasources;
pub mod db;
pub mod erasure;
pub mod files;
pub mod jobs;
pub mod leases;
pub mod lists;
pub mod media_jobs;
pub mod memory;
pub mod metrics;
pub mod outbox;
pub mod people;
pub mod retention;
pub mod rules;
pub mod schedules;
#[cfg(test)]
mod scratch;
pub mod takers;
pub mod tools;
pub mod usage;
pub mod wake;
pub mod webhooks;
pub mod wiki;

use anyhow::{Context as _, Result};
use chrono::{DateTime, TimeZone as _, Utc};
use futures::future::BoxFuture;
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use crate::{
    clock::{self, Clock as _, SystemClock},
    crash,
    encryption::Encryption,
    journal::ids::NodeId,
};
pub use db::Tx;
use db::{Db, Durability, WriteMode, transient::is_transient};
use wake::{ClaimedWork, Notifier, Wakeups, Writers};

/// The number of conversations whose owners one transaction determines.
pub const OWNERS_AT_ONCE: usize = 1_000;

/// The database and its in-process state. Cheap to clone.
#[derive(Clone)]
pub struct Store {
    db: Db,
    pub notifier: Arc<Notifier>,
    pub node: NodeId,
    held: leases::held::Held,
    duties: leases::acquisition::Acquisition,
    claims: leases::acquisition::Acquisition,
    takers: takers::Takers,
    lease_for: Duration,
    encryption: Encryption,
}

/// How the database is used.
#[derive(Debug, Clone, Copy)]
pub struct StoreOptions {
    /// The failures that a commit survives on SQLite.
    pub durability: Durability,
    /// How long after the last heartbeat a lease expires.
    pub lease_for: Duration,
    /// The maximum number of connections to PostgreSQL.
    pub connections: u32,
    /// Whether PostgreSQL is behind a connection pooler in transaction mode.
    pub transaction_pooling: bool,
}

impl Default for StoreOptions {
    fn default() -> Self {
        Self {
            durability: Durability::default(),
            lease_for: Duration::from_secs(15),
            connections: 16,
            transaction_pooling: false,
        }
    }
}

impl Store {
    /// Checks that a database server answers and accepts the credentials; a file needs no check.
    pub async fn reach(url: &str, within: Duration) -> Result<()> {
        let asked = tokio::time::timeout(within, db::reach(url)).await;
        asked.context("the database does not answer")?
    }

    /// Opens the database at `url` (`sqlite://path` or `postgres://…`) and migrates its tables.
    pub async fn open(url: &str, options: StoreOptions) -> Result<Self> {
        let lease_for = options.lease_for;
        let db = Db::open(url, options).await.with_context(|| {
            format!("opening the database {}", db::address::without_password(url))
        })?;
        let writers = if db.is_shared() { Writers::OtherNodes } else { Writers::ThisProcess };
        let store = Self {
            notifier: Arc::new(Notifier::new(writers)),
            db,
            node: NodeId::new(),
            held: leases::held::Held::default(),
            duties: leases::acquisition::Acquisition::allowed(),
            claims: leases::acquisition::Acquisition::allowed(),
            takers: takers::Takers::default(),
            encryption: Encryption::default(),
            lease_for,
        };
        store.follow_clock().await.context("reading the database's clock")?;
        store.begin_backfill(SystemClock.now()).await?;
        // Owners that cannot be determined now are retried by the maintenance.
        if let Err(problem) = store.determine_owners(OWNERS_AT_ONCE).await {
            tracing::error!(problem = format!("{problem:#}"), "could not determine owners");
        }
        Ok(store)
    }

    /// Encrypts the secrets that are stored.
    pub fn with_encryption(self, encryption: Encryption) -> Self {
        Self { encryption, ..self }
    }

    /// Runs `work` in one transaction. When it returns, either all changes are durable or none was
    /// made. On SQLite, concurrent transactions share an fsync. PostgreSQL may roll back one of two
    /// conflicting transactions, which is then retried. `work` must not wait for anything but its
    /// statements, because on SQLite nothing else can run until it is done. `name` appears in errors
    /// and names two crash points.
    ///
    /// The transaction also claims what it makes ready, if this process takes such work.
    pub async fn write<T, F>(&self, name: &'static str, work: F) -> Result<T>
    where
        T: Send + 'static,
        F: for<'a, 'c> FnOnce(&'a mut Tx<'c>) -> BoxFuture<'a, Result<T>> + Clone + Send + 'static,
    {
        let claims = self.commit_claims();
        let claiming = claims.clone();
        let written = self.write_with((), name, WriteMode::DURABLE, move |tx| {
            Box::pin(async move {
                let value = work(tx).await?;
                if let Some(claims) = claiming {
                    claims.claim(tx).await?;
                }
                Ok(value)
            })
        });
        written.await.inspect_err(|problem| {
            if claims.is_some_and(|claims| claims.has_claimed()) && is_transient(problem) {
                self.held.missed();
            }
        })
    }

    /// The same in another mode. Keeps `held` until the transaction has ended, also if the caller
    /// was dropped.
    async fn write_with<T, F>(
        &self,
        held: impl Send + 'static,
        name: &'static str,
        mode: WriteMode,
        work: F,
    ) -> Result<T>
    where
        T: Send + 'static,
        F: for<'a, 'c> FnOnce(&'a mut Tx<'c>) -> BoxFuture<'a, Result<T>> + Clone + Send + 'static,
    {
        crash::point(name, "before commit");
        if crash::is_refused(name) {
            return Err(db::unavailable("a test has this transaction refused"));
        }
        let notifier = self.notifier.clone();
        let after = move |wakeups: Wakeups| {
            drop(held);
            crash::point(name, "after commit");
            notifier.notify(&wakeups);
            wakeups.counts.iter().for_each(metrics::counter::Count::enter);
            wakeups.turns_claimed.into_iter().for_each(ClaimedWork::start);
            wakeups.sends_claimed.into_iter().for_each(ClaimedWork::start);
        };
        let value = self.db.write(mode, work, after).await.context(name)?;
        if crash::loses_answer(name) {
            return Err(db::unavailable("a test has this response of the database lost"));
        }
        Ok(value)
    }

    /// Reads, with each statement in a transaction of its own (behind a pooler, all in one).
    pub async fn read<T, F>(&self, work: F) -> Result<T>
    where
        T: Send + 'static,
        F: for<'a, 'c> FnOnce(&'a mut Tx<'c>) -> BoxFuture<'a, Result<T>> + Send + 'static,
    {
        self.db.read(work).await
    }

    /// Synchronises the clock of this process with the database's, if nodes share one.
    pub async fn follow_clock(&self) -> Result<()> {
        if self.db.is_shared() {
            self.read(|tx| Box::pin(follow_clock(tx))).await?;
        }
        Ok(())
    }

    /// Whether the database answers.
    pub async fn ping(&self) -> Result<()> {
        self.read(|tx| Box::pin(async move { tx.now_ms().await.map(drop) })).await
    }
}

async fn follow_clock(tx: &mut Tx<'_>) -> Result<()> {
    let asked_at = Instant::now();
    let now = tx.now_ms().await?;
    clock::follow(at(now), asked_at, Instant::now());
    Ok(())
}

fn at(ms: i64) -> DateTime<Utc> {
    Utc.timestamp_millis_opt(ms).single().unwrap_or_default()
}
