//! Remembers: the only place with SQL, and with the artifact folder.
//!
//! - [`db`]: the one file that knows that there are two databases
//! - [`channels`]: which are to be connected anew
//! - [`conversations`]: what is kept of them besides their events
//! - [`journal`]: conversations and their events; [`record`]: what workers add to them
//! - [`figures`], [`tally`] (in `count`s): for operators who watch
//! - [`history`]: what a conversation has shown
//! - [`inbox`]: what platforms have delivered
//! - [`keys`]: what all nodes sign with
//! - [`leases`]: who may advance what, until when
//! - [`mcp_tools`]: what servers have said of their tools
//! - [`memory`], [`vectors`], [`shelf`]: what agents remember, by its words, by its meaning, and where
//! - [`outbox`]: what is to be shown; `album`: pictures together; [`due`]: what can be sent now;
//!   [`sending`]: how it ended; [`drafts`]: messages in which answers grow
//! - [`topics`], [`notices`]: what other programs are told
//! - [`approvals`]: questions ([`question`]), and the one update that decides
//! - [`grants`]: leave for longer; the halt of all tools
//! - [`places`]: where conversations stand
//! - [`withdrawn`]: those that nobody waits for any more
//! - [`showing`]: where and how questions are shown
//! - [`votes`]: who has said yes
//! - [`people`]: who may talk, pairing codes, access tokens
//! - [`tasks`]: what sub-agents were given to do
//! - [`rules`]: guard rules that people have added
//! - [`schedules`]: what is to happen later
//! - [`tool_settings`]: tools as operators have set them
//! - [`usage`]: how often, how fast, at what cost
//! - [`lists`]: what operators look through
//! - [`tokens`], [`answers`]: of the API
//! - [`erase`]: takes a person out
//! - [`audit`], [`verify`]: what was judged, decided and run, and whether that is what was written
//! - [`wake`]: the in-process bell
//! - [`files`]: artifacts by their SHA-256
//!
//! The caller opens one transaction with [`Store::write`] and composes it from the functions here.

mod album;
pub mod answers;
pub mod approvals;
pub mod audit;
pub mod backup;
pub mod channels;
pub mod conversations;
mod count;
pub mod db;
pub mod drafts;
pub mod due;
pub mod erase;
pub mod figures;
pub mod files;
mod forgotten;
pub mod grants;
pub mod history;
pub mod inbox;
pub mod journal;
mod keys;
pub mod leases;
pub mod lists;
pub mod mcp_tools;
pub mod memory;
pub mod notices;
pub mod outbox;
pub mod people;
pub mod places;
pub mod question;
pub mod record;
pub mod rules;
pub mod schedules;
pub mod sending;
pub mod shelf;
pub mod showing;
pub mod tally;
pub mod tasks;
pub mod tokens;
pub mod tool_settings;
pub mod topics;
pub mod usage;
pub mod vectors;
pub mod verify;
pub mod votes;
pub mod wake;
pub mod withdrawn;

use anyhow::{Context as _, Result};
use chrono::{DateTime, TimeZone as _, Utc};
use futures::future::BoxFuture;
use std::{sync::Arc, time::Duration};

use crate::{crash, journal::ids::NodeId};
pub use db::Tx;
use db::{Db, Durability};
use wake::Bell;

/// Everything remembered. Cheap to clone.
#[derive(Clone)]
pub struct Store {
    db: Db,
    pub bell: Arc<Bell>,
    pub node: NodeId,
    held: leases::Held,
    lease_for: Duration,
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
            .with_context(|| format!("opening the database {}", db::without_password(url)))?;
        Ok(Self {
            db,
            bell: Arc::default(),
            node: NodeId::new(),
            held: leases::Held::default(),
            lease_for,
        })
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
        let (value, rung) = self.db.write(work).await.context(name)?;
        crash::point(name, "after commit");
        self.bell.ring(&rung);
        rung.tally.iter().for_each(count::Count::enter);
        Ok(value)
    }

    /// Reads outside of any transaction.
    pub async fn read<T, F>(&self, work: F) -> Result<T>
    where
        T: Send + 'static,
        F: for<'a, 'c> FnOnce(&'a mut Tx<'c>) -> BoxFuture<'a, Result<T>> + Send + 'static,
    {
        self.db.read(work).await
    }

    /// Whether the database answers.
    pub async fn ping(&self) -> Result<()> {
        self.read(|tx| Box::pin(async move { tx.now_ms().await.map(drop) })).await
    }
}

fn at(ms: i64) -> DateTime<Utc> {
    Utc.timestamp_millis_opt(ms).single().unwrap_or_default()
}
