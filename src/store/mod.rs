//! The store: all SQL, and the artifact folder.
//!
//! - [`db`]: the only file that distinguishes the two databases
//! - [`address`]: the database URL
//! - [`channels`]: reconnection requests
//! - [`conversations`]: the state of conversations besides their events
//! - [`journal`]: conversations and their events; [`record`]: the changes that workers record
//! - [`gauges`], [`committed_metrics`] (`counter`): metrics
//! - [`history`]: the messages that a conversation has shown
//! - [`identities`]: accounts that belong to one person
//! - [`inbox`]: updates delivered by platforms
//! - [`signing_keys`]: the keys with which all nodes sign
//! - [`leases`]: leases and duties; `held`: the heartbeat
//! - [`mcp_tools`]: pinned tools of MCP servers
//! - [`memory`], [`embeddings`], [`memory_scope`]: the agents' memories, full-text and semantic
//!   search
//! - [`process_lock`]: one gateway process on a SQLite database
//! - `oldest_release`: which releases can use the tables
//! - `mentions`, `participants`: the files and people that conversations refer to
//! - [`outbox`]: messages to send; `album`: pictures that are sent together; [`due`]: claiming
//!   rows; [`sending`]: the outcome of a send; [`drafts`]: messages in which answers grow
//! - [`subscriptions`], [`webhook_deliveries`]: outgoing webhooks
//! - [`approvals`]: approvals ([`approval_request`]), and the one update that decides each
//! - [`grants`]: grants; the halt of all tools
//! - [`places`]: the places of conversations
//! - [`approval_withdrawal`]: withdraws approvals
//! - [`sessions`]: snapshots of folded sessions; [`web_sessions`]: browser sessions
//! - [`approval_display`]: how approvals are displayed
//! - [`votes`]: votes on approvals
//! - [`people`]: people, roles and access tokens; `pairing`: pairing codes
//! - [`tasks`]: the tasks of sub-agents
//! - [`retention`]: how long each table is kept
//! - [`rules`]: guard rules that were added at run time
//! - [`schedules`]: reminders and scheduled tasks
//! - [`tool_settings`]: the operators' tool settings
//! - [`usage`]: usage and rate limits; [`spent`]: the totals of the day
//! - [`lists`]: paginated lists for operators
//! - [`tokens`], [`idempotency`]: API tokens and idempotency keys
//! - [`datasources`]: external databases that agents read
//! - [`erase`]: erases a person (`erasures`: the remaining work; `rewrite`, `redaction`:
//!   conversations with other people); [`retire`]: deletes whole conversations
//! - `bind`: values bound to statements
//! - [`audit`], [`verify`]: the audit, and its verification
//! - [`transient`]: temporary database errors; [`unreadable`]: rows that cannot be read
//! - [`wake`]: in-process notifications
//! - [`files`]: artifacts by their SHA-256
//!
//! The caller opens one transaction with [`Store::write`] and composes it from the functions here.

pub mod address;
mod album;
pub mod approval_display;
pub mod approval_files;
pub mod approval_request;
pub mod approval_withdrawal;
pub mod approvals;
pub mod audit;
pub mod backup;
mod bind;
pub mod channels;
pub mod committed_metrics;
pub mod conversations;
mod counter;
pub mod datasources;
pub mod db;
pub mod drafts;
pub mod due;
pub mod embeddings;
pub mod erase;
mod erasures;
pub mod files;
pub mod gauges;
pub mod grants;
mod held;
pub mod history;
pub mod idempotency;
pub mod identities;
pub mod inbox;
pub mod jobs;
pub mod journal;
pub mod leases;
pub mod lists;
pub mod mcp_tools;
pub mod memory;
pub mod memory_scope;
mod memory_words;
mod mentions;
pub mod modes;
mod oldest_release;
pub mod outbox;
pub mod own_conversations;
pub mod pairing;
mod participants;
pub mod people;
pub mod places;
pub mod process_lock;
pub mod record;
mod redaction;
pub mod retention;
pub mod retire;
mod rewrite;
pub mod rules;
pub mod schedules;
pub mod sending;
pub mod sessions;
mod signing_keys;
pub mod spent;
pub mod subscriptions;
pub mod tasks;
pub mod tokens;
pub mod tool_settings;
pub mod transient;
pub mod unreadable;
pub mod usage;
pub mod verify;
pub mod votes;
pub mod wake;
pub mod web_sessions;
pub mod webhook_deliveries;
pub mod wiki;

