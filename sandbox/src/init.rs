//! The init process (pid 1) of the sandbox. It starts the program, reaps orphans, and enforces
//! limits that the kernel does not: root is exempt from the limit of processes, and no rlimit
//! covers the memory of several processes together, that of the kernel, or the total size and
//! number of written files. When it ends, the kernel kills all other processes.

use anyhow::{Context as _, Result};
use rustix::{
    fs::StatVfs,
    process::{WaitOptions, WaitStatus, wait},
};
use std::{
    fs, io,
    path::{Path, PathBuf},
    process::Command,
    thread,
    time::{Duration, Instant},
};

use super::{MIB, SandboxLimits, profile::TEMPORARY};

/// The initial interval between checks, so that a short program is not delayed.
const FIRST_LOOK: Duration = Duration::from_millis(1);
const LATER_LOOKS: Duration = Duration::from_millis(20);
/// The interval for long-running programs.
const RARE_LOOKS: Duration = Duration::from_millis(200);
const STARTED_IN: Duration = Duration::from_secs(10);

/// The exit code of a killed process.
const KILLED: i32 = 137;

/// The space that stays free on a disk: the minimum of this size, this share of the disk, and half
/// of the space that was free. The same share of the number of files stays free, and of the memory
/// of the machine, which sockets and file systems in memory use without belonging to a process.
const FREE_BYTES: u64 = 1024 * MIB;
const FREE_SHARE: u64 = 20;
/// The maximum number of files in a file system in memory.
const TEMPORARY_FILES: u64 = 100_000;

/// Starts the program and waits for its end; returns its exit code as a shell would.
pub fn over(
    program: &[String],
    limits: Option<SandboxLimits>,
    writable: &[PathBuf],
) -> Result<i32> {
    let (name, arguments) = program.split_first().context("there is no program to start")?;
    let child = Command::new(name).args(arguments).spawn();
    let child = child.with_context(|| format!("{name} cannot be started"))?;
    let monitor = limits.map(|limits| ResourceMonitor::new(limits, writable));
    let stays = limits.is_some_and(|limits| limits.cpu_seconds == u64::MAX);
    let (mut interval, started) = (FIRST_LOOK, Instant::now());
    let mut next_check = started;
    loop {
        let how = if limits.is_some() { WaitOptions::NOHANG } else { WaitOptions::empty() };
        match wait(how)? {
            Some((ended, status)) if ended.as_raw_nonzero().get() as u32 == child.id() => {
                return Ok(code(status));
            }
            // However many orphans end, the limits are checked in time.
            Some(_) if Instant::now() < next_check => continue,
            Some(_) => {}
            None => thread::sleep(next_check.saturating_duration_since(Instant::now())),
        }
        if let Some(violation) = monitor.as_ref().and_then(ResourceMonitor::violation) {
            complain(&format!("Killed: {violation}."));
            return Ok(KILLED);
        }
        let is_rare = stays && started.elapsed() > STARTED_IN;
        next_check = Instant::now() + interval;
        interval = (interval * 2).min(if is_rare { RARE_LOOKS } else { LATER_LOOKS });
    }
}

#[expect(clippy::print_stderr, reason = "the reader of the program's errors reads this too")]
fn complain(words: &str) {
    eprintln!("{words}");
}

/// Checks what the processes use.
struct ResourceMonitor {
    limits: SandboxLimits,
    disks: Vec<Disk>,
    /// The memory of the machine that must stay available.
    min_available_bytes: u64,
}

impl ResourceMonitor {
    fn new(limits: SandboxLimits, writable: &[PathBuf]) -> Self {
        let min_available_bytes = MachineMemory::read().map_or(0, MachineMemory::reserve_bytes);
        Self { limits, disks: disks(&limits, writable), min_available_bytes }
    }

    /// The limit that is exceeded, as the end of a sentence.
    fn violation(&self) -> Option<String> {
        let processes = match resident_pages() {
            Ok(pages) => excess(self.limits, &pages),
            Err(problem) => Some(format!("its processes cannot be counted: {problem}")),
        };
        let of_program = processes.or_else(|| self.disks.iter().find_map(Disk::excess));
        of_program.or_else(|| {
            let is_short = MachineMemory::read()?.available_bytes < self.min_available_bytes;
            let min_mib = self.min_available_bytes / MIB;
            is_short.then(|| format!("the machine has less than {min_mib} MiB of memory left"))
        })
    }
}

/// The memory of the machine.
#[derive(Clone, Copy)]
struct MachineMemory {
    total_bytes: u64,
    available_bytes: u64,
}

impl MachineMemory {
    fn read() -> Option<Self> {
        Self::parse(&fs::read_to_string("/proc/meminfo").ok()?)
    }

    fn parse(text: &str) -> Option<Self> {
        let bytes = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name))?;
            let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
            Some(kib * 1024)
        };
        Some(Self { total_bytes: bytes("MemTotal:")?, available_bytes: bytes("MemAvailable:")? })
    }

    /// What must stay available.
    fn reserve_bytes(self) -> u64 {
        FREE_BYTES.min(self.total_bytes / FREE_SHARE).min(self.available_bytes / 2)
    }
}

