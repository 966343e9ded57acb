//! The sandbox for programs that the gateway starts.
//!
//! bubblewrap creates namespaces without network, a root with programs only, and an empty
//! environment. Inside, the gateway's binary, re-executed as `countersign confine`, restricts
//! itself with Landlock, seccomp and resource limits, and only then starts the program. If a
//! mechanism is missing, the tool is disabled, never the sandbox.
//!
//! - [`profile`]: the arguments for bubblewrap
//! - [`job`], [`limits`]: what the binary does inside, and how much of the machine it may use
//! - [`confine`]: runs inside the sandbox
//! - [`proxy_bridge`]: connects the sandbox to a proxy outside
//! - [`seccomp`]: the allowed system calls
//! - [`service`]: sandboxes for MCP servers and hooks
//! - [`init`]: the init process of the sandbox
//! - [`run`]: input, output and end of a program
//! - [`connections`]: the connections of a program to a proxy
//! - [`error`]: why a program does not run

pub mod confine;
pub mod connections;
pub mod error;
pub mod init;
pub mod job;
pub mod limits;
pub mod profile;
pub mod proxy_bridge;
pub mod run;
pub mod seccomp;
pub mod service;

pub use error::SandboxError;
pub use job::{Job, Work};
pub use limits::SandboxLimits;

use std::{
    path::{Path, PathBuf},
    time::Duration,
};
use tokio::process::Command;

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
    pub fn confined_command(&self, profile: &Profile) -> Result<Command, SandboxError> {
        let bubblewrap = self.bubblewrap.as_ref();
        let bubblewrap = bubblewrap.map_err(|why| SandboxError::Missing(why.clone()))?;
        Ok(profile.command(bubblewrap, &self.program))
    }

    /// A process of this binary for a job of its own, which `description` describes to it: inside
    /// bubblewrap if possible, otherwise without. Either way it can neither open sockets nor start
    /// processes, and can open files only below the `readable` folders.
    pub fn own_job(
        &self,
        description: String,
        limits: SandboxLimits,
        readable: &[PathBuf],
    ) -> Result<Command, SandboxError> {
        let readable = readable.to_vec();
        let job = Job { readable, ..Job::new(Work::Own(description), Some(limits)) };
        match (&self.bubblewrap, &self.limits) {
            (Ok(bubblewrap), _) => {
                let folders = job.readable.clone();
                let profile = Profile::around(job);
                let profile =
                    folders.iter().fold(profile, |profile, folder| profile.showing(folder, folder));
                Ok(profile.command(bubblewrap, &self.program))
            }
            (Err(_), Ok(())) => Ok(self.bare(&job)),
            (Err(_), Err(why)) => Err(SandboxError::Missing(why.clone())),
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
