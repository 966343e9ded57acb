//! The arguments for bubblewrap.

use std::{
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
};
use tokio::process::Command;

use super::{Job, MIB, Work, proxy_bridge};

/// The folder in which a program works, inside the sandbox.
pub const WORKSPACE: &str = "/workspace";
/// A server's own folder inside the sandbox.
pub(super) const HOME: &str = "/run/home";
/// This binary inside the sandbox.
const CONFINE: &str = "/run/countersign";
/// The proxy's socket inside the sandbox.
const EGRESS: &str = "/run/egress";

/// Writable folders in memory, which are deleted when the program ends.
pub(super) const TEMPORARY: [&str; 2] = ["/tmp", "/dev/shm"];
const TEMPORARY_BYTES: u64 = 256 * MIB;
/// The size limit of the file system that covers a hidden folder.
const HIDDEN_BYTES: &str = "65536";

/// The folders of programs and libraries; no files of users.
const PROGRAMS: [&str; 7] = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"];
/// The readable parts of /etc, which also contains secrets.
const SETTINGS: [&str; 13] = [
    "alternatives",
    "ca-certificates",
    "fonts",
    "group",
    LIBRARY_CACHE,
    "libreoffice",
    "localtime",
    "magic",
    "mime.types",
    "nsswitch.conf",
    "passwd",
    "python3",
    "ssl/certs",
];

/// Where the dynamic linker finds libraries.
const LIBRARY_CACHE: &str = "ld.so.cache";

/// One program and its sandbox.
#[derive(Debug)]
pub struct Profile {
    pub(super) job: Job,
    pub(super) files: ReadableFiles,
    /// Writable folders: outside and inside paths. The program starts in the first.
    pub(super) folders: Vec<(PathBuf, PathBuf)>,
    /// Additional readable folders.
    pub(super) shown: Vec<(PathBuf, PathBuf)>,
    /// Whether it has the network of the machine.
    pub(super) network: bool,
    /// The socket of a proxy for network access.
    pub(super) egress: Option<PathBuf>,
}

/// The files that a program can read.
#[derive(Debug)]
pub(super) enum ReadableFiles {
    /// Programs only.
    Programs,
    /// Programs without the settings and devices of the machine, for a job of this binary. It opens
    /// nothing but libraries, fonts and what the profile adds.
    Libraries,
    /// The whole machine, except these files and folders and the contents of /run; with symbolic
    /// links, and their targets, in hidden places.
    Machine { hidden: Vec<PathBuf>, shown: Vec<PathBuf>, links: Vec<(PathBuf, PathBuf)> },
}

