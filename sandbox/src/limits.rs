//! How much of the machine a program may use.

use serde::{Deserialize, Serialize};

use super::MIB;

/// The limits of one program with all its processes. `u64::MAX` means no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxLimits {
    /// The maximum memory of one process.
    pub memory_bytes: u64,
    /// The maximum memory of all processes together.
    pub total_bytes: u64,
    /// The maximum number of processes at the same time. Unless the program runs as root, threads
    /// count as well.
    pub processes: u64,
    /// The maximum CPU time of a process; unlimited for long-running programs.
    pub cpu_seconds: u64,
    /// The maximum number of open files of a process.
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
