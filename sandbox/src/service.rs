//! Sandboxes for programs of the operator: MCP servers and hooks. Servers need network access. Both
//! need caches and read files of the machine. They can write only to a private folder and to the
//! configured ones, and cannot access hidden paths, other processes, or the sockets in `/run`.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};
use tokio::process::Command;

use super::{
    Job, Sandbox, SandboxError, SandboxLimits, Work,
    egress::{Egress, KeptProxy},
    profile::{HOME, Profile, ReadableFiles, TEMPORARY},
};

/// What one server or hook is given.
#[derive(Debug, Clone)]
pub struct ServerSandbox {
    /// The mechanisms of this machine.
    pub sandbox: Arc<Sandbox>,
    /// The private folder, which is kept between runs.
    pub home: PathBuf,
    /// Hidden paths: the data of the caller, and credentials for other systems.
    pub hidden: Vec<PathBuf>,
    /// Additional writable folders.
    pub folders: Vec<PathBuf>,
    /// Its network access.
    pub network: ServerNetwork,
}

/// The network access of a server or hook.
#[derive(Debug, Clone)]
pub enum ServerNetwork {
    /// None.
    None,
    /// That of the machine.
    Machine,
    /// Only these hosts, through a proxy.
    Hosts(Arc<Egress>),
}

impl ServerNetwork {
    /// Opens the proxy, if one is needed.
    pub fn open(&self) -> Result<Option<KeptProxy>, SandboxError> {
        match self {
            Self::Hosts(egress) => egress.keep_open().map(Some),
            Self::None | Self::Machine => Ok(None),
        }
    }
}

impl ServerSandbox {
    /// The command that runs `program`: a name or path, and arguments. `proxy` is the one that its
    /// network access needs, and must be open as long as the program runs.
    pub fn command(
        &self,
        program: &[String],
        proxy: Option<&KeptProxy>,
    ) -> Result<Command, SandboxError> {
        let failed = |problem| SandboxError::NoFolder { folder: self.home.clone(), problem };
        fs::create_dir_all(&self.home).map_err(failed)?;
        // bubblewrap does not follow symbolic links to mount points.
        let mut links = Vec::new();
        let mut follow = |path: &PathBuf| {
            links.extend(links_of(path));
            path.canonicalize().unwrap_or_else(|_| path.clone())
        };
        let hidden: Vec<_> =
            self.hidden.iter().filter(|path| path.exists()).map(&mut follow).collect();
        let open: Vec<_> = self.folders.iter().map(&mut follow).collect();
        // Paths on the command line have to be visible, even within hidden folders.
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
        let profile = Profile {
            job: Job::new(Work::Program(program.to_vec()), Some(SandboxLimits::SERVER)),
            files: ReadableFiles::Machine { hidden, shown, links },
            folders,
            shown: Vec::new(),
            network: matches!(self.network, ServerNetwork::Machine),
            egress: proxy.map(|proxy| proxy.socket.clone()),
        };
        let mut command = self.sandbox.confined_command(&profile)?;
        command.envs(std::env::vars_os().filter(|(name, _)| name == "PATH" || name == "LANG"));
        command.env("HOME", HOME);
        Ok(command)
    }
}

/// The depth of the innermost of these places that contains the path.
fn depth(places: &[PathBuf], path: &Path) -> Option<usize> {
    let around = places.iter().filter(|place| path.starts_with(place));
    around.map(|place| place.components().count()).max()
}

/// The symbolic links in a path, with their targets.
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
