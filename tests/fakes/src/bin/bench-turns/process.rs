//! The measured process, and what `/proc` says about it.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use crate::Result;

/// A process, which ends with its folder. Its log is printed.
pub struct Running {
    pub child: Child,
    folder: PathBuf,
}

impl Running {
    pub fn start(mut command: Command, folder: &Path) -> Result<Self> {
        let log = fs::File::create(folder.join("log"))?;
        let child = command.stdout(Stdio::null()).stderr(log).spawn()?;
        Ok(Self { child, folder: folder.to_owned() })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = (self.child.kill(), self.child.wait());
        let log = fs::read_to_string(self.folder.join("log")).unwrap_or_default();
        let _ = std::io::stderr().write_all(log.as_bytes());
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Raises the limit of open files of this process, and of those that it starts, to at least `files`.
pub fn allow_open_files(files: u64) -> Result<()> {
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_none_or(|current| current >= files) {
        return Ok(());
    }
    if limit.maximum.is_some_and(|maximum| maximum < files) {
        let maximum = limit.maximum.unwrap_or_default();
        return Err(format!(
            "this process may open {maximum} files, and the table needs {files}: raise the hard \
             limit (`ulimit -Hn`)"
        )
        .into());
    }
    Ok(setrlimit(Resource::Nofile, Rlimit { current: Some(files), maximum: limit.maximum })?)
}

/// User and system time of the process (100 ticks a second on Linux).
pub fn cpu_seconds(child: &Child) -> Result<f64> {
    let stat = fs::read_to_string(format!("/proc/{}/stat", child.id()))?;
    let fields: Vec<_> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks: f64 = fields[11].parse::<f64>()? + fields[12].parse::<f64>()?;
    Ok(ticks / 100.0)
}

/// The memory of the process, pages of files included.
pub fn memory_kib(child: &Child) -> Result<u64> {
    status_kib(child, "VmRSS:")
}

/// The part of the memory that is no page of a file, which the system therefore cannot take back.
pub fn anonymous_memory_kib(child: &Child) -> Result<u64> {
    status_kib(child, "RssAnon:")
}

fn status_kib(child: &Child, field: &str) -> Result<u64> {
    let status = fs::read_to_string(format!("/proc/{}/status", child.id()))?;
    let value = status.lines().find_map(|line| line.strip_prefix(field));
    let value = value.and_then(|value| value.split_whitespace().next());
    Ok(value.ok_or_else(|| format!("/proc has no {field}"))?.parse()?)
}
