//! Files of the workspace: `read_file`, `write_file`, `list_dir`, `apply_patch`,
//! `detect_file_type`.
//!
//! - [`read`], [`page`]: a page of a file of any size, in constant memory
//! - [`mod@write`], [`patch`], [`edits`]: whole files, replacements, and what may be edited
//! - `list`: folders
//! - [`kind`]: the type of a file
//! - [`diff`]: previews of edits

pub mod diff;
pub mod edits;
pub mod kind;
pub mod list;
pub mod page;
pub mod patch;
pub mod read;
pub mod write;

use sha2::{Digest as _, Sha256};
use std::{collections::BTreeMap, sync::Arc};

use super::{Tool, workspace::Workspace};
use crate::{agent::catalog::Rate, journal::event::SeenFile};

/// The maximum size of a file that can be written or edited.
pub const MAX_WRITE_BYTES: u64 = 5 * 1024 * 1024;

/// The rate limit for writing and editing.
const RATE: Option<Rate> = Some(Rate::new(20, 200));

/// All file tools; those that edit share their knowledge of each other's edits.
pub fn tools() -> Vec<Arc<dyn Tool>> {
    let edits = Arc::new(edits::Edits::default());
    vec![
        Arc::new(read::ReadFile),
        Arc::new(write::WriteFile { edits: edits.clone() }),
        Arc::new(list::ListDir),
        Arc::new(patch::ApplyPatch { edits }),
        Arc::new(kind::DetectFileType),
    ]
}

fn digest(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}

/// The digests of these files, as if the agent read them now: path → SHA-256.
pub fn seen_now(workspace: &Workspace, paths: &[String]) -> BTreeMap<String, String> {
    let seen = |path: &String| {
        let bytes = workspace.bytes(path, MAX_WRITE_BYTES).ok()?;
        Some((path.clone(), digest(&bytes)))
    };
    paths.iter().filter_map(seen).collect()
}

fn seen(path: &str, digest: String) -> Vec<SeenFile> {
    vec![SeenFile { path: path.to_owned(), digest }]
}
