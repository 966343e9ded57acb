//! The init process (pid 1) of the sandbox. It starts the program, reaps orphans, and enforces
//! limits that the kernel does not: root is exempt from the limit of processes, and no rlimit
//! covers the memory of several processes together or the total size of written files. When it
//! ends, the kernel kills all other processes.

use anyhow::{Context as _, Result};
use rustix::process::{WaitOptions, WaitStatus, wait};
use std::{
    fs,
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
/// of the space that was free.
const FREE_BYTES: u64 = 1024 * MIB;
const FREE_SHARE: u64 = 20;

/// Starts the program and waits for its end; returns its exit code as a shell would.
pub fn over(
    program: &[String],
    limits: Option<SandboxLimits>,
    writable: &[PathBuf],
) -> Result<i32> {
    let (name, arguments) = program.split_first().context("there is no program to start")?;
    let child = Command::new(name).args(arguments).spawn();
    let child = child.with_context(|| format!("{name} cannot be started"))?;
    let (mut look, started) = (FIRST_LOOK, Instant::now());
    let disks: Vec<_> = limits.iter().flat_map(|limits| disks(limits, writable)).collect();
    let stays = limits.is_some_and(|limits| limits.cpu_seconds == u64::MAX);
    loop {
        let how = if limits.is_some() { WaitOptions::NOHANG } else { WaitOptions::empty() };
        match wait(how)? {
            Some((ended, status)) if ended.as_raw_nonzero().get() as u32 == child.id() => {
                return Ok(code(status));
            }
            Some(_) => {}
            None => {
                let excess = limits.and_then(|limits| excess(limits, &resident_pages()));
                if let Some(excess) = excess.or_else(|| disks.iter().find_map(Disk::excess)) {
                    complain(&format!("Killed: {excess}."));
                    return Ok(KILLED);
                }
                thread::sleep(look);
                let is_rare = stays && started.elapsed() > STARTED_IN;
                look = (look * 2).min(if is_rare { RARE_LOOKS } else { LATER_LOOKS });
            }
        }
    }
}

#[expect(clippy::print_stderr, reason = "the reader of the program's errors reads this too")]
fn complain(words: &str) {
    eprintln!("{words}");
}

/// The memory of all other processes, in pages.
fn resident_pages() -> Vec<u64> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let others = entries.filter_map(|entry| {
        let id: u32 = entry.file_name().to_str()?.parse().ok()?;
        (id != 1).then_some(entry)
    });
    let resident = |entry: fs::DirEntry| {
        let sizes = fs::read_to_string(entry.path().join("statm")).ok()?;
        sizes.split(' ').nth(1)?.parse().ok()
    };
    others.map(|entry| resident(entry).unwrap_or(0)).collect()
}

fn excess(limits: SandboxLimits, processes: &[u64]) -> Option<String> {
    if processes.len() as u64 > limits.processes {
        return Some(format!("it had more than {} processes", limits.processes));
    }
    let bytes = processes.iter().sum::<u64>() * rustix::param::page_size() as u64;
    (bytes > limits.total_bytes)
        .then(|| format!("it took more than {} MiB of memory", limits.total_bytes / MIB))
}

/// A disk that can be written to, and the space on it that must stay free.
struct Disk {
    folder: PathBuf,
    min_bytes: u64,
}

/// The disks of these folders. File systems in memory are left out, because they have a size limit.
fn disks(limits: &SandboxLimits, writable: &[PathBuf]) -> Vec<Disk> {
    let folders = writable.iter().filter(|folder| !TEMPORARY.map(Path::new).contains(&&***folder));
    let disk = |folder: &PathBuf| {
        let (free, whole) = free_bytes(folder)?;
        let floor = FREE_BYTES.min(whole / FREE_SHARE).min(free / 2);
        let min_bytes = floor.max(free.saturating_sub(limits.disk_bytes));
        Some(Disk { folder: folder.clone(), min_bytes })
    };
    folders.filter_map(disk).collect()
}

impl Disk {
    fn excess(&self) -> Option<String> {
        let (free, _) = free_bytes(&self.folder)?;
        let least = self.min_bytes / MIB;
        (free < self.min_bytes)
            .then(|| format!("it filled the disk, of which {least} MiB must stay free"))
    }
}

/// The free and total size.
fn free_bytes(folder: &Path) -> Option<(u64, u64)> {
    let disk = rustix::fs::statvfs(folder).ok()?;
    Some((disk.f_bavail * disk.f_frsize, disk.f_blocks * disk.f_frsize))
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
}
