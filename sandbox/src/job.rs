//! What the re-executed binary does inside the sandbox.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

use super::SandboxLimits;

/// The job of the re-executed binary, passed as JSON in an argument.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Job {
    pub(super) work: Work,
    pub(super) limits: Option<SandboxLimits>,
    /// What a job of the binary may read; programs can read everything that is visible.
    pub(super) readable: Vec<PathBuf>,
    /// Writable paths inside the sandbox, for programs.
    pub(super) writable: Vec<PathBuf>,
    /// The path inside the sandbox of a socket that leads to a proxy.
    #[serde(default)]
    pub(super) egress: Option<PathBuf>,
}

/// What to do once the process is confined.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Work {
    /// Check that all restrictions are enforced.
    Probe,
    /// Start this program with its arguments, as its init process.
    Program(Vec<String>),
    /// Do a job of the binary, which this describes, with standard input: see
    /// [`JobFunction`](super::confine::JobFunction).
    Own(String),
}

impl Job {
    /// A job without access to files. Without limits, only the restrictions apply.
    pub fn new(work: Work, limits: Option<SandboxLimits>) -> Self {
        Self { work, limits, readable: Vec::new(), writable: Vec::new(), egress: None }
    }

    pub(super) fn argument(&self) -> String {
        serde_json::to_string(self).expect("a job is plain text and numbers")
    }
}
