//! Programs that we start, kept from everything that is not theirs.
//!
//! bubblewrap builds the walls: namespaces without network, a root of programs only, an empty
//! environment. Within them our own binary, started again as `countersign confine`, puts Landlock,
//! seccomp and resource limits on itself, and only then starts the program. What is missing turns
//! the tool off, never the sandbox.
//!
//! - [`profile`]: the walls, as bubblewrap is told about them
//! - [`confine`]: the other side: what the binary does when it is started again
//! - [`proxy_bridge`]: within the walls, the way to a proxy outside
//! - [`seccomp`]: the system calls that are left
//! - [`service`]: walls around MCP servers
//! - [`init`]: the first process in the walls, which counts the others
//! - [`run`]: feeding a program, keeping what it says, ending it

pub mod confine;
pub mod init;
pub mod profile;
mod proxy_bridge;
pub mod run;
pub mod seccomp;
pub mod service;

use serde::{Deserialize, Serialize};
use std::{
    path::{Path, PathBuf},
    time::Duration,
};
use tokio::process::Command;

use super::ToolError;
use profile::Profile;

/// How long a machine may take to show what it has.
const PROBE_FOR: Duration = Duration::from_secs(10);

const MIB: u64 = 1024 * 1024;

/// Where Debian and others put it; not looked up in a `PATH` that somebody may have set.
const BUBBLEWRAP: [&str; 4] =
    ["/usr/bin/bwrap", "/bin/bwrap", "/usr/local/bin/bwrap", "/run/current-system/sw/bin/bwrap"];

/// What this machine has to confine programs with.
#[derive(Debug, Clone)]
pub struct Sandbox {
    /// This binary, to be started again.
    program: PathBuf,
    /// Where bubblewrap is, or why there are no walls.
    bubblewrap: Result<PathBuf, String>,
    /// Whether the binary can confine itself, with walls or without.
    limits: Result<(), String>,
}

