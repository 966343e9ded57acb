//! A crash test of the real gateway: processes are killed at random while people write, press
//! buttons, forward and edit; afterwards what the platform, the model and the tools have recorded
//! is checked against what the gateway promises.
//!
//! - [`run`]: one run on one database, and its result
//! - [`trial`]: when what is killed
//! - [`gateway`], [`database`]: the processes that are killed
//! - [`people`], [`model`], [`faults`]: who talks to the gateway, and what goes wrong meanwhile
//! - [`history`], `record`: what is recorded; [`check`]: what must hold of it
//! - [`report`]: the table
//! - `random`: choices that follow from a seed
//! - [`burst`]: how long it takes when many people want something at once

pub mod burst;
pub mod check;
pub mod database;
pub mod faults;
pub mod gateway;
pub mod history;
pub mod model;
pub mod people;
pub mod random;
pub mod record;
pub mod report;
pub mod run;
pub mod trial;

use std::path::PathBuf;

pub type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Database {
    /// One process.
    Sqlite,
    /// Three processes, and a server that is stopped and started again too.
    Postgres,
}

impl Database {
    pub fn name(self) -> &'static str {
        match self {
            Self::Sqlite => "SQLite, 1 node",
            Self::Postgres => "PostgreSQL, 3 nodes",
        }
    }

    fn nodes(self) -> usize {
        match self {
            Self::Sqlite => 1,
            Self::Postgres => 3,
        }
    }
}

/// What is to be done.
#[derive(Debug, Clone)]
pub struct Options {
    /// The gateway's program.
    pub binary: PathBuf,
    pub databases: Vec<Database>,
    /// Processes to kill on each database.
    pub kills: usize,
    pub seed: u64,
    /// Conversations at a time.
    pub people: usize,
    /// Whether the folder with databases and logs stays when all went well.
    pub keep: bool,
    /// Whether nothing is killed, and times are measured instead.
    pub burst: bool,
}
