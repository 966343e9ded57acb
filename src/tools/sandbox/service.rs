//! MCP servers and hooks within walls. Servers need the network; both need caches of their own, and
//! read what is on the machine; but they write only into a folder of their own and those that the configuration names,
//! and see neither our data nor other processes nor the sockets of services.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};
use tokio::process::Command;

use super::{
    Job, Limits, Sandbox, Work,
    profile::{Files, HOME, Profile, TEMPORARY},
};
use crate::tools::ToolError;

#[derive(Debug, Clone)]
pub struct ServerSandbox {
    pub sandbox: Arc<Sandbox>,
    /// Its own folder, kept from one start to the next.
    pub home: PathBuf,
    /// What it does not see: ours, and what lets somebody in elsewhere.
    pub hidden: Vec<PathBuf>,
    /// What it may write besides.
    pub folders: Vec<PathBuf>,
    pub network: bool,
}

impl ServerSandbox {
    pub fn command(&self, program: &[String]) -> Result<Command, ToolError> {
        let failed = |error| ToolError::Sandbox(format!("{}: {error}", self.home.display()));
        fs::create_dir_all(&self.home).map_err(failed)?;
        // bubblewrap does not follow symbolic links to where something is mounted.
        let mut links = Vec::new();
        let mut follow = |path: &PathBuf| {
            links.extend(links_of(path));
            path.canonicalize().unwrap_or_else(|_| path.clone())
        };
        let hidden: Vec<_> =
            self.hidden.iter().filter(|path| path.exists()).map(&mut follow).collect();
        let open: Vec<_> = self.folders.iter().map(&mut follow).collect();
        // What the command line names is meant to be seen, also where the rest is covered.
        let covered: Vec<_> =
            TEMPORARY.iter().chain(&["/run"]).map(PathBuf::from).chain(hidden.clone()).collect();
        let unseen = |path: &Path| depth(&covered, path) > depth(&open, path);
        let mut shown: Vec<_> = program
            .iter()
            .map(PathBuf::from)
            .filter(|path| path.exists())
            .map(|path| follow(&path))
            .collect();
        shown.retain(|path| unseen(path));
        links.retain(|(link, _)| unseen(link));
        links.sort();
        links.dedup();
        let mut folders = vec![(self.home.clone(), PathBuf::from(HOME))];
        folders.extend(open.into_iter().map(|folder| (folder.clone(), folder)));
        let cell = Profile {
            job: Job::new(Work::Program(program.to_vec()), Some(Limits::SERVER)),
            files: Files::Machine { hidden, shown, links },
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

/// The symbolic links that a path leads through: where they are, and what they name.
fn links_of(path: &Path) -> Vec<(PathBuf, PathBuf)> {
    let mut links = Vec::new();
    let mut path = path.to_owned();
    'next: while path.exists() {
        let outer_first: Vec<_> = path.ancestors().collect();
        for link in outer_first.into_iter().rev() {
            let (Ok(target), Some(parent), Some(name)) =
                (fs::read_link(link), link.parent(), link.file_name())
            else {
                continue;
            };
            let rest = path.strip_prefix(link).unwrap_or(Path::new(""));
            let next = parent.join(&target).join(rest);
            links
                .push((parent.canonicalize().unwrap_or_else(|_| parent.into()).join(name), target));
            path = next;
            continue 'next;
        }
        break;
    }
    links
}