/// What the binary is to do when it is started again. It travels as JSON in an argument.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Job {
    pub work: Work,
    pub limits: Option<Limits>,
    /// Where it may write, as paths within the walls.
    pub writable: Vec<PathBuf>,
    /// The socket, as a path within the walls, at which a proxy answers.
    #[serde(default)]
    pub egress: Option<PathBuf>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Work {
    /// Show that everything holds.
    Probe,
    /// Start this program, and be the first process around it.
    Program(Vec<String>),
    /// Read the document of this name from standard input, write JSON to standard output.
    Read(String),
    /// Look on the page from standard input for elements with one of these ids or classes, write JSON
    /// to standard output.
    Find(Vec<String>),
    /// Make of the picture from standard input what a model is shown, as JSON to standard output.
    View,
    /// Draw what standard input says, with the fonts of these folders, to standard output.
    Draw(Vec<PathBuf>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// What one process may allocate.
    pub memory_bytes: u64,
    /// What all processes together may hold.
    pub total_bytes: u64,
    pub processes: u64,
    /// Without end for what runs as long as we do.
    pub cpu_seconds: u64,
    pub open_files: u64,
    /// The largest file that may be written.
    pub file_bytes: u64,
    /// By how much a disk may fill while it runs, whoever writes there; without end for what runs as
    /// long as we do.
    pub disk_bytes: u64,
}

impl Limits {
    /// For commands that an agent runs.
    pub const COMMAND: Self = Self {
        memory_bytes: 1024 * MIB,
        total_bytes: 1536 * MIB,
        processes: 128,
        cpu_seconds: 600,
        open_files: 512,
        file_bytes: 256 * MIB,
        disk_bytes: 2048 * MIB,
    };
    /// For MCP servers and hooks: what the operator has chosen, and somebody else has made.
    pub const SERVER: Self = Self {
        memory_bytes: 4096 * MIB,
        total_bytes: 4096 * MIB,
        processes: 256,
        cpu_seconds: u64::MAX,
        open_files: 4096,
        file_bytes: 2048 * MIB,
        disk_bytes: u64::MAX,
    };
    /// For the reading of a document that anybody may have made.
    pub const DOCUMENT: Self = Self {
        memory_bytes: 256 * MIB,
        total_bytes: 256 * MIB,
        processes: 8,
        cpu_seconds: 10,
        open_files: 512,
        file_bytes: 0,
        disk_bytes: 0,
    };
    /// For the drawing of a document: 500 pages of a PDF take a gigabyte.
    pub const DRAWING: Self = Self {
        memory_bytes: 1536 * MIB,
        total_bytes: 1536 * MIB,
        processes: 8,
        cpu_seconds: 90,
        open_files: 512,
        file_bytes: 0,
        disk_bytes: 0,
    };
    /// For the drawing of an Office file by LibreOffice.
    pub const OFFICE: Self = Self {
        memory_bytes: 1024 * MIB,
        total_bytes: 1024 * MIB,
        processes: 64,
        cpu_seconds: 20,
        open_files: 512,
        file_bytes: 64 * MIB,
        disk_bytes: 512 * MIB,
    };
    /// For the recognition of text in pictures.
    pub const PICTURES: Self = Self {
        memory_bytes: 512 * MIB,
        total_bytes: 768 * MIB,
        processes: 16,
        cpu_seconds: 120,
        open_files: 512,
        file_bytes: 64 * MIB,
        disk_bytes: 512 * MIB,
    };
}

impl Sandbox {
    /// Tries what there is. `program` is this binary.
    pub async fn probe(program: &Path) -> Self {
        let mut found = Self { program: program.to_owned(), ..Self::off("not tried yet") };
        found.bubblewrap = found.probe_bubblewrap().await;
        found.limits = match &found.bubblewrap {
            // Whoever is confined within walls can be so without.
            Ok(_) => Ok(()),
            Err(_) => shows(found.bare(&probe_job())).await,
        };
        found
    }

    /// One without walls, for a reason: `program` can confine itself.
    pub fn without_bubblewrap(program: &Path, why: &str) -> Self {
        Self { program: program.to_owned(), bubblewrap: Err(why.to_owned()), limits: Ok(()) }
    }

    /// None, for a reason.
    pub fn off(why: &str) -> Self {
        Self {
            program: PathBuf::new(),
            bubblewrap: Err(why.to_owned()),
            limits: Err(why.to_owned()),
        }
    }

    /// Why there are no walls; whatever needs them is off then.
    pub fn missing(&self) -> Option<&str> {
        self.bubblewrap.as_ref().err().map(String::as_str)
    }

    /// A program within walls.
    pub fn walled(&self, cell: &Profile) -> Result<Command, ToolError> {
        let bubblewrap = self.bubblewrap.as_ref().map_err(|why| ToolError::Sandbox(why.clone()))?;
        Ok(cell.command(bubblewrap, &self.program))
    }

    /// The reading of a document: within walls where there are some, else only in a process that
    /// can neither open a file nor a socket, nor start another.
    pub fn reader(&self, name: &str) -> Result<Command, ToolError> {
        self.reader_within(name, Limits::DOCUMENT)
    }

    pub fn reader_within(&self, name: &str, limits: Limits) -> Result<Command, ToolError> {
        self.alone(Profile::around(Job::new(Work::Read(name.to_owned()), Some(limits))))
    }

    /// The search for elements of a page, likewise.
    pub fn finder(&self, marks: &[&str]) -> Result<Command, ToolError> {
        let marks = marks.iter().map(|&mark| mark.to_owned()).collect();
        self.alone(Profile::around(Job::new(Work::Find(marks), Some(Limits::DOCUMENT))))
    }

    /// The decoding of a picture, likewise.
    pub fn viewer(&self) -> Result<Command, ToolError> {
        self.alone(Profile::around(Job::new(Work::View, Some(Limits::DOCUMENT))))
    }

    /// The drawing of one, likewise; nothing but these folders can be read.
    pub fn drawer(&self, fonts: &[PathBuf], limits: Limits) -> Result<Command, ToolError> {
        let cell = Profile::around(Job::new(Work::Draw(fonts.to_vec()), Some(limits)));
        self.alone(fonts.iter().fold(cell, |cell, folder| cell.showing(folder, folder)))
    }

    fn alone(&self, cell: Profile) -> Result<Command, ToolError> {
        match (&self.bubblewrap, &self.limits) {
            (Ok(bubblewrap), _) => Ok(cell.command(bubblewrap, &self.program)),
            (Err(_), Ok(())) => Ok(self.bare(&cell.job)),
            (Err(_), Err(why)) => Err(ToolError::Sandbox(why.clone())),
        }
    }

    async fn probe_bubblewrap(&self) -> Result<PathBuf, String> {
        let bubblewrap = BUBBLEWRAP.iter().map(PathBuf::from).find(|path| path.exists());
        let bubblewrap =
            bubblewrap.ok_or("bubblewrap is missing: install it (apt-get install bubblewrap)")?;
        shows(Profile::around(probe_job()).command(&bubblewrap, &self.program)).await?;
        Ok(bubblewrap)
    }

    fn bare(&self, job: &Job) -> Command {
        let mut command = Command::new(&self.program);
        command.arg("confine").arg("--job").arg(job.argument()).env_clear();
        command
    }
}

impl Job {
    pub fn new(work: Work, limits: Option<Limits>) -> Self {
        Self { work, limits, writable: Vec::new(), egress: None }
    }

    pub fn argument(&self) -> String {
        serde_json::to_string(self).expect("a job is plain text and numbers")
    }
}

fn probe_job() -> Job {
    Job::new(Work::Probe, Some(Limits::DOCUMENT))
}

/// What a probe says when everything holds.
const HOLDS: &str = "confined";

/// The child says so itself: an exit code of zero could be anybody's.
async fn shows(command: Command) -> Result<(), String> {
    let ended = run::to_its_end(command, Vec::new(), PROBE_FOR).await.map_err(|e| e.to_string())?;
    if ended.stdout.text().trim() == HOLDS {
        return Ok(());
    }
    let said = ended.stderr.text();
    let why = said.trim().lines().last().unwrap_or("it did not answer in time");
    Err(format!(
        "the sandbox cannot be set up: {why}. It needs bubblewrap 0.8 with user namespaces (in \
         Docker: --security-opt seccomp=unconfined --security-opt systempaths=unconfined) and a \
         kernel with Landlock"
    ))
}
