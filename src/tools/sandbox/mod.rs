//! The sandbox for programs that the gateway starts.
//!
//! bubblewrap creates namespaces without network, a root with programs only, and an empty
//! environment. Inside, the gateway's binary, re-executed as `countersign confine`, restricts
//! itself with Landlock, seccomp and resource limits, and only then starts the program. If a
//! mechanism is missing, the tool is disabled, never the sandbox.
//!
//! - [`profile`]: the arguments for bubblewrap
//! - [`confine`]: runs inside the sandbox
//! - [`proxy_bridge`]: connects the sandbox to a proxy outside
//! - [`seccomp`]: the allowed system calls
//! - [`service`]: sandboxes for MCP servers and hooks
//! - [`init`]: the init process of the sandbox
//! - [`run`]: input, output and end of a program

pub mod confine;
pub mod init;
pub mod profile;
pub mod proxy_bridge;
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

/// The timeout for probing the machine.
const PROBE_FOR: Duration = Duration::from_secs(10);

const MIB: u64 = 1024 * 1024;

/// Where Debian and others install it; not searched in `PATH`, which may be manipulated.
const BUBBLEWRAP: [&str; 4] =
    ["/usr/bin/bwrap", "/bin/bwrap", "/usr/local/bin/bwrap", "/run/current-system/sw/bin/bwrap"];

/// The sandbox mechanisms of this machine.
#[derive(Debug, Clone)]
pub struct Sandbox {
    /// This binary, to be re-executed.
    program: PathBuf,
    /// The path of bubblewrap, or the reason why it cannot be used.
    bubblewrap: Result<PathBuf, String>,
    /// Whether the binary can restrict itself without bubblewrap.
    limits: Result<(), String>,
}

