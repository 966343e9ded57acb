//! Finds the components and manifests of WASM tools.

use sha2::{Digest as _, Sha256};
use std::{
    fs::File,
    io::Read as _,
    path::{Path, PathBuf},
    time::SystemTime,
};

use super::manifest::Manifest;

/// The maximum size of a component.
const MODULE_BYTES: u64 = 16 * 1024 * 1024;
const MANIFEST_BYTES: u64 = 64 * 1024;
/// The maximum number of components.
const MAX_MODULES: usize = 100;

/// Where components are.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ModulePlaces {
    /// Every `*.wasm` in this folder.
    pub folder: PathBuf,
    pub files: Vec<PathBuf>,
}

/// A component with its manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModuleFile {
    pub bytes: Vec<u8>,
    /// The SHA-256 of the component, in hex.
    pub sha256: String,
    pub manifest: Manifest,
}

/// A value that changes when a file does.
pub type FolderStamp = Vec<(PathBuf, u64, Option<SystemTime>)>;

impl ModulePlaces {
    /// The paths of the components, in order.
    pub fn paths(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let found = entries.map(|entry| entry.path());
        let found = found.filter(|path| path.extension().is_some_and(|end| end == "wasm"));
        let mut paths: Vec<_> = found.chain(self.files.iter().cloned()).collect();
        paths.sort();
        paths.dedup();
        if paths.len() > MAX_MODULES {
            tracing::warn!(limit = MAX_MODULES, "ignored WASM tools beyond the limit");
            paths.truncate(MAX_MODULES);
        }
        paths
    }

    pub fn stamp(&self) -> FolderStamp {
        let both = self.paths().into_iter().flat_map(|path| [manifest_of(&path), path]);
        let about = |path: PathBuf| {
            let about = std::fs::metadata(&path);
            let size = about.as_ref().map_or(0, std::fs::Metadata::len);
            (path, size, about.ok().and_then(|about| about.modified().ok()))
        };
        both.map(about).collect()
    }
}

/// The name of a component, by which it is pinned.
pub fn name_of(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// Reads a component and its manifest.
pub fn read(path: &Path) -> Result<ModuleFile, String> {
    let bytes = bounded(path, MODULE_BYTES)?;
    let place = manifest_of(path);
    let manifest = if place.exists() {
        let text = String::from_utf8(bounded(&place, MANIFEST_BYTES)?);
        let text = text.map_err(|_| format!("{} is not UTF-8", place.display()))?;
        Manifest::parse(&text).map_err(|why| format!("{}: {why}", place.display()))?
    } else {
        Manifest::default()
    };
    Ok(ModuleFile { sha256: hex::encode(Sha256::digest(&bytes)), bytes, manifest })
}

/// `weather.toml` beside `weather.wasm`.
fn manifest_of(path: &Path) -> PathBuf {
    path.with_extension("toml")
}

fn bounded(path: &Path, limit_bytes: u64) -> Result<Vec<u8>, String> {
    let failed = |problem: std::io::Error| format!("{} cannot be read: {problem}", path.display());
    let file = File::open(path).map_err(failed)?;
    let mut bytes = Vec::new();
    file.take(limit_bytes + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > limit_bytes {
        return Err(format!("{} is larger than {limit_bytes} bytes", path.display()));
    }
    Ok(bytes)
}
