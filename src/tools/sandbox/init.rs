//! The first process within the walls. It starts the program, buries what is orphaned, and counts:
//! root is exempt from the kernel's limit of processes, and no limit of the kernel's holds for the
//! memory of several together, or for what they write in many files. When it ends, the kernel ends
//! all others.

use anyhow::{Context as _, Result};
use rustix::process::{WaitOptions, WaitStatus, wait};
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    thread,
    time::{Duration, Instant},
};

use super::{Limits, MIB, profile::TEMPORARY};

/// Between two looks. A program that ends at once is not kept waiting long.
const FIRST_LOOK: Duration = Duration::from_millis(1);
const LATER_LOOKS: Duration = Duration::from_millis(20);
/// At what runs as long as we do, once it has started.
const RARE_LOOKS: Duration = Duration::from_millis(200);
const STARTED_IN: Duration = Duration::from_secs(10);

/// As if it had been killed.
const KILLED: i32 = 137;

/// So much stays free on a disk, or this share of it, or half of what was, whichever is least.
const FREE_BYTES: u64 = 1024 * MIB;
const FREE_SHARE: u64 = 20;

/// Starts the program and waits for its end; the code that it ended with, in a shell's counting.
pub fn over(program: &[String], limits: Option<Limits>, writable: &[PathBuf]) -> Result<i32> {
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
                let excess = limits.and_then(|limits| excess(limits, &standing()));
                if let Some(excess) = excess.or_else(|| disks.iter().find_map(Disk::excess)) {
                    complain(&format!("All of it was ended: {excess}."));
                    return Ok(KILLED);
                }
                thread::sleep(look);
                let is_rare = stays && started.elapsed() > STARTED_IN;
                look = (look * 2).min(if is_rare { RARE_LOOKS } else { LATER_LOOKS });
            }
        }
    }
}

#[expect(clippy::print_stderr, reason = "whoever reads the program's errors is to read this too")]
fn complain(words: &str) {
    eprintln!("{words}");
}

/// What the processes but this one hold in memory, in pages.
fn standing() -> Vec<u64> {
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

fn excess(limits: Limits, processes: &[u64]) -> Option<String> {
    if processes.len() as u64 > limits.processes {
        return Some(format!("it had more than {} processes", limits.processes));
    }
    let bytes = processes.iter().sum::<u64>() * rustix::param::page_size() as u64;
    (bytes > limits.total_bytes)
        .then(|| format!("it took more than {} MiB of memory", limits.total_bytes / MIB))
}

/// Where something is written, and how much is to stay free there.
struct Disk {
    folder: PathBuf,
    least_bytes: u64,
}

/// The disks beneath these folders; what is in memory has a size already.
fn disks(limits: &Limits, writable: &[PathBuf]) -> Vec<Disk> {
    let folders = writable.iter().filter(|folder| !TEMPORARY.map(Path::new).contains(&&***folder));
    let disk = |folder: &PathBuf| {
        let (free, whole) = free_bytes(folder)?;
        let floor = FREE_BYTES.min(whole / FREE_SHARE).min(free / 2);
        let least_bytes = floor.max(free.saturating_sub(limits.disk_bytes));
        Some(Disk { folder: folder.clone(), least_bytes })
    };
    folders.filter_map(disk).collect()
}

impl Disk {
    fn excess(&self) -> Option<String> {
        let (free, _) = free_bytes(&self.folder)?;
        let least = self.least_bytes / MIB;
        (free < self.least_bytes)
            .then(|| format!("it filled the disk, of which {least} MiB were to stay free"))
    }
}

/// What may still be written there, and what there is in all.
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
        let limits = Limits { processes: 2, total_bytes: 10 * MIB, ..Limits::COMMAND };
        assert_eq!(excess(limits, &[1, 2]), None);
        assert!(excess(limits, &[1, 2, 3]).unwrap().contains("2 processes"));
        let pages = 10 * MIB / rustix::param::page_size() as u64;
        assert_eq!(excess(limits, &[pages]), None);
        assert!(excess(limits, &[pages, 1]).unwrap().contains("10 MiB"));
    }
}
