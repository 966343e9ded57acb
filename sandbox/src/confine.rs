//! Runs inside the sandbox: the re-executed binary, alone in its process and single-threaded,
//! applies Landlock, seccomp and resource limits to itself, and then does its job.

use anyhow::{Context as _, Result, ensure};
use landlock::{
    ABI, Access as _, AccessFs, CompatLevel, Compatible as _, Ruleset, RulesetAttr as _,
    RulesetCreatedAttr as _, RulesetStatus, Scope, path_beneath_rules,
};
use nix::errno::Errno;
use rustix::process::{Resource, Rlimit, setrlimit};
use std::{
    fs,
    io::{self, Read as _, Write as _},
    os::fd::RawFd,
    thread,
};

use super::{
    HOLDS, Job, SandboxLimits, Work, init, proxy_bridge,
    seccomp::{self, FilterScope},
};

/// The exit code if the restrictions cannot be applied.
const NOT_CONFINED: i32 = 125;

/// Devices without state.
const DEVICES: [&str; 8] = [
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
    "/dev/ptmx",
    "/dev/pts",
];

/// The stack size: deeply nested documents need deep recursion.
const STACK_BYTES: usize = 32 * 1024 * 1024;

/// Does a job of the binary: takes its description and the bytes of standard input, and returns the
/// bytes for standard output.
///
/// It is called after the process has been confined, and nothing of the input has been read before.
pub type JobFunction = fn(description: &str, input: &[u8]) -> io::Result<Vec<u8>>;

/// Does the job that was given as JSON, with `own` for the jobs of the binary. Returns the exit
/// code of the process.
///
/// Has to be called before the process starts threads, because restrictions apply to the calling
/// thread and to those that it starts.
pub fn run(job: &str, own: JobFunction) -> i32 {
    confined(job, own).unwrap_or_else(|problem| {
        let _ = writeln!(io::stderr(), "{problem:#}");
        NOT_CONFINED
    })
}

fn confined(job: &str, own: JobFunction) -> Result<i32> {
    close_inherited().context("inherited file descriptors")?;
    let job: Job = serde_json::from_str(job).context("the job")?;
    if let Some(limits) = job.limits {
        limit(limits, &job.work).context("resource limits")?;
    }
    close_files(&job).context("Landlock")?;
    match &job.work {
        Work::Program(program) => {
            seccomp::close(FilterScope::Program)?;
            if let Some(socket) = job.egress {
                proxy_bridge::forward_connections(socket).context("the proxy")?;
            }
            init::over(program, job.limits, &job.writable)
        }
        Work::Probe => {
            seccomp::close(FilterScope::Reader)?;
            say(HOLDS.as_bytes())
        }
        Work::Own(description) => {
            seccomp::close(FilterScope::Reader)?;
            work(description.clone(), own)
        }
    }
}

/// Closes everything except standard input, output and error. The caller, or the program that
/// started it, may have left files and sockets open. This process has opened nothing yet.
fn close_inherited() -> Result<()> {
    let mut descriptors = Vec::new();
    for entry in fs::read_dir("/proc/self/fd")? {
        let number = entry?.file_name().to_str().and_then(|name| name.parse::<RawFd>().ok());
        descriptors.extend(number.filter(|number| *number > 2));
    }
    // The descriptor of the listed folder is closed by now.
    for descriptor in descriptors {
        match nix::unistd::close(descriptor) {
            Ok(()) | Err(Errno::EBADF) => {}
            Err(problem) => return Err(problem.into()),
        }
    }
    Ok(())
}

/// `memory_bytes` limits allocations; limiting the address space would include the size of this
/// binary.
fn limit(limits: SandboxLimits, work: &Work) -> Result<()> {
    // Without bubblewrap, all processes of this user would count. A reader does not start
    // processes.
    let starts = matches!(work, Work::Program(_)).then_some((Resource::Nproc, limits.processes));
    let always = [
        (Resource::Core, 0),
        (Resource::Data, limits.memory_bytes),
        (Resource::Cpu, limits.cpu_seconds),
        (Resource::Fsize, limits.file_bytes),
        (Resource::Nofile, limits.open_files),
    ];
    for (resource, value) in always.into_iter().chain(starts) {
        setrlimit(resource, Rlimit { current: Some(value), maximum: Some(value) })?;
    }
    Ok(())
}

/// Programs can read the visible files and write to writable paths. Jobs of the binary can read
/// what the job names. Other files cannot be accessed.
fn close_files(job: &Job) -> Result<()> {
    let newest = ABI::V6;
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(ABI::V1))?
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(newest))?
        .scope(Scope::from_all(newest))?
        .create()?;
    rules = match job.work {
        Work::Program(_) => rules
            .add_rules(path_beneath_rules(["/"], AccessFs::from_read(newest)))?
            .add_rules(path_beneath_rules(DEVICES, AccessFs::from_all(newest)))?
            .add_rules(path_beneath_rules(&job.writable, AccessFs::from_all(newest)))?,
        Work::Own(_) => {
            rules.add_rules(path_beneath_rules(&job.readable, AccessFs::from_read(ABI::V1)))?
        }
        Work::Probe => rules,
    };
    let status = rules.restrict_self()?;
    ensure!(status.ruleset != RulesetStatus::NotEnforced, "this kernel does not enforce it");
    Ok(())
}

/// Passes standard input to `own` and writes the result to standard output.
fn work(description: String, own: JobFunction) -> Result<i32> {
    let mut input = Vec::new();
    io::stdin().read_to_end(&mut input)?;
    let thread = thread::Builder::new().stack_size(STACK_BYTES);
    let working = thread.spawn(move || own(&description, &input))?;
    // The panic was already printed to standard error.
    match working.join() {
        Ok(output) => say(&output.context("the job")?),
        Err(_) => Ok(NOT_CONFINED),
    }
}

fn say(bytes: &[u8]) -> Result<i32> {
    io::stdout().write_all(bytes)?;
    io::stdout().flush()?;
    Ok(0)
}
