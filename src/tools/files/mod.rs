//! Files of the workspace: `read_file`, `write_file`, `list_dir`, `apply_patch`.
//!
//! - [`read`], [`page`]: a page of a file of any size, in constant memory
//! - [`write`], [`patch`], [`edits`]: whole files, replacements, and what may be edited
//! - [`ListDir`](list::ListDir): folders
//! - [`diff`]: what a person is shown before an edit

pub mod diff;
pub mod edits;
pub mod list;
pub mod page;
pub mod patch;
pub mod read;
pub mod write;

use sha2::{Digest as _, Sha256};
use std::sync::Arc;

use super::Tool;
use crate::{agent::catalog::Rate, journal::event::Seen};

/// What may be written, and what may be edited.
pub const MAX_WRITE_BYTES: u64 = 5 * 1024 * 1024;

/// Writing and editing.
const RATE: Rate = Rate { per_minute: 20, per_hour: 200 };

/// The four of them, which share what they know of each other's edits.
pub fn tools() -> Vec<Arc<dyn Tool>> {
    let edits = Arc::new(edits::Edits::default());
    vec![
        Arc::new(read::ReadFile),
        Arc::new(write::WriteFile { edits: edits.clone() }),
        Arc::new(list::ListDir),
        Arc::new(patch::ApplyPatch { edits }),
    ]
}

fn digest(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}

fn seen(path: &str, digest: String) -> Vec<Seen> {
    vec![Seen { path: path.to_owned(), digest }]
}