/// The memory of all other processes, in pages.
fn resident_pages() -> io::Result<Vec<u64>> {
    let mut pages = Vec::new();
    for entry in fs::read_dir("/proc")? {
        let entry = entry?;
        let id = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok());
        if id.is_none_or(|id| id == 1) {
            continue;
        }
        // It may have ended by now.
        let sizes = fs::read_to_string(entry.path().join("statm")).unwrap_or_default();
        pages.push(sizes.split(' ').nth(1).and_then(|size| size.parse().ok()).unwrap_or(0));
    }
    Ok(pages)
}

fn excess(limits: SandboxLimits, processes: &[u64]) -> Option<String> {
    if processes.len() as u64 > limits.processes {
        return Some(format!("it had more than {} processes", limits.processes));
    }
    let bytes = processes.iter().sum::<u64>() * rustix::param::page_size() as u64;
    (bytes > limits.total_bytes)
        .then(|| format!("it took more than {} MiB of memory", limits.total_bytes / MIB))
}

/// A file system that can be written to.
struct Disk {
    folder: PathBuf,
    /// What must stay free of it.
    min_free: FreeSpace,
}

/// What is free on a file system.
#[derive(Debug, Clone, Copy)]
struct FreeSpace {
    bytes: u64,
    files: u64,
}

/// The file systems of these folders. Those in memory have a limit of their size, but none of the
/// number of their files.
fn disks(limits: &SandboxLimits, writable: &[PathBuf]) -> Vec<Disk> {
    let disk = |folder: &PathBuf| {
        let disk = rustix::fs::statvfs(folder).ok()?;
        let (free, whole) = (free_space(&disk), disk.f_blocks * disk.f_frsize);
        let min_free = if TEMPORARY.map(Path::new).contains(&&**folder) {
            FreeSpace { bytes: 0, files: free.files.saturating_sub(TEMPORARY_FILES) }
        } else {
            let floor = FREE_BYTES.min(whole / FREE_SHARE).min(free.bytes / 2);
            let bytes = floor.max(free.bytes.saturating_sub(limits.disk_bytes));
            // Some file systems have no limit, and report zero.
            FreeSpace { bytes, files: (disk.f_files / FREE_SHARE).min(free.files / 2) }
        };
        Some(Disk { folder: folder.clone(), min_free })
    };
    writable.iter().filter_map(disk).collect()
}

impl Disk {
    fn excess(&self) -> Option<String> {
        let free = free_space(&rustix::fs::statvfs(&self.folder).ok()?);
        if free.bytes < self.min_free.bytes {
            let min_mib = self.min_free.bytes / MIB;
            return Some(format!("it filled the disk, of which {min_mib} MiB must stay free"));
        }
        (free.files < self.min_free.files)
            .then(|| format!("it created too many files in {}", self.folder.display()))
    }
}

fn free_space(disk: &StatVfs) -> FreeSpace {
    FreeSpace { bytes: disk.f_bavail * disk.f_frsize, files: disk.f_favail }
}

fn code(status: WaitStatus) -> i32 {
    status.exit_status().or_else(|| Some(128 + status.terminating_signal()?)).unwrap_or(KILLED)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves S7.
    #[test]
    fn too_many_and_too_large_are_found() {
        let limits =
            SandboxLimits { processes: 2, total_bytes: 10 * MIB, ..SandboxLimits::COMMAND };
        assert_eq!(excess(limits, &[1, 2]), None);
        assert!(excess(limits, &[1, 2, 3]).unwrap().contains("2 processes"));
        let pages = 10 * MIB / rustix::param::page_size() as u64;
        assert_eq!(excess(limits, &[pages]), None);
        assert!(excess(limits, &[pages, 1]).unwrap().contains("10 MiB"));
    }

    /// Proves S7.
    #[test]
    fn a_program_leaves_the_machine_what_it_needs() {
        let unlimited = SandboxLimits {
            processes: u64::MAX,
            total_bytes: u64::MAX,
            disk_bytes: u64::MAX,
            ..SandboxLimits::COMMAND
        };
        let folder = tempfile::tempdir().unwrap();
        let mut monitor = ResourceMonitor::new(unlimited, &[folder.path().to_owned()]);
        assert_eq!(monitor.violation(), None);
        monitor.min_available_bytes = u64::MAX;
        assert!(monitor.violation().unwrap().contains("MiB of memory left"));
        monitor.disks[0].min_free.files = u64::MAX;
        assert!(monitor.violation().unwrap().contains("too many files"));
        monitor.disks[0].min_free.bytes = u64::MAX;
        assert!(monitor.violation().unwrap().contains("filled the disk"));
    }

    #[test]
    fn the_memory_of_the_machine_is_read() {
        let memory = MachineMemory::parse(
            "MemTotal:       16000000 kB\nMemFree:  5 kB\nMemAvailable:    1000000 kB\n",
        );
        let memory = memory.unwrap();
        assert_eq!(memory.available_bytes, 1_024_000_000);
        assert_eq!(memory.reserve_bytes(), 512_000_000);
        assert!(MachineMemory::read().unwrap().reserve_bytes() > 0);
    }
}