/// How a path appears inside the sandbox.
enum MountTarget<'a> {
    Hidden,
    /// Read-only, from outside.
    Shown(&'a Path),
    /// Writable, from outside.
    Open(&'a Path),
    /// A symbolic link.
    Link(&'a Path),
}

impl Profile {
    /// Programs only, or what a job of this binary needs, and no network.
    pub fn around(job: Job) -> Self {
        let (folders, shown) = (Vec::new(), Vec::new());
        let files = match job.work {
            Work::Own(_) => ReadableFiles::Libraries,
            _ => ReadableFiles::Programs,
        };
        Self { job, files, folders, shown, network: false, egress: None }
    }

    /// Adds a writable folder at [`WORKSPACE`], in which the program starts.
    pub fn with_workspace(self, folder: &Path) -> Self {
        self.writing(folder, Path::new(WORKSPACE))
    }

    /// Adds a readable folder, `folder` outside, at the path `within` inside.
    pub fn showing(mut self, folder: &Path, within: &Path) -> Self {
        self.shown.push((folder.to_owned(), within.to_owned()));
        self
    }

    /// Adds a writable folder, `folder` outside, at the path `within` inside.
    pub fn writing(mut self, folder: &Path, within: &Path) -> Self {
        self.folders.push((folder.to_owned(), within.to_owned()));
        self
    }

    /// Adds network access through the proxy at that socket.
    pub fn with_proxy_socket(mut self, socket: &Path) -> Self {
        self.egress = Some(socket.to_owned());
        self
    }

    pub(super) fn command(&self, bubblewrap: &Path, program: &Path) -> Command {
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
                MountTarget::Hidden if within.is_dir() => {
                    command.args(["--size", HIDDEN_BYTES, "--tmpfs"]).arg(within)
                }
                MountTarget::Hidden => command.args(["--ro-bind", "/dev/null"]).arg(within),
                MountTarget::Shown(here) => command.arg("--ro-bind").arg(here).arg(within),
                MountTarget::Open(here) => command.arg("--bind").arg(here).arg(within),
                MountTarget::Link(target) => command.arg("--symlink").arg(target).arg(within),
            };
        }
        command.arg("--chdir").arg(self.folders.first().map_or(Path::new("/tmp"), |(_, f)| f));
        command.args(["--", CONFINE, "confine", "--job"]).arg(job.argument());
        command
    }

    fn show(&self, command: &mut Command) {
        match &self.files {
            ReadableFiles::Programs => show_programs(command, &SETTINGS),
            // No more than necessary: each mount takes time, which a short document notices.
            ReadableFiles::Libraries => {
                show_programs(command, &[LIBRARY_CACHE]);
                command.args(["--proc", "/proc", "--remount-ro", "/proc"]);
                command.args(["--size", &TEMPORARY_BYTES.to_string(), "--tmpfs", "/tmp"]);
                return;
            }
            ReadableFiles::Machine { .. } => {
                command.args(["--ro-bind", "/", "/"]);
            }
        }
        // Otherwise root could write some kernel settings, even without privileges.
        command.args(["--proc", "/proc", "--remount-ro", "/proc", "--dev", "/dev"]);
        for place in TEMPORARY {
            command.args(["--size", &TEMPORARY_BYTES.to_string(), "--tmpfs", place]);
        }
        if let ReadableFiles::Machine { .. } = &self.files {
            // The sockets of local services would give access to them.
            command.args(["--tmpfs", "/run"]);
            for kept in ["/run/systemd/resolve", "/run/current-system"] {
                command.args(["--ro-bind-try", kept, kept]);
            }
        }
    }

    /// Outer paths first, so that inner ones override them.
    fn places(&self) -> Vec<(&Path, MountTarget<'_>)> {
        let mut places = Vec::new();
        if let ReadableFiles::Machine { hidden, shown, links } = &self.files {
            places.extend(hidden.iter().map(|path| (&**path, MountTarget::Hidden)));
            places.extend(shown.iter().map(|path| (&**path, MountTarget::Shown(path))));
            places.extend(links.iter().map(|(link, target)| (&**link, MountTarget::Link(target))));
        }
        places
            .extend(self.shown.iter().map(|(here, within)| (&**within, MountTarget::Shown(here))));
        places
            .extend(self.folders.iter().map(|(here, within)| (&**within, MountTarget::Open(here))));
        places.sort_by_key(|(within, _)| within.components().count());
        places
    }
}

fn show_programs(command: &mut Command, settings: &[&str]) {
    for place in PROGRAMS {
        show_as_it_is(command, Path::new(place));
    }
    for name in settings {
        let place = format!("/etc/{name}");
        command.args(["--ro-bind-try", &place, &place]);
    }
}

/// Shows a path as it is outside: /bin may be a link to /usr/bin, or a folder.
fn show_as_it_is(command: &mut Command, place: &Path) {
    match fs::read_link(place) {
        Ok(target) => command.args([OsStr::new("--symlink"), target.as_ref(), place.as_ref()]),
        Err(_) => command.args([OsStr::new("--ro-bind-try"), place.as_ref(), place.as_ref()]),
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_of_the_binary_gets_no_settings_and_no_devices() {
        let arguments = |work| {
            let profile = Profile::around(Job::new(work, None));
            let command = profile.command(Path::new("bwrap"), Path::new("/bin/countersign"));
            let words = command.as_std().get_args().map(|word| word.to_string_lossy().into_owned());
            words.collect::<Vec<_>>()
        };
        let (own, program) =
            (arguments(Work::Own(String::new())), arguments(Work::Program(Vec::new())));
        for (word, is_for_own) in
            [("/etc/ld.so.cache", true), ("/proc", true), ("/etc/passwd", false), ("--dev", false)]
        {
            let is_given = |words: &[String]| words.iter().any(|given| given == word);
            assert_eq!((is_given(&own), is_given(&program)), (is_for_own, true), "{word}");
        }
    }
}
