//! Checks that an edit starts from the version of a file that the agent knows.
//!
//! The session records the versions that the agent has read. Concurrent edits of one file in one
//! reply do not see each other there, so each file's edits are also tracked and serialised here.
//! After a restart this state is empty, and the agent must read the file again.

use parking_lot::Mutex;
use std::{collections::HashMap, path::PathBuf, sync::Arc};

use crate::tools::{Context, ToolError};

const MANY: usize = 4096;

/// The agent's own edits, by workspace and path.
#[derive(Debug, Default)]
pub struct Edits {
    files: Mutex<HashMap<ToolFixture, Arc<Mutex<Versions>>>>,
}

/// Workspace and path.
type ToolFixture = (PathBuf, String);

/// Digests of a file. The agent made each from the previous one.
#[derive(Debug, Default)]
pub struct Versions(Vec<String>);

impl Edits {
    /// The known versions of a file. Locked while it is edited.
    pub fn of(&self, context: &Context, path: &str) -> Arc<Mutex<Versions>> {
        let mut files = self.files.lock();
        if files.len() >= MANY {
            files.retain(|_, versions| Arc::strong_count(versions) > 1);
        }
        files.entry((context.workspace.clone(), path.to_owned())).or_default().clone()
    }
}

impl Versions {
    /// Whether an agent that has seen `seen` may edit the file in its current version.
    pub fn admit(&self, path: &str, seen: Option<&String>, current: &str) -> Result<(), ToolError> {
        let refused = |why: &str| {
            Err(ToolError::ExecutionFailed(format!("{path} {why}: use read_file, then edit it")))
        };
        match seen {
            None => refused("has not been read in this conversation"),
            Some(seen) if seen == current => Ok(()),
            Some(seen) if self.0.contains(seen) && self.0.last().is_some_and(|d| d == current) => {
                Ok(())
            }
            Some(_) => refused("has changed since it was read"),
        }
    }

    /// Records that `after` was made from `before`.
    pub fn edited(&mut self, before: String, after: String) {
        if self.0.last() != Some(&before) {
            self.0 = vec![before];
        }
        self.0.push(after);
    }
}
