//! MCP servers and hooks within walls. Servers need the network; both need caches of their own, and
//! read what is on the machine; but they write only into a folder of their own and those that the configuration names,
//! and see neither our data nor other processes nor the sockets of services.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};
use tokio::process::Command;

use super::{
    Job, Limits, Sandbox, Work,
    cell::{Cell, Files, HOME},
};
use crate::tools::ToolError;

#[derive(Debug, Clone)]
pub struct ServerWalls {
    pub sandbox: Arc<Sandbox>,
    /// Its own folder, kept from one start to the next.
    pub home: PathBuf,
    /// What it does not see: ours, and what lets somebody in elsewhere.
    pub hidden: Vec<PathBuf>,
    /// What it may write besides.
    pub folders: Vec<PathBuf>,
    pub network: bool,
}

impl ServerWalls {
    pub fn command(&self, program: &[String]) -> Result<Command, ToolError> {
        let failed = |error| ToolError::Sandbox(format!("{}: {error}", self.home.display()));
        std::fs::create_dir_all(&self.home).map_err(failed)?;
        let hidden: Vec<_> = self.hidden.iter().filter(|path| path.exists()).cloned().collect();
        // What the command line names is meant to be seen, also where the rest is covered.
        let covered: Vec<_> =
            ["/tmp".into(), "/run".into()].iter().chain(&hidden).cloned().collect();
        let named = program.iter().map(PathBuf::from).filter(|path| path.exists());
        let shown =
            named.filter(|path| depth(&covered, path) > depth(&self.folders, path)).collect();
        let mut folders = vec![(self.home.clone(), PathBuf::from(HOME))];
        folders.extend(self.folders.iter().map(|folder| (folder.clone(), folder.clone())));
        let cell = Cell {
            job: Job::new(Work::Program(program.to_vec()), Some(Limits::SERVER)),
            files: Files::Machine { hidden, shown },
            folders,
            shown: Vec::new(),
            network: self.network,
            egress: None,
        };
        let mut command = self.sandbox.walled(&cell)?;
        command.envs(std::env::vars_os().filter(|(name, _)| name == "PATH" || name == "LANG"));
        command.env("HOME", HOME);
        Ok(command)
    }
}

/// How deep the innermost of these places lies in which that path is.
fn depth(places: &[PathBuf], path: &Path) -> Option<usize> {
    let around = places.iter().filter(|place| path.starts_with(place));
    around.map(|place| place.components().count()).max()
}
