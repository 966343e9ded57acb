//! Remembers: the only place with SQL, and with the artifact folder.
//!
//! - [`db`]: the one file that knows that there are two databases
//! - [`address`]: its URL
//! - [`channels`]: which are to be connected anew
//! - [`conversations`]: what is kept of them besides their events
//! - [`journal`]: conversations and their events; [`record`]: what workers add to them
//! - [`gauges`], [`committed_metrics`] (in `counter`s): for operators who watch
//! - [`history`]: what a conversation has shown
//! - [`identities`]: accounts that belong to one person
//! - [`inbox`]: what platforms have delivered
//! - [`signing_keys`]: what all nodes sign with
//! - [`leases`]: who may advance what, until when; `held`: the heartbeat
//! - [`mcp_tools`]: what servers have said of their tools
//! - [`memory`], [`embeddings`], [`memory_scope`]: what agents remember, by its words, by its meaning, and where
//! - [`process_lock`]: one gateway process on a SQLite database
//! - `oldest_release`: which releases the tables are for
//! - `mentions`, `participants`: the files and people that conversations name
//! - [`outbox`]: what is to be shown; `album`: pictures together; [`due`]: what can be sent now;
//!   [`sending`]: how it ended; [`drafts`]: messages in which answers grow
//! - [`subscriptions`], [`webhook_deliveries`]: what other programs are told
//! - [`approvals`]: questions ([`approval_request`]), and the one update that decides
//! - [`grants`]: leave for longer; the halt of all tools
//! - [`places`]: where conversations stand
//! - [`approval_withdrawal`]: those that nobody waits for any more
//! - [`sessions`]: snapshots of folded sessions; [`web_sessions`]: who is signed in
//! - [`approval_display`]: where and how questions are shown
//! - [`votes`]: who has said yes
//! - [`people`]: who may talk, pairing codes, access tokens
//! - [`tasks`]: what sub-agents were given to do
//! - [`retention`]: how long everything is kept
//! - [`rules`]: guard rules that people have added
//! - [`schedules`]: what is to happen later
//! - [`tool_settings`]: tools as operators have set them
//! - [`usage`]: how often, how fast, at what cost; [`spent`]: the totals of the day
//! - [`lists`]: what operators look through
//! - [`tokens`], [`idempotency`]: of the API
//! - [`datasources`]: external databases that agents read
//! - [`erase`]: erases a person (`erasures`: what is left to be done; `rewrite`, `redaction`: where others
//!   talk too); [`retire`]: whole conversations
//! - `bind`: text as it is bound to statements
//! - [`audit`], [`verify`]: what was judged, decided and run, and whether that is what was written
//! - [`transient`]: errors of the database that pass; [`unreadable`]: rows that cannot be read
//! - [`wake`]: the in-process bell
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
pub mod journal;
pub mod leases;
pub mod lists;
pub mod mcp_tools;
pub mod memory;
pub mod memory_scope;
mod mentions;
pub mod modes;
mod oldest_release;
pub mod outbox;
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

/// The conversations whose owners one transaction determines.
pub const OWNERS_AT_ONCE: usize = 1_000;

/// Everything remembered. Cheap to clone.
#[derive(Clone)]
pub struct Store {
    db: Db,
    pub bell: Arc<Bell>,
    pub node: NodeId,
    held: held::Held,
    lease_for: Duration,
    encryption: Encryption,
}

impl Store {
    /// Whether a server of databases answers, and lets us in; a file needs none.
    pub async fn reach(url: &str, within: Duration) -> Result<()> {
        let asked = tokio::time::timeout(within, db::reach(url)).await;
        asked.context("the database does not answer")?
    }

    /// Opens the database at `url` (`sqlite://path` or `postgres://…`) and brings its tables up to
    /// date.
    /// A lease stands for `lease_for` without a heartbeat.
    pub async fn open(url: &str, durability: Durability, lease_for: Duration) -> Result<Self> {
        let db = Db::open(url, durability)
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
        // Those that cannot be determined now are tried again by the maintenance.
        if let Err(problem) = store.determine_owners(OWNERS_AT_ONCE).await {
            tracing::error!(problem = format!("{problem:#}"), "could not determine owners");
        }
        Ok(store)
    }

    /// Encrypts the secrets that it stores.
    pub fn with_encryption(self, encryption: Encryption) -> Self {
        Self { encryption, ..self }
    }

    /// Runs `work` in one transaction; when it returns, all of it is on disk, or nothing is. On
    /// SQLite, what others commit at the same time shares the fsync; PostgreSQL may end one of two
    /// that wait for each other, which is then run again. `name` stands in errors and
    /// names two crash points.
    pub async fn write<T, F>(&self, name: &'static str, work: F) -> Result<T>
    where
        T: Send + 'static,
        F: for<'a, 'c> FnOnce(&'a mut Tx<'c>) -> BoxFuture<'a, Result<T>> + Clone + Send + 'static,
    {
        crash::point(name, "before commit");
        let (db, bell) = (self.db.clone(), self.bell.clone());
        // Those who wait are woken also when the caller has gone.
        let written = spawn(async move {
            let (value, rung) = db.write(work).await?;
            crash::point(name, "after commit");
            bell.ring(&rung);
            rung.tally.iter().for_each(counter::Count::enter);
            anyhow::Ok(value)
        });
        let value = written.await.context("the transaction was aborted")?.context(name)?;
        ensure!(!crash::loses_answer(name), "a test has this answer of the database lost");
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

    /// Sets the clock of this process by the database's, where nodes share one.
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

/// Runs a database operation in a task of its own, so that it is polled whatever its caller does. A
/// caller that is not polled would otherwise keep the connection that it was granted, and with a few
/// of them nobody would get one.
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