/// The job of the re-executed binary, passed as JSON in an argument.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Job {
    pub work: Work,
    pub limits: Option<SandboxLimits>,
    /// Writable paths inside the sandbox.
    pub writable: Vec<PathBuf>,
    /// The path inside the sandbox of a socket that leads to a proxy.
    #[serde(default)]
    pub egress: Option<PathBuf>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Work {
    /// Check that all restrictions are enforced.
    Probe,
    /// Start this program, as its init process.
    Program(Vec<String>),
    /// Read the document with this name from standard input, and write JSON to standard output.
    Read(String),
    /// Find elements with one of these ids or classes in the page from standard input, and write
    /// JSON to standard output.
    Find(Vec<String>),
    /// Decode the picture from standard input for a model, and write JSON to standard output.
    View,
    /// Render the request from standard input, with the fonts of these folders, to standard output.
    Draw(Vec<PathBuf>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxLimits {
    /// The maximum memory of one process.
    pub memory_bytes: u64,
    /// The maximum memory of all processes together.
    pub total_bytes: u64,
    pub processes: u64,
    /// The maximum CPU time of a process; unlimited for long-running programs.
    pub cpu_seconds: u64,
    pub open_files: u64,
    /// The maximum size of a written file.
    pub file_bytes: u64,
    /// The maximum decrease of free disk space during the run, including writes of other processes;
    /// unlimited for long-running programs.
    pub disk_bytes: u64,
}

impl SandboxLimits {
    /// For commands of an agent.
    pub const COMMAND: Self = Self {
        memory_bytes: 1024 * MIB,
        total_bytes: 1536 * MIB,
        processes: 128,
        cpu_seconds: 600,
        open_files: 512,
        file_bytes: 256 * MIB,
        disk_bytes: 2048 * MIB,
    };
    /// For MCP servers and hooks, which the operator has chosen.
    pub const SERVER: Self = Self {
        memory_bytes: 4096 * MIB,
        total_bytes: 4096 * MIB,
        processes: 256,
        cpu_seconds: u64::MAX,
        open_files: 4096,
        file_bytes: 2048 * MIB,
        disk_bytes: u64::MAX,
    };
    /// For reading an untrusted document.
    pub const DOCUMENT: Self = Self {
        memory_bytes: 256 * MIB,
        total_bytes: 256 * MIB,
        processes: 8,
        cpu_seconds: 10,
        open_files: 512,
        file_bytes: 0,
        disk_bytes: 0,
    };
    /// For rendering a document: a PDF of 500 pages takes a gigabyte.
    pub const DRAWING: Self = Self {
        memory_bytes: 1536 * MIB,
        total_bytes: 1536 * MIB,
        processes: 8,
        cpu_seconds: 90,
        open_files: 512,
        file_bytes: 0,
        disk_bytes: 0,
    };
    /// For rendering an Office file with LibreOffice.
    pub const OFFICE: Self = Self {
        memory_bytes: 1024 * MIB,
        total_bytes: 1024 * MIB,
        processes: 64,
        cpu_seconds: 20,
        open_files: 512,
        file_bytes: 64 * MIB,
        disk_bytes: 512 * MIB,
    };
    /// For text recognition in pictures.
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
    /// Probes the machine. `program` is this binary.
    pub async fn probe(program: &Path) -> Self {
        let mut found = Self { program: program.to_owned(), ..Self::off("not tried yet") };
        found.bubblewrap = found.probe_bubblewrap().await;
        found.limits = match &found.bubblewrap {
            // A restriction that works inside bubblewrap also works without it.
            Ok(_) => Ok(()),
            Err(_) => shows(found.bare(&probe_job())).await,
        };
        found
    }

    /// A sandbox without bubblewrap, for the given reason: `program` can restrict itself.
    pub fn without_bubblewrap(program: &Path, why: &str) -> Self {
        Self { program: program.to_owned(), bubblewrap: Err(why.to_owned()), limits: Ok(()) }
    }

    /// No sandbox, for the given reason.
    pub fn off(why: &str) -> Self {
        Self {
            program: PathBuf::new(),
            bubblewrap: Err(why.to_owned()),
            limits: Err(why.to_owned()),
        }
    }

    /// The reason why bubblewrap cannot be used. Tools that need it are disabled then.
    pub fn missing(&self) -> Option<&str> {
        self.bubblewrap.as_ref().err().map(String::as_str)
    }

    /// A program in the sandbox.
    pub fn confined_command(&self, profile: &Profile) -> Result<Command, ToolError> {
        let bubblewrap = self.bubblewrap.as_ref().map_err(|why| ToolError::Sandbox(why.clone()))?;
        Ok(profile.command(bubblewrap, &self.program))
    }

    /// A document reader: inside bubblewrap if possible, otherwise in a process that can neither
    /// open files or sockets nor start processes.
    pub fn reader(&self, name: &str) -> Result<Command, ToolError> {
        self.reader_within(name, SandboxLimits::DOCUMENT)
    }

    pub fn reader_within(&self, name: &str, limits: SandboxLimits) -> Result<Command, ToolError> {
        self.alone(Profile::around(Job::new(Work::Read(name.to_owned()), Some(limits))))
    }

    /// A finder of page elements, isolated like [`reader`](Self::reader).
    pub fn finder(&self, marks: &[&str]) -> Result<Command, ToolError> {
        let marks = marks.iter().map(|&mark| mark.to_owned()).collect();
        self.alone(Profile::around(Job::new(Work::Find(marks), Some(SandboxLimits::DOCUMENT))))
    }

    /// A picture decoder, isolated like [`reader`](Self::reader).
    pub fn viewer(&self) -> Result<Command, ToolError> {
        self.alone(Profile::around(Job::new(Work::View, Some(SandboxLimits::DOCUMENT))))
    }

    /// A renderer, isolated like [`reader`](Self::reader); it can read only these folders.
    pub fn drawer(&self, fonts: &[PathBuf], limits: SandboxLimits) -> Result<Command, ToolError> {
        let profile = Profile::around(Job::new(Work::Draw(fonts.to_vec()), Some(limits)));
        self.alone(fonts.iter().fold(profile, |profile, folder| profile.showing(folder, folder)))
    }

    fn alone(&self, profile: Profile) -> Result<Command, ToolError> {
        match (&self.bubblewrap, &self.limits) {
            (Ok(bubblewrap), _) => Ok(profile.command(bubblewrap, &self.program)),
            (Err(_), Ok(())) => Ok(self.bare(&profile.job)),
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
    pub fn new(work: Work, limits: Option<SandboxLimits>) -> Self {
        Self { work, limits, writable: Vec::new(), egress: None }
    }

    pub fn argument(&self) -> String {
        serde_json::to_string(self).expect("a job is plain text and numbers")
    }
}

fn probe_job() -> Job {
    Job::new(Work::Probe, Some(SandboxLimits::DOCUMENT))
}

/// The output of a successful probe.
const HOLDS: &str = "confined";

/// Runs a probe. The child prints a text, because any program could exit with code 0.
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