use anyhow::{Context as _, Result, ensure};
use chrono::{DateTime, TimeZone as _, Utc};
use futures::future::BoxFuture;
use std::{
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::task::JoinHandle;
use tokio_util::task::AbortOnDropHandle;
use tracing::Instrument as _;

use crate::{
    clock::{self, Clock as _, SystemClock},
    crash,
    encryption::Encryption,
    journal::ids::NodeId,
};
pub use db::Tx;
use db::{Db, Durability};
use wake::{Bell, Writers};

/// The number of conversations whose owners one transaction determines.
pub const OWNERS_AT_ONCE: usize = 1_000;

/// The database and the state that goes with it. Cheap to clone.
#[derive(Clone)]
pub struct Store {
    db: Db,
    pub bell: Arc<Bell>,
    pub node: NodeId,
    held: held::Held,
    lease_for: Duration,
    encryption: Encryption,
}

/// How the database is used.
#[derive(Debug, Clone, Copy)]
pub struct StoreOptions {
    /// What a commit survives on SQLite.
    pub durability: Durability,
    /// A lease expires this long after the last heartbeat.
    pub lease_for: Duration,
    /// The maximum number of connections to PostgreSQL.
    pub connections: u32,
}

impl Default for StoreOptions {
    fn default() -> Self {
        Self {
            durability: Durability::default(),
            lease_for: Duration::from_secs(15),
            connections: 16,
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
        let db = Db::open(url, options)
            .await
            .with_context(|| format!("opening the database {}", address::without_password(url)))?;
        let writers = if db.is_shared() { Writers::OtherNodes } else { Writers::ThisProcess };
        let store = Self {
            bell: Arc::new(Bell::new(writers)),
            db,
            node: NodeId::new(),
            held: held::Held::default(),
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

    /// Runs `work` in one transaction. When it returns, all changes are durable, or none was made.
    /// On SQLite, concurrent transactions share an fsync; PostgreSQL may roll back one of two
    /// conflicting transactions, which is then retried. `name` appears in errors and names two
    /// crash points.
    pub async fn write<T, F>(&self, name: &'static str, work: F) -> Result<T>
    where
        T: Send + 'static,
        F: for<'a, 'c> FnOnce(&'a mut Tx<'c>) -> BoxFuture<'a, Result<T>> + Clone + Send + 'static,
    {
        crash::point(name, "before commit");
        let (db, bell) = (self.db.clone(), self.bell.clone());
        // Waiting tasks are woken even if the caller was dropped.
        let written = spawn(async move {
            let (value, rung) = db.write(work).await?;
            crash::point(name, "after commit");
            bell.ring(&rung);
            rung.tally.iter().for_each(counter::Count::enter);
            anyhow::Ok(value)
        });
        let value = written.await.context("the transaction was aborted")?.context(name)?;
        ensure!(!crash::loses_answer(name), "a test has this response of the database lost");
        Ok(value)
    }

    /// Reads outside of any transaction.
    pub async fn read<T, F>(&self, work: F) -> Result<T>
    where
        T: Send + 'static,
        F: for<'a, 'c> FnOnce(&'a mut Tx<'c>) -> BoxFuture<'a, Result<T>> + Send + 'static,
    {
        let db = self.db.clone();
        let read = AbortOnDropHandle::new(spawn(async move { db.read(work).await }));
        read.await.context("the read was aborted")?
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

/// Runs a database operation in its own task, so that it is polled whatever its caller does. A
/// caller that is not polled would otherwise keep the connection that it was granted and could
/// exhaust the pool.
fn spawn<T: Send + 'static>(
    operation: impl Future<Output = Result<T>> + Send + 'static,
) -> JoinHandle<Result<T>> {
    #[expect(clippy::disallowed_methods, reason = "its caller waits for it, and is tracked")]
    tokio::spawn(operation.in_current_span())
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
