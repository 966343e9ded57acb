//! The walls, as bubblewrap is told about them.

use std::{
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
};
use tokio::process::Command;

use super::{Job, MIB, proxy_bridge};

/// Where the folder of a conversation is within.
pub const WORKSPACE: &str = "/workspace";
/// Where a skill is, to be read.
pub const SKILL: &str = "/skill";
/// Where a server finds its own folder.
pub const HOME: &str = "/run/home";
/// Where our binary is within.
const CONFINE: &str = "/run/countersign";
/// Where the proxy's socket is within.
const EGRESS: &str = "/run/egress";

/// What is written there lies in memory, and is gone with the program.
pub const TEMPORARY: [&str; 2] = ["/tmp", "/dev/shm"];
const TEMPORARY_BYTES: u64 = 256 * MIB;
/// Of what is put over a hidden folder, which stays as good as empty.
const HIDDEN_BYTES: &str = "65536";

/// Programs, and what they need to start: nothing that anybody wrote for himself.
const PROGRAMS: [&str; 7] = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"];
/// Not all of /etc: secrets lie there too.
const SETTINGS: [&str; 13] = [
    "alternatives",
    "ca-certificates",
    "fonts",
    "group",
    "ld.so.cache",
    "libreoffice",
    "localtime",
    "magic",
    "mime.types",
    "nsswitch.conf",
    "passwd",
    "python3",
    "ssl/certs",
];

/// One program and what is around it.
#[derive(Debug)]
pub struct Profile {
    pub job: Job,
    pub files: Files,
    /// Folders that it may write: here, and where they are within.
    pub folders: Vec<(PathBuf, PathBuf)>,
    /// Folders that it may read besides.
    pub shown: Vec<(PathBuf, PathBuf)>,
    pub network: bool,
    /// The socket at which a proxy lets it out.
    pub egress: Option<PathBuf>,
}

/// What can be read.
#[derive(Debug)]
pub enum Files {
    /// Programs only.
    Programs,
    /// What is on this machine, but for these files and folders and what runs here; with symbolic
    /// links, and what they name, where the rest is hidden.
    Machine { hidden: Vec<PathBuf>, shown: Vec<PathBuf>, links: Vec<(PathBuf, PathBuf)> },
}

/// What becomes of a place within.
enum Place<'a> {
    Hidden,
    /// To be read, what is here.
    Shown(&'a Path),
    /// To be written, what is here.
    Open(&'a Path),
    /// A symbolic link to this.
    Link(&'a Path),
}

impl Profile {
    /// Nothing but programs, and no network.
    pub fn around(job: Job) -> Self {
        let (folders, shown) = (Vec::new(), Vec::new());
        Self { job, files: Files::Programs, folders, shown, network: false, egress: None }
    }

    /// With the folder of a conversation, in which the program starts.
    pub fn with_workspace(mut self, folder: &Path) -> Self {
        self.folders.push((folder.to_owned(), WORKSPACE.into()));
        self
    }

    /// With a folder to be read.
    pub fn showing(mut self, folder: &Path, within: &Path) -> Self {
        self.shown.push((folder.to_owned(), within.to_owned()));
        self
    }

    /// With a way out, by the proxy at that socket.
    pub fn let_out_by(mut self, socket: &Path) -> Self {
        self.egress = Some(socket.to_owned());
        self
    }

    pub fn command(&self, bubblewrap: &Path, program: &Path) -> Command {
        let mut job = self.job.clone();
        job.writable = self.folders.iter().map(|(_, within)| within.clone()).collect();
        job.writable.extend(TEMPORARY.map(PathBuf::from));
        job.egress = self.egress.as_ref().map(|_| PathBuf::from(EGRESS));
        let mut command = Command::new(bubblewrap);
        command.env_clear().envs([
            ("PATH", "/usr/local/bin:/usr/bin:/bin"),
            ("HOME", "/tmp"),
            ("LANG", "C.UTF-8"),
        ]);
        if self.egress.is_some() {
            command.envs(["https_proxy", "HTTPS_PROXY"].map(|name| (name, proxy_bridge::PROXY)));
        }
        command.args([
            "--unshare-all",
            "--unshare-user",
            "--disable-userns",
            "--uid",
            "65534",
            "--gid",
            "65534",
            "--hostname",
            "sandbox",
            "--cap-drop",
            "ALL",
            "--die-with-parent",
            "--new-session",
            "--as-pid-1",
        ]);
        if self.network {
            command.arg("--share-net");
        }
        self.show(&mut command);
        command.arg("--ro-bind").arg(program).arg(CONFINE);
        if let Some(socket) = &self.egress {
            command.arg("--ro-bind").arg(socket).arg(EGRESS);
        }
        for (within, place) in self.places() {
            match place {
                Place::Hidden if within.is_dir() => {
                    command.args(["--size", HIDDEN_BYTES, "--tmpfs"]).arg(within)
                }
                Place::Hidden => command.args(["--ro-bind", "/dev/null"]).arg(within),
                Place::Shown(here) => command.arg("--ro-bind").arg(here).arg(within),
                Place::Open(here) => command.arg("--bind").arg(here).arg(within),
                Place::Link(target) => command.arg("--symlink").arg(target).arg(within),
            };
        }
        command.arg("--chdir").arg(self.folders.first().map_or(Path::new("/tmp"), |(_, f)| f));
        command.args(["--", CONFINE, "confine", "--job"]).arg(job.argument());
        command
    }

    fn show(&self, command: &mut Command) {
        match &self.files {
            Files::Programs => {
                for place in PROGRAMS {
                    show_as_it_is(command, Path::new(place));
                }
                for name in SETTINGS {
                    let place = format!("/etc/{name}");
                    command.args(["--ro-bind-try", &place, &place]);
                }
            }
            Files::Machine { .. } => {
                command.args(["--ro-bind", "/", "/"]);
            }
        }
        // To root, though without rights here, some of the kernel's settings would be writable.
        command.args(["--proc", "/proc", "--remount-ro", "/proc", "--dev", "/dev"]);
        for place in TEMPORARY {
            command.args(["--size", &TEMPORARY_BYTES.to_string(), "--tmpfs", place]);
        }
        if let Files::Machine { .. } = &self.files {
            // Sockets of whatever runs here are a way to be it.
            command.args(["--tmpfs", "/run"]);
            for kept in ["/run/systemd/resolve", "/run/current-system"] {
                command.args(["--ro-bind-try", kept, kept]);
            }
        }
    }

    /// The outer ones first, so that what is said of an inner one holds.
    fn places(&self) -> Vec<(&Path, Place<'_>)> {
        let mut places = Vec::new();
        if let Files::Machine { hidden, shown, links } = &self.files {
            places.extend(hidden.iter().map(|path| (&**path, Place::Hidden)));
            places.extend(shown.iter().map(|path| (&**path, Place::Shown(path))));
            places.extend(links.iter().map(|(link, target)| (&**link, Place::Link(target))));
        }
        places.extend(self.shown.iter().map(|(here, within)| (&**within, Place::Shown(here))));
        places.extend(self.folders.iter().map(|(here, within)| (&**within, Place::Open(here))));
        places.sort_by_key(|(within, _)| within.components().count());
        places
    }
}

/// /bin may be a link to /usr/bin, or a folder of its own.
fn show_as_it_is(command: &mut Command, place: &Path) {
    match fs::read_link(place) {
        Ok(target) => command.args([OsStr::new("--symlink"), target.as_ref(), place.as_ref()]),
        Err(_) => command.args([OsStr::new("--ro-bind-try"), place.as_ref(), place.as_ref()]),
    };
}
