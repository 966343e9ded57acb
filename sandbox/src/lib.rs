//! Runs programs that are not trusted, so that they reach only what they are given. If this machine
//! lacks a mechanism, a program does not run: the sandbox is never weaker instead.
//!
//! - [`profile`]: what one program is given; the arguments for bubblewrap
//! - [`confine`]: runs inside the sandbox, and restricts the process
//! - `job`, `limits`: what the process does then, and how much of the machine it may use
//! - `seccomp`: the allowed system calls
//! - `init`: the init process of the sandbox
//! - [`run`]: input, output and end of a program
//! - [`service`]: sandboxes for programs that keep running, and need the machine's files
//! - [`egress`]: a proxy that reaches only named hosts
//! - `proxy_bridge`, [`connections`]: the connections of a program to a proxy
//! - `error`: why a program does not run
//!
//! # How a program is confined
//!
//! 1. [`Sandbox::confined_command`] is a command of bubblewrap: new namespaces of all kinds, an
//!    unprivileged user without capabilities, an environment of a few variables, and a root with
//!    only the files of the [`Profile`].
//! 2. bubblewrap executes this binary again, as `confine --job <JSON>`. The binary has to pass the
//!    JSON to [`confine::run`] before it starts a thread. The process closes inherited files, and
//!    sets resource limits, Landlock rules and a seccomp filter, which neither it nor its children
//!    can undo.
//! 3. As the first process of its PID namespace, it starts the program, and ends it when the
//!    program exceeds a limit that the kernel does not enforce.
//!
//! [`Sandbox::own_job`] runs code of this binary on untrusted input instead: a parser, for example.
//! Its process can open no sockets, no files but those below the folders that it is given to read,
//! and cannot start processes. It needs no namespaces, so it also runs where bubblewrap is missing,
//! with the restrictions of step 2. No byte of the input is read before they apply.
//!
//! # Threat model
//!
//! The attacker chooses the program, its arguments, its input and the contents of its folders. The
//! kernel, bubblewrap, this binary and its caller are trusted.
//!
//! A program **can**
//!
//! - read `/usr` and the other folders of programs and libraries, a few settings in `/etc`, and the
//!   folders that it is given;
//! - write to the folders that it is given to write to, and to `/tmp` and `/dev/shm`, which are in
//!   memory, limited in size, and gone when it ends;
//! - start other programs, which are confined like itself;
//! - use the processor, memory, processes and disk space that its [`SandboxLimits`] allow;
//! - if it is given a proxy: exchange anything with the hosts that the proxy allows. Traffic is not
//!   inspected, so whatever the program can read can be sent there.
//!
//! A program **cannot**
//!
//! - read or change other files, or use files and sockets that its caller had open;
//! - see, signal or trace other processes, or read the environment of its caller;
//! - reach a network or a service of the machine, by any kind of socket, except through its proxy;
//! - reach, through the proxy, a host that is not allowed: the host that is compared is the host
//!   that is dialled. The caller's [`Dial`](egress::Dial) decides which addresses it may have;
//! - gain privileges: it has no capabilities, set-user-ID programs have no effect, and it cannot
//!   create namespaces;
//! - make system calls that give access to other processes, the kernel, mounts or uncounted
//!   memory, or that are newer than the filter;
//! - put input into the terminal of its caller;
//! - outlive its caller, or leave processes behind: all end with the first process.
//!
//! Programs of the operator have a [wider sandbox](service): they can read the whole machine,
//! except `/run` and hidden paths, connect to Unix sockets among these files, and may be given the
//! network of the machine, with its loopback and, before Linux 6.12, its abstract sockets.
//!
//! The sandbox does **not** protect from errors in the kernel and in bubblewrap, from side channels
//! between programs on one machine, from exhaustion within the limits (CPU time is limited for each
//! process, not for all together), or from what a program writes to the folders that it is given:
//! their contents are untrusted, and links in them may lead anywhere.
//!
//! # What the machine needs
//!
//! - Linux on x86-64 or AArch64, with seccomp and Landlock (5.13). Landlock of later kernels
//!   restricts more, which is used where it exists.
//! - bubblewrap 0.8 or newer in `/usr/bin`, `/bin`, `/usr/local/bin` or NixOS's system profile, and
//!   user namespaces for unprivileged users. In Docker: `--security-opt seccomp=unconfined
//!   --security-opt systempaths=unconfined`.
//!
//! [`Sandbox::probe`] starts a confined process to find out, and [`Sandbox::missing`] says what is
//! missing. A process that does a single job finds out by doing it, see [`Sandbox::once`].

#![warn(missing_docs)]

pub mod confine;
pub mod connections;
pub mod egress;
mod error;
mod init;
mod job;
mod limits;
pub mod profile;
mod proxy_bridge;
pub mod run;
mod seccomp;
pub mod service;

pub use error::SandboxError;
pub use job::{Job, Work};
pub use limits::SandboxLimits;
pub use proxy_bridge::PROXY_PORT;

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
    /// Probes the machine. `program` is this binary, which calls [`confine::run`].
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

    /// Does a single job, without the time that [`Self::probe`] takes. If the job fails, the machine
    /// is probed; where less can be used than the job was done with, the job is done again.
    pub async fn once<T, E>(
        program: &Path,
        job: impl AsyncFn(Self) -> Result<T, E>,
    ) -> Result<T, E> {
        let unprobed = Self {
            program: program.to_owned(),
            bubblewrap: installed().map_err(str::to_owned),
            limits: Ok(()),
        };
        let was_bare = unprobed.missing().is_some();
        match job(unprobed).await {
            Ok(done) => Ok(done),
            Err(failed) => {
                let probed = Self::probe(program).await;
                let is_usable =
                    if was_bare { probed.limits.is_ok() } else { probed.missing().is_none() };
                if is_usable { Err(failed) } else { job(probed).await }
            }
        }
    }

    /// A sandbox without bubblewrap, for the given reason: `program` can restrict itself.
    #[cfg(any(test, feature = "testing"))]
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

    /// The command that runs a program in the sandbox. Fails if bubblewrap cannot be used.
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
        let bubblewrap = installed()?;
        shows(Profile::around(probe_job()).command(&bubblewrap, &self.program)).await?;
        Ok(bubblewrap)
    }

    fn bare(&self, job: &Job) -> Command {
        let mut command = Command::new(&self.program);
        command.arg("confine").arg("--job").arg(job.argument()).env_clear();
        command
    }
}

/// The path of bubblewrap, which may not work.
fn installed() -> Result<PathBuf, &'static str> {
    let bubblewrap = BUBBLEWRAP.iter().map(PathBuf::from).find(|path| path.exists());
    bubblewrap.ok_or("bubblewrap is missing: install it (apt-get install bubblewrap)")
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
