//! The installed servers: one JSON file for each, in a folder of `data_dir`. The gateway follows
//! its changes.
//!
//! The file of a removed server stays, so that no other server gets its name: trust and permanent
//! approvals belong to the names of tools.

use anyhow::{Context as _, Result, ensure};
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    fs,
    io::ErrorKind,
    path::{Path, PathBuf},
};
use url::Url;

use super::server_json::ServerLaunch;
use crate::{
    agent::naming::sanitise,
    tools::{
        atomic_file,
        folder_lock::{self, FolderLock},
    },
};

/// The maximum number of installed servers, and of files with those that were removed.
const MAX_SERVERS: usize = 100;
const MAX_FILES: usize = 1_000;

/// An installed server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InstalledServer {
    pub registry: Url,
    /// Its name in the registry.
    pub server: String,
    pub version: String,
    pub state: ServerState,
    pub launch: ServerLaunch,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ServerState {
    Enabled,
    Disabled,
    Removed,
}

/// The folder with the files `NAME.json`, where `NAME` begins the names of the server's tools.
#[derive(Debug, Clone)]
pub struct ServerFolder(PathBuf);

impl ServerFolder {
    pub fn of(data_dir: &Path) -> Self {
        Self(data_dir.join("mcp_servers"))
    }

    /// The installed servers by name.
    pub fn installed(&self) -> Result<BTreeMap<String, InstalledServer>> {
        let mut all = self.all()?;
        all.retain(|_, server| server.state != ServerState::Removed);
        Ok(all)
    }

    /// Including those that were removed. A file that cannot be read is skipped with a warning.
    pub fn all(&self) -> Result<BTreeMap<String, InstalledServer>> {
        let entries = match fs::read_dir(&self.0) {
            Ok(entries) => entries.collect::<Result<Vec<_>, _>>(),
            Err(problem) if problem.kind() == ErrorKind::NotFound => Ok(Vec::new()),
            Err(problem) => Err(problem),
        };
        let entries = entries.with_context(|| self.0.display().to_string())?.into_iter();
        let names = entries.filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            name.strip_suffix(".json").filter(|name| is_name(name)).map(str::to_owned)
        });
        let read = |name: String| match self.find(&name) {
            Ok(found) => Some((name, found?)),
            Err(problem) => {
                tracing::warn!(
                    mcp.server = name,
                    problem = format!("{problem:#}"),
                    "skipped an installed server"
                );
                None
            }
        };
        Ok(names.filter_map(read).collect())
    }

    pub fn find(&self, name: &str) -> Result<Option<InstalledServer>> {
        let path = self.path(name);
        match fs::read(&path) {
            Ok(bytes) => {
                let server = serde_json::from_slice(&bytes);
                Ok(Some(server.with_context(|| path.display().to_string())?))
            }
            Err(problem) if problem.kind() == ErrorKind::NotFound => Ok(None),
            Err(problem) => Err(problem).with_context(|| path.display().to_string()),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(format!("{name}.json"))
    }

    pub fn lock(&self) -> Result<FolderLock> {
        folder_lock::lock(&self.0)
    }

    /// Writes a server. The lock is that of this folder.
    pub fn put(&self, _lock: &FolderLock, name: &str, server: &InstalledServer) -> Result<()> {
        ensure!(is_name(name), "{name:?} is not the name of a server");
        let (all, installed) = (self.all()?, self.installed()?);
        let is_new = server.state != ServerState::Removed && !installed.contains_key(name);
        ensure!(
            !is_new || installed.len() < MAX_SERVERS,
            "the maximum of {MAX_SERVERS} installed servers is reached: remove one first"
        );
        let is_same = |known: &InstalledServer| {
            known.server == server.server && known.registry == server.registry
        };
        ensure!(all.get(name).is_none_or(is_same), "another server has the name {name}");
        ensure!(
            all.contains_key(name) || all.len() < MAX_FILES,
            "{} has more than {MAX_FILES} files: delete those of servers that were removed",
            self.0.display()
        );
        let path = self.path(name);
        let written = atomic_file::replace(&path, &serde_json::to_vec_pretty(server)?);
        written.with_context(|| format!("writing {}", path.display()))
    }
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && sanitise(name) == name
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn server() -> InstalledServer {
        serde_json::from_value(json!({
            "registry": "https://registry.example", "server": "io.example/weather",
            "version": "1.0.2", "state": "enabled",
            "launch": { "url": "https://weather.example/mcp" },
        }))
        .unwrap()
    }

    #[test]
    fn a_server_is_written_and_removed() {
        let home = tempfile::tempdir().unwrap();
        let folder = ServerFolder::of(home.path());
        assert!(folder.all().unwrap().is_empty());
        let lock = folder.lock().unwrap();
        folder.put(&lock, "weather", &server()).unwrap();
        assert_eq!(folder.all().unwrap()["weather"], server());
        let other = InstalledServer { server: "com.evil/weather".into(), ..server() };
        assert!(
            folder.put(&lock, "weather", &other).is_err(),
            "the name belongs to another server"
        );
        for name in ["../weather", "", "We ather"] {
            assert!(folder.put(&lock, name, &server()).is_err(), "{name}");
        }
        fs::write(home.path().join("mcp_servers/damaged.json"), "{").unwrap();
        assert_eq!(folder.all().unwrap().len(), 1, "a damaged file is skipped");
        folder
            .put(&lock, "weather", &InstalledServer { state: ServerState::Removed, ..server() })
            .unwrap();
        assert!(folder.installed().unwrap().is_empty());
        assert_eq!(folder.all().unwrap().len(), 1, "the name stays taken");
    }

    #[test]
    fn the_number_of_servers_is_limited() {
        let home = tempfile::tempdir().unwrap();
        let folder = ServerFolder::of(home.path());
        let lock = folder.lock().unwrap();
        for number in 0..MAX_SERVERS {
            folder.put(&lock, &format!("s{number}"), &server()).unwrap();
        }
        assert!(
            folder.put(&lock, "one_more", &server()).unwrap_err().to_string().contains("maximum")
        );
        folder.put(&lock, "s0", &server()).unwrap();
    }
}
