//! Runs inside the sandbox: the re-executed binary, alone in its process and single-threaded,
//! applies Landlock, seccomp and resource limits to itself, and then does its job.

use anyhow::{Context as _, Result, ensure};
use landlock::{
    ABI, Access as _, AccessFs, CompatLevel, Compatible as _, Ruleset, RulesetAttr as _,
    RulesetCreatedAttr as _, RulesetStatus, Scope, path_beneath_rules,
};
use nix::errno::Errno;
use renderers::read::{self, ReadError};
use rustix::process::{Resource, Rlimit, setrlimit};
use serde::Serialize;
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
use crate::tools::documents::{self, blob::Blob};

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

/// Does the job that was given as JSON; returns the exit code of the process.
pub fn run(job: &str) -> i32 {
    confined(job).unwrap_or_else(|problem| {
        let _ = writeln!(io::stderr(), "{problem:#}");
        NOT_CONFINED
    })
}

fn confined(job: &str) -> Result<i32> {
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
        Work::Read(name) => {
            seccomp::close(FilterScope::Reader)?;
            let name = name.clone();
            work(move |bytes| encode(&read::to_markdown(&name, bytes)))
        }
        Work::Find(marks) => {
            seccomp::close(FilterScope::Reader)?;
            let marks = marks.clone();
            work(move |page| encode(&read::html::marked(&String::from_utf8_lossy(page), &marks)))
        }
        Work::View => {
            seccomp::close(FilterScope::Reader)?;
            work(|bytes| encode(&read::view::view(bytes).map(Blob)))
        }
        Work::Draw(fonts) => {
            seccomp::close(FilterScope::Reader)?;
            let fonts = fonts.clone();
            work(move |order| documents::answer(order, &fonts))
        }
    }
}

/// Closes everything except standard input, output and error. The gateway, or the program that
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
    for (resource, most) in always.into_iter().chain(starts) {
        setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) })?;
    }
    Ok(())
}

/// Programs can read the visible files and write to writable paths; a renderer can read fonts. All
/// other jobs can access no files.
fn close_files(job: &Job) -> Result<()> {
    let newest = ABI::V6;
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(ABI::V1))?
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(newest))?
        .scope(Scope::from_all(newest))?
        .create()?;
    if let Work::Draw(fonts) = &job.work {
        rules = rules.add_rules(path_beneath_rules(fonts, AccessFs::from_read(ABI::V1)))?;
    }
    if let Work::Program(_) = job.work {
        rules = rules
            .add_rules(path_beneath_rules(["/"], AccessFs::from_read(newest)))?
            .add_rules(path_beneath_rules(DEVICES, AccessFs::from_all(newest)))?
            .add_rules(path_beneath_rules(&job.writable, AccessFs::from_all(newest)))?;
    }
    let status = rules.restrict_self()?;
    ensure!(status.ruleset != RulesetStatus::NotEnforced, "this kernel does not enforce it");
    Ok(())
}

/// Passes standard input to `with` and writes the result to standard output.
fn work(with: impl FnOnce(&[u8]) -> Vec<u8> + Send + 'static) -> Result<i32> {
    let mut bytes = Vec::new();
    io::stdin().read_to_end(&mut bytes)?;
    let working = thread::Builder::new().stack_size(STACK_BYTES).spawn(move || with(&bytes))?;
    // The panic was already printed to standard error.
    match working.join() {
        Ok(output) => say(&output),
        Err(_) => Ok(NOT_CONFINED),
    }
}

/// The result, or a sentence that says why there is none.
fn encode(read: &Result<impl Serialize, ReadError>) -> Vec<u8> {
    let output = read.as_ref().map_err(ToString::to_string);
    serde_json::to_vec(&output).expect("what was read is plain text and numbers")
}

fn say(bytes: &[u8]) -> Result<i32> {
    io::stdout().write_all(bytes)?;
    io::stdout().flush()?;
    Ok(0)
}
